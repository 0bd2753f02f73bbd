"""What databases raise, as sentences: their own words may quote a row, a host or a user."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from sqlalchemy import exc

from director_ai.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ONLY_READ", "explained", "in_words"]

ONLY_READ: Final = "the database can only be read; check the rights of the file and of its folder"
_SIGNS: Final = (
    ("database is locked", "the database was locked by another process for too long; try again"),
    ("canceling statement due to lock timeout", "the database was locked by another process for too long; try again"),
    ("canceling statement due to statement timeout", "the database did not answer in time; try again"),
    ("database or disk is full", "the disk of the database is full; make room, then try again"),
    ("no space left", "the disk of the database is full; make room, then try again"),
    ("readonly database", ONLY_READ),
    ("read-only", "the database can only be read; check the rights and that it is no standby"),
    ("permission denied", "the database user may not do that; grant it the rights"),
    ("unable to open database", "the database file cannot be opened; check its path and the rights of its folder"),
    ("file is not a database", "the file is not a database of ours, or it is damaged; give another path"),
    ("malformed", "the database file is damaged; restore it from a copy"),
    ("could not decode", "a row holds what is no text: it was not written by us; run `director-ai audit verify`"),
    ("no such table", "the tables of records and reviews are gone; restore the database from a copy"),
    ("does not exist", "the database, or the tables of records and reviews in it, do not exist; check the address"),
    ("is append-only", "what was written to the trail cannot be changed or removed"),
)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn what the database raises into a sentence that says what to do."""
    try:
        yield
    except (exc.TimeoutError, exc.DBAPIError) as error:
        raise in_words(error) from None


def in_words(error: Exception) -> Exception:
    """Return what a database raised as an error of ours; what it did not raise, as it is."""
    if isinstance(error, exc.TimeoutError):
        return RecordError("all connections to the database were in use for too long; try again")
    return RecordError(_sentence(error)) if isinstance(error, exc.DBAPIError) else error


def _sentence(error: exc.DBAPIError) -> str:
    said = str(error.orig).lower()
    for sign, sentence in _SIGNS:
        if sign in said:
            return sentence
    if error.connection_invalidated or isinstance(error, exc.OperationalError | exc.InterfaceError):
        return (
            "the database cannot be reached, or the connection was lost; whether the last write was kept is not known: "
            "repeat the same call, it is done at most once"
        )
    return f"the database failed ({type(error.orig).__name__})"
