"""Finds values that no sentence on the same topic speaks against, but one elsewhere does."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.agreement import MEASURES, agree, comparable
from director_ai.core.scoring.slots.alignment import context_score
from director_ai.core.scoring.slots.framing import figure, is_case, is_framed
from director_ai.core.scoring.slots.values import CalendarDate, Interval, Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["find_slips"]

_MOST = 120  # slots of the evidence that one of the claim is held against
_FEW_SENTENCES = 12
_VAGUE = ("a ", "an ", "weekday", "weekend")
_REST = frozenset({"other", "otherwise", "rest", "remaining"})
_SHUT = frozenset({"closed", "close", "closes", "shut", "shuts"})
_SAME_PLACE = 1.9  # a context score at which the topic of the sentence does not matter


def find_slips(claim: Reading, slots: list[Placed], evidence: Reading, *, on_topic: bool) -> list[SlotDifference]:
    """The values of the claim that the evidence has nowhere, though it has another in the same place or form."""
    found = []
    for placed in slots:
        if placed.slot.unit == "ordinal" or evidence.has_value(placed.slot):
            continue
        others = [other for other in islice(evidence.placed, _MOST) if other.slot.kind == placed.slot.kind]
        if any(_bears_out(other.slot, placed.slot) for other in others):
            continue
        rival = (
            _miswritten(claim, placed, evidence, others)
            or _misplaced(claim, placed, slots, evidence, others)
            or (_unheard_of(claim, placed, evidence, others) if on_topic or _is_picked(placed, evidence) else None)
        )
        if rival:
            found.append(SlotDifference(kind=placed.slot.kind, claim=placed.slot, evidence=rival.slot))
    return found


def _is_picked(mine: Placed, evidence: Reading) -> bool:
    """Whether the evidence is so short that it was picked for the claim, which says when in other words."""
    return mine.slot.kind in {"date", "time"} and 1 < len(evidence.topics) <= _FEW_SENTENCES


def _bears_out(evidence: Slot, claim: Slot) -> bool:
    return comparable(claim, evidence) and agree(claim, evidence)


def _miswritten(claim: Reading, mine: Placed, evidence: Reading, others: list[Placed]) -> Placed | None:
    """The one value with the figure in another unit, or the one date with another month or year."""
    near = [other for other in others if _is_near(mine.slot, other.slot)]
    if not near or any(other.slot.value != near[0].slot.value for other in near):
        return None
    return near[0] if _meet(claim, mine, evidence, near[0]) and not is_case(claim, mine, evidence, near[0]) else None


def _misplaced(
    claim: Reading, mine: Placed, slots: list[Placed], evidence: Reading, others: list[Placed]
) -> Placed | None:
    """The value in the same place, or the one beside another measure of the claim: "3.5 m high and 7.8 m wide"."""
    used = {
        other.first: other
        for other in others
        for placed in slots
        if placed is not mine and _bears_out(other.slot, placed.slot)
    }
    free = [other for other in others if other.first not in used and comparable(mine.slot, other.slot)]
    if not free or mine.slot.text.lower() == "one":
        return None
    score, _, rival = max((context_score(claim, mine, evidence, other), -other.first, other) for other in free)
    if score < _SAME_PLACE:
        beside = {evidence.t.sentence_of[i] for i, other in used.items() if other.slot.unit == mine.slot.unit}
        free = [other for other in free if evidence.t.sentence_of[other.first] in beside]
        if len(free) != 1 or mine.slot.unit not in MEASURES or mine.slot.bound:
            return None
        rival = free[0]
    return None if is_framed(claim, mine, evidence, rival) else rival


def _unheard_of(claim: Reading, mine: Placed, evidence: Reading, others: list[Placed]) -> Placed | None:
    """The value nearest in place to one that the evidence has in no form at all."""
    t = claim.t
    text = mine.slot.text.lower()
    if mine.slot.kind == "number" or text.startswith(_VAGUE) or t.words[mine.first - 1] in {"past", "than"}:
        return None
    if _is_bare_there(mine.slot, evidence) or _is_span(mine.slot, evidence):
        return None
    rivals = [other for other in others if comparable(mine.slot, other.slot)]
    if not rivals or any(is_framed(claim, mine, evidence, other) for other in rivals):
        return None
    if mine.slot.kind == "date" and any(_is_rest(claim, mine, evidence, other) for other in rivals):
        return None
    return max(rivals, key=lambda other: (context_score(claim, mine, evidence, other), -other.first))


def _is_rest(claim: Reading, mine: Placed, evidence: Reading, theirs: Placed) -> bool:
    """Whether the claim may speak of the days that the evidence leaves out: "closed on Mondays", "in other months"."""
    ours, others = (
        set(reading.t.words[slice(*reading.t.sentences[reading.t.sentence_of[placed.first]])])
        for reading, placed in ((claim, mine), (evidence, theirs))
    )
    return bool(others & _REST) or ours.isdisjoint(_SHUT) != others.isdisjoint(_SHUT)


def _is_span(slot: Slot, evidence: Reading) -> bool:
    """Whether a length of time lies between two dates of the evidence."""
    if slot.kind != "duration" or not isinstance(slot.value, Interval):
        return False
    dates = [placed.slot.value for placed in islice(evidence.placed, _MOST)]
    years = {date.year for date in dates if isinstance(date, CalendarDate) and date.year}
    return slot.unit == "month" and any(year + slot.value.low / 12 in years for year in years)


def _is_bare_there(slot: Slot, evidence: Reading) -> bool:
    """Whether the evidence has the figure without its unit."""
    digits = figure(slot)
    return any(
        other.slot.kind == "number" and other.slot.unit == "" and figure(other.slot) == digits
        for other in islice(evidence.placed, _MOST)
    )


def _meet(claim: Reading, mine: Placed, evidence: Reading, theirs: Placed) -> bool:
    """Whether the two sentences have anything in common; a date or an amount of money needs nothing."""
    if mine.slot.kind in {"date", "money"}:
        return True
    one, two = claim.t.sentence_of[mine.first], evidence.t.sentence_of[theirs.first]
    return bool((claim.topics[one] & evidence.topics[two]) - LIGHT_STEMS)


def _is_near(one: Slot, two: Slot) -> bool:
    if isinstance(one.value, CalendarDate) and isinstance(two.value, CalendarDate):
        return _shares_the_day(one.value, two.value)
    if one.kind == "number" and (one.unit != two.unit or one.unit not in MEASURES):
        return False
    if one.unit == two.unit and not set(one.value).isdisjoint(two.value):
        return False  # the same amount, if with another bound
    return figure(one) not in {"", "1"} and figure(one) == figure(two)


def _shares_the_day(one: CalendarDate, two: CalendarDate) -> bool:
    """Whether two dates have the same day of another month, or of another year."""
    if one.day is None or one.day != two.day or one.month is None or two.month is None:
        return False
    return one.month == two.month or one.year == two.year or None in (one.year, two.year)
