"""The words of a text that the index knows it by: folded, stemmed a little, without those that say nothing."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import regex  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MARK", "REPEATED", "index_terms", "repeated", "terms_asked", "terms_of"]

_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]+|[\p{L}\p{M}\p{N}]+(?:['’.][\p{L}\p{N}]+)*"
)
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:['.][A-Za-z0-9]+)*")
"""The same of plain text, in a fraction of the time."""
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]")
LONGEST = 40
"""Characters of a term; what is longer is no word, and its beginning tells it from others well enough."""

_SILENT = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further had has have having he her here hers him his how
    i if in into is it its itself just me more most my no nor not now of off on once only or other our out over own
    same she should so some such than that the their theirs them then there these they this those through to too under
    until up very was we were what when where which while who whom why will with would you your
    """.split()
)
_ENDINGS = (
    ("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ness", ""), ("ments", ""), ("ment", ""), ("ings", ""),
    ("ing", ""), ("edly", ""), ("ed", ""), ("ers", "er"), ("es", ""), ("ly", ""), ("s", ""),
)  # fmt: skip


REPEATED = (2, 4)
"""How often a term must occur in a text for the index to say so."""
MARK = "~"
"""Stands in no term."""


def index_terms(text: str) -> list[str]:
    """Return what the index knows a text by: its terms, and marks for those that occur several times."""
    found = terms_of(text)
    counts = Counter(found)
    return found + [repeated(term, times) for times in REPEATED for term, count in counts.items() if count >= times]


def repeated(term: str, times: int) -> str:
    """Return the mark of a term that occurs at least so often."""
    return f"{term}{MARK}{times}"


def terms_of(text: str) -> list[str]:
    """Return the terms of a text in their order, with repetitions; text of silent words alone keeps those."""
    return _without_silent(_all_terms(text))


def terms_asked(parts: Sequence[str]) -> list[str]:
    """Return the terms of a question; its parts are asked again and again while a stream goes on."""
    return _without_silent([term for part in parts for term in _terms_said(part)])


@functools.lru_cache(maxsize=1_024)
def _terms_said(text: str) -> list[str]:
    return _all_terms(text)


def _all_terms(text: str) -> list[str]:
    words = _ASCII_WORD.findall(text) if text.isascii() else _WORD.findall(text)
    return [term for word in words for term in _terms(word)]


def _without_silent(terms: list[str]) -> list[str]:
    return [term for term in terms if term not in _SILENT] or terms


@functools.lru_cache(maxsize=50_000)
def _terms(word: str) -> tuple[str, ...]:
    if _UNSPACED.match(word):  # scripts without spaces: pairs of characters
        return tuple(word[i : i + 2] for i in range(len(word) - 1)) or (word,)
    folded = unicodedata.normalize("NFKD", word).casefold()
    folded = "".join(c for c in folded if c.isalnum() or c == ".")
    if "." in folded and not folded.replace(".", "").isdigit():  # "U.S.A", not "3.14"
        folded = folded.replace(".", "")
    return (_stem(folded)[:LONGEST],) if folded.strip(".") else ()


def _stem(word: str) -> str:
    """Return a word without the endings that only grammar needs; digits and short words stay as they are."""
    if len(word) < 5 or not word.isalpha() or not word.isascii():
        return word[:-1] if len(word) == 4 and word.endswith("s") and word.isalpha() and word[-2] not in "us" else word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            if ending == "s" and word[-2] in "us":
                break
            word = word[: len(word) - len(ending)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]  # "stopped" -> "stop"
    return word.removesuffix("e") if len(word) > 4 else word
