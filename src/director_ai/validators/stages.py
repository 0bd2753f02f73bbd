"""Changes upon changes: what several passes over a text did to it, as changes of the text itself."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.merge import Edit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from director_ai.core.merge import EditKind

__all__ = ["Change", "apply_changes", "as_edits", "chain_changes", "run_stages"]


class Change(NamedTuple):
    """Something else in the place of some characters: an edit that no check has signed."""

    start: int
    end: int
    replacement: str
    kind: EditKind
    reason: str


def run_stages(text: str, stages: Iterable[Callable[[str], Sequence[Change]]]) -> tuple[str, list[Change]]:
    """Return what a text becomes when each stage reads what the one before it left, and all of it as changes.

    A stage returns changes in their order, none of which overlap.
    """
    changes: list[Change] = []
    for stage in stages:
        if fresh := stage(text):
            changes = chain_changes(text, changes, fresh)
            text = apply_changes(text, fresh)
    return text, changes


def apply_changes(text: str, changes: Iterable[Change]) -> str:
    """Return the text with changes made that are in their order and do not overlap."""
    pieces, place = [], 0
    for change in changes:
        pieces += [text[place : change.start], change.replacement]
        place = change.end
    return "".join([*pieces, text[place:]])


def as_edits(changes: Iterable[Change], check: str) -> tuple[Edit, ...]:
    """Return changes as the edits of a check."""
    return tuple(Edit(each.start, each.end, each.replacement, each.kind, check, each.reason) for each in changes)


class _Part(NamedTuple):
    """A stretch of the text between two passes that one of them made or the other changes."""

    start: int
    end: int
    made: Change | None
    changed: Change | None


def chain_changes(middle: str, first: Sequence[Change], then: Sequence[Change]) -> list[Change]:
    """Return the changes of the source that do what two rounds do; `middle` is the text between them."""
    if not first:
        return list(then)
    parts = sorted(
        itertools.chain(_made(first), (_Part(each.start, each.end, None, each) for each in then)),
        key=lambda part: (part.start, part.end),
    )
    chained, shift, at = [], 0, 0
    while at < len(parts):
        low, high, cluster = parts[at].start, parts[at].end, [parts[at]]
        at += 1
        while at < len(parts) and parts[at].start < high:
            high = max(high, parts[at].end)
            cluster.append(parts[at])
            at += 1
        made = [part.made for part in cluster if part.made]
        grown = sum(each.end - each.start - len(each.replacement) for each in made)
        new = apply_changes(
            middle[low:high],
            (
                each._replace(start=each.start - low, end=each.end - low)
                for each in (part.changed for part in cluster)
                if each
            ),
        )
        worst = min((part.made or part.changed for part in cluster), key=_rank)
        if worst:
            chained.append(Change(low + shift, high + shift + grown, new, worst.kind, worst.reason))
        shift += grown
    return chained


def _made(changes: Iterable[Change]) -> Iterable[_Part]:
    """Yield where the replacements of changes stand in the text that they made."""
    shift = 0
    for change in changes:
        start = change.start + shift
        yield _Part(start, start + len(change.replacement), change, None)
        shift += len(change.replacement) - (change.end - change.start)


def _rank(change: Change | None) -> int:
    return ("remove", "rewrite", "style").index(change.kind) if change else 3
