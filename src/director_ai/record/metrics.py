"""Figures for Prometheus, counted from what became of each clause."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from prometheus_client import REGISTRY, Counter, Histogram

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from director_ai.core.repair.record import ClauseAction

__all__ = ["RepairMetrics", "shared_metrics"]

_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class RepairMetrics:
    """The counters and histograms of repaired streams, in a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._clauses = Counter("streaming_repair_clauses", "Clauses that were judged and released.", registry=registry)
        self._actions = Counter(
            "streaming_repair_actions", "What became of the clauses.", ["action"], registry=registry
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
        for action in ("keep", "rewrite", "redact"):
            self._actions.labels(action)

    def count(self, action: ClauseAction) -> None:
        """Take one clause."""
        self._clauses.inc()
        self._actions.labels(action.action).inc()
        self._scoring.observe(action.scoring_seconds)
        if action.held_seconds is not None:
            self._held.observe(action.held_seconds)


@functools.cache
def shared_metrics() -> RepairMetrics:
    """Return the figures of this process, in the registry that exporters read by default."""
    return RepairMetrics(REGISTRY)
