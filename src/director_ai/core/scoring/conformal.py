"""From scores of right answers to a threshold, and what that threshold promises of answers to come (split conformal).

Of n right answers and one more, exchangeable with them, each is as likely as any other to be among the k lowest. So the
new one scores below the k-th lowest of the others with probability at most k / (n + 1), whatever the scores are.

That holds on average over all files that might have been gathered. For the one at hand, drawn independently, the share
of right answers below the k-th lowest score is at most a Beta(k, n + 1 - k) variable, whose quantile is the bound with
confidence. It is the Clopper-Pearson limit of k - 1 failures in n.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from director_ai.core.ranges import as_score, check_number
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Calibration", "Outcome", "check_rate", "fit_threshold", "halts_at", "rate_bound", "tail"]

LEAST_RATE: Final = 1e-6
NEGLIGIBLE: Final = 1e-18
"""Of a sum: what no longer changes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A threshold and what it promises; without a threshold, how many right answers it would take."""

    threshold: float | None
    """Scores below it are halted. None where so few answers can promise nothing."""
    right: int
    """Answers that it was fitted on."""
    rank: int
    """Which of the lowest scores the threshold is."""
    marginal_bound: float | None
    """Of the probability that a new right answer scores below the threshold."""
    false_halt_bound: float | None
    """Of the share of right answers below the threshold, with `confidence`."""
    confidence: float
    needed: int
    """The fewest right answers that give a threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a limit does to answers whose labels are known."""

    limit: float
    false_halts: int
    caught: int
    false_halt_bound: float
    """Of the share of right answers below the limit, with the confidence asked for."""


def fit_threshold(
    right: Sequence[float], *, false_halts: float = 0.05, confidence: float = 0.95, strict: bool = False
) -> Calibration:
    """Return the largest threshold that halts a new right answer with probability at most `false_halts`.

    With `strict`, the share of right answers that it halts is at most `false_halts` with `confidence` as well.
    """
    allowed = check_rate("false_halts", false_halts)
    sure = check_rate("confidence", confidence)
    scores = sorted(_checked(right))
    if not scores:
        raise ConfigError("a threshold is fitted on scores of right answers, and there are none")
    count = len(scores)
    rank = _rank(count, allowed, sure if strict else None)
    return Calibration(
        threshold=scores[rank - 1] if rank else None,
        right=count,
        rank=rank,
        marginal_bound=rank / (count + 1) if rank else None,
        false_halt_bound=rate_bound(rank - 1, count, sure) if rank else None,
        confidence=sure,
        needed=_needed(allowed, sure if strict else None),
    )


def halts_at(limit: float, right: Sequence[float], wrong: Sequence[float], *, confidence: float) -> Outcome:
    """Return what a limit does that was not chosen by these scores."""
    false_halts = sum(score < limit for score in right)
    return Outcome(
        limit=limit,
        false_halts=false_halts,
        caught=sum(score < limit for score in wrong),
        false_halt_bound=rate_bound(false_halts, len(right), confidence),
    )


def check_rate(name: str, value: object) -> float:
    """Return a share or a confidence, which is neither none nor all, or refuse it by its name."""
    return check_number(name, value, LEAST_RATE, 1.0 - LEAST_RATE)


def rate_bound(failures: int, count: int, confidence: float) -> float:
    """Return the Clopper-Pearson upper limit of a rate, given how often it was seen."""
    low, high = 0.0, 1.0
    if failures >= count:
        return high
    while low < (middle := (low + high) / 2) < high:
        if tail(failures, count, middle) > 1.0 - confidence:
            low = middle
        else:
            high = middle
    return high


def tail(most: int, count: int, rate: float) -> float:
    """Return the probability of at most so many among `count` independent cases of a rate between 0 and 1."""
    if most >= count:
        return 1.0
    hit, miss = math.log(rate), math.log1p(-rate)
    if most > count * rate:  # the other tail is the short one
        return 1.0 - _short_tail(count - most - 1, count, miss, hit)
    return _short_tail(most, count, hit, miss)


def _short_tail(most: int, count: int, hit: float, miss: float) -> float:
    """Sum the terms from the last on, the largest where `most` is not above the mean; the chances are logarithms."""
    ways = math.lgamma(count + 1) - math.lgamma(most + 1) - math.lgamma(count - most + 1)
    term = math.exp(ways + most * hit + (count - most) * miss)
    odds = math.exp(miss - hit)
    total = term
    for at in range(most, 0, -1):
        term *= at / (count - at + 1) * odds
        total += term
        if term < total * NEGLIGIBLE:
            break
    return total


def _rank(count: int, allowed: float, confidence: float | None) -> int:
    """Return which of the lowest scores may be the threshold; 0 where not even the lowest may."""
    rank = math.floor(Fraction(str(allowed)) * (count + 1))  # as written: 0.29 of 100 is 29
    if confidence is None:
        return rank
    missed = 1.0 - confidence
    return bisect.bisect_right(range(1, rank + 1), missed, key=lambda each: tail(each - 1, count, allowed))


def _needed(allowed: float, confidence: float | None) -> int:
    count = max(1, math.ceil(1 / Fraction(str(allowed))) - 1)
    if confidence is not None:
        count = max(count, math.floor(math.log(1.0 - confidence) / math.log1p(-allowed)))
        while not _rank(count, allowed, confidence):  # at most twice: the logarithms are rounded
            count += 1
    return count


def _checked(scores: Sequence[float]) -> list[float]:
    checked = [as_score(score) for score in scores]
    if None in checked:
        raise ConfigError("a score must be a number from 0 to 1")
    return [score for score in checked if score is not None]
