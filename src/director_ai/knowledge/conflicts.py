"""Facts that cannot both be right: two that say the same of different values, found by slots, without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from director_ai.core.evidence import Question
from director_ai.core.scoring.slots import compare_slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from director_ai.core.evidence import Fact
    from director_ai.knowledge.search import Search

__all__ = ["Conflict", "conflicts_of"]

NEIGHBORS = 4
NEAR = 0.35
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
        for hit in search.find([Question(text=fact.text)], NEIGHBORS, tenant_id, at):
            other = hit.stored.fact
            pair = frozenset({(tenant_id, fact.key), (other.tenant_id, other.key)})
            if len(pair) < 2 or hit.distance > NEAR or pair in reported:
                continue
            kinds = tuple(sorted({difference.kind for difference in compare_slots(fact.text, other.text)}))
            if kinds:
                reported.add(pair)
                yield Conflict(key=fact.key, other=other.key, other_tenant_id=other.tenant_id, kinds=kinds)


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
