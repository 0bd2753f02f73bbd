"""Reads a number at a place in a text: digits, words, fractions, ordinals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.units import (
    FRACTION_SIGNS,
    FRACTIONS,
    LETTER_SCALES,
    ORDINALS,
    SCALES,
    SMALL,
    TENS,
)

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["NUMBER_WORDS", "ORDINAL_ENDINGS", "Number", "read_number", "read_ordinal", "roman_value"]

MAX_DIGITS = 300  # what is longer is cut: a float holds no more, and no number so long is another one's equal
NUMBER_WORDS = frozenset(SMALL) | frozenset(TENS) | frozenset(SCALES) | {"half", "couple", "twice", "once"}
ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
_DENOMINATORS = frozenset({2, 3, 4, 5, 6, 8, 10, 16})
_AFTER_DIGITS = frozenset(FRACTION_SIGNS) | frozenset(LETTER_SCALES) | frozenset(SCALES) | {"/"}
_SEPARATORS = re.compile(r"[,\s]")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


class Number(NamedTuple):
    """A number as read: where it stops, and how it was written."""

    value: float
    end: int
    """The first token after it."""
    scale: float = 1.0
    """What a word such as "million" multiplied it by."""
    fraction: bool = False
    """Written as a part of a whole: "two thirds"."""


def read_number(t: Tokens, i: int, *, money: bool = False) -> Number | None:
    """The cardinal number or fraction that begins at token `i`."""
    if t.kinds[i] == "number":
        return _read_digits(t, i, money=money)
    word = t.words[i]
    if word in FRACTION_SIGNS:
        return Number(FRACTION_SIGNS[word], i + 1, fraction=True)
    if word in {"a", "an"}:
        return _read_after_article(t, i)
    if word == "half":
        return _read_half(t, i)
    if word in SMALL or word in TENS:
        return _finish_words(t, *_read_words(t, i))
    return None


def _plain_digits(raw: str) -> str:
    whole, comma, decimals = raw.rpartition(",")
    if comma and len(decimals) < 3:
        return f"{whole}.{decimals}"  # "3,5"
    return _SEPARATORS.sub("", raw)


def _read_digits(t: Tokens, i: int, *, money: bool) -> Number | None:
    digits = _plain_digits(t.raw[i])[:MAX_DIGITS]
    value, j, fraction = float(digits), i + 1, False
    following = t.words[j]
    if following not in _AFTER_DIGITS and t.kinds[j] != "number":
        return Number(value, j)
    if following in FRACTION_SIGNS:
        value, j = value + FRACTION_SIGNS[following], j + 1
    elif following == "/" and t.touches(j) and t.touches(j + 1) and t.kinds[j + 1] == "number":
        part = _divide(digits, t.raw[j + 1])
        if part is None:
            return None  # "24/7" is a saying, "3/11" a date
        value, j, fraction = part, j + 2, True
    elif t.kinds[j] == "number" and t.words[j + 1] == "/" and t.kinds[j + 2] == "number":
        part = _divide(t.raw[j], t.raw[j + 2])
        value, j = (value + part, j + 3) if part is not None else (value, j)
    elif following in LETTER_SCALES and _is_scale(t, j, money=money):
        return Number(value * LETTER_SCALES[following], j + 1, LETTER_SCALES[following])
    scale = 1.0
    while t.words[j] in SCALES and j < i + 5:
        scale, j = scale * SCALES[t.words[j]], j + 1
    return Number(value * scale, j, scale, fraction)


def _is_scale(t: Tokens, j: int, *, money: bool) -> bool:
    """Whether the letter at `j` is short for a million or the like: in "$5 m", "3k" and "1.2M", not in "5 m"."""
    if not t.touches(j):
        return money and not t.touches(j + 1)
    after = t.words[j + 1]
    if t.raw[j] in {"M", "B"} and (after == "people" or (after.endswith("s") and len(after) > 3)):
        return True  # "2B users", but not "Apartment 2B is"
    return money or t.words[j] in {"k", "bn", "mn", "mln"}


def _divide(numerator: str, denominator: str) -> float | None:
    if not (numerator.isdecimal() and denominator.isdecimal() and len(numerator) < 3 and len(denominator) < 3):
        return None
    top, bottom = int(numerator), int(denominator)
    return top / bottom if bottom in _DENOMINATORS and 0 < top < bottom else None


def _read_words(t: Tokens, i: int) -> tuple[float, int, float]:
    """Value, next token and last scale of the number words from `i` on."""
    total = current = 0.0
    scale, j = 1.0, i
    while True:
        word = t.words[j]
        if word in SMALL and (current % 100 == 0 or (current % 10 == 0 and SMALL[word] < 10 and current % 100 >= 20)):
            current += SMALL[word]
        elif word in TENS and current % 100 == 0:
            current += TENS[word]
        elif word in {"hundred", "dozen"} and j > i:
            current, scale = max(current, 1) * SCALES[word], SCALES[word]
        elif word in SCALES and j > i and not word.endswith("s"):
            total, current, scale = total + max(current, 1) * SCALES[word], 0, SCALES[word]
        elif not (_joins(t, j) and j > i):
            break
        j += 1
    return total + current, j, scale


def _joins(t: Tokens, j: int) -> bool:
    """Whether the hyphen or "and" at `j` holds a number together: "twenty-five", "one hundred and five"."""
    before, after = t.words[j - 1], t.words[j + 1]
    if t.words[j] == "-":
        tens = before in TENS and after in SMALL and SMALL[after] in range(1, 10)
        return t.touches(j) and t.touches(j + 1) and (tens or after in SCALES)
    return t.words[j] == "and" and before in {"hundred", "thousand", "million"} and (after in SMALL or after in TENS)


def _finish_words(t: Tokens, value: float, j: int, scale: float) -> Number:
    """Adds what may follow number words: "two thirds", "two and a half"."""
    at = j + 1 if t.words[j] == "-" and t.touches(j) else j
    name = t.words[at]
    if name in FRACTIONS and 1 <= value < FRACTIONS[name] and (name.endswith("s")) == (value > 1):
        return Number(value / FRACTIONS[name], at + 1, fraction=True)
    if t.words[j] == "and" and t.words[j + 1] in {"a", "one"} and t.words[j + 2] in {"half", "quarter"}:
        part = 1 / FRACTIONS[t.words[j + 2]]
        j += 3
        if t.words[j] in SCALES:
            return Number((value + part) * SCALES[t.words[j]], j + 1, SCALES[t.words[j]])
        return Number(value + part, j)
    return Number(value, j, scale)


def _read_after_article(t: Tokens, i: int) -> Number | None:
    word, after = t.words[i + 1], t.words[i + 2]
    if word in {"hundred", "thousand", "million", "billion", "dozen", "trillion"}:
        if after == "and" and word in {"hundred", "thousand"} and (t.words[i + 3] in SMALL or t.words[i + 3] in TENS):
            rest, end, scale = _read_words(t, i + 3)  # "a hundred and twenty"
            return Number(SCALES[word] * max(scale, 1) + rest, end, scale)
        return Number(SCALES[word], i + 2, SCALES[word])
    if word == "couple" and after == "of":
        return Number(2, i + 3)
    if word == "half" and after in SCALES:
        return Number(SCALES[after] / 2, i + 3, SCALES[after])
    if word in FRACTIONS and not word.endswith("s") and after == "of" and word != "second":
        return Number(1 / FRACTIONS[word], i + 2, fraction=True)
    if word == "half" and t.words[i - 1] != "and":
        return Number(0.5, i + 2, fraction=True)
    return None


def _read_half(t: Tokens, i: int) -> Number | None:
    if t.words[i - 1] in ORDINALS or t.words[i - 1] in {"the", "other", "this", "that", "each", "a"}:
        return None
    word, after = t.words[i + 1], t.words[i + 2]
    if word in {"a", "an"} and after in SCALES:
        return Number(SCALES[after] / 2, i + 3, SCALES[after])
    if word in {"a", "an", "of", "the", "its", "their", "our", "his", "her", "all"}:
        return Number(0.5, i + 1, fraction=True)
    return None


def read_ordinal(t: Tokens, i: int) -> tuple[int, int] | None:
    """The ordinal at token `i` and the token after it: "3rd", "third", "twenty-first"."""
    word = t.words[i]
    if t.kinds[i] == "number":
        if t.words[i + 1] in ORDINAL_ENDINGS and t.touches(i + 1) and word.isdecimal() and len(word) < 5:
            return int(word), i + 2
        return None
    if word in ORDINALS:
        return ORDINALS[word], i + 1
    if word in TENS and t.words[i + 1] == "-" and ORDINALS.get(t.words[i + 2], 99) < 10:
        return TENS[word] + ORDINALS[t.words[i + 2]], i + 3
    return None


def roman_value(raw: str) -> int | None:
    """The value of a Roman numeral in capitals, of two letters or more."""
    if not 2 <= len(raw) <= 6 or not set(raw) <= set("IVXL"):
        return None
    total = 0
    for letter, following in zip(raw, [*raw[1:], ""], strict=True):
        value = _ROMAN[letter.lower()]
        total += -value if value < _ROMAN.get(following.lower(), 0) else value
    return total if 1 < total < 90 else None
