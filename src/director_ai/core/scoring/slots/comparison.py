"""Compares one sentence of a claim with the sentences of the evidence that speak of the same thing."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.agreement import MEASURES, agree, comparable
from director_ai.core.scoring.slots.alignment import Match, context_score, find_overlapping, has_verbatim
from director_ai.core.scoring.slots.contradiction import compare_negations, compare_opposites, is_near_verbatim
from director_ai.core.scoring.slots.framing import figure, is_framed
from director_ai.core.scoring.slots.name_comparison import compare_names
from director_ai.core.scoring.slots.name_places import find_misplaced
from director_ai.core.scoring.slots.slips import find_slips
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.units import UNITS
from director_ai.core.scoring.slots.values import CalendarDate, Interval, Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS, LIGHT_STEMS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["VALUE_KINDS", "compare_readings"]

VALUE_KINDS = frozenset({"number", "money", "percent", "duration", "date", "time"})
_FEW_WORDS = 2  # that a sentence must have beside its value to be known again
_SAME_PLACE = 2.5  # a context score that makes any two values rivals
_COMMON = frozenset(map(stem, "cost pay price fee charge".split()))
_RELATIVE = frozenset({"before", "after", "later", "earlier"})  # the date is reckoned from another
_FEW_SENTENCES = 12  # evidence that is longer speaks of too much for a stray value to tell
MOST_SLOTS = 40  # of one sentence; what has more is a list, and comparing each with each would cost too much
_CANDIDATES = 24  # slots of the evidence that one of the claim is compared with


def compare_readings(claim: Reading, evidence: Reading) -> list[SlotDifference]:
    """The differences between two texts, in the order of the claim."""
    found: list[SlotDifference] = []
    for sentence, topic in enumerate(claim.topics):
        if has_verbatim(evidence, claim, sentence):
            continue
        matches = find_overlapping(topic, evidence)
        differences = []
        if matches:
            numbers = [match.sentence for match in matches]
            differences = _compare_sentence(
                claim, sentence, evidence, numbers, _share(claim, sentence, evidence, matches[0])
            )
        differences = differences or find_misplaced(claim, sentence, evidence)
        values = [] if differences else _values(claim, sentence)
        if values:
            differences = find_slips(claim, values, evidence, on_topic=_is_on_topic(topic, evidence))
        found += differences
    return sorted(found, key=lambda difference: (difference.claim.start, difference.claim.end, difference.kind))


def _is_on_topic(topic: frozenset[str], evidence: Reading) -> bool:
    """Whether the evidence speaks of anything that the claim does, besides its price or its time."""
    rest = topic - LIGHT_STEMS - _COMMON
    return not rest or any(word[:4] in evidence.beginnings for word in rest)


def _values(claim: Reading, sentence: int) -> list[Placed]:
    slots = claim.by_sentence.get(sentence, ())[:MOST_SLOTS]
    return [placed for placed in slots if placed.slot.kind in VALUE_KINDS]


def _share(claim: Reading, sentence: int, evidence: Reading, best: Match) -> float:
    """How much of the claim's topic the best sentence has, its own slots left out where they are what may differ."""
    topic, other, stems = claim.topics[sentence], evidence.topics[best.sentence], claim.t.stems
    slot_words: set[str] = set()
    for placed in claim.by_sentence.get(sentence, ()):
        if placed.slot.kind in {"name", "antonym", "comparative"}:
            slot_words.update(stems[placed.first : placed.last + 1])
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
    rivals = _rival_values(claim, values, evidence, nearby, share)
    if rivals and any(slot.kind == "antonym" for slot in turned) and not is_near_verbatim(claim, mine[0].first, share):
        return []
    if not rivals:  # with another value, the contrary may be true
        for difference in compare_negations(claim, sentence, evidence, numbers, share):
            span = difference.claim
            if not any(span.start <= other.start and other.end <= span.end for other in turned):
                found.append(difference)
    for placed, rival in rivals:
        if not is_framed(claim, placed, evidence, rival.placed):
            counterpart = None if rival.tied else rival.placed.slot
            found.append(SlotDifference(kind=placed.slot.kind, claim=placed.slot, evidence=counterpart))
    return found + compare_names(claim, names, evidence, numbers, share)


class _Rival(NamedTuple):
    """The slot of the evidence that stands where the claim's does."""

    placed: Placed
    score: float
    used: bool
    """Another slot of the claim equals it."""
    tied: bool
    """Another slot of the evidence has as good a claim to the place."""


def _rival_values(
    claim: Reading, slots: list[Placed], evidence: Reading, nearby: list[Placed], share: float
) -> list[tuple[Placed, _Rival]]:
    """The numbers, money, percentages, durations, dates and times in whose place the evidence has others."""
    if not slots:
        return []
    values = _in_sterling([other for other in nearby if other.slot.kind in VALUE_KINDS], slots)
    slots = _in_sterling(slots, values)
    sorted_out = [_sort_out(slot, values) for slot in slots] if values else []
    used = {other.first for equal, _ in sorted_out for other in equal}
    found = []
    for placed, (equal, rivals) in zip(slots, sorted_out, strict=False):
        slot = placed.slot
        if not equal and (_has_both_ends(slot, evidence) or _is_elliptic(claim, placed, evidence, values)):
            continue
        rival = _best(claim, placed, evidence, rivals, used)
        if rival is None and equal:
            continue
        if rival is None:
            strangers = [other for other in values if other.first not in used and _is_stranger(slot, other.slot)]
            rival = _best(claim, placed, evidence, strangers, used)
            differs = rival is not None and rival.score >= _SAME_PLACE and share >= 0.5 and not evidence.has_value(slot)
            differs = differs and not any(_is_same_count(slot, other.slot) for other in values)
        elif equal:
            own = _best(claim, placed, evidence, equal, set())
            loose = all("about" in (slot.bound, other.slot.bound) for other in equal)
            differs = bool(rival and own and _is_better(rival, own.score + (1.5 if loose else 2.5), share, least=0.7))
            if differs and rival and own:
                differs = not _is_of_nearest(evidence, equal, rival.placed, values[0])
            elif rival and not rival.tied:
                differs = _says_all_but_the_value(claim, placed, evidence, rival.placed, equal)
        else:
            alone = len({other.slot.value for other in rivals}) == 1
            differs = rival is not None and _differs(slot, rival, evidence, share, alone=len(rivals) == 1)
            if rival and alone and not differs and not rival.used and slot.kind in {"date", "time"} and share >= 0.3:
                differs = _is_stray(claim, placed, evidence, rival.placed)
        if rival and differs:
            found.append((placed, rival))
    return found


def _is_of_nearest(evidence: Reading, equal: list[Placed], rival: Placed, nearest: Placed) -> bool:
    """Whether the claim's value is of the nearest sentence, and the rival of another."""
    sentence_of = evidence.t.sentence_of
    own = sentence_of[nearest.first]
    return sentence_of[rival.first] != own and any(sentence_of[each.first] == own for each in equal)


def _is_stray(claim: Reading, mine: Placed, evidence: Reading, rival: Placed) -> bool:
    """Whether the evidence has the claim's value only where it speaks of nothing else that the claim does."""
    first, end = claim.t.sentences[claim.t.sentence_of[mine.first]]
    if len(evidence.topics) > _FEW_SENTENCES or not _RELATIVE.isdisjoint(claim.t.words[first:end]):
        return False
    topic = claim.topics[claim.t.sentence_of[mine.first]] - LIGHT_STEMS
    places = {
        evidence.t.sentence_of[other.first]
        for other in evidence.placed[: 4 * MOST_SLOTS]
        if comparable(mine.slot, other.slot) and agree(mine.slot, other.slot)
    }
    return not topic.isdisjoint(evidence.topics[evidence.t.sentence_of[rival.first]]) and all(
        topic.isdisjoint(evidence.topics[place]) for place in places
    )


def _is_elliptic(claim: Reading, mine: Placed, evidence: Reading, values: list[Placed]) -> bool:
    """Whether only one side says what is counted: "ointments keep for six" beside "6 weeks"."""
    slot, digits = mine.slot, figure(mine.slot)
    if digits in {"", "1"} or slot.unit == "ordinal" or slot.kind in {"date", "time"}:
        return False
    return any(
        figure(other.slot) == digits
        and other.slot.unit != "ordinal"
        and other.slot.kind not in {"date", "time"}
        and _stands_alone(claim, mine) != _stands_alone(evidence, other)
        for other in values
    )


def _stands_alone(reading: Reading, placed: Placed) -> bool:
    """Whether a number has neither a unit nor a noun of its own."""
    after = reading.t.words[placed.last + 1]
    is_bare = not after.isalpha() or after in FUNCTION_WORDS or placed.slot.text.endswith("more")
    return placed.slot.unit == "" and placed.slot.kind == "number" and is_bare


def _has_both_ends(slot: Slot, evidence: Reading) -> bool:
    """Whether the evidence has the ends of a range apart: "from GBP 88 million in 2022 to GBP 97 million"."""
    if not isinstance(slot.value, Interval) or slot.value.low >= slot.value.high or slot.bound:
        return False
    return all(evidence.has_value(slot._replace(value=Interval(end, end))) for end in slot.value)


def _says_all_but_the_value(
    claim: Reading, mine: Placed, evidence: Reading, rival: Placed, equal: list[Placed]
) -> bool:
    """Whether the rival's sentence has every word of the claim's, and none with the claim's own value does.

    "Geneva opens at 9:15" beside "Geneva opens at 8:15. Zurich opens at 9:15." gives one what belongs to the other.
    """
    wanted = claim.topics[claim.t.sentence_of[mine.first]]

    def has_all(placed: Placed) -> bool:
        return wanted <= evidence.topics[evidence.t.sentence_of[placed.first]]

    return len(wanted) >= _FEW_WORDS and has_all(rival) and not any(has_all(other) for other in equal)


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


def _is_same_count(one: Slot, two: Slot) -> bool:
    """Whether the two count as many, if not of the same: "five PINs" and "five entries"."""
    return one.kind == two.kind == "number" and one.value == two.value and not {one.unit, two.unit} & MEASURES


def _is_stranger(slot: Slot, other: Slot) -> bool:
    """Whether the other is a value of another sort that may still stand in this one's place."""
    if comparable(slot, other) or "ordinal" in (slot.unit, other.unit) or slot.text.lower() == "one":
        return False
    kinds = {slot.kind, other.kind}
    if kinds == {"number", "time"} and _is_hour(slot, other):
        return False
    if kinds == {"number", "duration"} and _is_age(slot, other):
        return False
    same_count = slot.kind == other.kind == "number" and slot.value == other.value
    return not same_count or slot.unit in MEASURES or other.unit in MEASURES


def _is_hour(one: Slot, two: Slot) -> bool:
    """Whether a bare number is the hour of the time: the 9 of "9 to 17" and "9 am"."""
    number, clock = (one, two) if one.kind == "number" else (two, one)
    halves = {int(minutes) % 720 for minutes in clock.value if isinstance(minutes, int)}
    return any(60 * hour % 720 in halves for hour in number.value if isinstance(hour, float))


def _is_age(one: Slot, two: Slot) -> bool:
    """Whether a bare number is the years of the length: the 21 of "21 or older" and "at least 21 years"."""
    number, length = (one, two) if one.kind == "number" else (two, one)
    if not (isinstance(number.value, Interval) and isinstance(length.value, Interval)) or length.unit != "month":
        return False
    return number.unit == "" and any(
        12 * years == months for years, months in zip(number.value, length.value, strict=True)
    )


def _sort_out(slot: Placed, values: list[Placed]) -> tuple[list[Placed], list[Placed]]:
    """The evidence's slots that bear this one out, and those that could but say something else."""
    candidates = [other for other in values if comparable(slot.slot, other.slot)][:_CANDIDATES]
    if isinstance(slot.slot.value, CalendarDate) and slot.slot.value.month is not None:
        exact = [other for other in candidates if isinstance(other.slot.value, CalendarDate) and other.slot.value.month]
        if any(agree(slot.slot, other.slot) for other in candidates):
            candidates = exact or candidates  # "5 March 2021" is not borne out by "2021" beside "5 May 2021"
    equal: list[Placed] = []
    rivals: list[Placed] = []
    for other in candidates:
        (equal if agree(slot.slot, other.slot) else rivals).append(other)
    return equal, rivals


def _is_better(rival: _Rival, score: float, share: float, *, least: float) -> bool:
    """Whether the rival's place speaks against a value that the evidence does have, but in another place."""
    free = not rival.used or (rival.score >= 4.5 and share >= 0.8)
    return free and rival.score >= score and share >= least


def _differs(slot: Slot, rival: _Rival, evidence: Reading, share: float, *, alone: bool) -> bool:
    """Whether the rival speaks against a value that the sentences near by do not have."""
    if evidence.has_value(slot):
        return _is_better(rival, _SAME_PLACE, share, least=0.6)
    if slot.text.lower() == "one" and slot.unit != rival.placed.slot.unit:
        return False  # an article rather than a number
    if rival.used or slot.unit == "ordinal":
        return rival.score >= _SAME_PLACE
    if (slot.unit == "") != (rival.placed.slot.unit == ""):  # a number of we do not know what
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
            best, best_rank = _Rival(rival, score, is_used, tied=False), rank
        elif rank > best_rank - 0.01 and best and not agree(best.placed.slot, rival.slot):
            best = best._replace(tied=True)
    return best
