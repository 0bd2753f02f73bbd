"""What a repair removes and keeps, how long it holds text back, and what it costs.

    python benchmarks/repair.py passages            our 144 passages, some minutes
    python benchmarks/repair.py files --rows 100    answers of the development data; all rows take an hour
    python benchmarks/repair.py delay               six streams of two minutes at 50 tokens per second
    python benchmarks/repair.py speed --peer        CPU time and its growth, beside director-ai 3.21.0, ten minutes
    python benchmarks/repair.py --save              all; also writes results/repair.json and its plot (needs matplotlib)

Everything runs under the profile `finance` (closed policy), its rewriter the patch from evidence; its cap on redactions
is off, and the share of answers that it would have ended is printed. See `repair_quality.py` and `repair_delay.py` for
what the figures mean. Times on a busy machine say little; the ratios are of one run.

The peer is installed into a throw-away environment and used through its public interface only. Its published package
has no repair: `repair_stream` raises. What is measured instead is the wiring that its documentation describes, each
clause through `check`, redacted where it is not approved, over clauses that our segmenter cut.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import platform
import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel import PEER, install_peer
from peer_checks import check_clauses, clauses_of
from regression_suite import passages
from repair_delay import WARM_UP, WAYS, all_facts, measure_delay, opened_store, tokens_of
from repair_quality import (
    FILES,
    MODES,
    Curve,
    Sample,
    body,
    measure_files,
    measure_passages,
    opened_guard,
    overlaps,
    passage_samples,
    share,
)
from rich.console import Console
from rich.progress import track
from rich.table import Table

from director_ai import ProductionGuard
from director_ai.core.streaming_repair import StreamingRepairer
from director_ai.nli import load_entailer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "dev"
PARTS = ("passages", "files", "delay", "speed")
SIZES = [1_000 * 2**step for step in range(7)]
MILLION = [125_000 * 2**step for step in range(4)]
WRONG = 0.1
LEAST_TOKENS = 16_000
ALL_FACTS = 12_000
"""Tokens in which each fact comes once."""
Row = dict[str, Any]


# Cost.


def sentences(wrong: float, seed: int = 7) -> Iterator[str]:
    """Facts of the passages word for word, without end; in place of some, a sentence with an error."""
    rng = random.Random(seed)
    facts, errors = list(all_facts().values()), [item["planted"]["error"] for item in passages()]
    while True:
        for fact in rng.sample(facts, len(facts)):
            yield rng.choice(errors) if rng.random() < wrong else fact


def some_tokens(count: int, wrong: float, seed: int = 7) -> list[str]:
    """As many tokens of such sentences."""
    tokens: list[str] = []
    for sentence in sentences(wrong, seed):
        tokens += tokens_of(f"{sentence} ")
        if len(tokens) >= count:
            break
    return tokens[:count]


def stream_cost(guard: ProductionGuard | StreamingRepairer, tokens: Sequence[str]) -> tuple[float, int, int]:
    """CPU seconds of one stream, its clauses, and how many of them were changed."""
    started = time.process_time()
    with guard.stream("", tokens) if isinstance(guard, ProductionGuard) else guard.stream(tokens) as stream:
        for _ in stream:
            pass
    seconds = time.process_time() - started
    actions = stream.result.actions
    return seconds, len(actions), sum(action.changed for action in actions)


def measure_ways(counts: dict[bool, int]) -> list[Row]:
    """Tokens per CPU second in each way, with nothing to repair and with every tenth clause wrong."""
    rows = []
    for way, (use_nli, search) in WAYS.items():
        entailer = load_entailer(cache_size=0) if use_nli else None
        with opened_store(search, all_facts()) as store:
            guard = opened_guard(store, use_nli=use_nli, entailer=entailer)
            stream_cost(guard, tokens_of(WARM_UP))
            plain = 0.0
            for seed, wrong in enumerate((0.0, WRONG)):
                tokens = some_tokens(counts[use_nli], wrong, seed)
                seconds, clauses, changed = stream_cost(guard, tokens)
                plain = plain or seconds / clauses
                rows.append(
                    {"mode": way, "wrong": wrong, "tokens": len(tokens), "clauses": clauses}
                    | {"changed": share(changed, clauses), "tokens per CPU s": len(tokens) / seconds}
                    | {"ms per clause": seconds / clauses * 1e3, "times the first": seconds / clauses / plain}
                )
    return rows


def measure_growth(
    guard: ProductionGuard | StreamingRepairer, sizes: Sequence[int], rounds: int, name: str
) -> list[Row]:
    """CPU time by the number of tokens; of short streams several together, and the best round counts."""
    best = dict.fromkeys(sizes, math.inf)
    for _, size in track([*itertools.product(range(rounds), sizes)], description=name, transient=True):
        texts = [some_tokens(size, WRONG, seed) for seed in range(max(1, LEAST_TOKENS // size))]
        best[size] = min(best[size], sum(stream_cost(guard, text)[0] for text in texts) / len(texts))
    rows: list[Row] = []
    for size, seconds in best.items():
        rows.append({"stream": name, "tokens": size, "CPU s": seconds, "µs per token": seconds / size * 1e6})
        rows[-1]["t(2n)/t(n)"] = seconds / best[size // 2] if size // 2 in best else ""
    return rows


def measure_speed(options: argparse.Namespace) -> Row:
    """Everything about cost, beside the peer where that is wanted."""
    scale = 10 if options.quick else 1
    saved: Row = {"modes": measure_ways({False: 8_000 // scale, True: 2_000 // scale}), "growth": []}
    for way, (use_nli, search) in WAYS.items():
        if use_nli:
            continue
        sizes = SIZES[:3] if options.quick else SIZES
        with opened_store(search, all_facts()) as store:
            guard = opened_guard(store, use_nli=False)
            stream_cost(guard, some_tokens(ALL_FACTS, 0.0))  # whatever is remembered of facts is at its steady state
            saved["growth"] += measure_growth(guard, sizes, 1 if search == "meaning" else 3, f"guard, {way}")
    trivial = StreamingRepairer(lambda _clause: 1.0)
    sizes = [size // scale for size in MILLION]
    saved["growth"] += measure_growth(trivial, sizes, 3, "StreamingRepairer, trivial score_fn")
    saved["finished"] = measure_finished(passage_samples()[: 20 if options.quick else None], options)
    return saved


# Beside the peer: finished texts, heuristic mode.


def run_peer(samples: Sequence[Sample], python: str | None) -> Row:
    """What the published package makes of the clauses of each text."""
    given = [
        {"prompt": each.prompt, "facts": each.facts, "clauses": [clause.text for clause in clauses_of(each.text)]}
        for each in samples
    ]
    with tempfile.TemporaryDirectory() as folder:
        return check_clauses(given, python or install_peer(Path(folder) / "peer"))


def measure_finished(samples: Sequence[Sample], options: argparse.Namespace) -> list[Row]:
    """Our repair of finished texts and the peer's wiring: cost per clause, errors removed, right clauses kept."""
    rows = [_finished_by_us(samples, search) for search in ("words", "meaning")]
    if options.peer:
        rows.append(_finished_by_peer(samples, run_peer(samples, options.peer_python)))
    for row in rows:
        row["times the first"] = row["ms per clause"] / rows[0]["ms per clause"]
    return rows


def _finished_by_us(samples: Sequence[Sample], search: str) -> Row:
    seconds, clauses, removed, kept = 0.0, 0, [], []
    with opened_store(search, samples[0].facts) as store:
        opened_guard(store, use_nli=False).repair_stream("", WARM_UP)
    for sample in track(samples, description=f"finished texts, by {search}", transient=True):
        with opened_store(search, sample.facts) as store:
            guard = opened_guard(store, use_nli=False)
            started = time.process_time()
            result = guard.repair_stream(sample.prompt, sample.text)
            seconds += time.process_time() - started
        clauses += len(result.actions)
        wrong = [overlaps(action.start, action.end, sample.spans) for action in result.actions]
        pairs = list(zip(wrong, result.actions, strict=True))
        kept += [action.text == action.clause for is_wrong, action in pairs if not is_wrong]
        removed += [any(action.changed for is_wrong, action in pairs if is_wrong)] if any(wrong) else []
    return _finished_row(f"ours, evidence by {search}", seconds / clauses, removed, kept) | {"repairs a stream": "yes"}


def _finished_by_peer(samples: Sequence[Sample], found: Row) -> Row:
    removed, kept, wrong_scores, right_scores = [], [], [], []
    for sample, results in zip(samples, found["clauses"], strict=True):
        places = [body(clause.text, clause.start) for clause in clauses_of(sample.text)]
        wrong = [overlaps(*place, sample.spans) for place in places]
        pairs = list(zip(wrong, results, strict=True))
        kept += [approved for is_wrong, (_, approved) in pairs if not is_wrong]
        right_scores += [score for is_wrong, (score, _) in pairs if not is_wrong]
        if any(wrong):
            removed.append(any(not approved for is_wrong, (_, approved) in pairs if is_wrong))
            wrong_scores.append(min(score for is_wrong, (score, _) in pairs if is_wrong))
    curve = Curve.of(wrong_scores, right_scores)
    seconds = found["seconds"] / sum(map(len, found["clauses"]))
    return _finished_row("the peer, check per clause", seconds, removed, kept) | {
        "repairs a stream": found["repairs"],
        "AUC": curve.auc,
        "removed at 98% kept": curve.removed_at(0.98),
    }


def _finished_row(who: str, seconds_per_clause: float, removed: Sequence[bool], kept: Sequence[bool]) -> Row:
    return {
        "who": who,
        "ms per clause": seconds_per_clause * 1e3,
        "times the first": 1.0,
        "errors removed": share(sum(removed), len(removed)),
        "right kept": share(sum(kept), len(kept)),
        "repairs a stream": "",
    }


# The run.


def goals(saved: Row) -> list[Row]:
    """What was promised beside what was found."""
    figures: list[tuple[str, float, float, bool]] = []
    for row in saved.get("passages", {}).get("summary", ()):
        if row["mode"] == "model":
            figures.append(("passages, model: errors removed", row["removed"], 0.92, True))
            figures.append(("passages, model: right clauses kept", row["kept"], 0.98, True))
    figures += [
        ("files, model: removed at 95 % kept", row["removed at 95% kept"], 0.45, True)
        for row in saved.get("files", {}).get("curve", ())
        if (row["mode"], row["file"]) == ("model", "all")
    ]
    for row in saved.get("delay", {}).get("clauses", ()):
        which = f"{row['mode']}, early {row['early']}"
        figures.append((f"delay, {which}: added p99, ms", row["added p99"], 5.0, False))
        figures.append((f"delay, {which}: beyond model p99, ms", row["beyond model p99"], 5.0, False))
    grown = [row["t(2n)/t(n)"] for row in saved.get("speed", {}).get("growth", ()) if row["t(2n)/t(n)"]]
    if grown:
        figures.append(("speed: worst t(2n)/t(n)", max(grown), 2.2, False))
    return [
        {"goal": name, "found": found, "wanted": f"{'at least' if least else 'at most'} {limit:g}"}
        | {"reached": "yes" if (found >= limit if least else found <= limit) else "NO"}
        for name, found, limit, least in figures
    ]


TITLES = {
    ("passages", "summary"): "Passages, at the profile's threshold",
    ("passages", "kinds"): "Passages, errors by kind",
    ("passages", "levels"): "Passages, all thresholds",
    ("files", "curve"): "Development data, clauses, all thresholds",
    ("files", "repairs"): "Development data, repairs (patched, redacted, as reference: of errors of one span)",
    ("delay", "clauses"): "Delay of clauses, ms",
    ("delay", "first"): "When clauses leave",
    ("speed", "modes"): "Cost of streams (CPU)",
    ("speed", "growth"): "Growth (CPU)",
    ("speed", "finished"): "Finished texts, heuristic mode (CPU)",
}
SHARES = ("removed", "patched", "redacted", "kept", "wrong", "reference", "halt", "changed", "of all", "AUC")


def show(console: Console, title: str, rows: Sequence[Row]) -> None:
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    table = Table(title=title, title_justify="left")
    for name in names:
        table.add_column(name, justify="left" if isinstance(rows[0].get(name), str) else "right")
    for row in rows:
        table.add_row(*(shown(name, row.get(name, "")) for name in names))
    console.print(table)


def shown(name: str, value: object) -> str:
    """A figure as a table shows it."""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if name == "AUC" or name.startswith("threshold"):
        return f"{value:.3f}"
    if any(word in name for word in SHARES):
        return f"{value:.1%}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:,.2f}"


def plot(saved: Row) -> None:
    import matplotlib  # noqa: PLC0415 - only a saved run needs it

    matplotlib.use("svg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(15, 4.4))
    for axes, part, goal in ((left, "passages", (0.98, 0.92)), (middle, "files", (0.95, 0.45))):
        for mode, points in saved.get(part, {}).get("curves", {}).items():
            axes.plot([kept for _, _, kept in points], [removed for _, removed, _ in points], label=mode)
        axes.plot(*goal, "k+", markersize=12, label="goal")
        axes.set(xlabel="right clauses kept", ylabel="wrong ones removed", title=part, xlim=(0.5, 1), ylim=(0, 1))
        axes.legend(loc="lower left")
    growth = saved.get("speed", {}).get("growth", ())
    for label in dict.fromkeys(row["stream"] for row in growth):
        points = [(row["tokens"], row["CPU s"]) for row in growth if row["stream"] == label]
        right.loglog(*zip(*points, strict=True), marker="o", label=label)
    right.set(xlabel="tokens", ylabel="CPU s", title="a stream")
    if growth:
        right.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "repair.svg", metadata={"Date": None})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; by default all")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the development data")
    parser.add_argument("--rows", type=int, default=0, help="rows per file; 0 for all")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), help="of the part `files`")
    parser.add_argument("--passages", type=int, default=0, help="as many passages; 0 for all")
    parser.add_argument("--seconds", type=float, default=120.0, help="length of the stream of the part `delay`")
    parser.add_argument("--quick", action="store_true", help="the part `speed` with a tenth of the tokens")
    parser.add_argument("--list", action="store_true", help="name the errors that were missed and right clauses lost")
    parser.add_argument("--peer", action="store_true", help=f"also measure {PEER}")
    parser.add_argument("--peer-python", metavar="PATH", help="an environment that has the peer, not a throw-away one")
    parser.add_argument("--save", action="store_true", help="write results/repair.json and .svg")
    options = parser.parse_args()
    if set(options.parts) - set(PARTS):
        parser.error(f"PART is one of {', '.join(PARTS)}")
    return options


def measure(part: str, options: argparse.Namespace, console: Console) -> Row | None:
    """One part, or None where its data is missing."""
    if part == "passages":
        return measure_passages(options.passages)
    if part == "delay":
        return measure_delay(options.seconds)
    if part == "speed":
        return measure_speed(options)
    missing = [name for name in FILES if not (options.data / f"repair_{name}.jsonl.gz").is_file()]
    if missing:
        console.print(f"no development data at {options.data} ({', '.join(missing)}): the part `files` is left out")
        return None
    return measure_files(options.data, options.rows, options.modes)


def main() -> None:
    """Run as a command."""
    options = parsed()
    console = Console(width=200)
    saved: Row = {"python": platform.python_version(), "machine": platform.machine()}
    for part in options.parts or PARTS:
        started = time.monotonic()
        found = measure(part, options, console)
        if found is None:
            continue
        saved[part] = found | {"minutes": (time.monotonic() - started) / 60}
        for (owner, key), title in TITLES.items():
            if owner == part and found[key]:
                show(console, title, found[key])
        for name in ("missed", "lost") if options.list and part == "passages" else ():
            for mode, lines in found[name].items():
                console.print(f"{name}, {mode}:", *lines, sep="\n  ", markup=False, highlight=False)
        console.print(f"{part}: {saved[part]['minutes']:.1f} minutes\n")
    if reached := goals(saved):
        show(console, "Goals", reached)
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / "repair.json"
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        saved = known | saved
        saved["goals"] = goals(saved)
        path.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", "utf-8")
        plot(saved)
        console.print(f"written to {path.name}")


if __name__ == "__main__":
    main()
