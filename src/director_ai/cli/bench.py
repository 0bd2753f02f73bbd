"""`director-ai bench`: what the guard costs on this machine, in seconds."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from director_ai.cli.facts_show import console, progress_bar, say, shown, table, write_json
from director_ai.cli.facts_store import AsJson  # noqa: TC001 - typer reads the annotations
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from director_ai.record.chain import Writer

__all__ = ["bench"]

TOKENS: Final = 6_400
ROWS: Final = 2_000
ROUNDS: Final = 3
_PROBE: Final = """
import gc, time
from director_ai import StreamingKernel

kernel, best = StreamingKernel(hard_limit=0.4), float("inf")
for _ in range({rounds}):
    tokens = ["word "] * {tokens}
    gc.collect()
    started = time.process_time()
    kernel.stream_tokens(iter(tokens), lambda token: 0.9)
    best = min(best, time.process_time() - started)
print(best)
"""


class Figure(NamedTuple):
    """A cost; less is better, but of what is counted in a second."""

    what: str
    value: float
    unit: str
    peer: float | None = None


def bench(
    peer: Annotated[
        str,
        typer.Option(
            "--peer", metavar="PYTHON", help="A Python with another kernel of the same interface, to compare."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Measure the kernel, repairs and the audit trail here; it takes some seconds.

    For example: director-ai bench --peer /tmp/peer/bin/python
    """
    steps: list[Callable[[], Iterator[Figure]]] = [lambda: _kernel(peer), _repairs, _verification]
    figures: list[Figure] = []
    with progress_bar("measuring", len(steps)) as told:
        for step in steps:
            figures += step()
            told(len(figures), 0)
    if as_json:
        write_json(each._asdict() for each in figures)
        return
    rows = table("what", "here", "peer", "ratio")
    for each in figures:
        rows.add_row(*(shown(cell) for cell in _cells(each)))
    for column in rows.columns[1:]:
        column.justify = "right"
    console().print(rows)
    say("Times are CPU seconds, the best of several; on a busy machine only the ratios can be compared.")


def _cells(figure: Figure) -> tuple[str, str, str, str]:
    here = f"{figure.value:,.0f} {figure.unit}" if figure.value >= 100 else f"{figure.value:.2f} {figure.unit}"
    if figure.peer is None:
        return figure.what, here, "", ""
    return figure.what, here, f"{figure.peer:.2f} {figure.unit}", f"{figure.peer / figure.value:.1f}"


def _best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def _kernel(peer: str) -> Iterator[Figure]:
    per_token = 1e6 / TOKENS
    if not peer:
        yield Figure("kernel, a token", _own_kernel() * per_token, "µs")
        return
    turns = [(_probed(sys.executable), _probed(peer)) for _ in range(ROUNDS)]  # in turns: others use the machine too
    ours, theirs = (min(times) * per_token for times in zip(*turns, strict=True))
    yield Figure("kernel, a token", ours, "µs", theirs)


def _own_kernel() -> float:
    from director_ai.streaming import StreamingKernel  # noqa: PLC0415 - keeps `--help` quick

    kernel, tokens = StreamingKernel(hard_limit=0.4), ["word "] * TOKENS
    return _best(lambda: kernel.stream_tokens(iter(tokens), lambda _: 0.9))


def _probed(python: str) -> float:
    """Run the same loop in another Python, whose kernel is used by its public interface alone."""
    code = _PROBE.format(rounds=ROUNDS, tokens=TOKENS)
    try:
        ran = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=120, check=True)  # noqa: S603 - named by the caller
        return float(json.loads(ran.stdout.strip().splitlines()[-1]))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        raise ConfigError("--peer must be a Python that has a director_ai with a StreamingKernel") from None


def _repairs() -> Iterator[Figure]:
    """Repair one answer with fresh numbers each time, so that no verdict is remembered."""
    from director_ai.guard import ProductionGuard  # noqa: PLC0415 - as above

    facts = {"refunds": "Refunds are available within 30 days.", "fee": "The monthly fee is 4 euros."}
    for name, model in (("words and values", False), ("the bundled model", True)):
        search = "meaning" if model else "words"
        with ProductionGuard.from_profile("finance", use_nli=model, search=search, metrics=False) as guard:
            guard.load_facts(facts)
            guard.warm_up()
            rounds = iter(range(1, ROUNDS + 2))
            clauses = 0

            def work(guard: ProductionGuard = guard, rounds: Iterator[int] = rounds) -> None:
                nonlocal clauses
                start = next(rounds) * 1_000
                says = "".join(f"Refunds are available within {start + each} days. " for each in range(10))
                clauses = len(guard.repair_stream("What is the refund window?", says).actions)

            seconds = _best(work)
        yield Figure(f"repair by {name}, a clause", seconds * 1e3 / clauses, "ms")


def _verification() -> Iterator[Figure]:
    from director_ai.record.trail import AuditTrail  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory() as folder, AuditTrail(Path(folder) / "trail.db") as trail:

        def add(writer: Writer) -> None:
            for number in range(ROWS):
                writer.append("bench.row", f"row-{number}", {"number": number})

        trail.write(add, "")
        trail.sign()
        seconds = _best(trail.verify)
    yield Figure("audit rows verified in a second", ROWS / seconds, "rows")
