"""The order of steps: what no judge of single clauses can see."""

from __future__ import annotations

import pytest

from director_ai import CoherenceScorer, GroundTruthStore
from director_ai.core.scoring.step_order import is_out_of_order, steps_of

KILN = (
    "Firing a kiln: 1. Check that the vent is open. 2. Load the shelves from below. 3. Place the cones where the spyhole "
    "shows them. 4. Shut the lid. 5. Set the controller to program B."
)
LOAN = (
    "A painting on loan is first photographed by the registrar, then wrapped by the handlers, after that insured by "
    "the treasurer, and finally collected by the carrier."
)
SEEDS = "First soak the seeds overnight. Then sow them in trays. After that, move the trays to the greenhouse."


@pytest.mark.parametrize(
    ("fact", "preceding", "clause"),
    [
        pytest.param(KILN, [], "Shut the lid, then put the cones in front of the spyhole.", id="one clause"),
        pytest.param(KILN, ["Set the controller to program B."], "After that, load the shelves.", id="two clauses"),
        pytest.param(KILN, ["2. Shut the lid."], "3. Load the shelves from below.", id="numbered list"),
        pytest.param(LOAN, [], "The treasurer insures it and then the handlers wrap it.", id="who comes when"),
        pytest.param(LOAN, [], "You begin by having the carrier collect it.", id="a later step called the first"),
        pytest.param(SEEDS, [], "Sow the seeds in trays, and finally soak them overnight.", id="a run of sentences"),
        pytest.param(
            KILN,
            ["Shut the lid.", "That takes two hands."],
            "Next, load the shelves from below.",
            id="an aside between",
        ),
    ],
)
def test_a_step_told_after_a_later_one_is_out_of_order(fact: str, preceding: list[str], clause: str) -> None:
    assert is_out_of_order(clause, preceding, ["The studio is in Leith.", fact])


@pytest.mark.parametrize(
    ("fact", "preceding", "clause"),
    [
        pytest.param(KILN, ["Check the vent."], "Then load the shelves from below.", id="right order"),
        pytest.param(KILN, [], "Open the vent, then set the controller.", id="steps left out"),
        pytest.param(KILN, [], "After you have shut the lid, set the controller.", id="turned sentence"),
        pytest.param(KILN, [], "Before you shut the lid, load the shelves and place the cones.", id="before"),
        pytest.param(KILN, ["Shut the lid."], "The shelves are loaded from below.", id="no word of order"),
        pytest.param(KILN, ["Shut the lid."], "Then enjoy a cup of tea.", id="no step"),
        pytest.param(LOAN, [], "It is wrapped, followed by insurance and collection.", id="followed by"),
        pytest.param("Pears come in three kinds.", ["Bosc is brown."], "Then there is Comice.", id="no procedure"),
    ],
)
def test_what_keeps_the_order_or_claims_none_passes(fact: str, preceding: list[str], clause: str) -> None:
    assert not is_out_of_order(clause, preceding, [fact])


def test_whoever_asks_about_what_comes_after_a_step_gets_another_first_step() -> None:
    clause = "Begin by wrapping it with the handlers."

    assert is_out_of_order(clause, [], [LOAN], "How is a painting lent?")
    assert not is_out_of_order(clause, [], [LOAN], "The registrar has photographed the painting. What now?")


def test_steps_are_read_from_numbers_and_from_words() -> None:
    assert [len(steps) for steps in steps_of(KILN)] == [5]
    assert [len(steps) for steps in steps_of(LOAN)] == [4]
    assert [len(steps) for steps in steps_of(SEEDS)] == [3]
    assert steps_of("Version 2. It costs 5 EUR.") == ()


def test_the_scorer_rejects_the_clause_that_changes_the_order() -> None:
    scorer = CoherenceScorer(ground_truth_store=GroundTruthStore(facts={"kiln": KILN}), use_nli=False)
    verdicts = scorer.judge("How do I fire the kiln?", "Set the controller to program B. Then shut the lid.")

    assert [each.verdict for each in verdicts][1] == "unsupported"
    assert verdicts[1].reason == "contradicted"
