"""Compares the words that turn a statement around."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.alignment import context_score
from director_ai.core.scoring.slots.memory import kept
from director_ai.core.scoring.slots.polarity import Placed, affirmation, is_cue
from director_ai.core.scoring.slots.sense import PLAIN, clause_around, negatives
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.values import Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import AUXILIARIES, CONTRASTS, FUNCTION_WORDS, LIGHT_STEMS, NEGATION_CUES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["compare_negations", "compare_opposites", "is_near_verbatim"]

_REACH = 5  # how far before a word a negation still reaches it
_NOBODY = frozenset({"none", "nobody", "nothing"})
_CANDIDATES = 24
_LONGEST = 300  # no sentence is read further than this many tokens for a predicate
_SAME_PLACE = 1.7  # a context score that makes two words rivals for one place
_CONVERSES = tuple(
    frozenset(map(stem, words.split()))
    for words in (
        "buy purchase sell",
        "borrow lend",
        "win lose",
        "employer employee",
        "landlord tenant",
        "buyer seller",
    )
)
"""Words for one event, seen from either side."""
_KIN = frozenset(
    map(stem, "father dad mother mom mum brother sister uncle aunt son daughter nephew niece husband wife".split())
)
_DENYING = frozenset({"impossible", "forbidden", "prohibited", "banned", "unavailable", "excluded"})
_BEYOND = frozenset({"after", "beyond", "past", "later", "over", "above"})
_WITHIN = frozenset({"within", "until", "till", "by", "before", "up"})
_MEASURED = frozenset({"number", "money", "percent", "duration", "date", "time"})
_SAID_OF_IT = 14  # words after a doing in which its predicate must come
_NEARLY_ALL = 0.85
_FEW_WORDS = 6
_NOUN_LINKS = frozenset("in by with for at during on from of within".split())
_BEFORE_NOUN = frozenset({"no", "without", "nor", "neither"})
_LASTING = frozenset({"until", "till", "for"})
_BEING = frozenset("be been being is are was were".split())
_NEEDS = frozenset({"need", "needs", "needn't"})
_APART = frozenset({"unlike", "rather", "instead", "except"})
_AUXILIARY_STARTS = tuple(AUXILIARIES)
_VERBAL = AUXILIARIES | _NEEDS
_DEFERRING = frozenset("before until till unless except once".split())
"""Words that turn "not" into "not yet"."""


def _is_negated(reading: Reading, i: int) -> bool:
    """Whether a negation reaches token `i`."""
    t = reading.t
    first = t.sentences[t.sentence_of[i]][0]
    for j in range(i - 1, max(first, i - 1 - _REACH) - 1, -1):
        if t.words[j] in {",", ";", ":", "but", "(", ")"}:
            return False
        if t.words[j] in _APART and j >= i - 3:
            return True
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


def is_near_verbatim(claim: Reading, i: int, share: float) -> bool:
    """Whether the sentence of token `i` has so much in common with the evidence that no paraphrase is to be feared."""
    return share >= _NEARLY_ALL and len(claim.topics[claim.t.sentence_of[i]]) > _FEW_WORDS


def compare_opposites(
    claim: Reading, slots: list[Placed], evidence: Reading, nearby: list[Placed], share: float
) -> list[SlotDifference]:
    """Differences in quantifiers, comparatives and antonyms."""
    found = []
    for slot in slots:
        rivals = _rivals(slot.slot, nearby)
        if not rivals:
            continue
        if slot.slot.kind != "quantifier" and _says(evidence, nearby, slot, rivals):
            continue
        rival, score = _best(claim, slot, evidence, rivals)
        if rival is None or score < _SAME_PLACE or share < 0.5 or not _excludes(claim, slot, evidence, rival, share):
            continue
        found.append(SlotDifference(kind=slot.slot.kind, claim=slot.slot, evidence=rival.slot))
    return found


def _excludes(claim: Reading, slot: Placed, evidence: Reading, rival: Placed, share: float) -> bool:
    """Whether two opposite words cannot both be true: they are used alike, and of the same roles."""
    if _is_negated(claim, slot.first) != _is_negated(evidence, rival.first):
        return False
    if (
        _is_crossed(claim, slot, evidence, rival)
        if slot.slot.kind == "comparative"
        else (slot.slot.kind == "antonym" and _lasts(claim, slot) != _lasts(evidence, rival))
    ):
        return False
    if slot.slot.kind != "antonym" or is_near_verbatim(claim, slot.first, share):
        return True
    ours = negatives(claim, *clause_around(claim.t, slot.first))
    others = negatives(evidence, *clause_around(evidence.t, rival.first))
    if PLAIN.isdisjoint(ours) != PLAIN.isdisjoint(others):
        return False
    word, other = str(slot.slot.value), str(rival.slot.value)
    if word in _KIN and other in _KIN:
        return _after(claim, slot) == _after(evidence, rival)
    if any(word in pair and other in pair for pair in _CONVERSES):
        is_passive = _is_passive(claim, slot) or _is_passive(evidence, rival)
        return not is_passive and not _subject(claim, slot).isdisjoint(_subject(evidence, rival))
    return True


def _is_crossed(claim: Reading, slot: Placed, evidence: Reading, rival: Placed) -> bool:
    """Whether what stands before the one word stands after the other: "X before Y" and "Y after X"."""
    before, after = _subject(claim, slot), _object(claim, slot)
    other_before, other_after = _subject(evidence, rival), _object(evidence, rival)
    straight = len(before & other_before) + len(after & other_after)
    return len(before & other_after) + len(after & other_before) >= max(straight, 1)


def _object(reading: Reading, placed: Placed) -> set[str]:
    """What stands after a word in its sentence."""
    t = reading.t
    _, end = t.sentences[t.sentence_of[placed.first]]
    return set(t.topics[placed.last + 1 : min(end, placed.last + _LONGEST)]) - LIGHT_STEMS - {""}


def _lasts(reading: Reading, placed: Placed) -> bool:
    """Whether a word says how long a state goes on: what is open until ten closes at ten."""
    return not _LASTING.isdisjoint(reading.t.words[placed.last + 1 : placed.last + 4])


def _is_passive(reading: Reading, placed: Placed) -> bool:
    words = reading.t.words[max(0, placed.first - 2) : placed.first]
    return not _BEING.isdisjoint(words)


def _subject(reading: Reading, placed: Placed) -> set[str]:
    """What stands before a verb in its sentence."""
    t = reading.t
    first, _ = t.sentences[t.sentence_of[placed.first]]
    return set(t.topics[max(first, placed.first - _LONGEST) : placed.first]) - LIGHT_STEMS - {""}


def _after(reading: Reading, placed: Placed) -> str:
    """The name after a word such as "brother", or nothing."""
    t = reading.t
    return t.words[placed.last + 1] if t.raw[placed.last + 1][0].isupper() else ""


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
    others = list(sentences)
    if _is_beyond_limit(claim, sentence, evidence, others):
        return []
    if share < 0.5:
        return []
    found = []
    is_verbatim = is_near_verbatim(claim, claim.t.sentences[sentence][0], share)
    for mine in _negations(claim, [sentence]):
        match = _stated_plainly(mine, claim, evidence, others)
        if match and (is_verbatim or (_turns(claim, mine, evidence, match))):
            found.append(SlotDifference(kind="negation", claim=mine.slot, evidence=match.slot))
    for theirs in _negations(evidence, others):
        match = _stated_plainly(theirs, evidence, claim, [sentence])
        if match and (_is_stated_too(evidence, theirs, claim.topics[sentence]) or _is_denied_later(claim, match.last)):
            continue
        if match and (is_verbatim or (_turns(evidence, theirs, claim, match))):
            found.append(SlotDifference(kind="negation", claim=match.slot, evidence=theirs.slot))
    if not found and share >= _NEARLY_ALL:
        found = _denied_values(claim, sentence, evidence, others)
    return found


def _is_beyond_limit(claim: Reading, sentence: int, evidence: Reading, others: list[int]) -> bool:
    """Whether one side denies beyond a limit what the other grants within it: "not after 30 days", "within 30 days"."""
    ours, theirs = claim.t.words[slice(*claim.t.sentences[sentence])], evidence.t.words
    if _BEYOND.isdisjoint(ours) or not any(word in NEGATION_CUES for word in ours):
        return False
    shared = any(
        evidence.has_value(placed.slot)
        for placed in claim.by_sentence.get(sentence, ())
        if placed.slot.kind in _MEASURED
    )
    return shared and any(not _WITHIN.isdisjoint(theirs[slice(*evidence.t.sentences[at])]) for at in others[:1])


def _denied_values(claim: Reading, sentence: int, evidence: Reading, others: list[int]) -> list[SlotDifference]:
    """A value that the claim denies in the very words in which the evidence states it: "is not 99.8 percent"."""
    t = claim.t
    first, end = t.sentences[sentence]
    denied = [i for i in range(first, end) if t.words[i] == "not"]
    if len(denied) != 1:
        return []
    words = [word for word in t.words[first:end] if word not in {"not", "."}]
    if not any(
        [word for word in evidence.t.words[slice(*evidence.t.sentences[at])] if word != "."] == words for at in others
    ):
        return []
    for placed in claim.by_sentence.get(sentence, ()):
        if denied[0] < placed.first <= denied[0] + _REACH and placed.slot.kind in _MEASURED:
            start, stop, text = t.span(denied[0], placed.last)
            slot = Slot(kind="negation", start=start, end=stop, text=text, value=placed.slot.text, unit="negated")
            return [SlotDifference(kind="negation", claim=slot, evidence=None)]
    return []


def _is_denied_later(reading: Reading, i: int) -> bool:
    """Whether a doing is denied by what is said of it: "saving them is not possible"."""
    t = reading.t
    if not t.words[i].endswith("ing"):
        return False
    for j in range(i + 1, min(i + _SAID_OF_IT, len(t.words))):
        if t.words[j] in _DENYING or is_cue(t, j):
            return True
        if t.kinds[j] not in {"word", "dotted", "number"}:
            return False
    return False


def _is_stated_too(reading: Reading, negation: Placed, topic: frozenset[str]) -> bool:
    """Whether the sentence states of the topic's own group what it negates of another: "but the Plus does"."""
    t = reading.t
    first, end = t.sentences[t.sentence_of[negation.first]]
    end = min(end, first + _LONGEST)
    word, denied = t.stems[negation.predicate], _clause_topic(reading, negation.predicate)
    places = [i for i in range(first, end) if t.stems[i] == word and i != negation.predicate]
    if t.words[end - 2] in AUXILIARIES:
        places.append(end - 2)
    return any(
        not _is_negated(reading, i) and not (_clause_topic(reading, i) - denied).isdisjoint(topic) for i in places
    )


def _clause_topic(reading: Reading, i: int) -> set[str]:
    """The topic words of a clause; "and" ends it too."""
    t = reading.t
    first, end = clause_around(t, i)
    left = max((k + 1 for k in range(first, i) if t.words[k] == "and"), default=first)
    right = min((k for k in range(i, end) if t.words[k] == "and"), default=end)
    return set(t.topics[left:right]) - LIGHT_STEMS - {""}


def _turns(negating: Reading, negation: Placed, stating: Reading, plain: Placed) -> bool:
    """Whether one clause says the contrary of the other: it has one negative more, and no word makes up for it."""
    t = negating.t
    if _negates_a_noun(t, negation):
        return False
    if not _NOUN_LINKS.isdisjoint(t.words[negation.first : negation.predicate]) or _negates_a_part(t, negation):
        return False
    after = t.words[negation.predicate + 1 : negation.predicate + 3]
    if after[0] == "-" and after[1] in {"before", "by"}:
        return False
    if _is_duty(t, negation) and _subject(negating, negation).isdisjoint(_subject(stating, plain)):
        return False
    more = Counter(negatives(negating, *clause_around(t, negation.predicate)))
    less = Counter(negatives(stating, *clause_around(stating.t, plain.first)))
    if less - more or sum((more - less)[word] for word in PLAIN) != 1:
        return False
    ours, others = _sentence_words(negating, negation.predicate), _sentence_words(stating, plain.first)
    return "than" not in ours and not (_DEFERRING & ours) - others


def _is_duty(t: Tokens, negation: Placed) -> bool:
    """Whether only the duty is negated: who "need not send" it may be another than who sends it."""
    words = t.words[negation.first : negation.predicate]
    return not _NEEDS.isdisjoint(words) or "have to" in " ".join(words)


def _negates_a_noun(t: Tokens, negation: Placed) -> bool:
    """Whether "not" goes with no verb: "the film-maker, not the archive"."""
    i = negation.first
    return t.words[i] == "not" and _VERBAL.isdisjoint(t.words[max(0, i - 3) : i])


def _negates_a_part(t: Tokens, negation: Placed) -> bool:
    """Whether the negated word only describes another: the "service" of "no service boat"."""
    after = t.words[negation.predicate + 1]
    return t.words[negation.first] in _BEFORE_NOUN and after.isalpha() and after not in FUNCTION_WORDS


def _sentence_words(reading: Reading, i: int) -> set[str]:
    first, end = reading.t.sentences[reading.t.sentence_of[i]]
    return set(reading.t.words[first : min(end, first + _LONGEST)])


def _negations(reading: Reading, sentences: Iterable[int]) -> list[Placed]:
    by_sentence = _negations_by_sentence(reading)
    return [placed for number in sentences for placed in by_sentence.get(number, ())] if by_sentence else []


@kept
def _negations_by_sentence(reading: Reading) -> dict[int, list[Placed]]:
    found: dict[int, list[Placed]] = {}
    for sentence, slots in reading.by_sentence.items():
        for placed in slots[-_CANDIDATES:]:
            is_negation = placed.slot.kind == "negation" and placed.predicate >= 0
            if is_negation and reading.taken[placed.predicate] != 1 and not _is_name_apart(reading, placed):
                found.setdefault(sentence, []).append(placed)
    return found


def _is_name_apart(reading: Reading, negation: Placed) -> bool:
    """Whether a name is negated without a verb: in "Agra, not Delhi" it is the name that differs."""
    t = reading.t
    is_verbal = t.words[negation.first - 1] in AUXILIARIES or t.words[negation.first].endswith("n't")
    return reading.taken[negation.predicate] == 2 and not is_verbal


def _stated_plainly(negation: Placed, reading: Reading, other: Reading, sentences: list[int]) -> Placed | None:
    """Where the other text states without a negation what this one negates, in a similar place."""
    word = reading.t.stems[negation.predicate]
    if not any(word in other.t.stems[slice(*other.t.sentences[number])] for number in sentences):
        return None
    here = Placed(negation.slot, negation.first, negation.predicate, negation.predicate)
    starts_with_auxiliary = negation.slot.text.lower().startswith(_AUXILIARY_STARTS)
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
    first, end = clause_around(reading.t, negation.predicate)
    reached = set(reading.t.stems[first:end]) - {reading.t.stems[negation.predicate]}
    return any(other.t.stems[theirs.predicate] in reached for theirs in _negations(other, sentences))
