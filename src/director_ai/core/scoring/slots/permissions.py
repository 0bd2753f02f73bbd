"""Compares what is allowed with what is not: "may be used" and "is not permitted"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from director_ai.core.scoring.slots.memory import kept
from director_ai.core.scoring.slots.polarity import affirmation
from director_ai.core.scoring.slots.sense import PLAIN, clause_around, negatives
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.values import Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["compare_permissions"]

_MODALS = frozenset("may can could must should cannot can't mustn't shouldn't couldn't".split())
_ALLOWING = frozenset("may can could".split())
_WORDS = frozenset(stem(word) for word in "allow permit permission possible able entitle".split())
_BANS = frozenset(stem(word) for word in "forbid forbidden prohibit ban bar disallow".split())
_RULING = _WORDS | _BANS
_TOPIC_SHARE = 0.6
_MOST_CLAUSES = 12

Ruling = Literal["allowed", "forbidden", ""]


def compare_permissions(claim: Reading, sentence: int, evidence: Reading, sentences: list[int]) -> list[SlotDifference]:
    """Differences between what the two texts allow and forbid of the same thing."""
    for i in _rulings(claim, sentence)[:_MOST_CLAUSES]:
        ruling, topic = _ruling(claim, i), _topic(claim, i)
        if not ruling or not topic:
            continue
        best, best_share = None, 0.0
        for number in sentences:
            for j in _rulings(evidence, number)[:_MOST_CLAUSES]:
                shared = len(topic & _topic(evidence, j))
                share = shared / len(topic) if shared > 1 or len(topic) == 1 else 0.0
                if share > best_share:
                    best, best_share = j, share
        if best is None or best_share < _TOPIC_SHARE or not _contradicts(ruling, _ruling(evidence, best)):
            continue
        beside = _rulings(evidence, evidence.t.sentence_of[best])[:_MOST_CLAUSES]
        of_others = [_topic(evidence, j) - _topic(evidence, best) for j in beside if _ruling(evidence, j) == ruling]
        if all(words.isdisjoint(claim.topics[sentence]) for words in of_others):  # else the claim is of that group
            return [SlotDifference(kind="negation", claim=_slot(claim, i), evidence=None)]
    return []


def _slot(claim: Reading, i: int) -> Slot:
    """The ruling word, with its "not"."""
    for placed in claim.by_sentence.get(claim.t.sentence_of[i], ()):
        if placed.slot.kind == "negation" and placed.first <= i <= placed.last:
            return placed.slot
    return affirmation(claim.t, i, with_auxiliary=False).slot


def _contradicts(one: Ruling, two: Ruling) -> bool:
    return bool(one and two) and one != two


@kept
def _rulings(reading: Reading, sentence: int) -> list[int]:
    """The words of a sentence that allow or forbid."""
    t = reading.t
    first, end = t.sentences[sentence]
    if _MODALS.isdisjoint(t.words[first:end]) and _RULING.isdisjoint(t.stems[first:end]):
        return []
    return [i for i in range(first, min(end, first + 120)) if t.words[i] in _MODALS or t.stems[i] in _RULING]


@kept
def _ruling(reading: Reading, i: int) -> Ruling:
    """What the clause around token `i` rules; nothing where more than one word is negative."""
    t = reading.t
    first, end = clause_around(t, i)
    found = negatives(reading, first, end)
    if "than" in t.words[first:end]:
        return ""  # a limit, and no plain yes or no
    if t.stems[i] in _BANS:
        return "forbidden" if len(found) == 1 else ""
    if not found and (t.words[i] in _ALLOWING or t.stems[i] in _WORDS):
        return "allowed"
    beside = t.words[i].endswith(("n't", "not")) or "not" in t.words[i - 1 : i + 2] or t.words[i - 1].endswith("n't")
    return "forbidden" if beside and len(found) == 1 and found[0] in PLAIN else ""


@kept
def _topic(reading: Reading, i: int) -> frozenset[str]:
    t = reading.t
    first, end = clause_around(t, i)
    return frozenset(t.topics[first:end]) - LIGHT_STEMS - _RULING - {""}
