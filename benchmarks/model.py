"""What the bundled model gets right, how honest its figures are, and what a pair costs.

    python benchmarks/model.py                 prints the tables (150 rows per dev file)
    python benchmarks/model.py --rows 0        all rows of the dev files: about two hours on one core
    python benchmarks/model.py --save          also writes results/model.json and its plots (needs matplotlib)

Accuracy is measured through the package's own inference, as a user would call it: each sentence of a hypothesis against
the premise, the least supported deciding. Times are CPU milliseconds, the best of several runs, beside a plain
onnxruntime session that is fed the same batches.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import os
import random
import re
import threading
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np  # the variable above must be set before onnxruntime is
import onnxruntime
from rich.console import Console
from rich.progress import track
from rich.table import Table

from director_ai.core.segment import split_sentences
from director_ai.nli import Entailer, load_entailer
from director_ai.nli.loading import BUNDLED

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "dev"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
WORD = re.compile(r"\w+")


def dev_rows(path: Path, count: int) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(0).shuffle(rows)
    return rows[:count] if count else rows


def statements(hypothesis: str) -> list[str]:
    parts = [part.strip() for part in split_sentences(hypothesis) if len(part.split()) > 2]
    return parts if len(parts) > 1 else [hypothesis]


def support(entailer: Entailer, rows: list[dict[str, Any]]) -> np.ndarray:
    pairs = [(row["premise"], part) for row in rows for part in statements(row["hypothesis"])]
    answers = iter(entailer.predict(pairs))
    return np.array([min(next(answers).supported for _ in statements(row["hypothesis"])) for row in rows])


def overlap(row: dict[str, Any]) -> float:
    said, known = ({word.lower() for word in WORD.findall(row[key])} for key in ("hypothesis", "premise"))
    return len(said & known) / max(1, len(said))


def balanced_accuracy(score: np.ndarray, good: np.ndarray, threshold: float) -> float:
    return float(((score >= threshold)[good].mean() + (score < threshold)[~good].mean()) / 2)


def auc(score: np.ndarray, good: np.ndarray) -> float:
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    number = good.sum()
    return float((ranks[good].sum() - number * (number + 1) / 2) / (number * (len(score) - number)))


def reliability(score: np.ndarray, good: np.ndarray, bins: int = 15) -> list[tuple[float, float, float]]:
    """For each bin that is not empty: mean support, share that is supported, share of all rows."""
    places = np.minimum((score * bins).astype(int), bins - 1)
    return [
        (float(score[places == b].mean()), float(good[places == b].mean()), float((places == b).mean()))
        for b in range(bins)
        if (places == b).any()
    ]


def ece(score: np.ndarray, good: np.ndarray) -> float:
    return sum(share * abs(said - real) for said, real, share in reliability(score, good))


def accuracy(data: Path, count: int) -> tuple[list[dict[str, Any]], list[tuple[float, float, float]]]:
    entailer = load_entailer(cache_size=0)
    rows_out, scores, truth = [], [], []
    paths = [path for path in sorted(data.glob("*.jsonl.gz")) if not path.name.startswith(("aux_", "repair_"))]
    for path in track(paths, description="dev files"):
        name = path.name.removesuffix(".jsonl.gz")
        rows = dev_rows(path, count if name not in {"bump", "frank"} else count // 2)
        good = np.array([row["label"] == "supported" for row in rows])
        score, words = support(entailer, rows), np.array([overlap(row) for row in rows])
        rows_out.append(
            {
                "file": name,
                "rows": len(rows),
                "balanced_accuracy": balanced_accuracy(score, good, 0.5),
                "auc": auc(score, good),
                "ece": ece(score, good),
                "words_best": max(balanced_accuracy(words, good, t) for t in np.linspace(0.05, 1.0, 20)),
            }
        )
        scores.append(score)
        truth.append(good)
    keys = ("balanced_accuracy", "auc", "ece", "words_best")
    rows_out.append({"file": "mean", "rows": 0} | {key: float(np.mean([row[key] for row in rows_out])) for key in keys})
    pooled = np.concatenate(scores), np.concatenate(truth)
    rows_out[-1]["pooled_ece"] = ece(*pooled)
    return rows_out, reliability(*pooled)


def best_cpu(work: Any, repeats: int = 5) -> float:
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def latency() -> list[dict[str, float]]:
    rows = []
    for threads in (1, 2):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(
            str(BUNDLED / "entailer" / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        for tokens in (64, 128, 256):
            for batch in (1, 16):
                feed = {name: np.ones((batch, tokens), np.int64) for name in INPUTS}
                seconds = best_cpu(functools.partial(session.run, ["logits"], feed)) / batch
                rows.append(
                    {
                        "threads": threads,
                        "tokens": tokens,
                        "batch": batch,
                        "cpu_ms": seconds * 1e3,
                        "us_per_token": seconds / tokens * 1e6,
                    }
                )
    return rows


def replay(session: Any, feeds: list[Any]) -> None:
    for feed in feeds:
        session.run(None, feed)


def throughput(data: Path) -> list[dict[str, float]]:
    """Pairs per CPU second through the package, against a plain session that is fed the very same batches."""
    rows = dev_rows(data / "begin_wow.jsonl.gz", 160)
    pairs = [(row["premise"], row["hypothesis"]) for row in rows]
    entailer = load_entailer(threads=1, cache_size=0)
    engine: Any = entailer._engine
    session, fed = engine._opened(), []

    class Tap:
        def run(self, names: Any, feed: Any) -> Any:
            fed.append(feed)
            return session.run(names, feed)

    def together() -> None:
        entailer.predict(pairs)

    def in_threads() -> None:
        def some(part: list[tuple[str, str]]) -> None:
            for pair in part:
                entailer.predict([pair])

        workers = [threading.Thread(target=some, args=(pairs[i::8],)) for i in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    found = []
    for name, work in (("one caller, all pairs", together), ("8 callers, pair by pair", in_threads)):
        fed.clear()
        original, engine._opened = engine._opened, Tap
        work()
        engine._opened = original
        seconds = best_cpu(work, 3)
        plain = best_cpu(functools.partial(replay, session, list(fed)), 3)
        found.append({"callers": name, "pairs_per_s": len(pairs) / seconds, "of_plain": plain / seconds})
    return found


def show(console: Console, title: str, rows: list[dict[str, Any]]) -> None:
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if name in {"file", "callers"} else "right")
    for row in rows:
        table.add_row(
            *(f"{value:.3f}" if isinstance(value, float) else str(value) for value in (row.get(n, "") for n in rows[0]))
        )
    console.print(table)


def plot(curve: list[tuple[float, float, float]], times: list[dict[str, float]], accuracy_mean: float) -> None:
    import matplotlib  # noqa: PLC0415 - only a saved run needs it

    matplotlib.use("svg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2))
    said, real, share = zip(*curve, strict=True)
    left.plot([0, 1], [0, 1], color="#999", linewidth=1)
    left.scatter(said, real, s=[20 + 1500 * s for s in share], alpha=0.6, color="#2a7")
    left.plot(said, real, color="#2a7")
    left.set(
        xlabel="support the model states", ylabel="share that is supported", title="Reliability, all dev rows sampled"
    )
    one = [row for row in times if row["threads"] == 1 and row["batch"] == 1]
    right.plot([row["tokens"] for row in one], [row["cpu_ms"] for row in one], marker="o", color="#27a")
    right.set(
        xlabel="tokens in the pair",
        ylabel="CPU ms per pair, one thread",
        title=f"Cost (mean accuracy {accuracy_mean:.3f})",
        ylim=(0, None),
    )
    figure.tight_layout()
    figure.savefig(RESULTS / "model.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the dev files")
    parser.add_argument("--rows", type=int, default=150, help="rows per file; 0 for all")
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    console = Console()
    times = latency()
    show(console, "Cost of a pair (CPU)", times)
    if not arguments.data.exists():
        console.print(f"no dev files at {arguments.data}: accuracy and throughput are left out")
        return
    through = throughput(arguments.data)
    show(console, "Throughput, one thread", through)
    files, curve = accuracy(arguments.data, arguments.rows)
    show(console, "Accuracy of `supported` at 0.5", files)
    console.print(f"pooled ECE {files[-1]['pooled_ece']:.3f}")
    if arguments.save:
        saved = {
            "rows_per_file": arguments.rows,
            "files": files,
            "reliability": curve,
            "cost": times,
            "throughput": through,
        }
        (RESULTS / "model.json").write_text(json.dumps(saved, indent=1) + "\n", "utf-8")
        plot(curve, times, files[-1]["balanced_accuracy"])


if __name__ == "__main__":
    main()
