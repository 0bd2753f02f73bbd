"""The database of records and reviews: SQLite by default, PostgreSQL by URL; a write that returned is on the disk."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import QueuePool, StaticPool

from director_ai.errors import ConfigError, DirectorError, MissingExtra, RecordError
from director_ai.record.database_errors import ONLY_READ, explained, in_words
from director_ai.record.migrating import check_revision, migrate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Engine, Pool

__all__ = ["Database"]

T = TypeVar("T")

WAIT_SECONDS: Final = 30
MOST_TOGETHER: Final = 128
"""Writes of as many threads as this share one commit."""
MOST_CONNECTIONS: Final = 16
POSTGRESQL: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
IN_MEMORY: Final = ":memory:"
_inherited: list[Pool] = []
"""Connections of the parent of a forked process. SQLite forbids a child even to close them, so they are kept."""


class Database:
    """One database that any number of threads and processes read and write.

    With `read_only` it must be there, with its tables, and nothing of it can be changed.
    """

    def __init__(self, place: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.place = _checked(place)
        self.in_memory = self.place == IN_MEMORY
        self.is_postgresql = self.place.startswith(POSTGRESQL)
        self._process = os.getpid()
        self.closed = False
        self._turn = threading.RLock()
        self._waiting: deque[_Job[Any]] = deque()
        if not self.in_memory and not self.is_postgresql and not read_only:
            _check_writable(self.place)
        with explained():
            self._engine = _postgresql(self.place) if self.is_postgresql else _sqlite(self.place, read_only=read_only)
            self._dispose = weakref.finalize(self, _close_all, self._engine, self._process)
            try:
                if read_only:
                    self.read(check_revision)
                else:
                    with self._transaction("") as connection:
                        migrate(connection)
            except BaseException:
                self.close()
                raise

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what a function finds on a connection; it sees one state of the database."""
        self._check()
        with contextlib.ExitStack() as stack:
            if self.in_memory:
                stack.enter_context(self._turn)  # there is one connection
            stack.enter_context(explained())
            connection = stack.enter_context(self._engine.connect())
            if self.is_postgresql:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            if not self.is_postgresql and not self.in_memory:
                connection.exec_driver_sql("BEGIN")
                stack.callback(connection.exec_driver_sql, "ROLLBACK")
            return work(connection)

    def write(self, work: Callable[[Connection], T], tenant_id: str) -> T:
        """Return what a function answers once all that it wrote is durable; if it raises, nothing of it is.

        Nobody else writes to the tenant meanwhile, in this process or another. In SQLite, functions that wait at the
        same time share one commit, so it may run in another thread.
        """
        self._check()
        if self.is_postgresql:
            with explained(), self._transaction(tenant_id) as connection:
                return work(connection)
        job = _Job(work)
        self._waiting.append(job)
        with self._turn:
            while not job.done:
                if not self._waiting:  # who had taken it was interrupted before its turn
                    raise RecordError("another writer was interrupted; nothing was kept, try again")
                self._commit([self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))])
        return job.outcome()

    def hold(self, connection: Connection, tenant_id: str) -> None:
        """Keep others from writing to a further tenant until the transaction ends; ask for tenants in sorted order."""
        if self.is_postgresql:
            connection.execute(_LOCK, {"name": f"director-ai {tenant_id}"})

    def close(self) -> None:
        """Let go of the connections."""
        with self._turn:
            if not self.closed:
                self.closed = True
                self._dispose()

    @property
    def address(self) -> str:
        """Which database it is, without a user's name or password."""
        url = self._engine.url
        return f"{url.host or url.query.get('host', '')}:{url.port or ''}/{url.database}"

    def _commit(self, jobs: list[_Job[Any]]) -> None:
        """Do some writes in one transaction; one that fails is undone alone."""
        try:
            with explained(), self._transaction("") as connection:
                for job in jobs:
                    job.run(connection, alone=len(jobs) == 1)
        except DirectorError as error:
            for job in jobs:
                job.fail(error)
        except BaseException:
            for job in jobs:
                job.fail(RecordError("another writer of the same commit was interrupted; nothing was kept, try again"))
            raise
        finally:
            for job in jobs:
                job.done = True

    @contextlib.contextmanager
    def _transaction(self, tenant_id: str) -> Iterator[Connection]:
        if self.is_postgresql:
            with self._engine.begin() as connection:
                self.hold(connection, tenant_id)
                yield connection
            return
        with self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                with contextlib.suppress(sa.exc.DBAPIError):  # some errors have ended it already
                    connection.exec_driver_sql("ROLLBACK")
                raise

    def _check(self) -> None:
        if self.closed:
            raise RecordError("the database of reviews and records is closed")
        if self._process != os.getpid():  # a connection must not be carried over a fork
            if self.in_memory:
                raise RecordError("records in memory cannot be used by a forked process; use a file")
            self._dispose()
            self._turn, self._waiting, self._process = threading.RLock(), deque(), os.getpid()
            self._dispose = weakref.finalize(self, _close_all, self._engine, self._process)


def _close_all(engine: Engine, process: int) -> None:
    """Close the connections; run when a database is closed, and when it is dropped without that."""
    if process != os.getpid():
        _inherited.append(engine.pool)
        engine.dispose(close=False)
    else:
        engine.dispose()


class _Job(Generic[T]):
    """A write that waits for its commit."""

    def __init__(self, work: Callable[[Connection], T]) -> None:
        self._work = work
        self.done = False
        self._answer: T
        self._error: Exception | None = None

    def run(self, connection: Connection, *, alone: bool) -> None:
        """Do it; its own failure is kept for who asked."""
        if alone:
            self._answer = self._work(connection)
            return
        connection.exec_driver_sql("SAVEPOINT job")
        try:
            self._answer = self._work(connection)
        except Exception as error:
            if isinstance(error, sa.exc.DBAPIError) and not isinstance(error, sa.exc.IntegrityError):
                raise  # the disk, the file: that concerns all of them
            self._error = in_words(error)
            connection.exec_driver_sql("ROLLBACK TO job")
        connection.exec_driver_sql("RELEASE job")

    def fail(self, error: Exception) -> None:
        if self._error is None:
            self._error = error

    def outcome(self) -> T:
        """Return the answer, or raise what went wrong."""
        if self._error is not None:
            raise self._error
        return self._answer


_LOCK: Final = sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


def _checked(place: str | os.PathLike[str]) -> str:
    given = os.fspath(place) if isinstance(place, str | os.PathLike) else place
    if not isinstance(given, str) or not given.strip() or "\0" in given:
        raise ConfigError("the database must be the path of a file, :memory: or a postgresql:// URL")
    if given == IN_MEMORY or given.startswith(POSTGRESQL):
        return given
    if "://" in given:
        raise ConfigError("the database must be the path of a file, :memory: or a postgresql:// URL")
    path = Path(given)
    if path.is_dir():
        raise ConfigError("the database must be a file; the path given is a folder")
    if not path.parent.is_dir():
        raise ConfigError("the folder of the database does not exist; create it first")
    return str(path.absolute())


def _check_writable(path: str) -> None:
    """SQLite opens a file that it may not write to without a word, and fails only when it is to write."""
    if Path(path).exists() and not os.access(path, os.W_OK):
        raise RecordError(ONLY_READ)


def _sqlite(path: str, *, read_only: bool) -> Engine:
    settings: tuple[str, ...] = ("journal_mode=WAL", "synchronous=FULL", "temp_store=MEMORY", "cache_size=-16000")
    mode: dict[str, str] = {}
    if read_only:
        if path == IN_MEMORY or not Path(path).is_file():
            raise ConfigError("there is no database at this path; give the path of one")
        path, mode, settings = Path(path).as_uri(), {"mode": "ro", "uri": "true"}, settings[2:]
    elif path != IN_MEMORY and not Path(path).exists():
        with contextlib.suppress(OSError):  # what is wrong with the path, the database says better
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # it holds texts
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=path, query=mode),
        isolation_level="AUTOCOMMIT",  # every transaction is begun by name, so that a writer waits for its turn first
        connect_args={"timeout": WAIT_SECONDS, "check_same_thread": False},
        poolclass=StaticPool if path == IN_MEMORY else QueuePool,
        hide_parameters=True,
        **(
            {}
            if path == IN_MEMORY
            else {"pool_size": MOST_CONNECTIONS, "max_overflow": 0, "pool_timeout": WAIT_SECONDS}
        ),
    )

    @event.listens_for(engine, "connect")
    def settle(connection: Any, _: Any) -> None:
        for setting in settings:
            connection.execute(f"PRAGMA {setting}").close()

    return engine


def _postgresql(url: str) -> Engine:
    try:
        import psycopg  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise MissingExtra("a review queue in PostgreSQL", extra="postgres") from None
    try:
        address = sa.make_url("postgresql+psycopg://" + url.split("://", 1)[1])
    except (sa.exc.ArgumentError, ValueError):  # a port that is no number
        raise ConfigError(
            "the PostgreSQL URL cannot be read; write postgresql://user:password@host:port/database"
        ) from None
    return sa.create_engine(
        address,
        pool_size=MOST_CONNECTIONS,
        max_overflow=0,
        pool_timeout=WAIT_SECONDS,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={
            "connect_timeout": 10,
            "options": f"-c lock_timeout={WAIT_SECONDS}s -c statement_timeout={2 * WAIT_SECONDS}s"
            " -c synchronous_commit=on -c jit=off",
        },
    )
