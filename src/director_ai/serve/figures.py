"""The figures of a server for Prometheus: of its process, or where several serve on one socket, of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import REGISTRY, CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from director_ai.record.metrics import joint_registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.serve.open_streams import OpenStreams

__all__ = ["OPEN_STREAMS", "Figures"]

OPEN_STREAMS: Final = "director_open_streams"
_TOLD: Final = "Streams that are open now."


class OpenStreamsGauge(Collector):
    """Counts the open streams of one server when it is asked, so that none is missed and none stays behind."""

    def __init__(self, streams: OpenStreams) -> None:
        self._streams = streams

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the figure as it is now."""
        yield GaugeMetricFamily(OPEN_STREAMS, _TOLD, value=len(self._streams))


class Figures:
    """What a scrape of any process of a server gives."""

    def __init__(self, streams: OpenStreams) -> None:
        joint = joint_registry()
        self.is_joint = joint is not None
        """Whether they are the sums of several processes."""
        self.registry = REGISTRY if joint is None else joint
        """Of all counters; where it is joint, of the open streams, too."""
        self._own = CollectorRegistry()
        if joint is None:
            self._own.register(OpenStreamsGauge(streams))
        else:  # the other processes must find it without asking here
            gauge = Gauge(OPEN_STREAMS, _TOLD, registry=None, multiprocess_mode="livesum")
            streams.tell(gauge.set)

    def text(self) -> bytes:
        """Return the figures as Prometheus reads them."""
        return generate_latest(self.registry) + generate_latest(self._own)
