"""What was changed in a clause or an answer, as stretches that stayed, went and came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from director_ai.core.merge import edits_between
from director_ai.core.scoring.claims import body_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from director_ai.core.merge import Edit
    from director_ai.core.repair.record import ClauseAction, RepairResult

__all__ = ["Change", "Passage", "changes_of", "passages_of"]

_LOOK_AHEAD: Final = 4_000
_CLOSING: Final = ".,;:!?)\"'"
_OPENING: Final = "(\"'"
_MOSTLY: Final = 0.7


class Change(NamedTuple):
    """A stretch of text: what stayed, what the model said, or what stands in its place."""

    kind: Literal["same", "gone", "new"]
    text: str


class Passage(NamedTuple):
    """A stretch of the answer as it was shown, and which clause it is; None between clauses."""

    changes: tuple[Change, ...]
    clause: int | None = None


def changes_of(action: ClauseAction) -> tuple[Change, ...]:
    """Return a clause as stretches: without the new ones it is the model's, without those that went it is shown."""
    if not action.changed:
        return _told([Change("same", action.text)])
    said, shown = action.clause, action.text
    start, end = body_of(said)
    lead, tail = said[:start], said[end:]
    if not (shown.startswith(lead) and shown.endswith(tail) and len(shown) >= len(lead) + len(tail)):
        lead = tail = ""
    old, new = said[len(lead) : len(said) - len(tail)], shown[len(lead) : len(shown) - len(tail)]
    inner = [Change("gone", old), Change("new", new)] if action.action == "redact" else _compare(old, new)
    return _told([Change("same", lead), *inner, Change("same", tail)])


def passages_of(result: RepairResult) -> tuple[Passage, ...]:
    """Return all that was released, clause by clause where they can be found again, with what went from them."""
    text, place = result.repaired_text, 0
    passages: list[Passage] = []
    for number, action in enumerate(result.actions):
        at = text.find(action.text, place, place + len(action.text) + _LOOK_AHEAD) if action.text else -1
        if at < 0:  # a check beside the repair changed it, or it is written in another form
            continue
        if at > place:
            passages.append(Passage((Change("same", text[place:at]),)))
        passages.append(Passage(changes_of(action), number))
        place = at + len(action.text)
    if place < len(text):
        passages.append(Passage((Change("same", text[place:]),)))
    return tuple(passages)


def _told(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(change for change in changes if change.text)


def _compare(old: str, new: str) -> Iterator[Change]:
    """Yield whole words that differ; where most of them do, all at once."""
    spans = list(_whole_words(old, edits_between(old, new, check="", reason="")))
    if sum(end - start for start, end, _ in spans) > _MOSTLY * len(old):
        spans = [(0, len(old), new)]
    place = 0
    for start, end, replacement in spans:
        low, high = _shared_ends(old[start:end], replacement)
        yield Change("same", old[place : start + low])
        yield Change("gone", old[start + low : end - high])
        yield Change("new", replacement[low : len(replacement) - high])
        place = end - high
    yield Change("same", old[place:])


def _whole_words(old: str, edits: Sequence[Edit]) -> Iterator[tuple[int, int, str]]:
    """Yield edits that cut no word in two; those with nothing but white space between them become one."""
    open_span: tuple[int, int, str] | None = None
    for edit in edits:
        start, end, replacement = _widened(old, edit)
        if open_span is not None:
            first, last, text = open_span
            gap = old[last:start]
            if start < last:  # both were widened over the same word
                open_span = first, end, text[: len(text) - (last - edit.start)] + edit.replacement + old[edit.end : end]
                continue
            if not gap.strip():
                open_span = first, end, text + gap + replacement
                continue
            yield open_span
        open_span = start, end, replacement
    if open_span is not None:
        yield open_span


def _widened(old: str, edit: Edit) -> tuple[int, int, str]:
    start, end = edit.start, edit.end
    removed, put = old[start:end], edit.replacement
    if not (removed[:1] + put[:1]).isspace():
        while start > 0 and not old[start - 1].isspace():
            start -= 1
    if not (removed[-1:] + put[-1:]).isspace():
        while end < len(old) and not old[end].isspace():
            end += 1
    return start, end, old[start : edit.start] + put + old[edit.end : end]


def _shared_ends(old: str, new: str) -> tuple[int, int]:
    """Return how much punctuation two texts have in common at their beginning and at their end."""
    shortest, low, high = min(len(old), len(new)), 0, 0
    while low < shortest and old[low] == new[low] and old[low] in _OPENING:
        low += 1
    while low + high < shortest and old[-1 - high] == new[-1 - high] and old[-1 - high] in _CLOSING:
        high += 1
    return low, high
