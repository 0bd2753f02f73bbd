"""What the proxy adds to a stream, and how many it holds: beside itself with the guard off, and a plain reverse proxy.

    python benchmarks/serve.py                        all, about a quarter of an hour
    python benchmarks/serve.py --ways heuristic --streams 200
    python benchmarks/serve.py --ways heuristic "guard off" --streams 200 400 --workers 1 2
    python benchmarks/serve.py overload               3 times as many as are let in: who is refused, and what is shown
    python benchmarks/serve.py --save                 also writes results/serve.json and its plot (needs matplotlib)

A scripted upstream says answers at 50 tokens a second, clients read them; upstream, proxy and clients are processes of
their own on one machine. Answers are made of right and wrong passages; about every tenth clause is wrong. Of each:

    added         from when the upstream sent the token with which the clause is known to be complete, to when the
                  client has it (where nothing is guarded: to when the client has that token)
    first clause  from the request to the first clause, less what the upstream took to say it

Counted are clauses while all streams were open; where there was no such time, they were too many and have no figure.
CPU is that of the proxy, in parts of one core; memory is what it grew by. `clients` and `upstream` are what those took
of a core: where one comes near 1, the figures are theirs. In model mode `limit` is how many streams the model's own
time allows; nothing is remembered from one clause to the next.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from repair_delay import LONGEST_TOKEN, WARM_UP, TimedModel, all_facts, long_answer, opened_store, tokens_of
from repair_quality import opened_guard
from reporting import drawing, keep, keep_drawing, kept, machine, show
from rich.console import Console
from serve_load import PROMPT, REFUSED
from serve_proxies import WAYS
from serve_site import Row, Watch, site
from serve_upstream import PACE

from director_ai.nli import load_encoder, load_entailer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARTS = ("delay", "overload")
STREAMS = [1, 10, 50, 100, 200, 400]
MODEL_STREAMS = [1, 2, 4, 6, 8, 10, 12, 14, 16, 20]
MOST_ANSWERS = 24
HELD, HELD_MODEL = 200, 0.85
"""Streams in heuristic mode, and the share of the model's limit, that are to be held."""
MOST_P50, MOST_P99 = 3.0, 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the upstream says, and what should become of it."""

    tokens: list[str]
    known: list[int]
    """For each clause, the token with which it is known to be complete."""
    shown: list[int]
    """For each clause, how many characters have been shown with it."""
    text: str
    """All that should be shown."""

    @property
    def heard(self) -> list[int]:
        """For each clause, how many characters were said when it was known to be complete."""
        ends = list(itertools.accumulate(map(len, self.tokens)))
        return [ends[token] for token in self.known]


def answers_of(count: int, seconds: float, way: str) -> tuple[list[Answer], float]:
    """Answers with what a guard makes of them, and how many seconds its models take for a clause."""
    calls: list[tuple[float, float]] = []
    with_model = way == "model"
    entailer = TimedModel(load_entailer(cache_size=0), calls) if with_model else None
    encoder = TimedModel(load_encoder(cache_size=0), calls) if with_model else None
    with opened_store("meaning" if with_model else "words", all_facts(), encoder) as store:
        guard = opened_guard(store, use_nli=with_model, entailer=entailer, early=False)
        guard.repair_stream("", WARM_UP)
        calls.clear()
        made = [_answer(guard, seed, int(seconds * PACE)) for seed in range(count)]
    clauses = sum(len(each.known) for each in made)
    return made, sum(end - start for start, end in calls) / clauses


def _answer(guard: Any, seed: int, wanted: int) -> Answer:
    tokens = tokens_of(long_answer(wanted * LONGEST_TOKEN, seed))[:wanted]
    at = -1

    def counted() -> Iterator[str]:
        nonlocal at
        for token in tokens:
            at += 1
            yield token

    known, shown, text = [], [], ""
    with guard.stream(PROMPT, counted()) as stream:
        for piece in stream:
            text += piece.text
            if piece.actions and at < len(tokens) - 1:  # the last clause is known by the end of the stream
                known.append(at)
                shown.append(len(text))
    return Answer(tokens=tokens, known=known, shown=shown, text=text)


# --- delay --------------------------------------------------------------------------------------------------------


def figures(way: str, streams: int, answers: Sequence[Answer], came: Row, told: Row, watch: Watch) -> Row:
    """The figures of one run."""
    heard, times = [each for each in came["heard"] if each["status"] == 200 and each["name"]], told["times"]
    start = max((times[each["name"]][0] for each in heard), default=0.0)
    end = min((times[each["name"]][-1] for each in heard), default=0.0)
    added, first, wrong = [], [], 0
    for each in heard:
        answer, sent = answers[each["answer"]], times[each["name"]]
        is_open = way in {"guard off", "plain proxy"}
        wrong += each["text"] != ("".join(answer.tokens) if is_open else answer.text) or not each["is_whole"]
        whens = [_when(each, length) for length in (answer.heard if is_open else answer.shown)]
        pairs = [(when, sent[token]) for token, when in zip(answer.known, whens, strict=True) if when is not None]
        added += [when - said for when, said in pairs if start <= said <= end]
        if pairs:
            first.append(pairs[0][0] - each["sent"] - (pairs[0][1] - sent[0] + 1 / PACE))
    cores, memory = watch.between(start, end)
    row = {"way": way, "streams": streams, "clauses": len(added)}
    row |= {f"added p{at}, ms": _quantile(added, at) for at in (50, 99)}
    row |= {f"first clause p{at}, ms": _quantile(first, at) for at in (50, 99)}
    row |= {"cores": cores, "CPU per stream, %": 100 * cores / streams, "KiB per stream": 1024 * memory / streams}
    row |= {"errors": streams - len(heard), "wrong texts": wrong, "clients": came["cpu"] / came["seconds"]}
    late = [at - sent[0] - number / PACE for sent in times.values() for number, at in enumerate(sent)]
    return row | {"upstream": told["cpu"] / came["seconds"], "upstream late p99, ms": _quantile(late, 99)}


def _when(heard: Row, length: int) -> float | None:
    at = int(np.searchsorted(heard["ends"], length))
    return heard["times"][at] if at < len(heard["times"]) else None


def _quantile(values: Sequence[float], at: float) -> float | None:
    return float(np.percentile(values, at)) * 1e3 if len(values) else None


def measure_delay(options: argparse.Namespace, folder: Path, console: Console) -> Row:
    """The figures of each way, by streams."""
    found: Row = {"seconds": options.seconds, "pace": PACE, "rows": [], "model": {}}
    for way in options.ways:
        kind = "model" if way == "model" else "heuristic"
        answers, model_seconds = answers_of(min(MOST_ANSWERS, max(options.streams)), options.seconds, kind)
        rate = sum(len(each.known) for each in answers) / len(answers) / options.seconds
        if way == "model":
            limit = 1 / (rate * model_seconds)
            found["model"] = {"ms per clause": model_seconds * 1e3, "clauses a second": rate, "limit": limit}
            console.print(f"the models take {model_seconds * 1e3:.1f} ms for a clause; {limit:.1f} streams at the most")
        counts = [1] if way == "plain proxy" else options.workers
        loads = options.model_streams if way == "model" else options.streams
        for workers, streams in itertools.product(counts, loads):
            with site(way, [each.tokens for each in answers], folder, workers=workers) as place:
                row = figures(way, streams, answers, *place.load(streams, max(0.5, streams / 100)))
            row["way"] = way if workers == 1 else f"{way}, {workers} workers"
            found["rows"].append(row)
            p50, p99 = row["added p50, ms"], row["added p99, ms"]
            told = "too many: they were never all open at once" if p50 is None else f"{p50:.1f} / {p99:.1f} ms"
            console.print(f"{row['way']}, {streams} streams: {told}")
    return found


# --- overload -----------------------------------------------------------------------------------------------------


def measure_overload(options: argparse.Namespace, folder: Path, console: Console) -> Row:
    """3 times as many as are let in: what becomes of the rest, and whether anything unguarded is shown."""
    rows = []
    for limits in ({"most_streams": options.most}, {"rate": f"{options.most}/hour"}):
        answers, _ = answers_of(min(MOST_ANSWERS, options.most), options.seconds, "heuristic")
        with site("heuristic", [each.tokens for each in answers], folder, **limits) as place:
            came, _, _ = place.load(3 * options.most, 1.0)
        heard = came["heard"]
        served = [each for each in heard if each["status"] == 200]
        refused = [each for each in heard if each["status"] in REFUSED]
        rows.append(
            {
                "limit": ", ".join(f"{name} {value}" for name, value in limits.items()),
                "asked": 3 * options.most,
                "served": len(served),
                "refused": len(refused),
                "without Retry-After": sum(1 for each in refused if not each["retry_after"].isdigit()),
                "other": 3 * options.most - len(served) - len(refused),
                "not as guarded": sum(each["text"] != answers[each["answer"]].text for each in served),
            }
        )
        console.print(f"{rows[-1]['limit']}: {len(served)} served, {len(refused)} refused")
    return {"rows": rows}


# --- what is shown and kept ---------------------------------------------------------------------------------------


def goals(saved: Row) -> list[Row]:
    """What was promised beside what was found."""
    figures: list[tuple[str, float | None, float]] = []
    delay = saved.get("delay", {})
    for row in delay.get("rows", ()):
        if (row["way"].partition(",")[0], row["streams"]) == ("heuristic", HELD):
            for at, most in ((50, MOST_P50), (99, MOST_P99)):
                figures.append((f"{row['way']}, {HELD} streams: added p{at}, ms", row[f"added p{at}, ms"], most))
    for row in saved.get("overload", {}).get("rows", ()):
        name = f"asked 3 times as much as {row['limit']}"
        figures.append((f"{name}: neither served as guarded nor refused with Retry-After", _unsound(row), 0))
    return [
        {
            "goal": name,
            "found": found,
            "wanted": f"at most {most:g}",
            "reached": "yes" if found is not None and found <= most else "NO",
        }
        for name, found, most in figures
    ]


def _unsound(row: Row) -> int:
    return int(row["without Retry-After"] + row["other"] + row["not as guarded"])


def plot(saved: Row) -> None:
    figure, axes = drawing(1, 3, figsize=(16, 5))
    rows = saved.get("delay", {}).get("rows", ())
    for way in dict.fromkeys(row["way"] for row in rows):
        own = [row for row in rows if row["way"] == way]
        for place, name in zip(axes, ("added p50, ms", "added p99, ms", "cores"), strict=True):
            place.plot([row["streams"] for row in own], [row[name] for row in own], marker="o", label=way)
            place.set(xlabel="streams of 50 tokens a second", title=name, xscale="log")
            place.legend(fontsize=8)
    axes[0].set_yscale("log")
    axes[1].set_yscale("log")
    keep_drawing(figure, "serve")


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; by default both")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--streams", type=int, nargs="+", default=STREAMS)
    parser.add_argument("--model-streams", type=int, nargs="+", default=MODEL_STREAMS)
    parser.add_argument("--workers", type=int, nargs="+", default=[1], help="processes of our server")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each answer")
    parser.add_argument("--most", type=int, default=100, help="streams that are let in, in the part `overload`")
    parser.add_argument("--save", action="store_true", help="write results/serve.json and .svg")
    options = parser.parse_args(arguments)
    if set(options.parts) - set(PARTS):
        parser.error(f"PART is one of {', '.join(PARTS)}")
    least = min(*options.streams, *options.model_streams, *options.workers, options.most)
    if least < 1 or not 1 <= options.seconds <= 100:
        parser.error("there must be at least one stream, of 1 to 100 seconds, and one worker")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as a command."""
    options = parsed(arguments)
    console = Console(width=200)
    saved: Row = machine()
    measures = {"delay": measure_delay, "overload": measure_overload}
    with tempfile.TemporaryDirectory() as folder:
        for part in options.parts or PARTS:
            found = measures[part](options, Path(folder), console)
            show(console, part, found["rows"])
            saved[part] = found | {"load": os.getloadavg()[0]}
    if reached := goals(saved):
        show(console, "Goals", reached)
    if options.save:
        keep("serve", saved, goals, console)
        plot(kept("serve"))


if __name__ == "__main__":
    main()
