"""What the commands about reviews and their trail share: options, the database they open, the case that is meant."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from director_ai.errors import ConfigError, MissingExtra, Refused, UnknownCase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL

    from director_ai.review.queue import HumanReviewQueue

__all__ = [
    "DEFAULT_DB",
    "REFUSED",
    "AsJson",
    "Case",
    "Checkpoints",
    "Db",
    "Key",
    "Places",
    "Reviewer",
    "Tenant",
    "case_meant",
    "opened_case",
    "opened_queue",
    "places_of",
    "refusals_said",
]

DEFAULT_DB: Final = "director.db"
"""Where a server keeps them as well."""
REFUSED: Final = 1
"""The exit status where the gate refuses, or nothing is found."""

Db = Annotated[
    str,
    typer.Option(
        "--db",
        envvar=["DIRECTOR_AI_REVIEW_DB", "DIRECTOR_AI_SERVER_DATABASE"],
        help="The review queue: a file, or a postgresql:// URL.",
    ),
]
Tenant = Annotated[
    str | None, typer.Option("--tenant", help="Only this tenant's; '' stands for what belongs to none.", metavar="ID")
]
Checkpoints = Annotated[
    str, typer.Option("--checkpoints", help="The trail's signed checkpoints.", show_default="beside the database")
]
Key = Annotated[
    str,
    typer.Option(
        "--key",
        envvar="DIRECTOR_AI_SIGNING_KEY",
        help="The trail's private key.",
        show_default="beside the checkpoints",
    ),
]
Case = Annotated[
    str, typer.Argument(help="The id of a case, or `case-` and at least 8 more characters of it.", show_default=False)
]
Reviewer = Annotated[
    str, typer.Option("--reviewer", envvar="DIRECTOR_AI_USER", help="Who decides.", show_default="the login name")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line, and nothing else.")]

_URLS: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
_CASE: Final = re.compile(r"case-[0-9a-f]{8,32}")
_WHOLE: Final = 37
"""Characters of a case id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a queue and what proves its trail are; the database and the key are there."""

    db: str
    checkpoints: Path
    key: Path


def places_of(db: str, checkpoints: str = "", key: str = "") -> Places:
    """Return where everything is, or refuse what is not there: a command makes no database and no key."""
    for option, given in (("--db", db), ("--checkpoints", checkpoints), ("--key", key)):
        if "\0" in given or (given and not given.strip()):
            raise ConfigError(f"{option} must be the path of a file")
    address, beside = (_server if db.startswith(_URLS) else _file)(db)
    if not _has_tables(address):
        raise ConfigError("the database holds no review queue; the program that puts cases into one makes it")
    notes = Path(checkpoints) if checkpoints else beside
    if checkpoints and not notes.is_file():
        raise ConfigError(
            f"there are no checkpoints at {checkpoints!r}; give the path that the queue was made with "
            "(its first checkpoint is written within 10 seconds)"
        )
    kept = Path(key) if key else notes.with_suffix(".key")
    if not kept.is_file():
        raise ConfigError(f"there is no key at {str(kept)!r}; give --key, or --checkpoints where it lies beside them")
    return Places(db=db, checkpoints=notes, key=kept)


@contextlib.contextmanager
def opened_queue(db: str, checkpoints: str = "", key: str = "") -> Iterator[HumanReviewQueue]:
    """Lend the review queue at a path or URL; what its gate refuses ends the command with a sentence."""
    from director_ai.review.queue import HumanReviewQueue  # noqa: PLC0415 - keeps `--help` quick

    places = places_of(db, checkpoints, key)
    queue = HumanReviewQueue(places.db, checkpoints=places.checkpoints, signing_key=places.key)
    with refusals_said(), queue:
        yield queue


@contextlib.contextmanager
def opened_case(
    case: str, tenant_id: str | None, db: str, checkpoints: str = "", key: str = ""
) -> Iterator[tuple[HumanReviewQueue, str]]:
    """Lend the queue with the id of the case that is meant."""
    with opened_queue(db, checkpoints, key) as queue:
        yield queue, case_meant(queue, case, tenant_id)


@contextlib.contextmanager
def refusals_said() -> Iterator[None]:
    """Say what the gate refuses on the standard error, and end with the status that stands for it."""
    try:
        yield
    except Refused as refusal:
        typer.echo(f"director-ai: {refusal}", err=True)
        raise typer.Exit(REFUSED) from None


def case_meant(queue: HumanReviewQueue, given: str, tenant_id: str | None) -> str:
    """Return the id of the case that is named by it, or by a beginning that only one case of the tenant has."""
    import sqlalchemy as sa  # noqa: PLC0415 - as above

    from director_ai.core.identifiers import check_identifier  # noqa: PLC0415 - as above
    from director_ai.record.tables import CASE  # noqa: PLC0415 - as above

    if tenant_id is not None:
        check_identifier("tenant_id", tenant_id)
    if not _CASE.fullmatch(given):
        raise ConfigError("a case is named by its id, or by `case-` and at least the next 8 characters of it")
    # Both ends look like an id, so that they stand around the same ones in whatever order a database sorts.
    alike = sa.select(CASE.c.case_id).where(CASE.c.case_id.between(given.ljust(_WHOLE, "0"), given.ljust(_WHOLE, "f")))
    if tenant_id is not None:
        alike = alike.where(CASE.c.tenant == tenant_id)
    found = queue.trail.database.read(lambda connection: list(connection.scalars(alike.limit(2))))
    if not found:
        raise UnknownCase("there is no such case" + ("" if tenant_id is None else " in this tenant"))
    if len(found) > 1:
        raise ConfigError("several cases begin like this; give more characters of the id (`--json` shows all of it)")
    return str(found[0])


def _file(place: str) -> tuple[URL, Path]:
    """Return how a file is looked into without changing it, and where its checkpoints are by default."""
    import sqlalchemy as sa  # noqa: PLC0415 - as above

    if not place or "://" in place or place == ":memory:":
        raise ConfigError("--db must be the path of a file or a postgresql:// URL")
    path = Path(place).absolute()
    try:
        if path.is_dir():
            raise ConfigError(f"{place!r} is a folder; --db takes the path of a file in it")
        if not path.exists() or not path.stat().st_size:
            raise ConfigError(f"there is no review queue at {place!r}; the program that puts cases into one makes it")
    except OSError as error:
        raise ConfigError(f"{place!r} cannot be opened ({error.strerror})") from None
    # Not "ro": who may only read leaves the files beside a database behind. "rw" makes none that is not there.
    address = sa.URL.create("sqlite", database=path.as_uri(), query={"mode": "rw", "uri": "true"})
    return address, Path(f"{path}.checkpoints")


def _server(place: str) -> tuple[URL, Path]:
    """Return how a server is reached, and where the checkpoints of its database are by default."""
    import hashlib  # noqa: PLC0415 - as above

    import sqlalchemy as sa  # noqa: PLC0415 - as above

    try:
        url = sa.make_url("postgresql+psycopg://" + place.split("://", 1)[1])
    except (sa.exc.ArgumentError, ValueError):
        raise ConfigError(
            "the PostgreSQL URL cannot be read; write postgresql://user:password@host:port/database"
        ) from None
    address = f"{url.host or url.query.get('host', '')}:{url.port or ''}/{url.database}"
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "director-ai"
    return url, folder / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}.checkpoints"


def _has_tables(address: URL) -> bool:
    """Whether a database is one of reviews; nothing is written to find out."""
    import sqlalchemy as sa  # noqa: PLC0415 - as above
    from sqlalchemy.pool import NullPool  # noqa: PLC0415 - as above

    from director_ai.record.database_errors import explained  # noqa: PLC0415 - as above
    from director_ai.record.tables import VERSION_TABLE  # noqa: PLC0415 - as above

    waits = {"connect_timeout": 10} if address.get_backend_name() == "postgresql" else {}
    try:
        engine = sa.create_engine(address, poolclass=NullPool, hide_parameters=True, connect_args=waits)
    except ModuleNotFoundError:
        raise MissingExtra("a review queue in PostgreSQL", extra="postgres") from None
    with explained(), engine.connect() as connection:
        return sa.inspect(connection).has_table(VERSION_TABLE)
