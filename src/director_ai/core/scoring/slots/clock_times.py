"""Reads times of day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.units import HALVES_OF_DAY, SMALL
from director_ai.core.scoring.slots.values import Slot

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["TIME_WORDS", "read_time"]

_TO = frozenset({"to", "-", "–", "—", "through", "and", "until", "till"})
_AFTER_HOUR = _TO | HALVES_OF_DAY | {"o'clock", "oclock", "in"}
_DOTTED = re.compile(r"\d{1,2}\.\d\d")  # "6.45 a.m."
_NAMED_TIMES = {"noon": 720, "midday": 720, "midnight": 0}
TIME_WORDS = frozenset(_NAMED_TIMES) | {"half", "quarter"}


def read_time(t: Tokens, i: int) -> tuple[Slot, int] | None:
    """The time of day that begins at token `i`."""
    word = t.words[i]
    if t.kinds[i] == "number" and t.words[i + 1] not in _AFTER_HOUR:
        return None
    if word in _NAMED_TIMES:
        return _time_slot(t, i, i + 1, (_NAMED_TIMES[word],))
    if word in {"half", "quarter"} and t.words[i + 1] in {"past", "to", "after"}:
        return _read_past(t, i)
    hour, minute, sure = _clock(t, i)
    if hour is None:
        return None
    half, j = _half_of_day(t, i + 1)
    if not half and t.kinds[i] != "clock":
        last, last_half = _clock(t, i + 2)[0], _half_of_day(t, i + 3)[0]
        if t.words[i + 1] in _TO and last is not None and last_half:  # the "9" of "9 to 11 am"
            half = last_half if hour % 12 < last % 12 else {"a": "p", "p": "a"}.get(last_half, "")
            return _time_slot(t, i, i + 1, _readings(hour, minute, half))
        return None
    if half and hour > 12:
        half = ""
    return _time_slot(t, i, j, ((60 * hour + minute) % 1440,) if sure and not half else _readings(hour, minute, half))


def _time_slot(t: Tokens, first: int, end: int, minutes: tuple[int, ...]) -> tuple[Slot, int]:
    start, stop, text = t.span(first, end - 1)
    return Slot(kind="time", start=start, end=stop, text=text, value=minutes), end


def _clock(t: Tokens, i: int) -> tuple[int | None, int, bool]:
    """Hour, minute, and whether the hour can only be one of 24."""
    word = t.words[i]
    if t.kinds[i] == "clock":
        hour, minute = (int(part) for part in word.split(":")[:2])
        if hour > 24 or minute > 59:
            return None, 0, False
        return hour, minute, hour > 12 or hour == 0 or word[0] == "0"
    if _DOTTED.fullmatch(word):
        hour, minute = (int(part) for part in word.split("."))
        return (hour if 1 <= hour <= 12 and minute < 60 else None), minute, False
    if word.isdecimal() and len(word) < 3 and 1 <= int(word) <= 12:
        return int(word), 0, False
    hour_word = SMALL.get(word, 0)
    return (hour_word if 1 <= hour_word <= 12 else None), 0, False


def _half_of_day(t: Tokens, j: int) -> tuple[str, int]:
    """Which half of the day the words at `j` name, and the token after them."""
    either = ""
    if t.words[j] in {"o'clock", "oclock"}:
        j, either = j + 1, "?"
    word = t.words[j]
    if word in HALVES_OF_DAY:
        return word[0], j + 1
    if word == "in" and t.words[j + 1] == "the" and t.words[j + 2] in {"morning", "afternoon", "evening"}:
        return ("a" if t.words[j + 2] == "morning" else "p"), j + 3
    if word == "at" and t.words[j + 1] == "night" and either:
        return "p", j + 2
    return either, j


def _readings(hour: int, minute: int, half: str) -> tuple[int, ...]:
    early = 60 * (hour % 12) + minute
    if half == "a":
        return (early,)
    return (early + 720,) if half == "p" else (early, early + 720)


def _read_past(t: Tokens, i: int) -> tuple[Slot, int] | None:
    hour, _, _ = _clock(t, i + 2)
    if hour is None:
        return None
    half, end = _half_of_day(t, i + 3)
    minutes = 30 if t.words[i] == "half" else 15
    if t.words[i + 1] == "to":
        hour, minutes = (hour - 1) or 12, 60 - minutes
    return _time_slot(t, i, end, _readings(hour, minutes, half))
