"""Connections to PostgreSQL: lent to one thread at a time, replaced when they are lost, never carried over a fork."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from director_ai.errors import ConfigError, MissingExtra
from director_ai.knowledge import postgres_schema as schema
from director_ai.knowledge.postgres_schema import WAIT_SECONDS
from director_ai.knowledge.tables import KnowledgeError

try:
    import psycopg
    from psycopg import errors
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError:
    raise MissingExtra("the PostgreSQL knowledge base", extra="postgres") from None

if TYPE_CHECKING:
    from collections.abc import Iterator

    Connection = psycopg.Connection[Any]

__all__ = ["Pool"]

MOST_CONNECTIONS = 16
CONNECT_SECONDS = 10
READ_SECONDS = 30
SETTINGS = """
SELECT set_config('statement_timeout', %s, false), set_config('client_min_messages', 'warning', false),
    set_config('jit', 'off', false),
    set_config('search_path', (SELECT quote_ident(nspname) FROM pg_extension
        JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'), false)
"""


class Pool:
    """The connections of one process."""

    def __init__(self, url: str) -> None:
        self.process = os.getpid()
        self.role = "none"
        """What every transaction has to take on; the connected user itself, if `none`."""
        self.closed = False
        self._url = _checked(url)
        self._idle: deque[Connection] = deque()
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        weakref.finalize(self, _close_all, self._idle, self.process)

    def after_fork(self) -> Pool:
        """Return the pool of a forked process, which opens connections of its own."""
        pool = Pool(self._url)
        pool.closed = self.closed
        return pool

    def prepare(self) -> None:
        """Make the tables of a new database, and refuse a user whom row-level security would not hold."""
        with _explained():
            connection = _connect(self._url)
            with contextlib.closing(connection):
                schema.prepare(connection)
        with self.lend():
            pass

    @contextlib.contextmanager
    def lend(self) -> Iterator[Connection]:
        """Lend a connection; one that was in the middle of something when an error came is closed."""
        if self.closed:
            raise KnowledgeError("the knowledge base is closed")
        if not self._free.acquire(timeout=READ_SECONDS):
            raise KnowledgeError(f"all {MOST_CONNECTIONS} connections were in use for {READ_SECONDS} s; try again")
        try:
            with _explained():
                connection = self._taken()
                try:
                    yield connection
                except BaseException as error:
                    connection.close()
                    if isinstance(error, psycopg.OperationalError):
                        self.forget()  # if the server went away, the others are as dead as this one
                    raise
                self._take_back(connection)
        finally:
            self._free.release()

    def forget(self) -> None:
        """Close the connections that nobody has."""
        _close_all(self._idle, self.process)

    def _take_back(self, connection: Connection) -> None:
        self._idle.append(connection)
        if self.closed:
            self.forget()

    def _taken(self) -> Connection:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        connection = _connect(self._url)
        try:
            connection.execute(SETTINGS, [f"{READ_SECONDS}s"])
            role = schema.usable_role(connection)
            if role is None:
                schema.require_row_security(connection)
            self.role = role or "none"
        except BaseException:
            connection.close()
            raise
        return connection


def _close_all(idle: deque[Connection], process: int) -> None:
    if process != os.getpid():
        return  # they are the parent's
    with contextlib.suppress(IndexError):
        while True:
            idle.pop().close()


def _checked(url: str) -> str:
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise ConfigError(
            "the PostgreSQL URL cannot be read; write postgresql://user:password@host:port/database"
        ) from None
    return make_conninfo(
        **{"connect_timeout": CONNECT_SECONDS, "fallback_application_name": "director-ai", **given}  # type: ignore[arg-type]
    )


def _connect(url: str) -> Connection:
    try:
        return psycopg.connect(url, autocommit=True)
    except psycopg.Error:  # what the driver says names the host and the user
        raise KnowledgeError(
            "the PostgreSQL server of the knowledge base cannot be reached, or it refused the connection; "
            "check the URL, the user's rights, and that the server runs"
        ) from None


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turn what PostgreSQL raises into a sentence; its own words may quote a row."""
    try:
        yield
    except errors.LockNotAvailable:
        raise KnowledgeError(f"the knowledge base was locked for {WAIT_SECONDS} s by another process") from None
    except errors.QueryCanceled:
        raise KnowledgeError(
            f"the knowledge base did not answer within {READ_SECONDS} s, or was told to stop"
        ) from None
    except errors.InsufficientPrivilege:
        raise KnowledgeError("the database user may not do that to the knowledge base; grant it the rights") from None
    except (errors.ReadOnlySqlTransaction, errors.DiskFull) as error:
        raise KnowledgeError(f"the knowledge base cannot be written ({type(error).__name__})") from None
    except psycopg.OperationalError as error:
        raise KnowledgeError(
            f"the connection to the knowledge base was lost ({type(error).__name__}); the next call connects again"
        ) from None
    except psycopg.Error as error:
        raise KnowledgeError(f"the knowledge base failed ({type(error).__name__})") from None
