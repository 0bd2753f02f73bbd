"""Halves of sentences are compared with the half that speaks of the same."""

from __future__ import annotations

import pytest

from director_ai.core.scoring.slots import compare_slots

FLOWERS = "Cut flowers are not allowed in the intensive care unit, but they are permitted on Ward 3."
HALL = "The hall can be hired by companies but not by private individuals."
GARDEN = "Dogs are allowed in the garden, but cats are not."
FILES = "Old files can be opened, but they cannot be saved back in the old format."

CONTRARY = {
    "like the other half": ("Just like in the intensive care unit, cut flowers are not permitted on Ward 3.", FLOWERS),
    "a bare not": ("Private individuals can hire the hall.", HALL),
    "a verb left out": ("Cats are allowed in the garden.", GARDEN),
    "a gerund as subject": ("but saving them back in the old format is possible.", FILES),
    "free and nothing": ("The first visit is not free of charge.", "The first visit costs nothing."),
    "a prefix": ("The pool is unsuitable for toddlers.", "The pool is suitable for toddlers."),
    "a duty": ("Bags need not be checked in.", "Bags must be checked in."),
    "a ban": ("Prong collars are allowed in the park.", "Prong collars are forbidden in the park."),
    "an opposite": ("Coffee and tea raise iron absorption.", "Coffee, tea and milk reduce the absorption of iron."),
}
SAME = {
    "the other half": (
        "You may bring cut flowers to the ward, whereas the intensive care unit does not permit them.",
        FLOWERS,
    ),
    "a bare not": ("Companies can hire the hall.", HALL),
    "a verb left out": ("Dogs are allowed in the garden.", GARDEN),
    "a gerund as subject": ("but saving them back in the old format is not possible.", FILES),
    "free and nothing": ("The first visit is free of charge.", "The first visit costs nothing."),
    "a prefix": ("The pool is not unsuitable for toddlers.", "The pool is suitable for toddlers."),
    "no duty": ("Bags need not be checked in.", "Bags may be checked in."),
    "a ban": ("Prong collars are not allowed in the park.", "Prong collars are forbidden in the park."),
    "a sale": ("Harrow Maltings sells malt to Copper Lane.", "Copper Lane buys its malt from Harrow Maltings."),
    "a noun apart": ("The film-maker owns the film, not the archive.", "In the film archive, films are stored."),
    "an adjunct": ("The inspector visits the restaurants.", "The inspector visits the restaurants without warning."),
}


@pytest.mark.parametrize(("claim", "evidence"), CONTRARY.values(), ids=CONTRARY)
def test_the_contrary_of_a_half_is_found(claim: str, evidence: str) -> None:
    assert compare_slots(claim, evidence)


@pytest.mark.parametrize(("claim", "evidence"), SAME.values(), ids=SAME)
def test_what_a_half_says_raises_no_difference(claim: str, evidence: str) -> None:
    assert compare_slots(claim, evidence) == ()


def test_a_modal_negation_of_another_complement_is_no_contrary() -> None:
    found = compare_slots("Ms Marchetti works in Heidelberg.", "Ms Marchetti may not work for a competitor in Germany.")
    assert all(difference.kind != "negation" for difference in found)


@pytest.mark.parametrize(
    ("claim", "fact", "differs"),
    [
        ("The guaranteed availability is not 99.8 percent.", "The guaranteed availability is 99.8 percent.", True),
        ("The working week is not 38 hours.", "The working week is 38 hours.", True),
        ("The fee is not more than 30 euros.", "The fee is at most 30 euros.", False),
        ("The fee is not 40 euros.", "The fee is 30 euros.", False),
    ],
    ids=["a share", "hours", "a limit", "another value"],
)
def test_a_value_that_is_denied_in_the_words_that_state_it_differs(claim: str, fact: str, differs: bool) -> None:
    assert ("negation" in {each.kind for each in compare_slots(claim, fact)}) is differs


def test_what_is_denied_beyond_a_limit_is_what_is_granted_within_it() -> None:
    fact = "Refunds are available within 30 days."
    assert not compare_slots("Refunds are not available after 30 days.", fact)
    assert compare_slots("Refunds are not available within 30 days.", fact)
