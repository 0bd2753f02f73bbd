"""What each word may be, looked up once: its folded form, its stem, and which finders it concerns."""

from __future__ import annotations

import re
from typing import NamedTuple

from director_ai.core.scoring.slots.calendar_terms import CALENDAR_WORDS
from director_ai.core.scoring.slots.clock_times import TIME_WORDS
from director_ai.core.scoring.slots.numbers import NUMBER_WORDS, roman_value
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.units import CURRENCY_CODES, CURRENCY_SIGNS, FRACTION_SIGNS, ORDINALS
from director_ai.core.scoring.slots.word_lists import (
    CONTRASTS,
    DIRECTIONS,
    FUNCTION_WORDS,
    NEGATION_CUES,
    NEGATIVE_VERBS,
    QUANTIFIERS,
    is_negative,
)

__all__ = ["CAPITAL", "LEXICON", "NEGATIVE", "ROMAN", "STOP", "TURN", "VALUE", "Entry", "Lexicon"]

VALUE, ROMAN, CAPITAL, TURN, STOP, NEGATIVE = 1, 2, 4, 8, 16, 32
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
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HYPHENED_DATE = re.compile(r"\d{1,2}-\d{1,2}-\d{4}")
_DOTTED_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})")
_PRONOUNS = frozenset({"i", "i'm", "i've", "i'll", "i'd"})
_MOST_ENTRIES, _LONGEST = 40_000, 40  # some 20 MB at most


class Entry(NamedTuple):
    """A word as every finder needs it."""

    raw: str
    word: str
    """In lower case, with straight apostrophes."""
    kind: str
    stem: str
    topic: str
    """The stem where it tells what a sentence is about, or nothing."""
    flags: int
    """What the word may be: VALUE begins one, ROMAN is a number, CAPITAL one of a name, TURN negates, quantifies or
    has an opposite, STOP may end a sentence, NEGATIVE makes a clause negative in sense."""


class Lexicon(dict[str, Entry]):
    """The entries of the words met lately: of any text most words have been met before."""

    __slots__ = ()

    def __missing__(self, token: str) -> Entry:
        """The entry of a word, with or without the space after it."""
        entry = _make_entry(token.removesuffix(" "))
        if len(token) <= _LONGEST:
            if len(self) >= _MOST_ENTRIES:
                self.clear()
            self[token] = entry
        return entry


LEXICON = Lexicon()


def _make_entry(raw: str) -> Entry:
    word, kind = raw.lower().replace("’", "'"), _kind(raw)
    root = stem(word)
    if kind not in {"word", "dotted"}:
        return Entry(
            raw, word, kind, root, "", VALUE * (kind != "sign" or word in _VALUE_STARTS) | STOP * (raw in ".!?")
        )
    is_cue = word in NEGATION_CUES or word.endswith("n't") or root in NEGATIVE_VERBS
    flags = (
        VALUE * (word in _VALUE_STARTS)
        | ROMAN * (roman_value(raw) is not None)
        | CAPITAL * (raw[0].isupper() and word not in _PRONOUNS)
        | TURN * (is_cue or word in QUANTIFIERS or word in DIRECTIONS or root in CONTRASTS)
        | STOP * (raw[-1] == ".")
        | NEGATIVE * is_negative(word, root)
    )
    return Entry(raw, word, kind, root, "" if word in FUNCTION_WORDS else root, flags)


def _kind(raw: str) -> str:
    if not raw[0].isdecimal():
        if raw[0].isalnum():
            return "dotted" if "." in raw else "word"
        return "sign" if len(raw) == 1 else "code" if raw[0] == "(" else "number"
    if "-" in raw:
        return "iso" if _ISO_DATE.fullmatch(raw) else "slashed" if _HYPHENED_DATE.fullmatch(raw) else "code"
    if ":" in raw:
        return "clock"
    if "/" in raw or _DOTTED_DATE.fullmatch(raw):
        return "slashed"
    return "version" if raw.count(".") > 1 else "number"
