"""What a claim's words have in common with its evidence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.grammar import POINTERS, PRONOUNS
from director_ai.core.scoring.slots.agreement import agree, comparable
from director_ai.core.scoring.slots.framing import figure
from director_ai.core.scoring.slots.memory import kept
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.scoring.slots.values import Slot

__all__ = ["Overlap", "compare_words"]

_VALUES = frozenset({"number", "money", "percent", "duration", "date", "time"})
_COUNTS = frozenset({"1", "2", "3", "4"})
_FIGURE = re.compile(r"\d+(?:\.\d+)?")
_POINTING = PRONOUNS | POINTERS
_SHORTEST = 5
"""Letters from which on two words that begin alike count as one: "deliver" and "delivery"."""


class Overlap(NamedTuple):
    """How much of a claim its evidence has in other places or other forms."""

    coverage: float
    """Share of the claim's telling words and values that the evidence has."""
    missing_values: int
    """Numbers, dates and amounts that are nowhere in the evidence."""
    missing_names: int
    foreign: bool
    """Of three telling words or more the evidence has none; of four, where a pronoun says whom it is about."""


def compare_words(claim: Reading, evidence: Reading) -> Overlap:
    """Return how much of a claim's words, values and names its evidence has."""
    held, beginnings = _held(evidence), _beginnings(evidence)
    wanted = frozenset().union(*claim.topics) - LIGHT_STEMS
    found = len([word for word in wanted if word in held or word[:_SHORTEST] in beginnings])
    values = [placed.slot for placed in claim.placed if placed.slot.kind in _VALUES]
    stated = len([slot for slot in values if _is_stated(slot, evidence)])
    vocabulary = evidence.vocabulary
    missing = len([name for name in claim.names if vocabulary.isdisjoint(str(name.slot.value).lower().split())])
    total = len(wanted) + len(values)
    return Overlap(
        coverage=(found + stated) / total if total else 1.0,
        missing_values=len(values) - stated,
        missing_names=missing,
        foreign=total >= 3 + _points_back(claim) and not found + stated,
    )


def _points_back(claim: Reading) -> bool:
    """Whether the first word stands for something named before, which would have been a telling word."""
    first = claim.t.sentences[0][0] if claim.t.sentences else 0
    return claim.t.words[first] in _POINTING


def _is_stated(slot: Slot, evidence: Reading) -> bool:
    """Whether the evidence has a value, in whatever unit; a small count or a rank may be told without its number."""
    if evidence.has_value(slot) or slot.unit == "ordinal":
        return True
    written = figure(slot)
    if not written or written in _figures(evidence) or written in _COUNTS:
        return True
    return any(comparable(slot, placed.slot) and agree(slot, placed.slot) for placed in evidence.placed)


@kept
def _held(evidence: Reading) -> frozenset[str]:
    """Every word that says what the text is about."""
    return frozenset().union(*evidence.topics)


@kept
def _beginnings(evidence: Reading) -> frozenset[str]:
    return frozenset([word[:_SHORTEST] for word in _held(evidence) if len(word) >= _SHORTEST])


@kept
def _figures(evidence: Reading) -> frozenset[str]:
    return frozenset(_FIGURE.findall(evidence.t.text)).union([figure(placed.slot) for placed in evidence.placed])
