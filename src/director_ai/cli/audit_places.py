"""What the commands of `director-ai audit` open: databases, checkpoints, keys and files that are there already."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from director_ai.errors import ConfigError, DirectorError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.record.checkpoints import CheckpointFile
    from director_ai.record.database import Database
    from director_ai.record.keys import VerifyKey
    from director_ai.record.trail import AuditTrail

__all__ = ["Opened", "key_at", "made_trail", "opened_bytes", "opened_database", "opened_trail"]

_PRIVATE: Final = "the private one that the rows were sealed with"
_EITHER: Final = "the private or the public one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A database that is only read, and where its checkpoints are."""

    database: Database
    checkpoints: CheckpointFile
    at: Path

    def check_signed(self) -> None:
        """Refuse to judge a trail without its checkpoints: a cut tail could not be seen."""
        if not self.at.is_file():
            raise ConfigError(
                f"there are no checkpoints at {str(self.at)!r}; give --checkpoints the path that the trail was made "
                "with (the first one is written within 10 seconds)"
            )


@contextlib.contextmanager
def opened_database(db: str, checkpoints: str = "") -> Iterator[Opened]:
    """Lend a database that is there, for reading."""
    from director_ai.record.checkpoints import CheckpointFile  # noqa: PLC0415 - keeps `--help` quick
    from director_ai.record.database import Database  # noqa: PLC0415 - as above
    from director_ai.record.trail import usual_checkpoints  # noqa: PLC0415 - as above

    given = _path("--checkpoints", checkpoints)
    if db and "\0" not in db and "://" not in db and not Path(db).exists():
        raise ConfigError(f"there is no database at {db!r}; give --db the path or the URL of one")
    with contextlib.closing(Database(db, read_only=True)) as database:
        at = given or usual_checkpoints(database)
        assert at is not None  # noqa: S101 - one in memory is refused
        yield Opened(database=database, checkpoints=CheckpointFile(at), at=at)


@contextlib.contextmanager
def opened_trail(db: str, checkpoints: str = "", key: str = "") -> Iterator[AuditTrail]:
    """Lend a trail for writing; its database and its key must be there."""
    from director_ai.record.trail import AuditTrail  # noqa: PLC0415 - as above

    with opened_database(db, checkpoints) as opened:
        at = opened.at
    kept = _path("--key", key) or at.with_suffix(".key")
    _check_key(kept, _PRIVATE)
    with AuditTrail(db, checkpoints=at, signing_key=kept) as trail:
        yield trail


@contextlib.contextmanager
def made_trail(db: str, checkpoints: str, key: str, export: BinaryIO) -> Iterator[AuditTrail]:
    """Lend a trail for an export that was found good, made where there is none; if the import fails, it is gone again.

    Its key must be there: rows are taken over only with the one that sealed them.
    """
    from director_ai.record.trail import AuditTrail  # noqa: PLC0415 - as above

    at = _path("--checkpoints", checkpoints) or (None if "://" in db else Path(f"{db}.checkpoints"))
    kept = _path("--key", key) or (at.with_suffix(".key") if at is not None else None)
    if kept is None:
        raise ConfigError("the key that the export was made with is needed; give --key, the private one")
    _check_key(kept, _PRIVATE)
    rows = _rows_checked(export, kept)
    with _removed_on_failure(db, at, rows), AuditTrail(db, checkpoints=at, signing_key=kept) as trail:
        yield trail


def _rows_checked(export: BinaryIO, key: Path) -> int:
    """Return how many rows an export holds; one that is not as it was written is refused before anything is made."""
    from director_ai.errors import TrailBroken  # noqa: PLC0415 - as above
    from director_ai.record.export_file import ExportFile, verify_export  # noqa: PLC0415 - as above
    from director_ai.record.keys import SigningKey  # noqa: PLC0415 - as above

    whole = SigningKey.kept_at(key)
    found = verify_export(ExportFile(export), whole)
    if found.problem is not None:
        raise TrailBroken(f"{found.problem.sentence}; nothing was imported")
    export.seek(0)
    return found.rows


@contextlib.contextmanager
def _removed_on_failure(db: str, checkpoints: Path | None, rows: int) -> Iterator[None]:
    """Leave no new file behind where an import fails; one that holds more than its rows is used by others and stays."""
    made = [] if "://" in db or _exists(Path(db)) else [Path(f"{db}{end}") for end in ("", "-wal", "-shm", "-journal")]
    if made and checkpoints is not None and not checkpoints.exists():
        made.append(checkpoints)
    try:
        yield
    except BaseException:
        if made and _rows_in(db) <= rows:
            for path in made:
                with contextlib.suppress(OSError):
                    path.unlink()
        raise


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # what cannot be a path is refused by who opens it
        return True


def _rows_in(db: str) -> int:
    """Return how many rows a database holds; none where it cannot be read."""
    import sqlalchemy as sa  # noqa: PLC0415 - as above

    from director_ai.record.tables import AUDIT  # noqa: PLC0415 - as above

    query = sa.select(sa.func.count()).select_from(AUDIT)
    try:
        with opened_database(db) as opened:
            return opened.database.read(lambda connection: connection.scalar(query)) or 0
    except DirectorError:
        return 0


def key_at(key: str, beside: Path | None = None) -> VerifyKey:
    """Return the key of a file that is there, or of the one beside the checkpoints."""
    from director_ai.record.keys import read_key  # noqa: PLC0415 - as above

    path = _path("--key", key) or (beside.with_suffix(".key") if beside is not None else None)
    if path is None:
        raise ConfigError(f"a key is needed to check signatures; give --key, {_EITHER}")
    _check_key(path, _EITHER)
    return read_key(path)


def _check_key(path: Path, which: str) -> None:
    if not path.is_file():
        raise ConfigError(f"there is no key at {str(path)!r}; give --key, {which}")


def _path(option: str, given: str) -> Path | None:
    if "\0" in given or (given and not given.strip()):
        raise ConfigError(f"{option} must be the path of a file")
    return Path(given) if given else None


@contextlib.contextmanager
def opened_bytes(name: str) -> Iterator[BinaryIO]:
    """Lend a file that can be read more than once; `-` is the standard input."""
    if "\0" in name or not name.strip():
        raise ConfigError("a file must be named by its path")
    shown = "the standard input" if name == "-" else repr(name)
    try:
        if name != "-":
            with Path(name).open("rb") as file:
                if file.seekable():
                    yield file
                    return
                source: BinaryIO = file
                with _copied(source) as copy:
                    yield copy
            return
        if sys.stdin is None:
            raise ConfigError("the standard input is closed; give a file instead")
        with _copied(sys.stdin.buffer) as copy:
            yield copy
    except OSError as error:
        raise ConfigError(f"{shown} cannot be read ({error.strerror or type(error).__name__})") from None


@contextlib.contextmanager
def _copied(source: BinaryIO) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(source, copy)
        copy.seek(0)
        yield copy
