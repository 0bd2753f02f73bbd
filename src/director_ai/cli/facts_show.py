"""How facts look in a terminal, and as JSON."""

from __future__ import annotations

import contextlib
import json
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from director_ai.cli.terminal import for_terminal
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from director_ai.core.evidence import Fact
    from director_ai.knowledge.conflicts import Conflict
    from director_ai.knowledge.store import GroundTruthStore
    from director_ai.knowledge.tables import Loaded

__all__ = [
    "changes",
    "changes_table",
    "counted",
    "facts_table",
    "hits_table",
    "print_table",
    "progress_bar",
    "say",
    "show_conflicts",
    "shown",
    "skipped_table",
    "write_json",
]

MOST_KEYS = 8
"""Of each kind of change that a table names."""
MOST_SKIPPED = 20
ROOMY = 70
"""Columns from which a table with many columns can be read."""
FAR = 0.5
"""Distance from which a bar is no longer green."""


def write_json(values: Iterable[Any]) -> int:
    """Write values to the standard output, one a line, and return how many there were."""
    if sys.stdout is None:
        raise ConfigError("the standard output is closed; there is nowhere to write to")
    count = 0
    for value in values:
        sys.stdout.write(json.dumps(value) + "\n")
        count += 1
    sys.stdout.flush()  # a reader who left is met here, not when the interpreter ends
    return count


def say(sentence: str, *, error: bool = False) -> None:
    """Say one sentence to the person at the terminal."""
    console(error=error).print(shown(sentence), soft_wrap=True)


def console(*, error: bool = False) -> Console:
    """Return the terminal that the output or the errors go to."""
    from rich.console import Console  # noqa: PLC0415 - keeps `--help` quick

    return Console(stderr=error, highlight=False)


def shown(text: str, *, one_line: bool = False) -> Text:
    """Return text as it may reach a terminal: nothing in it is markup, moves the cursor or changes the screen."""
    from rich.text import Text  # noqa: PLC0415 - as above

    return Text(for_terminal(" ".join(text.split()) if one_line else text))


def table(*columns: str) -> Table:
    """Return an empty table in the manner of this command."""
    from rich.table import Table  # noqa: PLC0415 - as above

    empty = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for column in columns:
        empty.add_column(column, overflow="fold")
    return empty


def print_table(rows: Table) -> None:
    """Print a table; where there is little room, each row as lines of its own, with the heads before the cells."""
    to = console()
    if to.width >= ROOMY or len(rows.columns) < 4:
        to.print(rows)
        return
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    for number, cells in enumerate(zip(*(column.cells for column in rows.columns), strict=True)):
        record = Table.grid(padding=(0, 1, 0, 0))
        record.add_column(no_wrap=True)
        record.add_column(overflow="fold")
        for column, cell in zip(rows.columns, cells, strict=True):
            text = cell if isinstance(cell, Text) else Text(str(cell))
            if text.plain.strip():
                record.add_row(Text(str(column.header), "dim"), text)
        if number:
            to.print()
        to.print(record)


def facts_table(facts: Iterable[Fact], *, versions: bool = False) -> None:
    """Show facts, a line each; or the versions of one, in full."""
    rows = table(*(("version", "added", "by", "source", "text") if versions else ("key", "source", "text")))
    for fact in facts:
        if versions:
            added = fact.added_at[:19].replace("T", " ")
            rows.add_row(str(fact.version), added, shown(fact.added_by), shown(fact.source), shown(fact.text))
        else:
            rows.add_row(shown(fact.key), shown(fact.source), shown(fact.text, one_line=True))
    if not versions:
        key, source, text = rows.columns
        key.max_width, source.max_width = console().width // 3, console().width // 4
        rows.expand, text.ratio = True, 1  # the text takes the rest, so that it never takes all
        text.no_wrap, text.overflow = True, "ellipsis"
    print_table(rows)


def hits_table(hits: Sequence[tuple[Fact, float]], tenant_id: str) -> None:
    """Show what a tenant finds, the nearest first, each with its distance as a bar."""
    from rich.text import Text  # noqa: PLC0415 - as above

    rows = table("distance", "key", "source", "text")
    for fact, distance in hits:
        bar = Text(f"{distance:.2f} {'█' * round(distance * 10) or '·':<10}", "green" if distance < FAR else "yellow")
        whose = "" if fact.tenant_id == tenant_id else " (shared)"
        rows.add_row(bar, shown(fact.key + whose), shown(fact.source), shown(fact.text))
    rows.columns[0].no_wrap = True
    print_table(rows)


def changes(loaded: Loaded, *, dry_run: bool) -> dict[str, Any]:
    """Return what a load did, or would do, as JSON holds it."""
    return {
        "added": list(loaded.added),
        "updated": list(loaded.updated),
        "unchanged": loaded.unchanged,
        "removed": list(loaded.removed),
        "revision": loaded.revision,
        "dry_run": dry_run,
    }


def changes_table(change: dict[str, Any]) -> None:
    """Show what a load did, or would do."""
    rows = table("change", "facts", "keys")
    rows.columns[1].justify = "right"
    for kind in ("added", "updated", "unchanged", "removed"):
        keys = change[kind] if isinstance(change[kind], list) else []
        count = len(keys) or change[kind] or 0
        more = f" and {count - MOST_KEYS} more" if len(keys) > MOST_KEYS else ""
        rows.add_row(kind, str(count), shown(", ".join(keys[:MOST_KEYS]) + more))
    console().print(rows)
    if change["dry_run"]:
        say("A dry run: nothing was stored.")


def show_conflicts(store: GroundTruthStore, tenant_id: str, found: Iterable[Conflict], most: int | None = None) -> bool:
    """Show pairs of facts that cannot both be right, with what they say; whether there are any."""
    rows = table("differ in", "key", "text")
    found = iter(found)
    with progress_bar("comparing", None):
        for conflict in islice(found, most):
            one, other = store.get(conflict.key, tenant_id), store.get(conflict.other, conflict.other_tenant_id)
            whose = "" if conflict.other_tenant_id == tenant_id else " (shared)"
            rows.add_row(", ".join(conflict.kinds), shown(conflict.key), shown(one.text if one else ""))
            rows.add_row("", shown(conflict.other + whose), shown(other.text if other else ""))
        more = next(found, None) is not None
    if not rows.row_count:
        return False
    say("Contradictory facts:")
    console().print(rows)
    if more:
        say("There are more; `facts conflicts` shows all.")
    return True


def skipped_table(skipped: Sequence[dict[str, str]]) -> None:
    """Show which files were not read, and why."""
    rows = table("skipped", "reason")
    for each in skipped[:MOST_SKIPPED]:
        rows.add_row(shown(each["file"]), shown(each["reason"]))
    console().print(rows)
    if len(skipped) > MOST_SKIPPED:
        say(f"and {counted(len(skipped) - MOST_SKIPPED, 'file')} more; --json names all")


def counted(number: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


@contextlib.contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Lend a function that is told how far a load is, of the total and in facts; shown where there is a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - as above

    to = console(error=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[facts]}"), TimeElapsedColumn()
    )  # fmt: skip
    with Progress(*columns, console=to, transient=True, disable=not to.is_terminal) as progress:
        task = progress.add_task(what, total=total, facts="")

        def told(done: int, facts: int) -> None:
            progress.update(task, completed=done, facts=counted(facts, "fact"))

        yield told
