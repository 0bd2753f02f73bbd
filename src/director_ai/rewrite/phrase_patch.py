"""Replaces the one phrase in which a clause and a sentence of the evidence differ."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS
from director_ai.core.segment import split_sentences
from director_ai.rewrite.fitting import fit_phrase

if TYPE_CHECKING:
    from director_ai.rewrite.patches import Group

__all__ = ["patch_phrases"]

_WORD: Final = re.compile(r"[^\W_](?:[\w'’.,-]*\w)?")
_Words = list[re.Match[str]]
_MOST_WORDS: Final = 60
_MOST_SENTENCES: Final = 4
_LONGEST: Final = 6
_LEAST_SHARE: Final = 0.6
_COPULAS: Final = frozenset({"is", "are", "was", "were"})


def patch_phrases(clause: str, text: str) -> list[Group]:
    """Return patches with phrases of the text's sentences, where all around them is the same."""
    mine = list(_WORD.finditer(clause))
    if not 2 <= len(mine) <= _MOST_WORDS:
        return []
    words = [found.group().casefold() for found in mine]
    groups: list[Group] = []
    for sentence in split_sentences(text)[:_MOST_SENTENCES]:
        other = list(_WORD.finditer(sentence))
        if not 2 <= len(other) <= _MOST_WORDS:
            continue
        theirs = [found.group().casefold() for found in other]
        place = _gap(words, theirs)
        if place and _stands_alike(clause, mine, place[:2], sentence, other, place[2:]):
            i, j, k, m = place
            phrase = sentence[other[k].start() : other[m - 1].end()]
            groups.append(fit_phrase(clause, mine[i].start(), mine[j - 1].end(), phrase))
    return [group for group in groups if group]


def _stands_alike(
    clause: str, mine: _Words, place: tuple[int, int], sentence: str, other: _Words, rival: tuple[int, int]
) -> bool:
    """Whether neither phrase runs over a mark, and the same marks stand around both."""
    for text, words, (first, end) in ((clause, mine, place), (sentence, other, rival)):
        if any(text[words[at].end() : words[at + 1].start()].strip() for at in range(first, end - 1)):
            return False
    return all(_mark(clause, mine, place[side] - 1) == _mark(sentence, other, rival[side] - 1) for side in (0, 1))


def _mark(text: str, words: _Words, at: int) -> str:
    """The mark between a word and the next; nothing at the ends."""
    return text[words[at].end() : words[at + 1].start()].strip() if 0 <= at < len(words) - 1 else ""


def _gap(words: list[str], theirs: list[str]) -> tuple[int, int, int, int] | None:
    """Where two sentences that begin alike differ: in one phrase, before they go on or end alike."""
    before = _common(words, theirs)
    after = _common(words[::-1], theirs[::-1])
    after = min(after, len(words) - before, len(theirs) - before)
    i, j, k, m = before, len(words) - after, before, len(theirs) - after
    if not (0 < j - i <= _LONGEST and 0 < m - k <= _LONGEST):
        return None
    is_complement = after == 0 and i > 1 and words[i - 1] in _COPULAS
    is_inside = before + after >= _LEAST_SHARE * len(words) and after > 0 and _tells(words[:i] + words[j:])
    return (i, j, k, m) if is_complement or is_inside else None


def _common(one: list[str], two: list[str]) -> int:
    """How many words two lists begin with in common."""
    return next(
        (at for at, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), min(len(one), len(two))
    )


def _tells(words: list[str]) -> bool:
    """Whether the words that both have say what the sentence is about."""
    return sum(word not in FUNCTION_WORDS for word in words) > 1
