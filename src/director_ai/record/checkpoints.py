"""Checkpoints: signed notes, outside the database, of how far a trail had come; they give away a cut tail."""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import RecordError
from director_ai.record.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from director_ai.record.chain import AuditRow
    from director_ai.record.keys import SigningKey

__all__ = ["EVERY_ROWS", "EVERY_SECONDS", "Checkpoint", "CheckpointFile"]

EVERY_ROWS: Final = 64
EVERY_SECONDS: Final = 10.0
LONGEST_LINE: Final = 4_096
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """At this row the trail had this hash."""

    tenant_id: str
    sequence: int
    hash: str
    at: int
    key_id: str
    signature: str

    @classmethod
    def of(cls, row: AuditRow, key: SigningKey, at: int) -> Checkpoint:
        """Return the signed checkpoint of a row."""
        unsigned = cls(
            tenant_id=row.tenant_id, sequence=row.sequence, hash=row.hash, at=at, key_id=key.key_id, signature=""
        )
        return cls(
            tenant_id=row.tenant_id,
            sequence=row.sequence,
            hash=row.hash,
            at=at,
            key_id=key.key_id,
            signature=key.sign(unsigned.message()),
        )

    def message(self) -> str:
        """Return what is signed."""
        return canonical(self._unsigned())

    def line(self) -> str:
        """Return it as a line of JSON."""
        return canonical(self.fields())

    @classmethod
    def from_line(cls, line: str) -> Checkpoint | None:
        """Return what a line says; None where it is no checkpoint."""
        try:
            given: dict[str, Any] = json.loads(line)
            made = cls(
                tenant_id=given["tenant"],
                sequence=given["sequence"],
                hash=given["hash"],
                at=given["at"],
                key_id=given["key"],
                signature=given["signature"],
            )
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        texts = (made.tenant_id, made.hash, made.key_id, made.signature)
        numbers = (made.sequence, made.at)
        if not all(type(each) is str for each in texts) or not all(type(each) is int for each in numbers):
            return None
        return made

    def fields(self) -> dict[str, Any]:
        """Return what its line holds."""
        return {**self._unsigned(), "signature": self.signature}

    def _unsigned(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "hash": self.hash,
            "key": self.key_id,
            "sequence": self.sequence,
            "tenant": self.tenant_id,
            "version": _VERSION,
        }


_NEWEST: Final = re.compile(rb'"sequence":([0-9]{1,18}),"signature":"[0-9a-f]*","tenant":"([^"]*)"')


class CheckpointFile:
    """Where checkpoints are kept: a file that is only added to, by any number of processes; or memory."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._kept: list[str] = []
        self._lock = threading.Lock()
        self._read = 0
        """Bytes of the file that were looked at."""
        self._newest: dict[str, tuple[int, str]] = {}
        """The last row that a checkpoint of each tenant is of, and its line."""

    def add(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint; it is on the disk when this returns."""
        line = checkpoint.line()
        if self.path is None:
            with self._lock:
                self._kept.append(line)
            return
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                data = f"{'' if _ends_whole(handle) else chr(10)}{line}\n".encode()
                if os.write(handle, data) < len(data):  # one call: lines of several processes do not mix
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise RecordError(
                f"the checkpoints of the audit trail cannot be written ({error.strerror}); "
                "nothing more is recorded or released until they can"
            ) from None

    def newest(self, tenant_id: str) -> Checkpoint | None:
        """Return the checkpoint of a tenant that goes furthest, whoever wrote it."""
        with self._lock:
            for line in self._unread():
                found = _NEWEST.search(line)
                if found is not None:
                    sequence, tenant = int(found[1]), found[2].decode("utf-8", "replace")
                    if sequence >= self._newest.get(tenant, (0, ""))[0]:
                        self._newest[tenant] = sequence, line.decode("utf-8", "replace")
            known = self._newest.get(tenant_id)
        return None if known is None else Checkpoint.from_line(known[1])

    def _unread(self) -> list[bytes]:
        """Return the lines that were added since the last time."""
        if self.path is None:
            fresh, self._read = self._kept[self._read :], len(self._kept)
            return [line.encode() for line in fresh]
        try:
            size = self.path.stat().st_size
            if size == self._read:
                return []
            if size < self._read:  # another file took its place
                self._read = 0
                self._newest.clear()
            with self.path.open("rb") as file:
                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RecordError(f"the checkpoints of the audit trail cannot be read ({error.strerror})") from None
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        return whole.splitlines()

    def lines(self) -> Iterator[str]:
        """Yield what was written, line by line."""
        if self.path is None:
            yield from list(self._kept)
            return
        try:
            with self.path.open(encoding="utf-8", errors="replace") as file:
                while line := file.readline(LONGEST_LINE):
                    if line.strip():
                        yield line
        except FileNotFoundError:
            return
        except OSError as error:
            raise RecordError(f"the checkpoints of the audit trail cannot be read ({error.strerror})") from None


def _ends_whole(handle: int) -> bool:
    """Whether a file is empty or ends with a whole line: a full disk or a crash may have cut the last one."""
    if not os.fstat(handle).st_size:
        return True
    os.lseek(handle, -1, os.SEEK_END)
    return os.read(handle, 1) == b"\n"
