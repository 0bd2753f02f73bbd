"""AuditTrail: what was decided, written so that any later change can be seen."""

from __future__ import annotations

import functools
import hashlib
import os
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from director_ai.core.identifiers import check_identifier
from director_ai.core.safety_event import SafetyEvent, validate_safety_event
from director_ai.errors import ConfigError, RecordError, TrailBroken
from director_ai.record import chain
from director_ai.record.checkpoints import EVERY_ROWS, EVERY_SECONDS, Checkpoint, CheckpointFile
from director_ai.record.database import Database
from director_ai.record.keys import SigningKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection

    from director_ai.record.chain import AuditRow, Writer

__all__ = ["AuditTrail"]

T = TypeVar("T")
_MICROSECONDS: Final = 1_000_000


class AuditTrail:
    """A chain of rows for each tenant, in the database that they are about.

    Args:
        place: The path of an SQLite file, `:memory:`, or a postgresql:// URL.
        checkpoints: Where signed checkpoints are written; by default beside the file. Keep them where who can write
            to the database cannot write.
        signing_key: The path of the key, made where there is none; all processes of one trail need the same.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        place: str | os.PathLike[str] = ":memory:",
        *,
        checkpoints: str | os.PathLike[str] | None = None,
        signing_key: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.database = Database(place)
        self._clock = clock
        at = Path(checkpoints) if checkpoints is not None else _usual_place(self.database)
        if at is not None and not at.parent.is_dir():
            raise ConfigError("the folder of the checkpoints does not exist; create it first")
        self.checkpoints = CheckpointFile(at)
        key_at = signing_key or os.environ.get("DIRECTOR_AI_SIGNING_KEY") or (at and at.with_suffix(".key"))
        self.key = SigningKey.kept_at(Path(key_at)) if key_at else SigningKey.fresh()
        self._signing = threading.RLock()
        self._unsigned: dict[str, int] = {}
        """The last row of each tenant that no checkpoint covers yet."""
        self._timer: threading.Timer | None = None
        self._trouble: RecordError | None = None

    # --- writing ----------------------------------------------------------------------------------------------

    def record(self, event: SafetyEvent) -> AuditRow:
        """Add a safety event to its tenant's trail; one that holds more than identifiers and figures is refused."""
        if not isinstance(event, SafetyEvent):
            raise ConfigError(f"a SafetyEvent is recorded, got a {type(event).__name__}")
        validate_safety_event(event.to_dict())
        subject = event.request_id or event.event_id
        return self.append("safety_event", subject, event.to_dict(), tenant_id=event.tenant_id)

    def append(self, kind: str, subject: str, body: Mapping[str, Any], *, tenant_id: str = "") -> AuditRow:
        """Add a row; it is durable when this returns."""
        return self.write(lambda writer: writer.append(kind, subject, body), tenant_id)

    def write(self, work: Callable[[Writer], T], tenant_id: str) -> T:
        """Return what a function answers once what it wrote and the rows it added are durable, together."""
        check_identifier("tenant_id", tenant_id)
        if self._trouble is not None:
            self.sign()  # raises while the checkpoints cannot be written
        writers: list[Writer] = []

        def run(connection: Connection) -> T:
            writers[:] = [chain.Writer(connection, tenant_id, self.key, int(self._clock() * _MICROSECONDS))]
            return work(writers[0])

        answer = self.database.write(run, tenant_id)
        self._follow(writers[0].added)
        return answer

    def _follow(self, added: list[AuditRow]) -> None:
        """See to it that rows are covered by a checkpoint, at once or soon."""
        if not added:
            return
        with self._signing:
            tenant, last = added[-1].tenant_id, added[-1].sequence
            self._unsigned[tenant] = max(last, self._unsigned.get(tenant, 0))
            if self._timer is None:
                self._timer = threading.Timer(EVERY_SECONDS, _sign_later, [weakref.ref(self), os.getpid()])
                self._timer.daemon = True
                self._timer.start()
        if any(row.sequence % EVERY_ROWS == 0 for row in added):
            self._try_to_sign([tenant])

    # --- checkpoints ------------------------------------------------------------------------------------------

    def sign(self, tenants: list[str] | None = None) -> None:
        """Write checkpoints now, of some tenants or of all that have rows without one."""
        with self._signing:
            for tenant in list(self._unsigned) if tenants is None else tenants:
                self._sign(tenant)
            if not self._unsigned:
                self._trouble = None

    def _sign(self, tenant_id: str) -> None:
        """Write the checkpoint of a tenant's last row; rows that are not ours are not signed."""
        last = self._unsigned.get(tenant_id)
        if last is None:
            return
        after = max(0, last - EVERY_ROWS - 1)
        rows = self.database.read(functools.partial(chain.rows_of, tenant_id=tenant_id, after=after, most=last - after))
        known = rows.pop(0) if after else None
        chain.check_links(rows, known, self.key)
        if not rows or rows[-1].sequence != last:
            raise TrailBroken(f"row {last} is gone; run `director-ai audit verify`")
        self.checkpoints.add(Checkpoint.of(rows[-1], self.key, int(self._clock() * _MICROSECONDS)))
        del self._unsigned[tenant_id]

    def _try_to_sign(self, tenants: list[str] | None) -> None:
        """Sign; what goes wrong concerns the next write, for this one is durable."""
        try:
            self.sign(tenants)
        except RecordError as error:
            self._trouble = error

    def sign_overdue(self) -> None:
        """Write the checkpoints that are due by time."""
        with self._signing:
            self._timer = None
        self._try_to_sign(None)

    # --- reading ----------------------------------------------------------------------------------------------

    def rows(self, tenant_id: str = "", *, after: int = 0, limit: int = 1_000) -> list[AuditRow]:
        """Return rows of a tenant behind a place, in order."""
        return self.database.read(functools.partial(chain.rows_of, tenant_id=tenant_id, after=after, most=limit))

    def about(self, subject: str, tenant_id: str = "") -> list[AuditRow]:
        """Return the rows about one subject, in order."""
        return self.database.read(functools.partial(chain.rows_about, tenant_id=tenant_id, subject=subject))

    # --- the end ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write the last checkpoints and let go of the database."""
        with self._signing:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            try:
                if not self.database.closed:
                    self.sign()
            finally:
                self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _sign_later(trail: weakref.ref[AuditTrail], process: int) -> None:
    kept = trail()
    if kept is not None and process == os.getpid():
        kept.sign_overdue()


def _usual_place(database: Database) -> Path | None:
    """Return where the checkpoints of a database are by default: beside its file; None for one in memory."""
    if database.in_memory:
        return None
    if not database.is_postgresql:
        return Path(f"{database.place}.checkpoints")
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "director-ai"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"there is no folder for the checkpoints of the audit trail ({error.strerror}); give checkpoints a path"
        ) from None
    return folder / f"{hashlib.sha256(database.address.encode()).hexdigest()[:16]}.checkpoints"
