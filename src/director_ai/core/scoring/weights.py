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
    support=(9.7789, 3.3884, 1.0706, 1.0568, -8.6588, -8.0592, -10.2169, -3.1733, -1.6413, -0.4744, -3.7914),
    contradiction=(-7.5935, 0.7932, -1.1368, 3.0023, 7.1362, 7.8976, 6.3062, 3.6838, 2.5983, 0.5764, 3.7480),
)
HEURISTIC = ModeWeights(
    support=(8.8832, 0.0000, 0.0000, 0.0000, -12.8461, -14.3188, -11.4809, -5.1105, 0.0000, 0.0000, -17.7664),
    contradiction=(-11.2893, 0.0000, 0.0000, 0.0000, 13.9323, 14.8348, 9.3673, 6.7316, 0.0000, 0.0000, 3.8167),
)
