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
    support=(1.4676, 0.4752, 0.1711, -0.2404, -0.7770, -0.1971, -0.2908, -0.4066, -2.1117, -0.4380, -0.6670),
    contradiction=(-1.0729, 0.0000, -0.1096, 0.8156, 0.5318, 0.1640, 0.4445, 1.2128, 0.0000, 0.0000, -0.5386),
)
# fmt: off
RIGHT = RightClaims(
    total=412,
    lowest_supports=(
        0.0724, 0.2296, 0.2345, 0.2963, 0.3101, 0.3146, 0.3182, 0.3208, 0.3845, 0.3961, 0.4387, 0.4500, 0.4516,
        0.4649, 0.4651, 0.4979, 0.5387, 0.5447, 0.5661, 0.5702, 0.5732, 0.5912, 0.5939, 0.6038, 0.6173, 0.6213,
        0.6259, 0.6269, 0.6305, 0.6354, 0.6430, 0.6434, 0.6436, 0.6459, 0.6477, 0.6531, 0.6544, 0.6569, 0.6602,
        0.6648, 0.6661, 0.6695, 0.6701, 0.6727, 0.6735, 0.6787, 0.6803, 0.6827, 0.6839, 0.6844, 0.6858, 0.6878,
        0.6995, 0.7002, 0.7013, 0.7021, 0.7035, 0.7063, 0.7075, 0.7100, 0.7113, 0.7126, 0.7184, 0.7189, 0.7253,
        0.7255, 0.7257, 0.7274, 0.7279, 0.7283, 0.7330, 0.7332, 0.7391, 0.7433, 0.7468, 0.7483, 0.7503, 0.7531,
        0.7553, 0.7569, 0.7583, 0.7583, 0.7584, 0.7585, 0.7636, 0.7645, 0.7677, 0.7684, 0.7709, 0.7787, 0.7830,
        0.7833, 0.7851, 0.7856, 0.7882, 0.7951, 0.7980, 0.8007, 0.8097, 0.8123, 0.8178, 0.8189, 0.8191, 0.8210,
        0.8270, 0.8277, 0.8291, 0.8300, 0.8323, 0.8331, 0.8347, 0.8371, 0.8419, 0.8489, 0.8521, 0.8527, 0.8556,
        0.8567, 0.8640, 0.8664,
    ),
    highest_contradictions=(
        0.7322, 0.7248, 0.6985, 0.6691, 0.6303, 0.5829, 0.5643, 0.5621, 0.5467, 0.5383, 0.5126, 0.5055, 0.4999,
        0.4837, 0.4828, 0.4723, 0.4677, 0.4614, 0.4455, 0.4437, 0.4379, 0.4282, 0.4219, 0.4104, 0.4077, 0.3962,
        0.3937, 0.3757, 0.3667, 0.3646, 0.3491, 0.3482, 0.3469, 0.3409, 0.3400, 0.3400, 0.3367, 0.3299, 0.3259,
        0.3191, 0.3168, 0.3159, 0.3146, 0.3095, 0.2984, 0.2945, 0.2937, 0.2935, 0.2883, 0.2874, 0.2851, 0.2791,
        0.2697, 0.2672, 0.2650, 0.2613, 0.2513, 0.2470, 0.2362, 0.2351, 0.2317, 0.2239, 0.2233, 0.2210, 0.2183,
        0.2141, 0.2057, 0.2041, 0.2023, 0.1940, 0.1925, 0.1875, 0.1787, 0.1779, 0.1779, 0.1743, 0.1713, 0.1697,
        0.1688, 0.1680, 0.1678, 0.1631, 0.1617, 0.1582, 0.1570, 0.1534, 0.1485, 0.1402, 0.1397, 0.1323, 0.1299,
        0.1291, 0.1283, 0.1282, 0.1253, 0.1251, 0.1239, 0.1233, 0.1224, 0.1220, 0.1215, 0.1200, 0.1187, 0.1179,
        0.1162, 0.1159, 0.1124, 0.1109, 0.1089, 0.1062, 0.1062, 0.1051, 0.1030, 0.1027, 0.0977, 0.0940, 0.0938,
        0.0934, 0.0933, 0.0925,
    ),
)
# fmt: on
