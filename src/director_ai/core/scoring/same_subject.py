"""Does a clause speak of the same thing as a fact: same subject, same attribute, same qualifiers, same time?

Two values contradict each other only if they are values of the same thing. "The loan costs 7.9 %" does not contradict
"The savings account pays 2.1 %", and must never be corrected with it. The rules here are strict on purpose: when they
fail, a clause is redacted or left alone, which is cheaper than a false correction.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.core.grammar import PASTS, SURE_VERBS
from director_ai.core.scoring.slots.agreement import agree, comparable
from director_ai.core.scoring.slots.comparison import VALUE_KINDS
from director_ai.core.scoring.slots.framing import figure
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.scoring.slots.values import Slot, SlotDifference

__all__ = ["content_words", "contradicts", "foreign_words", "has_qualifiers"]

CONTRADICTING: Final = VALUE_KINDS | {"name", "negation"}
"""Kinds of difference that alone make a clause wrong.

Comparatives, antonyms and roles are left to the model: most of the rules' false alarms on independent answers come from
them."""


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


_FILLERS: Final = _stems(
    "please currently exactly simply actually really generally basically certainly definitely indeed yes well "
    "total altogether full overall typically normally usual regular standardly amount level rate figure value number "
    "apply applies valid hold holds will would can may get also you your our we us one per"
)
_SAME: Final = (
    _stems("cost pay price fee charge paid payable costs pays charged priced pricing"),
    _stems("open opens opening opened"),
    _stems("close closes closing closed shut shuts"),
    _stems("start begin starts begins starting beginning commence"),
    _stems("end finish ends finishes ending"),
    _stems("last lasts take takes duration"),
    _stems("maximum max highest most limit"),
    _stems("minimum min lowest least"),
    _stems("month monthly"),
    _stems("year yearly annual annually annum"),
    _stems("day daily"),
    _stems("week weekly"),
    _stems("located lies situated located location"),
    _stems("founded founder established set"),
    _stems("deliver delivery delivered deliveries shipping ship shipped"),
)
"""Words that name one attribute. Short on purpose: a missing pair costs a correction, a wrong one a falsehood."""
_BY_UNIT: Final = {
    "money": _stems("cost pay price fee charge come"),
    "duration": _stems("window period time"),
    "g": _stems("take dose give use need weigh weight"),
}
_BY_BOUND: Final = {bound: _stems("maximum max most limit highest up") for bound in ("at most", "less than")} | {
    bound: _stems("minimum min least lowest from") for bound in ("at least", "more than")
}
"""Verbs and nouns that a value of the kind needs and that therefore say nothing about the attribute."""
_TIMES: Final = frozenset(
    "last next previous previously former formerly ago earlier later future soon tomorrow yesterday today tonight "
    "now currently until till since before after used once originally initially meanwhile new old".split()
)
_PAST: Final = PASTS | {"was", "were", "had", "did"}
_FUTURE: Final = frozenset({"will", "shall", "going"})
_NAMING_UNITS: Final = frozenset({"", "ordinal", "code", "version"})
_ATTRIBUTES: Final = _stems(
    "surcharge supplement deposit discount reduction fine penalty tax tip bonus refund rebate minimum maximum average "
    "extra additional deductible excess balance limit commission interest rent wage salary"
)
"""Words that make another attribute of a value: a price is not a surcharge, even of the same ticket."""
_CONDITIONS: Final = frozenset("for if unless only except excluding during when while aged under above below".split())
_REACH: Final = 3
"""Words behind one of these that belong to the condition."""
_LEAST_SHARED: Final = 2
_SHORTEST: Final = 5
"""Letters from which on two words that begin alike count as one: "deliver" and "delivery"."""
_BORDER: Final = frozenset({",", ";", ":", "(", ")", "–", "—", "/", "|"})
_JOINS: Final = frozenset({"and", "but", "or", "while", "whereas", "plus", "respectively"})
_TITLE_END: Final = re.compile(r"[:–—|]|\s-\s")


def content_words(reading: Reading, sentence: int, leave_out: Sequence[Slot] = ()) -> set[str]:
    """Return the stems of a sentence that say what it is about, except those inside some slots."""
    t = reading.t
    first, end = t.sentences[sentence]
    found = set()
    for i in range(first, end):
        if t.kinds[i] not in {"word", "dotted"} or reading.taken[i] == 1 or t.words[i] in FUNCTION_WORDS:
            continue
        if any(slot.start <= t.starts[i] < slot.end for slot in leave_out):
            continue
        found.add(t.stems[i])
    return found - _FILLERS


def foreign_words(wanted: Iterable[str], known: frozenset[str] | set[str]) -> set[str]:
    """Return the stems that a set of stems has in no form."""
    beginnings = {word[:_SHORTEST] for word in known if len(word) >= _SHORTEST}
    return {word for word in wanted if not _has(word, known, beginnings)}


def _has(word: str, known: frozenset[str] | set[str], beginnings: set[str]) -> bool:
    if word in known or (len(word) >= _SHORTEST and word[:_SHORTEST] in beginnings):
        return True
    return any(word in group and not group.isdisjoint(known) for group in _SAME)


def contradicts(
    claim: Reading,
    difference: SlotDifference,
    fact: Reading,
    *,
    others: Sequence[SlotDifference] = (),
    context: frozenset[str] = frozenset(),
) -> bool:
    """Whether a difference is a contradiction: the fact states another value of just what the clause speaks of.

    `fact` is one fact, and the difference was found between it and the claim. `others` are the differences found with
    it, `context` the content words of what was asked, which count if the clause itself names nothing ("It is 5 EUR").
    """
    mine, theirs = difference.claim, difference.evidence
    if theirs is None or difference.kind not in CONTRADICTING:
        return False
    if any(other.kind != difference.kind for other in others):
        return False  # a second thing differs: the clause is about something else
    place, rival = _placed(claim, mine), _placed(fact, theirs)
    if place is None or rival is None:
        return False
    sentence, fact_sentence = claim.t.sentence_of[place], fact.t.sentence_of[rival]
    slots = [mine, *(other.claim for other in others)]
    known = _words_around(mine, fact, fact_sentence, theirs)
    topic = content_words(fact, fact_sentence, [theirs]) - _needed_by(mine)
    if any(_may_name(slot) and not _is_complement(claim, sentence, _placed(claim, slot) or 0) for slot in slots):
        return False
    if _is_slip(mine, theirs):
        return len(content_words(claim, sentence, slots) & known) >= _LEAST_SHARED
    return (
        (mine.kind not in VALUE_KINDS or comparable(mine, theirs))
        and _same_time(claim, sentence, fact, fact_sentence)
        and _other_values_agree(claim, sentence, slots, fact)
        and not foreign_words(_ATTRIBUTES & known, content_words(claim, sentence) | _needed_by(mine) | context)
        and _same_words(claim, sentence, slots, known, topic, context)
    )


def _is_slip(mine: Slot, theirs: Slot) -> bool:
    """Whether one is the other miswritten: the same figure in another unit, or a name with one part changed.

    Such a likeness is no accident, so the words around it need not all agree.
    """
    if mine.kind == "name":
        shared = set(mine.text.lower().split()) & set(theirs.text.lower().split())
        return any(len(word) > 2 and word not in FUNCTION_WORDS for word in shared) and " " in mine.text.strip()
    digits = figure(mine)
    return len(digits) > 2 and digits == figure(theirs) and mine.unit == theirs.unit and comparable(mine, theirs)


def has_qualifiers(claim: Reading, difference: SlotDifference, fact: Reading) -> bool:
    """Whether a clause has the conditions under which a fact states its value.

    "Take at most 8 g" must not become "Take at most 4 g" beside a fact that says so of adults alone.
    """
    mine, theirs = difference.claim, difference.evidence
    rival = _placed(fact, theirs) if theirs else None
    if rival is None:
        return False
    t, sentence = fact.t, fact.t.sentence_of[rival]
    first, end = t.sentences[sentence]
    wanted = set()
    for i in range(first, end):
        if t.words[i] in _CONDITIONS:
            after = [at for at in range(i + 1, min(end, i + 1 + _REACH)) if not _is_border(fact, at)]
            wanted |= {t.stems[at] for at in after if t.words[at] not in FUNCTION_WORDS and fact.taken[at] != 1}
    dates = [placed.slot for placed in fact.by_sentence.get(sentence, ()) if placed.slot.kind == "date"]
    if mine.kind != "date" and not all(claim.has_value(slot) for slot in dates):
        return False
    return not foreign_words(wanted - _FILLERS - {""}, set(claim.t.stems))


def _same_words(
    claim: Reading, sentence: int, slots: Sequence[Slot], known: set[str], topic: set[str], context: frozenset[str]
) -> bool:
    """Whether the fact has every word that says what the clause is about; `topic` is what the fact is about."""
    wanted = content_words(claim, sentence, slots) - _needed_by(slots[0])
    if not wanted:
        asked = context - _needed_by(slots[0])
        return not topic or (bool(asked) and not foreign_words(asked, known))
    return not foreign_words(wanted, known)


def _needed_by(slot: Slot) -> frozenset[str]:
    """Return the words that only say what the slot itself says."""
    unit = _BY_UNIT.get(slot.kind, frozenset()) | _BY_UNIT.get(slot.unit, frozenset())
    return unit | _BY_BOUND.get(slot.bound, frozenset()) | frozenset(map(stem, slot.text.lower().split()))


def _placed(reading: Reading, slot: Slot) -> int | None:
    """Return the token that a slot begins with."""
    return next((i for i, start in enumerate(reading.t.starts) if start >= slot.start >= 0), None)


def _may_name(slot: Slot) -> bool:
    """Whether a slot may say which thing is meant: a name, or the number of "Hall 3" and "the 3rd floor"."""
    return slot.kind == "name" or (slot.kind == "number" and slot.unit in _NAMING_UNITS)


def _is_complement(claim: Reading, sentence: int, place: int) -> bool:
    """Whether a slot stands behind the verb: a subject of another name or number is another subject."""
    first, _ = claim.t.sentences[sentence]
    return any(word in SURE_VERBS or word == ":" for word in claim.t.words[first:place])


def _same_time(claim: Reading, sentence: int, fact: Reading, fact_sentence: int) -> bool:
    """Whether both speak of the same time, as far as words for times and the form of verbs tell."""
    mine, theirs = _words(claim, sentence), _words(fact, fact_sentence)
    if (mine & _TIMES) - theirs:
        return False
    return bool(mine & _PAST) == bool(theirs & _PAST) and bool(mine & _FUTURE) <= bool(theirs & _FUTURE)


def _words(reading: Reading, sentence: int) -> set[str]:
    first, end = reading.t.sentences[sentence]
    return set(reading.t.words[first:end])


def _other_values_agree(claim: Reading, sentence: int, slots: Sequence[Slot], fact: Reading) -> bool:
    """Whether the fact has every other value of the clause: another day or age is another case."""
    return all(
        placed.slot in slots or _is_stated(placed, fact)
        for placed in claim.by_sentence.get(sentence, ())
        if placed.slot.kind in VALUE_KINDS
    )


def _is_stated(placed: Placed, fact: Reading) -> bool:
    slot = placed.slot
    return fact.has_value(slot) or any(
        comparable(slot, other.slot) and agree(slot, other.slot) for other in fact.placed
    )


def _words_around(mine: Slot, fact: Reading, sentence: int, theirs: Slot) -> set[str]:
    """Return the words that the fact's value belongs to: its sentence, or only its part of one with several values.

    The title of a fact ("Economy Flex: …") counts for all of it.
    """
    known = _title(fact)
    rivals = [
        placed.slot
        for placed in fact.by_sentence.get(sentence, ())
        if placed.slot.kind == theirs.kind and (theirs.kind == "name" or comparable(mine, placed.slot))
    ]
    if theirs.kind in {"name", "negation"} or len(rivals) < 2:
        return known | content_words(fact, sentence, [theirs]) | _value_words(fact, sentence)
    return known | _part_words(fact, sentence, theirs)


def _value_words(fact: Reading, sentence: int) -> set[str]:
    """Return the words inside the values of a sentence: the "year" of "2 % a year" is one of the clause's, too."""
    t = fact.t
    first, end = t.sentences[sentence]
    return {t.stems[i] for i in range(first, end) if fact.taken[i] == 1}


def _part_words(fact: Reading, sentence: int, slot: Slot) -> set[str]:
    """Return the words of the part of a sentence that a value stands in, and of the subject that all parts share."""
    t = fact.t
    first, end = t.sentences[sentence]
    at = _placed(fact, slot) or first
    low, high = at, at
    while low > first and not _is_border(fact, low - 1):
        low -= 1
    while high < end and not (high > at and _is_border(fact, high)):
        high += 1
    places = list(range(low, high))
    if low > first and not _has_subject(fact, low, high):
        verb = next((i for i in range(first, end) if t.words[i] in SURE_VERBS), first)
        places += range(first, verb)
    return {t.stems[i] for i in places if t.kinds[i] in {"word", "dotted"} and t.words[i] not in FUNCTION_WORDS}


def _has_subject(fact: Reading, low: int, high: int) -> bool:
    """Whether a part of a sentence names what it is about, rather than go on about the first part's subject."""
    for i in range(low, high):
        if fact.taken[i] == 1 or fact.t.words[i] in SURE_VERBS:
            return False
        if fact.t.kinds[i] in {"word", "dotted"} and fact.t.words[i] not in FUNCTION_WORDS:
            return True
    return False


def _is_border(fact: Reading, i: int) -> bool:
    word = fact.t.words[i]
    return fact.taken[i] != 1 and (word in _BORDER or word in _JOINS)


def _title(fact: Reading) -> set[str]:
    """Return the words that a fact begins with before a colon or dash; they hold for all of its sentences."""
    match = _TITLE_END.search(fact.t.text, 0, 80)
    if match is None:
        return set()
    return {stem(word) for word in re.findall(r"[^\W\d_]+", fact.t.text[: match.start()].lower())}
