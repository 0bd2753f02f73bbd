"""The review queue beside that of director-ai 3.21.0: what both can do, and what neither should.

Both run `review_probe.py`, each with its own interpreter, on an SQLite file of its own, taking turns. Both sync the
disk once per operation; ours also links, seals and checks the rows of its trail in every one.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from review_speed import THREADS, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROBE = Path(__file__).parent / "review_probe.py"
RACES = 100
TURNS = 3
LIMIT_SECONDS = 600


def command(python: str, what: str, **arguments: Any) -> list[str]:
    return [python, "-P", str(PROBE), what, json.dumps(arguments)]


def told(printed: str) -> Any:
    line = next(line for line in printed.splitlines() if line.startswith("figures "))
    return json.loads(line.removeprefix("figures "))


def probe(python: str, what: str, **arguments: Any) -> Any:
    """What the probe tells when an interpreter runs it."""
    ran = subprocess.run(
        command(python, what, **arguments), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    if ran.returncode:
        raise RuntimeError(f"{what} failed: {ran.stderr.strip().splitlines()[-1:]}")
    return told(ran.stdout)


def fresh_paths(folder: Path, name: str) -> Iterator[str]:
    """Paths of databases that are not there yet, without end."""
    number = 0
    while True:
        number += 1
        inside = folder / f"{name}-{number}"
        inside.mkdir()
        yield str(inside / "reviews.db")


# Speed.


def measure_both(pythons: dict[str, str], folder: Path, count: int, rounds: int) -> list[Row]:
    """Time per operation of each package, and how many times the first's it is."""
    costs: dict[tuple[str, int, str], list[list[float]]] = {}
    failed: dict[tuple[str, int], str] = {}
    paths = fresh_paths(folder, "speed")
    for _ in range(TURNS):
        for threads in (1, THREADS):
            for who, python in pythons.items():
                try:
                    found = probe(python, "speed", path=next(paths), count=count, rounds=rounds, threads=threads)
                except RuntimeError as error:
                    failed[who, threads] = str(error)
                    continue
                for name, rows in found.items():
                    costs.setdefault((name, threads, who), []).extend(rows)
    return _speed_rows(costs, list(pythons)) + [
        {"operation": "all", "by": by(threads), "who": who, "failed": why} for (who, threads), why in failed.items()
    ]


def by(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def _speed_rows(costs: dict[tuple[str, int, str], list[list[float]]], who: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for name, threads in dict.fromkeys(key[:2] for key in costs):
        for each in who:
            if (name, threads, each) not in costs:
                continue
            wall, cpu = (statistics.median(column) for column in zip(*costs[name, threads, each], strict=True))
            rows.append(
                {"operation": name, "by": by(threads), "who": each}
                | {"per second": 1 / wall, "ms": wall * 1e3, "CPU ms": cpu * 1e3}
            )
            first = next(row for row in rows if (row["operation"], row["by"]) == (name, rows[-1]["by"]))
            rows[-1] |= {"ms / ours": wall * 1e3 / first["ms"], "CPU / ours": cpu * 1e3 / first["CPU ms"]}
    return rows


# Safety.


def race(python: str, path: str, count: int) -> Row:
    """How often two processes that ask for an approved text at the same moment get it: both, one, neither."""
    ids = probe(python, "prepare", path=path, count=count)
    meeting = Path(f"{path}.meeting")
    meeting.write_bytes(bytes(8))
    given = {"path": path, "ids": ids, "meeting": str(meeting)}
    racers = [
        subprocess.Popen(command(python, "race", **given, place=place), stdout=subprocess.PIPE, text=True)
        for place in (0, 1)
    ]
    try:
        got = [told(racer.communicate(timeout=LIMIT_SECONDS)[0]) for racer in racers]
    finally:
        for racer in racers:
            racer.kill()
    return counted(list(zip(*got, strict=True)))


def counted(pairs: Sequence[tuple[Row, Row]]) -> Row:
    """How many cases were asked for by both at once, and how many left twice, once and never."""
    times = [sum(each["answer"] is not None for each in pair) for pair in pairs]
    met = [one["began"] < other["ended"] and other["began"] < one["ended"] for one, other in pairs]
    return {"at once": sum(met), "twice": times.count(2), "once": times.count(1), "never": times.count(0)}


RACED = {
    "at once": "approved cases that two processes asked for at once",
    "twice": "approved cases released to both",
    "once": "approved cases released to one",
    "never": "approved cases released to neither",
}
QUESTIONS = {
    "edited_text": "a text edited after its approval is released",
    "edited_decision": "an edited decision is told as if it had been made",
    "halted_proposal": "a correction that the consensus halted is released",
}


def measure_safety(pythons: dict[str, str], folder: Path, races: int) -> list[Row]:
    """What should never happen, and whether it does; a package per column."""
    paths = fresh_paths(folder, "safety")
    raced = {who: race(python, next(paths), races) for who, python in pythons.items()}
    rows: list[Row] = [
        {"what": f"{what}, of {races}"} | {who: counts[how] for who, counts in raced.items()}
        for how, what in RACED.items()
    ]
    for what, question in QUESTIONS.items():
        row: Row = {"what": question}
        for who, python in pythons.items():
            found = probe(python, what, path=next(paths))
            row[who] = "yes" if found["done"] else f"no ({found['error'] or 'unchanged'})"
        rows.append(row)
    return rows


def measure_peer(
    folder: Path, peer_python: str | None, count: int, rounds: int, races: int = RACES
) -> dict[str, list[Row]]:
    """Both tables; without the peer, ours alone."""
    pythons = {"ours": sys.executable} | ({"peer": peer_python} if peer_python else {})
    return {"safety": measure_safety(pythons, folder, races), "speed": measure_both(pythons, folder, count, rounds)}
