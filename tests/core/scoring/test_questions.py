"""What a question states besides asking, and what a "yes" to it says."""

from __future__ import annotations

import pytest

from director_ai.core.scoring.claims import read_claim
from director_ai.core.scoring.questions import as_statement, asks_yes_or_no, statement_in

STATED = {
    "a statement before the question": (
        "The ferry leaves at noon, shall I book it for you?",
        "The ferry leaves at noon.",
    ),
    "a reason before it": ("Since the tour is free, would you like to join?", "The tour is free."),
    "did you know": ("Did you know that the tower was built in 1890?", "The tower was built in 1890."),
    "were you aware": ("Were you aware that pets travel for free?", "Pets travel for free."),
    "in brackets": ("Dogs may come along (is that all right?)", "Dogs may come along."),
    "a question of its own": ("Is the garden open in March?", "The garden is open in March."),
    "an offer": ("Would you like a seat by the window?", "Would you like a seat by the window?"),
    "what is asked for": ("Which day suits you?", "Which day suits you?"),
}


@pytest.mark.parametrize(("question", "expected"), STATED.values(), ids=STATED.keys())
def test_a_question_is_judged_by_what_it_states(question: str, expected: str) -> None:
    assert statement_in(question) == expected


CONFIRMED = {
    "a pronoun": ("Can I bring my dog?", "You can bring your dog."),
    "the other side": ("Do you sell gift cards?", "We sell gift cards."),
    "a subject of several words": ("Does the night bus stop at the clinic?", "The night bus stop at the clinic."),
    "a state": ("Is breakfast included?", "Breakfast is included."),
}


@pytest.mark.parametrize(("question", "expected"), CONFIRMED.values(), ids=CONFIRMED.keys())
def test_a_yes_says_what_was_asked(question: str, expected: str) -> None:
    assert as_statement(question) == expected
    claim = read_claim("Yes.", question=question)
    assert (claim.role, claim.text) == ("claim", expected)


def test_a_no_denies_it() -> None:
    assert read_claim("No.", question="May I park here?").text == "You may not park here."


@pytest.mark.parametrize("said", ["Sure!", "Of course!", "Yes."])
@pytest.mark.parametrize("question", ["Can you explain the fees?", "What does it cost?", "Tell me more.", ""])
def test_a_yes_to_a_request_states_nothing(said: str, question: str) -> None:
    assert read_claim(said, question=question).role != "claim"


def test_a_yes_answers_the_question_before_it() -> None:
    claim = read_claim("Absolutely!", preceding=["Is the pool heated?"], question="Tell me about the hotel.")
    assert claim.text == "The pool is heated."


SUGGESTED = {
    "why not": ("Why not park on the pavement?", "You can park on the pavement."),
    "why don't you": ("Why don't you leave the dog in the car?", "You can leave the dog in the car."),
    "couldn't you": ("Couldn’t you just skip the second vaccination?", "You can skip the second vaccination."),
    "no reason not to": ("There is no reason not to mix the two paints.", "You can mix the two paints."),
}


@pytest.mark.parametrize(("said", "expected"), SUGGESTED.values(), ids=SUGGESTED.keys())
def test_a_suggestion_in_the_words_of_a_denial_states_that_it_can_be_done(said: str, expected: str) -> None:
    assert read_claim(said).text == expected


def test_no_problem_says_yes() -> None:
    assert read_claim("No problem at all!", question="May I park here?").text == "You may park here."


def test_emphasis_hides_no_figure() -> None:
    assert read_claim("The tram runs every **1**5 *minutes*.").text == "The tram runs every 15 minutes."


def test_a_request_is_no_question_for_yes_or_no() -> None:
    assert not asks_yes_or_no("Could you please tell me the price?")
    assert asks_yes_or_no("Is there a lift?")
