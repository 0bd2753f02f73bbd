"""When to halt: three independent mechanisms over a sequence of scores, and how often to score."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, Literal

from director_ai.core.ranges import check_count, check_number
from director_ai.errors import ConfigError

__all__ = ["Cadence", "Halt", "HaltMechanism", "HaltMonitor", "HaltRules"]

HaltMechanism = Literal[
    "hard_limit", "window_avg", "downward_trend", "invalid_score", "callback_error", "source_error", "timeout"
]

# Scores are compared in whole ticks. A rolling sum of ticks is exact, so a stream that sits on a threshold never
# drifts below it, and 0.9 - 0.75 is not more than 0.15.
_TICKS: Final = 10**12


def _ticks(score: float) -> int:
    return int(score * _TICKS + 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class HaltRules:
    """The limits a stream is held to; what cannot be right is refused here, before any token is read."""

    hard_limit: float = 0.5
    """Any single score below it halts."""
    window_size: int = 10
    window_threshold: float = 0.55
    """The mean of the last `window_size` scores below it halts, once there are that many."""
    trend_window: int = 5
    trend_threshold: float = 0.15
    """A fall by more than this from the first to the last of `trend_window` scores halts."""
    soft_limit: float | None = 0.6
    """Scores below it are counted as warnings; None counts none."""

    def __post_init__(self) -> None:
        for name in ("hard_limit", "window_threshold", "trend_threshold"):
            object.__setattr__(self, name, check_number(name, getattr(self, name)))
        object.__setattr__(self, "window_size", check_count("window_size", self.window_size, 1))
        object.__setattr__(self, "trend_window", check_count("trend_window", self.trend_window, 2))
        if self.soft_limit is not None:
            object.__setattr__(self, "soft_limit", check_number("soft_limit", self.soft_limit))
            if self.soft_limit < self.hard_limit:
                raise ConfigError(
                    f"soft_limit ({self.soft_limit:g}) must be at least hard_limit ({self.hard_limit:g}); "
                    "raise soft_limit, or pass soft_limit=None for no warnings"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """Why a stream ends here."""

    mechanism: HaltMechanism
    detail: str
    """The figures, as `name=value` words; never text of the stream."""
    threshold: float | None = None
    margin: float = 0.0
    """How far beyond the threshold the observed figure was."""
    needed_score: float | None = None
    """The least score at this point that would not have halted; above 1 where none would have helped."""

    @property
    def reason(self) -> str:
        """The machine-readable word, then the figures."""
        return f"{self.mechanism} {self.detail}" if self.detail else self.mechanism


class HaltMonitor:
    """Watches the scores of one stream; `observe` says whether it must halt."""

    __slots__ = (
        "_hard",
        "_recent",
        "_rules",
        "_size",
        "_soft",
        "_sum",
        "_trend",
        "_trend_ceiling",
        "_trend_size",
        "_window_floor",
        "warning",
    )

    def __init__(self, rules: HaltRules) -> None:
        self._rules = rules
        self._hard = _ticks(rules.hard_limit)
        self._soft = _ticks(rules.soft_limit) if rules.soft_limit is not None else 0
        self._size = rules.window_size
        self._window_floor = _ticks(rules.window_threshold) * rules.window_size
        self._trend_size = rules.trend_window
        self._trend_ceiling = _ticks(rules.trend_threshold)
        self._recent: deque[int] = deque(maxlen=rules.window_size)
        self._trend: deque[int] = deque(maxlen=rules.trend_window)
        self._sum = 0
        self.warning = False
        """Whether the last score lay below the soft limit."""

    @property
    def window_avg(self) -> float:
        """Mean of the scores in the window so far."""
        return self._sum / (len(self._recent) * _TICKS) if self._recent else 0.0

    @property
    def trend_drop(self) -> float:
        """How far coherence fell over the trend window so far; negative where it rose."""
        return (self._trend[0] - self._trend[-1]) / _TICKS if self._trend else 0.0

    def observe(self, score: float) -> Halt | None:
        """Take the next score, from 0 to 1, and decide: hard limit, then window, then trend, then warning."""
        ticks = int(score * _TICKS + 0.5)
        recent = self._recent
        if len(recent) == self._size:
            self._sum -= recent[0]
        recent.append(ticks)
        self._sum += ticks
        trend = self._trend
        trend.append(ticks)
        self.warning = ticks < self._soft
        if ticks < self._hard:
            return self._below_hard_limit(score)
        if self._sum < self._window_floor and len(recent) == self._size:
            return self._below_window(score)
        if trend[0] - ticks > self._trend_ceiling and len(trend) == self._trend_size:
            return self._falling(score)
        return None

    def _below_hard_limit(self, score: float) -> Halt:
        limit = self._rules.hard_limit
        return Halt(
            mechanism="hard_limit",
            detail=f"score={score:.4f} limit={limit:.4f}",
            threshold=limit,
            margin=max(0.0, limit - score),
            needed_score=limit,
        )

    def _below_window(self, score: float) -> Halt:
        threshold = self._rules.window_threshold
        return Halt(
            mechanism="window_avg",
            detail=f"mean={self.window_avg:.4f} threshold={threshold:.4f} window={self._size}",
            threshold=threshold,
            margin=max(0.0, threshold - self.window_avg),  # the ticks decided; as floats the two may be equal
            needed_score=score + (self._window_floor - self._sum) / _TICKS,
        )

    def _falling(self, score: float) -> Halt:
        threshold = self._rules.trend_threshold
        drop = self.trend_drop
        return Halt(
            mechanism="downward_trend",
            detail=f"drop={drop:.4f} threshold={threshold:.4f} window={self._trend_size}",
            threshold=threshold,
            margin=max(0.0, drop - threshold),
            needed_score=score + drop - threshold,
        )


class Cadence:
    """How many tokens to gather before the next score.

    Fixed: every `every`-th. Adaptive: every token while the score is within 0.1 of a limit or falling, otherwise
    twice as many as before, up to `most`.
    """

    __slots__ = ("_adaptive", "_every", "_last", "_most", "_near", "stride")

    def __init__(self, rules: HaltRules, *, every: int = 1, adaptive: bool = False, most: int) -> None:
        self._every = every
        self._adaptive = adaptive
        self._most = max(every, most)
        self._near = max(rules.hard_limit, rules.window_threshold, rules.soft_limit or 0.0) + 0.1
        self._last = 0.0
        self.stride = 1 if adaptive else every

    def observe(self, score: float) -> None:
        """Take the score of the last call and set the stride to the next one."""
        if not self._adaptive:
            return
        calm = score >= self._near and score >= self._last
        self.stride = min(self.stride * 2, self._most) if calm else 1
        self._last = score
