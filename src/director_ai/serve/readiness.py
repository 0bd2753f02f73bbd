"""Whether a server can do its work: its models, its database, its upstreams."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from director_ai.errors import DirectorError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from director_ai.record.database import Database
    from director_ai.serve.server import Server

__all__ = ["readiness_of"]

WAIT_SECONDS: Final = 1.0
"""A database that others keep locked for longer is not ready."""


def readiness_of(server: Server) -> dict[str, bool]:
    """Return what is there of what is needed."""
    found = {
        "model": server.is_warm,
        "database": _is_writable(server.queue.trail.database),
        "upstream": bool(server.sources),
    }
    return {"ready": all(found.values()) and not server.tenants.is_closing, **found}


def _is_writable(database: Database) -> bool:
    """Whether a transaction that writes can begin; nothing is written."""
    if database.closed:
        return False
    if database.in_memory:
        return True
    try:
        if database.is_postgresql:
            database.write(_undo, "readiness")  # a turn of its own: no tenant waits for it
        else:
            _begin(database.place)
    except _Undone:
        return True
    except (DirectorError, sqlite3.Error):
        return False
    return True


def _begin(place: str) -> None:
    address = f"{Path(place).as_uri()}?mode=rw"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.rollback()


def _undo(_: Connection) -> None:
    raise _Undone


class _Undone(DirectorError):
    """Takes a transaction back."""
