"""Does a clause speak of the same thing as a fact: same subject, same attribute, same qualifiers, same time?

Two values contradict each other only if they are values of the same thing. "The loan costs 7.9 %" does not contradict
"The savings account pays 2.1 %", and must never be corrected with it. The rules here are strict on purpose: when they
fail, a clause is redacted or left alone, which is cheaper than a false correction.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.core.grammar import PASTS, SURE_VERBS
from director_ai.core.scoring.coordination import is_verb
from director_ai.core.scoring.slots.agreement import agree, comparable
from director_ai.core.scoring.slots.comparison import VALUE_KINDS
from director_ai.core.scoring.slots.framing import figure
from director_ai.core.scoring.slots.names import TITLES
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.scoring.slots.values import Slot, SlotDifference

__all__ = ["content_words", "contradicts", "covers", "exchanges", "foreign_words", "knows_subject", "may_correct"]

CONTRADICTING: Final = VALUE_KINDS | {"name", "negation"}
"""Kinds of difference that alone make a clause wrong.

Comparatives, antonyms and roles are left to the model: most of the rules' false alarms on independent answers come from
them."""


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


_FILLERS: Final = _stems(
    "please currently exactly simply actually really generally basically certainly definitely indeed yes well "
    "total altogether full overall typically normally usual regular standardly amount level rate figure value number "
    "apply applies will would can may also you your our we us one per"
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
    "g": _stems("take dose give use need"),
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
_LEAST_SHARED: Final = 2
_SHORTEST: Final = 5
_LONGEST_ENDING: Final = 4
"""Words with so many letters in common and so short an ending count as one: "deliver" and "delivery"."""
_BORDER: Final = frozenset({",", ";", ":", "(", ")", "–", "—", "/", "|"})
_COUNTED_FROM: Final = frozenset({"of", "after", "from"})
_ANCHOR: Final = 3
_CONDITIONS: Final = frozenset("for if unless only except excluding during when while with without".split())
_EXCHANGED: Final = VALUE_KINDS | {"name"}
_TURNING: Final = frozenset("not no never neither nor instead than unlike rather whereas".split())
"""Beside these words a value may stand with what it does not belong to."""
_LINKS: Final = frozenset("of the and de van von der den la le del di da bin al el y du st".split())
_JOINS: Final = frozenset({"and", "but", "or", "while", "whereas", "plus", "respectively"})
_DIRECTIONS: Final = frozenset(
    "from to into onto over under above below before after without with except against past outside inside behind "
    "beyond until till towards toward via by versus".split()
)
_BEFORE_NAMES: Final = _DIRECTIONS | {"in", "on", "at", "of", "near", "for", "a", "an"}
_PRONOUNS: Final = frozenset("it its they their he his she her this that these those".split())
_PAYING: Final = (
    {"pay", "pays", "earn", "earns", "get", "gets"},
    {"charge", "charges", "cost", "costs", "owe", "owes"},
)
_VERBS: Final = SURE_VERBS | frozenset(
    "cost costs pay pays charges lasts last runs seats holds leads heads owns manages teaches chairs".split()
)
_APOSTROPHES: Final = frozenset({"'", "’"})
_ADJECTIVE: Final = re.compile(r"\w+(?:ian|ean|ish|ese|ic|ant|ist)", re.IGNORECASE)
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
    return (found | _compounds(reading, first, end, leave_out)) - _FILLERS


def _compounds(reading: Reading, first: int, end: int, leave_out: Sequence[Slot] = ()) -> set[str]:
    """Return the words with a hyphen: "check-in" and "check-out" differ in what is a function word elsewhere."""
    t = reading.t
    return {
        f"{t.words[i - 1]}-{t.words[i + 1]}"
        for i in range(first + 1, end - 1)
        if t.words[i] == "-"
        and t.words[i - 1].isalpha()
        and t.words[i + 1].isalpha()
        and t.starts[i + 1] == t.starts[i] + 1 == t.starts[i - 1] + len(t.words[i - 1]) + 1
        and not any(slot.start <= t.starts[i] < slot.end for slot in leave_out)
    }


def foreign_words(wanted: Iterable[str], known: frozenset[str] | set[str]) -> set[str]:
    """Return the stems that a set of stems has in no form."""
    by_beginning: dict[str, list[str]] = {}
    for word in known:
        by_beginning.setdefault(word[:_SHORTEST], []).append(word)
    return {word for word in wanted if not _has(word, known, by_beginning.get(word[:_SHORTEST], ()))}


def _has(word: str, known: frozenset[str] | set[str], alike: Sequence[str]) -> bool:
    if word in known or any(word in group and not group.isdisjoint(known) for group in _SAME):
        return True
    return len(word) >= _SHORTEST and any(_is_form(word, other) for other in alike)


def _is_form(one: str, two: str) -> bool:
    """Whether two words differ in their ending alone: "deliver" and "delivery", but not "check-in" and "check-out"."""
    shared = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    ending = max(len(one), len(two)) - shared
    return shared >= _SHORTEST and ending <= _LONGEST_ENDING and "-" not in one + two


def knows_subject(claim: Reading, fact: Reading) -> bool:
    """Whether a fact has what a claim is about: the words before its first verb, and all of its names.

    "Exchanges are available within 14 days." is not contradicted by what is said of refunds, however alike it looks.
    """
    known = set(fact.t.stems).union(*(content_words(fact, each) for each in range(len(fact.t.sentences))))
    for sentence, (first, end) in enumerate(claim.t.sentences):
        verb = next((i for i in range(first, end) if is_verb(claim.t.words[i], claim.t.words[i + 1])), end)
        subject = {
            claim.t.stems[i]
            for i in range(first, verb)
            if claim.t.kinds[i] in {"word", "dotted"} and claim.t.words[i] not in FUNCTION_WORDS
        } - _FILLERS
        if foreign_words(subject, known) or not _has_names(claim, sentence, (), fact):
            return False
    return True


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
    if place is None or rival is None or (mine.per != theirs.per and figure(mine) != figure(theirs)):
        return False  # "5 EUR per hour" beside "18 EUR per night": both may be true
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
        and _has_names(claim, sentence, slots, fact)
        and not foreign_words(_ATTRIBUTES & known, content_words(claim, sentence) | _needed_by(mine) | context)
        and _same_words(claim, sentence, slots, known, topic, context)
    )


def _is_slip(mine: Slot, theirs: Slot) -> bool:
    """Whether one is the other miswritten: the same figure in another unit, or a name with one part changed.

    Such a likeness is no accident, so the words around it need not all agree.
    """
    if mine.kind == "name":
        shared = set(mine.text.lower().split()) & set(theirs.text.lower().split())
        return any(len(word) > 2 for word in shared - FUNCTION_WORDS - TITLES) and " " in mine.text.strip()
    digits = figure(mine)
    return len(digits) > 2 and digits == figure(theirs) and mine.unit == theirs.unit and comparable(mine, theirs)


def exchanges(claim: Reading, fact: Reading) -> bool:
    """Whether a clause gives one thing the value that a sentence of the fact gives to another.

    "Adults pay 20 EUR and children 10 EUR." against "Adults pay 10 EUR.": no value is new, and yet it is wrong.
    """
    mine = [each for placed in claim.by_sentence.values() for each in placed if each.slot.kind in _EXCHANGED]
    if not mine:
        return False
    for sentence in range(len(fact.t.sentences)):
        apart = _told_apart(fact, sentence)
        if len(apart) > 1 and any(_takes_other(claim, each, fact, sentence, apart) for each in mine):
            return True
    return False


def _told_apart(fact: Reading, sentence: int) -> list[tuple[Placed, set[str]]]:
    """Return the values of a sentence with the words that belong to each of them alone."""
    placed = [
        each
        for each in fact.by_sentence.get(sentence, ())
        if each.slot.kind in VALUE_KINDS or (each.slot.kind == "name" and not _is_led(fact, each) and _acts(fact, each))
    ]
    around = [_near(fact, sentence, each) for each in placed]
    found = []
    for at, each in enumerate(placed):
        others = [
            words
            for other, words in zip(placed, around, strict=True)
            if other is not each and _same_kind(each.slot, other.slot)
        ]
        if others and (own := around[at].difference(*others)):
            found.append((each, own))
    return found


def _near(reading: Reading, sentence: int, placed: Placed, tokens: tuple[int, int] | None = None) -> set[str]:
    """Return the words of the part of a sentence that a value stands in, names and words in capitals among them."""
    t = reading.t
    low, high = tokens or _part(reading, sentence, placed.slot)
    return {
        t.stems[i]
        for i in range(low, high)
        if t.kinds[i] in {"word", "dotted"}
        and not placed.first <= i <= placed.last
        and reading.taken[i] != 1
        and (t.words[i] not in FUNCTION_WORDS or (len(t.raw[i]) > 1 and t.raw[i].isupper()))
    }


def _takes_other(
    claim: Reading, mine: Placed, fact: Reading, sentence: int, apart: list[tuple[Placed, set[str]]]
) -> bool:
    """Whether a value stands with the words of one of the fact's values and is another of them."""
    at = claim.t.sentence_of[mine.first]
    is_only = sum(_same_kind(mine.slot, each.slot) for each in claim.by_sentence[at]) == 1
    said = _near(claim, at, mine, claim.t.sentences[at] if is_only else None)
    owners = [each for each, own in apart if _same_kind(mine.slot, each.slot) and own <= said]
    if len(owners) != 1 or _is_same(mine.slot, owners[0].slot) or _is_led(claim, mine):
        return False
    low, high = _part(claim, at, mine.slot)
    beside = [each.slot for each in claim.by_sentence.get(at, ()) if low <= each.first < high]
    known = _title(fact).union(*(content_words(fact, each) for each in range(len(fact.t.sentences))), fact.t.stems)
    return (
        any(_is_same(mine.slot, each.slot) for each, _ in apart if each is not owners[0])
        and not any(_same_kind(slot, owners[0].slot) and _is_same(slot, owners[0].slot) for slot in beside)
        and not foreign_words(said - _needed_by(mine.slot) - _FILLERS, known)
        and _same_time(claim, at, fact, sentence)
        and not (_words(claim, at) | _words(fact, sentence)) & _TURNING
    )


def _is_led(reading: Reading, placed: Placed) -> bool:
    """Whether a name only says where or whose: in one place there may be many things."""
    before = reading.t.words[placed.first - 1] if placed.first else ""
    return placed.slot.kind == "name" and before in _BEFORE_NAMES - {"by"}


def _acts(fact: Reading, placed: Placed) -> bool:
    """Whether a verb stands in a name's part of the sentence: the names of a list belong to all of it."""
    low, high = _part(fact, fact.t.sentence_of[placed.first], placed.slot)
    return any(word in _VERBS for word in fact.t.words[low:high])


def _same_kind(one: Slot, two: Slot) -> bool:
    return one.kind == two.kind and (one.kind == "name" or comparable(one, two))


def _is_same(one: Slot, two: Slot) -> bool:
    return one.text.lower() == two.text.lower() if one.kind == two.kind == "name" else agree(one, two)


def may_correct(claim: Reading, difference: SlotDifference, fact: Reading) -> bool:
    """Whether the fact's value can stand in the place of the clause's, given that it contradicts the clause.

    Whether the clause then says what the fact says, word for word, is for the rewriter to check.
    """
    mine, theirs = difference.claim, difference.evidence
    rival = _placed(fact, theirs) if theirs else None
    place = _placed(claim, mine)
    if theirs is None or rival is None or place is None or mine.per != theirs.per:
        return False
    sentence = fact.t.sentence_of[rival]
    if sentence and fact.t.words[fact.t.sentences[sentence][0]] in _PRONOUNS:
        return False  # only the sentence before says what "It costs 40 EUR." is about
    low, high = _part(fact, sentence, theirs)
    in_part = [each.slot for each in fact.by_sentence.get(sentence, ()) if low <= each.first < high]
    if theirs.kind in VALUE_KINDS and sum(comparable(theirs, slot) for slot in in_part) > 1:
        return False  # one end of a range, or one of several values
    return difference.kind == "negation" or _may_replace(claim, place, mine, fact, rival, theirs)


def _may_replace(claim: Reading, place: int, mine: Slot, fact: Reading, rival: int, theirs: Slot) -> bool:
    """Whether a value can stand where the other stands."""
    said, known = (_words(each, each.t.sentence_of[at]) for each, at in ((claim, place), (fact, rival)))
    before, known_before = claim.t.words[max(0, place - 1)], fact.t.words[max(0, rival - 1)]
    after, known_after = claim.t.text[mine.end : mine.end + 1], fact.t.text[theirs.end : theirs.end + 1]
    if known_after in _APOSTROPHES and after not in _APOSTROPHES:
        return False  # "one month's notice" beside "3 months' notice"
    if mine.kind == "name":  # "from Toronto" and "Canadian" are no names of a person
        is_led = before == known_before or not {before, known_before} & _BEFORE_NAMES
        return is_led and _ADJECTIVE.fullmatch(mine.text.strip()) is None
    if mine.kind == "money":  # a price in euros may be as true as one in dollars
        is_same = mine.unit == theirs.unit or figure(mine) == figure(theirs)
    else:  # an account that pays 2 % is not one that charges 12 %
        is_same = all(bool(said & group) == bool(known & group) for group in _PAYING)
    is_range = mine.kind == "date" and (" to " in theirs.text) != (" to " in mine.text)
    return is_same and not is_range and not _tells_which(claim, claim.t.sentence_of[place], place, mine)


def _tells_which(claim: Reading, sentence: int, place: int, slot: Slot) -> bool:
    """Whether a value belongs to the subject of a sentence with another value: "Boxes for four people cost 39 EUR."."""
    first, _ = claim.t.sentences[sentence]
    leads = slot.bound or claim.t.words[max(0, place - 1)] in _BEFORE_NAMES
    later = any(each.first > place and each.slot.kind in VALUE_KINDS for each in claim.by_sentence.get(sentence, ()))
    return bool(leads) and later and not any(word in _VERBS or word == ":" for word in claim.t.words[first:place])


def covers(
    claim: Reading, difference: SlotDifference, fact: Reading, context: frozenset[str] | set[str] = frozenset()
) -> bool:
    """Whether the clause and its context have every word that says what the fact's value is a value of."""
    mine, theirs = difference.claim, difference.evidence
    rival = _placed(fact, theirs) if theirs else None
    if theirs is None or rival is None:
        return False
    sentence = fact.t.sentence_of[rival]
    wanted = _words_around(mine, fact, sentence, theirs) - _value_words(fact, sentence)
    wanted -= _needed_by(mine) | _needed_by(theirs) | _beside_the_point(fact, sentence, theirs)
    known = set(claim.t.stems) | {word for at in range(len(claim.t.sentences)) for word in content_words(claim, at)}
    return not foreign_words(wanted - _FILLERS - {""}, known | context)


def _beside_the_point(fact: Reading, sentence: int, slot: Slot) -> set[str]:
    """Return the words that a fact adds and that a clause may leave out.

    What a period counts from ("30 days of purchase"), and a second statement behind the value ("… and is free").
    """
    t = fact.t
    _, end = t.sentences[sentence]
    after = next((i for i in range(end) if t.starts[i] >= slot.end), end)
    anchor: list[int] = []
    if slot.kind == "duration" and after < end and t.words[after] in _COUNTED_FROM:
        anchor = [i for i in range(after + 1, min(end, after + 1 + _ANCHOR)) if not _is_border(fact, i)]
    joined = next((i for i in range(after, end) if t.words[i] in {"and", "but", ";"} and _is_border(fact, i)), end)
    more = range(joined, end) if joined + 1 < end and t.words[joined + 1] not in _CONDITIONS else range(0)
    kept = {t.stems[i] for i in range(t.sentences[sentence][0], joined) if i not in anchor}
    return {t.stems[i] for i in (*anchor, *more)} - kept


def _has_names(claim: Reading, sentence: int, slots: Sequence[Slot], fact: Reading) -> bool:
    """Whether the fact has every name of a sentence, as a name: a "Premium policy" is not any policy with a premium."""
    capitals = {raw.lower() for raw in fact.t.raw if raw[:1].isupper() or raw[:1].isdigit()}
    first, _ = claim.t.sentences[sentence]
    for placed in claim.by_sentence.get(sentence, ()):
        if placed.slot.kind != "name" or placed.slot in slots:
            continue
        words = [claim.t.words[i] for i in range(placed.first, placed.last + 1)]
        known = capitals if placed.first > first else capitals | set(fact.t.words)
        if any(word.removesuffix("'s") not in known and word.isalnum() and word not in _LINKS for word in words):
            return False
    return True


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
        return known | content_words(fact, sentence, [theirs]) | _value_words(fact, sentence, theirs)
    return known | _part_words(fact, sentence, theirs)


def _value_words(fact: Reading, sentence: int, but: Slot | None = None) -> set[str]:
    """Return the words inside the values of a sentence: the "year" of "2 % a year" is one of the clause's, too.

    Those of the value itself count only where it is a rate: "daily backups" are not meant by "kept for 90 days".
    """
    t = fact.t
    first, end = t.sentences[sentence]
    own = range(0) if but is None or but.per else range(but.start, but.end)
    return {t.stems[i] for i in range(first, end) if fact.taken[i] == 1 and t.starts[i] not in own}


def _part_words(fact: Reading, sentence: int, slot: Slot) -> set[str]:
    """Return the words of the part of a sentence that a value stands in, and of the subject that all parts share."""
    t = fact.t
    first, end = t.sentences[sentence]
    low, high = _part(fact, sentence, slot)
    places = list(range(low, high))
    if low > first and not _has_subject(fact, low, high):
        verb = next((i for i in range(first, end) if t.words[i] in SURE_VERBS), first)
        places += range(first, verb)
    found = {t.stems[i] for i in places if t.kinds[i] in {"word", "dotted"} and t.words[i] not in FUNCTION_WORDS}
    return found | _compounds(fact, low, high)


def _part(fact: Reading, sentence: int, slot: Slot) -> tuple[int, int]:
    """Return the tokens of the part of a sentence that a value stands in."""
    first, end = fact.t.sentences[sentence]
    at = _placed(fact, slot) or first
    low, high = at, at
    while low > first and not _is_border(fact, low - 1):
        low -= 1
    while high < end and not (high > at and _is_border(fact, high)):
        high += 1
    return low, high


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
