"""How far the guards are behind what the upstreams say: whoever comes while they are is told to come again."""

from __future__ import annotations

import statistics
import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Backlog"]

WINDOW_SECONDS: Final = 5.0
MOST_KEPT: Final = 512
LEAST: Final = 8
"""Waits that must have been seen: one slow clause is no crowd."""


class Backlog:
    """The waits of the last seconds.

    Args:
        most: Seconds that text may usually wait for the guard; None: as long as it takes.
    """

    def __init__(self, most: float | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._waits: deque[tuple[float, float]] = deque(maxlen=MOST_KEPT)

    def take(self, seconds: float) -> None:
        """Note how long some text waited."""
        self._waits.append((self._clock(), seconds))

    @property
    def is_long(self) -> bool:
        """Whether text waits too long, as a rule."""
        if self._most is None:
            return False
        since = self._clock() - WINDOW_SECONDS
        recent = [seconds for at, seconds in self._waits if at >= since]
        return len(recent) >= LEAST and statistics.median(recent) > self._most
