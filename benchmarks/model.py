"""What the bundled model gets right, how honest its figures are, and what a pair costs.

    python benchmarks/model.py                    prints the tables (150 rows per dev file)
    python benchmarks/model.py --rows 0           all rows of the dev files: some hours on one core
    python benchmarks/model.py --skip-accuracy    the cost alone, in some minutes
    python benchmarks/model.py --tiny             the cost of one small shape: shows that it runs
    python benchmarks/model.py --save             also writes results/model.json and its plots (needs matplotlib)

Accuracy is measured through the package's own inference, as a user would call it: each sentence of a hypothesis against
the premise, the least supported deciding. Beside it stand what can be had offline: counting shared words, a classifier
that sees the hypothesis alone, the cosine of the bundled encoder, and models given by `--peer NAME=model.onnx`.

Times are CPU milliseconds of the whole process, medians of runs that take turns, so that a busy machine slows all
alike. The plain encoder is a BERT of the model's depth and width with random weights, written in standard operators and
made int8 by onnxruntime's own `quantize_dynamic`; `--plain` times another file instead. The fp32 model is the bundled
one with its weights as floating point numbers and its activations as they are; `--fp32` takes another file instead.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import itertools
import json
import logging
import math
import os
import random
import re
import shutil
import statistics
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np  # the variable above must be set before onnxruntime is
import onnx
import onnxruntime
from onnx import helper, numpy_helper, parser
from onnxruntime.quantization import QuantType, quantize_dynamic
from reporting import labelled_files
from rich.console import Console
from rich.progress import track
from rich.table import Table

from director_ai.core.segment import split_sentences
from director_ai.nli import Entailer, load_encoder, load_entailer
from director_ai.nli.loading import BUNDLED

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).parent / "results"
SHARED = Path(__file__).parent.parent.parent / "shared" / "data"
MODEL = BUNDLED / "entailer"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
SHAPES = [(tokens, batch) for tokens in (64, 128, 256) for batch in (1, 16)]
WORD = re.compile(r"\w+")
Row = dict[str, Any]


# Graphs: the bundled one without its quantisation, and a plain one of its shape.


def as_floats(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same network with floating point products: each integer product from what it quantises to what it scales."""
    graph = model.graph
    known = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    maker = {name: node for node in graph.node for name in node.output}
    users: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    made: dict[str, onnx.NodeProto] = {}
    for node in graph.node:
        if node.op_type not in {"MatMulInteger", "MatMulIntegerToFloat"}:
            continue
        before = maker[node.input[0]]
        while before.op_type not in {"Div", "DynamicQuantizeLinear"}:
            before = maker[before.input[0]]
        after = node.output[0]
        while len(users[after]) == 1 and users[after][0].op_type in {"Cast", "Mul"}:
            after = users[after][0].output[0]
        name = node.input[1].removesuffix("_quantized")
        zero = known[f"{name}_zero_point"].astype(np.float32)
        weight = (known[node.input[1]].astype(np.float32) - zero) * known[f"{name}_scale"].astype(np.float32)
        if name not in known:
            known[name] = weight
            graph.initializer.append(numpy_helper.from_array(weight.astype(np.float32), name))
        made[after] = helper.make_node("MatMul", [before.input[0], name], [after])
    return _only_what_is_used(model, [made.get(node.output[0], node) for node in graph.node])


def _only_what_is_used(model: onnx.ModelProto, nodes: list[onnx.NodeProto]) -> onnx.ModelProto:
    needed = {each.name for each in model.graph.output}
    kept = []
    for node in reversed(nodes):
        if needed & set(node.output):
            kept.append(node)
            needed.update(node.input)
    constants = [each for each in model.graph.initializer if each.name in needed]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(reversed(kept))
    model.graph.initializer.extend(constants)
    onnx.checker.check_model(model)
    return model


EMBEDDINGS = """
  words = Gather (word_table, input_ids)
  sides = Gather (side_table, token_type_ids)
  length = Shape <start = 1, end = 2> (input_ids)
  positions = Slice (place_table, nought, length)
  both = Add (words, sides)
  raw = Add (both, positions)
  x_0 = LayerNormalization <axis = -1, epsilon = 1e-12> (raw, norm_g, norm_b)
  there = Cast <to = 1> (attention_mask)
  absent = Sub (unit, there)
  far = Mul (absent, distance)
  penalty = Unsqueeze (far, middle)
"""
LAYER = """
  q_N = MatMul (x_N, q_N_w)
  k_N = MatMul (x_N, k_N_w)
  v_N = MatMul (x_N, v_N_w)
  qb_N = Add (q_N, wide_b)
  kb_N = Add (k_N, wide_b)
  vb_N = Add (v_N, wide_b)
  qh_N = Reshape (qb_N, heads)
  kh_N = Reshape (kb_N, heads)
  vh_N = Reshape (vb_N, heads)
  qt_N = Transpose <perm = [0, 2, 1, 3]> (qh_N)
  kt_N = Transpose <perm = [0, 2, 3, 1]> (kh_N)
  vt_N = Transpose <perm = [0, 2, 1, 3]> (vh_N)
  raw_N = MatMul (qt_N, kt_N)
  scaled_N = Mul (raw_N, shrink)
  masked_N = Add (scaled_N, penalty)
  attention_N = Softmax <axis = -1> (masked_N)
  mixed_N = MatMul (attention_N, vt_N)
  turned_N = Transpose <perm = [0, 2, 1, 3]> (mixed_N)
  flat_N = Reshape (turned_N, whole)
  o_N = MatMul (flat_N, o_N_w)
  ob_N = Add (o_N, wide_b)
  or_N = Add (ob_N, x_N)
  y_N = LayerNormalization <axis = -1, epsilon = 1e-12> (or_N, norm_g, norm_b)
  i_N = MatMul (y_N, i_N_w)
  ib_N = Add (i_N, inner_b)
  root_N = Div (ib_N, root_two)
  erf_N = Erf (root_N)
  more_N = Add (erf_N, unit)
  twice_N = Mul (ib_N, more_N)
  gelu_N = Mul (twice_N, half)
  f_N = MatMul (gelu_N, f_N_w)
  fb_N = Add (f_N, wide_b)
  fr_N = Add (fb_N, y_N)
  x_M = LayerNormalization <axis = -1, epsilon = 1e-12> (fr_N, norm_g, norm_b)
"""


def plain_encoder(folder: Path, depth: int, width: int, heads: int) -> Path:
    """Write a BERT with random weights, made int8 by onnxruntime's own tool, as anyone would."""
    chance = np.random.default_rng(0)

    def table(*shape: int) -> Any:
        return chance.normal(0, 0.02, shape).astype(np.float32)

    layers = "".join(LAYER.replace("_N", f"_{n}").replace("_M", f"_{n + 1}") for n in range(depth))
    inputs = ", ".join(f"int64[batch, seq] {name}" for name in INPUTS)
    body = f"{EMBEDDINGS} {layers} logits = Gather <axis = 1> (x_{depth}, first)"
    model = parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> plain ({inputs}) => (float[batch, width] logits) {{ {body} }}'
    )
    constants: dict[str, Any] = {
        "word_table": table(30522, width), "side_table": table(2, width), "place_table": table(512, width),
        "norm_g": np.ones(width, np.float32), "norm_b": table(width), "wide_b": table(width),
        "inner_b": table(4 * width), "root_two": np.float32(math.sqrt(2)), "shrink": np.float32((heads / width) ** 0.5),
        "heads": np.array([0, 0, heads, width // heads]), "whole": np.array([0, -1, width]), "nought": np.array([0]),
        "first": np.array(0), "middle": np.array([1, 2]), "unit": np.float32(1), "half": np.float32(0.5),
        "distance": np.float32(-1e4),
    }  # fmt: skip
    shapes = {**dict.fromkeys("qkvo", (width, width)), "i": (width, 4 * width), "f": (4 * width, width)}
    constants |= {f"{name}_{n}_w": table(*shape) for n in range(depth) for name, shape in shapes.items()}
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    onnx.save(model, folder / "plain-fp32.onnx")
    logging.getLogger().setLevel(logging.ERROR)  # it advises steps that a plain encoder goes without
    quantize_dynamic(folder / "plain-fp32.onnx", folder / "plain.onnx", weight_type=QuantType.QInt8)
    return folder / "plain.onnx"


def depth_and_width(model: onnx.ModelProto) -> tuple[int, int]:
    """Of a BERT: two normalisations per layer and one before, each as wide as the network."""
    norms = [node for node in model.graph.node if node.op_type == "LayerNormalization"]
    weights = {each.name: each.dims for each in model.graph.initializer}
    return (len(norms) - 1) // 2, int(weights[norms[0].input[1]][0])


# Cost.


def open_session(path: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def taking_turns(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median CPU seconds of each, run in turn; short ones several times at once, for the clock's sake."""
    times: dict[str, list[float]] = {name: [] for name in works}
    repeats: dict[str, int] = {}
    for name, work in works.items():
        work()
        started = time.process_time()
        work()
        repeats[name] = max(1, math.ceil(0.04 / max(1e-6, time.process_time() - started)))
    for _ in range(rounds):
        for name, work in works.items():
            started = time.process_time()
            for _ in range(repeats[name]):
                work()
            times[name].append((time.process_time() - started) / repeats[name])
    return {name: statistics.median(found) for name, found in times.items()}


def feed_of(tokens: int, batch: int) -> dict[str, np.ndarray]:
    ids = np.random.default_rng(0).integers(1000, 20000, (batch, tokens))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def cost(graphs: dict[str, Path], rounds: int, shapes: list[tuple[int, int]] = SHAPES) -> list[Row]:
    """CPU milliseconds per pair of each graph, at each shape and number of threads."""
    rows = []
    for threads in (1, 2):
        sessions = {name: open_session(path, threads) for name, path in graphs.items()}
        for tokens, batch in track(shapes, description=f"cost on {threads} thread(s)"):
            feed = feed_of(tokens, batch)
            works = {name: functools.partial(session.run, None, feed) for name, session in sessions.items()}
            medians = taking_turns(works, rounds)
            row: Row = {"threads": threads, "tokens": tokens, "batch": batch}
            row |= {name: seconds / batch * 1e3 for name, seconds in medians.items()}
            rows.append(row | {"int8_by_plain": medians["int8"] / medians["plain"]})
    return rows


def throughput(data: Path, rounds: int) -> list[Row]:
    """Pairs per CPU second through the package, against a plain session that is fed the very same batches."""
    pairs = [(row["premise"], row["hypothesis"]) for row in dev_rows(data / "begin_wow.jsonl.gz", 160)]
    entailer = load_entailer(threads=1, cache_size=0)
    engine: Any = entailer._engine
    session, fed = engine._opened(), []
    expected = entailer.predict(pairs)

    class Tap:
        def run(self, names: Any, feed: Any) -> Any:
            fed.append(feed)
            return session.run(names, feed)

    def in_threads(count: int) -> list[Any]:
        found: dict[int, Any] = {}

        def some(start: int) -> None:
            for place in range(start, len(pairs), count):
                (found[place],) = entailer.predict([pairs[place]])

        workers = [threading.Thread(target=some, args=(start,)) for start in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return [found[place] for place in range(len(pairs))]

    def replay(feeds: list[Any]) -> None:
        for feed in feeds:
            session.run(None, feed)

    rows = []
    callers: dict[str, Callable[[], list[Any]]] = {"one caller, all pairs": lambda: entailer.predict(pairs)}
    callers |= {f"{count} callers, pair by pair": functools.partial(in_threads, count) for count in (8, 32)}
    for name, work in callers.items():
        fed.clear()
        original, engine._opened = engine._opened, Tap
        found = work()
        engine._opened = original
        times = taking_turns({"package": work, "plain": functools.partial(replay, list(fed))}, rounds)
        rows.append(
            {
                "callers": name,
                "pairs_per_cpu_s": len(pairs) / times["package"],
                "of_plain_session": times["plain"] / times["package"],
                "runs": len(fed),
                "largest_difference": max(
                    abs(one.supported - other.supported) for one, other in zip(found, expected, strict=True)
                ),
            }
        )
    return rows


# Accuracy.


def dev_rows(path: Path, count: int) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(0).shuffle(rows)
    return rows[:count] if count else rows


def statements(hypothesis: str) -> list[str]:
    parts = [part.strip() for part in split_sentences(hypothesis) if len(part.split()) > 2]
    return parts if len(parts) > 1 else [hypothesis]


def support(entailer: Entailer, rows: list[Row]) -> np.ndarray:
    pairs = [(row["premise"], part) for row in rows for part in statements(row["hypothesis"])]
    answers = iter(entailer.predict(pairs))
    return np.array([min(next(answers).supported for _ in statements(row["hypothesis"])) for row in rows])


def shared_words(rows: list[Row]) -> np.ndarray:
    def share(row: Row) -> float:
        said, known = ({word.lower() for word in WORD.findall(row[key])} for key in ("hypothesis", "premise"))
        return len(said & known) / max(1, len(said))

    return np.array([share(row) for row in rows])


def cosine(rows: list[Row]) -> np.ndarray:
    encoder = load_encoder(threads=1, cache_size=0)
    here, there = (encoder.encode([row[key] for row in rows]) for key in ("hypothesis", "premise"))
    return np.asarray((here * there).sum(axis=1))


class HypothesisAlone:
    """Naive Bayes over the words and word pairs of the training files' hypotheses: habits of those who wrote them."""

    def __init__(self, folder: Path) -> None:
        counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        for path in sorted(folder.glob("*.jsonl.gz")):
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                for row in map(json.loads, lines):
                    counts[row["label"] == "supported"].update(self.features(row["hypothesis"]))
        totals = {label: sum(found.values()) for label, found in counts.items()}
        names = [name for name, count in (counts[True] + counts[False]).items() if count > 2]
        rates = {label: math.log(totals[label] + len(names)) for label in totals}
        self.odds = {
            name: math.log((counts[True][name] + 1) / (counts[False][name] + 1)) - rates[True] + rates[False]
            for name in names
        }

    @staticmethod
    def features(text: str) -> set[str]:
        words = [word.lower() for word in WORD.findall(text)]
        return {*words, *map(" ".join, itertools.pairwise(words))}

    def __call__(self, rows: list[Row]) -> np.ndarray:
        found = []
        for row in rows:
            features = self.features(row["hypothesis"])
            found.append(sum(self.odds.get(name, 0.0) for name in features) / max(1, len(features)))
        return np.array(found)


def balanced_accuracy(score: np.ndarray, good: np.ndarray, threshold: float) -> float:
    return float(((score >= threshold)[good].mean() + (score < threshold)[~good].mean()) / 2)


def best_accuracy(score: np.ndarray, good: np.ndarray) -> float:
    """At the threshold that suits these very rows best: kind to what has no threshold of its own."""
    return max(balanced_accuracy(score, good, threshold) for threshold in np.quantile(score, np.linspace(0, 1, 50)))


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


def with_mean(rows: list[Row]) -> list[Row]:
    numbers = [key for key, value in rows[0].items() if isinstance(value, float)]
    return [*rows, {"file": "mean", "rows": 0} | {key: float(np.mean([row[key] for row in rows])) for key in numbers}]


def accuracy(data: Path, train: Path, count: int, models: dict[str, Path]) -> Row:
    """The model's figures per file, and those of everything it is compared with."""
    ours = load_entailer(threads=2, cache_size=0)
    peers: dict[str, Callable[[list[Row]], np.ndarray]] = {"shared words": shared_words, "encoder's cosine": cosine}
    if train.exists():
        peers["hypothesis alone"] = HypothesisAlone(train)
    for name, folder in models.items():
        peers[name] = functools.partial(support, load_entailer(folder, threads=2, cache_size=0))
    paths = labelled_files(data)
    files: list[Row] = []
    beside: dict[str, list[Row]] = {name: [] for name in ("the model", *peers)}
    pooled: list[tuple[np.ndarray, np.ndarray]] = []
    for path in track(paths, description="dev files"):
        name = path.name.removesuffix(".jsonl.gz")
        rows = dev_rows(path, count if name not in {"bump", "frank"} else count // 2)
        good = np.array([row["label"] == "supported" for row in rows])
        scores = {"the model": support(ours, rows)} | {peer: score(rows) for peer, score in peers.items()}
        pooled.append((scores["the model"], good))
        half = {peer: balanced_accuracy(score, good, 0.5) for peer, score in scores.items()}
        figures = {"balanced_accuracy": half["the model"], "auc": auc(*pooled[-1]), "ece": ece(*pooled[-1])}
        files.append({"file": name, "rows": len(rows)} | figures)
        for peer, score in scores.items():
            found = {"at_0.5": half[peer], "best": best_accuracy(score, good), "auc": auc(score, good)}
            beside[peer].append({"file": name} | found)
    together = np.concatenate([score for score, _ in pooled]), np.concatenate([good for _, good in pooled])
    return {
        "rows_per_file": count,
        "files": with_mean(files),
        "pooled_ece": ece(*together),
        "reliability": reliability(*together),
        "peers": {peer: with_mean(rows) for peer, rows in beside.items()},
    }


def peer_table(found: Row) -> list[Row]:
    """One row per peer; a figure at 0.5 only where 0.5 means something."""
    rows = []
    for name, per_file in found["peers"].items():
        mean = dict(per_file[-1])
        if name in {"shared words", "encoder's cosine", "hypothesis alone"}:
            mean["at_0.5"] = ""
        beaten = sum(
            ours["best"] > theirs["best"]
            for ours, theirs in zip(found["peers"]["the model"][:-1], per_file[:-1], strict=True)
        )
        rows.append({"peer": name, **{key: mean[key] for key in ("at_0.5", "best", "auc")}, "files_behind_us": beaten})
    return rows


# The run.


def folder_for(graph: Path, folder: Path) -> Path:
    """A model's folder like the bundled one, with another graph."""
    folder.mkdir()
    shutil.copy(graph, folder / "model.onnx")
    shutil.copy(MODEL / "tokenizer.json", folder / "tokenizer.json")
    manifest = json.loads((MODEL / "manifest.json").read_text("utf-8"))
    manifest["files"]["model.onnx"] = hashlib.sha256(graph.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


def show(console: Console, title: str, rows: list[Row]) -> None:
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if name in {"file", "callers", "peer"} else "right")
    for row in rows:
        table.add_row(*map(_shown, (row.get(name, "") for name in rows[0])))
    console.print(table)


def _shown(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3f}" if abs(value) >= 5e-4 or value == 0 else f"{value:.0e}"


def plain_line(rows: list[Row]) -> str:
    """The promise, and what came of it: on one thread, where CPU time is the time."""
    ratios = {threads: [row["int8_by_plain"] for row in rows if row["threads"] == threads] for threads in (1, 2)}
    one, two = (statistics.geometric_mean(found) for found in ratios.values())
    return (
        "default model's time per pair is at most 1.1 × that of a plain int8 encoder of its depth timed in the same "
        f"run: {'yes' if one <= 1.1 else 'NO'}, {one:.3f} × on one thread ({min(ratios[1]):.3f} to "
        f"{max(ratios[1]):.3f}), {two:.3f} × on two"
    )


def peer_cost(models: dict[str, Path], data: Path, rounds: int) -> dict[str, float]:
    """CPU milliseconds of each peer for one pair of 128 tokens, alone, on one thread."""
    words = [word for row in dev_rows(data / "mnli_dev.jsonl.gz", 40) for word in WORD.findall(row["premise"])]
    row = [{"premise": " ".join(words[:90]), "hypothesis": " ".join(words[100:122])}]
    works: dict[str, Callable[[], object]] = {
        "the model": functools.partial(support, load_entailer(threads=1, cache_size=0), row),
        "shared words": functools.partial(shared_words, row),
        "encoder's cosine": functools.partial(cosine, row),
    }
    for name, folder in models.items():
        works[name] = functools.partial(support, load_entailer(folder, threads=1, cache_size=0), row)
    return {name: seconds * 1e3 for name, seconds in taking_turns(works, rounds).items()}


def plot(saved: Row) -> None:
    import matplotlib  # noqa: PLC0415 - only a saved run needs it

    matplotlib.use("svg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(14.5, 4.4))
    one = [row for row in saved["cost"] if row["threads"] == 1 and row["batch"] == 1]
    for name, color in (("int8", "#2a7"), ("fp32", "#a52"), ("plain", "#888")):
        label = {"int8": "the model", "fp32": "in fp32", "plain": "a plain int8 encoder"}[name]
        points = [row["tokens"] for row in one], [row[name] for row in one]
        right.plot(*points, marker="o", color=color, label=label, linestyle="--" if name == "plain" else "-")
    right.set(
        xlabel="tokens in the pair", ylabel="CPU ms, one pair, one thread", title="Cost by length", ylim=(0, None)
    )
    right.legend(frameon=False)
    found = saved.get("accuracy")
    if found:
        said, real, share = zip(*found["reliability"], strict=True)
        left.plot([0, 1], [0, 1], color="#999", linewidth=1)
        left.plot(said, real, color="#2a7", zorder=1)
        left.scatter(said, real, s=[20 + 1200 * part for part in share], alpha=0.6, color="#2a7", clip_on=False)
        left.set(xlabel="support the model states", ylabel="share that is supported", xlim=(0, 1), ylim=(0, 1))
        left.set_title(f"Reliability, all dev files (ECE {found['pooled_ece']:.3f})")
        for marker, (name, per_file) in zip("osD^vP*X" * 9, found["peers"].items(), strict=False):
            if name in saved["peers_cpu_ms"]:
                at = saved["peers_cpu_ms"][name], per_file[-1]["best"]
                middle.plot(*at, marker, color="#2a7" if name == "the model" else None, label=name)
        middle.legend(frameon=False, loc="center left")
        middle.set(xscale="log", xlabel="CPU ms for one pair of about 128 tokens")
        middle.set(ylabel="balanced accuracy, each file's best threshold")
        middle.set_title("Accuracy against cost")
        middle.margins(0.15)
        middle.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(RESULTS / "model.svg", metadata={"Date": None})


def named_path(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    return name, Path(path)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=SHARED / "dev", help="folder of the dev files")
    options.add_argument("--train", type=Path, default=SHARED / "train", help="folder of the training files")
    options.add_argument("--rows", type=int, default=150, help="rows per file; 0 for all")
    options.add_argument("--rounds", type=int, default=15, help="turns of each timing")
    options.add_argument("--plain", type=Path, help="an int8 encoder to time the model against, instead of our own")
    options.add_argument("--fp32", type=Path, help="the model before it was quantised")
    options.add_argument("--peer", type=named_path, action="append", default=[], metavar="NAME=model.onnx")
    options.add_argument("--skip-accuracy", action="store_true")
    options.add_argument("--tiny", action="store_true", help="one small shape, one round, no data")
    options.add_argument("--save", action="store_true")
    arguments = options.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as made:
        saved = measure(arguments, Path(made), console)
    if arguments.save:
        path = RESULTS / "model.json"
        before = json.loads(path.read_text("utf-8")) if path.exists() else {}
        if before.get("model") == saved["model"]:
            saved = before | saved  # what was left out this time is still true of this model
        path.write_text(json.dumps(saved, indent=1) + "\n", "utf-8")
        plot(saved)


def measure(arguments: argparse.Namespace, folder: Path, console: Console) -> Row:
    graph = onnx.load(MODEL / "model.onnx")
    depth, width = depth_and_width(graph)
    floats = arguments.fp32 or folder / "fp32.onnx"
    if not arguments.fp32:
        onnx.save(as_floats(graph), floats)
    plain = arguments.plain or plain_encoder(folder, depth, width, heads=12)
    saved: Row = {"model": load_entailer().digest, "depth": depth, "width": width}
    graphs = {"int8": MODEL / "model.onnx", "plain": plain, "fp32": floats} | dict(arguments.peer)
    saved["cost"] = cost(graphs, 1, [(16, 1)]) if arguments.tiny else cost(graphs, arguments.rounds)
    show(console, "Cost of a pair, CPU ms", saved["cost"])
    if arguments.tiny:
        return saved
    console.print(plain_line(saved["cost"]))
    if not arguments.data.exists():
        console.print(f"no dev files at {arguments.data}: throughput and accuracy are left out")
        return saved
    saved["throughput"] = throughput(arguments.data, max(3, arguments.rounds // 3))
    show(console, "Throughput, one thread", saved["throughput"])
    peers = {"the model in fp32": floats, **dict(arguments.peer)}
    models = {name: folder_for(path, folder / name) for name, path in peers.items()}
    saved["peers_cpu_ms"] = peer_cost(models, arguments.data, arguments.rounds)
    if not arguments.skip_accuracy:
        found = saved["accuracy"] = accuracy(arguments.data, arguments.train, arguments.rows, models)
        show(console, "Accuracy of `supported` at 0.5", found["files"])
        console.print(f"pooled ECE {found['pooled_ece']:.3f}")
        show(console, "Beside others, means over the files", peer_table(found))
    return saved


if __name__ == "__main__":
    main()
