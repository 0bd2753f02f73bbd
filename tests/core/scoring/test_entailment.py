"""Entailment over evidence: premises, opinions, and what they add up to."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.scoring.coherence import Limits, combine_verdicts, task_type_of, verdict_of
from director_ai.core.scoring.entailment import (
    MOST_PREMISE,
    Features,
    Opinion,
    premises_of,
    probability,
    read_opinions,
    weigh,
)
from director_ai.core.scoring.lexical import compare_words
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.scoring.weights import HEURISTIC, MODEL
from director_ai.core.types import EvidenceChunk

FACT = "Refunds are available within 30 days."


def chunks(*texts: str) -> list[EvidenceChunk]:
    return [EvidenceChunk(text, 0.1, f"fact:{number}") for number, text in enumerate(texts)]


# --- premises -----------------------------------------------------------------------------------------------------


def test_one_fact_is_one_premise() -> None:
    assert premises_of(chunks(FACT)) == [FACT]


def test_several_facts_are_read_together_and_the_first_ones_alone() -> None:
    assert premises_of(chunks("A.", "B.", "C.")) == ["A. B. C.", "A.", "B."]


def test_blank_facts_are_no_premise() -> None:
    assert premises_of(chunks("", "  ")) == []


def test_what_is_too_long_together_loses_the_least_relevant() -> None:
    long = "x" * (MOST_PREMISE - 10)

    assert premises_of(chunks(long, "far too much")) == [long]


# --- opinions -----------------------------------------------------------------------------------------------------

GOOD = SimpleNamespace(supported=0.5, contradicted=0.3, neutral=0.2)


def test_opinions_are_read_in_order() -> None:
    assert read_opinions([GOOD], 1) == [Opinion(0.5, 0.3, 0.2)]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        [],
        [GOOD, GOOD],
        [None],
        ["0.9"],
        [SimpleNamespace(supported=math.nan, contradicted=0.0, neutral=0.0)],
        [SimpleNamespace(supported=1.2, contradicted=0.0, neutral=-0.2)],
        [SimpleNamespace(supported="0.5", contradicted=0.3, neutral=0.2)],
        [SimpleNamespace(supported=True, contradicted=0.0, neutral=0.0)],
        [SimpleNamespace(supported=0.9, contradicted=0.9, neutral=0.9)],
        [SimpleNamespace(supported=1.0)],
    ],
    ids=[
        "None",
        "a number",
        "none of them",
        "one too many",
        "None inside",
        "a text",
        "NaN",
        "out of range",
        "a string",
        "a bool",
        "more than all",
        "a part missing",
    ],
)
def test_anything_else_is_no_opinion(answer: object) -> None:
    assert read_opinions(answer, 1) is None


# --- support ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opinions", [None, [Opinion(0.9, 0.05, 0.05)]], ids=["heuristic", "model"])
def test_a_differing_value_lowers_support_and_raises_contradiction(opinions: list[Opinion] | None) -> None:
    same = weigh(Reading(FACT), Reading(FACT), opinions)
    other = weigh(Reading("Refunds are available within 45 days."), Reading(FACT), opinions)

    assert other.support < same.support
    assert other.contradiction > same.contradiction
    assert [difference.kind for difference in other.differences] == ["duration"]


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_model_that_is_surer_never_lowers_support(one: float, two: float) -> None:
    low, high = sorted((one, two))

    def support(supported: float) -> float:
        return weigh(Reading(FACT), Reading(FACT), [Opinion(supported, 0.0, 1.0 - supported)]).support

    assert support(low) <= support(high)


def test_what_the_facts_contradict_has_no_more_support_than_what_they_are_silent_about() -> None:
    claim, evidence = Reading("The shop in Bern sells bread."), Reading(FACT)
    silent = weigh(claim, evidence, [Opinion(0.05, 0.05, 0.9)])
    contradicted = weigh(claim, evidence, [Opinion(0.05, 0.9, 0.05)])

    assert 0.0 < contradicted.support <= silent.support < 0.5


@given(st.lists(st.floats(-10, 10), min_size=9, max_size=9))
def test_a_probability_is_one(values: list[float]) -> None:
    for weights in (MODEL.support, MODEL.contradiction, HEURISTIC.support, HEURISTIC.contradiction):
        assert 0.0 <= probability(weights, Features(*values)) <= 1.0


@given(st.text(max_size=200), st.text(max_size=200))
def test_support_and_contradiction_are_never_more_than_all(claim: str, evidence: str) -> None:
    weighed = weigh(Reading(claim), Reading(evidence), None)

    assert weighed.support + weighed.contradiction <= 1.0 + 1e-9


def test_differences_only_ever_count_against_a_claim() -> None:
    for weights in (MODEL.support, HEURISTIC.support):
        named = dict(zip(Features._fields, weights[1:], strict=True))
        assert all(named[name] <= 0.0 for name in ("values", "names", "senses"))
    assert all(weight == 0.0 for weight in HEURISTIC.support[1:4]), "without a model its features weigh nothing"


# --- words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "evidence", "missing"),
    [
        ("It takes half an hour.", "It takes 30 minutes.", 0),
        ("It takes 45 minutes.", "It takes 30 minutes.", 1),
        ("There are 11 people on it.", "The board has 11 members.", 0),
        ("Call from eight on.", "Calls are taken from 8:00.", 0),
        ("It was founded in 1998.", "It was founded in 2003.", 1),
    ],
    ids=["in another unit", "another value", "other things counted", "an hour", "another year"],
)
def test_a_value_is_missing_where_the_evidence_has_it_in_no_form(claim: str, evidence: str, missing: int) -> None:
    assert compare_words(Reading(claim), Reading(evidence)).missing_values == missing


def test_a_name_is_missing_where_no_part_of_it_is_known() -> None:
    evidence = Reading("The company is led by Jane Doe.")

    assert compare_words(Reading("It is led by John Roe."), evidence).missing_names == 1
    assert compare_words(Reading("It is led by Ms Doe."), evidence).missing_names == 0


# --- verdicts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("support", "contradiction", "policy", "expected"),
    [
        (0.9, 0.05, "closed", ("supported", 0.9)),
        (0.2, 0.1, "closed", ("unsupported", 0.2)),
        (0.2, 0.1, "open", ("unverified", 0.9)),
        (0.2, 0.8, "open", ("unsupported", 0.2)),
        (0.1, 0.7, "open", ("unsupported", 0.3)),
    ],
    ids=["supported", "silent, closed", "silent, open", "contradicted, open", "mostly contradicted, open"],
)
def test_the_policy_turns_figures_into_a_verdict(
    support: float, contradiction: float, policy: str, expected: tuple[str, float]
) -> None:
    weighed = SimpleNamespace(support=support, contradiction=contradiction)

    verdict, _, coherence = verdict_of(weighed, policy=policy, threshold=0.5)  # type: ignore[arg-type]

    assert (verdict, pytest.approx(coherence)) == expected


def test_no_clause_is_a_perfect_score() -> None:
    score = combine_verdicts([], Limits())

    assert (score.score, score.approved, score.evidence) == (1.0, True, None)


@pytest.mark.parametrize(
    ("prompt", "task"),
    [
        ("Summarize this article.", "summarization"),
        ("Translate it into French.", "translation"),
        ("Write me a short poem about rain.", "creative"),
        ("List all dates in the text.", "extraction"),
        ("What does it cost?", "qa"),
        ("Tell me about the shop.", "generation"),
    ],
)
def test_the_task_is_read_from_the_prompt(prompt: str, task: str) -> None:
    assert task_type_of(prompt) == task
