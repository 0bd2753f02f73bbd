"""`director-ai facts`: what the guard knows, added, found, changed and moved from the command line."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from director_ai.cli.facts_show import (
    changes,
    changes_table,
    facts_table,
    hits_table,
    say,
    show_conflicts,
    write_json,
)
from director_ai.cli.facts_store import (
    DEFAULT_STORE,
    AsJson,
    By,
    Conflicts,
    DryRun,
    Replace,
    Store,
    Tenant,
    Words,
    login_name,
    opened_store,
    opened_text,
)
from director_ai.cli.facts_transfer import export_command, import_command, ingest_command
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from director_ai.core.evidence import Fact
    from director_ai.core.types import EvidenceChunk
    from director_ai.knowledge.store import KnowledgeView

__all__ = ["facts_app"]

NOTHING_FOUND = 1
MOST_ROWS = 100
"""Of a list for people; `--json` and `--limit` give more."""

facts_app = typer.Typer(
    help="Add, find, change and move the facts that the guard judges by. Exit status: 0 done, 1 nothing found, 2 bad "
    "input.",
    no_args_is_help=True,
)

Key = Annotated[str, typer.Argument(help="The key of a fact.", show_default=False)]


@facts_app.command("add", epilog="For example: `director-ai facts add refund 'Refunds are available within 30 days.'`")
def add_fact(  # noqa: PLR0913, PLR0917 - the options of a command
    key: Key,
    text: Annotated[str, typer.Argument(help="What is so; - reads it from the standard input.", show_default=False)],
    source: Annotated[str, typer.Option("--source", help="Where it comes from.")] = "",
    store: Store = DEFAULT_STORE,
    tenant: Tenant = "",
    by: By = "",
    replace: Replace = False,
    dry_run: DryRun = False,
    conflicts: Conflicts = True,
    words: Words = False,
    as_json: AsJson = False,
) -> None:
    """Add one fact."""
    from director_ai.core.identifiers import check_identifier  # noqa: PLC0415 - keeps `--help` quick
    from director_ai.knowledge.entries import Entry  # noqa: PLC0415 - as above

    check_identifier("tenant_id", tenant)  # before a file is made
    if text == "-":
        with opened_text("-") as stream:
            text = stream.read().strip()
    if not text.strip():
        raise ConfigError("there is no text to add; it is empty")
    entry = Entry(key=key, text=text, tenant_id=tenant, source=source, added_by=by or login_name())
    with opened_store(store, words=words, makes=True, dry_run=dry_run, key=key) as base:
        loaded = base.add_many([entry], replace=replace, dry_run=dry_run)
        report = changes(loaded, dry_run=dry_run)
        new = [*loaded.added, *loaded.updated] if conflicts and not dry_run else []
        found = base.conflicts(tenant, new) if new else iter(())
        if as_json:
            write_json([{**report, "conflicts": [asdict(each) for each in found]}])
        elif dry_run:
            changes_table(report)
        else:
            did = "added" if loaded.added else "updated" if loaded.updated else "unchanged"
            say(f"{did} {key} · revision {loaded.revision}")
            show_conflicts(base, tenant, found)


@facts_app.command("list", epilog="For example: `director-ai facts list --tenant acme --limit 20`")
def list_facts(
    store: Store = DEFAULT_STORE,
    tenant: Tenant = "",
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="At most so many.", show_default=f"{MOST_ROWS}, with --json all"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List a scope's own facts, in the order they came."""
    from director_ai.knowledge.transfer import record_of  # noqa: PLC0415 - as above

    with opened_store(store) as base:
        facts = base.at().facts(tenant)
        if as_json:
            write_json(map(record_of, islice(facts, limit)))
            return
        rows = list(islice(facts, limit or MOST_ROWS))
        more = next(facts, None) is not None
    if rows:
        facts_table(rows)
    else:
        say("no facts", error=True)
    if more:
        say(f"These are the first {len(rows)}; --limit shows more.", error=True)


@facts_app.command("search", epilog="For example: `director-ai facts search 'How long do refunds take?' -k 3`")
def search_facts(
    query: Annotated[str, typer.Argument(help="A claim or a question.", show_default=False)],
    prompt: Annotated[str, typer.Option("--prompt", help="What it answers: context for words like “it”.")] = "",
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, max=1000, help="At most so many facts.")] = 5,
    store: Store = DEFAULT_STORE,
    tenant: Tenant = "",
    words: Words = False,
    as_json: AsJson = False,
) -> None:
    """Find the facts that bear on a text: the tenant's own and the shared ones."""
    with opened_store(store, words=words) as base:
        view = base.at()
        chunks = view.evidence_for(query, prompt=prompt, top_k=top_k, tenant_id=tenant)
        hits = [(_fact_of(chunk, view, tenant), chunk.distance) for chunk in chunks]
    if as_json:
        write_json(_hit(fact, distance) for fact, distance in hits)
    elif hits:
        hits_table(hits, tenant)
    else:
        say("nothing relevant")
    if not hits:
        raise typer.Exit(NOTHING_FOUND)


def _fact_of(chunk: EvidenceChunk, view: KnowledgeView, tenant: str) -> Fact:
    """Return the fact that a chunk is: the tenant's, or the shared one of the same key."""
    from director_ai.core.evidence import Fact  # noqa: PLC0415 - as above

    for scope in (tenant, ""):
        fact = view.get(chunk.source, scope)
        if fact is not None and fact.text == chunk.text:
            return fact
    return Fact(key=chunk.source, text=chunk.text, tenant_id=tenant)


def _hit(fact: Fact, distance: float) -> dict[str, object]:
    from director_ai.knowledge.transfer import record_of  # noqa: PLC0415 - as above

    return {"distance": distance, **record_of(fact)}


@facts_app.command("remove", epilog="For example: `director-ai facts remove refund`")
def remove_fact(key: Key, store: Store = DEFAULT_STORE, tenant: Tenant = "", as_json: AsJson = False) -> None:
    """Remove one fact; its versions stay in the history."""
    with opened_store(store) as base:
        removed = base.remove(key, tenant)
    if as_json:
        write_json([{"key": key, "removed": removed}])
    else:
        say(f"removed {key}" if removed else "there is no fact under this key in this scope", error=not removed)
    if not removed:
        raise typer.Exit(NOTHING_FOUND)


@facts_app.command("history", epilog="For example: `director-ai facts history refund`")
def show_history(key: Key, store: Store = DEFAULT_STORE, tenant: Tenant = "", as_json: AsJson = False) -> None:
    """Show every version of a fact, the first one first."""
    from director_ai.knowledge.transfer import record_of  # noqa: PLC0415 - as above

    with opened_store(store) as base:
        versions = base.history(key, tenant)
        alive = base.get(key, tenant)
    if as_json:
        write_json(record_of(fact, ended=fact != alive) for fact in versions)
    elif versions:
        facts_table(versions, versions=True)
        if alive is None:
            say("It was removed after the last of them.")
    else:
        say("there is no fact under this key in this scope", error=True)
    if not versions:
        raise typer.Exit(NOTHING_FOUND)


@facts_app.command("conflicts", epilog="For example: `director-ai facts conflicts --tenant acme`")
def list_conflicts(
    store: Store = DEFAULT_STORE, tenant: Tenant = "", words: Words = False, as_json: AsJson = False
) -> None:
    """Show facts that cannot both be right: they say the same of different values."""
    with opened_store(store, words=words) as base:
        if as_json:
            write_json(map(asdict, base.conflicts(tenant)))
        elif not show_conflicts(base, tenant, base.conflicts(tenant)):
            say("no contradictory facts")


facts_app.command("ingest", epilog="For example: `director-ai facts ingest handbook/ terms.pdf --tenant acme`")(
    ingest_command
)
facts_app.command("import", epilog="For example: `director-ai facts import facts.jsonl`")(import_command)
facts_app.command("export", epilog="For example: `director-ai facts export facts.jsonl --tenant acme`")(export_command)
