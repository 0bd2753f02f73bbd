"""One rule on its way through a stream: what it waits to be asked, how far it has decided, what its finds mean."""

from __future__ import annotations

import dataclasses
import re
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from director_ai.core.checks.answers import Trouble, read_answer
from director_ai.core.checks.rules import ENDING
from director_ai.core.checks.units import Unit, cutter_for
from director_ai.core.merge import Conflict, Edit, moved

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from director_ai.core.checks.answers import Outcome
    from director_ai.core.checks.json_lens import JsonLens
    from director_ai.core.checks.rules import Rule, Stop

__all__ = [
    "MOST_ASKS",
    "REDACTED",
    "Call",
    "Track",
    "as_removal",
    "behind",
    "going_on",
    "is_own",
    "labelled",
    "moved_conflict",
    "read_examination",
    "stop_order",
    "words_of",
]

_LABEL = re.compile(r"(\"?)\[([A-Z][A-Z0-9_]*)\]\1")  # in quotes where it stands for a number in JSON
_UNTYPED: Final = frozenset({"REDACTED", "REMOVED", "LINK", "ENCODED"})
"""Placeholders that say nothing of what stood there: they are not numbered, and nobody wants them back."""
REDACTED: Final = "[REDACTED]"
MOST_ASKS: Final = 512
_GRAVITY: Final = ("refrain", "exception", "halt", "reask")
_WORDS = re.compile(r"\S*\s*")


class Track:
    """One rule on its way through one stream."""

    __slots__ = ("at_once", "covered", "cutter", "decided", "joins", "lens", "number", "rule", "units")

    def __init__(self, number: int, rule: Rule, lens: JsonLens | None = None) -> None:
        self.number, self.rule = number, rule
        self.lens = lens
        """What it reads the stream through; its places count in what is seen there."""
        self.joins = rule.check.frontier == "word"  # it may be asked about any number of words at once
        self.cutter = cutter_for(rule.check.frontier)
        self.units: deque[Unit] = deque()
        self.decided = 0
        self.covered = 0  # how far its edits reach
        self.at_once = MOST_ASKS  # units; one whose answer needs more text makes the others' in vain

    def reach(self, length: int) -> int:
        """Return how much it can read of a stream of this length."""
        return length if self.lens is None else self.lens.length

    def place(self, seen: int) -> int:
        """Return where in the stream one of its places is."""
        return seen if self.lens is None else self.lens.place(seen)


class Call(NamedTuple):
    """A question that waits for its answer: about a unit of a track, or about what an edit would put in its place."""

    track: Track
    text: str
    unit: Unit | None
    rewrite: int = -1
    """Which of the rewrites under examination."""


def moved_conflict(conflict: Conflict, by: int) -> Conflict:
    return Conflict(lost=moved(conflict.lost, by), won=moved(conflict.won, by), outcome=conflict.outcome)


def words_of(unit: Unit, text: str) -> list[Unit]:
    """Return a unit of words as one unit for each word."""
    places = [match.span() for match in _WORDS.finditer(text) if match[0]]
    units = [Unit(unit.low + low, unit.low + high, unit.low + low, unit.low + high) for low, high in places]
    return [*units[:-1], units[-1]._replace(final=unit.final)] if units else []


def is_own(start: int, unit: Unit) -> bool:
    """Whether an edit belongs to a unit; one at its end belongs to the next, unless the window ends there too."""
    return unit.start <= start < unit.end or start == unit.end == unit.high


def as_removal(edit: Edit) -> Edit:
    put = edit.replacement if edit.kind == "remove" else REDACTED
    return Edit(edit.start, edit.end, put, "remove", edit.check, edit.reason)


def stop_order(stop: Stop) -> tuple[int, int, int, str]:
    """What comes first in the text; at one place a check that could not be asked, then whatever releases least."""
    grave = _GRAVITY.index(stop.action) if stop.action in _GRAVITY else -1
    return stop.at, grave, stop.failure.end, stop.failure.check


def labelled(edit: Edit, source: str, base: int, label: Callable[[str, str], str] | None) -> Edit:
    """Return an edit whose typed placeholder has its number, where the conversation counts them."""
    match = _LABEL.fullmatch(edit.replacement) if label and edit.kind == "remove" else None
    if match is None or label is None or match[2] in _UNTYPED:
        return edit
    new = label(match[2], source[edit.start - base : edit.end - base])
    return dataclasses.replace(edit, replacement=f"{match[1]}{new}{match[1]}")


def behind(edit: Edit, base: int) -> Edit | None:
    """Return what of an edit concerns text that was not shown yet."""
    if edit.start >= base:
        return edit
    if edit.end <= base or edit.kind == "style":
        return None
    return dataclasses.replace(as_removal(edit), start=base)


def read_examination(
    calls: Sequence[Call], outcomes: Sequence[Outcome], count: int
) -> tuple[list[list[Edit]], set[int]]:
    """Return what other checks cut out of each rewrite that they examined, and which rewrites cannot be shown."""
    cuts: list[list[Edit]] = [[] for _ in range(count)]
    spoiled: set[int] = set()
    for call, outcome in zip(calls, outcomes, strict=True):
        rule = call.track.rule
        found = read_answer(rule, call.text, outcome)
        if isinstance(found, Trouble) or (found and rule.action in ENDING | {"filter"}):
            spoiled.add(call.rewrite)
        elif rule.action == "redact":
            cuts[call.rewrite] += map(as_removal, found)
        elif rule.action != "noop":
            cuts[call.rewrite] += [edit for edit in found if edit.kind == "remove"]
    return cuts, spoiled


def going_on(track: Track, found: Sequence[Edit], unit: Unit) -> list[Edit]:
    """What began in a unit before and goes on further than was seen from there must not be seen either."""
    return [
        dataclasses.replace(edit, start=max(unit.start, track.covered) - unit.low)
        for edit in found
        if edit.kind == "remove"
        and edit.start + unit.low < unit.start < edit.end + unit.low
        and edit.end + unit.low > track.covered
    ]
