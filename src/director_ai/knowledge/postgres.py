"""The tables in PostgreSQL: terms in a B-tree, vectors by pgvector, every statement under row-level security."""

# ruff: noqa: S608 - the statements are put together from our own words; every value is a parameter

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from director_ai.core.evidence import Fact
from director_ai.errors import ConfigError
from director_ai.knowledge import postgres_schema as schema
from director_ai.knowledge.postgres_pool import Pool
from director_ai.knowledge.postgres_schema import OWN
from director_ai.knowledge.postgres_stage import clear_stage, stage_changes, stage_vectors
from director_ai.knowledge.tables import ALIVE, LINGER_SECONDS, DuplicateFact, KnowledgeError, Loaded, Rows, StoredFact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from director_ai.knowledge.postgres_pool import Connection
    from director_ai.knowledge.tables import Change, Numbers, Vectors

__all__ = ["PostgresTables"]

GRAPH_FROM = 10_000
"""Vectors of a tenant. Up to here all are compared, in some milliseconds; a larger tenant gets an HNSW graph."""
GRAPH_MEMORY = "512MB"
MOST_JOINED = 6
"""Terms whose lists are merged; a plan for many takes longer than it saves, so the rest is looked up row by row."""
FIELDS = "id, key, text, source, start, stop, version, added_at, added_by, born, died"
ENTER = "SELECT set_config('director_ai.tenant', %s, true), set_config('role', %s, true)"
LOOK_UP = "SELECT number, changed, graph, name FROM director_ai.tenant WHERE folded = %s"

_log = logging.getLogger(__name__)


class PostgresTables:
    """A database that many threads, processes and machines read and write."""

    is_local = False

    def __init__(self, url: str, encoder: str) -> None:
        self._encoder = encoder
        self._inherited: list[Pool] = []
        self._pool = Pool(url)
        self._pool.prepare()

    def close(self) -> None:
        self._pool.closed = True
        self._pool.forget()

    def revision(self) -> int:
        return int(self._read("", "SELECT value FROM director_ai.about WHERE name = 'revision'", [])[0][0])

    def apply(self, changes: Iterator[Sequence[Change]], *, now: str, replace: bool, dry_run: bool) -> Loaded:
        with self._lent() as connection:
            count = stage_changes(connection, changes)
            with self._changing(connection, dry_run=dry_run):
                load = _Load(self, connection, now, replace=replace)
                loaded = load.run(count)
            clear_stage(connection)
        if not dry_run:
            for tenant_id in load.with_vectors:
                self._provide_graph(tenant_id)
        return loaded

    def changed(self, tenant_id: str) -> int:
        with self._lent() as connection:
            with connection.pipeline():
                connection.execute("BEGIN READ ONLY")
                known = self._enter(connection, tenant_id)
                connection.execute("COMMIT")
            return _known(known.fetchone(), tenant_id)[1]

    def rows(self, tenant_id: str) -> Rows:
        columns = ", ".join(f"string_agg(int8send({name}), '' ORDER BY id)" for name in ("id", "born", "died", "words"))
        query = f"SELECT {columns} FROM director_ai.fact WHERE {OWN} AND terms IS NOT NULL"
        found = self._read(
            tenant_id, query, []
        )  # a column as one value: numbers one by one would take ten times as long
        return Rows(*(np.frombuffer(column or b"", ">i8").astype(np.int64) for column in found[0]))

    def postings(self, tenant_id: str, terms: Sequence[str], most: int) -> dict[str, Numbers]:
        found = self._read(
            tenant_id,
            "SELECT term, ARRAY(SELECT fact FROM director_ai.posting"
            f" WHERE {OWN} AND posting.term = asked.term ORDER BY fact LIMIT %s::bigint)"
            ' FROM unnest(%s::text[] COLLATE "C") AS asked (term)',
            [most + 1, list(dict.fromkeys(terms))],
        )
        return {term: np.asarray(rows, np.int64) for term, rows in found}

    def together(self, tenant_id: str, terms: Sequence[str], most: int) -> Numbers:
        asked = list(dict.fromkeys(terms))
        query, values = f"SELECT fact FROM director_ai.posting AS held WHERE {OWN} AND term = %s", list[Any](asked[:1])
        for term in asked[1:MOST_JOINED]:
            query += f" AND EXISTS (SELECT 1 FROM director_ai.posting WHERE {OWN} AND term = %s AND fact = held.fact)"
            values.append(term)
        if len(asked) > MOST_JOINED:
            query += (
                f" AND (SELECT count(*) FROM director_ai.posting WHERE {OWN} AND term = ANY (%s::text[])"
                " AND fact = held.fact) = %s::bigint"
            )
            values += [asked[MOST_JOINED:], len(asked) - MOST_JOINED]
        found = self._read(tenant_id, f"{query} ORDER BY fact LIMIT %s::bigint", [*values, most])
        return np.asarray([row for (row,) in found], np.int64)

    def nearest(self, tenant_id: str, question: Vectors, most: int, at: int) -> list[tuple[int, float]]:
        wanted = 4 * most  # a long fact has several vectors
        with self._lent() as connection, connection.pipeline(), connection.transaction():
            number, _, graph = self._tenant(connection, tenant_id)
            found: list[tuple[int, float]] = []
            if number and graph == self._encoder:
                connection.execute(
                    "SELECT set_config('hnsw.iterative_scan', 'strict_order', true),"
                    " set_config('hnsw.ef_search', %s, true), set_config('enable_sort', 'off', true)",
                    [str(min(max(wanted, 40), 1000))],
                )
                found = self._near(
                    connection, question, wanted, at, f"tenant = {number}", "value <#> %(question)s::vector::halfvec"
                )
            if number and len(found) < wanted:  # the sum stands in no index, so all are compared
                found = self._near(
                    connection, question, wanted, at, "true", "(value <#> %(question)s::vector::halfvec) + 0, fact"
                )
        best: dict[int, float] = {}
        for row, cosine in found:
            best.setdefault(row, cosine)
        return list(best.items())[:most]

    def similarity(self, tenant_id: str, ids: Sequence[int], question: Vectors) -> dict[int, float]:
        found = self._read(
            tenant_id,
            "SELECT fact, max(-(value::vector <#> %s::vector)) FROM director_ai.vector"
            f" WHERE {OWN} AND fact = ANY (%s::bigint[]) AND encoder = %s GROUP BY fact",
            [_written(question), [int(row) for row in ids], self._encoder],
        )
        return dict(found)

    def load(self, tenant_id: str, ids: Sequence[int]) -> list[StoredFact]:
        return self._facts(tenant_id, "id = ANY (%s::bigint[])", [[int(row) for row in ids]])

    def page(self, tenant_id: str, *, after: int, most: int, at: int | None) -> list[StoredFact]:
        lives, values = ("true", []) if at is None else ("born <= %s::bigint AND died > %s::bigint", [at, at])
        return self._facts(
            tenant_id, f"id > %s::bigint AND {lives} ORDER BY id LIMIT %s::bigint", [after, *values, most]
        )

    def history(self, tenant_id: str, key: str) -> list[StoredFact]:
        return self._facts(tenant_id, "key = %s ORDER BY version", [key])

    def without_vectors(self, tenant_id: str, most: int) -> list[StoredFact]:
        return self._facts(
            tenant_id,
            f"died = {ALIVE} AND NOT EXISTS (SELECT 1 FROM director_ai.vector"
            f" WHERE vector.{OWN} AND vector.fact = fact.id AND encoder = %s) ORDER BY id LIMIT %s::bigint",
            [self._encoder, most],
        )

    def put_vectors(self, tenant_id: str, vectors: dict[int, Vectors]) -> None:
        with self._lent() as connection:
            stage_vectors(connection, vectors)
            with self._changing(connection):
                self._tenant(connection, tenant_id)
                connection.execute(schema.FORGET_VECTORS, {"ids": list(vectors)})
                connection.execute(schema.REPLACE_VECTORS, {"encoder": self._encoder})
            clear_stage(connection)
        self._provide_graph(tenant_id)

    def tenants(self) -> list[str]:
        with self._lent() as connection, connection.transaction():
            self._enter(connection, "")
            connection.execute("SELECT set_config('director_ai.listing', 'on', true)")
            found = connection.execute("SELECT name FROM director_ai.tenant").fetchall()
        return sorted(("" if name == schema.SHARED else name for (name,) in found), key=str.lower)

    def _lent(self) -> contextlib.AbstractContextManager[Connection]:
        if self._pool.process != os.getpid():
            self._inherited.append(self._pool)  # kept, so that nothing closes what is the parent's
            self._pool = self._pool.after_fork()
        return self._pool.lend()

    def _enter(self, connection: Connection, tenant_id: str) -> Any:
        """Show the running transaction one tenant's rows alone; return the cursor that says what is known of it."""
        name = tenant_id or schema.SHARED
        connection.execute(ENTER, [name, self._pool.role])
        return connection.execute(LOOK_UP, [name.lower()])

    def _tenant(self, connection: Connection, tenant_id: str) -> tuple[int, int, str]:
        """Enter a tenant; return its number, the revision of its last change and the encoder of its graph."""
        return _known(self._enter(connection, tenant_id).fetchone(), tenant_id)

    def _read(self, tenant_id: str, query: str, values: list[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of one query, for one round trip to the server."""
        with self._lent() as connection:
            with connection.pipeline():
                connection.execute("BEGIN READ ONLY")
                known = self._enter(connection, tenant_id)
                found = connection.execute(query, values, binary=True)
                connection.execute("COMMIT")
            _known(known.fetchone(), tenant_id)
            return found.fetchall()

    def _facts(self, tenant_id: str, where: str, values: list[Any]) -> list[StoredFact]:
        found = self._read(tenant_id, f"SELECT {FIELDS} FROM director_ai.fact WHERE {OWN} AND {where}", values)
        return [
            StoredFact(
                row,
                Fact(
                    key=key, text=text, tenant_id=tenant_id, source=source, start=start, end=end, version=version,
                    added_at=added_at, added_by=added_by,
                ),
                born,
                died,
            )
            for row, key, text, source, start, end, version, added_at, added_by, born, died in found
        ]  # fmt: skip

    def _near(
        self, connection: Connection, question: Vectors, wanted: int, at: int, scope: str, order: str
    ) -> list[tuple[int, float]]:
        """Return the nearest vectors in an order of half precision, and how near each is in full."""
        return connection.execute(
            "SELECT fact, -(value::vector <#> %(question)s::vector) FROM (SELECT fact, value FROM director_ai.vector"
            f" WHERE {OWN} AND {scope} AND encoder = %(encoder)s AND born <= %(at)s::bigint AND died > %(at)s::bigint"
            f" ORDER BY {order} LIMIT %(wanted)s::bigint) AS near ORDER BY 2 DESC, 1",
            {"question": _written(question), "encoder": self._encoder, "at": at, "wanted": wanted},
            binary=True,
            prepare=False,  # a plan for these very values: a general one cannot know whose graph it may use
        ).fetchall()

    @contextlib.contextmanager
    def _changing(self, connection: Connection, *, dry_run: bool = False) -> Iterator[None]:
        """Hold the lock of those who change something until all of it is committed, or on a dry run undone."""
        with connection.transaction(force_rollback=dry_run):
            connection.execute(
                "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', %s, true)",
                [f"{schema.WAIT_SECONDS}s"],
            )
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [schema.LOCK])
            yield

    def _provide_graph(self, tenant_id: str) -> None:
        """Build the graph of a tenant that became large; without one its vectors are compared one by one."""
        try:
            with self._lent() as connection:
                with connection.transaction():
                    number, _, old = self._tenant(connection, tenant_id)
                    if old == self._encoder or self._count(connection) < GRAPH_FROM:
                        return
                if _one(connection, schema.OWNS_VECTORS):
                    self._build_graph(connection, tenant_id, number, old)
        except KnowledgeError as error:  # what was stored stays stored
            _log.warning("no graph was built, and search stays exact but slower: %s", error)

    def _count(self, connection: Connection) -> int:
        return int(_one(connection, schema.COUNT_VECTORS, {"encoder": self._encoder}))

    def _build_graph(self, connection: Connection, tenant_id: str, number: int, old: str) -> None:
        names = {"name": _graph_name(number, self._encoder), "old": _graph_name(number, old)}
        with self._changing(connection):
            connection.execute("SELECT set_config('maintenance_work_mem', %s, true)", [GRAPH_MEMORY])
            for statement in (schema.BUILD_GRAPH, schema.DROP_GRAPH):
                connection.execute(_one(connection, statement, {**names, "encoder": self._encoder, "number": number}))
            self._enter(connection, tenant_id)
            connection.execute("UPDATE director_ai.tenant SET graph = %s WHERE number = %s", [self._encoder, number])


class _Load:
    """One load, inside its transaction."""

    def __init__(self, tables: PostgresTables, connection: Connection, now: str, *, replace: bool) -> None:
        self._tables, self._connection, self._now, self._replace = tables, connection, now, replace
        self._numbers: dict[str, int] = {}
        self.with_vectors: list[str] = []

    def run(self, count: int) -> Loaded:
        self._tables._enter(self._connection, "")
        for name, puts in self._connection.execute(schema.STAGED_TENANTS).fetchall():
            self._judge(name, create=puts)
        if not self._replace:
            self._refuse_duplicates()
        steps = self._connection.execute("SELECT what, key, tenant FROM pg_temp.step ORDER BY seq").fetchall()
        changed = dict.fromkeys(name for what, _, name in steps if what not in {"nothing", "unchanged"})
        revision = _next_revision(self._connection) if changed else _about(self._connection, "revision")
        last = _about(self._connection, "last")
        if changed:
            self._connection.execute("UPDATE director_ai.about SET value = %s WHERE name = 'last'", [last + count])
        for name in self._numbers:
            self._tables._enter(self._connection, _tenant_id(name))
            if name in changed:
                self._put(name, revision, last)
            self._connection.execute(schema.PURGE, {"before": _before(self._now)})
        return Loaded(
            added=tuple(key for what, key, _ in steps if what == "added"),
            updated=tuple(key for what, key, _ in steps if what == "updated"),
            removed=tuple(key for what, key, _ in steps if what == "removed"),
            unchanged=sum(what == "unchanged" for what, _, _ in steps),
            revision=revision,
        )

    def _judge(self, name: str, *, create: bool) -> None:
        number = self._tables._tenant(self._connection, _tenant_id(name))[0]
        if not number and create:
            number = _one(self._connection, schema.MAKE_TENANT, {"name": name, "folded": name.lower()})
        if number:
            self._numbers[name] = number
            self._connection.execute(schema.JUDGE, {"name": name})

    def _refuse_duplicates(self) -> None:
        place = _one(self._connection, schema.FIRST_DUPLICATE)
        if place is not None:
            raise DuplicateFact(
                f"the key of fact {place} already stands for another one; "
                "give it another key, or change the fact with update() or replace=True"
            )

    def _put(self, name: str, revision: int, last: int) -> None:
        number = self._numbers[name]
        values = {
            "name": name, "number": number, "revision": revision, "last": last, "now": self._now,
            "encoder": self._tables._encoder,
        }  # fmt: skip
        for statement in (schema.END_FACTS, schema.PUT_FACTS, schema.PUT_POSTINGS):
            self._connection.execute(statement, values)
        if self._connection.execute(schema.PUT_VECTORS, values).rowcount:
            self.with_vectors.append(_tenant_id(name))
        self._connection.execute("UPDATE director_ai.tenant SET changed = %s WHERE number = %s", [revision, number])


def _known(found: tuple[int, int, str, str] | None, tenant_id: str) -> tuple[int, int, str]:
    """Return what is known of a tenant; zeros for one that has no facts."""
    if found is None:
        return 0, 0, ""
    if _tenant_id(found[3]) != tenant_id:
        raise ConfigError("the tenant differs from a known one only in capital letters; use one spelling")
    return found[0], found[1], found[2]


def _tenant_id(name: str) -> str:
    return "" if name == schema.SHARED else name


def _one(connection: Connection, query: str, values: dict[str, Any] | None = None) -> Any:
    found = connection.execute(query, values).fetchone()
    return None if found is None else found[0]


def _about(connection: Connection, name: str) -> int:
    return int(_one(connection, "SELECT value FROM director_ai.about WHERE name = %(name)s", {"name": name}))


def _next_revision(connection: Connection) -> int:
    return int(
        _one(connection, "UPDATE director_ai.about SET value = value + 1 WHERE name = 'revision' RETURNING value")
    )


def _graph_name(number: int, encoder: str) -> str:
    return f"vector_graph_{number}_{hashlib.sha256(encoder.encode()).hexdigest()[:8]}"


def _before(now: str) -> str:
    """Return the time before which an ended version cannot be asked for any more."""
    before = datetime.fromisoformat(now).astimezone(UTC) - timedelta(seconds=LINGER_SECONDS)
    return before.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _written(vector: Vectors) -> str:
    return str(vector.tolist())
