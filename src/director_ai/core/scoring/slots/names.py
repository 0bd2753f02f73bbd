"""Finds names: words with capitals that no sentence start explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.calendar_terms import CALENDAR_WORDS
from director_ai.core.scoring.slots.lexicon import CAPITAL
from director_ai.core.scoring.slots.polarity import Placed
from director_ai.core.scoring.slots.values import Slot
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["TITLES", "find_names", "find_origins", "is_origin", "is_spelling", "name_keys"]

_LINKS = frozenset("of de van von der den la le del di da bin al el y du & st".split())
_JOINTS = _LINKS | {".", "-", "–"}
TITLES = frozenset(
    "mr mrs ms dr prof sir lord lady president king queen saint professor doctor captain general judge sergeant "
    "officer frau herr nurse chef chief director".split()
)
_NO_NAMES = (
    FUNCTION_WORDS
    | CALENDAR_WORDS
    | frozenset("one two three outside inside besides unlike like despite near according beyond should once".split())
)
_MAX_WORDS = 8
_ORIGINS = ("ish", "ese", "ian", "ean", "can", "sh", "ch")


def find_names(t: Tokens, taken: bytearray) -> list[Placed]:
    """Every name outside the tokens that are already `taken` by a value."""
    found, end = [], 0
    flags, words, sentence_of = t.flags, t.words, t.sentence_of
    for i in t.marked:
        if i < end or not flags[i] & CAPITAL or taken[i]:
            continue
        is_alone = not flags[i + 1] & CAPITAL and words[i + 1] not in _JOINTS
        if is_alone and (words[i] in _NO_NAMES or (sentence_of[i] != sentence_of[i - 1] and not t.raw[i].isupper())):
            continue  # most often the first word of a sentence, which is soon told
        end = i + 1 if is_alone else _name_end(t, i, taken)
        placed = _make_name(t, i, end)
        if placed:
            found.append(placed)
    return found


def _name_end(t: Tokens, i: int, taken: bytearray) -> int:
    """The token after the name that begins at `i`."""
    j = i + 1
    while j - i < _MAX_WORDS and t.sentence_of[j] == t.sentence_of[i] and not taken[j]:
        if not t.flags[j] & CAPITAL and (t.words[j] not in _JOINTS or not _goes_on(t, j, taken)):
            break
        if t.words[j - 1].endswith("'s"):
            break
        j += 1
    return j


def _goes_on(t: Tokens, j: int, taken: bytearray) -> bool:
    """Whether the token at `j`, which has no capital, is part of the name that it follows."""
    word = t.words[j]
    if word == ".":
        return len(t.raw[j - 1]) == 1 or t.words[j - 1] in TITLES
    if not t.flags[j + 1] & CAPITAL:
        return False
    return (word in _LINKS and not taken[j + 1]) or (word in {"-", "–"} and t.touches(j) and t.touches(j + 1))


def _make_name(t: Tokens, i: int, end: int) -> Placed | None:
    while i < end and t.words[i] in _NO_NAMES:
        i += 1
    while end > i and not t.words[end - 1][0].isalpha():
        end -= 1
    if i >= end or (end == i + 1 and _is_start(t, i)):
        return None
    start, stop, text = t.span(i, end - 1)
    if t.words[end - 1].endswith("'s"):
        stop, text = stop - 2, text[:-2]
    if end == i + 1:
        folded = t.words[i].removesuffix("'s")
    else:
        folded = " ".join([word.removesuffix("'s") for word in t.words[i:end] if word[0].isalnum()])
    return Placed(Slot("name", start, stop, text, folded), i, end - 1)


def _is_start(t: Tokens, i: int) -> bool:
    """Whether the capital at `i` is that of a sentence or a quotation, and not an acronym's."""
    if i != t.sentences[t.sentence_of[i]][0] and (t.words[i - 1][0].isalnum() or t.words[i - 1] == ","):
        return False
    return len(t.raw[i]) == 1 or not t.raw[i].isupper()


def find_origins(vocabulary: Iterable[str]) -> set[str]:
    """The first letters of each word that may be the adjective of a place: of "Spanish" they are those of "Spain"."""
    return {word[:3] for word in vocabulary if word.endswith(_ORIGINS)}


def is_origin(t: Tokens, first: int, last: int) -> bool:
    """Whether the name only says where something comes from: "Scottish" before a noun."""
    return first == last and t.raw[last + 1][0].islower() and t.words[first].endswith(_ORIGINS)


def is_spelling(one: str, two: str) -> bool:
    """Whether one word is another way to write the other: "Laden" and "Ladin", "Chris" and "Christopher".

    "Solberg" and "Solheim" begin alike and are two people.
    """
    if one[:3] != two[:3]:
        return False
    if one.startswith(two) or two.startswith(one):
        return True
    at = next(at for at, (left, right) in enumerate(zip(one, two, strict=False)) if left != right)
    return one[at + 1 :] in (two[at + 1 :], two[at:]) or one[at:] == two[at + 1 :]


def name_keys(folded: str) -> set[str]:
    """What names that may be one have in common: a word, the first letters of a long one, or the initials.

    "Africa" and "African" are one here, and so is a name with a slip of the pen.
    """
    words = [word for word in folded.split() if word not in FUNCTION_WORDS and word not in TITLES] or folded.split()
    keys = {word.replace(".", "") for word in words} | {word[:4] + "*" for word in words if len(word) > 4}
    if len(words) > 1:
        keys.add("".join(word[0] for word in words))
    keys |= {word[:-1] for word in words if len(word) > 3 and word.endswith("s")}
    if "usa" in keys:
        keys.add("us")
    return keys
