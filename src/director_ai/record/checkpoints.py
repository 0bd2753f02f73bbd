"""Checkpoints: signed notes, outside the database, of how far a trail had come; they give away a cut tail."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import RecordError
from director_ai.record.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.record.chain import AuditRow
    from director_ai.record.keys import SigningKey

__all__ = ["EVERY_ROWS", "EVERY_SECONDS", "Checkpoint", "CheckpointFile"]

EVERY_ROWS: Final = 64
EVERY_SECONDS: Final = 10.0
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
        return canonical(self._fields())

    def line(self) -> str:
        """Return it as a line of JSON."""
        return canonical({**self._fields(), "signature": self.signature})

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

    def _fields(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "hash": self.hash,
            "key": self.key_id,
            "sequence": self.sequence,
            "tenant": self.tenant_id,
            "version": _VERSION,
        }


class CheckpointFile:
    """Where checkpoints are kept: a file that is only added to, by any number of processes; or memory."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._kept: list[str] = []
        self._lock = threading.Lock()

    def add(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint; it is on the disk when this returns."""
        line = checkpoint.line()
        if self.path is None:
            with self._lock:
                self._kept.append(line)
            return
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(handle, f"{line}\n".encode())  # one call: lines of several processes do not mix
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise RecordError(
                f"the checkpoints of the audit trail cannot be written ({error.strerror}); "
                "nothing more is recorded or released until they can"
            ) from None

    def lines(self) -> Iterator[str]:
        """Yield what was written, line by line."""
        if self.path is None:
            yield from list(self._kept)
            return
        try:
            with self.path.open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    if line.strip():
                        yield line
        except FileNotFoundError:
            return
        except OSError as error:
            raise RecordError(f"the checkpoints of the audit trail cannot be read ({error.strerror})") from None
