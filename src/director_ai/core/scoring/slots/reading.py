"""Reads a text once: its tokens, its slots, and what each sentence is about."""

from __future__ import annotations

from director_ai.core.scoring.slots.calendar_terms import CALENDAR_WORDS, read_date
from director_ai.core.scoring.slots.clock_times import TIME_WORDS, read_time
from director_ai.core.scoring.slots.names import find_names, name_keys
from director_ai.core.scoring.slots.numbers import NUMBER_WORDS, roman_value
from director_ai.core.scoring.slots.polarity import Placed, find_polarity
from director_ai.core.scoring.slots.quantities import read_quantity
from director_ai.core.scoring.slots.tokens import Tokens
from director_ai.core.scoring.slots.units import CURRENCY_CODES, CURRENCY_SIGNS, FRACTION_SIGNS, ORDINALS
from director_ai.core.scoring.slots.values import CalendarDate, Interval, Slot
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

__all__ = ["Reading"]

_VALUE_STARTS = (
    NUMBER_WORDS
    | CALENDAR_WORDS
    | frozenset(ORDINALS)
    | frozenset(CURRENCY_SIGNS)
    | frozenset(FRACTION_SIGNS)
    | frozenset(code.lower() for code in CURRENCY_CODES)
    | TIME_WORDS
    | {"a", "an"}
)
_VALUE_KINDS = frozenset({"number", "iso", "slashed", "clock", "version"})


class Reading:
    """A text with its slots, and the words around each."""

    __slots__ = ("by_sentence", "known_names", "placed", "t", "taken", "topics", "values", "vocabulary")

    def __init__(self, text: str) -> None:
        self.t = Tokens(text)
        taken = bytearray(len(self.t))
        values = _find_values(self.t, taken)
        names = find_names(self.t, taken)
        for name in names:
            taken[name.first : name.last + 1] = b"\2" * (name.last + 1 - name.first)
        self.taken = taken
        """1 for each token that belongs to a value, 2 for one of a name."""
        self.placed = values + names + find_polarity(self.t, taken)
        self.by_sentence: dict[int, list[Placed]] = {}
        for placed in self.placed:
            self.by_sentence.setdefault(self.t.sentence_of[placed.first], []).append(placed)
        self.vocabulary = {word.removesuffix("'s") for word in self.t.words}
        self.known_names = {key for name in names for key in name_keys(str(name.slot.value))}
        self.values: set[object] | None = None
        self.topics = [self._topic(first, end) for first, end in self.t.sentences]

    def has_value(self, slot: Slot) -> bool:
        """Whether the value is anywhere in the text, be it less exact, or as a year here and as a number there."""
        if self.values is None:
            self.values = {key for placed in self.placed for key in _stated_keys(placed.slot)}
        return not self.values.isdisjoint(_sought_keys(slot))

    def _topic(self, first: int, end: int) -> frozenset[str]:
        t = self.t
        return frozenset(
            t.stems[i]
            for i in range(first, end)
            if t.kinds[i] in {"word", "dotted"} and self.taken[i] != 1 and t.words[i] not in FUNCTION_WORDS
        )


def _value_keys(slot: Slot) -> tuple[object, ...]:
    """What two slots with the same value have in common, whichever way they are written."""
    value = slot.value
    if isinstance(value, Interval):
        low, high = float(f"{value.low:.9g}"), float(f"{value.high:.9g}")
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


def _find_values(t: Tokens, taken: bytearray) -> list[Placed]:
    found, i, count = [], 0, len(t)
    while i < count:
        if t.kinds[i] not in _VALUE_KINDS and t.words[i] not in _VALUE_STARTS:
            roman = roman_value(t.raw[i]) if t.raw[i][0] in "IVXL" and i and t.raw[i - 1][0].isupper() else None
            if roman:
                start, end, text = t.span(i, i)
                slot = Slot(kind="number", start=start, end=end, text=text, value=Interval(roman, roman))
                found.append(Placed(slot, i, i))
            i += 1
            continue
        result = _read_value(t, i)
        if result is None:
            i += 1
            continue
        slot, end = result
        first = i
        while first > 0 and t.starts[first] > slot.start:
            first -= 1
        found.append(Placed(slot, first, end - 1))
        taken[first:end] = b"\1" * (end - first)
        i = end
    return found


def _read_value(t: Tokens, i: int) -> tuple[Slot, int] | None:
    if t.kinds[i] == "version":
        parts = [float(part) for part in t.words[i].split(".")]
        value = sum(part / 1000**place for place, part in enumerate(parts))
        start, end, text = t.span(i, i)
        return Slot(kind="number", start=start, end=end, text=text, value=Interval(value, value), unit="version"), i + 1
    return read_time(t, i) or read_date(t, i) or read_quantity(t, i)
