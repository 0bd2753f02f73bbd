"""Tells when a claim's value need not be one of the evidence: it is reckoned, or it puts a case of its own."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from math import inf, isclose
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.sense import PLAIN, clause_around, negatives
from director_ai.core.scoring.slots.units import SMALL, TENS
from director_ai.core.scoring.slots.values import CalendarDate, Interval, Slot

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["figure", "is_case", "is_framed"]

_STEPS = frozenset(
    "longer shorter more less fewer later earlier older younger higher lower cheaper dearer further extra apart ago "
    "wider deeper faster slower heavier lighter taller sooner warmer colder bigger larger smaller additional".split()
)
_TOTALS = frozenset("altogether together total combined overall sum average difference gap saves save".split())
_CASES = frozenset("whoever anyone anybody someone somebody would still already yet enough".split())
_OUTSIDE = frozenset({"outside", "exempt", "void", "silent"})
_PER = frozenset({"per", "each", "every"})
_IS = frozenset({"is", "are", "was", "were", "be", "already"})
_COMPLEMENTS = ({"more than", "at most"}, {"less than", "at least"})
_OTHER_SIDE = frozenset(
    "older younger larger smaller longer shorter farther further higher lower later earlier bigger above below beyond "
    "warmer colder heavier lighter".split()
)
_TO = frozenset({"to", "and", "-", "–", "until", "till", "through"})
_TURNS = frozenset("start starts started begin begins began end ends ended later earlier latest earliest".split())
_EDGES = frozenset({"from", "until", "till", "by", "since", "to", "before", "after", "between"})
_CONDITIONS = frozenset({"if", "when", "whether", "suppose"})
_REACH = 8  # how far before a value its "if" may stand
_TOLERANCE = 0.012
_MOST = 24  # values of the evidence that are tried
_DIGITS = re.compile(r"\d[\d.,]*")


class _Pair(NamedTuple):
    """A value of the claim and the one that the evidence has in its place."""

    claim: Reading
    mine: Placed
    evidence: Reading
    theirs: Placed
    ours: set[str]
    """The words of the claim's sentence."""
    others: set[str]
    """Those of the evidence's."""


def _pair(claim: Reading, mine: Placed, evidence: Reading, theirs: Placed) -> _Pair:
    return _Pair(claim, mine, evidence, theirs, _words(claim, mine), _words(evidence, theirs))


def is_framed(claim: Reading, mine: Placed, evidence: Reading, theirs: Placed) -> bool:
    """Whether the claim's value can be right beside another of the evidence."""
    if _is_slip(mine.slot, theirs.slot):
        return False
    pair = _pair(claim, mine, evidence, theirs)
    return any(rule(pair) for rule in _RULES)


def is_case(claim: Reading, mine: Placed, evidence: Reading, theirs: Placed) -> bool:
    """Whether the claim puts a case of its own."""
    pair = _pair(claim, mine, evidence, theirs)
    return any(rule(pair) for rule in _CASE_RULES)


def figure(slot: Slot) -> str:
    """The digits of a slot without its unit, or nothing."""
    found = _DIGITS.search(slot.text)
    if found:
        return found[0].strip(".,").replace(",", "")
    for word in slot.text.lower().replace("-", " ").split():
        if word in SMALL or word in TENS:
            return str(SMALL.get(word) or TENS.get(word))
    return ""


def _is_slip(mine: Slot, theirs: Slot) -> bool:
    """Whether one is the other miswritten: another unit, digits in another order, one part of a date."""
    if isinstance(mine.value, CalendarDate) and isinstance(theirs.value, CalendarDate):
        day, other = mine.value, theirs.value
        return day.day is not None and day.day == other.day and day != other
    one, two = figure(mine), figure(theirs)
    if not one or not two:
        return False
    if one == two:
        return mine.unit != theirs.unit or set(mine.value).isdisjoint(theirs.value)
    return len(one) > 1 and sorted(one) == sorted(two)


def _sentence(reading: Reading, placed: Placed) -> tuple[int, int]:
    return reading.t.sentences[reading.t.sentence_of[placed.first]]


def _words(reading: Reading, placed: Placed) -> set[str]:
    first, end = _sentence(reading, placed)
    return set(reading.t.words[first : min(end, first + 120)])


def _is_turned(pair: _Pair) -> bool:
    """Only the claim is negative: "no visits at 9 pm" beside "visits until 8 pm"."""
    if pair.mine.slot.bound and pair.mine.slot.bound == pair.theirs.slot.bound:
        return False  # the "not" of "not more than" is part of the bound
    if _is_outside(pair.claim, pair.mine):
        return not _is_outside(pair.evidence, pair.theirs)
    is_negative = not PLAIN.isdisjoint(negatives(pair.claim, *_sentence(pair.claim, pair.mine)))
    return is_negative and PLAIN.isdisjoint(negatives(pair.evidence, *_sentence(pair.evidence, pair.theirs)))


def _is_outside(reading: Reading, placed: Placed) -> bool:
    """Whether the clause says that something is over, too late or left out."""
    t = reading.t
    first, end = clause_around(t, placed.first)
    return any(
        word in _OUTSIDE
        or (word == "over" and t.words[i - 1] in _IS)
        or (word == "too" and t.words[i + 1] != "." and i + 1 < end)
        for i, word in enumerate(t.words[first:end], start=first)
    )


def _is_step(pair: _Pair) -> bool:
    """The claim's value is a distance between two others: "three years longer", "went up by 180"."""
    return bool(_steps(pair.claim, pair.mine) - _steps(pair.evidence, pair.theirs))


def _is_interval(pair: _Pair) -> bool:
    """The claim's length of time lies between two events: "two weeks after R"."""
    if pair.mine.slot.kind != "duration" or pair.mine.slot.bound:
        return False
    after, other = pair.claim.t.words[pair.mine.last + 1], pair.evidence.t.words[pair.theirs.last + 1]
    return after in {"before", "after"} and other not in {"before", "after", "in", "prior", "ahead"}


def _steps(reading: Reading, placed: Placed) -> set[str]:
    t = reading.t
    found = {word for word in t.words[placed.last + 1 : placed.last + 3] if word in _STEPS}
    return found | ({"by"} if t.words[placed.first - 1] == "by" else set())


def _is_total(pair: _Pair) -> bool:
    return bool((pair.ours & _TOTALS) - pair.others)


def _is_case(pair: _Pair) -> bool:
    """The claim speaks of somebody or of something that may be so."""
    if (pair.ours & _CASES) - pair.others:
        return True
    first, _ = clause_around(pair.claim.t, pair.mine.first)
    before = pair.claim.t.words[max(first, pair.mine.first - _REACH) : pair.mine.first]
    return not _CONDITIONS.isdisjoint(before) and "and" not in before and "if" not in pair.others


def _is_person(pair: _Pair) -> bool:
    """ "A 17-year-old": somebody of whom the evidence does not speak."""
    t = pair.claim.t
    return t.words[pair.mine.last + 1] == "-" and t.words[pair.mine.last + 2] in {"old", "olds"}


def _is_rate(pair: _Pair) -> bool:
    """The evidence has a rate, the claim what it comes to."""
    t = pair.evidence.t
    if pair.mine.slot.per or not (
        pair.theirs.slot.per or not _PER.isdisjoint(t.words[pair.theirs.last + 1 : pair.theirs.last + 5])
    ):
        return False
    return any(
        isinstance(other.slot.value, Interval) and other is not pair.mine and not pair.evidence.has_value(other.slot)
        for other in pair.claim.by_sentence.get(pair.claim.t.sentence_of[pair.mine.first], ())
    )


def _is_reckoned(pair: _Pair) -> bool:
    """The claim's value is one of the evidence times a count that the claim names: "two tickets cost 18 euros"."""
    if (
        pair.mine.slot.unit == "ordinal"
        or pair.mine.slot.bound not in {"", "about"}
        or not isinstance(pair.mine.slot.value, Interval)
    ):
        return False
    sought = pair.mine.slot.value.low
    tolerance = 0.05 if pair.mine.slot.bound else _TOLERANCE
    known = [
        end
        for other in islice(pair.evidence.placed, 200)
        if other.slot.kind == pair.mine.slot.kind
        and other.slot.unit == pair.mine.slot.unit
        and isinstance(other.slot.value, Interval)
        for end in {other.slot.value.low, other.slot.value.high}
        if abs(end) != inf
    ][:_MOST]
    counts = [
        other.slot.value.low
        for other in pair.claim.by_sentence.get(pair.claim.t.sentence_of[pair.mine.first], ())
        if isinstance(other.slot.value, Interval) and other.slot is not pair.mine.slot and other.slot.value.low > 1
    ]
    return any(isclose(sought, one * count, rel_tol=tolerance) for one in known for count in counts if one)


def _is_limit(pair: _Pair) -> bool:
    """The two sides of one limit: "more than 78 weeks is not possible" beside "a maximum of 78 weeks"."""
    mine, theirs = pair.mine.slot, pair.theirs.slot
    if set(mine.value).isdisjoint(theirs.value) or mine.unit != theirs.unit or mine.bound == theirs.bound:
        return False
    if any(_has_loose_comparative(reading, placed) for reading, placed in (pair[:2], pair[2:4])):
        return True
    ours = negatives(pair.claim, *_sentence(pair.claim, pair.mine))
    others = negatives(pair.evidence, *_sentence(pair.evidence, pair.theirs))
    return {mine.bound, theirs.bound} in _COMPLEMENTS and PLAIN.isdisjoint(ours) != PLAIN.isdisjoint(others)


def _has_loose_comparative(reading: Reading, placed: Placed) -> bool:
    """Whether a word speaks of the other side of a limit: "older pupils", "above that"."""
    t = reading.t
    first, end = _sentence(reading, placed)
    return any(
        t.words[i] in _OTHER_SIDE and t.words[i + 1] != "than" and not reading.taken[i]
        for i in range(first, min(end, first + 120))
    )


def _is_within(pair: _Pair) -> bool:
    """The claim's date or time lies between two of the evidence: "in January" beside "from November to February"."""
    t = pair.evidence.t
    slots = [
        other
        for other in pair.evidence.by_sentence.get(t.sentence_of[pair.theirs.first], ())
        if other.slot.kind == pair.mine.slot.kind
    ]
    if pair.mine.slot.kind not in {"date", "time"} or pair.claim.t.words[pair.mine.first - 1] in _EDGES:
        return False
    if pair.ours & _TURNS:
        return False
    return any(
        t.words[one.last + 1] in _TO and two.first == one.last + 2 and _lies_between(pair.mine.slot, one.slot, two.slot)
        for one, two in pairwise(slots)
    )


def _lies_between(slot: Slot, first: Slot, last: Slot) -> bool:
    points = [_point(other) for other in (slot, first, last)]
    if any(point is None for point in points):
        return False
    middle, low, high = (point or 0.0 for point in points)
    if low <= high or (isinstance(first.value, CalendarDate) and first.value.year):
        return low <= middle <= high
    return middle >= low or middle <= high  # over the end of the year or of the day


def _point(slot: Slot) -> float | None:
    """Where in its year, in its day or among the years a date or a time lies."""
    if not isinstance(slot.value, CalendarDate):
        return float(slot.value[0]) if len(slot.value) == 1 and isinstance(slot.value[0], int) else None
    year, month, day = slot.value.year, slot.value.month, slot.value.day
    if slot.value.weekdays or slot.value.quarter:
        return None
    if year is not None:
        return year + ((month or 1) - 1 + ((day or 1) - 1) / 31) / 12
    return None if month is None else month + ((day or 1) - 1) / 31


_CASE_RULES = (_is_limit, _is_within, _is_turned, _is_step, _is_interval, _is_case, _is_person)
_RULES = (*_CASE_RULES, _is_total, _is_rate, _is_reckoned)
