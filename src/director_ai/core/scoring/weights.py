"""The fitted weights of the signals, and what right claims score with them; written by `training/support.py`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HEURISTIC", "MODEL", "RIGHT", "ModeWeights", "RightClaims", "Weights"]

Weights = tuple[float, ...]
"""A constant, then one weight for each of the `Features`."""


class ModeWeights(NamedTuple):
    """How support and contradiction are weighed in one mode."""

    support: Weights
    contradiction: Weights


class RightClaims(NamedTuple):
    """Figures of right claims of the dev answers, by weights that were fitted without their knowledge base."""

    total: int
    lowest_supports: tuple[float, ...]
    highest_contradictions: tuple[float, ...]


# Fitted on our own passages and pairs, in version 4. The constant of support puts what a closed profile keeps where the
# model's threshold is, so that one threshold serves both modes. On the dev answers these signals alone reach an area
# under the curve of 0.62: heuristic mode sees values, names and negations, and nothing else.
HEURISTIC = ModeWeights(
    support=(6.2700, 0.0000, 0.0000, 0.0000, -12.8461, -14.3188, -11.4809, -5.1105, 0.0000, 0.0000, -17.7664),
    contradiction=(-11.2893, 0.0000, 0.0000, 0.0000, 13.9323, 14.8348, 9.3673, 6.7316, 0.0000, 0.0000, 3.8167),
)
# --- written by training/support.py ---

MODEL = ModeWeights(
    support=(1.1601, 0.4839, 0.6322, 0.0000, -0.8451, -0.0656, -0.1918, -0.3933, -1.4291, -0.3522, -0.8732),
    contradiction=(-0.7726, 0.0000, -0.0631, 0.9366, 0.6898, 0.3767, 0.7315, 0.0000, 0.0000, 0.0000, -0.5462),
)
# fmt: off
RIGHT = RightClaims(
    total=370,
    lowest_supports=(
        0.1023, 0.2064, 0.2581, 0.2584, 0.2781, 0.2888, 0.2893, 0.3443, 0.3450, 0.3454, 0.3661, 0.3759, 0.3764,
        0.3781, 0.3827, 0.4052, 0.4123, 0.4331, 0.4500, 0.4500, 0.4500, 0.4500, 0.4687, 0.4687, 0.4873, 0.4971,
        0.4999, 0.5241, 0.5252, 0.5602, 0.5720, 0.5762, 0.5995, 0.6004, 0.6033, 0.6289, 0.6310, 0.6444, 0.6526,
        0.6643, 0.6706, 0.6801, 0.6832, 0.6888, 0.7011, 0.7042, 0.7077, 0.7232, 0.7281, 0.7504, 0.7964, 0.8010,
        0.8027, 0.8048, 0.8054, 0.8103, 0.8105, 0.8167, 0.8185, 0.8204, 0.8232, 0.8235, 0.8424, 0.8437, 0.8454,
        0.8461, 0.8477, 0.8518, 0.8623, 0.8649, 0.8687, 0.8691, 0.8778, 0.8782, 0.8793, 0.8802, 0.8809, 0.8842,
        0.8908, 0.8959, 0.8978, 0.9016, 0.9064, 0.9066, 0.9128, 0.9157, 0.9174, 0.9180, 0.9182, 0.9187, 0.9254,
        0.9255, 0.9258, 0.9296, 0.9304, 0.9308, 0.9321, 0.9339, 0.9343, 0.9343, 0.9353, 0.9389, 0.9397, 0.9426,
        0.9433, 0.9440, 0.9447, 0.9451, 0.9452, 0.9452, 0.9468, 0.9471, 0.9492, 0.9495, 0.9495, 0.9500, 0.9524,
        0.9529, 0.9532, 0.9539,
    ),
    highest_contradictions=(
        0.7099, 0.6571, 0.6480, 0.6376, 0.6366, 0.6201, 0.6138, 0.6080, 0.5944, 0.5935, 0.5710, 0.5658, 0.5494,
        0.5140, 0.4996, 0.4995, 0.4988, 0.4787, 0.4753, 0.4606, 0.4582, 0.4530, 0.4515, 0.4510, 0.4448, 0.4386,
        0.4262, 0.4131, 0.4091, 0.4077, 0.4066, 0.3919, 0.3819, 0.3686, 0.3568, 0.3455, 0.3424, 0.3404, 0.3377,
        0.3357, 0.3311, 0.3289, 0.3188, 0.3126, 0.3109, 0.3022, 0.2995, 0.2410, 0.2310, 0.2296, 0.2284, 0.2257,
        0.2228, 0.2198, 0.2172, 0.1963, 0.1903, 0.1901, 0.1837, 0.1750, 0.1741, 0.1671, 0.1653, 0.1647, 0.1644,
        0.1644, 0.1629, 0.1620, 0.1611, 0.1515, 0.1501, 0.1460, 0.1397, 0.1392, 0.1367, 0.1365, 0.1316, 0.1302,
        0.1273, 0.1148, 0.1136, 0.1127, 0.1123, 0.1117, 0.1021, 0.0982, 0.0974, 0.0972, 0.0949, 0.0911, 0.0851,
        0.0844, 0.0825, 0.0823, 0.0804, 0.0795, 0.0771, 0.0753, 0.0733, 0.0691, 0.0676, 0.0668, 0.0666, 0.0647,
        0.0630, 0.0617, 0.0613, 0.0605, 0.0599, 0.0595, 0.0579, 0.0578, 0.0547, 0.0545, 0.0540, 0.0537, 0.0513,
        0.0499, 0.0497, 0.0487,
    ),
)
# fmt: on
