"""Figures of optimistic mode for Prometheus: streams, corrections, and characters that were taken back."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from prometheus_client import REGISTRY, Counter

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from director_ai.serve.optimism import Correction

__all__ = ["OptimismFigures", "shared_figures"]


class OptimismFigures:
    """The counters of text that was shown before it was judged, in a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._streams = Counter(
            "optimistic_streams", "Streams whose text was shown before it was judged.", registry=registry
        )
        self._events = Counter(
            "optimistic_corrections", "What became of text that was shown so.", ["event"], registry=registry
        )
        self._characters = Counter(
            "optimistic_taken_back_characters", "Characters that were shown, and then replaced or retracted.",
            registry=registry,
        )  # fmt: skip
        for event in ("confirm", "replace", "retract"):
            self._events.labels(event)

    def count_stream(self) -> None:
        """Take one stream."""
        self._streams.inc()

    def count(self, correction: Correction) -> None:
        """Take one correction."""
        self._events.labels(correction.event).inc()
        if correction.event != "confirm":
            self._characters.inc(correction.end - correction.start)


@functools.cache
def shared_figures() -> OptimismFigures:
    """Return the figures of this process, in the registry that exporters read by default."""
    return OptimismFigures(REGISTRY)
