"""Tells which part of a sentence on several groups a value belongs to: "the Bridge draws 2.5 W and the Pro 4 W"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["favors_own"]

_BORDERS = frozenset(", ; : and or while whereas but instead".split())
_REACH = 40  # no part is read further than this many tokens


def favors_own(claim: Reading, mine: Placed, evidence: Reading, own: Placed, rival: Placed) -> bool:
    """Whether the claim names the group of the evidence's equal value, and not only that of the rival's."""
    return bool(_only(evidence, own, rival) & _topic(claim, mine))


def _topic(reading: Reading, placed: Placed) -> set[str]:
    first, end = reading.t.sentences[reading.t.sentence_of[placed.first]]
    return set(reading.t.topics[first : min(end, first + 3 * _REACH)]) - LIGHT_STEMS


def _only(reading: Reading, one: Placed, two: Placed) -> set[str]:
    """The topic words in the part of one value that are not in that of the other."""
    return _part(reading, one) - _part(reading, two)


def _part(reading: Reading, placed: Placed) -> set[str]:
    t = reading.t
    first, end = t.sentences[t.sentence_of[placed.first]]
    left, right = placed.first, placed.last + 1
    while left > max(first, placed.first - _REACH) and t.words[left - 1] not in _BORDERS:
        left -= 1
    while right < min(end, placed.last + _REACH) and t.words[right] not in _BORDERS:
        right += 1
    words = {t.topics[i] for i in range(left, right) if reading.taken[i] != 1}
    return words - LIGHT_STEMS - {""}
