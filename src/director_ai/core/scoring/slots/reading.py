"""Reads a text once: its tokens, its slots, and what each sentence is about."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from director_ai.core.scoring.slots.calendar_terms import read_date
from director_ai.core.scoring.slots.clock_times import read_time
from director_ai.core.scoring.slots.lexicon import ROMAN, VALUE
from director_ai.core.scoring.slots.measures import AFTER_ARTICLE
from director_ai.core.scoring.slots.names import find_names
from director_ai.core.scoring.slots.numbers import roman_value
from director_ai.core.scoring.slots.polarity import Placed, find_polarity
from director_ai.core.scoring.slots.quantities import read_quantity
from director_ai.core.scoring.slots.tokens import Tokens
from director_ai.core.scoring.slots.values import CalendarDate, Interval, Slot

__all__ = ["Reading", "read_once"]


class Reading:
    """A text with its slots, and the words around each."""

    def __init__(self, text: str, most_values: int | None = None) -> None:
        self.t = Tokens(text)
        taken = bytearray(len(self.t.words))
        values = _find_values(self.t, taken, most_values)
        stems = list(self.t.topics)
        for value in values:
            if taken[value.first]:
                stems[value.first : value.last + 1] = [""] * (value.last + 1 - value.first)
        self.topics = [frozenset(stems[first:end]) - {""} for first, end in self.t.sentences]
        """What each sentence is about: the stems of its words, values left out."""
        self.names = find_names(self.t, taken)
        for name in self.names:
            taken[name.first : name.last + 1] = b"\2" * (name.last + 1 - name.first)
        self.taken = taken
        """1 for each token that belongs to a value, 2 for one of a name."""
        self.placed = values + self.names + find_polarity(self.t, taken)
        self.memory: dict[tuple[object, ...], Any] = {}
        """What the rules have found in it so far."""

    @cached_property
    def by_sentence(self) -> dict[int, list[Placed]]:
        """The slots of each sentence that has any."""
        found: dict[int, list[Placed]] = {}
        for placed in self.placed:
            found.setdefault(self.t.sentence_of[placed.first], []).append(placed)
        return found

    @cached_property
    def vocabulary(self) -> set[str]:
        """Every word, and those of the names without their "'s"."""
        return set(self.t.words).union(*[str(name.slot.value).split() for name in self.names])

    @cached_property
    def beginnings(self) -> set[str]:
        """The first four letters of every word, and the initials of every name."""
        found = {word[:4] for word in self.t.words}
        found.update("".join([word[0] for word in str(name.slot.value).split()]) for name in self.names)
        return found

    def has_value(self, slot: Slot) -> bool:
        """Whether the value is anywhere in the text, be it less exact, or as a year here and as a number there."""
        return not self._values.isdisjoint(_sought_keys(slot))

    @cached_property
    def _values(self) -> set[object]:
        return {key for placed in self.placed for key in _stated_keys(placed.slot)}


@lru_cache(maxsize=64)
def read_once(text: str) -> Reading:
    """Return the reading of a text that may be wanted again soon: a clause behind a change is judged twice."""
    return Reading(text)


def _value_keys(slot: Slot) -> tuple[object, ...]:
    """What two slots with the same value have in common, whichever way they are written."""
    value = slot.value
    if isinstance(value, Interval):
        if slot.unit == "code":
            return ((slot.kind, slot.unit, value),)
        low = float(f"{value.low:.9g}")
        high = low if value.high == value.low else float(f"{value.high:.9g}")
        year = ((int(low), None, None),) if low == high and 1000 <= low < 2200 else ()
        return (slot.kind, slot.unit, slot.per, low, high), *year
    return ((slot.kind, value),)


def _stated_keys(slot: Slot) -> tuple[object, ...]:
    if not isinstance(slot.value, CalendarDate):
        return _value_keys(slot)
    exact, *coarser = _date_keys(slot.value)
    return exact, ("exact", exact), *coarser


def _sought_keys(slot: Slot) -> tuple[object, ...]:
    if not isinstance(slot.value, CalendarDate):
        return _value_keys(slot)
    exact, *coarser = _date_keys(slot.value)
    return exact, *(("exact", key) for key in coarser)


def _date_keys(date: CalendarDate) -> list[object]:
    """The date itself, then what is left of it when its day, its month or its year is not said."""
    year, month, day = date.year, date.month, date.day
    if date.quarter is not None or date.weekdays is not None or year is None:
        return [(year, month, day, date.quarter, date.weekdays)]
    keys: list[object] = [(year, month, day)]
    if day is not None:
        keys += [(year, month, None), (None, month, day, None, None)]
    if month is not None:
        keys += [(year, None, None), (None, month, None, None, None)]
    return keys


def _find_values(t: Tokens, taken: bytearray, most: int | None) -> list[Placed]:
    found, end = [], 0
    for i in [i for i in t.marked if t.flags[i] & (VALUE | ROMAN)][:most]:
        if i < end:
            continue
        if not t.flags[i] & VALUE:
            if t.raw[i - 1][0].isupper():
                found.append(Placed(_number_slot(t, i, roman_value(t.raw[i]) or 0, ""), i, i))
            continue
        result = _read_value(t, i)
        if result is None:
            continue
        slot, end = result
        first = i
        while first > 0 and t.starts[first] > slot.start:
            first -= 1
        found.append(Placed(slot, first, end - 1))
        taken[first:end] = b"\1" * (end - first)
    return found


def _number_slot(t: Tokens, i: int, value: float, unit: str) -> Slot:
    start, end, text = t.span(i, i)
    return Slot(kind="number", start=start, end=end, text=text, value=Interval(value, value), unit=unit)


def _read_value(t: Tokens, i: int) -> tuple[Slot, int] | None:
    if t.kinds[i] == "version":
        parts = [float(part) for part in t.words[i].split(".")]
        value = sum(part / 1000**place for place, part in enumerate(parts))
        return _number_slot(t, i, value, "version"), i + 1
    if t.kinds[i] == "code":
        return _number_slot(t, i, float("".join(filter(str.isdecimal, t.words[i]))), "code"), i + 1
    if t.words[i] in {"a", "an"} and t.words[i + 1] not in AFTER_ARTICLE:
        return None
    return read_time(t, i) or read_date(t, i) or read_quantity(t, i)
