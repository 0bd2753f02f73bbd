"""Reads dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.numbers import ORDINAL_ENDINGS, read_ordinal
from director_ai.core.scoring.slots.units import HALVES_OF_DAY, SCALES, UNITS
from director_ai.core.scoring.slots.values import CalendarDate, Slot

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["CALENDAR_WORDS", "read_date"]

_MONTH_NAMES = "january february march april may june july august september october november december".split()
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
_SHORT_MONTHS = {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_WEEKDAYS = {
    name: number for number, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())
}
_SHORT_WEEKDAYS = {
    "mon": 0,
    "tue": 1,
    "tues": 1,
    "wed": 2,
    "thu": 3,
    "thur": 3,
    "thurs": 3,
    "fri": 4,
    "sat": 5,
    "sun": 6,
}
_ERAS = {"bc": -1, "bce": -1, "b.c.": -1, "b.c": -1, "ad": 1, "ce": 1, "a.d.": 1, "a.d": 1}
_AFTER_DAY = frozenset(_ERAS) | frozenset(_MONTHS) | frozenset(_SHORT_MONTHS) | ORDINAL_ENDINGS | {"of", "-", "–", "s"}
_DAY_GROUPS = {"weekday": (0, 4), "weekdays": (0, 4), "weekend": (5, 6), "weekends": (5, 6)}
_BEFORE_MONTH = frozenset(
    "in of since until till by from during last next this early late mid through to and or between every before after "
    "on around - – / ,".split()
)
_BEFORE_YEAR = frozenset(
    "in since by from until till during of year around circa early late mid through to and between before after or for "
    "the ( - – / c . , summer spring autumn fall winter class".split()
)
_QUARTERS = {"q1": 1, "q2": 2, "q3": 3, "q4": 4}
CALENDAR_WORDS = (
    frozenset(_MONTHS)
    | frozenset(_SHORT_MONTHS)
    | frozenset(_WEEKDAYS)
    | frozenset(name + "s" for name in _WEEKDAYS)
    | frozenset(_SHORT_WEEKDAYS)
    | frozenset(_DAY_GROUPS)
    | frozenset(_QUARTERS)
)


def _slot(t: Tokens, first: int, end: int, value: CalendarDate) -> tuple[Slot, int]:
    start, stop, text = t.span(first, end - 1)
    return Slot(kind="date", start=start, end=stop, text=text, value=value), end


def read_date(t: Tokens, i: int) -> tuple[Slot, int] | None:
    """The date, or part of one, that begins at token `i`."""
    kind, word = t.kinds[i], t.words[i]
    if kind == "iso":
        return _read_iso(t, i)
    if kind == "slashed":
        return _read_slashed(t, i)
    if kind == "number":
        if len(word) != 4 and t.words[i + 1] not in _AFTER_DAY:
            return None
        return _read_day_first(t, i) or _read_year(t, i) or _read_ordinal_period(t, i)
    if word in _WEEKDAYS or word.removesuffix("s") in _WEEKDAYS or word in _SHORT_WEEKDAYS or word in _DAY_GROUPS:
        return _read_weekday(t, i)
    if word in _QUARTERS and t.raw[i][0] == "Q":
        year = _year_at(t, i + 1)
        end = i + 2 if year is not None else i + 1
        return _slot(t, i, end, CalendarDate(year=year, quarter=_QUARTERS[word]))
    month_number = _month_at(t, i)
    if month_number is not None:
        return _read_month_first(t, i, month_number)
    return _read_ordinal_period(t, i)


def _read_iso(t: Tokens, i: int) -> tuple[Slot, int] | None:
    year, month, day = (int(part) for part in t.words[i].split("-"))
    return _slot(t, i, i + 1, CalendarDate(year=year, month=month, day=day)) if _is_day(month, day) else None


def _is_day(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= 31


def _read_slashed(t: Tokens, i: int) -> tuple[Slot, int] | None:
    word = t.words[i]
    sep = "/" if "/" in word else "-" if "-" in word else "."
    left, middle, year = (int(part) for part in word.split(sep))
    year += 2000 if year < 50 else 1900 if year < 100 else 0
    if sep == "." and len(word) < 8:
        return None  # a version
    if _is_day(left, middle) and _is_day(middle, left):
        value = CalendarDate(year=year, month=left, day=middle, either=left != middle)
    elif _is_day(left, middle):
        value = CalendarDate(year=year, month=left, day=middle)
    elif _is_day(middle, left):
        value = CalendarDate(year=year, month=middle, day=left)
    else:
        return None
    return _slot(t, i, i + 1, value)


def _month_at(t: Tokens, i: int) -> int | None:
    """The month named at `i`, where the word cannot be the verb "may" or a march."""
    word = t.words[i]
    month = _MONTHS.get(word)
    numbers_beside = "number" in (t.kinds[i + 1], t.kinds[i - 1])
    if month is None:
        month = _SHORT_MONTHS.get(word)
        if month is None or not t.raw[i][0].isupper():
            return None
        return month if numbers_beside or (t.words[i + 1] == "." and t.touches(i + 1)) else None
    if word not in {"may", "march", "august"}:
        return month
    if not t.raw[i][0].isupper():
        return month if numbers_beside and word != "may" else None
    return month if numbers_beside or t.words[i - 1] in _BEFORE_MONTH or _year_at(t, i + 2) is not None else None


def _year_at(t: Tokens, i: int) -> int | None:
    if t.kinds[i] == "number" and len(t.words[i]) == 4 and t.words[i].isdecimal():
        year = int(t.words[i])
        return year if 1000 <= year < 2200 else None
    return None


def _day_at(t: Tokens, i: int) -> tuple[int, int] | None:
    """The day of the month at `i` and the token after it."""
    found = read_ordinal(t, i)
    if found is None and t.kinds[i] == "number" and t.words[i].isdecimal() and len(t.words[i]) < 3:
        found = int(t.words[i]), i + 1
    return found if found and 1 <= found[0] <= 31 else None


def _read_month_first(t: Tokens, i: int, month: int) -> tuple[Slot, int]:
    j = i + 1 + (t.words[i + 1] == "." and t.touches(i + 1) and t.kinds[i + 2] == "number")
    j += t.words[j] == "the"
    day, end = _day_at(t, j) or (None, j)
    if day is None:
        j = end = i + 1 + (j > i + 1 and t.words[i + 1] == ".")
    elif t.words[end] in HALVES_OF_DAY:
        day, end = None, i + 1
    elif t.words[end] in {"-", "–"} and t.touches(end) and _day_at(t, end + 1) and t.touches(end + 1):
        end += 2  # "March 5-7": known by its first day
    at = end + (t.words[end] in {",", "of"})
    year = _year_at(t, at)
    return _slot(t, i, at + 1 if year is not None else end, CalendarDate(year=year, month=month, day=day))


def _read_day_first(t: Tokens, i: int) -> tuple[Slot, int] | None:
    found = _day_at(t, i)
    if found is None:
        return None
    day, j = found
    if t.words[j] in {"-", "–"} and t.touches(j) and (later := _day_at(t, j + 1)):
        j = later[1]
    at = j + (t.words[j] == "of")
    month = _month_at(t, at)
    if month is None or t.kinds[i] != "number":
        return None
    end = at + 1 + (t.words[at + 1] == "." and t.touches(at + 1) and _year_at(t, at + 2) is not None)
    end += t.words[end] == "," and _year_at(t, end + 1) is not None
    year = _year_at(t, end)
    return _slot(t, i, end + 1 if year is not None else end, CalendarDate(year=year, month=month, day=day))


def _read_year(t: Tokens, i: int) -> tuple[Slot, int] | None:
    word, after = t.words[i], t.words[i + 1]
    plural = after == "s" and t.touches(i + 1)
    if plural and word.isdecimal() and len(word) == 2 and word[1] == "0":
        return _slot(t, i, i + 2, CalendarDate(year=1900 + int(word), years=10))
    if after in _ERAS and word.isdecimal() and len(word) < 5 and (t.raw[i + 1].isupper() or "." in after):
        return _slot(t, i, i + 2, CalendarDate(year=_ERAS[after] * int(word)))
    year = _year_at(t, i)
    if year is None:
        return None
    if plural and year % 10 == 0:
        return _slot(t, i, i + 2, CalendarDate(year=year, years=100 if year % 100 == 0 else 10))
    if t.touches(i) and t.words[i - 1] not in {"-", "–", "/", "(", "[", '"', "“", "'", "’", "—", ","}:
        return None
    if _is_measured(t, i):
        return None
    if after in {"-", "–", "/"} and t.touches(i + 1) and t.touches(i + 2) and t.kinds[i + 2] == "number":
        last = t.words[i + 2]
        if len(last) == 2 and last.isdecimal() and int(last) > year % 100:
            return _slot(t, i, i + 3, CalendarDate(year=year, years=int(last) - year % 100 + 1))
    return _slot(t, i, i + 1, CalendarDate(year=year))


def _is_measured(t: Tokens, i: int) -> bool:
    """Whether four digits count something instead of naming a year."""
    after, before = t.words[i + 1], t.words[i - 1]
    if after in {"%", "$", "€", "£"} or after in SCALES or (t.touches(i + 1) and t.kinds[i + 1] in {"word", "dotted"}):
        return True
    if before in {
        "than",
        "least",
        "most",
        "#",
        "~",
        "nearly",
        "almost",
        "approximately",
        "over",
        "exceeding",
        "$",
        "€",
        "£",
    }:
        return True
    if after in UNITS and after not in {"v", "a", "second"}:
        return True
    is_plural = after.endswith("s") and not after.endswith(("ss", "'s", "us", "is")) and len(after) > 3
    lower = t.raw[i + 1][0].islower()
    return (is_plural and lower and before not in _BEFORE_YEAR) or after in {"people", "men", "women", "children"}


def _read_weekday(t: Tokens, i: int) -> tuple[Slot, int] | None:
    group = _DAY_GROUPS.get(t.words[i])
    if group:
        return _slot(t, i, i + 1, CalendarDate(weekdays=group))
    first = _weekday_at(t, i)
    if first is None:
        return None
    j = i + 1 + (t.words[i + 1] == "." and t.touches(i + 1))
    if t.words[j] in {"to", "through", "-", "–"} and (last := _weekday_at(t, j + 1)) is not None:
        return _slot(t, i, j + 2, CalendarDate(weekdays=(first, last)))
    return _slot(t, i, i + 1, CalendarDate(weekdays=(first, first)))


def _weekday_at(t: Tokens, i: int) -> int | None:
    word = t.words[i]
    found = _WEEKDAYS.get(word, _WEEKDAYS.get(word.removesuffix("s")))
    if found is None and word in _SHORT_WEEKDAYS and t.raw[i][0].isupper():
        beside = t.words[i + 1] in {"-", "–"} or t.words[i - 1] in {"-", "–"} or word not in {"sat", "sun"}
        return _SHORT_WEEKDAYS[word] if beside else None
    return found


def _read_ordinal_period(t: Tokens, i: int) -> tuple[Slot, int] | None:
    """ "the 19th century", "the third quarter of 2020", "5th of March"."""
    found = read_ordinal(t, i)
    if found is None:
        return None
    rank, j = found
    j += t.words[j] == "-"
    if t.words[j] in {"century", "centuries"}:
        if _ERAS.get(t.words[j + 1]) == -1:
            return _slot(t, i, j + 2, CalendarDate(year=-100 * rank, years=101))
        return _slot(t, i, j + 1, CalendarDate(year=(rank - 1) * 100, years=101))
    if t.words[j] == "quarter" and rank <= 4:
        at = j + 1 + (t.words[j + 1] == "of")
        year = _year_at(t, at)
        return _slot(t, i, at + 1 if year is not None else j + 1, CalendarDate(year=year, quarter=rank))
    at = j + (t.words[j] == "of")
    month = _month_at(t, at) if rank <= 31 else None
    if month is None:
        return None
    end = at + 1 + (t.words[at + 1] == "," and _year_at(t, at + 2) is not None)
    year = _year_at(t, end)
    return _slot(t, i, end + 1 if year is not None else end, CalendarDate(year=year, month=month, day=rank))
