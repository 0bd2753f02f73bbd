"""Tells whether a clause is negative in sense: by "not", by a word such as "exempt", or by a prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.lexicon import NEGATIVE
from director_ai.core.scoring.slots.polarity import is_cue
from director_ai.core.scoring.slots.word_lists import NEGATIVE_VERBS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["PLAIN", "clause_around", "negatives"]

_BORDERS = frozenset(", ; : ( ) – — but although though while whereas because unlike so whose which".split())
_PLAIN = {"cannot": "not", "never": "not", "non": "not", "nor": "no", "neither": "no", "none": "no", "nobody": "no"} | {
    "nothing": "no", "nowhere": "no", "no": "no", "without": "without",
}  # fmt: skip
PLAIN = frozenset(_PLAIN.values()) | NEGATIVE_VERBS
"""The negatives that turn a clause around by themselves."""
_REACH = 60  # no clause is read further than this many tokens


def clause_around(t: Tokens, i: int) -> tuple[int, int]:
    """First token and the token after the last of the clause that token `i` is in."""
    first, end = t.sentences[t.sentence_of[i]]
    left = right = i
    while left > max(first, i - _REACH) and t.words[left - 1] not in _BORDERS:
        left -= 1
    while right < min(end, i + _REACH) and t.words[right] not in _BORDERS:
        right += 1
    return left, right


def negatives(reading: Reading, first: int, end: int) -> list[str]:
    """What is negative in sense between two tokens, sorted; the words of a value are left out."""
    t = reading.t
    found = []
    for i in range(first, min(end, first + 2 * _REACH)):
        if not t.flags[i] & NEGATIVE or reading.taken[i] == 1:
            continue
        word = t.words[i]
        if word in _PLAIN or is_cue(t, i):
            if t.words[i + 1] != "only":
                found.append(t.stems[i] if t.stems[i] in NEGATIVE_VERBS else _PLAIN.get(word, "not"))
        elif t.stems[i] not in NEGATIVE_VERBS:
            found.append(t.stems[i])
    return sorted(found)
