"""`director-ai review`: what waits for people, shown, decided and released from the command line."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

from director_ai.cli.facts_show import say, write_json
from director_ai.cli.facts_store import login_name, opened_store
from director_ai.cli.review_claims import claim, unclaim
from director_ai.cli.review_options import (
    DEFAULT_DB,
    REFUSED,
    AsJson,
    Case,
    Checkpoints,
    Db,
    Key,
    Reviewer,
    Tenant,
    case_meant,
    opened_case,
    opened_queue,
)
from director_ai.cli.review_show import Seen, cases_table, record_of, show_case, until
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.review.cases import Action, ReviewCase, ReviewDecision, State
    from director_ai.review.queue import HumanReviewQueue

__all__ = ["review_app"]

MOST_ROWS: Final = 100
"""Of a list for people; `--json` and `--limit` give more."""
PAGE: Final = 500
UNUSABLE: Final = 2

review_app = typer.Typer(
    help="Look at texts that wait for people, decide about them, and release what was approved. Exit status: 0 done, "
    "1 refused or nothing found, 2 bad input or a database that cannot be used.",
    epilog="For example: `director-ai review list --state open`, then `director-ai review show case-1a2b3c4d`, "
    "`director-ai review approve case-1a2b3c4d --reason 'as in the contract'` and "
    "`director-ai review release case-1a2b3c4d > answer.txt`.",
    no_args_is_help=True,
)

Reason = Annotated[str, typer.Option("--reason", help="Why, in your words; kept with the decision.")]
Texts = Annotated[bool, typer.Option("--text", help="With --json: print the texts and metadata too.")]


@review_app.command("list", epilog="For example: `director-ai review list --tenant acme --state open --limit 20`")
def list_cases(  # noqa: PLR0913, PLR0917 - the options of a command
    state: Annotated[
        str, typer.Option("--state", help="open, approved, rejected, retry_requested, expired or released.")
    ] = "",
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="At most so many.", show_default=f"{MOST_ROWS}, with --json all"),
    ] = None,
    after: Annotated[str, typer.Option("--after", help="Only cases that came in after this one.")] = "",
    texts: Texts = False,
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    checkpoints: Checkpoints = "",
    key: Key = "",
    as_json: AsJson = False,
) -> None:
    """List cases, the oldest first; the state says what may be done with each."""
    with opened_queue(db, checkpoints, key) as queue:
        last = case_meant(queue, after, tenant) if after else ""
        cases = _cases(queue, tenant, state, last)
        if as_json:
            found = write_json(case.to_dict(include_candidate=texts) for case in islice(cases, limit))
        else:
            rows = list(islice(cases, limit or MOST_ROWS))
            found, more = len(rows), next(cases, None) is not None
            if rows:
                cases_table(rows)
            if more:
                say(
                    f"These are the first {found}; --limit shows more, --after {rows[-1].case_id} the next.", error=True
                )
    if not found:
        say("no cases", error=True)
        raise typer.Exit(REFUSED)


def _cases(queue: HumanReviewQueue, tenant: str | None, state: str, after: str) -> Iterator[ReviewCase]:
    """Yield cases, a page of them at a time."""
    wanted: State | None = state or None  # type: ignore[assignment]  # the queue refuses other words and names the nearest
    while page := queue.list_cases(tenant_id=tenant, state=wanted, after=after, limit=PAGE):
        yield from page
        after = page[-1].case_id


@review_app.command("show", epilog="For example: `director-ai review show case-1a2b3c4d`")
def show(
    case: Case,
    texts: Texts = False,
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    checkpoints: Checkpoints = "",
    key: Key = "",
    as_json: AsJson = False,
) -> None:
    """Show a case: its text, what it changes, what it rests on, what was decided, and its rows in the trail."""
    with opened_case(case, tenant, db, checkpoints, key) as (queue, case_id):
        seen = _seen(queue, case_id)
    if as_json:
        write_json([record_of(seen, texts=texts)])
    else:
        show_case(seen)
    if seen.differences:
        for sentence in ("The trail does not bear this case out; do not decide it.", *seen.differences):
            say(sentence, error=True)
        raise typer.Exit(UNUSABLE)


def _seen(queue: HumanReviewQueue, case_id: str) -> Seen:
    case, replay = queue.get_case(case_id), queue.replay(case_id)
    if replay.differences:
        return Seen(case=case, differences=replay.differences)
    decisions, rows = queue.decisions(case_id), queue.trail.about(case_id, case.tenant_id)
    return Seen(case=case, differences=(), decisions=tuple(decisions), rows=tuple(rows))


@review_app.command("approve", epilog="For example: `director-ai review approve case-1a2b3c4d --reason 'checked'`")
def approve(
    case: Case,
    reason: Reason = "",
    reviewer: Reviewer = "",
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    checkpoints: Checkpoints = "",
    key: Key = "",
    as_json: AsJson = False,
) -> None:
    """Approve a case; it may be released once as many reviewers did as it needs."""
    with opened_case(case, tenant, db, checkpoints, key) as (queue, case_id):
        decision = _decide(queue, case_id, reviewer, "approve", reason)
        after = queue.get_case(case_id)
    if as_json:
        write_json([decision.to_dict()])
        return
    count = f"{after.approvals} of {after.required_approvals}"
    say(f"approved by {decision.reviewer_id} · {count} · row {decision.audit_sequence}")
    if after.state == "approved":
        say(f"`director-ai review release` lets it out, until {until(after.expires_at)}.", error=True)


@review_app.command("reject", epilog="For example: `director-ai review reject case-1a2b3c4d --reason 'not so'`")
def reject(
    case: Case,
    reason: Reason = "",
    reviewer: Reviewer = "",
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    checkpoints: Checkpoints = "",
    key: Key = "",
    as_json: AsJson = False,
) -> None:
    """Reject a case: its text is never released."""
    with opened_case(case, tenant, db, checkpoints, key) as (queue, case_id):
        decision = _decide(queue, case_id, reviewer, "reject", reason)
    if as_json:
        write_json([decision.to_dict()])
    else:
        say(f"rejected by {decision.reviewer_id} · row {decision.audit_sequence}")


@review_app.command("retry", epilog="For example: `director-ai review retry case-1a2b3c4d --json | ./write-anew`")
def retry(
    case: Case,
    reason: Reason = "",
    reviewer: Reviewer = "",
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    checkpoints: Checkpoints = "",
    key: Key = "",
    as_json: AsJson = False,
) -> None:
    """Send a case back to who wrote it; --json prints what a generator needs, without the text."""
    with opened_case(case, tenant, db, checkpoints, key) as (queue, case_id):
        decision = _decide(queue, case_id, reviewer, "request_retry", reason)
        payload = queue.retry_payload(case_id)
    if as_json:
        write_json([payload])
    else:
        say(f"sent back by {decision.reviewer_id} · row {decision.audit_sequence}")


def _decide(queue: HumanReviewQueue, case_id: str, reviewer: str, action: Action, reason: str) -> ReviewDecision:
    return queue.decide(case_id, reviewer_id=reviewer or login_name(), action=action, reason=reason)


@review_app.command("release", epilog="For example: `director-ai review release case-1a2b3c4d > answer.txt`")
def release(
    case: Case,
    release_id: Annotated[
        str,
        typer.Option(
            "--release-id",
            help="Names this release, so that it can be asked for again.",
            show_default="made from the case's id",
        ),
    ] = "",
    reviewer: Reviewer = "",
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    checkpoints: Checkpoints = "",
    key: Key = "",
    as_json: AsJson = False,
) -> None:
    """Print the text of an approved case and nothing else; the same command again prints it again."""
    if sys.stdout is None:  # before anything leaves
        raise ConfigError("the standard output is closed; there is nowhere to write to")
    with opened_case(case, tenant, db, checkpoints, key) as (queue, case_id):
        name, who = release_id or case_id.replace("case-", "release-", 1), reviewer or login_name()
        text = queue.release(case_id, reviewer_id=who, release_id=name)
    if as_json:
        write_json([{"case_id": case_id, "release_id": name, "reviewer_id": who, "text": text}])
    elif sys.stdout.isatty():
        say(text)
    else:
        sys.stdout.buffer.write(text.encode())  # byte for byte, whatever the locale
        sys.stdout.flush()


review_app.command("claim", epilog="For example: `director-ai review claim case-1a2b3c4d --lease 600`")(claim)
review_app.command("unclaim", epilog="For example: `director-ai review unclaim case-1a2b3c4d`")(unclaim)


@review_app.command(
    "remember", epilog="For example: `director-ai review remember case-1a2b3c4d --as-fact facts.db ceo`"
)
def remember(
    case: Case,
    as_fact: Annotated[
        tuple[str, str] | None,
        typer.Option("--as-fact", help="Make it a fact of a knowledge base, under a key.", metavar="STORE KEY"),
    ] = None,
    reviewer: Reviewer = "",
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    checkpoints: Checkpoints = "",
    key: Key = "",
    as_json: AsJson = False,
) -> None:
    """Use a released text again: as the correction of the same claim, or as a fact."""
    who = reviewer or login_name()
    with opened_case(case, tenant, db, checkpoints, key) as (queue, case_id):
        if as_fact is None:
            queue.remember(case_id, reviewer_id=who)
        else:
            with opened_store(as_fact[0], key=as_fact[1]) as store:
                queue.remember(case_id, reviewer_id=who, store=store, key=as_fact[1])
    used = "correction" if as_fact is None else "fact"
    if as_json:
        write_json([{"case_id": case_id, "as": used, "key": as_fact[1] if as_fact else "", "reviewer_id": who}])
    else:
        say(f"remembered as a {used}")
