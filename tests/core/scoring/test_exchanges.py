"""No value of a clause is new, and yet it is given to something else than the fact gives it to."""

from __future__ import annotations

import pytest

from director_ai import ProductionGuard
from director_ai.core.scoring.same_subject import exchanges
from director_ai.core.scoring.slots.reading import Reading

FACTS = (
    "The day ticket costs 8 EUR and the week ticket 30 EUR.",
    "The north wing has 12 rooms, the south wing 20 rooms.",
    "Pia Holm leads the kitchen and Jon Vik leads the bar.",
    "The gym opens at 7 am and closes at 10 pm.",
    "Repairs take 3 days in Oslo and 5 days in Bergen.",
    "The app accepts JPEG, TIFF and PNG files.",
)
EXCHANGED = (
    "The day ticket costs 30 EUR and the week ticket 8 EUR.",
    "The week ticket costs 8 EUR.",
    "The south wing has 12 rooms.",
    "Jon Vik leads the kitchen.",
    "The bar is led by Pia Holm.",
    "The gym closes at 7 am.",
    "In Bergen, repairs take 3 days.",
)
RIGHT = (
    *FACTS,
    "For the week ticket you pay 30 EUR, for the day ticket 8 EUR.",
    "The week ticket costs 30 EUR, more than the 8 EUR of the day ticket.",
    "With 20 rooms the south wing is larger than the north wing with 12 rooms.",
    "Jon Vik, who leads the bar, works beside Pia Holm of the kitchen.",
    "Pia Holm does not lead the bar.",
    "The gym is open from 7 am to 10 pm.",
    "Repairs take 5 days.",
    "A ticket costs 8 EUR.",
    "The app reads PNG, TIFF and JPEG files.",
)


@pytest.mark.parametrize("text", EXCHANGED)
def test_a_value_of_something_else_is_found(text: str) -> None:
    assert any(exchanges(Reading(text), Reading(fact)) for fact in FACTS)


@pytest.mark.parametrize("text", RIGHT)
def test_a_value_that_may_belong_there_is_not(text: str) -> None:
    assert not any(exchanges(Reading(text), Reading(fact)) for fact in FACTS)


@pytest.mark.parametrize("profile", ["finance", "general"])
def test_no_profile_shows_exchanged_values(profile: str) -> None:
    with ProductionGuard.from_profile(profile, metrics=False) as guard:
        guard.load_facts({f"f{at}": fact for at, fact in enumerate(FACTS)})
        assert [text for text in EXCHANGED if guard.repair_stream("", text).actions[0].action == "keep"] == []
