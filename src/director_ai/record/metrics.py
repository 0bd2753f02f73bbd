"""Figures for Prometheus, counted from what became of each clause."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Final

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, values
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.core.repair.record import ClauseAction
    from director_ai.judges.panel import JudgeUsage

__all__ = [
    "RepairMetrics",
    "counted_together",
    "forget_together",
    "joint_registry",
    "leave_place",
    "shared_metrics",
    "take_place",
]

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which the exporter's library finds the files of processes that count together."""
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class RepairMetrics:
    """The counters and histograms of repaired streams, in a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._clauses = Counter("streaming_repair_clauses", "Clauses that were judged and released.", registry=registry)
        self._actions = Counter(
            "streaming_repair_actions", "What became of the clauses.", ["action"], registry=registry
        )
        self._modes = Counter(
            "streaming_repair_judged",
            "Clauses by what judged them: the model or words alone.",
            ["mode"],
            registry=registry,
        )
        self._held = Histogram(
            "streaming_repair_hold_back_seconds",
            "From when a clause was known to be complete until it was released.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._scoring = Histogram(
            "streaming_repair_scoring_seconds",
            "Judging and repairing a clause.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._judge_calls = Counter("judge_calls", "Calls of the judge.", registry=registry)
        self._judge_seconds = Counter("judge_seconds", "Seconds spent waiting for the judge.", registry=registry)
        self._judge_tokens = Counter("judge_tokens", "Tokens that the judge took.", ["direction"], registry=registry)
        self._judge_clauses = Counter(
            "judge_clauses", "Clauses that were escalated to the judge.", ["answer"], registry=registry
        )
        for direction in ("input", "output"):
            self._judge_tokens.labels(direction)
        for answer in ("asked", "cached", "missing"):
            self._judge_clauses.labels(answer)
        for action in ("keep", "rewrite", "redact"):
            self._actions.labels(action)
        for mode in ("model", "heuristic"):
            self._modes.labels(mode)

    def count(self, action: ClauseAction) -> None:
        """Take one clause."""
        self._clauses.inc()
        self._actions.labels(action.action).inc()
        self._modes.labels(action.mode).inc()
        self._scoring.observe(action.scoring_seconds)
        if action.held_seconds is not None:
            self._held.observe(action.held_seconds)

    def count_judge(self, usage: JudgeUsage) -> None:
        """Take what a judge was asked and what it took."""
        self._judge_calls.inc(usage.calls)
        self._judge_seconds.inc(usage.seconds)
        self._judge_tokens.labels("input").inc(usage.input_tokens)
        self._judge_tokens.labels("output").inc(usage.output_tokens)
        self._judge_clauses.labels("asked").inc(usage.clauses - usage.cached)
        self._judge_clauses.labels("cached").inc(usage.cached)
        self._judge_clauses.labels("missing").inc(usage.missed)


@contextlib.contextmanager
def counted_together() -> Iterator[str]:
    """Have the processes that are started meanwhile count together, in a folder that goes at the end."""
    before = os.environ.get(FOLDER)
    with tempfile.TemporaryDirectory(prefix="director-ai-") as folder:
        os.environ[FOLDER] = folder
        try:
            yield folder
        finally:
            os.environ.pop(FOLDER)
            if before is not None:
                os.environ[FOLDER] = before


def forget_together() -> None:
    """Remove the folder in place of who made it and is gone."""
    shutil.rmtree(os.environ.get(FOLDER, ""), ignore_errors=True)


def take_place(place: int) -> None:
    """Count what happens in this process at a place of its own among those that count together.

    Whoever takes the place of a process that died goes on where that one stood: nothing that was counted is lost, and
    there are never more files than places.
    """
    values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]


def leave_place(place: int, folder: str) -> None:
    """Forget what was so only as long as the process at a place lived."""
    mark_process_dead(place, folder)  # type: ignore[no-untyped-call]


def joint_registry() -> CollectorRegistry | None:
    """Return the sums of all processes that count together; None where this one counts alone."""
    if not getattr(values.ValueClass, "_multiprocess", False):
        return None
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


@functools.cache
def shared_metrics() -> RepairMetrics:
    """Return the figures of this process, in the registry that exporters read by default."""
    return RepairMetrics(REGISTRY)
