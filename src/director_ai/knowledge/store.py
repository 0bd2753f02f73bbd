"""The knowledge base as callers see it: facts go in with their provenance, evidence comes out with its distance.

`GroundTruthStore` searches by words; `VectorGroundTruthStore` by words and meaning, and fuses the two. Both are one
implementation over tables (`FactTables`) in memory, in an SQLite file or in PostgreSQL.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any, Self

from director_ai.core.evidence import Question, questions_of
from director_ai.core.identifiers import check_identifier, utc_now
from director_ai.core.types import EvidenceChunk
from director_ai.errors import ConfigError
from director_ai.knowledge.conflicts import Conflict, conflicts_of
from director_ai.knowledge.entries import Entry, change_of, checked_count, checked_key, checked_query, in_batches
from director_ai.knowledge.search import Search, check_floor
from director_ai.knowledge.tables import Change, KnowledgeError, Loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from director_ai.core.evidence import Fact
    from director_ai.knowledge.embedding import Embedder
    from director_ai.knowledge.tables import FactTables, StoredFact

__all__ = ["GroundTruthStore", "KnowledgeView", "VectorGroundTruthStore"]

PAGE = 1_000


class KnowledgeView:
    """The knowledge base as it stood at one revision: what a stream reads, whatever changes meanwhile."""

    def __init__(self, search: Search, revision: int | None) -> None:
        self._search = search
        self._revision = revision

    @property
    def revision(self) -> int:
        """The number of the last change that is seen here."""
        return self._search.tables.revision() if self._revision is None else self._revision

    @property
    def is_quick(self) -> bool:
        """Whether a search only computes: no model is asked, and no database elsewhere."""
        return self._search.embedder is None and self._search.tables.is_local

    def retrieve_context(self, query: str, top_k: int = 3, tenant_id: str = "") -> str:
        """Return the relevant facts as lines of text, the most relevant first; empty when nothing is relevant."""
        return "\n".join(chunk.text for chunk in self.retrieve_context_with_chunks(query, top_k, tenant_id))

    def retrieve_context_with_chunks(self, query: str, top_k: int = 3, tenant_id: str = "") -> list[EvidenceChunk]:
        """Return the relevant facts, the most relevant first; an empty list when nothing is relevant."""
        return self._ask([Question(parts=(checked_query(query),))], top_k, tenant_id)

    def evidence_for(
        self,
        clause: str,
        *,
        prompt: str = "",
        preceding: Sequence[str] = (),
        top_k: int = 3,
        tenant_id: str = "",
        floor: float | None = None,
    ) -> list[EvidenceChunk]:
        """Return what bears on a clause, found with the prompt and the clauses before it as context.

        `floor` is the relevance that is asked for here, instead of the store's own: whoever judges the evidence
        anyway may want to see more.
        """
        check_floor(floor)
        if isinstance(preceding, str):
            raise ConfigError("preceding must be a list of clauses, got one text")
        asked = questions_of(
            checked_query(clause), prompt=checked_query(prompt), preceding=[checked_query(part) for part in preceding]
        )
        return self._ask(asked, top_k, tenant_id, floor)

    def facts(self, tenant_id: str = "") -> Iterator[Fact]:
        """Return a scope's own facts in the order they came: the shared ones, or one tenant's."""
        return self._pages(check_identifier("tenant_id", tenant_id), self.revision)

    def _pages(self, tenant_id: str, at: int) -> Iterator[Fact]:
        last = 0
        while page := self._search.tables.page(tenant_id, after=last, most=PAGE, at=at):
            yield from (stored.fact for stored in page)
            last = page[-1].id

    def get(self, key: str, tenant_id: str = "") -> Fact | None:
        """Return a scope's fact by its key."""
        at = self.revision
        for stored in self._versions(key, tenant_id):
            if stored.born <= at < stored.died:
                return stored.fact
        return None

    def _versions(self, key: str, tenant_id: str) -> list[StoredFact]:
        return self._search.tables.history(check_identifier("tenant_id", tenant_id), checked_key(key))

    def _ask(
        self, questions: Sequence[Question], top_k: int, tenant_id: str, floor: float | None = None
    ) -> list[EvidenceChunk]:
        tenant = check_identifier("tenant_id", tenant_id)
        found = self._search.find(questions, checked_count("top_k", top_k), tenant, self._revision, floor)
        return [EvidenceChunk(hit.stored.fact.text, hit.distance, hit.stored.fact.key) for hit in found]


class GroundTruthStore(KnowledgeView):
    """Facts found by their words: in memory, at a path in a file, at a `postgresql://` URL in a server."""

    def __init__(
        self,
        path_or_url: str | os.PathLike[str] = ":memory:",
        *,
        facts: Mapping[str, str] | None = None,
        floor: float | None = None,
    ) -> None:
        self._open(path_or_url, None, floor)
        if facts:
            self.add_many(facts)

    def _open(self, path_or_url: str | os.PathLike[str], embedder: Embedder | None, floor: float | None) -> None:
        self._embedder = embedder
        tables = open_tables(path_or_url, embedder.digest if embedder else "")
        super().__init__(Search(tables, embedder, floor), None)

    @property
    def tables(self) -> FactTables:
        """The database behind the store."""
        return self._search.tables

    def add(self, key: str, fact: str, tenant_id: str = "", *, source: str = "", added_by: str = "") -> Loaded:
        """Add a fact. The same fact again changes nothing; another fact under a known key is refused."""
        return self.add_many([Entry(key=key, text=fact, tenant_id=tenant_id, source=source, added_by=added_by)])

    def update(self, key: str, fact: str, tenant_id: str = "", *, source: str = "", added_by: str = "") -> Loaded:
        """Give a known key another fact; the one before stays as an earlier version."""
        known = self.get(key, tenant_id)
        if known is None:
            raise KnowledgeError("there is no fact under this key in this scope; add() makes one")
        place = {"source": source} if source else {"source": known.source, "start": known.start, "end": known.end}
        entry = Entry(key=key, text=fact, tenant_id=tenant_id, added_by=added_by, **place)
        return self.add_many([entry], replace=True)

    def remove(self, key: str, tenant_id: str = "") -> bool:
        """Remove a scope's own fact; False where there is none. Its versions stay as history."""
        return bool(self.add_many([], tenant_id, remove=[key]).removed)

    def add_many(
        self,
        facts: Mapping[str, str] | Iterable[Entry | tuple[str, str]],
        tenant_id: str = "",
        *,
        replace: bool = False,
        remove: Iterable[str] = (),
        dry_run: bool = False,
        added_by: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Add facts, all of them or none: whoever reads meanwhile sees the knowledge base as it was before.

        A key that stands for another fact is refused, or with `replace` gets a new version. The keys in `remove`
        end with the same stroke; they are asked for after the facts. `dry_run` says what would change and changes
        nothing. `progress` is told how many facts are ready to be stored.
        """
        scope = check_identifier("tenant_id", tenant_id)
        batches = in_batches(facts, scope, added_by)
        embedder = None if dry_run else self._embedder
        changes = itertools.chain(self._changes(batches, embedder, progress), _ends(remove, scope))
        return self.tables.apply(changes, now=utc_now(), replace=replace, dry_run=dry_run)

    def _changes(
        self, batches: Iterable[list[Entry]], embedder: Embedder | None, progress: Callable[[int], None] | None
    ) -> Iterator[Sequence[Change]]:
        done = 0
        for batch in batches:
            new = [entry for entry in batch if embedder and not self._is_known(entry)]
            vectors = (
                dict(zip(map(id, new), embedder.facts([entry.text for entry in new]), strict=True)) if embedder else {}
            )
            yield [change_of(entry, vectors.get(id(entry))) for entry in batch]
            done += len(batch)
            if progress:
                progress(done)

    def _is_known(self, entry: Entry) -> bool:
        """Whether this very text stands under the key now: then its vectors are there already."""
        known = self.get(entry.key, entry.tenant_id) if self.tables.changed(entry.tenant_id) else None
        return known is not None and known.text == entry.text and known.source == entry.source

    def at(self, revision: int | None = None) -> KnowledgeView:
        """Return the knowledge base as of a revision, by default the present one, to read from while it changes."""
        present = self.tables.revision()
        is_number = isinstance(revision, int) and not isinstance(revision, bool)
        if revision is not None and not (is_number and 0 <= revision <= present):
            raise ConfigError(f"revision must be a whole number from 0 to {present}")
        return KnowledgeView(self._search, present if revision is None else revision)

    def history(self, key: str, tenant_id: str = "") -> list[Fact]:
        """Return every version of a fact, the first one first."""
        return [stored.fact for stored in self._versions(key, tenant_id)]

    def conflicts(self, tenant_id: str = "", keys: Iterable[str] | None = None) -> Iterator[Conflict]:
        """Yield facts that contradict a neighbor in a number, date, name or negation; of these keys, or of all."""
        wanted = None if keys is None else [checked_key(key) for key in keys]
        return conflicts_of(self._search, check_identifier("tenant_id", tenant_id), wanted)

    def close(self) -> None:
        """Let go of the database. What was stored stays; a store in memory is gone."""
        self._search.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class VectorGroundTruthStore(GroundTruthStore):
    """Facts found by their words and by their meaning, with the bundled encoder or another."""

    def __init__(
        self,
        path_or_url: str | os.PathLike[str] = ":memory:",
        *,
        facts: Mapping[str, str] | None = None,
        floor: float | None = None,
        encoder: Any = None,
    ) -> None:
        from director_ai.knowledge.embedding import Embedder  # noqa: PLC0415 - loads the model's libraries

        self._open(path_or_url, Embedder(encoder), floor)
        self.embed_missing()
        if facts:
            self.add_many(facts)

    def embed_missing(self, progress: Callable[[int], None] | None = None) -> int:
        """Give vectors to facts that have none of this encoder: those added by words alone, or by an earlier model."""
        done = 0
        assert self._embedder is not None  # noqa: S101 - made in the constructor
        for tenant_id in self.tables.tenants():
            while missing := self.tables.without_vectors(tenant_id, PAGE):
                vectors = self._embedder.facts([stored.fact.text for stored in missing])
                self.tables.put_vectors(tenant_id, {s.id: v for s, v in zip(missing, vectors, strict=True)})
                done += len(missing)
                if progress:
                    progress(done)
        return done


def _ends(keys: Iterable[str], tenant_id: str) -> Iterator[Sequence[Change]]:
    yield [Change(tenant_id=tenant_id, key=checked_key(key), text=None) for key in keys]


def open_tables(path_or_url: str | os.PathLike[str], encoder: str) -> FactTables:
    """Return the tables that a path, a URL or `:memory:` names."""
    path_or_url = os.fspath(path_or_url) if isinstance(path_or_url, os.PathLike) else path_or_url
    if not isinstance(path_or_url, str) or not path_or_url.strip() or "\0" in path_or_url:
        raise ConfigError("a knowledge base is a path, a postgresql:// URL, or ':memory:'")
    if path_or_url.startswith(("postgresql://", "postgres://")):
        from director_ai.knowledge.postgres import PostgresTables  # noqa: PLC0415 - needs an optional part

        return PostgresTables(path_or_url, encoder)
    from director_ai.knowledge.sqlite import SqliteTables  # noqa: PLC0415 - keeps the import of the package light

    return SqliteTables(path_or_url, encoder)
