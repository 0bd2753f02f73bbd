"""Texts as stretches: what differs between two of them word by word, and the values in one that are of interest."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.core.scoring.slots import Slot

__all__ = ["Stretch", "compare_texts", "mark_values", "told"]

MOST_PAIRS: Final = 4_000_000
"""Pairs of words up to which two texts are compared word by word."""
_WORD: Final = re.compile(r"\s+|\w+(?:[.,:'’-]\w+)*|[^\w\s]")


class Stretch(NamedTuple):
    """A piece of text: the same in both, gone, new, or a value that differs."""

    kind: Literal["same", "gone", "new", "value"]
    text: str


def compare_texts(old: str, new: str) -> tuple[Stretch, ...]:
    """Return two texts as one: without the new stretches it is the old one, without those that went the new one."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    if len(before) * len(after) > MOST_PAIRS:
        return told([Stretch("gone", old), Stretch("new", new)] if old != new else [Stretch("same", old)])
    made: list[Stretch] = []
    gone, come = "", ""
    for kind, low, high, new_low, new_high in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        same = "".join(before[low:high])
        if kind == "equal" and (same.strip() or not (gone or come)):
            made += [*_changed(gone, come), Stretch("same", same)]
            gone, come = "", ""
        else:  # what has nothing but blanks between is one change
            gone, come = gone + same, come + "".join(after[new_low:new_high])
    return told([*made, *_changed(gone, come)])


def _changed(gone: str, come: str) -> list[Stretch]:
    """Return a change; blanks that both texts begin or end with stay."""
    shared = min(len(gone), len(come))
    low = next((n for n in range(shared) if gone[n] != come[n] or not gone[n].isspace()), shared)
    high = next((n for n in range(shared - low) if gone[-1 - n] != come[-1 - n] or not gone[-1 - n].isspace()), 0)
    ends = (len(gone) - high, len(come) - high)
    return [
        Stretch("same", gone[:low]),
        Stretch("gone", gone[low : ends[0]]),
        Stretch("new", come[low : ends[1]]),
        Stretch("same", gone[ends[0] :]),
    ]


def mark_values(text: str, slots: Iterable[Slot]) -> tuple[Stretch, ...]:
    """Return a text with values in it marked."""
    made: list[Stretch] = []
    last = 0
    for start, end in sorted(place for slot in slots if (place := _find(text, slot)) is not None):
        if start >= last:
            made += [Stretch("same", text[last:start]), Stretch("value", text[start:end])]
            last = end
    return told([*made, Stretch("same", text[last:])])


def told(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """Return the stretches that hold something."""
    return tuple(each for each in stretches if each.text)


def _find(text: str, slot: Slot) -> tuple[int, int] | None:
    if not slot.text:
        return None
    start = slot.start if text[slot.start : slot.end] == slot.text else text.find(slot.text)
    return (start, start + len(slot.text)) if start >= 0 else None
