"""AuditTrail: what was decided, written so that any later change can be seen."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self, TextIO, TypeVar

from director_ai.core.identifiers import check_identifier
from director_ai.core.safety_event import SafetyEvent, validate_safety_event
from director_ai.errors import ConfigError, PayloadError, RecordError, TrailBroken
from director_ai.record import chain
from director_ai.record.checkpoints import EVERY_ROWS, EVERY_SECONDS, Checkpoint, CheckpointFile
from director_ai.record.database import Database
from director_ai.record.keys import SigningKey
from director_ai.record.retention import check_terms, empty_batch
from director_ai.record.transfer import export_rows, import_rows
from director_ai.record.verification import verify_database

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from director_ai.record.chain import AuditRow, Writer
    from director_ai.record.keys import VerifyKey
    from director_ai.record.transfer import Moved
    from director_ai.record.verdicts import Verification

__all__ = ["AuditTrail", "usual_checkpoints"]

T = TypeVar("T")
_MICROSECONDS: Final = 1_000_000
RESERVED: Final = ("retention", "safety_event")
RESERVED_PREFIXES: Final = ("case.", "key.", "switch.")


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
        try:
            at = _checked(checkpoints) if checkpoints is not None else _usual_place(self.database)
            self.checkpoints = CheckpointFile(at)
            key_at = signing_key or os.environ.get("DIRECTOR_AI_SIGNING_KEY") or (at and at.with_suffix(".key"))
            self.key = _key_of(self.database, Path(key_at)) if key_at else SigningKey.fresh()
        except BaseException:
            self.database.close()
            raise
        self._compared: dict[str, int] = {}
        """The last row of each tenant that was compared with its newest checkpoint."""
        self._process = os.getpid()
        self._at_exit = functools.partial(_sign_later, weakref.ref(self), self._process)
        atexit.register(self._at_exit)
        self._signing = threading.RLock()
        self._unsigned: dict[str, int] = {}
        """The last row of each tenant that no checkpoint covers yet."""
        self._timer: threading.Timer | None = None
        self._troubled: set[str] = set()
        """Tenants whose last checkpoint could not be written, or whose rows are not ours to sign."""

    # --- writing ----------------------------------------------------------------------------------------------

    def record(self, event: SafetyEvent) -> AuditRow:
        """Add a safety event to its tenant's trail; one that holds more than identifiers and figures is refused."""
        if not isinstance(event, SafetyEvent):
            raise ConfigError(f"a SafetyEvent is recorded, got a {type(event).__name__}")
        validate_safety_event(event.to_dict())
        subject = event.request_id or event.event_id
        body = event.to_dict()
        return self.write(lambda writer: writer.append("safety_event", subject, body), event.tenant_id)

    def append(self, kind: str, subject: str, body: Mapping[str, Any], *, tenant_id: str = "") -> AuditRow:
        """Add a row; it is durable when this returns. Kinds that the queue, the keys and the trail use are theirs."""
        if isinstance(kind, str) and (kind in RESERVED or kind.startswith(RESERVED_PREFIXES)):
            raise ConfigError("this kind of row is written by the library alone; choose another")
        if not isinstance(body, Mapping):
            raise PayloadError(f"the body of a row maps names to values, got a {type(body).__name__}")
        return self.write(lambda writer: writer.append(kind, subject, body), tenant_id)

    def write(self, work: Callable[[Writer], T], tenant_id: str, *, signed: bool = False) -> T:
        """Return what a function answers once what it wrote and the rows it added are durable, together.

        With `signed`, a checkpoint covers them by then, outside of the database.
        """
        check_identifier("tenant_id", tenant_id)
        self._settle()
        if tenant_id in self._troubled:
            self.sign([tenant_id])  # raises while its checkpoints cannot be written
        writers: list[Writer] = []
        known = self._unsigned.get(tenant_id, 0)  # a cut that no checkpoint would show is seen here

        def run(connection: Connection) -> T:
            writers[:] = [chain.Writer(connection, tenant_id, self.key, int(self._clock() * _MICROSECONDS))]
            if writers[0].last < known:
                raise TrailBroken(f"row {known} is gone, and was written; run `director-ai audit verify`")
            self._check_signed(writers[0])
            return work(writers[0])

        answer = self.database.write(run, tenant_id)
        self._follow(writers[0].added)
        if writers[0].last - self._compared.get(tenant_id, 0) >= EVERY_ROWS:
            self._try_to_sign(tenant_id)  # whoever should have did not come to it
        if signed:
            self.sign([tenant_id])
        return answer

    def _check_signed(self, writer: Writer) -> None:
        """Refuse a trail that is behind its newest checkpoint: a copy was put back, or its end was cut."""
        newest, tenant = self.checkpoints.newest(writer.tenant_id), writer.tenant_id
        if newest is None or newest.sequence == self._compared.get(tenant, 0) <= writer.last:
            return
        if newest.key_id != self.key.key_id or not self.key.has_signed(newest.message(), newest.signature):
            return  # whoever wrote that line does not have the key
        if chain.hash_at(writer.connection, tenant, newest.sequence) != newest.hash:
            raise TrailBroken(
                f"the trail is not the one that was signed: row {newest.sequence} is gone or another. If a copy of the "
                "database was put back, put back the newest one; otherwise run `director-ai audit verify`"
            )
        self._compared[tenant] = newest.sequence

    def _settle(self) -> None:
        """Begin anew in a forked process: neither the timer nor who held the lock came along."""
        if self._process != os.getpid():
            self._signing, self._timer, self._process = threading.RLock(), None, os.getpid()

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
            self._try_to_sign(tenant)

    # --- checkpoints ------------------------------------------------------------------------------------------

    def sign(self, tenants: list[str] | None = None) -> None:
        """Write checkpoints now, of some tenants or of all that have rows without one."""
        with self._signing:
            wrong: list[RecordError] = []
            for tenant in list(self._unsigned) if tenants is None else tenants:
                try:
                    self._sign(tenant)
                    self._troubled.discard(tenant)
                except RecordError as error:  # one tenant's trouble is not the others'
                    wrong.append(error)
        if wrong:
            raise wrong[0]

    def _sign(self, tenant_id: str) -> None:
        """Write the checkpoint of a tenant's last row; rows that are not ours are not signed."""
        last = self._unsigned.get(tenant_id)
        if last is None:
            return
        after = max(0, last - EVERY_ROWS - 1)
        rows = self.database.read(functools.partial(chain.rows_of, tenant_id=tenant_id, after=after, most=last - after))
        if not rows or rows[-1].sequence != last:
            raise TrailBroken(f"row {last} is gone; run `director-ai audit verify`")
        known = rows.pop(0) if after else None
        chain.check_links(rows, known, self.key)
        self.checkpoints.add(Checkpoint.of(rows[-1], self.key, int(self._clock() * _MICROSECONDS)))
        del self._unsigned[tenant_id]

    def _try_to_sign(self, tenant: str) -> None:
        """Sign; what goes wrong concerns the tenant's next write, for this one is durable."""
        try:
            self.sign([tenant])
        except RecordError:
            self._troubled.add(tenant)

    def sign_overdue(self) -> None:
        """Write the checkpoints that are due by time."""
        with self._signing:
            self._timer = None
            due = list(self._unsigned)
        for tenant in due:
            self._try_to_sign(tenant)

    # --- reading ----------------------------------------------------------------------------------------------

    def rows(self, tenant_id: str = "", *, after: int = 0, limit: int = 1_000) -> list[AuditRow]:
        """Return rows of a tenant behind a place, in order."""
        return self.database.read(functools.partial(chain.rows_of, tenant_id=tenant_id, after=after, most=limit))

    def about(self, subject: str, tenant_id: str = "") -> list[AuditRow]:
        """Return the rows about one subject, in order."""
        return self.database.read(functools.partial(chain.rows_about, tenant_id=tenant_id, subject=subject))

    def verify(
        self,
        tenant_id: str | None = None,
        *,
        key: VerifyKey | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Verification:
        """Check one tenant's rows or all, and name the first that is not as it was written.

        Args:
            tenant_id: Whose; None stands for all.
            key: Another key than the trail's own, for example its public half.
            progress: Told how many rows were read.
        """
        key = self.key if key is None else key
        return verify_database(self.database, self.checkpoints, key, tenant_id, progress=progress)

    def export(
        self, stream: TextIO, tenant_id: str | None = None, *, progress: Callable[[int], None] | None = None
    ) -> Moved:
        """Write one tenant's rows or all as JSON lines, with their checkpoints."""
        return export_rows(self.database, self.checkpoints, stream, tenant_id, progress=progress)

    # --- moving and forgetting --------------------------------------------------------------------------------

    def import_rows(self, stream: BinaryIO, *, progress: Callable[[int], None] | None = None) -> Moved:
        """Take over the rows of an export that was made with the same key: all of them, or none."""
        self._settle()
        return import_rows(self.database, self.checkpoints, self.key, stream, progress=progress)

    def retain(
        self, before: datetime, tenant_id: str = "", *, by: str, progress: Callable[[int], None] | None = None
    ) -> int:
        """Let go of what a tenant's rows from before a moment say, and return how many had something to say.

        Their hashes stay, and rows of the kind `retention` say who let go of what.
        """
        moment = check_terms(before, by, int(self._clock() * _MICROSECONDS))
        work = functools.partial(empty_batch, key=self.key, before=moment, by=by)
        count = 0
        while (emptied := self.write(work, tenant_id)) is not None:
            count += emptied.rows
            if progress is not None:
                progress(count)
        head = self.database.read(functools.partial(chain.head_of, tenant_id=tenant_id))
        if head is not None:
            with self._signing:  # who has the public key alone believes a retention row that a checkpoint covers
                self._unsigned[tenant_id] = head.sequence
                self.sign([tenant_id])
        return count

    # --- the end ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write the last checkpoints and let go of the database."""
        atexit.unregister(self._at_exit)
        self._settle()
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


def _key_of(database: Database, path: Path) -> SigningKey:
    """Return the key of a trail, made where both are new."""
    # The second look: a process that starts beside us creates the key before it writes its first row.
    if not path.exists() and database.read(chain.has_rows) and not path.exists():
        raise ConfigError(
            "the signing key of the trail is not at its place; put it back, or give signing_key its path: "
            "with a new one all that was written would look forged"
        )
    return SigningKey.kept_at(path)


def _checked(checkpoints: str | os.PathLike[str]) -> Path:
    at = Path(checkpoints)
    if not at.parent.is_dir():
        raise ConfigError("the folder of the checkpoints does not exist; create it first")
    return at


def usual_checkpoints(database: Database) -> Path | None:
    """Return where the checkpoints of a database are by default: beside its file; None for one in memory."""
    if database.in_memory:
        return None
    if not database.is_postgresql:
        return Path(f"{database.place}.checkpoints")
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "director-ai"
    return folder / f"{hashlib.sha256(database.address.encode()).hexdigest()[:16]}.checkpoints"


def _usual_place(database: Database) -> Path | None:
    """Return where checkpoints go by default, with the folder made."""
    at = usual_checkpoints(database)
    if at is not None and database.is_postgresql:
        try:
            at.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"there is no folder for the checkpoints of the audit trail ({error.strerror}); give checkpoints a path"
            ) from None
    return at
