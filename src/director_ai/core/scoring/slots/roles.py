"""Finds statements whose two sides are exchanged: "The tenant pays the landlord" for "The landlord pays the tenant".

A clause is read as a relation: a verb or a noun, and who stands in which of its places. A passive is turned round, and
words for one event seen from either side (buy and sell) are read as one. Only where each side of the claim stands in
the place of the other is there a difference: one side alone may well be another event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.memory import kept
from director_ai.core.scoring.slots.role_clauses import ORDERS, Clause, may_be_verb, read_clauses
from director_ai.core.scoring.slots.role_order import compare_events
from director_ai.core.scoring.slots.role_words import RELATIONS, TRANSFERS
from director_ai.core.scoring.slots.values import Slot, SlotDifference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.scoring.slots.role_nouns import Noun
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["compare_roles", "tell_same_event"]

_LONGEST = 200  # no sentence is read further than this
_SENTENCES = 30  # of the evidence, that may say after all what the claim does
_FEWEST = 2  # words that both texts must have: one for each side
_TRADE = "trade"


def _group(kind: str) -> str:
    return "transfer" if kind in TRANSFERS else kind


def _find_rivals() -> dict[str, frozenset[str]]:
    members: dict[str, set[str]] = {}
    for root, relations in RELATIONS.items():
        for relation in relations:
            members.setdefault(_group(relation.kind), set()).add(root)
    return {
        root: frozenset().union(*[members[_group(relation.kind)] for relation in relations])
        for root, relations in RELATIONS.items()
    }


_RIVALS = _find_rivals()
"""Stem -> the stems of words for the same event."""
_RIVALS.update(dict.fromkeys(ORDERS, ORDERS))
_RIVALS["from"] = frozenset({"from"})


def compare_roles(claim: Reading, sentence: int, evidence: Reading, numbers: list[int]) -> list[SlotDifference]:
    """The relation whose sides the claim has exchanged, if any."""
    topic = claim.topics[sentence]
    common = [number for number in numbers if len(topic & evidence.topics[number]) > 1]
    if not common:
        return []
    nearby = [_stems(evidence, number) for number in common]
    shared = frozenset[str]().union(*[topic & stems for stems in nearby])
    if len(shared) < _FEWEST:
        return []
    t = claim.t
    first, end = t.sentences[sentence]
    end = min(end, first + _LONGEST)
    places = [i for i in range(first, end) if t.stems[i] in shared]
    for i in range(places[0] + 1, places[-1]) if places else ():
        root = t.stems[i]
        if root in _RIVALS:
            rivals = _RIVALS[root]
        elif root in shared and len(shared) > _FEWEST and may_be_verb(t, i):
            rivals = frozenset({root})
        else:
            continue
        if not any(_has_two_sides(evidence, number, root) for number in common):
            continue
        for mine in read_clauses(t, i, first, end):
            found = _find_exchanged(mine, evidence, common, rivals) if _may_differ(mine, nearby) else None
            if found:
                return [SlotDifference(kind="roles", claim=_slot(t, mine), evidence=_slot(evidence.t, found))]
    return compare_events(claim, sentence, evidence, common)


@kept
def _stems(evidence: Reading, number: int) -> frozenset[str]:
    """Every stem of a sentence, and of the one before: a pronoun may stand for what that begins with."""
    t = evidence.t
    first, end = t.sentences[max(0, number - 1)][0], t.sentences[number][1]
    return frozenset(t.stems[first : min(end, first + 2 * _LONGEST)])


@kept
def _has_two_sides(evidence: Reading, number: int, root: str) -> bool:
    """Whether a sentence tells of two in an event for which `root` is one of the words."""
    rivals = _RIVALS.get(root, {root})
    places = range(*evidence.t.sentences[number])[:_LONGEST]
    return any(
        len(clause.parts) > 1 for i in places if evidence.t.stems[i] in rivals for clause in _clauses(evidence, i)
    )


def _may_differ(mine: Clause, nearby: list[frozenset[str]]) -> bool:
    """Whether the evidence has words of at least two sides."""
    return sum(any(not noun.words.isdisjoint(stems) for stems in nearby) for noun in mine.parts.values()) > 1


def _find_exchanged(mine: Clause, evidence: Reading, numbers: list[int], rivals: frozenset[str]) -> Clause | None:
    """The evidence's clause with the sides exchanged, unless another has, or may have, them as the claim does."""
    others = _read_rivals(mine, evidence, numbers, rivals)
    found = next(
        (other for other in others if _has_same_thing(mine, other, evidence) and _is_exchanged(mine, other)), None
    )
    if found is None:
        return None
    near = [other for other in others if not _is_of_another_thing(mine, other, found)]
    if any(_is_straight(mine, other) or _may_be_straight(mine, other) for other in near):
        return None
    elsewhere = [number for number in range(min(len(evidence.t.sentences), _SENTENCES)) if number not in numbers]
    return (
        None if any(_is_straight(mine, other) for other in _read_rivals(mine, evidence, elsewhere, rivals)) else found
    )


def _read_rivals(mine: Clause, evidence: Reading, numbers: list[int], rivals: frozenset[str]) -> list[Clause]:
    """The clauses of some sentences that tell of the same sort of event."""
    t, found, group = evidence.t, [], _group(mine.kind)
    is_listed = mine.word in _RIVALS or mine.kind not in rivals
    for number in numbers:
        first, end = t.sentences[number]
        if rivals.isdisjoint(t.stems[first:end]):
            continue
        for i in range(first, min(end, first + _LONGEST)):
            if t.stems[i] in rivals and (is_listed or may_be_verb(t, i)):
                found += [other for other in _clauses(evidence, i) if _group(other.kind) == group]
    return found


@kept
def _clauses(evidence: Reading, i: int) -> list[Clause]:
    """What token `i` says of two."""
    t = evidence.t
    first, end = t.sentences[t.sentence_of[i]]
    return list(read_clauses(t, i, first, min(end, first + _LONGEST)))


def tell_same_event(claim: Tokens, i: int, evidence: Tokens, k: int) -> bool:
    """Whether two words tell one event from either side: "C purchased B" and "A sold B to C"."""
    if _RIVALS.get(claim.stems[i], frozenset()).isdisjoint({evidence.stems[k]}):
        return False
    theirs = list(read_clauses(evidence, k, *evidence.sentences[evidence.sentence_of[k]]))
    return any(
        mine.kind == other.kind and _is_straight(mine, other)
        for mine in read_clauses(claim, i, *claim.sentences[claim.sentence_of[i]])
        for other in theirs
    )


def _slot(t: Tokens, clause: Clause) -> Slot:
    start, end, text = t.span(clause.at, clause.at)
    return Slot(kind="roles", start=start, end=end, text=text, value=clause.kind)


def _pairs(mine: Clause, other: Clause) -> Iterator[tuple[Noun, Noun, Noun, Noun]]:
    """Two parts of the claim's relation, then the same two of the evidence's."""
    parts = [part for part in mine.parts if part in other.parts]
    for k, one in enumerate(parts):
        for two in parts[k + 1 :]:
            yield mine.parts[one], mine.parts[two], other.parts[one], other.parts[two]


def _is_straight(mine: Clause, other: Clause) -> bool:
    """Whether the evidence has the same two sides in the same places."""
    return any(a.heads & c.words - b.words and b.heads & d.words - a.words for a, b, c, d in _pairs(mine, other))


def _may_be_straight(mine: Clause, other: Clause) -> bool:
    """Whether the evidence has one side in its place, and leaves out the other: "and lost to him in 2023"."""
    if len(other.parts) > 1:
        return False
    return any(part in mine.parts and mine.parts[part].heads & noun.words for part, noun in other.parts.items())


def _is_exchanged(mine: Clause, other: Clause) -> bool:
    """Whether two sides of the claim stand each in the other's place; words that both have tell nothing."""
    for a, b, c, d in _pairs(mine, other):
        both = a.words & b.words
        if (
            (a.heads & d.words | a.words & d.heads) - both
            and (b.heads & c.words | b.words & c.heads) - both
            and not (a.words & c.words) - both
            and not (b.words & d.words) - both
        ):
            return True
    return False


def _has_same_thing(mine: Clause, other: Clause, evidence: Reading) -> bool:
    """Whether two words may be of one event: what is sold is what was bought, under whatever name."""
    one, two = _thing(mine), _thing(other)
    if not (one and two):
        return mine.kind == other.kind or "give" in (mine.kind, other.kind)
    if _are_one(one, two) or (mine.kind == other.kind == _TRADE and _are_traded(mine, other)):
        return True
    return mine.kind == other.kind == _TRADE and one.words.isdisjoint(evidence.t.stems)


def _are_one(one: Noun, two: Noun) -> bool:
    return not (one.heads.isdisjoint(two.words) and two.heads.isdisjoint(one.words))


def _are_traded(mine: Clause, other: Clause) -> bool:
    """Whether who buys in one is what is bought in the other, both ways: companies take over one another."""
    a, b, c, d = mine.parts.get("dst"), _thing(mine), other.parts.get("dst"), _thing(other)
    return bool(a and b and c and d and a.heads & d.words and b.heads & c.words)


def _is_of_another_thing(mine: Clause, other: Clause, found: Clause) -> bool:
    """Whether a clause tells of something else than the claim and the exchanged clause do, both of the same."""
    one, two, both = _thing(mine), _thing(other), _thing(found)
    return bool(one and two and both and _are_one(one, both) and not _are_one(one, two))


def _thing(clause: Clause) -> Noun | None:
    """What changes hands, where it is not whom it goes to."""
    thing = clause.parts.get("thing")
    return None if thing is clause.parts.get("dst") else thing
