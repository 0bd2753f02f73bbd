"""Who is signed in, in every process that shares the database: a cookie holds a random word, a table its hash.

A cookie that says by itself who holds it would need no table. But signing out must end a session everywhere, and for
that all processes would have to share a list of those that ended: a table as well. The page asks the database with each
request whether the key still holds, so one row more is not felt.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from director_ai.record.tables import SESSION
from director_ai.serve.callers import Caller

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, RowMapping

    from director_ai.record.database import Database

__all__ = ["Session", "Sessions", "form_token", "is_form_token"]

LONGEST: Final = 12 * 3600.0
IDLE: Final = 2 * 3600.0
SEEN_SECONDS: Final = 60.0
"""Between two notes that somebody was here: looking at a page need not write to the database."""
MOST: Final = 10_000
TURN: Final = "*sessions"
"""In PostgreSQL who writes sessions waits for others that do, and for no tenant: no tenant has such a name."""
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Somebody who is signed in."""

    caller: Caller
    ends_at: float | None
    """When the token ends with which it began; None for a key, of which the database says whether it holds."""


class Sessions:
    """Sessions of a database; they end when somebody signs out, after two idle hours, and after twelve."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database, self._clock = database, clock

    def open(self, caller: Caller, ends_at: float | None = None) -> str:
        """Begin a session and return what its cookie holds."""
        cookie, now = secrets.token_urlsafe(32), self._now()
        values = {
            "digest": _digest(cookie),
            "caller": caller.caller_id,
            "tenant": caller.tenant_id,
            "scopes": " ".join(sorted(caller.scopes)),
            "shows_evidence": int(caller.shows_evidence),
            "shows_reasoning": int(caller.shows_reasoning),
            "began_at": now,
            "seen_at": now,
            "ends_at": None if ends_at is None else int(ends_at * _MICROSECONDS),
        }
        self._database.write(lambda connection: _insert(connection, values, now), TURN)
        return cookie

    def find(self, cookie: str) -> Session | None:
        """Return who a cookie stands for; None where it stands for nobody, or no longer."""
        digest, now = _digest(cookie), self._now()
        wanted = sa.select(SESSION).where(SESSION.c.digest == digest)
        row = self._database.read(lambda connection: connection.execute(wanted).mappings().first())
        if row is None:
            return None
        if _is_over(row, now):
            self.close(cookie)
            return None
        if now - row["seen_at"] >= SEEN_SECONDS * _MICROSECONDS:
            self._write(sa.update(SESSION).where(SESSION.c.digest == digest).values(seen_at=now))
        return _session(row)

    def close(self, cookie: str) -> None:
        """End a session, in every process."""
        self._write(sa.delete(SESSION).where(SESSION.c.digest == _digest(cookie)))

    def _write(self, change: sa.Update | sa.Delete) -> None:
        self._database.write(lambda connection: connection.execute(change), TURN)

    def _now(self) -> int:
        return int(self._clock() * _MICROSECONDS)


def form_token(nonce: str, cookie: str) -> str:
    """Return what a form must hold: it belongs to one browser and one session, and every process knows it.

    No secret of the server is needed: the nonce is one that only this browser and its requests hold.
    """
    return hmac.new(nonce.encode("utf-8", "replace"), f"form {cookie}".encode("utf-8", "replace"), "sha256").hexdigest()


def is_form_token(given: str, nonce: str, cookie: str) -> bool:
    """Whether a form came from a page of ours in the same browser."""
    return bool(nonce) and hmac.compare_digest(given.encode("utf-8", "replace"), form_token(nonce, cookie).encode())


def _insert(connection: Connection, values: dict[str, Any], now: int) -> None:
    """Put a session in; those that are over go, and where there are too many, who was not here for longest."""
    over = sa.or_(
        SESSION.c.began_at < now - LONGEST * _MICROSECONDS,
        SESSION.c.seen_at < now - IDLE * _MICROSECONDS,
        SESSION.c.ends_at <= now,
    )
    connection.execute(sa.delete(SESSION).where(over))
    if (connection.scalar(sa.select(sa.func.count()).select_from(SESSION)) or 0) >= MOST:
        oldest = sa.select(SESSION.c.digest).order_by(SESSION.c.seen_at, SESSION.c.digest).limit(1)
        connection.execute(sa.delete(SESSION).where(SESSION.c.digest == oldest.scalar_subquery()))
    connection.execute(sa.insert(SESSION), values)


def _is_over(row: RowMapping, now: int) -> bool:
    return bool(
        now - row["began_at"] > LONGEST * _MICROSECONDS
        or now - row["seen_at"] > IDLE * _MICROSECONDS
        or (row["ends_at"] is not None and row["ends_at"] <= now)
    )


def _session(row: RowMapping) -> Session:
    caller = Caller(
        caller_id=row["caller"],
        tenant_id=row["tenant"],
        scopes=frozenset(row["scopes"].split()),
        shows_evidence=bool(row["shows_evidence"]),
        shows_reasoning=bool(row["shows_reasoning"]),
    )
    return Session(caller=caller, ends_at=None if row["ends_at"] is None else row["ends_at"] / _MICROSECONDS)


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()
