"""Figures over time: counters are looked at every few seconds, and the last half hour is kept in memory."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from prometheus_client import REGISTRY

from director_ai.serve.figures import OPEN_STREAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prometheus_client import CollectorRegistry

    from director_ai.serve.open_streams import OpenStreams

__all__ = ["ACTIONS", "Buckets", "Sample", "Samples", "quantile"]

ACTIONS: Final = ("keep", "rewrite", "redact")
EVERY_SECONDS: Final = 5.0
KEPT: Final = 361
"""Half an hour."""
_COUNTED: Final = "streaming_repair_actions"
_HELD: Final = "streaming_repair_hold_back_seconds"
_SCORED: Final = "streaming_repair_scoring_seconds"

Buckets = tuple[tuple[float, float], ...]
"""(upper limit in seconds, how many so far were at most that)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the counters said at one moment."""

    at: float
    actions: dict[str, float]
    held: Buckets
    scored: Buckets
    streams: int


class Samples:
    """A ring of samples that this process took, of itself or of all that count together."""

    def __init__(
        self,
        streams: OpenStreams,
        registry: CollectorRegistry = REGISTRY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._streams, self._registry, self._clock = streams, registry, clock
        self._kept: deque[Sample] = deque(maxlen=KEPT)
        self._following: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def take(self) -> Sample:
        """Look at the counters once."""
        sample = _read(self._registry, self._clock(), len(self._streams))
        self._kept.append(sample)
        return sample

    def keep_fresh(self) -> None:
        """Look at the counters, unless that was done a moment ago: plots need steps of one length."""
        if not self._kept or self._clock() - self._kept[-1].at >= EVERY_SECONDS:
            self.take()

    def latest(self) -> list[Sample]:
        """Return what is kept, the oldest first."""
        return list(self._kept)

    def begin(self) -> None:
        """Look at the counters from now on, for as long as the event loop runs."""
        if self._following is None or self._following.done():
            self._following = asyncio.get_running_loop().create_task(self._follow())

    def end(self) -> None:
        """Look no more."""
        if self._following is not None:
            self._following.cancel()
            self._following = None

    async def _follow(self) -> None:
        while True:
            self.take()
            await asyncio.sleep(EVERY_SECONDS)


def _read(registry: CollectorRegistry, now: float, streams: int) -> Sample:
    actions = dict.fromkeys(ACTIONS, 0.0)
    buckets: dict[str, list[tuple[float, float]]] = {_HELD: [], _SCORED: []}
    for metric in registry.collect():
        if metric.name == _COUNTED:
            for each in metric.samples:
                if each.name.endswith("_total") and each.labels.get("action") in actions:
                    actions[each.labels["action"]] = each.value
        elif metric.name == OPEN_STREAMS:
            streams = int(sum(each.value for each in metric.samples))
        elif metric.name in buckets:
            buckets[metric.name] = [
                (float(each.labels["le"]), each.value) for each in metric.samples if each.name.endswith("_bucket")
            ]
    return Sample(at=now, actions=actions, held=tuple(buckets[_HELD]), scored=tuple(buckets[_SCORED]), streams=streams)


def since(earlier: Buckets, later: Buckets) -> Buckets:
    """Return what a histogram counted between two looks at it."""
    before = dict(earlier)
    return tuple((limit, max(0.0, count - before.get(limit, 0.0))) for limit, count in later)


def quantile(buckets: Sequence[tuple[float, float]], share: float) -> float | None:
    """Return the time that a share of all stayed below, read off a histogram; None where nothing was counted."""
    total = buckets[-1][1] if buckets else 0.0
    if total <= 0:
        return None
    wanted, low, below = share * total, 0.0, 0.0
    for limit, count in buckets:
        if count >= wanted:
            if limit == float("inf"):
                return low
            inside = count - below
            return low + (limit - low) * ((wanted - below) / inside if inside else 0.0)
        low, below = limit, count
    return low
