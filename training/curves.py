"""Draws how the loss of each run fell, from the logs that `training.train` writes or prints.

    python -m training.curves build/*/log.json --out curves.svg        (needs matplotlib)

Reads `log.json`, and printed logs in which other lines stand between the rows. A row's step and loss are drawn as faint
points, their running mean as a line; figures that a row holds under `dev` are drawn beside them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
REACH = 3
"""Rows on each side of one whose mean makes the line."""


def read_log(path: Path) -> list[Row]:
    """The rows of one run that tell a step and its loss, in the order of the steps."""
    text = path.read_text("utf-8", "replace")
    try:
        whole = json.loads(text)
        found = whole if isinstance(whole, list) else [whole]
    except ValueError:
        found = list(_json_lines(text))
    rows = [row for row in found if isinstance(row, dict) and {"step", "loss"} <= row.keys()]
    return sorted(rows, key=lambda row: row["step"])


def _json_lines(text: str) -> Iterator[object]:
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except ValueError:
                continue  # a line of something else that begins like one of ours


def smoothed(values: list[float], reach: int = REACH) -> list[float]:
    """The mean of each value and its neighbours on both sides, as far as there are any."""
    stretches = (values[max(0, place - reach) : place + reach + 1] for place in range(len(values)))
    return [sum(stretch) / len(stretch) for stretch in stretches]


def names_of(paths: list[Path]) -> list[str]:
    """A short name for each run: its folder for a `log.json`, else its file; with the folder where two are alike."""
    short = [path.parent.name if path.name == "log.json" else path.stem for path in paths]
    return [
        name
        if short.count(name) == 1
        else f"{path.parent.parent.name if path.name == 'log.json' else path.parent.name}/{name}"
        for path, name in zip(paths, short, strict=True)
    ]


def runs_of(paths: list[Path]) -> dict[str, list[Row]]:
    """The runs that logged something; the same log given twice counts once."""
    runs: dict[str, list[Row]] = {}
    for path, name in zip(paths, names_of(paths), strict=True):
        rows = read_log(path)
        if rows and rows not in runs.values():
            runs[name] = rows
    return runs


def draw(runs: dict[str, list[Row]], out: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - reading a log does not need it

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "training"  # the same logs give the same file
    from matplotlib import pyplot  # noqa: PLC0415

    measured = sorted({name for rows in runs.values() for row in rows for name in dev_figures(row)})
    figure, panels = pyplot.subplots(1, 1 + len(measured), figsize=(7.5 + 4.5 * len(measured), 4.6), squeeze=False)
    losses, *others = panels[0]
    for number, (name, rows) in enumerate(runs.items()):
        color = f"C{number % 10}"
        steps, values = [row["step"] for row in rows], [float(row["loss"]) for row in rows]
        losses.scatter(steps, values, s=6, alpha=0.25, color=color, linewidths=0)
        losses.plot(steps, smoothed(values), color=color, label=name, linestyle="-" if number < 10 else "--")
        for panel, key in zip(others, measured, strict=True):
            points = [(row["step"], dev_figures(row)[key]) for row in rows if key in dev_figures(row)]
            if points:
                panel.plot(*zip(*points, strict=True), color=color, marker="o", markersize=3)
    losses.set(
        xlabel="step",
        ylabel="loss of a batch, and the mean of seven",
        title="Loss (of students: also against their teachers' opinion)",
    )
    losses.legend(frameon=False, fontsize="small")
    losses.grid(alpha=0.3)
    for panel, key in zip(others, measured, strict=True):
        panel.set(xlabel="step", ylabel=key, title=f"{key} on dev rows")
        panel.grid(alpha=0.3)
    figure.tight_layout()
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, metadata={"Date": None} if out.suffix == ".svg" else None)
    pyplot.close(figure)


def dev_figures(row: Row) -> dict[str, float]:
    """What a row tells of the development rows: one figure, or several by name."""
    dev = row.get("dev", {})
    return dict(dev) if isinstance(dev, dict) else {"balanced accuracy": float(dev)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("curves.svg"))
    arguments = parser.parse_args()
    runs = runs_of(arguments.logs)
    if not runs:
        parser.error("none of these logs holds a row with a step and a loss")
    draw(runs, arguments.out)
    for name, rows in runs.items():
        print(f"{name:<18}{rows[-1]['step']:>7} steps  loss {rows[-1]['loss']:.3f}")


if __name__ == "__main__":
    main()
