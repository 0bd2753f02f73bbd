"""Writes the evidence's date or time the way the clause writes its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.core.scoring.slots import CalendarDate
from director_ai.rewrite.number_words import ordinal_ending, read_number, spell_number

if TYPE_CHECKING:
    from director_ai.core.scoring.slots import Slot

__all__ = ["write_date", "write_time"]

_MONTHS: Final = "January February March April May June July August September October November December".split()
_NAME: Final = r"(?P<month>[A-Z][a-z]+\.?)"
_DAY: Final = r"(?:the )?(?P<day>\d{1,2})(?P<ending>st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>\d{4})"
_FORMATS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_NAME} {_DAY}(?:,? {_YEAR})?",
        rf"{_DAY} (?:of )?{_NAME}(?:,? {_YEAR})?",
        rf"{_NAME}(?:,? {_YEAR})?",
        _YEAR,
        rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)",
    )
)
_WEEKDAY: Final = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day(s?)", re.IGNORECASE)
_HALF_DAY: Final = re.compile(
    r"(?P<hour>\d{1,2})(?P<minutes>[:.]\d\d)?(?P<gap>\s*)(?P<half>[aApP])(?P<rest>\.?\s?[mM]\.?)"
)
_DAY_CLOCK: Final = re.compile(r"(?P<hour>\d{1,2})(?P<point>[:.])(?P<minutes>\d\d)")
_SPOKEN: Final = re.compile(
    r"(?P<part>half past |(?:a )?quarter (?:past|to) )?(?P<hour>[a-z]+)(?P<clock> o'clock)?", re.IGNORECASE
)


def write_date(claim: Slot, evidence: Slot) -> str:
    """Return the evidence's date in the claim's format, with the parts that the claim names, where that is easy."""
    new = evidence.value
    if not isinstance(new, CalendarDate) or not isinstance(claim.value, CalendarDate):
        return evidence.text
    if new.weekdays:
        return _write_weekday(claim.text, evidence.text)
    is_plain = new.years == 1 and not new.either and new.quarter is None and (new.year or 1) > 0
    for pattern in _FORMATS if is_plain else ():
        if (found := pattern.fullmatch(claim.text)) and (written := _fill(found, new)):
            return written
    return evidence.text


def _write_weekday(mine: str, other: str) -> str:
    ours, theirs = _WEEKDAY.fullmatch(mine), _WEEKDAY.fullmatch(other)
    if not ours or not theirs:
        return other
    return other.removesuffix("s") + ours[1]


def _fill(found: re.Match[str], new: CalendarDate) -> str:
    """The claim's text with the parts of the new date; nothing where one is not known."""
    text, shift = found.group(), 0
    parts = sorted((found.span(name), name) for name, value in found.groupdict().items() if value is not None)
    for (start, end), name in parts:
        part = _part(name, found[name], new)
        if not part:
            return ""
        text = text[: start + shift] + part + text[end + shift :]
        shift += len(part) - (end - start)
    return text


def _part(name: str, old: str, new: CalendarDate) -> str:
    if name == "ending":
        return ordinal_ending(new.day or 0)
    value = {"year": new.year, "month": new.month, "day": new.day}[name]
    if value is None:
        return ""
    if name == "month" and not old.isdigit():
        full = _MONTHS[value - 1]
        is_short = len(old.rstrip(".")) == 3 and old.rstrip(".") != "May"
        return full[:3] + ("." if old.endswith(".") else "") if is_short else full
    return str(value).zfill(len(old) if old.startswith("0") or len(old) == 4 else 1)


def write_time(claim: Slot, evidence: Slot) -> str:
    """Return the evidence's time in the claim's format, where that is easy."""
    if not isinstance(evidence.value, tuple) or not evidence.value or isinstance(evidence.value, CalendarDate):
        return evidence.text
    mine = claim.text
    hour, minute = divmod(_minutes(mine, evidence.text, [int(value) for value in evidence.value]), 60)
    if half := _HALF_DAY.fullmatch(mine):
        letter = ("a" if hour < 12 else "p") if half["half"].islower() else ("A" if hour < 12 else "P")
        point = (half["minutes"] or ":")[0]
        shown = f"{point}{minute:02}" if minute or half["minutes"] else ""
        return f"{(hour + 11) % 12 + 1}{shown}{half['gap']}{letter}{half['rest']}"
    if clock := _DAY_CLOCK.fullmatch(mine):
        width = 2 if len(clock["hour"]) == 2 and clock["hour"][0] == "0" else 1
        return f"{hour:0{width}}{clock['point']}{minute:02}"
    return _write_spoken(mine, hour, minute) or evidence.text


def _minutes(mine: str, text: str, values: list[int]) -> int:
    """The minutes after midnight that are meant: as the figures say, or else in the clause's half of the day."""
    if (clock := _DAY_CLOCK.fullmatch(text)) and int(clock["hour"]) < 24:
        return 60 * int(clock["hour"]) + int(clock["minutes"])
    half = _HALF_DAY.fullmatch(mine)
    is_late = half is not None and half["half"] in "pP"
    return next((value for value in values if (value % 1440 >= 720) == is_late), values[0]) % 1440


def _write_spoken(mine: str, hour: int, minute: int) -> str:
    found = _SPOKEN.fullmatch(mine)
    if not found or read_number(found["hour"]) is None:
        return ""
    ahead = minute == 45
    word = spell_number((hour + ahead + 11) % 12 + 1)
    article = "a " if (found["part"] or "").startswith("a ") else ""
    lead = {0: "", 15: f"{article}quarter past ", 30: "half past ", 45: f"{article}quarter to "}.get(minute)
    if lead is None:
        return ""
    return f"{lead}{word}{(found['clock'] or '') if minute == 0 else ''}"
