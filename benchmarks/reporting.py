"""What a benchmark shows of a run, and keeps of it beside those of earlier runs."""

from __future__ import annotations

import itertools
import json
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results"


def labelled_files(folder: Path) -> list[Path]:
    """Return the files of premises and hypotheses with labels; those of other shapes are left out."""
    others = ("answers", "aux_", "repair_")
    return [path for path in sorted(folder.glob("*.jsonl.gz")) if not path.name.startswith(others)]


def machine() -> Row:
    """Where a run takes place."""
    return {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}


def show(console: Console, title: str, rows: Sequence[Row]) -> None:
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    table = Table(title=title, title_justify="left")
    for name in names:
        table.add_column(name, justify="left" if isinstance(rows[0].get(name), str) else "right")
    for row in rows:
        table.add_row(*(shown(row.get(name, "")) for name in names))
    console.print(table)


def shown(value: object) -> str:
    """A figure as a table shows it."""
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return "–" if value is None else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


def kept(name: str) -> Row:
    """The parts that were kept of a benchmark."""
    path = RESULTS / f"{name}.json"
    found: Row = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def keep(name: str, saved: Row, goals: Callable[[Row], list[Row]], console: Console) -> None:
    """Put the parts that were measured beside those of earlier runs, with the goals of all of them."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    parts = kept(name) | saved
    parts["goals"] = goals(parts)
    path.write_text(json.dumps(parts, indent=1, ensure_ascii=False) + "\n", "utf-8")
    console.print(f"written to {path.name}")


def drawing(rows: int, columns: int, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes."""
    import matplotlib  # noqa: PLC0415 - only a saved run needs it

    matplotlib.use("svg")
    from matplotlib import pyplot  # noqa: PLC0415

    made: tuple[Any, Any] = pyplot.subplots(rows, columns, **options)
    return made


def keep_drawing(figure: Any, name: str) -> None:
    """Write a figure, the same for the same numbers."""
    figure.tight_layout()
    figure.savefig(RESULTS / f"{name}.svg", metadata={"Date": None})
