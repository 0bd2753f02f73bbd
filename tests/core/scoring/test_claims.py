"""Claims: what states something, what it states, and of whom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.scoring.claims import read_claim, role_of, visible

CLAIMS = [
    "Refunds are available within 30 days.",
    "Do not take more than 8000 mg.",
    "Take with food.",
    "Sure, refunds are free.",
    "Good dogs are allowed.",
    "Happy customers get refunds.",
    "The CEO is a robot.",
    "Contact Acme support.",
    "Did you know that refunds take 45 days?",
    "Refunds are free, right?",
    "- Opens at nine",
    "**Shipping**: 5 EUR",
    "None.",
    "Never mix it with alcohol.",
    "Hello, refunds take 45 days.",
    "Let me know within 14 days.",
    "Here is the price: 12 EUR",
]
NOT_CLAIMS = {
    "Hello!": "greeting",
    "Hi there, thanks for reaching out!": "greeting",
    "Sorry to hear about your umbrella!": "greeting",
    "Great question!": "greeting",
    "Would you like help with anything else?": "question",
    "Do you have a receipt?": "question",
    "Let me know if you have questions.": "offer",
    "If you need anything else, just ask.": "offer",
    "Sure, here is how it works.": "offer",
    "Here are the key points:\n": "offer",
    "Contact support.": "instruction",
    "Please see our website.": "instruction",
    "However, ": "connective",
    "I'm not sure about that.": "hedge",
    "That depends on the animal.": "hedge",
    "House rules in brief:": "heading",
    "***": "blank",
    "  \n": "blank",
}


@pytest.mark.parametrize("clause", CLAIMS)
def test_what_states_a_fact_is_a_claim(clause: str) -> None:
    assert role_of(clause) == "claim"


@pytest.mark.parametrize(("clause", "role"), NOT_CLAIMS.items())
def test_what_states_no_fact_is_none(clause: str, role: str) -> None:
    assert role_of(clause) == role


@pytest.mark.parametrize(
    ("clause", "stated"),
    [
        ("In short, the warranty covers water damage.", "The warranty covers water damage."),
        ("To summarize, refunds are never available.", "Refunds are never available."),
        ("I'm afraid refunds are never available.", "Refunds are never available."),
        ("I'm not sure, but the warranty covers water damage.", "The warranty covers water damage."),
        ("Please note that the warranty covers water damage.", "The warranty covers water damage."),
        ("Here is the answer: the warranty covers water damage.", "The warranty covers water damage."),
        ("We are happy to confirm that the warranty covers water damage.", "The warranty covers water damage."),
    ],
)
def test_what_is_only_announced_politely_is_still_a_claim(clause: str, stated: str) -> None:
    claim = read_claim(clause)
    assert (claim.role, claim.text) == ("claim", stated)


@pytest.mark.parametrize(
    "clause",
    [
        "I'm afraid I don't know.",
        "I'm afraid we cannot help with that.",
        "I'm not sure, but you can ask the desk.",
        "I don't know, but I can check.",
        "I cannot confirm that the warranty covers water damage.",
        "Here is what I found: open the lid and press the button.",
        "Remember to bring your card.",
        "In short, it depends.",
    ],
)
def test_where_nothing_follows_an_announcement_nothing_is_claimed(clause: str) -> None:
    assert role_of(clause) != "claim"


def test_a_heading_is_none_unless_it_says_a_figure() -> None:
    assert role_of("## Fees\n", kind="heading") == "heading"
    assert role_of("## Fees from 2026: 5 EUR\n", kind="heading") == "claim"


def test_code_is_not_judged() -> None:
    assert role_of("x = 1\n", kind="code") == "blank"


@pytest.mark.parametrize(
    ("clause", "before", "resolved"),
    [
        ("It was founded in 1998.", "Acme makes cars.", "Acme was founded in 1998."),
        ("Its fee is 5 EUR.", "The Paloma card is free.", "The Paloma card's fee is 5 EUR."),
        ("They also close early.", "The branches open at nine.", "The branches also close early."),
        ("She works in Heidelberg.", "Ms Marchetti is our chemist.", "Ms Marchetti works in Heidelberg."),
        ("However, it is closed on Mondays.", "The museum opens at nine.", "However, the museum is closed on Mondays."),
    ],
    ids=["it", "its", "they", "she", "after a connective"],
)
def test_a_pronoun_is_resolved_where_that_is_simple(clause: str, before: str, resolved: str) -> None:
    assert read_claim(clause, preceding=[before]).text == resolved


@pytest.mark.parametrize(
    ("clause", "before"),
    [
        ("It has its headquarters in Bergen.", "Marit Osei founded Solva in 1998."),
        ("It is closed on Mondays.", "You will like it."),
        ("She was the first mammal to be cloned.", "The Roslin Institute keeps sheep."),
        ("They come from 27 countries.", "The festival shows films."),
        ("This plan is free.", "The Basic plan has no support."),
        ("It opens at nine.", ""),
    ],
    ids=["two names", "another pronoun", "no person", "not many", "names what it means", "nothing before"],
)
def test_a_pronoun_stays_where_it_may_mean_something_else(clause: str, before: str) -> None:
    assert read_claim(clause, preceding=[before] if before else []).text == clause


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    claim = read_claim(text, preceding=[text])
    assert claim.role == "blank" or claim.reading is not None


def test_letters_that_only_look_latin_are_read_as_latin() -> None:
    assert visible("\u0422he warranty \u0441overs Москва.") == "The warranty covers Москва."


def test_raised_and_circled_figures_are_numbers_and_exponents_are_not() -> None:
    assert visible("It takes ⁹⁰ days, ㉚ hours and ₄ minutes.") == "It takes 90 days, 30 hours and 4 minutes."
    assert visible("The hall has 45 m² and a note.³") == "The hall has 45 m² and a note.³"
