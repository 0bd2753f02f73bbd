"""Runs the migrations on the connection that it is handed, inside that one's transaction."""

from __future__ import annotations

from alembic import context

from director_ai.record.tables import METADATA, VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, version_table=VERSION_TABLE
)
context.run_migrations()
