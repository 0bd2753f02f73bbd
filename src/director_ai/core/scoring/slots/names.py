"""Finds names: words with capitals that no sentence start explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.calendar_terms import CALENDAR_WORDS
from director_ai.core.scoring.slots.polarity import Placed
from director_ai.core.scoring.slots.values import Slot
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["find_names", "name_keys"]

_LINKS = frozenset("of de van von der den la le del di da bin al el y du & st".split())
_TITLES = frozenset(
    "mr mrs ms dr prof sir lord lady president king queen saint professor doctor captain general".split()
)
_MAX_WORDS = 8


def find_names(t: Tokens, taken: bytearray) -> list[Placed]:
    """Every name outside the tokens that are already `taken` by a value."""
    found, end = [], 0
    for i, raw in enumerate(t.raw):
        if i < end or taken[i] or not raw[0].isupper() or not _is_capital(t, i):
            continue
        end = _name_end(t, i, taken)
        placed = _make_name(t, i, end)
        if placed:
            found.append(placed)
    return found


def _is_capital(t: Tokens, i: int) -> bool:
    return t.raw[i][0].isupper() and t.kinds[i] in {"word", "dotted"} and t.words[i] not in {"i", "i'm", "i've", "i'll"}


def _name_end(t: Tokens, i: int, taken: bytearray) -> int:
    """The token after the name that begins at `i`."""
    j = i + 1
    while j < len(t) and j - i < _MAX_WORDS and t.sentence_of[j] == t.sentence_of[i] and not taken[j]:
        if t.words[j - 1].endswith("'s"):
            break
        joined = t.words[j] == "." and len(t.raw[j - 1]) == 1  # an initial
        joined = joined or (t.words[j] == "." and t.words[j - 1] in _TITLES)
        linked = t.words[j] in _LINKS and j + 1 < len(t) and _is_capital(t, j + 1) and not taken[j + 1]
        hyphen = t.words[j] in {"-", "–"} and t.touches(j) and t.touches(j + 1) and _is_capital(t, j + 1)
        if not (_is_capital(t, j) or joined or linked or hyphen):
            break
        j += 1
    return j


def _make_name(t: Tokens, i: int, end: int) -> Placed | None:
    while i < end and (t.words[i] in FUNCTION_WORDS or t.words[i] in CALENDAR_WORDS):
        i += 1
    while end > i and not t.words[end - 1][0].isalpha():
        end -= 1
    if i >= end:
        return None
    starts = i == t.sentences[t.sentence_of[i]][0] or not t.words[i - 1][0].isalnum()
    acronym = len(t.raw[i]) > 1 and t.raw[i].isupper()
    if end == i + 1 and starts and not acronym:
        return None
    start, stop, text = t.span(i, end - 1)
    if text.lower().endswith(("'s", "’s")):
        stop, text = stop - 2, text[:-2]
    folded = " ".join(word.removesuffix("'s") for word in t.words[i:end] if word[0].isalnum())
    return Placed(Slot(kind="name", start=start, end=stop, text=text, value=folded), i, end - 1)


def name_keys(folded: str) -> set[str]:
    """What names that may be one have in common: a word, the first letters of a long one, or the initials.

    "Africa" and "African" are one here, and so is a name with a slip of the pen.
    """
    words = [word for word in folded.split() if word not in FUNCTION_WORDS and word not in _TITLES] or folded.split()
    keys = {word.replace(".", "") for word in words} | {word[:4] + "*" for word in words if len(word) > 4}
    if len(words) > 1:
        keys.add("".join(word[0] for word in words))
    return keys
