"""Which sentences and which slots of the evidence speak of the same thing as the claim's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.memory import kept
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["Match", "context_score", "find_overlapping", "has_verbatim"]

_WINDOW = 5  # how far the surroundings of a slot reach, in words
_SAME_WORDS = 1.5  # what the same words on both sides add: a short sentence has no more to show
_POSTINGS = 32  # a stem that is in more sentences than this tells nothing, and would cost time
_SENTENCES = 6  # with how many sentences of the evidence one of the claim is compared


class Match(NamedTuple):
    """A sentence of the evidence, and how much of the claim's topic it shares, from 0 to 1."""

    sentence: int
    share: float


def has_verbatim(evidence: Reading, claim: Reading, sentence: int) -> bool:
    """Whether the evidence has a sentence of the claim word for word."""
    first, end = claim.t.sentences[sentence]
    return claim.t.words[first:end] in _verbatim(evidence)


@kept
def _verbatim(evidence: Reading) -> frozenset[tuple[str, ...]]:
    words = evidence.t.words
    return frozenset([words[first:end] for first, end in evidence.t.sentences])


@kept
def _postings(evidence: Reading) -> dict[str, list[int]]:
    """The first sentences that each word is in."""
    index: dict[str, list[int]] = {}
    for number, topic in enumerate(evidence.topics):
        for word in topic:
            found = index.setdefault(word, [])
            if len(found) < _POSTINGS:
                found.append(number)
    return index


def find_overlapping(topic: frozenset[str], evidence: Reading) -> list[Match]:
    """The sentences that overlap with a topic, best first; those that fall far behind the best are left out."""
    topics = evidence.topics
    if len(topics) == 1:
        return [Match(0, len(topic & topics[0]) / len(topic) if topic else 1.0)]
    if len(topics) > _POSTINGS:
        index = _postings(evidence)
        counts: dict[int, int] = Counter(number for word in topic for number in index.get(word, ()))
    else:  # so few are quicker looked through than indexed
        counts = {number: len(common) for number, other in enumerate(topics) if (common := topic & other)}
    if not counts:
        return []
    ranked = sorted(counts, key=lambda number: (-counts[number], number))[:_SENTENCES]
    least = max(0.6 * counts[ranked[0]], 0.25 * len(topic))
    return [Match(number, counts[number] / len(topic)) for number in ranked if counts[number] >= least]


def context_score(one: Reading, a: Placed, two: Reading, b: Placed) -> float:
    """How alike the words around two slots are: about 1 for each topic word they share on the same side."""
    left_a, right_a = _around(one, a)
    left_b, right_b = _around(two, b)
    score = _shared(left_a, left_b) + _shared(right_a, right_b)
    if left_a == left_b and right_a == right_b:
        return score + _SAME_WORDS
    score += 0.5 * (_crossed(left_a, right_b) + _crossed(right_a, left_b))
    return score


def _around(reading: Reading, placed: Placed) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The stems before and after a slot in its sentence, nearest first; an empty one marks the sentence's end."""
    t = reading.t
    first, end = t.sentences[t.sentence_of[placed.first]]
    left = t.stems[max(first, placed.first - _WINDOW) : placed.first][::-1]
    right = t.stems[placed.last + 1 : min(end, placed.last + 1 + _WINDOW)]
    return left or ("",), right or ("",)


def _shared(one: tuple[str, ...], two: tuple[str, ...]) -> float:
    score = 0.5 if one[0] == two[0] else 0.0
    for word in set(one).intersection(two):
        score += 0.2 if word in LIGHT_STEMS or not word.isalnum() else 1.0
    return score


def _crossed(one: tuple[str, ...], two: tuple[str, ...]) -> int:
    common = set(one).intersection(two)
    return sum(word not in LIGHT_STEMS and word.isalnum() for word in common) if common else 0
