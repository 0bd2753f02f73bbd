"""How long a guarded stream holds a clause back, at the pace of a model that writes.

Used by `repair.py`. Tokens come on an absolute schedule, whatever the reader does: a reader that is late finds the next
ones waiting. Of each clause:

    hold-back     from when it was known to be complete until it was released (`held_seconds`)
    since end     from when its last own character was due until it was released: a clause is known to be complete only
                  when the next word has begun, and one that comes while another is being judged waits for it
    scoring       what its judgement took (`scoring_seconds`), evidence and rewriting included, early work too
    added         hold-back less scoring
    beyond model  hold-back less what the calls of the models, entailer and encoder, took of it: the stricter figure
"""

from __future__ import annotations

import bisect
import concurrent.futures
import itertools
import multiprocessing
import random
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from regression_suite import passages
from repair_quality import opened_guard
from rich.progress import track

from director_ai import GroundTruthStore, VectorGroundTruthStore
from director_ai.nli import load_encoder, load_entailer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from director_ai import ProductionGuard

WAYS = {"heuristic, by words": (False, "words"), "heuristic": (False, "meaning"), "model": (True, "meaning")}
"""Whether the model judges, and how evidence is searched for: by meaning means that another model is asked."""
_TOKEN = re.compile(r"[^\S\n]?\w{1,6}|[^\S\n]?[^\w\s]|\s")
PACE = 50.0
LONGEST_TOKEN = 7
MOST_SECONDS = 120.0
PLANTED = 0.35
"""Share of the passages that have an error: about every tenth clause is wrong then."""
WARM_UP = "The harbour was built of grey stone. It cost 90 thalers and was open on Sundays, and nobody went there."
Row = dict[str, Any]
Interval = tuple[float, float]


def tokens_of(text: str) -> list[str]:
    """Cut a text as tokenizers of language models do: pieces of words with the blank before them, signs alone."""
    return _TOKEN.findall(text)


def long_answer(characters: int, seed: int = 7) -> str:
    """An answer of passages, some with an error; no passage comes twice."""
    rng = random.Random(seed)
    items = rng.sample(passages(), len(passages()))
    parts = [item["planted"]["text"] if rng.random() < PLANTED else item["correct"] for item in items]
    return " ".join(parts)[:characters]


def all_facts() -> dict[str, str]:
    """The facts of all passages, in one knowledge base."""
    return {f"{item['id']}.{key}": fact for item in passages() for key, fact in item["facts"].items()}


class PacedTokens:
    """Tokens on an absolute schedule; the clock starts with the first that is asked for."""

    def __init__(
        self,
        tokens: Sequence[str],
        per_second: float = PACE,
        *,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._tokens, self._step = tokens, 1 / per_second
        self._clock, self._sleep = clock, sleep
        self._ends = list(itertools.accumulate(map(len, tokens)))
        self.started = 0.0
        self.late: list[float] = []
        """How much later than wanted the machine woke us up."""

    def __iter__(self) -> Iterator[str]:
        self.started = self._clock()
        for number, token in enumerate(self._tokens):
            due = self.started + (number + 1) * self._step
            if (wait := due - self._clock()) > 0:
                self._sleep(wait)
                self.late.append(self._clock() - due)
            yield token

    def due(self, place: int) -> float:
        """When the token with a character arrives."""
        return self.started + (bisect.bisect_right(self._ends, place) + 1) * self._step


@dataclass(slots=True)
class TimedModel:
    """An entailer or an encoder that notes when it was at work."""

    model: Any
    calls: list[Interval]

    @property
    def digest(self) -> str:
        return str(self.model.digest)

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return self._timed(self.model.predict, pairs)

    def encode(self, texts: Sequence[str]) -> Any:
        return self._timed(self.model.encode, texts)

    def _timed(self, function: Callable[..., Any], given: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(given)
        finally:
            self.calls.append((started, time.perf_counter()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseDelay:
    """How one clause was delayed, in seconds."""

    held: float
    since_end: float
    scoring: float
    model: float
    """Of the hold-back."""
    released: float
    """When, since the stream began."""
    ended: float
    """When its last own character was due, since the stream began."""

    @property
    def added(self) -> float:
        return max(0.0, self.held - self.scoring)

    @property
    def beyond_model(self) -> float:
        return max(0.0, self.held - self.model)


def shared_seconds(start: float, end: float, intervals: Sequence[Interval]) -> float:
    """How much of a stretch of time lies within intervals that do not overlap."""
    return sum(max(0.0, min(end, high) - max(start, low)) for low, high in intervals)


def streamed(guard: ProductionGuard, source: PacedTokens, calls: list[Interval]) -> list[ClauseDelay]:
    """Read a stream to its end and tell of each clause."""
    delays = []
    with guard.stream("", source) as stream:
        for piece in stream:
            now = time.perf_counter()
            for action in piece.actions:
                held, due = action.held_seconds or 0.0, source.due(action.end - 1)
                delays.append(
                    ClauseDelay(
                        held=held,
                        since_end=now - due,
                        scoring=action.scoring_seconds,
                        model=shared_seconds(now - held, now, calls),
                        released=now - source.started,
                        ended=due - source.started,
                    )
                )
    return delays


def measure_delay(seconds: float) -> Row:
    """Delays of one stream in each way, with early scoring and without; each in a process that has seen no text."""
    runs = [(way, early) for way in WAYS for early in (True, False)]
    context = multiprocessing.get_context("spawn")
    saved: Row = {"seconds": seconds, "pace": PACE, "clauses": [], "first": []}
    for way, early in track(runs, description=f"streams of {seconds:.0f} s", transient=True):
        with concurrent.futures.ProcessPoolExecutor(1, context) as process:
            delays, late = process.submit(measure_stream, seconds, way, early).result()
        which = {"mode": way, "early": "on" if early else "off"}
        saved["clauses"].append(which | delay_figures(delays, late))
        saved["first"].append(which | first_figures(delays))
    return saved


def measure_stream(seconds: float, way: str, early: bool) -> tuple[list[ClauseDelay], list[float]]:
    """The delays of one stream, and how late the machine woke its source up."""
    wanted = int(min(seconds, MOST_SECONDS) * PACE)
    tokens = tokens_of(long_answer(wanted * LONGEST_TOKEN))[:wanted]
    calls: list[Interval] = []
    use_nli, search = WAYS[way]
    entailer = TimedModel(load_entailer(cache_size=0), calls) if use_nli else None
    encoder = TimedModel(load_encoder(cache_size=0), calls) if search == "meaning" else None
    with opened_store(search, all_facts(), encoder) as store:
        guard = opened_guard(store, use_nli=use_nli, entailer=entailer, early=early)
        guard.repair_stream("", WARM_UP)
        calls.clear()
        source = PacedTokens(tokens)
        return streamed(guard, source, calls), source.late


def opened_store(search: str, facts: Mapping[str, str] | None, encoder: Any = None) -> GroundTruthStore:
    """A knowledge base that is searched by words alone, or by meaning too; no vector is remembered."""
    if search == "words":
        return GroundTruthStore(facts=facts)
    return VectorGroundTruthStore(facts=facts, encoder=encoder or load_encoder(cache_size=0))


def delay_figures(delays: Sequence[ClauseDelay], late: Sequence[float]) -> Row:
    """Quantiles over the clauses, in milliseconds."""
    figures: Row = {"clauses": len(delays)}
    for name, quantiles in (
        ("held", (50, 99, 100)),
        ("since_end", (50, 99)),
        ("scoring", (50, 99)),
        ("added", (50, 99, 100)),
        ("beyond_model", (50, 99)),
    ):
        values = [getattr(each, name) * 1e3 for each in delays]
        shown = {"held": "hold-back"}.get(name, name.replace("_", " "))
        for quantile in quantiles:
            label = "max" if quantile == 100 else f"p{quantile}"
            figures[f"{shown} {label}"] = float(np.percentile(values, quantile)) if values else 0.0
    figures["wake-up late p99"] = float(np.percentile(late, 99)) * 1e3 if len(late) else 0.0
    return figures


def first_figures(delays: Sequence[ClauseDelay]) -> Row:
    """When the first clause leaves, and how many leave before the one behind them has come to its end."""
    pairs = list(itertools.pairwise(delays))
    before = [first.released < second.ended for first, second in pairs]
    return {
        "first clause complete, s": delays[0].ended,
        "first clause out, s": delays[0].released,
        "second complete, s": delays[1].ended,
        "first out before second ends": before[0],
        "of all": sum(before) / len(before),
    }
