"""How an audit trail looks in a terminal, and as JSON."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from director_ai.cli.facts_show import console, counted, shown, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from director_ai.record.scan import RawRow
    from director_ai.record.verdicts import Verification

__all__ = ["row_record", "rows_bar", "show_verification", "time_of"]

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)


def show_verification(found: Verification) -> None:
    """Show what a check found, with the first bad row."""
    from rich.text import Text  # noqa: PLC0415 - keeps `--help` quick

    to = console()
    problem = found.problem
    if problem is None:
        to.print(Text("intact", "bold green") if found.rows else Text("empty", "bold yellow"))
    else:
        whose = "" if problem.tenant_id == "" else f" · tenant {problem.tenant_id}"
        to.print(Text("broken", "bold red") + shown(f"{whose} · {problem.kind}"))
        to.print(shown(problem.sentence), soft_wrap=True)
    figures = table("", "")
    for name, number in (
        ("rows" if problem is None else "rows checked, of each tenant up to its problem", found.rows),
        ("tenants", found.tenants),
        ("tenants with a problem", found.bad_tenants),
        ("signed checkpoints", found.checkpoints),
        ("rows after the last checkpoint, at most 64 a tenant", found.unsigned_rows),
        ("rows whose text was let go", found.forgotten_rows),
    ):
        figures.add_row(name, f"{number:,}")
    figures.columns[1].justify = "right"
    figures.show_header = False
    to.print(figures)
    if not found.seals_checked:
        to.print(shown("With the public key alone, rows after the last checkpoint are proved by nothing."))


def row_record(tenant: str, row: RawRow) -> dict[str, Any]:
    """Return a row as JSON holds it, whatever stands in its columns."""
    sequence, at, kind, subject, body, body_hash, key, digest, seal = (
        each if isinstance(each, str | int | float | None) else repr(each) for each in row
    )
    says: Any = body
    if isinstance(body, str):
        with contextlib.suppress(ValueError, RecursionError):
            says = json.loads(body)
    return {
        "tenant_id": tenant, "sequence": sequence, "at": time_of(at), "kind": kind, "subject": subject, "body": says,
        "body_hash": body_hash, "key_id": key, "hash": digest, "seal": seal,
    }  # fmt: skip


def time_of(at: object) -> str:
    """Return the time of a row as JSON holds it, or whatever stands there."""
    if isinstance(at, int):
        with contextlib.suppress(OverflowError):
            return (_START + timedelta(microseconds=at)).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return str(at)


@contextlib.contextmanager
def rows_bar(what: str) -> Iterator[Callable[[int], None]]:
    """Lend a function that is told how many rows were read; shown where there is a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - as above

    to = console(error=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[rows]}"))
    with Progress(*columns, TimeElapsedColumn(), console=to, transient=True, disable=not to.is_terminal) as progress:
        task = progress.add_task(what, total=None, rows="")
        yield lambda rows: progress.update(task, rows=counted(rows, "row"))
