"""Reads a number with the unit or currency on either side of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.numbers import Number, read_number
from director_ai.core.scoring.slots.units import (
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    CURRENCY_WORDS,
    FRACTIONS,
    RATES,
    SCALES,
    UNITS,
)
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.tokens import Tokens
    from director_ai.core.scoring.slots.values import SlotKind

__all__ = ["AFTER_ARTICLE", "Measure", "read_measure"]

AFTER_ARTICLE = frozenset(UNITS) | frozenset(SCALES) | frozenset(FRACTIONS) | {"couple"}
"""What "a" counts."""
_CASED_UNITS = {"v": "V", "w": "W", "j": "J", "a": "A", "pa": "Pa", "b": "B", "ma": "mA"}
_PERCENTS = frozenset({"%", "‰", "percent", "percents", "percentage", "pct", "per"})
_DEGREES = frozenset({"°", "º", "degree", "degrees", "℃", "℉"})
_LONG_TIMES = frozenset({"hours", "days", "weeks", "months", "years"})
_NATIONS = {"us": "USD", "american": "USD", "canadian": "CAD", "australian": "AUD", "swiss": "CHF"}
_UNIT_STARTS = (
    frozenset(UNITS)
    | frozenset(CURRENCY_WORDS)
    | frozenset(CURRENCY_SIGNS)
    | frozenset(code.lower() for code in CURRENCY_CODES)
    | frozenset(_NATIONS)
    | _PERCENTS
    | _DEGREES
    | {"square", "sq", "cubic", "times", "in"}
)
_BEFORE_LENGTH = frozenset("within after for lasts takes lasted took least most than about almost nearly".split())


class Measure(NamedTuple):
    number: Number
    base: str
    size: float
    kind: SlotKind
    end: int


class _Unit(NamedTuple):
    end: int
    """The first token after it."""
    base: str
    size: float
    kind: SlotKind


def read_measure(t: Tokens, i: int) -> Measure | None:
    """A number with the unit or currency on either side of it."""
    word, raw = t.words[i], t.raw[i]
    currency = CURRENCY_SIGNS.get(word) or (raw if raw in CURRENCY_CODES else None)
    if currency:
        if t.kinds[i + 1] != "number":
            return None
        number = read_number(t, i + 1, money=True)
        if number is None:
            return None
        end = number.end + (t.words[number.end] in {"usd", "eur", "dollars", "euros", currency.lower()})
        return Measure(number, _prefixed(t, i, currency), 1.0, "money", end)
    if word in {"once", "twice"}:
        is_rate = t.words[i + 1] in {"a", "an", "per", "every"} or t.words[i + 1] in RATES
        value = 2 if word == "twice" else 1
        counts = is_rate or (value == 2 and t.words[i + 1] not in {"as", "the"})  # "twice as long" counts nothing
        return Measure(Number(value, i + 1), "time", 1, "number", i + 1) if counts else None
    if word in {"a", "an", "one"} and t.words[i + 1] in UNITS and (one := _read_one(t, i)):
        return one
    number = read_number(t, i)
    return None if number is None else _read_unit(t, number)


def _read_one(t: Tokens, i: int) -> Measure | None:
    """ "an hour and a half"; "a year" where it is a length of time and not "once a year"."""
    unit = _read_plain_unit(t, i + 1)
    j = unit.end
    if t.words[j] == "and" and t.words[j + 1] == "a" and t.words[j + 2] in {"half", "quarter"}:
        part = 0.5 if t.words[j + 2] == "half" else 0.25
        return Measure(Number(1 + part, j + 3), unit.base, unit.size, unit.kind, j + 3)
    if t.words[i] != "one" and unit.kind == "duration" and t.words[i - 1] in _BEFORE_LENGTH:
        return Measure(Number(1, i + 1), unit.base, unit.size, unit.kind, j)
    return None


def _prefixed(t: Tokens, i: int, currency: str) -> str:
    """Which dollar: "A$" is not "US$"."""
    before = t.words[i - 1] if t.touches(i) else ""
    return {"a": "AUD", "au": "AUD", "c": "CAD", "ca": "CAD", "nz": "NZD", "hk": "HKD", "s": "SGD"}.get(
        before, currency
    )


def _read_unit(t: Tokens, number: Number) -> Measure:
    """The number with the unit that follows it, if any."""
    j = number.end
    unit = (t.words[j] in _UNIT_STARTS and (_currency_at(t, j) or _unit_at(t, j))) or _joined_unit(t, number)
    if unit:
        return Measure(number, unit.base, unit.size, unit.kind, unit.end)
    if number.fraction:
        return Measure(number, "%", 100.0, "percent", j)
    return Measure(number, "", 1.0, "number", j)


def _joined_unit(t: Tokens, number: Number) -> _Unit | None:
    """The unit of "30-day" or "a quarter of an hour"."""
    j, word = number.end, t.words[number.end]
    if word == "-" and t.touches(j):
        return _currency_at(t, j + 1) or _unit_at(t, j + 1)
    if number.fraction and word in {"of", "a", "an"}:
        unit = _unit_at(t, j + 1 + (word == "of" and t.words[j + 1] in {"a", "an"}))
        return unit if unit and (unit.base != "%" or word != "of") else None
    for at in (j + 1, j + 2):  # "20 working days", "five paid training days"
        if not t.words[at - 1].isalpha() or t.words[at - 1] in FUNCTION_WORDS:
            break
        if t.words[at] in _LONG_TIMES:
            return _unit_at(t, at)
    return None


def _currency_at(t: Tokens, j: int) -> _Unit | None:
    word, after = t.words[j], t.words[j + 1]
    if word in CURRENCY_WORDS:
        return _Unit(j + 1, *CURRENCY_WORDS[word], "money")
    if word in CURRENCY_SIGNS or t.raw[j] in CURRENCY_CODES:
        return _Unit(j + 1, CURRENCY_SIGNS.get(word, t.raw[j]), 1.0, "money")
    if word in _NATIONS and after in {"dollars", "cents", "dollar", "francs", "franc"}:
        return _Unit(j + 2, _NATIONS[word], 0.01 if after == "cents" else 1.0, "money")
    return None


def _unit_at(t: Tokens, j: int) -> _Unit | None:
    word = t.words[j]
    if word in _PERCENTS:
        return _read_percent(t, j)
    if word in _DEGREES:
        return _read_degrees(t, j)
    if word in {"square", "sq", "cubic"}:
        j += 1 + (t.words[j + 1] == ".")
        base, size = UNITS.get(t.words[j], ("", 0.0))
        power = 3 if word == "cubic" else 2
        return _Unit(j + 1, f"m{power}", size**power, "number") if base == "m" else None
    if word == "times":
        return _Unit(j + 1, "time", 1.0, "number")
    if word == "in" and t.words[j + 1] == ")":  # elsewhere it is the preposition
        return _Unit(j + 1, "m", 0.0254, "number")
    if word == "s" and t.words[j - 2] == "-" and t.words[j - 3] in {"under", "over"}:  # "the under-15s"
        return None
    if word not in UNITS or (word in _CASED_UNITS and t.raw[j] != _CASED_UNITS[word]):
        return None
    return _read_plain_unit(t, j)


def _read_plain_unit(t: Tokens, j: int) -> _Unit:
    base, size = UNITS[t.words[j]]
    after = t.words[j + 1]
    if base == "W" and after in {"hour", "hours"}:
        return _Unit(j + 2, "J", 3600 * size, "number")
    if base == "m" and after in {"²", "³"} and t.touches(j + 1):
        power = 2 if after == "²" else 3
        return _Unit(j + 2, f"m{power}", size**power, "number")
    if after in {"/", "per", "a", "an"} and base in {"m", "B", "bit"} and UNITS.get(t.words[j + 2], ("", 0))[0] == "s":
        return _Unit(j + 3, f"{base}/s", size / UNITS[t.words[j + 2]][1], "number")
    return _Unit(j + 1, base, size, "duration" if base in {"s", "month"} else "number")


def _read_percent(t: Tokens, j: int) -> _Unit | None:
    word, after = t.words[j], t.words[j + 1]
    if word == "per":
        return _Unit(j + 2, "%", 1.0, "percent") if after == "cent" else None
    points = word not in {"%", "‰"} and after in {"point", "points"}
    return _Unit(j + 1 + points, "%", 0.1 if word == "‰" else 1.0, "percent")


def _read_degrees(t: Tokens, j: int) -> _Unit:
    word, scale = t.words[j], t.words[j + 1]
    if word in {"℃", "℉"}:
        return _Unit(j + 1, "°C", 1.0 if word == "℃" else 5 / 9, "number")
    if scale in {"c", "celsius", "centigrade"}:
        return _Unit(j + 2, "°C", 1.0, "number")
    if scale in {"f", "fahrenheit"}:
        return _Unit(j + 2, "°C", 5 / 9, "number")
    return _Unit(j + 1, "°", 1.0, "number")
