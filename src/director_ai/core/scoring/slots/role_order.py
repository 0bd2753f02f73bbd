"""Compares the order of two events: "Pay first, eat afterwards" for "Guests eat before they pay"."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.lexicon import NEGATIVE
from director_ai.core.scoring.slots.memory import kept
from director_ai.core.scoring.slots.role_clauses import is_denied
from director_ai.core.scoring.slots.role_nouns import is_name
from director_ai.core.scoring.slots.values import Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["compare_events"]

_LONGEST = 200  # no sentence is read further than this
_FEW = 2  # words that two orders may have in the same place: whose events they are
_SEMICOLONS = frozenset(";:")
_AND = frozenset({"and", "then", ","})
_CONJUNCTIONS = frozenset("before after once until".split())
_LATER = frozenset("then afterwards later after second next last".split())
_ORDERING = _CONJUNCTIONS | {"first", "then", "afterwards"}
_WHOSE = frozenset("the a its his her their".split())
_UNCLEAR = frozenset("if unless too".split())
_HARMLESS = frozenset("before until only over out off close closed closes closing outside away".split())
_Cut = tuple[int, int]


def compare_events(claim: Reading, sentence: int, evidence: Reading, numbers: list[int]) -> list[SlotDifference]:
    """Two events in the other order: "Pay first, eat afterwards" for "Guests eat before they pay"."""
    mine = _events(claim, sentence)
    if mine is None:
        return []
    for number in numbers:
        other = _events(evidence, number)
        if other is None:
            continue
        both = mine.earlier & mine.later | other.earlier & other.later
        straight = (mine.earlier & other.earlier | mine.later & other.later) - both
        if (mine.earlier & other.later) - both and (mine.later & other.earlier) - both and len(straight) <= _FEW:
            slots = [
                Slot("roles", *reading.t.span(order.at, order.at), "order")
                for reading, order in ((claim, mine), (evidence, other))
            ]
            return [SlotDifference(kind="roles", claim=slots[0], evidence=slots[1])]
    return []


class _Order(NamedTuple):
    """What comes first and what comes next, as stems."""

    earlier: frozenset[str]
    later: frozenset[str]
    at: int


@kept
def _events(reading: Reading, sentence: int) -> _Order | None:
    """The two events that a sentence puts in order, where it has just one word that does so."""
    t = reading.t
    first, end = t.sentences[sentence]
    end = min(end, first + _LONGEST)
    if _ORDERING.isdisjoint(t.words[first:end]):
        return None
    places = [i for i in range(first, end) if t.words[i] in _ORDERING and _puts_in_order(reading, i, first)]
    if not places:
        return None
    at = places[0]
    left = max((k + 1 for k in range(first, at) if t.words[k] in _SEMICOLONS), default=first)
    right = min((k for k in range(at, end) if t.words[k] in _SEMICOLONS), default=end)
    if not _UNCLEAR.isdisjoint(t.words[left:right]) or any(
        t.flags[k] & NEGATIVE and t.words[k] not in _HARMLESS and not is_denied(t, k, k + 1) for k in range(left, right)
    ):
        return None
    if is_denied(t, left, right) != (t.words[at] == "until"):
        return None
    if t.words[at] in _CONJUNCTIONS:
        cuts = None if sum(t.words[k] in _CONJUNCTIONS for k in places) > 1 else _cut_at_conjunction(t, at, left, right)
    else:
        cuts = _cut_at_adverb(t, at, left, right)
    if cuts is None:
        return None
    earlier, later = (frozenset(_event_words(t, *cut, first)) for cut in cuts)
    return _Order(earlier, later, at) if earlier and later else None


def _puts_in_order(reading: Reading, i: int, first: int) -> bool:
    """Whether a word such as "after" stands between two events, not before a value or as an adverb of its own."""
    t = reading.t
    if t.words[i + 1] == "which" or 1 in reading.taken[i + 1 : i + 4]:
        return False
    if t.words[i] == "once":
        return i == first or t.words[i - 1] in {",", "only"}
    return t.words[i] != "first" or t.words[i - 1] not in _WHOSE


def _cut_at_conjunction(t: Tokens, at: int, left: int, right: int) -> tuple[_Cut, _Cut] | None:
    one, two = (left, at), (at, right)
    if at == left:
        comma = next((k for k in range(at, right) if t.words[k] == ","), -1)
        if comma < 0:
            return None
        one, two = (comma, right), (at, comma)
    return (one, two) if t.words[at] == "before" else (two, one)


def _cut_at_adverb(t: Tokens, at: int, left: int, right: int) -> tuple[_Cut, _Cut] | None:
    """The events of "first A, then B" and of "A first and B afterwards"."""
    if t.words[at] == "first":
        cut = next((k for k in range(at + 1, right) if t.words[k] in _AND and k > left + 1), -1)
        if cut < 0 or _LATER.isdisjoint(t.words[cut:right]):
            return None
    else:
        cut = next((k for k in range(at, left, -1) if t.words[k] in _AND), -1)
    return None if cut < 0 else ((left, cut), (cut, right))


def _event_words(t: Tokens, left: int, right: int, first: int) -> Iterator[str]:
    for i in range(left, right):
        word = t.topics[i]
        if word and word not in LIGHT_STEMS and word not in _ORDERING and (i == first or not is_name(t, i)):
            yield word
