"""Where a load waits in PostgreSQL before it is made: in tables that only its own connection sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from director_ai.knowledge.postgres_schema import ROLE, SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from director_ai.knowledge.postgres_pool import Connection
    from director_ai.knowledge.tables import Change, Vectors

__all__ = ["clear_stage", "stage_changes", "stage_vectors"]

STAGE = """
CREATE TEMP TABLE IF NOT EXISTS staged (
    seq bigint, tenant text COLLATE "C", key text COLLATE "C", text text COLLATE "C", source text COLLATE "C",
    start bigint, stop bigint, added_by text COLLATE "C", added_at text COLLATE "C",
    terms text COLLATE "C", words integer);
CREATE INDEX IF NOT EXISTS staged_order ON staged (tenant, seq);
CREATE TEMP TABLE IF NOT EXISTS staged_vector (seq bigint, value halfvec);
CREATE TEMP TABLE IF NOT EXISTS step (
    seq bigint, tenant text COLLATE "C", key text COLLATE "C", what text COLLATE "C", version integer, ended boolean)
    ON COMMIT DELETE ROWS;
CREATE INDEX IF NOT EXISTS step_order ON step (tenant, seq);
TRUNCATE pg_temp.staged, pg_temp.staged_vector;
"""
GRANTS = f"GRANT SELECT, INSERT ON pg_temp.staged, pg_temp.staged_vector, pg_temp.step TO {ROLE};"
CLEAR = "TRUNCATE pg_temp.staged, pg_temp.staged_vector"
SIZE = 384
VECTOR = np.dtype(
    [("fields", ">i2"), ("seq_size", ">i4"), ("seq", ">i8"),
     ("size", ">i4"), ("dim", ">i2"), ("unused", ">i2"), ("value", ">f2", (SIZE,))]
)  # fmt: skip
"""A number and a halfvec as a binary COPY takes them: as text, vectors would take most of a load's time."""
BINARY_HEAD, BINARY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


def stage_changes(connection: Connection, changes: Iterator[Sequence[Change]]) -> int:
    """Copy changes to the stage, numbered from 1; return how many there are."""
    _make(connection)
    count = 0
    for batch in changes:
        numbered = list(enumerate(batch, count + 1))
        with connection.cursor().copy("COPY pg_temp.staged FROM STDIN") as copy:
            for seq, change in numbered:
                copy.write_row(_row(seq, change))
        _copy_vectors(connection, [(seq, change.vectors) for seq, change in numbered if change.vectors is not None])
        count += len(numbered)
    if count > 1_000:  # so that the server plans for many rows
        connection.execute("ANALYZE pg_temp.staged")
    return count


def stage_vectors(connection: Connection, vectors: dict[int, Vectors]) -> None:
    """Copy vectors to the stage, under the rows they are of."""
    _make(connection)
    _copy_vectors(connection, list(vectors.items()))


def clear_stage(connection: Connection) -> None:
    """Forget what was staged."""
    connection.execute(CLEAR)


def _make(connection: Connection) -> None:
    connection.execute(STAGE)
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
        connection.execute(GRANTS)


def _row(seq: int, change: Change) -> tuple[Any, ...]:
    return (
        seq, change.tenant_id or SHARED, change.key, change.text, change.source, change.start, change.end,
        change.added_by, change.added_at, " ".join(dict.fromkeys(change.terms)), len(change.terms),
    )  # fmt: skip


def _copy_vectors(connection: Connection, vectors: Sequence[tuple[int, Vectors]]) -> None:
    if not vectors:
        return
    counts = [len(values) for _, values in vectors]
    table = np.zeros(sum(counts), VECTOR)
    table["fields"], table["seq_size"], table["size"], table["dim"] = 2, 8, 4 + 2 * SIZE, SIZE
    table["seq"] = np.repeat([seq for seq, _ in vectors], counts)
    table["value"] = np.concatenate([values for _, values in vectors])
    with connection.cursor().copy("COPY pg_temp.staged_vector FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(BINARY_HEAD + table.tobytes() + BINARY_END)
