"""From the share of right claims that may be lost to the threshold that loses no more of them (split conformal)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from director_ai.core.ranges import check_number
from director_ai.core.scoring.weights import RIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SURELY_SUPPORTED", "least_coherence", "least_support"]


def least_support(may_lose: float) -> float:
    """Return the support below which a claim counts as unsupported, where the facts must support what is said.

    Of the right claims of the dev answers, and one more like them, each is as likely as any other to score among the
    lowest. So a new right claim scores below the k-th lowest of n with probability at most k / (n + 1).
    """
    return _ranked(RIGHT.lowest_supports, may_lose)


def least_coherence(may_lose: float) -> float:
    """Return the coherence below which a claim counts as contradicted, where only a contradiction is removed."""
    return round(1.0 - _ranked(RIGHT.highest_contradictions, may_lose), 6)


def _ranked(extremes: Sequence[float], may_lose: float) -> float:
    rank = int(check_number("may_lose", may_lose, 0.003, 0.25) * (RIGHT.total + 1))
    return extremes[rank - 1]


SURELY_SUPPORTED: Final = least_support(0.08)
"""What an open profile calls supported. Below it a clause is shown as unverified."""
