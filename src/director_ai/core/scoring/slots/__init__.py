"""Finds the typed values in a text, and says which of a claim's differ from those of its evidence."""

from __future__ import annotations

from director_ai.core.scoring.slots.comparison import compare_readings
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.scoring.slots.values import (
    Bound,
    CalendarDate,
    Interval,
    Slot,
    SlotDifference,
    SlotKind,
    SlotValue,
)

__all__ = [
    "Bound",
    "CalendarDate",
    "Interval",
    "Slot",
    "SlotDifference",
    "SlotKind",
    "SlotValue",
    "compare_slots",
    "find_slots",
]

MOST_VALUES = 5_000  # of one text; what has more is a dump of numbers, and reading them all would cost too much


def find_slots(text: str) -> tuple[Slot, ...]:
    """Every slot of the text, in order."""
    slots = [placed.slot for placed in Reading(text).placed]
    return tuple(sorted(slots, key=lambda slot: (slot.start, slot.end, slot.kind)))


def compare_slots(claim: str, evidence: str) -> tuple[SlotDifference, ...]:
    """The slots of the claim that the evidence contradicts; what the evidence is silent about is no difference."""
    return tuple(compare_readings(Reading(claim, MOST_VALUES), Reading(evidence, MOST_VALUES)))
