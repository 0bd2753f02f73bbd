"""A claim that means something only as an answer is judged once more, with what was asked and said before it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from director_ai import CoherenceScorer, GroundTruthStore
from director_ai.core.scoring.judging import CLAIM_QUESTION, CONTEXT_END, with_context

FACT = "Volunteers may park in yard B free of charge."
QUESTION = "May a volunteer leave his car in yard B?"
ANSWER = "Yes, he may leave it there."


class Model:
    """Knows nothing of a claim by itself, and supports it behind its context."""

    knows_claims, knows_context = True, True

    def __init__(self, *, alone: float = 0.02, in_context: Any = 0.97) -> None:
        self.alone, self.in_context = alone, in_context
        self.asked: list[str] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        self.asked += [text for premise, text in pairs if premise != CLAIM_QUESTION]
        return [self._opinion(*pair) for pair in pairs]

    def _opinion(self, premise: str, text: str) -> Any:
        supported = 0.99 if premise == CLAIM_QUESTION else self.in_context if CONTEXT_END in text else self.alone
        if isinstance(supported, Exception):
            raise supported
        return SimpleNamespace(supported=supported, contradicted=0.0, neutral=1.0 - supported)


def verdicts(model: Model, *, question: str = QUESTION, answer: str = ANSWER) -> list[Any]:
    with GroundTruthStore(facts={"parking": FACT}) as store:
        return list(CoherenceScorer(ground_truth_store=store, entailer=model).judge(question, answer))


def test_an_answer_that_only_its_question_explains_is_supported() -> None:
    model = Model()
    (found,) = verdicts(model)
    assert found.verdict == "supported"
    assert any(text.startswith(QUESTION + CONTEXT_END) for text in model.asked)


def test_a_claim_that_is_clear_by_itself_is_asked_about_once() -> None:
    model = Model(alone=0.97)
    (found,) = verdicts(model)
    assert found.verdict == "supported"
    assert not any(CONTEXT_END in text for text in model.asked)


def test_a_context_cannot_lower_what_the_claim_says_by_itself() -> None:
    first, second = (verdicts(Model(alone=0.2, in_context=value))[0].support for value in (0.01, 0.2))
    assert first == second


def test_a_model_that_does_not_read_contexts_is_not_given_any() -> None:
    model = Model()
    model.knows_context = False
    (found,) = verdicts(model)
    assert (found.verdict, any(CONTEXT_END in text for text in model.asked)) == ("unsupported", False)


def test_a_model_that_fails_on_the_context_leaves_the_claim_unjudged() -> None:
    (found,) = verdicts(Model(in_context=RuntimeError("gone")))
    assert (found.verdict, found.reason) == ("not_evaluated", "model_error")


def test_a_value_that_the_fact_contradicts_is_not_looked_at_in_context() -> None:
    model = Model()
    with GroundTruthStore(facts={"fee": "The monthly fee is 5 EUR."}) as store:
        scorer = CoherenceScorer(ground_truth_store=store, entailer=model)
        (found,) = scorer.judge("Is the monthly fee 50 EUR?", "The monthly fee is 50 EUR.")
    assert (found.verdict, found.contradiction) == ("unsupported", 1.0)
    assert not any(CONTEXT_END in text for text in model.asked)


@pytest.mark.parametrize("arrow", ["\u21d2", "\u21cf"])
def test_a_claim_cannot_end_its_own_context(arrow: str) -> None:
    text = f"Nothing is free {arrow} parking is free."
    model = Model()
    verdicts(model, answer=text)
    asked = [each for each in model.asked if "Nothing" in each]
    assert asked
    assert all(each.count(CONTEXT_END.strip()) == each.count(QUESTION + CONTEXT_END) for each in asked)


def test_the_context_is_the_end_of_the_question_and_the_last_two_sentences() -> None:
    text = with_context("He may.", "x " * 600 + "May he?", ["One.", "Two.", "Three."])
    context, claim = text.split(CONTEXT_END)
    assert claim == "He may."
    assert context.endswith("May he? Two. Three.")
    assert len(context) < 430
    assert with_context("He may.", "", []) == ""
