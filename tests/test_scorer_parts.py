"""Claims of several statements: asked about part by part where the whole was not understood."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from director_ai import CoherenceScorer, GroundTruthStore
from director_ai.core.scoring.entailment import Opinion

CLAIM = "The pool is heated for guests, whereas the bar opens late for guests."
FACTS = {"bar": "The bar opens late for guests.", "pool": "The pool is heated for guests."}


class Short:
    """Believes in short hypotheses without a certain word, and in nothing else."""

    def __init__(self, denied: str) -> None:
        self.denied = denied
        self.asked: list[str] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion]:
        self.asked += [said for _, said in pairs]
        good = [len(said) < 40 and self.denied not in said for _, said in pairs]
        return [Opinion(0.97, 0.01, 0.02) if each else Opinion(0.02, 0.03, 0.95) for each in good]


@pytest.mark.parametrize(("denied", "verdict"), [("#", "supported"), ("late", "unsupported")], ids=["both", "one"])
def test_the_worse_part_decides(denied: str, verdict: str) -> None:
    model = Short(denied)
    with GroundTruthStore(facts=FACTS) as store:
        (found,) = CoherenceScorer(ground_truth_store=store, entailer=model).judge("", CLAIM)

    assert (found.clause, found.claim, found.verdict) == (CLAIM, CLAIM, verdict)
    assert {"The pool is heated for guests.", "The bar opens late for guests."} <= set(model.asked)


def test_a_claim_that_is_supported_as_a_whole_is_asked_about_once() -> None:
    model = Short("#")
    with GroundTruthStore(facts=FACTS) as store:
        (found,) = CoherenceScorer(ground_truth_store=store, entailer=model).judge("", "The bar opens late for guests.")

    assert found.verdict == "supported"
    assert set(model.asked) == {"The bar opens late for guests."}
