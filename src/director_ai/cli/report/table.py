"""The table of a report: each clause with its score, the reason, and the evidence that decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from director_ai.cli.report.changes import changes_of
from director_ai.cli.report.figures import milliseconds, why_of
from director_ai.cli.report.markup import Markup, joined, tag, visible
from director_ai.core.identifiers import ref_of
from director_ai.core.showing.stretches import mark_values
from director_ai.core.showing.words import figure, outcome_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.repair.record import ClauseAction
    from director_ai.core.types import EvidenceChunk

__all__ = ["draw_table"]

_COLUMNS: Final = ("Clause", "Outcome", "Support", "Evidence", "Time")


def draw_table(actions: Sequence[ClauseAction]) -> Markup:
    """Return a row for each clause."""
    heads = [tag("th", visible(name), scope="col", role="columnheader") for name in _COLUMNS]
    rows = [_row(number, action) for number, action in enumerate(actions, 1)]
    return tag(
        "table",
        tag("thead", tag("tr", *heads, role="row"), role="rowgroup"),
        tag("tbody", *rows, role="rowgroup"),
        role="table",
    )


def _row(number: int, action: ClauseAction) -> Markup:
    cells = (_clause(number, action), _outcome(action), _support(action), _evidence(action), _time(action))
    told = [tag("td", content, role="cell", data_label=name) for name, content in zip(_COLUMNS, cells, strict=True)]
    kind = action.action if action.support is not None or action.changed else "nothing"
    return tag("tr", *told, role="row", id=f"clause-{number}", class_=kind, tabindex=-1)


def _clause(number: int, action: ClauseAction) -> Markup:
    names = {"same": "span", "gone": "del", "new": "ins"}
    said = [tag(names[each.kind], visible(each.text.strip("\n"))) for each in changes_of(action)]
    return joined([tag("span", visible(str(number)), class_="n"), tag("span", *said, class_="clause")])


def _outcome(action: ClauseAction) -> Markup:
    why = tag("span", visible(why_of(action)), class_="why")
    return joined([tag("span", visible(outcome_of(action)), class_="chip"), why])


def _support(action: ClauseAction) -> Markup:
    if action.support is None:
        return tag("span", visible("–"), class_="muted")
    before = tag("span", visible(figure(action.support)), class_="score")
    if action.rewritten_support is None:
        return before
    after = tag("span", visible(figure(action.rewritten_support)), class_="score after")
    return joined([before, after], " → ")


def _evidence(action: ClauseAction) -> Markup:
    if not action.evidence:
        return tag("span", visible("–"), class_="muted")
    first, *others = [tag("div", *_chunk(chunk, action), class_="chunk") for chunk in action.evidence]
    if action.changed and not action.differences:
        first = joined([tag("span", visible("nearest:"), class_="muted"), first])
    if not others:
        return first
    more = tag("summary", visible(f"{len(others)} more"))
    return joined([first, tag("details", more, *others, class_="more")])


def _chunk(chunk: EvidenceChunk, action: ClauseAction) -> tuple[Markup, Markup]:
    return tag("code", visible(ref_of(chunk.source, chunk.text))), tag("span", _marked(chunk.text, action))


def _marked(text: str, action: ClauseAction) -> Markup:
    """Return evidence with the values marked that the clause has otherwise."""
    slots = [each.evidence for each in action.differences if each.evidence is not None]
    parts = [visible(part) if kind == "same" else tag("mark", visible(part)) for kind, part in mark_values(text, slots)]
    return joined(parts)


def _time(action: ClauseAction) -> Markup:
    held = tag("span", visible(f"held {milliseconds(action.held_seconds)}"))
    return joined([held, tag("span", visible(f"scored {milliseconds(action.scoring_seconds)}"), class_="muted")])
