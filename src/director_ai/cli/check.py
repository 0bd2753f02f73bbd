"""`director-ai check`: an answer against what is known, clause by clause."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from director_ai.cli.facts_show import console, print_table, say, shown, table, write_json
from director_ai.cli.facts_store import AsJson, Tenant, opened_text
from director_ai.cli.guard_options import Config, Facts, Model, ProfileName, Prompt, Store, Wanted, opened_guard
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from rich.text import Text

    from director_ai.core.scoring.coherence import ClauseVerdict
    from director_ai.core.types import CoherenceScore

__all__ = ["check"]

NOT_APPROVED: Final = 1
_LOOKS: Final = {
    "supported": ("✓", "green"),
    "unverified": ("?", "yellow"),
    "not_a_claim": ("·", "dim"),
    "unsupported": ("✕", "red"),
    "not_evaluated": ("!", "red"),
}
_WIDE: Final = 10
"""Blocks in the bar of a full support."""


def check(  # noqa: PLR0913, PLR0917 - the options of a command
    answer: Annotated[
        str | None, typer.Argument(help="The answer; without it, or as -, the standard input.", show_default=False)
    ] = None,
    file: Annotated[str, typer.Option("--file", metavar="FILE", help="Read the answer from a file.")] = "",
    prompt: Prompt = "",
    facts: Facts = None,
    store: Store = "",
    profile: ProfileName = "",
    tenant: Tenant = "",
    model: Model = True,
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Check an answer against facts. Exit status: 0 approved, 1 not approved, 2 bad input.

    For example: director-ai check "Refunds take 90 days." --facts facts.json --profile finance
    """
    text = _answer(answer, file)
    wanted = Wanted(facts=facts, store=store, profile=profile, model=model, config=config, tenant=tenant)
    with opened_guard(wanted) as guard:
        approved, score = guard.check(prompt, text, tenant)
        verdicts = guard.scorer.judge(prompt, text, tenant)
        threshold, name = guard.scorer.limits.threshold, guard.profile.name
    if as_json:
        told = {"approved": approved, "score": score.score, "threshold": threshold, "profile": name}
        write_json([{**told, "warning": score.warning, "clauses": [_record(each) for each in verdicts]}])
    else:
        _show(verdicts)
        _conclude(score, threshold, name)
    if not approved:
        raise typer.Exit(NOT_APPROVED)


def _answer(given: str | None, file: str) -> str:
    if given is not None and given != "-" and file:
        raise ConfigError("give the answer or --file, not both")
    if given is None and not file and sys.stdin is not None and sys.stdin.isatty():
        raise ConfigError("give the answer as an argument, by --file, or on the standard input")
    if given is None or given == "-":
        with opened_text(file or "-") as stream:
            given = stream.read()
    if not given.strip():
        raise ConfigError("there is no answer to check; it is empty")
    return given


def _record(verdict: ClauseVerdict) -> dict[str, Any]:
    return {
        "clause": verdict.clause,
        "start": verdict.start,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "mode": verdict.mode,
        "support": verdict.support,
        "evidence_ids": _evidence_ids(verdict),
        "differences": [
            {"kind": each.kind, "said": each.claim.text, "evidence": each.evidence.text if each.evidence else None}
            for each in verdict.differences
        ],
    }


def _evidence_ids(verdict: ClauseVerdict) -> list[str]:
    """Return what the evidence is called, the most telling first."""
    from director_ai.core.identifiers import ref_of  # noqa: PLC0415 - keeps `--help` quick

    first = verdict.chunks[verdict.source : verdict.source + 1]
    return list(dict.fromkeys(ref_of(chunk.source, chunk.text) for chunk in (*first, *verdict.chunks)))


def _show(verdicts: list[ClauseVerdict]) -> None:
    rows = table("verdict", "support", "clause", "evidence")
    for each in verdicts:
        sign, style = _LOOKS[each.verdict]
        said = shown(f"{sign} {each.verdict.replace('_', ' ')}")
        said.stylize(style)
        rows.add_row(said, _bar(each.support, style), _clause(each), shown(", ".join(_evidence_ids(each)[:1])))
    rows.columns[0].no_wrap = rows.columns[1].no_wrap = True
    rows.columns[2].ratio, rows.expand = 1, True
    print_table(rows)


def _bar(support: float | None, style: str) -> Text:
    bar = shown("" if support is None else f"{support:.2f} {'█' * round(support * _WIDE) or '·':<{_WIDE}}")
    bar.stylize(style)
    return bar


def _clause(verdict: ClauseVerdict) -> Text:
    """Return a clause, and under it which of its values is another one in the evidence."""
    said = shown(verdict.clause, one_line=True)
    for each in verdict.differences[:3] if verdict.verdict == "unsupported" else ():
        other = f"the evidence has “{each.evidence.text}”" if each.evidence else "the evidence has none"
        said.append_text(shown(f"\n“{each.claim.text}”: {other}"))
    return said


def _conclude(score: CoherenceScore, threshold: float, profile: str) -> None:
    word = "approved" if score.approved else "not approved"
    blocks = round(score.score * 2 * _WIDE)
    bar = f"{'█' * blocks}{'░' * (2 * _WIDE - blocks)}"
    line = shown(f"{word}  {bar}  score {score.score:.2f} of at least {threshold:.2f} (profile {profile})")
    line.stylize("bold green" if score.approved else "bold red", 0, len(word))
    console().print()
    console().print(line, soft_wrap=True)
    if score.approved and score.warning:
        say("It is near the limit.")
