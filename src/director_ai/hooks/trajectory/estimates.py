"""What a few simulations say of all: a share and a mean, each with the interval that it lies in."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

__all__ = ["Bootstrap", "deviation_of", "wilson_interval"]

_RESAMPLES = 1000


def wilson_interval(count: int, of: int, confidence: float) -> tuple[float, float]:
    """Return the interval of a share by Wilson's score; of nothing, anything is possible."""
    if of == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    share, spread = count / of, z * z / of
    middle = (share + spread / 2.0) / (1.0 + spread)
    half = z / (1.0 + spread) * math.sqrt(share * (1.0 - share) / of + spread / (4.0 * of))
    # At the ends the interval is exact; rounding must not say otherwise.
    return (0.0 if count == 0 else max(middle - half, 0.0)), (1.0 if count == of else min(middle + half, 1.0))


def deviation_of(values: list[float]) -> float:
    """Return the standard deviation of a sample; 0 of fewer than two."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


class Bootstrap:
    """Intervals of means by drawing samples again, always the same draws for a seed.

    As the draws do not depend on the values, no value can fall without the bounds falling with it, or staying. An
    interval by the deviation does not have this: there, one value nearer to the others narrows it.
    """

    def __init__(self, seed: int, count: int, confidence: float) -> None:
        self._seed, self._count = seed, count
        tail = (1.0 - confidence) / 2.0
        self._ends = math.floor(tail * _RESAMPLES), min(math.ceil((1.0 - tail) * _RESAMPLES), _RESAMPLES) - 1
        self._draws = self._drawn(count)

    def interval(self, values: list[float]) -> tuple[float, float]:
        """Return the interval of the mean; of fewer than two values, anything is possible."""
        if len(values) < 2:
            return 0.0, 1.0
        draws = self._draws if len(values) == self._count else self._drawn(len(values))
        means = np.sort(draws @ np.asarray(values, dtype=np.float64) / len(values))
        low, high = (float(means[end]) for end in self._ends)
        return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)

    def _drawn(self, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return how often each value is drawn in each sample."""
        draw = np.random.Generator(np.random.PCG64(self._seed))
        return draw.multinomial(count, np.full(count, 1.0 / count), size=_RESAMPLES).astype(np.float64)
