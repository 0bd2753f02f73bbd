"""What a kernel costs per token: ours beside director-ai 3.21.0, in one run, with a callback that does nothing.

    python benchmarks/kernel.py            prints the table
    python benchmarks/kernel.py --save     and writes results/kernel.json

The peer is installed into a throw-away environment by this script and used through its public interface only. Both
kernels run the same probe, each in a process of its own, taking turns; the best of several CPU times counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from rich.console import Console
from rich.table import Table

PEER = "director-ai[rust]==3.21.0"
SIZES = [100, 400, 1_600, 6_400, 25_600]
DOUBLINGS = [15_625 * 2**step for step in range(7)]  # up to a million
RESULTS = Path(__file__).parent / "results" / "kernel.json"

PROBE = """
import gc, json, sys, time
from director_ai import StreamingKernel

def cost(count, repeats):
    kernel, best = StreamingKernel(hard_limit=0.4), float("inf")
    for _ in range(repeats):
        tokens = ["word "] * count
        gc.collect()
        started = time.process_time()
        session = kernel.stream_tokens(iter(tokens), lambda token: 0.9)
        best = min(best, time.process_time() - started)
        assert not session.halted and session.output == "".join(tokens)
    return best

sizes, repeats = json.loads(sys.argv[1])
cost(100, 3)
print(json.dumps({size: cost(size, repeats) for size in sizes}))
"""


def probe(python: str, sizes: list[int], repeats: int) -> dict[int, float]:
    """Run the probe with an interpreter and return the CPU seconds per size."""
    arguments = [python, "-c", PROBE, json.dumps([sizes, repeats])]
    printed = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
    return {int(size): seconds for size, seconds in json.loads(printed).items()}


def best_of(*runs: dict[int, float]) -> dict[int, float]:
    return {size: min(run[size] for run in runs) for size in runs[0]}


def install_peer(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PEER], check=True)
    return python


def compare(console: Console) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder, console.status("installing the peer into a throw-away environment"):
        try:
            peer_python = install_peer(Path(folder))
        except subprocess.CalledProcessError:
            console.print(f"{PEER} cannot be installed here: the comparison is left out", markup=False)
            return []
        console.print(f"comparing with {PEER}", markup=False)
        ours, peers = [], []
        for _ in range(3):
            ours.append(probe(sys.executable, SIZES, 5))
            peers.append(probe(peer_python, SIZES, 3))
    mine, theirs = best_of(*ours), best_of(*peers)
    return [
        {
            "tokens": n,
            "ours_us": mine[n] / n * 1e6,
            "peer_us": theirs[n] / n * 1e6,
            "peer_over_ours": theirs[n] / mine[n],
        }
        for n in SIZES
    ]


def growth(sizes: list[int]) -> list[dict[str, float]]:
    seconds = best_of(*(probe(sys.executable, sizes, 3) for _ in range(3)))
    rows = []
    for size in sizes:
        half = seconds.get(size // 2)
        rows.append(
            {"tokens": size, "ours_us": seconds[size] / size * 1e6, "t2n_over_tn": seconds[size] / half if half else 0}
        )
    return rows


def show(console: Console, title: str, rows: list[dict[str, float]]) -> None:
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(f"{value:,.0f}" if name == "tokens" else f"{value:.2f}" for name, value in row.items()))
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write results/kernel.json")
    parser.add_argument("--tiny", action="store_true", help="seconds, and no peer: does it still run?")
    arguments = parser.parse_args()
    console = Console()
    compared = [] if arguments.tiny else compare(console)
    grown = growth([1_000, 2_000] if arguments.tiny else DOUBLINGS)
    if compared:
        show(console, "Kernel cost per token, trivial callback (CPU µs)", compared)
        at_6400 = next(row["peer_over_ours"] for row in compared if row["tokens"] == 6_400)
        console.print(f"peer / ours at 6,400 tokens: [bold]{at_6400:.1f}[/]   (promised: at least 10)")
    show(console, "Growth, ours alone", grown)
    worst = max(row["t2n_over_tn"] for row in grown)
    console.print(f"worst t(2n)/t(n) to 10^6:    [bold]{worst:.2f}[/]   (promised: at most 2.2)")
    if arguments.save:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"peer": PEER, "compared": compared, "growth": grown}, indent=1) + "\n", "utf-8")
        console.print(f"written to {RESULTS.name}")


if __name__ == "__main__":
    main()
