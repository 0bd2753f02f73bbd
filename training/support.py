"""Step 7, weigh: fits how the model's opinion, differing values and shared words become support and contradiction.

    python -m training.support [--write]

On the claims of the dev answers (`../shared/data/dev/answers.jsonl.gz` and `benchmarks/answers_dev/dev.jsonl`), so both
figures are probabilities where answers look like those. A signal may count one way alone: nothing that speaks against a
claim can raise its support. The figures printed are those of weights that were fitted without the claim's knowledge base.

Beside the weights, `src/director_ai/core/scoring/weights.py` gets the lowest supports and the highest contradictions of
right claims: from these follows the threshold that loses a given share of them (split conformal).
"""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

import numpy as np

from director_ai.core.scoring.entailment import DOUBTED, Features, features_of, is_doubted
from director_ai.core.scoring.slots.comparison import compare_readings
from director_ai.core.scoring.slots.reading import Reading
from training.answers import AnswerClaim, claims_of
from training.evaluate import auc, ece

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "src/director_ai/core/scoring/weights.py"
DEV = (ROOT.parent / "shared/data/dev/answers.jsonl.gz", ROOT / "benchmarks/answers_dev/dev.jsonl")
SIGNS = Features(
    joined=1, single=1, against=-1, values=-1, names=-1, senses=-1, close=-1, missing_values=-1, missing_names=-1,
    foreign=-1,
)  # fmt: skip
"""Which way each signal may count for support, so that no weight can speak for what is contradicted."""
AGAINST = Features(
    joined=-1, single=-1, against=1, values=1, names=1, senses=1, close=0, missing_values=0, missing_names=0, foreign=-1,
)  # fmt: skip
"""The same for contradiction; 0: a signal that must not count. What is missing is no contradiction."""
PENALTY = 3.0
FOLDS = 10
MARK = "# --- written by training/support.py ---\n"
KEPT = 120
"""Lowest supports of right claims that are kept: enough for a loss of a quarter of them."""
COUNTS = {"right": 2.0, "wrong": 1.0, "invented": 1.0, "silent": 1.0}
"""A right claim stands in the right answer and in the wrong one, and was listed once."""


def fit(
    features: np.ndarray, wanted: np.ndarray, weights: np.ndarray, penalty: float = 1.0, signs: tuple[float, ...] = ()
) -> np.ndarray:
    """Logistic regression by Newton's method; features that never vary get no weight.

    With `signs`, a weight that turns out on the wrong side is 0, and the others are fitted again.
    """
    if signs:
        off = np.asarray(signs) == 0
        while True:
            found = fit(np.where(off, 0.0, features), wanted, weights, penalty)
            new = (found[1:] * np.asarray(signs) < 0) & ~off
            if not new.any():
                return found
            off |= new
    x = np.hstack([np.ones((len(features), 1)), features])
    used = np.ptp(x, axis=0) > 0
    used[0] = True
    x, found = x[:, used], np.zeros(used.sum())
    ridge = penalty * np.eye(x.shape[1])
    ridge[0, 0] = 0.0
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ found, -30, 30)))
        slope = x.T @ (weights * (p - wanted)) + ridge @ found
        bend = (x * (weights * p * (1 - p))[:, None]).T @ x + ridge
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < 1e-8:
            break
    whole = np.zeros(len(used))
    whole[used] = found
    return whole


def features_for(claims: list[AnswerClaim]) -> np.ndarray:
    rows = []
    for claim in claims:
        reading, evidence = Reading(claim.text), Reading(claim.premises[0])
        differences = compare_readings(reading, evidence)
        rows.append(features_of(reading, evidence, differences, claim.opinions))
    return np.asarray(rows)


def folds_of(groups: list[str]) -> np.ndarray:
    """The fold of each row: all claims of a knowledge base are in the same one."""
    names = sorted(set(groups))
    np.random.default_rng(0).shuffle(names)
    return np.asarray([names.index(group) % FOLDS for group in groups])


def sigmoid(scores: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-np.clip(scores, -30, 30)))


class Fitted:
    """Weights of one figure, and what it comes to by weights without the claim's knowledge base.

    What the facts are silent about counts as much as an error when the signals are weighed, and not at all when the
    result is made a probability: few claims of an answer are invented, and a closed profile must find those.
    """

    def __init__(
        self, x: np.ndarray, wanted: np.ndarray, kinds: np.ndarray, groups: list[str], signs: Features
    ) -> None:
        counts = np.asarray([COUNTS[kind] for kind in kinds])
        told = kinds != "silent"

        def found(rows: np.ndarray) -> np.ndarray:
            weights = fit(x[rows], wanted[rows], counts[rows], PENALTY, signs)
            rows = rows & told
            scores = weights[0] + x[rows] @ weights[1:]
            shift, scale = fit(scores[:, None], wanted[rows], counts[rows])
            weights *= scale
            weights[0] += shift
            return weights

        self.weights = found(np.ones(len(x), bool))
        self.unseen = np.zeros(len(x))
        folds = folds_of(groups)
        for number in range(FOLDS):
            inside = folds == number
            weights = found(~inside)
            self.unseen[inside] = sigmoid(weights[0] + x[inside] @ weights[1:])


def repeated(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.repeat(values, np.round(2 * counts).astype(int))


def report(support: Fitted, contradiction: Fitted, kinds: np.ndarray, counts: np.ndarray) -> None:
    """Print what the figures of unseen claims are worth."""
    told, right = kinds != "silent", kinds == "right"
    good, p = right[told], support.unseen[told]
    print(f"support: AUC {auc(p, good):.3f}, ECE {ece(repeated(p, counts[told]), repeated(good, counts[told])):.3f}")
    for share in (0.03, 0.05, 0.08, 0.1, 0.12, 0.16):
        limit = np.quantile(support.unseen[right], share)
        found = {kind: np.mean(support.unseen[kinds == kind] < limit) for kind in ("wrong", "invented", "silent")}
        print(f"  {share:.0%} lost below {limit:.3f} of support: {shown(found)}")
    for share in (0.01, 0.02, 0.04):
        limit = np.quantile(contradiction.unseen[right], 1.0 - share)
        found = {kind: np.mean(contradiction.unseen[kinds == kind] > limit) for kind in ("wrong", "invented", "silent")}
        print(f"  {share:.0%} lost above {limit:.3f} of contradiction: {shown(found)}")


def shown(found: dict[str, np.floating]) -> str:
    return ", ".join(f"{share:.0%} {kind}" for kind, share in found.items())


def as_source(support: Fitted, contradiction: Fitted, kinds: np.ndarray) -> str:
    right = kinds == "right"
    lowest = np.sort(support.unseen[right])[:KEPT]
    highest = np.sort(contradiction.unseen[right])[::-1][:KEPT]

    def listed(values: np.ndarray) -> str:
        return "\n".join(textwrap.wrap(", ".join(f"{value:.4f}" for value in values), 108))

    return f"""
MODEL = ModeWeights(
    support=({listed(support.weights)}),
    contradiction=({listed(contradiction.weights)}),
)
# fmt: off
RIGHT = RightClaims(
    total={right.sum()},
    lowest_supports=(
{textwrap.indent(listed(lowest), " " * 8)},
    ),
    highest_contradictions=(
{textwrap.indent(listed(highest), " " * 8)},
    ),
)
# fmt: on
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    arguments = parser.parse_args()
    claims = claims_of(DEV)
    kinds = np.asarray([claim.kind for claim in claims])
    groups, counts = [claim.kb for claim in claims], np.asarray([COUNTS[claim.kind] for claim in claims])
    x = features_for(claims)
    support = Fitted(x, kinds == "right", kinds, groups, SIGNS)
    doubted = np.asarray(
        [is_doubted(Features(*row), claim.opinions[0].supported) for row, claim in zip(x, claims, strict=True)]
    )
    support.unseen = np.where(doubted, np.minimum(support.unseen, DOUBTED), support.unseen)
    contradiction = Fitted(x, kinds == "wrong", kinds, groups, AGAINST)
    report(support, contradiction, kinds, counts)
    for name, fitted in (("support", support), ("contradiction", contradiction)):
        print(name, dict(zip(("constant", *Features._fields), fitted.weights.round(2).tolist(), strict=True)))
    if arguments.write:
        kept = WEIGHTS.read_text("utf-8").split(MARK)[0]
        WEIGHTS.write_text(kept + MARK + as_source(support, contradiction, kinds), "utf-8")
        print(f"written to {WEIGHTS.name}")


if __name__ == "__main__":
    main()
