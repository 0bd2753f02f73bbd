"""Compares one sentence of a claim with the sentences of the evidence that speak of the same thing."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.agreement import MEASURES, agree, comparable
from director_ai.core.scoring.slots.alignment import Match, Topics, context_score
from director_ai.core.scoring.slots.contradiction import compare_names, compare_negations, compare_opposites
from director_ai.core.scoring.slots.units import UNITS
from director_ai.core.scoring.slots.values import CalendarDate, Interval, Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["compare_readings"]

VALUE_KINDS = frozenset({"number", "money", "percent", "duration", "date", "time"})
_SAME_PLACE = 2.5  # a context score that makes any two values rivals
MOST_SLOTS = 40  # of one sentence; what has more is a list, and comparing each with each would cost too much
_CANDIDATES = 24  # slots of the evidence that one of the claim is compared with


def compare_readings(claim: Reading, evidence: Reading) -> list[SlotDifference]:
    """The differences between two texts, in the order of the claim."""
    topics = Topics(evidence)
    found: list[SlotDifference] = []
    for sentence, topic in enumerate(claim.topics):
        if topics.states(claim, sentence):
            continue
        matches = topics.overlapping(topic)
        if matches:
            numbers = [match.sentence for match in matches]
            found += _compare_sentence(
                claim, sentence, evidence, numbers, _share(claim, sentence, evidence, matches[0])
            )
    return sorted(found, key=lambda difference: (difference.claim.start, difference.claim.end, difference.kind))


def _share(claim: Reading, sentence: int, evidence: Reading, best: Match) -> float:
    """How much of the claim's topic the best sentence has, its own slots left out where they are what may differ."""
    topic, other = claim.topics[sentence], evidence.topics[best.sentence]
    t = claim.t
    slot_words = {
        t.stems[i]
        for placed in claim.by_sentence.get(sentence, ())
        if placed.slot.kind in {"name", "antonym", "comparative"}
        for i in range(placed.first, placed.last + 1)
    }
    rest = topic - (slot_words - other) - LIGHT_STEMS
    return len(rest & other) / len(rest) if rest else max(best.share, 0.5)  # no topic to disagree about


def _compare_sentence(
    claim: Reading, sentence: int, evidence: Reading, numbers: list[int], share: float
) -> list[SlotDifference]:
    mine = claim.by_sentence.get(sentence, [])[:MOST_SLOTS]
    nearby = [placed for number in numbers for placed in evidence.by_sentence.get(number, ())[:MOST_SLOTS]]
    nearby = nearby[: 2 * MOST_SLOTS]
    values = [placed for placed in mine if placed.slot.kind in VALUE_KINDS]
    words = [placed for placed in mine if placed.slot.kind in {"quantifier", "comparative", "antonym"}]
    names = [placed for placed in mine if placed.slot.kind == "name"]
    found = compare_opposites(claim, words, evidence, nearby, share)
    turned = [difference.claim for difference in found]
    for difference in compare_negations(claim, sentence, evidence, numbers, share):
        span = difference.claim
        if not any(span.start <= other.start and other.end <= span.end for other in turned):
            found.append(difference)
    found += _compare_values(claim, values, evidence, nearby, share)
    found += compare_names(claim, names, evidence, nearby, share)
    return found


class _Rival(NamedTuple):
    """The slot of the evidence that stands where the claim's does."""

    slot: Slot
    score: float
    used: bool
    """Another slot of the claim equals it."""
    tied: bool
    """Another slot of the evidence has as good a claim to the place."""


def _compare_values(
    claim: Reading, slots: list[Placed], evidence: Reading, nearby: list[Placed], share: float
) -> list[SlotDifference]:
    """Differences in numbers, money, percentages, durations, dates and times."""
    values = _in_sterling([other for other in nearby if other.slot.kind in VALUE_KINDS], slots)
    slots = _in_sterling(slots, values)
    sorted_out = [_sort_out(slot, values) for slot in slots] if values else []
    used = {other.first for equal, _ in sorted_out for other in equal}
    found = []
    for placed, (equal, rivals) in zip(slots, sorted_out, strict=False):
        slot = placed.slot
        rival = _best(claim, placed, evidence, rivals, used)
        if rival is None and not equal:
            strangers = [other for other in values if other.first not in used and _is_stranger(slot, other.slot)]
            rival = _best(claim, placed, evidence, strangers, used)
            differs = rival is not None and rival.score >= _SAME_PLACE and share >= 0.5 and not evidence.has_value(slot)
        elif equal:
            own = _best(claim, placed, evidence, equal, set())
            loose = all("about" in (slot.bound, other.slot.bound) for other in equal)
            differs = bool(rival and own and _is_better(rival, own.score + (1.5 if loose else 2.5), share, least=0.7))
        else:
            differs = rival is not None and _differs(slot, rival, evidence, share, alone=len(rivals) == 1)
        if rival and differs:
            counterpart = None if rival.tied else rival.slot
            found.append(SlotDifference(kind=slot.kind, claim=slot, evidence=counterpart))
    return found


def _in_sterling(slots: list[Placed], others: list[Placed]) -> list[Placed]:
    """The slots, with pounds as money where the other side has sterling: the word alone does not say which it is."""
    if not any(other.slot.unit == "GBP" for other in others):
        return slots
    return [
        placed._replace(slot=_sterling(placed.slot)) if "pound" in placed.slot.text.lower() else placed
        for placed in slots
    ]


def _sterling(slot: Slot) -> Slot:
    if slot.unit != "g" or not isinstance(slot.value, Interval):
        return slot
    size = UNITS["pound"][1]
    return slot._replace(kind="money", unit="GBP", value=Interval(slot.value.low / size, slot.value.high / size))


def _is_stranger(slot: Slot, other: Slot) -> bool:
    """Whether the other is a value of another sort that may still stand in this one's place."""
    if comparable(slot, other) or "ordinal" in (slot.unit, other.unit):
        return False
    if {slot.kind, other.kind} == {"number", "time"} and _is_hour(slot, other):
        return False
    same_count = slot.kind == other.kind == "number" and slot.value == other.value
    return not same_count or slot.unit in MEASURES or other.unit in MEASURES


def _is_hour(one: Slot, two: Slot) -> bool:
    """Whether a bare number is the hour of the time: the 9 of "9 to 17" and "9 am"."""
    number, clock = (one, two) if one.kind == "number" else (two, one)
    halves = {int(minutes) % 720 for minutes in clock.value if isinstance(minutes, int)}
    return any(60 * hour % 720 in halves for hour in number.value if isinstance(hour, float))


def _sort_out(slot: Placed, values: list[Placed]) -> tuple[list[Placed], list[Placed]]:
    """The evidence's slots that bear this one out, and those that could but say something else."""
    candidates = [other for other in values if comparable(slot.slot, other.slot)][:_CANDIDATES]
    if isinstance(slot.slot.value, CalendarDate) and slot.slot.value.month is not None:
        exact = [other for other in candidates if isinstance(other.slot.value, CalendarDate) and other.slot.value.month]
        if any(agree(slot.slot, other.slot) for other in candidates):
            candidates = exact or candidates  # "5 March 2021" is not borne out by "2021" beside "5 May 2021"
    equal = [other for other in candidates if agree(slot.slot, other.slot)]
    return equal, [other for other in candidates if other not in equal]


def _is_better(rival: _Rival, score: float, share: float, *, least: float) -> bool:
    """Whether the rival's place speaks against a value that the evidence does have, but in another place."""
    free = not rival.used or (rival.score >= 4.5 and share >= 0.8)
    return free and rival.score >= score and share >= least


def _differs(slot: Slot, rival: _Rival, evidence: Reading, share: float, *, alone: bool) -> bool:
    """Whether the rival speaks against a value that the sentences near by do not have."""
    if evidence.has_value(slot):
        return _is_better(rival, _SAME_PLACE, share, least=0.6)
    if rival.used or slot.unit == "ordinal":
        return rival.score >= _SAME_PLACE
    if (slot.unit == "") != (rival.slot.unit == ""):  # a number of we do not know what
        return rival.score >= 1.5
    if alone and (slot.kind != "number" or slot.unit in MEASURES):
        share += 0.17  # nothing else could be meant
    return rival.score >= (0.7 if share > 0.2 else 1.7) or share >= 0.5


def _best(claim: Reading, slot: Placed, evidence: Reading, rivals: list[Placed], used: set[int]) -> _Rival | None:
    """The slot of the evidence in the most similar place; one that another claim slot equals comes last."""
    best: _Rival | None = None
    best_rank = -inf
    for rival in rivals[:_CANDIDATES]:
        score = context_score(claim, slot, evidence, rival)
        is_used = rival.first in used
        rank = score - 2.0 * is_used
        if rank > best_rank + 0.01:
            best, best_rank = _Rival(rival.slot, score, is_used, tied=False), rank
        elif rank > best_rank - 0.01 and best and not agree(best.slot, rival.slot):
            best = best._replace(tied=True)
    return best
