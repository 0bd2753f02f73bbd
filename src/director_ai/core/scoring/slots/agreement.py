"""Whether two slots may be compared at all, and whether they say the same."""

from __future__ import annotations

import re
from math import inf, isclose

from director_ai.core.scoring.slots.units import UNITS
from director_ai.core.scoring.slots.values import CalendarDate, Interval, Slot

__all__ = ["MEASURES", "agree", "comparable"]

_ROUGH = 0.1  # how far "about 30" reaches
_FAR = 20  # nobody says "over 30" of a thousand
_CONVERTED = 0.03  # people round when they turn miles into kilometres
_MONTHLY = 0.1  # two months are eight weeks
_IMPERIAL = re.compile(
    r"\b(?:feet|foot|ft|inch(?:es)?|in|miles?|mi|mph|yards?|yd|pounds?|lbs?|oz|ounces?|gallons?|pints?|acres?|fahrenheit)"
    r"\b|°\s?F",
    re.IGNORECASE,
)
_DEGREES = {"°", "°C"}  # degrees of we do not know what
_FIXED = frozenset({"ordinal", "time"})
_DIGIT = re.compile(r"\d")
_SECONDS_IN_MONTH = 30.44 * 86400
_UP, _DOWN = frozenset({"at least", "more than"}), frozenset({"at most", "less than"})


def comparable(claim: Slot, evidence: Slot) -> bool:
    """Whether the two could be the same fact: same kind, same dimension, same things counted."""
    if claim.kind != evidence.kind:
        return False
    one, two = claim.value, evidence.value
    if isinstance(one, CalendarDate) and isinstance(two, CalendarDate):
        return _dates_meet(one, two)
    if not (isinstance(one, Interval) and isinstance(two, Interval)):
        return True
    same = claim.unit == evidence.unit or claim.kind in {"duration", "money"} or {claim.unit, evidence.unit} == _DEGREES
    if not same and not (claim.kind == "number" and _same_things(claim.unit, evidence.unit)):
        return False
    opposite = (claim.bound in _UP and evidence.bound in _DOWN) or (claim.bound in _DOWN and evidence.bound in _UP)
    return not opposite or _close(_stated(one), _stated(two), 1e-9)


def _same_things(one: str, two: str) -> bool:
    """Whether two counted nouns may be one: an unknown noun may be any, a unit or a rank is only itself."""
    return (one == "" or two == "") and not any(noun in _FIXED or noun in MEASURES for noun in (one, two))


MEASURES = frozenset(base for base, _ in UNITS.values()) | {"°C", "°", "m2", "m3", "m/s", "B/s", "bit/s"}


def _dates_meet(one: CalendarDate, two: CalendarDate) -> bool:
    pairs = zip((one.year, one.month, one.day, one.quarter, one.weekdays), _parts(two), strict=True)
    return any(left is not None and right is not None for left, right in pairs)


def _parts(date: CalendarDate) -> tuple[object, ...]:
    return (date.year, date.month, date.day, date.quarter, date.weekdays)


def agree(claim: Slot, evidence: Slot) -> bool:
    """Whether the evidence's slot bears out the claim's."""
    one, two = claim.value, evidence.value
    if isinstance(one, CalendarDate) and isinstance(two, CalendarDate):
        return _dates_agree(one, two)
    if isinstance(one, Interval) and isinstance(two, Interval):
        return _amounts_agree(claim, evidence, one, two)
    if claim.kind == "time":
        return _times_agree(claim, evidence)
    return one == two


def _times_agree(claim: Slot, evidence: Slot) -> bool:
    bare = not any(letter.isalpha() for letter in claim.text + evidence.text) and ":" in claim.text
    if bare:  # "10:00" may be ten at night, but not beside "22:00"
        return claim.value == evidence.value or claim.text.lstrip("0") == evidence.text.lstrip("0")
    return not set(claim.value).isdisjoint(evidence.value)


def _dates_agree(one: CalendarDate, two: CalendarDate) -> bool:
    if one.year is not None and two.year is not None:
        first, second = _year_beside(one, two.year), _year_beside(two, one.year)
        if first > second + two.years - 1 or second > first + one.years - 1:
            return False
    if one.quarter is not None and two.quarter is not None and one.quarter != two.quarter:
        return False
    if one.weekdays and two.weekdays and not _weekdays_agree(one.weekdays, two.weekdays):
        return False
    months, days = (one.month, two.month), (one.day, two.day)
    if _same(*months) and _same(*days):
        return True
    swapped = one.either or two.either
    return swapped and _same(one.month, two.day) and _same(one.day, two.month)


def _year_beside(date: CalendarDate, other: int) -> int:
    """The first year of the date; a century that does not name its era is one BC beside a year BC."""
    year = date.year or 0
    return -year - 100 if date.years == 101 and year >= 0 > other else year


def _same(one: int | None, two: int | None) -> bool:
    return one is None or two is None or one == two


def _weekdays_agree(one: tuple[int, int], two: tuple[int, int]) -> bool:
    """Whether the claim's days lie within the evidence's; a range may run over the end of the week."""
    return _days(one) <= _days(two)


def _days(days: tuple[int, int]) -> frozenset[int]:
    first, last = days
    return frozenset(day % 7 for day in range(first, last + 1 if last >= first else last + 8))


def _close(one: float, two: float, tolerance: float) -> bool:
    return one == two or isclose(one, two, rel_tol=tolerance)


def _stated(value: Interval) -> float:
    return value.low if value.low != -inf else value.high


def _amounts_agree(claim: Slot, evidence: Slot, one: Interval, two: Interval) -> bool:
    if claim.unit != evidence.unit and claim.kind == "duration":
        return _near(_seconds(one, claim.unit), _seconds(two, evidence.unit))
    if claim.unit != evidence.unit and claim.kind == "money" and not _is_cents(claim, evidence):
        return False
    if claim.unit == "code":
        return one == two
    one = _by_rate(one, claim.per, evidence.per)
    two = _by_rate(two, evidence.per, claim.per)
    if one == two and claim.bound == evidence.bound:
        return True
    imperial = _IMPERIAL.search(claim.text), _IMPERIAL.search(evidence.text)
    tolerance = _CONVERTED if (imperial[0] is None) != (imperial[1] is None) else 1e-9
    if claim.per != evidence.per and claim.per and evidence.per:
        tolerance = _CONVERTED
    if claim.kind == "percent" and not (_DIGIT.search(claim.text) and _DIGIT.search(evidence.text)):
        tolerance = 0.015  # "two thirds" is 67 %
    if "about" in (claim.bound, evidence.bound):
        tolerance = 0.025 if claim.bound == evidence.bound else _ROUGH
    if claim.bound in _UP | _DOWN and evidence.bound in _UP | _DOWN:
        same_side = (claim.bound in _UP) == (evidence.bound in _UP)
        return same_side and _close(_stated(one), _stated(two), tolerance)
    if _close(one.low, two.low, tolerance) and _close(one.high, two.high, tolerance):
        return True
    if claim.bound in _UP | _DOWN:  # "over 30" is borne out by 31, and by what "exceeds 30" in other words
        inside = one.low <= two.low and two.high <= one.high
        return inside and _within(_stated(one), _stated(two), _FAR)
    return two.low < two.high and one.low == one.high and two.low <= one.low <= two.high


def _is_cents(one: Slot, two: Slot) -> bool:
    """Whether one is in cents, which may be of the other's currency."""
    return any(
        "cent" in slot.text.lower() and slot.unit == "USD" and other.unit not in {"GBP", "JPY"}
        for slot, other in ((one, two), (two, one))
    )


def _within(one: float, two: float, factor: float) -> bool:
    return abs(one) <= factor * abs(two) and abs(two) <= factor * abs(one)


def _seconds(value: Interval, unit: str) -> Interval:
    return Interval(value.low * _SECONDS_IN_MONTH, value.high * _SECONDS_IN_MONTH) if unit == "month" else value


def _near(one: Interval, two: Interval) -> bool:
    """Whether months and days may mean the same length: nobody can say that a month is not 30 days."""
    return (_close(one.low, two.low, _MONTHLY) or inf in (-one.low, -two.low)) and (
        _close(one.high, two.high, _MONTHLY) or inf in (one.high, two.high)
    )


def _by_rate(value: Interval, per: str, other: str) -> Interval:
    """The value per second, or per base unit, where both sides name a rate and not the same one."""
    if per == other or per not in UNITS or other not in UNITS:
        return value
    base, size = UNITS[per]
    if base == "month" and UNITS[other][0] == "s":
        size *= _SECONDS_IN_MONTH
    return Interval(value.low / size, value.high / size)
