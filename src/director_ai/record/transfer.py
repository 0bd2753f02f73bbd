"""A trail as JSON lines, out of a database and into another, with what proves it."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TextIO

import sqlalchemy as sa

from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError, TrailBroken
from director_ai.record.chain import head_of
from director_ai.record.checkpoints import Checkpoint
from director_ai.record.export_file import (
    ExportFile,
    end_line,
    first_line,
    json_line,
    parsed_row,
    record_of,
    verify_export,
)
from director_ai.record.scan import FIELDS, pages_of, tenants_in
from director_ai.record.signatures import is_torn
from director_ai.record.tables import AUDIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from director_ai.record.checkpoints import CheckpointFile
    from director_ai.record.database import Database
    from director_ai.record.keys import SigningKey
    from director_ai.record.scan import RawRow

    Told = Callable[[int], None] | None

__all__ = ["Moved", "export_rows", "import_rows"]

BATCH: Final = 500
IN_MEMORY: Final = 2**20
_INSERT: Final = sa.insert(AUDIT)
_EMPTY: Final = (
    sa.update(AUDIT)
    .where(AUDIT.c.tenant == sa.bindparam("of"), AUDIT.c.sequence == sa.bindparam("nr"), AUDIT.c.body.is_not(None))
    .values(body=None)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was written or taken over."""

    rows: int
    tenants: int
    checkpoints: int


# --- out ------------------------------------------------------------------------------------------------------------


def export_rows(
    database: Database,
    checkpoints: CheckpointFile,
    stream: TextIO,
    tenant_id: str | None = None,
    *,
    progress: Told = None,
) -> Moved:
    """Write the rows of one tenant or of all, as of one moment, and what was signed of them.

    What comes out is what is there: whether it is what was written, `verify` says, of the file as of the database.
    """
    if tenant_id is not None:
        check_identifier("tenant_id", tenant_id)
    known = sum(1 for _ in checkpoints.lines())
    written = _Written(stream)
    written.line(first_line())

    def work(connection: Connection) -> dict[str, int]:
        names = sorted(tenants_in(connection)) if tenant_id is None else [tenant_id]
        return {name: _write_tenant(connection, name, written, progress) for name in names}

    heads = database.read(work)
    signed = 0
    for number, line in enumerate(checkpoints.lines(), 1):
        given = _checkpoint(line.rstrip("\r\n"), number)
        if given is None or (tenant_id is not None and given.tenant_id != tenant_id):
            continue
        # What was signed before the rows were read stays, also where its row is gone: it is the proof of that.
        if number <= known or given.sequence <= heads.get(given.tenant_id, 0):
            written.line(json_line({"checkpoint": given.fields()}))
            signed += 1
    rows = written.rows
    written.line(end_line(rows, signed, written.digest))
    return Moved(rows=rows, tenants=sum(1 for last in heads.values() if last), checkpoints=signed)


class _Written:
    """A stream, with the hash of what went into it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.rows = 0

    def line(self, text: str) -> None:
        self._stream.write(text)
        self._hash.update(text.encode())

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def _write_tenant(connection: Connection, tenant_id: str, written: _Written, progress: Told) -> int:
    """Write a tenant's rows and return the number of the last one."""
    last = 0
    for page in pages_of(connection, tenant_id):
        for row in page:
            try:
                written.line(json_line(record_of(tenant_id, row)))
            except (TypeError, ValueError):
                raise TrailBroken(
                    f"the row after row {last} holds what no export can; run `director-ai audit verify`"
                ) from None
            last = row[0]
            written.rows += 1
        if progress is not None:
            progress(written.rows)
    return last if type(last) is int else 0


def _checkpoint(line: str, number: int) -> Checkpoint | None:
    given = Checkpoint.from_line(line)
    if given is None and not is_torn(line):
        raise TrailBroken(f"line {number} of the checkpoints cannot be read; run `director-ai audit verify`")
    return given


# --- in -------------------------------------------------------------------------------------------------------------


def import_rows(
    database: Database, checkpoints: CheckpointFile, key: SigningKey, stream: BinaryIO, *, progress: Told = None
) -> Moved:
    """Take over what an export holds, verified: all of it, or nothing.

    A tenant's trail must be empty, or the beginning of the one in the file. Repeated, it does nothing more.
    """
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as spool:
        if not stream.seekable():
            shutil.copyfileobj(stream, spool)
            stream = spool  # type: ignore[assignment]  # all that is used of it is there
        file = ExportFile(stream)
        verdict = verify_export(file, key, progress=progress)
        if verdict.problem is not None:
            raise TrailBroken(f"{verdict.problem.sentence}; nothing was imported")
        count, tenants = _insert(database, file, progress)
        signed = 0
        present = {_mark(line) for line in checkpoints.lines()}
        for _, text in file.checkpoint_lines():
            given = Checkpoint.from_line(text)
            if given is not None and _mark(text) not in present:
                checkpoints.add(given)
                signed += 1
    return Moved(rows=count, tenants=tenants, checkpoints=signed)


def _mark(line: str) -> bytes:
    return hashlib.sha256(line.strip().encode("utf-8", "surrogatepass")).digest()[:16]


def _insert(database: Database, file: ExportFile, progress: Told) -> tuple[int, int]:
    """Add the rows that are not there yet, in one transaction; return how many, and of how many tenants."""
    first = next(_rows(file), None)
    if first is None:
        return 0, 0

    def work(connection: Connection) -> tuple[int, int]:
        adding, seen = _Adding(connection), hashlib.sha256()
        for tenant, row in _rows(file, seen):
            if tenant != adding.tenant:
                adding.begin(tenant, database)
            adding.take(row)
            if progress is not None and adding.read % BATCH == 0:
                progress(adding.read)
        adding.end()
        if seen.hexdigest() != file.rows_digest:
            raise TrailBroken("the file was changed while it was read; nothing was imported")
        return adding.added, adding.tenants

    return database.write(work, first[0])


def _rows(file: ExportFile, seen: Any = None) -> Iterator[tuple[str, RawRow]]:
    for number, line in file.row_lines():
        if seen is not None:
            seen.update(line)
        parsed = parsed_row(line)
        if parsed is None:
            raise TrailBroken(f"line {number} is no row of an audit trail; nothing was imported")
        yield parsed


class _Adding:
    """Adds rows tenant by tenant, behind those that are there already."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: list[dict[str, Any]] = []
        self._emptied: list[dict[str, Any]] = []
        self._last, self._hash = 0, ""
        self._reached = 0
        self.tenant: str | None = None
        self.tenants = 0
        self.read = 0
        self.added = 0

    def begin(self, tenant: str, database: Database) -> None:
        """Turn to another tenant."""
        self.end()
        if self.tenant is not None:
            database.hold(self._connection, tenant)
        head = head_of(self._connection, tenant)
        self._last, self._hash = (head.sequence, head.hash) if head is not None else (0, "")
        self.tenant, self._reached = tenant, 0
        self.tenants += 1

    def take(self, row: RawRow) -> None:
        """Add a row, unless it is there."""
        sequence, digest = row[0], row[7]
        self.read += 1
        self._reached = sequence
        if sequence == self._last and digest != self._hash:
            raise _other()
        if sequence > self._last:
            self._waiting.append({"tenant": self.tenant, **dict(zip(FIELDS, row, strict=True))})
            self.added += 1
        elif row[4] is None:
            self._emptied.append({"of": self.tenant, "nr": sequence})
        if len(self._waiting) + len(self._emptied) >= BATCH:
            self._flush()

    def end(self) -> None:
        """Finish a tenant."""
        self._flush()
        if self._reached < self._last:
            raise _other()

    def _flush(self) -> None:
        for statement, values in ((_INSERT, self._waiting), (_EMPTY, self._emptied)):
            if values:
                self._connection.execute(statement, values)
                values.clear()


def _other() -> ConfigError:
    return ConfigError(
        "a tenant's trail in the database is not the beginning of the one in the file; nothing was imported"
    )
