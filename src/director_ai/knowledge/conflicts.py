"""Facts that cannot both be right: two that say the same of different values, found by slots, without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from director_ai.core.evidence import Question
from director_ai.core.scoring.slots import compare_slots
from director_ai.knowledge.terms import terms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from director_ai.core.evidence import Fact
    from director_ai.core.scoring.slots import Slot
    from director_ai.knowledge.search import Search

__all__ = ["Conflict", "conflicts_of"]

NEIGHBORS = 4
NEAR = 0.5
"""Distance up to which two facts speak of the same thing."""
PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two facts, and the kind of value in which they differ. Identifiers only: what they say stays in the store."""

    key: str
    other: str
    other_tenant_id: str
    kinds: tuple[str, ...]


def conflicts_of(search: Search, tenant_id: str, keys: Iterable[str] | None) -> Iterator[Conflict]:
    """Yield the contradictions between a scope's facts and what can be read with them, each pair once."""
    at = search.tables.revision()
    reported: set[frozenset[tuple[str, str]]] = set()
    for fact in _all(search, tenant_id, at) if keys is None else _named(search, tenant_id, at, keys):
        for hit in search.find([Question(parts=(fact.text,))], NEIGHBORS, tenant_id, at):
            other = hit.stored.fact
            pair = frozenset({(tenant_id, fact.key), (other.tenant_id, other.key)})
            if len(pair) < 2 or hit.distance > NEAR or pair in reported:
                continue
            kinds = _differing(fact.text, other.text)
            if kinds:
                reported.add(pair)
                yield Conflict(key=fact.key, other=other.key, other_tenant_id=other.tenant_id, kinds=kinds)


def _differing(text: str, other: str) -> tuple[str, ...]:
    """Return the kinds of values in which two texts about the same thing differ; none if they are about two things.

    "The kettle costs 39 dollars" and "The iron costs 59 dollars" contradict nothing: beside what differs, each has a
    word that the other lacks. So do two shops with hours of their own: another name with another value is another
    subject.
    """
    differences = compare_slots(text, other)
    kinds = tuple(sorted({difference.kind for difference in differences}))
    if "name" in kinds and len(kinds) > 1:
        return ()
    rest = set(terms_of(_without(text, [each.claim for each in differences])))
    other_rest = set(terms_of(_without(other, [each.evidence for each in differences if each.evidence])))
    return () if rest - other_rest and other_rest - rest else kinds


def _without(text: str, slots: Iterable[Slot]) -> str:
    for slot in sorted(slots, key=lambda slot: -slot.start):
        text = f"{text[: slot.start]} {text[slot.end :]}"
    return text


def _all(search: Search, tenant_id: str, at: int) -> Iterator[Fact]:
    last = 0
    while page := search.tables.page(tenant_id, after=last, most=PAGE, at=at):
        yield from (stored.fact for stored in page)
        last = page[-1].id


def _named(search: Search, tenant_id: str, at: int, keys: Iterable[str]) -> Iterator[Fact]:
    for key in keys:
        for stored in search.tables.history(tenant_id, key):
            if stored.born <= at < stored.died:
                yield stored.fact
