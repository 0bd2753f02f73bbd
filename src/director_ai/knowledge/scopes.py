"""What search keeps of each tenant's facts between questions, so that a stream rarely asks the database."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from director_ai.knowledge.terms import index_terms, terms_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.knowledge.tables import FactTables, Numbers, Rows, StoredFact

__all__ = ["Held", "Living", "Scope", "Scopes"]

KEPT_SCOPES = 1_000
SMALL_SCOPE = 1_000
"""Facts up to which a scope is kept whole, with their text and an index."""
OFTEN = 8
"""Questions without a change between them from which on that is worth its while."""
KEPT_FACTS = 20_000
"""Of scopes that are kept whole, together: about 3 kB each."""


class Living(NamedTuple):
    """The facts of a scope that live at a revision, how many they are, and of how many words."""

    lives: np.ndarray
    facts: int
    words: int


class Held(NamedTuple):
    """A fact and the terms it is known by."""

    stored: StoredFact
    terms: frozenset[str]


class Scope:
    """A tenant's facts as search sees them, read when the knowledge base stood at a revision."""

    def __init__(self, tables: FactTables, name: str, read_at: int, changed: int) -> None:
        self.read_at, self.changed = read_at, changed
        self.rows: Rows = tables.rows(name)
        self._tables, self._name = tables, name
        self._living: tuple[int, Living] | None = None
        self._held: dict[int, Held] | None = None
        self._index: dict[str, Numbers] = {}
        self._asked = 0

    def _keep_whole(self) -> None:
        ids = [int(row) for row in self.rows.ids]
        held = {stored.id: _held(stored) for stored in self._tables.load(self._name, ids)} if ids else {}
        index: dict[str, list[int]] = {}
        for row in ids:
            for term in dict.fromkeys(index_terms(held[row].stored.fact.text)):
                index.setdefault(term, []).append(row)
        self._index = {term: np.asarray(rows, np.int64) for term, rows in index.items()}
        self._held = held

    @property
    def kept(self) -> int:
        """How many facts are kept whole."""
        return len(self._held or ())

    def living(self, at: int) -> Living:
        """Return which facts live at a revision; the last answer is kept, for a stream asks at the same one."""
        known = self._living
        if known is None or known[0] != at:
            lives = (self.rows.born <= at) & (self.rows.died > at)
            known = at, Living(lives, int(lives.sum()), int(self.rows.words[lives].sum()))
            self._living = known
        return known[1]

    def postings(self, terms: Sequence[str], most: int) -> dict[str, Numbers]:
        """Return the rows that hold each term, at most so many and one more; terms that nothing holds may lack."""
        if self._held is None:
            self._asked += 1
            if len(self.rows.ids) > SMALL_SCOPE or self._asked < OFTEN:
                return self._tables.postings(self._name, terms, most)
            self._keep_whole()
        index = self._index
        return {term: index[term] for term in terms if term in index}

    def load(self, ids: Sequence[int]) -> list[Held]:
        """Return the facts of these rows, in no order."""
        if self._held is None:
            return [_held(stored) for stored in self._tables.load(self._name, ids)]
        return [self._held[row] for row in ids if row in self._held]


class Scopes:
    """The scopes that were asked for last; one for any number of threads."""

    def __init__(self, tables: FactTables) -> None:
        self._tables = tables
        self._known: OrderedDict[str, Scope] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str, at: int) -> Scope:
        """Return a scope as of a revision or later: what was born or died since is told apart by its columns."""
        with self._lock:
            known = self._known.get(name)
            if known is not None:
                self._known.move_to_end(name)
        if known is not None and known.read_at >= at:
            return known
        present = self._tables.revision()
        changed = self._tables.changed(name)
        if known is not None and known.changed == changed:
            known.read_at = max(known.read_at, present)
            return known
        found = Scope(self._tables, name, present, changed)
        with self._lock:
            self._known[name] = found
            self._known.move_to_end(name)
            kept = sum(scope.kept for scope in self._known.values())
            while len(self._known) > KEPT_SCOPES or kept > KEPT_FACTS:
                kept -= self._known.popitem(last=False)[1].kept
        return found

    def forget(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._known.clear()


def _held(stored: StoredFact) -> Held:
    return Held(stored, frozenset(terms_of(stored.fact.text)))
