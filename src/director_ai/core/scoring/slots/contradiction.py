"""Compares the words that turn a statement around, and the names in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.alignment import context_score
from director_ai.core.scoring.slots.names import name_keys
from director_ai.core.scoring.slots.polarity import Placed, affirmation, is_cue
from director_ai.core.scoring.slots.values import Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import AUXILIARIES, CONTRASTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["compare_names", "compare_negations", "compare_opposites"]

_REACH = 5  # how far before a word a negation still reaches it
_NOBODY = frozenset({"none", "nobody", "nothing"})
_CANDIDATES = 24
_LONGEST = 300  # no sentence is read further than this many tokens for a predicate
_SAME_PLACE = 1.7  # a context score that makes two words rivals for one place
_SAME_NAME_PLACE = 3.2


def _is_negated(reading: Reading, i: int) -> bool:
    """Whether a negation reaches token `i`."""
    t = reading.t
    first = t.sentences[t.sentence_of[i]][0]
    for j in range(i - 1, max(first, i - 1 - _REACH) - 1, -1):
        if t.words[j] in {",", ";", ":", "but", "(", ")"}:
            return False
        if t.words[j] in _NOBODY or (t.kinds[j] == "word" and is_cue(t, j) and (t.words[j] != "non" or j >= i - 2)):
            return True
    return False


def _best(claim: Reading, slot: Placed, evidence: Reading, rivals: list[Placed]) -> tuple[Placed | None, float]:
    best, best_score = None, -1.0
    for rival in rivals[:_CANDIDATES]:
        score = context_score(claim, slot, evidence, rival)
        if score > best_score:
            best, best_score = rival, score
    return best, best_score


def compare_opposites(
    claim: Reading, slots: list[Placed], evidence: Reading, nearby: list[Placed], share: float
) -> list[SlotDifference]:
    """Differences in quantifiers, comparatives and antonyms."""
    found = []
    for slot in slots:
        rivals = _rivals(slot.slot, nearby)
        if not rivals or (slot.slot.kind != "quantifier" and _says(evidence, nearby, slot, rivals)):
            continue
        rival, score = _best(claim, slot, evidence, rivals)
        if rival is None or score < _SAME_PLACE or share < 0.5:
            continue
        if _is_negated(claim, slot.first) == _is_negated(evidence, rival.first):
            found.append(SlotDifference(kind=slot.slot.kind, claim=slot.slot, evidence=rival.slot))
    return found


def _says(evidence: Reading, nearby: list[Placed], slot: Placed, rivals: list[Placed]) -> bool:
    """Whether the evidence has the word itself, or one that means the same, near by."""
    if any(slot.slot.value in evidence.topics[evidence.t.sentence_of[rival.first]] for rival in rivals):
        return True
    places = {(group, side) for group, side, _ in CONTRASTS.get(str(slot.slot.value), ())}
    return any(
        (group, side) in places
        for other in nearby
        if other.slot.kind in {"comparative", "antonym"}
        for group, side, _ in CONTRASTS.get(str(other.slot.value), ())
    )


def _rivals(slot: Slot, nearby: list[Placed]) -> list[Placed]:
    """The evidence's slots that exclude this one; none where one of them bears it out."""
    if slot.kind == "quantifier":
        same_scale = [other for other in nearby if other.slot.kind == "quantifier" and other.slot.unit == slot.unit]
        if slot.unit == "limit" or any(_entails(other.slot, slot) for other in same_scale):
            return []
        return same_scale
    sides = {group: side for group, side, _ in CONTRASTS.get(str(slot.value), ())}
    return [
        other
        for other in nearby
        if other.slot.kind in {"comparative", "antonym"}
        and any(sides.get(group, side) != side for group, side, _ in CONTRASTS.get(str(other.slot.value), ()))
    ]


def _entails(evidence: Slot, claim: Slot) -> bool:
    has, wants = evidence.value[0], claim.value[0]
    if not isinstance(has, int) or not isinstance(wants, int):
        return False
    return has == wants or (2 <= wants <= 4 and has >= 2) or (wants == 2 and has == 1)


def compare_negations(
    claim: Reading, sentence: int, evidence: Reading, sentences: Iterable[int], share: float
) -> list[SlotDifference]:
    """Differences in polarity: a predicate that one side negates and the other states."""
    if share < 0.5:
        return []
    found = []
    others = list(sentences)
    for mine in _negations(claim, [sentence]):
        match = _stated_plainly(mine, claim, evidence, others)
        if match:
            found.append(SlotDifference(kind="negation", claim=mine.slot, evidence=match.slot))
    for theirs in _negations(evidence, others):
        match = _stated_plainly(theirs, evidence, claim, [sentence])
        if match:
            found.append(SlotDifference(kind="negation", claim=match.slot, evidence=theirs.slot))
    return found


def _negations(reading: Reading, sentences: Iterable[int]) -> list[Placed]:
    return [
        placed
        for number in sentences
        for placed in reading.by_sentence.get(number, ())[-_CANDIDATES:]
        if placed.slot.kind == "negation" and placed.predicate >= 0 and not _is_name_apart(reading, placed)
    ]


def _is_name_apart(reading: Reading, negation: Placed) -> bool:
    """Whether a name is negated without a verb: in "Agra, not Delhi" it is the name that differs."""
    t = reading.t
    is_verbal = t.words[negation.first - 1] in AUXILIARIES or t.words[negation.first].endswith("n't")
    return reading.taken[negation.predicate] == 2 and not is_verbal


def _stated_plainly(negation: Placed, reading: Reading, other: Reading, sentences: list[int]) -> Placed | None:
    """Where the other text states without a negation what this one negates, in a similar place."""
    word = reading.t.stems[negation.predicate]
    here = Placed(negation.slot, negation.first, negation.predicate, negation.predicate)
    starts_with_auxiliary = negation.slot.text.lower().startswith(tuple(AUXILIARIES))
    if _is_mirrored(reading, negation, other, sentences):
        return None
    best, best_score = None, _SAME_PLACE - 0.2
    for number in sentences:
        first, end = other.t.sentences[number]
        for i in range(first, min(end, first + _LONGEST)):
            if other.t.stems[i] != word:
                continue
            if _is_negated(other, i):
                return None
            plain = affirmation(other.t, i, with_auxiliary=starts_with_auxiliary)
            score = context_score(reading, here, other, plain)
            if score > best_score:
                best, best_score = plain, score
    return best


def _is_mirrored(reading: Reading, negation: Placed, other: Reading, sentences: list[int]) -> bool:
    """Whether the other text negates the same with another word: "does not come with salt", "comes without salt"."""
    t = reading.t
    first, end = t.sentences[t.sentence_of[negation.first]]
    reached = set(t.stems[negation.predicate + 1 : min(end, negation.predicate + _REACH)])
    reached.update(t.stems[max(first, negation.first - _REACH) : negation.first])
    return any(other.t.stems[theirs.predicate] in reached for theirs in _negations(other, sentences))


def compare_names(
    claim: Reading, slots: list[Placed], evidence: Reading, nearby: list[Placed], share: float
) -> list[SlotDifference]:
    """Names of the claim in whose place the evidence has another."""
    if not slots or share < 0.6:
        return []
    rivals = [other for other in nearby if other.slot.kind == "name" and not _is_known(other.slot, claim)]
    if not rivals:
        return []
    found = []
    for slot in slots:
        rival, score = _best(claim, slot, evidence, rivals)
        if rival is None or score < _SAME_NAME_PLACE or _same_name(slot.slot, rival.slot):
            continue
        if _is_known(slot.slot, evidence):
            known = [other for other in nearby if _same_name(slot.slot, other.slot)]
            _, own = _best(claim, slot, evidence, known)
            if score < own + 2.5 or score < _SAME_NAME_PLACE + 1:
                continue
        found.append(SlotDifference(kind="name", claim=slot.slot, evidence=rival.slot))
    return found


def _is_known(name: Slot, reading: Reading) -> bool:
    """Whether any word of the name, or its acronym, is in the text."""
    words = reading.vocabulary
    return name.value in words or not words.isdisjoint(name_keys(str(name.value)))


def _same_name(one: Slot, two: Slot) -> bool:
    return two.kind == "name" and not name_keys(str(one.value)).isdisjoint(name_keys(str(two.value)))
