"""Brings a database to the tables of this release; one that is there already is not touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from director_ai.errors import RecordError
from director_ai.record.tables import HEAD_REVISION, VERSION_TABLE

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["check_revision", "migrate"]


def migrate(connection: Connection) -> None:
    """Run the missing migrations, inside the connection's transaction; nobody else may write meanwhile."""
    found = _revision(connection)
    if found == HEAD_REVISION:
        return
    _refuse_newer(found)
    from alembic import command  # noqa: PLC0415 - takes a quarter of a second, and only a new database needs it
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD_REVISION)


def check_revision(connection: Connection) -> None:
    """Refuse a database without a trail, or from a newer release; in an older one the trail reads the same."""
    found = _revision(connection)
    _refuse_newer(found)
    if not found:
        raise RecordError("the database holds no audit trail and no reviews; give the address of one that does")


def _refuse_newer(found: str) -> None:
    if found > HEAD_REVISION:
        shown = found if found.isalnum() and len(found) <= 12 else "unknown"
        raise RecordError(
            f"the database was made by a newer release (revision {shown}, known: {HEAD_REVISION}); update director-ai"
        )


def _revision(connection: Connection) -> str:
    """Return where the database stands; empty where it is new."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return ""
    version = sa.table(VERSION_TABLE, sa.column("version_num"))
    return str(connection.scalar(sa.select(version.c.version_num)) or "")
