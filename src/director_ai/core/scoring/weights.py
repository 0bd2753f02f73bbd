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
    support=(5.6582, 1.8016, 0.9025, 0.4626, -1.6760, -1.6001, -0.4291, -4.4086, -1.1468, -2.0450, -0.0046),
    contradiction=(-4.2892, 0.6867, -0.9536, 1.9442, 1.7728, 1.6626, 0.4045, 4.1251, 0.7751, 1.5977, 0.6518),
)
HEURISTIC = ModeWeights(
    support=(4.8963, 0.0000, 0.0000, 0.0000, -6.1794, -5.8607, -2.9972, -5.2954, 0.0000, 0.0000, -9.7926),
    contradiction=(-6.3372, 0.0000, 0.0000, 0.0000, 5.9712, 6.1496, 3.3989, 6.2702, 0.0000, 0.0000, 1.3110),
)
