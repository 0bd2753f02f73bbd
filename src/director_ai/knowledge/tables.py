"""What a store needs of its database: rows of facts that live from one revision to another, their terms and vectors.

A change never overwrites: it ends one version of a fact and begins the next, under a new revision. Whoever reads at a
revision sees what lived at it, however the knowledge base changes meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from director_ai.errors import DirectorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from director_ai.core.evidence import Fact

    Vectors = NDArray[np.float32]
    Numbers = NDArray[np.int64]

__all__ = [
    "ALIVE",
    "LINGER_SECONDS",
    "Change",
    "DuplicateFact",
    "FactTables",
    "KnowledgeError",
    "Loaded",
    "Rows",
    "StoredFact",
]

ALIVE = 2**62
"""Stands for the revision at which a living fact ends."""
LINGER_SECONDS = 900
"""How long an ended version can still be found by a stream that began before it ended."""


class KnowledgeError(DirectorError):
    """The knowledge base cannot be read or written."""


class DuplicateFact(KnowledgeError, ValueError):
    """A key that already stands for another fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A fact to put, with what the index knows it by; without text, the key to remove."""

    tenant_id: str
    key: str
    text: str | None
    source: str = ""
    start: int | None = None
    end: int | None = None
    added_by: str = ""
    added_at: str = ""
    """Empty for now."""
    terms: tuple[str, ...] = ()
    vectors: Vectors | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a load did, or on a dry run would do."""

    added: tuple[str, ...]
    """Keys."""
    updated: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    revision: int


class Rows(NamedTuple):
    """The versions of a tenant's facts that search may have to know, as columns."""

    ids: Numbers
    """In rising order."""
    born: Numbers
    died: Numbers
    words: Numbers


class StoredFact(NamedTuple):
    """A version of a fact and its number in the database."""

    id: int
    fact: Fact
    born: int
    died: int


class FactTables(Protocol):
    """The database behind a store. Every method names its tenant, and reads or writes that tenant's rows alone."""

    is_local: bool
    """Whether an answer comes from this process, without a network in between."""

    def close(self) -> None: ...

    def revision(self) -> int:
        """Return the number of the last change to any fact."""
        ...

    def apply(self, changes: Iterator[Sequence[Change]], *, now: str, replace: bool, dry_run: bool) -> Loaded:
        """Make all changes at once or none; they come in batches so that a large load needs little memory."""
        ...

    def changed(self, tenant_id: str) -> int:
        """Return the revision of the tenant's last change; 0 where it has none."""
        ...

    def rows(self, tenant_id: str) -> Rows:
        """Return the versions of a tenant's facts that search may find."""
        ...

    def postings(self, tenant_id: str, terms: Sequence[str], most: int) -> dict[str, Numbers]:
        """Return for each term the rows that hold it, at most so many and one more."""
        ...

    def together(self, tenant_id: str, terms: Sequence[str], most: int) -> Numbers:
        """Return rows that hold all of the terms, at most so many."""
        ...

    def nearest(self, tenant_id: str, question: Vectors, most: int, at: int) -> list[tuple[int, float]]:
        """Return the rows nearest to a vector and their cosines, nearest first, of those that live at a revision."""
        ...

    def similarity(self, tenant_id: str, ids: Sequence[int], question: Vectors) -> dict[int, float]:
        """Return the cosine of each of these rows that has a vector."""
        ...

    def load(self, tenant_id: str, ids: Sequence[int]) -> list[StoredFact]:
        """Return the facts of these rows, in no order."""
        ...

    def page(self, tenant_id: str, *, after: int, most: int, at: int | None) -> list[StoredFact]:
        """Return the facts after a row, in the order they came: those that live at a revision, or all versions."""
        ...

    def history(self, tenant_id: str, key: str) -> list[StoredFact]:
        """Return every version of a fact, the first one first."""
        ...

    def without_vectors(self, tenant_id: str, most: int) -> list[StoredFact]:
        """Return living facts that have no vector of the present encoder."""
        ...

    def put_vectors(self, tenant_id: str, vectors: dict[int, Vectors]) -> None:
        """Store the vectors of rows, instead of those they had."""
        ...

    def tenants(self) -> list[str]:
        """Return the tenants that have or had facts, the shared scope as the empty name."""
        ...
