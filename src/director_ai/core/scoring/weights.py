"""The fitted weights of the signals; written by `training/support.py`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HEURISTIC", "MODEL", "ModeWeights", "Weights"]

Weights = tuple[float, ...]
"""A constant, then one weight for each of the `Features`."""


class ModeWeights(NamedTuple):
    """How support and contradiction are weighed in one mode."""

    support: Weights
    contradiction: Weights


MODEL = ModeWeights(
    support=(9.6172, 3.7937, 0.5941, 1.0181, -8.2720, -7.8073, -6.9951, -3.8677, -1.6140, -0.4004, -3.7088),
    contradiction=(-7.5310, 0.3412, -0.6963, 2.9795, 6.7501, 7.6251, 4.1249, 4.4850, 2.5849, 0.5034, 3.6449),
)
HEURISTIC = ModeWeights(
    support=(8.7377, 0.0000, 0.0000, 0.0000, -12.6100, -14.0898, -10.4608, -5.4128, 0.0000, 0.0000, -17.4754),
    contradiction=(-11.0338, 0.0000, 0.0000, 0.0000, 13.5526, 14.4635, 8.3415, 7.1782, 0.0000, 0.0000, 3.5666),
)
