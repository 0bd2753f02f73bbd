"""The tables in one SQLite file, or in memory: full text by FTS5, vectors as blobs searched exactly."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
import threading
import weakref
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from director_ai.core.evidence import Fact
from director_ai.errors import ConfigError
from director_ai.knowledge.tables import ALIVE, LINGER_SECONDS, DuplicateFact, KnowledgeError, Loaded, Rows, StoredFact
from director_ai.knowledge.vectors import VectorSearch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from director_ai.knowledge.tables import Change, Numbers, Vectors

__all__ = ["SqliteTables"]

SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE tenant (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, changed INTEGER NOT NULL);
CREATE TABLE fact (
    id INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL REFERENCES tenant, key TEXT NOT NULL,
    version INTEGER NOT NULL, text TEXT NOT NULL, source TEXT NOT NULL, start INTEGER, stop INTEGER,
    added_at TEXT NOT NULL, added_by TEXT NOT NULL, born INTEGER NOT NULL, died INTEGER NOT NULL, died_at TEXT,
    words INTEGER NOT NULL, terms TEXT);
CREATE UNIQUE INDEX fact_alive ON fact (tenant, key) WHERE died = 4611686018427387904;
CREATE INDEX fact_key ON fact (tenant, key, version);
CREATE INDEX fact_order ON fact (tenant, id);
CREATE INDEX fact_dead ON fact (died_at) WHERE died_at IS NOT NULL AND terms IS NOT NULL;
CREATE TABLE vector (
    id INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL, fact INTEGER NOT NULL REFERENCES fact,
    encoder TEXT NOT NULL, value BLOB NOT NULL);
CREATE INDEX vector_tenant ON vector (tenant, encoder, id);
CREATE INDEX vector_fact ON vector (fact);
CREATE VIRTUAL TABLE posting USING fts5 (terms, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '_'");
INSERT INTO about VALUES ('schema', 1), ('revision', 0);
"""
STAGE = """
CREATE TEMP TABLE IF NOT EXISTS staged (
    tenant TEXT, key TEXT, text TEXT, source TEXT, start INTEGER, stop INTEGER, added_by TEXT,
    added_at TEXT, terms TEXT, words INTEGER, vectors BLOB);
DELETE FROM temp.staged;
"""
FIELDS = "fact.id, fact.key, text, source, start, stop, version, added_at, added_by, born, died"
PURGE_STEP = 2_000
WAIT_SECONDS = 30.0
_inherited: list[list[sqlite3.Connection]] = []
"""Connections of the parent of a forked process. SQLite forbids a child even to close them, so they are kept."""


class SqliteTables:
    """One file that many threads and processes read and write."""

    is_local = True

    def __init__(self, path: str, encoder: str) -> None:
        self._path = path
        self._encoder = encoder
        self._in_memory = path == ":memory:"
        self._lock = threading.RLock()
        self._idle: list[sqlite3.Connection] = []
        self._process = os.getpid()
        self._closed = False
        self._vectors = VectorSearch()
        self._close_idle = weakref.finalize(self, _close_all, self._idle, self._process)
        if not self._in_memory and not Path(path).parent.is_dir():
            raise ConfigError("the folder of the knowledge base does not exist; create it first")
        with self._connection() as connection:
            _prepare(connection, in_memory=self._in_memory)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._close_idle()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection: in memory the only one, to one thread at a time; of a file as many as are asked for."""
        if self._in_memory:
            with self._lock, _explained():
                yield self._taken()
            return
        with _explained():
            connection = self._taken()
            try:
                yield connection
            except BaseException:
                connection.close()  # whatever it was in the middle of ends here
                raise
        with self._lock:
            if self._closed or self._process != os.getpid():
                connection.close()
            else:
                self._idle.append(connection)

    def _taken(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise KnowledgeError("the knowledge base is closed")
            if self._process != os.getpid():  # a connection must not be carried over a fork
                if self._in_memory:
                    raise KnowledgeError("a knowledge base in memory cannot be used by a forked process; use a file")
                self._close_idle.detach()
                _inherited.append(self._idle)
                self._idle, self._process = [], os.getpid()
                self._close_idle = weakref.finalize(self, _close_all, self._idle, self._process)
            if self._in_memory:
                if not self._idle:
                    self._idle.append(_connect(self._path))
                return self._idle[0]
            if self._idle:
                return self._idle.pop()
        return _connect(self._path)

    def revision(self) -> int:
        with self._connection() as connection:
            return _revision(connection)

    def apply(self, changes: Iterator[Sequence[Change]], *, now: str, replace: bool, dry_run: bool) -> Loaded:
        with self._connection() as connection:
            connection.executescript(STAGE)
            for batch in changes:
                connection.executemany(
                    "INSERT INTO temp.staged VALUES (?,?,?,?,?,?,?,?,?,?,?)", map(_staged_row, batch)
                )
            connection.execute("BEGIN IMMEDIATE")
            try:
                loaded = _Load(connection, self._encoder, now, replace=replace).run()
                _purge(connection, now)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("ROLLBACK" if dry_run else "COMMIT")
            connection.execute("DELETE FROM temp.staged")
            return loaded

    def changed(self, tenant_id: str) -> int:
        with self._connection() as connection:
            return _tenant(connection, tenant_id)[1]

    def rows(self, tenant_id: str) -> Rows:
        with self._connection() as connection:
            found = connection.execute(
                "SELECT id, born, died, words FROM fact WHERE tenant = ? AND terms IS NOT NULL ORDER BY id",
                [_tenant(connection, tenant_id)[0]],
            ).fetchall()
        return Rows(*np.asarray(found, np.int64).reshape(-1, 4).T)

    def postings(self, tenant_id: str, terms: Sequence[str], most: int) -> dict[str, Numbers]:
        with self._connection() as connection:
            number = _tenant(connection, tenant_id)[0]
            return {
                term: _matching(connection, _token(number, term), most + 1) for term in dict.fromkeys(terms) if number
            }

    def together(self, tenant_id: str, terms: Sequence[str], most: int) -> Numbers:
        with self._connection() as connection:
            number = _tenant(connection, tenant_id)[0]
            return _matching(connection, " AND ".join(_token(number, term) for term in terms), most)

    def nearest(self, tenant_id: str, question: Vectors, most: int, at: int) -> list[tuple[int, float]]:
        with self._connection() as connection:
            number, changed = _tenant(connection, tenant_id)
            return self._vectors.nearest(connection, number, changed, self._encoder, question, most, at)

    def similarity(self, tenant_id: str, ids: Sequence[int], question: Vectors) -> dict[int, float]:
        with self._connection() as connection:
            number, changed = _tenant(connection, tenant_id)
            return self._vectors.similarity(connection, number, changed, self._encoder, ids, question)

    def load(self, tenant_id: str, ids: Sequence[int]) -> list[StoredFact]:
        with self._connection() as connection:
            number = _tenant(connection, tenant_id)[0]
            return self._facts(
                connection,
                tenant_id,
                "tenant = ? AND id IN (SELECT value FROM json_each(?))",
                [number, json.dumps(list(ids))],
            )

    def page(self, tenant_id: str, *, after: int, most: int, at: int | None) -> list[StoredFact]:
        with self._connection() as connection:
            condition, values = "tenant = ? AND fact.id > ?", [_tenant(connection, tenant_id)[0], after]
            if at is not None:
                condition, values = f"{condition} AND born <= ? AND died > ?", [*values, at, at]
            return self._facts(connection, tenant_id, f"{condition} ORDER BY fact.id LIMIT ?", [*values, most])

    def history(self, tenant_id: str, key: str) -> list[StoredFact]:
        with self._connection() as connection:
            number = _tenant(connection, tenant_id)[0]
            return self._facts(connection, tenant_id, "tenant = ? AND key = ? ORDER BY version", [number, key])

    def without_vectors(self, tenant_id: str, most: int) -> list[StoredFact]:
        with self._connection() as connection:
            return self._facts(
                connection, tenant_id,
                "tenant = ? AND died = ?"
                " AND NOT EXISTS (SELECT 1 FROM vector WHERE fact = fact.id AND encoder = ?) LIMIT ?",
                [_tenant(connection, tenant_id)[0], ALIVE, self._encoder, most],
            )  # fmt: skip

    def put_vectors(self, tenant_id: str, vectors: dict[int, Vectors]) -> None:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            number = _tenant(connection, tenant_id)[0]
            for row, values in vectors.items():
                connection.execute("DELETE FROM vector WHERE fact = ?", [row])
                _insert_vectors(connection, number, row, self._encoder, values)
            connection.execute("COMMIT")

    def tenants(self) -> list[str]:
        with self._connection() as connection:
            return [name for (name,) in connection.execute("SELECT name FROM tenant ORDER BY name")]

    def _facts(self, connection: sqlite3.Connection, tenant_id: str, where: str, values: list[Any]) -> list[StoredFact]:
        found = connection.execute(f"SELECT {FIELDS} FROM fact WHERE {where}", values)  # noqa: S608 - our own words
        return [
            StoredFact(
                row,
                Fact(
                    key=key,
                    text=text,
                    tenant_id=tenant_id,
                    source=source,
                    start=start,
                    end=end,
                    version=version,
                    added_at=added_at,
                    added_by=added_by,
                ),
                born,
                died,
            )
            for row, key, text, source, start, end, version, added_at, added_by, born, died in found
        ]


class _Load:
    """One load, inside its transaction."""

    def __init__(self, connection: sqlite3.Connection, encoder: str, now: str, *, replace: bool) -> None:
        self._connection, self._encoder, self._now, self._replace = connection, encoder, now, replace
        self._revision = 0
        self._tenants: dict[str, int] = {}
        self._added: list[str] = []
        self._updated: list[str] = []
        self._removed: list[str] = []
        self._unchanged = 0

    def run(self) -> Loaded:
        last = 0
        while rows := self._connection.execute(
            "SELECT rowid, * FROM temp.staged WHERE rowid > ? ORDER BY rowid LIMIT 1000", [last]
        ).fetchall():
            for last, *row in rows:  # noqa: B007 - the last one counts
                self._put(*row)
        if self._revision:
            for number in self._tenants.values():
                self._connection.execute("UPDATE tenant SET changed = ? WHERE number = ?", [self._revision, number])
        return Loaded(
            added=tuple(self._added),
            updated=tuple(self._updated),
            removed=tuple(self._removed),
            unchanged=self._unchanged,
            revision=self._revision or _revision(self._connection),
        )

    def _put(self, tenant: str, key: str, text: str | None, *rest: Any) -> None:
        number = self._tenants.get(tenant) or _tenant(self._connection, tenant, create=text is not None)[0]
        self._tenants[tenant] = number
        alive = self._connection.execute(
            "SELECT id, text, source, start, stop FROM fact WHERE tenant = ? AND key = ? AND died = ?",
            [number, key, ALIVE],
        ).fetchone()
        source, start, stop, added_by, added_at, terms, words, vectors = rest
        if text is None:
            if alive:
                self._end(alive[0])
                self._removed.append(key)
            return
        if alive and alive[1:] == (text, source, start, stop):
            self._unchanged += 1
            return
        if alive and not self._replace:
            raise DuplicateFact(
                f"the key of fact {len(self._added) + len(self._updated) + self._unchanged} already stands for another "
                "one; give it another key, or change the fact with update() or replace=True"
            )
        if alive:
            self._end(alive[0])
        (self._updated if alive else self._added).append(key)
        version = self._connection.execute(
            "SELECT coalesce(max(version), 0) + 1 FROM fact WHERE tenant = ? AND key = ?", [number, key]
        ).fetchone()[0]
        tokens = " ".join(_token(number, term).strip('"') for term in terms.split())
        row = self._connection.execute(
            "INSERT INTO fact"
            " (tenant, key, version, text, source, start, stop, added_at, added_by, born, died, words, terms)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
            [
                number,
                key,
                version,
                text,
                source,
                start,
                stop,
                added_at or self._now,
                added_by,
                self._begun(),
                ALIVE,
                words,
                tokens,
            ],
        ).lastrowid
        self._connection.execute("INSERT INTO posting (rowid, terms) VALUES (?, ?)", [row, tokens])
        if vectors is not None and row is not None:
            _insert_vectors(self._connection, number, row, self._encoder, vectors)

    def _end(self, row: int) -> None:
        self._connection.execute("UPDATE fact SET died = ?, died_at = ? WHERE id = ?", [self._begun(), self._now, row])

    def _begun(self) -> int:
        """Return the revision of this load, which is given out with its first change."""
        if not self._revision:
            self._revision = _next_revision(self._connection)
        return self._revision


def _close_all(idle: list[sqlite3.Connection], process: int) -> None:
    """Close what nobody uses; run when tables are closed, and when they are dropped without that."""
    if process != os.getpid():
        _inherited.append(idle)
        return
    while idle:
        idle.pop().close()


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        for setting in ("foreign_keys = ON", "synchronous = FULL", "temp_store = FILE", "cache_size = -16384"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute(
            "SELECT count(*) FROM sqlite_master"
        ).fetchone()  # here a file of something else is found out
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, *, in_memory: bool) -> None:
    """Make the tables of a new file; refuse a file that is something else, or from a later version."""
    if not _names(connection):
        if not in_memory:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA.split(";\n") if not _names(connection) else ():  # another process may have been first
            connection.execute(statement)
        connection.execute("COMMIT")
    if not {"about", "fact", "posting"} <= _names(connection):
        raise ConfigError("the file is an SQLite database of something else; name another for the knowledge base")
    version = connection.execute("SELECT value FROM about WHERE name = 'schema'").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise KnowledgeError(
            f"the knowledge base was written by a later version of director-ai (schema {version}); update"
        )


def _names(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turn what SQLite raises into a sentence, without what stands in the database."""
    try:
        yield
    except sqlite3.OperationalError as error:
        reason = str(error)
        if "locked" in reason or "busy" in reason:
            raise KnowledgeError(f"the knowledge base was locked for {WAIT_SECONDS:g} s by another process") from error
        if "readonly" in reason or "unable to open" in reason or "full" in reason or "I/O" in reason:
            raise KnowledgeError(f"the knowledge base cannot be written or opened ({reason})") from error
        raise KnowledgeError(f"the knowledge base failed ({type(error).__name__})") from error
    except sqlite3.DatabaseError as error:
        raise KnowledgeError(
            f"the file is no knowledge base, or it is damaged ({type(error).__name__}); restore it from an export"
        ) from error


def _revision(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT value FROM about WHERE name = 'revision'").fetchone()[0])


def _next_revision(connection: sqlite3.Connection) -> int:
    connection.execute("UPDATE about SET value = value + 1 WHERE name = 'revision'")
    return _revision(connection)


def _tenant(connection: sqlite3.Connection, name: str, *, create: bool = False) -> tuple[int, int]:
    """Return a tenant's number and the revision of its last change; 0 and 0 for one that has no facts."""
    found = connection.execute("SELECT number, changed, name FROM tenant WHERE name = ?", [name]).fetchone()
    if found and found[2] != name:
        raise ConfigError("the tenant differs from a known one only in capital letters; use one spelling")
    if found:
        return found[0], found[1]
    if not create:
        return 0, 0
    return int(connection.execute("INSERT INTO tenant (name, changed) VALUES (?, 0)", [name]).lastrowid or 0), 0


def _token(number: int, term: str) -> str:
    """Return a term as the index holds it: with its tenant inside, so that no query can meet another tenant's."""
    plain = term if term.isascii() and term.isalnum() else "_" + term.encode("utf-8", "surrogatepass").hex()
    return f'"{number}_{plain}"'


def _matching(connection: sqlite3.Connection, query: str, most: int) -> Numbers:
    found = connection.execute("SELECT rowid FROM posting WHERE posting MATCH ? LIMIT ?", [query, most]).fetchall()
    return np.fromiter(itertools.chain.from_iterable(found), np.int64, len(found))


def _insert_vectors(connection: sqlite3.Connection, tenant: int, row: int, encoder: str, vectors: Any) -> None:
    values = (
        np.frombuffer(vectors, np.float16).reshape(-1, VectorSearch.SIZE) if isinstance(vectors, bytes) else vectors
    )
    connection.executemany(
        "INSERT INTO vector (tenant, fact, encoder, value) VALUES (?,?,?,?)",
        [(tenant, row, encoder, value.astype(np.float16).tobytes()) for value in values],
    )


def _staged_row(change: Change) -> tuple[Any, ...]:
    vectors = None if change.vectors is None else change.vectors.astype(np.float16).tobytes()
    return (
        change.tenant_id, change.key, change.text, change.source, change.start, change.end, change.added_by,
        change.added_at,
        " ".join(dict.fromkeys(change.terms)), len(change.terms), vectors,
    )  # fmt: skip


def _purge(connection: sqlite3.Connection, now: str) -> None:
    """Take versions out of the index that no running stream can still ask for; their text stays as history."""
    before = datetime.fromisoformat(now).astimezone(UTC) - timedelta(seconds=LINGER_SECONDS)
    dead = connection.execute(
        "SELECT id, terms FROM fact WHERE died_at IS NOT NULL AND terms IS NOT NULL AND died_at < ? LIMIT ?",
        [before.isoformat(timespec="microseconds").replace("+00:00", "Z"), PURGE_STEP],
    ).fetchall()
    connection.executemany("INSERT INTO posting (posting, rowid, terms) VALUES ('delete', ?, ?)", dead)
    connection.executemany("UPDATE fact SET terms = NULL WHERE id = ?", [(row,) for row, _ in dead])
    connection.executemany("DELETE FROM vector WHERE fact = ?", [(row,) for row, _ in dead])
