"""`director-ai audit`: whether the trail is the one that was written, and what stands in it."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from director_ai.cli.audit_lines import show_rows
from director_ai.cli.audit_places import key_at, made_trail, opened_bytes, opened_database, opened_trail
from director_ai.cli.audit_rows import all_rows, newest_rows, subject_meant
from director_ai.cli.audit_show import row_record, rows_bar, show_verification
from director_ai.cli.facts_show import counted, say, write_json
from director_ai.cli.facts_store import login_name
from director_ai.cli.files import written
from director_ai.cli.review_options import DEFAULT_DB, AsJson, Checkpoints, Db, Tenant
from director_ai.cli.review_options import Key as WholeKey
from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from director_ai.record.verdicts import Verification

__all__ = ["audit_app"]

BROKEN = 1
"""Exit status where the trail was tampered with, or nothing is found."""
MOST_ROWS = 100

audit_app = typer.Typer(
    help="Check, show and move the audit trail. Exit status: 0 intact or done, 1 tampered with or nothing found, 2 bad "
    "input.",
    no_args_is_help=True,
)

Key = Annotated[
    str,
    typer.Option(
        "--key",
        envvar="DIRECTOR_AI_SIGNING_KEY",
        help="The trail's key, or its public half.",
        show_default="beside the checkpoints",
    ),
]


@audit_app.command("verify", epilog="For example: `director-ai audit verify --db director.db`")
def verify_trail(
    file: Annotated[str, typer.Option("--file", help="Check an export instead; - is the standard input.")] = "",
    db: Db = DEFAULT_DB,
    checkpoints: Checkpoints = "",
    key: Key = "",
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Say whether the trail is the one that was written, and name the first row that is not."""
    _check_tenant(tenant)
    if file and (tenant is not None or checkpoints):
        raise ConfigError(
            "an export is checked as a whole, with the checkpoints in it; leave --tenant and --checkpoints"
        )
    found = _verified_file(file, key) if file else _verified(db, checkpoints, key, tenant)
    if as_json:
        write_json([asdict(found)])
    else:
        show_verification(found)
    if not found.ok or not found.rows:
        raise typer.Exit(BROKEN)


def _verified(db: str, checkpoints: str, key: str, tenant: str | None) -> Verification:
    from director_ai.record.verification import verify_database  # noqa: PLC0415 - keeps `--help` quick

    with opened_database(db, checkpoints) as opened, rows_bar("checking") as told:
        opened.check_signed()
        used = key_at(key, opened.at)
        return verify_database(opened.database, opened.checkpoints, used, tenant, progress=told)


def _verified_file(file: str, key: str) -> Verification:
    from director_ai.record.export_file import ExportFile, verify_export  # noqa: PLC0415 - as above

    with opened_bytes(file) as stream, rows_bar("checking") as told:
        return verify_export(ExportFile(stream), key_at(key), progress=told)


@audit_app.command("show", epilog="For example: `director-ai audit show case-1a2b3c4d`")
def show_trail(
    subject: Annotated[
        str | None,
        typer.Argument(
            help="Only what is about this: the id of a case, for example, or `case-` and at least 8 more characters "
            "of it.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only rows of this kind.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, max=10**6, help="The newest so many.", show_default=f"{MOST_ROWS}, with --json all"
        ),
    ] = None,
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show rows of the trail, the newest last."""
    _check_tenant(tenant)

    def work(connection: Connection) -> int:
        about = None if subject is None else subject_meant(connection, subject, tenant)
        if as_json and limit is None:
            return write_json(row_record(*each) for each in all_rows(connection, tenant, about, kind))
        most = limit or MOST_ROWS
        newest = newest_rows(connection, tenant, most + 1, about, kind)
        rows = newest[-most:]
        if as_json:
            return write_json(row_record(*each) for each in rows)
        if rows:
            show_rows(rows)
        if len(newest) > most:
            say(f"These are the newest {counted(most, 'row')}; --limit shows more.", error=True)
        return len(rows)

    with opened_database(db) as opened:
        count = opened.database.read(work)
    if not count:
        say("there are no such rows", error=True)
        raise typer.Exit(BROKEN)


@audit_app.command("export", epilog="For example: `director-ai audit export trail.jsonl --tenant acme`")
def export_trail(
    file: Annotated[str, typer.Argument(help="Where to; - is the standard output.")] = "-",
    db: Db = DEFAULT_DB,
    checkpoints: Checkpoints = "",
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Write the trail and its checkpoints as JSON lines."""
    from director_ai.record.transfer import export_rows  # noqa: PLC0415 - as above

    _check_tenant(tenant)
    with opened_database(db, checkpoints) as opened:
        if file == "-":
            if sys.stdout is None:
                raise ConfigError("the standard output is closed; give a file instead")
            export_rows(opened.database, opened.checkpoints, sys.stdout, tenant)
            sys.stdout.flush()
            return
        ours = {Path(opened.database.place), opened.at, opened.at.with_suffix(".key")}
        if Path(file).resolve() in {path.resolve() for path in ours}:
            raise ConfigError("the export would take the place of the trail itself; give another name")
        with written(file) as stream, rows_bar("exporting") as told:
            moved = export_rows(opened.database, opened.checkpoints, stream, tenant, progress=told)
    if as_json:
        write_json([{"file": file, **asdict(moved)}])
    else:
        say(f"{counted(moved.rows, 'row')} and {counted(moved.checkpoints, 'checkpoint')} in {file}")


@audit_app.command("import", epilog="For example: `director-ai audit import trail.jsonl --db archive.db`")
def import_trail(
    file: Annotated[str, typer.Argument(help="An export; - reads the standard input.", show_default=False)],
    create: Annotated[bool, typer.Option("--create", help="Make the database where there is none.")] = False,
    db: Db = DEFAULT_DB,
    checkpoints: Checkpoints = "",
    key: WholeKey = "",
    as_json: AsJson = False,
) -> None:
    """Take over the rows of an export that was made with the same key: all of them, or none."""
    from director_ai.errors import TrailBroken  # noqa: PLC0415 - as above

    try:
        with contextlib.ExitStack() as stack:
            stream = stack.enter_context(opened_bytes(file))
            made = made_trail(db, checkpoints, key, stream) if create else opened_trail(db, checkpoints, key)
            trail, told = stack.enter_context(made), stack.enter_context(rows_bar("importing"))
            moved = trail.import_rows(stream, progress=told)
    except TrailBroken as broken:
        say(f"director-ai: {broken}", error=True)
        raise typer.Exit(BROKEN) from None
    if as_json:
        write_json([asdict(moved)])
    else:
        say(f"{counted(moved.rows, 'row')} and {counted(moved.checkpoints, 'checkpoint')} added")


@audit_app.command("retain", epilog="For example: `director-ai audit retain --before 2026-01-01 --tenant acme`")
def retain_rows(
    before: Annotated[str, typer.Option("--before", help="A day or a moment, in UTC.", metavar="DATE")],
    tenant: Annotated[str, typer.Option("--tenant", help="Whose rows; without it, those that belong to none.")] = "",
    by: Annotated[
        str, typer.Option("--by", envvar="DIRECTOR_AI_USER", help="Who lets them go.", show_default="the login name")
    ] = "",
    db: Db = DEFAULT_DB,
    checkpoints: Checkpoints = "",
    key: WholeKey = "",
    as_json: AsJson = False,
) -> None:
    """Let go of what a tenant's older rows say; that they were there stays provable."""
    _check_tenant(tenant)
    moment = _moment(before)
    with opened_trail(db, checkpoints, key) as trail, rows_bar("letting go") as told:
        count = trail.retain(moment, tenant, by=by or login_name(), progress=told)
    if as_json:
        write_json([{"rows": count}])
    else:
        say(f"the text of {counted(count, 'row')} was let go" if count else "there are no older rows with a text")
    if not count:
        raise typer.Exit(BROKEN)


def _moment(text: str) -> datetime:
    """Return the time that somebody wrote, in UTC where no zone stands behind it."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ConfigError("--before must be a day such as 2026-01-31, or a moment such as 2026-01-31T12:00") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _check_tenant(tenant: str | None) -> None:
    if tenant is not None:
        check_identifier("tenant_id", tenant)
