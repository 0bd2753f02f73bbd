"""`director-ai facts ingest`, `import` and `export`: many facts at once, from documents and between stores."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from director_ai.cli.facts_show import (
    changes,
    changes_table,
    counted,
    progress_bar,
    say,
    show_conflicts,
    skipped_table,
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
from director_ai.cli.files import written
from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.cli.facts_documents import Documents
    from director_ai.knowledge.store import GroundTruthStore

__all__ = ["export_command", "import_command", "ingest_command"]

NOTHING_FOUND = 1
MOST_CONFLICTS = 20
"""That a report shows; `facts conflicts` shows all."""


def ingest_command(  # noqa: PLR0913, PLR0917 - the options of a command
    paths: Annotated[list[str], typer.Argument(help="Files, and folders with files.", show_default=False)],
    prefix: Annotated[str, typer.Option("--source", help="Put before the names of the files, as in “hr/”.")] = "",
    kind: Annotated[
        str | None,
        typer.Option("--format", help="What a named file is: text, markdown, html, pdf, csv or jsonl."),
    ] = None,
    sentences: Annotated[int, typer.Option("--sentences", min=1, max=3, help="The most in one fact.")] = 3,
    store: Store = DEFAULT_STORE,
    tenant: Tenant = "",
    by: By = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Let these documents take the place of what they said before.")
    ] = False,
    dry_run: DryRun = False,
    conflicts: Conflicts = True,
    words: Words = False,
    as_json: AsJson = False,
) -> None:
    """Split documents into facts of a few sentences and store them: all, or if anything fails, none."""
    from director_ai.cli.facts_documents import Documents  # noqa: PLC0415 - keeps `--help` quick

    check_identifier("tenant_id", tenant)
    documents = Documents(paths, prefix=prefix, sentences=sentences, by=by or login_name(), kind=kind)
    if documents.is_empty:
        _say_nothing_found(paths, documents, as_json=as_json)
        raise typer.Exit(NOTHING_FOUND)
    with opened_store(store, words=words, makes=True, dry_run=dry_run) as base:
        with progress_bar("ingesting", documents.size) as told:
            loaded = base.add_many(
                documents.entries(), tenant, replace=replace or dry_run, dry_run=dry_run,
                remove=documents.outdated(base, tenant, replace=replace, dry_run=dry_run),
                progress=lambda facts: told(documents.read, facts),
            )  # fmt: skip
        new = [*loaded.added, *loaded.updated] if conflicts and not dry_run else []
        found = base.conflicts(tenant, new) if new else iter(())
        report = changes(loaded, dry_run=dry_run)
        report |= {"stale": documents.stale, **_reading(documents)}
        if as_json:
            write_json([{**report, "conflicts": [asdict(each) for each in found]}])
        else:
            say(f"{counted(documents.files, 'file')}, {counted(documents.passages, 'passage')}")
            changes_table(report)
            if documents.skipped:
                skipped_table(documents.skipped)
            show_conflicts(base, tenant, found, MOST_CONFLICTS)
    needing = {*documents.stale, *loaded.updated} if dry_run and not replace else ()
    if needing:
        say(f"{counted(len(needing), 'fact')} would change or go: without --replace nothing is stored.", error=True)
    if not documents.files:
        raise typer.Exit(NOTHING_FOUND)


def _reading(documents: Documents) -> dict[str, object]:
    return {"files": documents.files, "passages": documents.passages, "skipped": documents.skipped}


def _say_nothing_found(paths: Sequence[str], documents: Documents, *, as_json: bool) -> None:
    if as_json:
        none = dict.fromkeys(("added", "updated", "removed", "stale", "conflicts"), ())
        write_json([{**none, "unchanged": 0, **_reading(documents)}])
    elif documents.skipped:
        skipped_table(documents.skipped)
    say(f"no documents in {', '.join(map(repr, paths))}", error=True)


def import_command(
    file: Annotated[str, typer.Argument(help="An export; - reads the standard input.", show_default=False)],
    store: Store = DEFAULT_STORE,
    tenant: Annotated[
        str, typer.Option("--tenant", help="Put facts that name no tenant under this one; refuse those of others.")
    ] = "",
    replace: Replace = False,
    dry_run: DryRun = False,
    words: Words = False,
    as_json: AsJson = False,
) -> None:
    """Add the facts of an export: all, or if anything fails, none."""
    from director_ai.knowledge.transfer import import_facts  # noqa: PLC0415 - as above

    check_identifier("tenant_id", tenant)
    with (
        opened_text(file) as stream,
        opened_store(store, words=words, makes=True, dry_run=dry_run) as base,
        progress_bar("importing", None) as told,
    ):
        loaded = import_facts(
            base, stream, tenant_id=tenant, replace=replace, dry_run=dry_run, progress=lambda facts: told(facts, facts)
        )
    report = changes(loaded, dry_run=dry_run)
    if as_json:
        write_json([report])
    else:
        changes_table(report)


def export_command(
    file: Annotated[str, typer.Argument(help="Where to; - is the standard output.")] = "-",
    versions: Annotated[
        bool, typer.Option("--versions", help="Write what was changed or removed too, marked as ended.")
    ] = False,
    store: Store = DEFAULT_STORE,
    tenant: Tenant = "",
    all_tenants: Annotated[bool, typer.Option("--all-tenants", help="The shared facts and every tenant's.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a scope's own facts, or those of all, as JSON lines, as of one revision."""
    from director_ai.knowledge.transfer import export_facts  # noqa: PLC0415 - as above

    if tenant and all_tenants:
        raise ConfigError("--tenant names one scope and --all-tenants takes all; give one of the two")
    with opened_store(store) as base:
        if file == "-":
            if sys.stdout is None:
                raise ConfigError("the standard output is closed; give a file instead")
            export_facts(base, sys.stdout, tenant, versions=versions, all_tenants=all_tenants)
            sys.stdout.flush()
        else:
            if Path(file).resolve() == Path(store).resolve():
                raise ConfigError("the export would take the place of the knowledge base itself; give another name")
            with written(file) as stream:
                count = export_facts(base, stream, tenant, versions=versions, all_tenants=all_tenants)
            if as_json:
                write_json([{"file": file, "facts": count}])
            else:
                say(f"{counted(count, 'fact')} in {file}")
        left = (
            [] if tenant or all_tenants else [each for each in base.tables.tenants() if each and _has_facts(base, each)]
        )
    if left:
        say(f"The facts of {counted(len(left), 'tenant')} were not exported; --all-tenants takes them too.", error=True)


def _has_facts(store: GroundTruthStore, tenant_id: str) -> bool:
    return next(store.facts(tenant_id), None) is not None
