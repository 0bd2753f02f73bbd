"""How cases of a review look in a terminal, and as JSON."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from director_ai.cli.facts_show import console, counted, print_table, shown, table
from director_ai.cli.terminal import for_terminal
from director_ai.core.merge import in_common

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table
    from rich.text import Text

    from director_ai.record.chain import AuditRow
    from director_ai.review.cases import ReviewCase, ReviewDecision

__all__ = ["Seen", "cases_table", "record_of", "shortest", "show_case", "until"]

SHORTEST: Final = 13
"""Characters of a case id that a list shows, or as many more as tell its cases apart."""
MOST_COMPARED: Final = 4_000_000
"""Pairs of words up to which two texts are compared word by word."""
_STATE_STYLES: Final = {
    "open": "yellow",
    "approved": "green",
    "rejected": "red",
    "retry_requested": "magenta",
    "expired": "bright_black",
    "released": "cyan",
}
_DECISION_STYLES: Final = {"allow": "green", "warn": "yellow", "halt": "red", "block": "bold red"}
_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A case with all that is known of it."""

    case: ReviewCase
    differences: tuple[str, ...]
    """What is otherwise than the trail says; where there is any, decisions and rows are not shown."""
    decisions: tuple[ReviewDecision, ...] = ()
    rows: tuple[AuditRow, ...] = ()


def record_of(seen: Seen, *, texts: bool) -> dict[str, Any]:
    """Return a case as JSON holds it."""
    return {
        **seen.case.to_dict(include_candidate=texts),
        "borne_out": not seen.differences,
        "differences": list(seen.differences),
        "decisions": [decision.to_dict() for decision in seen.decisions],
        "trail": [
            {"sequence": row.sequence, "at": _stamp(row), "kind": row.kind, "body": row.content, "hash": row.hash}
            for row in seen.rows
        ],
    }


# --- the list -------------------------------------------------------------------------------------------------


def cases_table(cases: Sequence[ReviewCase]) -> None:
    """Show cases, a line each."""
    rows = table("age", "state", "case", "tenant", "reason", "approvals", "held by")
    length, now = shortest([case.case_id for case in cases]), datetime.now(UTC)
    for case in cases:
        rows.add_row(
            _age(case.created_at, now),
            _styled(case.state, _STATE_STYLES),
            shown(case.case_id[:length]),
            shown(case.tenant_id),
            shown(case.reason, one_line=True),
            f"{case.approvals}/{case.required_approvals}",
            shown(case.claimed_by),
        )
    age, state, case_id, _, reason, approvals, _ = rows.columns
    for column in (age, state, case_id, approvals):
        column.no_wrap = True
    rows.expand, reason.ratio = True, 1
    reason.no_wrap, reason.overflow = True, "ellipsis"
    print_table(rows)


def shortest(ids: Sequence[str]) -> int:
    """Return how many characters tell the ids apart."""
    length, longest = SHORTEST, max(map(len, ids), default=0)
    while length < longest and len({each[:length] for each in ids}) < len(set(ids)):
        length += 1
    return length


def _age(since: datetime, now: datetime) -> str:
    seconds = max(0, int((now - since).total_seconds()))
    for size, unit, most in ((1, "s", 60), (60, "min", 3_600), (3_600, "h", 172_800)):
        if seconds < most:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86_400} d"


# --- one case -------------------------------------------------------------------------------------------------


def show_case(seen: Seen) -> None:
    """Show a case: its text, what it corrects, what it rests on, and what was decided."""
    case, to = seen.case, console()
    head = shown(case.case_id)
    head.stylize("bold")
    to.print(head.append("  ").append_text(_styled(case.state, _STATE_STYLES)), soft_wrap=True)
    facts = table("", "")
    facts.show_header = False
    for name, value in _facts_of(case):
        facts.add_row(name, shown(value), style=None)
    facts.columns[0].style, facts.columns[0].no_wrap = "bright_black", True
    to.print(facts)
    if case.candidate_text is None:
        to.print("\nThe text was let go at the end of its time.")
    else:
        _show_text("text", shown(case.candidate_text), case.candidate_text)
        if case.original_text:
            change = _marked(case.original_text, case.candidate_text, colours=to.color_system is not None)
            _show_text("what it changes", change, case.original_text)
    if seen.differences:
        return
    _show_guard(case.guard_decision)
    _show_decisions(seen.decisions)
    _show_trail(seen.rows)


def _facts_of(case: ReviewCase) -> Iterator[tuple[str, str]]:
    """Yield what is to be said of a case in a line, where there is something to say."""
    approvals = f"{case.approvals} of {case.required_approvals}"
    allowed = f", by {', '.join(case.reviewers)} alone" if case.reviewers else ""
    held = f"{case.claimed_by} until {until(case.claimed_until)}" if case.claimed_until else ""
    released = f"by {case.released_by} under {case.release_id}" if case.release_id else ""
    metadata = json.dumps(case.metadata, ensure_ascii=False) if case.metadata else ""
    for name, value in (
        ("tenant", case.tenant_id),
        ("reason", case.reason),
        ("request", case.request_id),
        ("policy", case.policy_id),
        ("proposed by", case.proposer_id),
        ("proposal", case.proposal_id),
        ("next try of", case.retry_of),
        ("evidence", ", ".join(case.evidence_refs)),
        ("approvals", approvals + allowed),
        ("came in", until(case.created_at)),
        ("held by", held),
        ("released", released),
        ("expires", until(case.expires_at) if case.state in {"open", "approved", "expired"} else ""),
        ("metadata", metadata),
    ):
        if value:
            yield name, value


def _show_text(title: str, text: Text, source: str) -> None:
    """Show a text in a frame, so that nothing in it passes for what stands around it."""
    from rich.panel import Panel  # noqa: PLC0415 - keeps `--help` quick

    console().print(Panel(text, title=title, title_align="left", padding=(0, 1)))
    unseen = len(source) - len(for_terminal(source)) + sum(map(_is_unseen, for_terminal(source)))
    if unseen:
        note = f"{counted(unseen, 'character')} of it cannot be seen here; --json --text has them"
        console().print(note, style="bold red")


def _is_unseen(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character) in {"Cf", "Co", "Cn", "Zl", "Zp"}


def _marked(before: str, after: str, *, colours: bool) -> Text:
    """Return a text with what was taken out and what was put in; marked by signs where there are no colours."""
    from rich.text import Text  # noqa: PLC0415 - as above

    marked = Text()
    for kind, part in _changes(_WORD.findall(for_terminal(before)), _WORD.findall(for_terminal(after))):
        if kind == "same":
            marked.append(part)
        elif kind == "out":
            marked.append(part if colours else f"[-{part}-]", "red strike")
        else:
            marked.append(part if colours else f"{{+{part}+}}", "bold green underline")
    return marked


def _changes(before: list[str], after: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what stayed, what went out and what came in, in order."""
    start = in_common(before, after)
    end = in_common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    blocks: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(old), 0, len(new))]
    if len(old) * len(new) <= MOST_COMPARED:
        blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    steps = [("same", "".join(before[:start]))]
    for tag, old_start, old_end, new_start, new_end in blocks:
        if tag == "equal":
            steps.append(("same", "".join(old[old_start:old_end])))
        else:
            steps += [("out", "".join(old[old_start:old_end])), ("in", "".join(new[new_start:new_end]))]
    steps.append(("same", "".join(before[len(before) - end :])))
    return (step for step in steps if step[1])


def _show_guard(decision: dict[str, Any] | None) -> None:
    if decision is None:
        return
    envelope = decision["envelope"]
    line = shown("\nguard ").append_text(_styled(decision["decision"], _DECISION_STYLES))
    risk = "no risk known" if decision["risk"] is None else f"risk {decision['risk']:.2f}"
    limits = f"halts from {envelope['calibrated_threshold']:.2f}, blocks from {envelope['no_go_threshold']:.2f}"
    line.append_text(shown(f"  {decision['reason']} · {risk}, {limits} · {envelope['domain']}"))
    console().print(line, soft_wrap=True)
    rows = table("verifier", "modality", "verdict", "risk", "interval", "evidence", "failed by")
    for signal in decision["signals"]:
        low, high = signal["confidence_low"], signal["confidence_high"]
        interval = "" if low is None else f"{low:.2f}-{high:.2f}"
        refs = ", ".join(signal["evidence_refs"])
        words = (signal["verifier"], signal["modality"], signal["verdict"], f"{signal['score']:.2f}", interval)
        rows.add_row(*map(shown, (*words, refs, signal["failure_mode"])))
    print_table(rows)


def _show_decisions(decisions: Sequence[ReviewDecision]) -> None:
    if not decisions:
        return
    rows = table("decided", "reviewer", "action", "reason", "row")
    for each in decisions:
        said = "(let go)" if each.reason is None else each.reason
        words = (until(each.at), each.reviewer_id, each.action, said, str(each.audit_sequence))
        rows.add_row(*map(shown, words))
    _show_times(rows, 0)


def _show_trail(trail: Sequence[AuditRow]) -> None:
    rows = table("row", "at", "kind", "by", "says", "hash")
    for row in trail:
        body = row.content
        by = str(body.get("reviewer", body.get("proposer", "")))
        says = str(body.get("action") or body.get("release") or body.get("as") or body.get("was") or "")
        words = (str(row.sequence), _stamp(row)[:19].replace("T", " "), row.kind, by, says, row.hash[:12])
        rows.add_row(*map(shown, words))
    _show_times(rows, 1)


def _show_times(rows: Table, place: int) -> None:
    """Show a table behind an empty line, the times in it in one piece."""
    rows.columns[place].no_wrap = True
    console().print()
    print_table(rows)


def _styled(word: str, styles: dict[str, str]) -> Text:
    text = shown(word)
    text.stylize(styles.get(word, ""))
    return text


def _stamp(row: AuditRow) -> str:
    from director_ai.review.cases import moment  # noqa: PLC0415 - as above

    return moment(row.at).isoformat(timespec="microseconds").replace("+00:00", "Z")


def until(time: datetime | None) -> str:
    """Return a time as people read it."""
    return "" if time is None else f"{time:%Y-%m-%d %H:%M:%S} UTC"
