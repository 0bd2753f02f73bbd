"""Brings a database to the tables of this release; one that is there already is not touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from director_ai.errors import RecordError
from director_ai.record.tables import HEAD_REVISION, VERSION_TABLE

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["migrate"]


def migrate(connection: Connection) -> None:
    """Run the missing migrations, inside the connection's transaction; nobody else may write meanwhile."""
    found = _revision(connection)
    if found == HEAD_REVISION:
        return
    if found > HEAD_REVISION:
        raise RecordError(
            f"the database was made by a newer release (revision {found}, known: {HEAD_REVISION}); update director-ai"
        )
    from alembic import command  # noqa: PLC0415 - takes a quarter of a second, and only a new database needs it
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD_REVISION)


def _revision(connection: Connection) -> str:
    """Return where the database stands; empty where it is new."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return ""
    version = sa.table(VERSION_TABLE, sa.column("version_num"))
    return str(connection.scalar(sa.select(version.c.version_num)) or "")
