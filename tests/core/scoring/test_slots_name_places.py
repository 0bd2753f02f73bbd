"""A name is found that the evidence lacks, or has elsewhere, and one that it has in other words is left alone."""

from __future__ import annotations

import pytest

from director_ai.core.scoring.slots import compare_slots

MAKER = "The products are made in Bregenz by the company Ahrens. Solveda contains no perfume."
CHOIR = "The choir rehearses in the town hall. The conductor, Erik Sund, is paid by the city."
COACH = "Beginners are taught by Ms Okafor, experts by Mr Brandt. Ms Okafor lives in Ulm."
FLOWER = "The botanist Hedda Lunde described the blue gentian of Tarvik."
CLUB = "The chair is Gerda Pohlmann. The water meters are read by Ivo Senn in October."
EYES = "Surgery at the Solberg Eye Centre takes an hour. The first check-up takes place with Dr Hilde Brandt."
VISA = "Zambia shares the falls with Zimbabwe. Visitors swim on the Zambian side."
TREATY = "Vantor pays Kestria 40 million marks. Vantorian boats may enter the harbor of Lyd."
MAESTRO = "Maestro Luca Benedetti founded the orchestra. Benedetti had studied conducting with Irina Wolkova."
SHOPS = "Raw milk is available only at Tiede. Potatoes are sold at Marx."

DIFFERENT = {
    "a strange place after the same preposition": ("Ahrens manufactures Solveda in Salzburg.", MAKER, "Bregenz"),
    "a strange place that begins like the right one": (
        "It is put together in Slovakia.",
        "It is made in Slovenia by the firm Tramo.",
        "Slovenia",
    ),
    "another surname after the same first name": ("The conductor is called Erik Lind.", CHOIR, "Erik Sund"),
    "a surname that is a place": ("It was described by Hedda Tarvik.", FLOWER, "Hedda Lunde"),
    "a person of another fact": ("Gerda Pohlmann reads the water meters.", CLUB, "Ivo Senn"),
    "a title before the name of a house": ("Dr Solberg does the first check-up.", EYES, "Dr Hilde Brandt"),
    "the other of two in one sentence": (
        "Cats are treated by Dr Madsen.",
        "Dr Kron treats cats, and Dr Madsen performs operations.",
        "Dr Kron",
    ),
}

SAME = {
    "the same place in other words": ("Ahrens manufactures Solveda in Bregenz.", MAKER),
    "a surname alone": ("Sund is paid by the city.", CHOIR),
    "the second of two, said in fewer words": ("Mr Brandt teaches the experts.", COACH),
    "a full name in other words": ("It was Hedda Lunde who described the gentian.", FLOWER),
    "a verb before a name": ("Ask Gerda Pohlmann about the meters.", CLUB),
    "a person of the fact": ("Ivo Senn reads the water meters.", CLUB),
    "an adjective of a country": ("The Zimbabwean side shares the falls.", VISA),
    "a name with another ending": ("Boats from Vantor may enter the harbor.", TREATY),
    "a first name for a surname": ("Luca was taught conducting by Irina Wolkova.", MAESTRO),
    "what only the other has": ("You won't find raw milk at Marx.", SHOPS),
    "an acronym": ("Bring your ID to the check-up.", EYES),
    "a plural": ("Five wrong PINs block the card at Ahrens.", "After five wrong tries the PIN is blocked by Ahrens."),
}


@pytest.mark.parametrize(("claim", "evidence", "instead"), DIFFERENT.values(), ids=DIFFERENT)
def test_a_name_in_the_place_of_another_is_found(claim: str, evidence: str, instead: str) -> None:
    differences = compare_slots(claim, evidence)
    assert [(found.kind, found.evidence and found.evidence.text) for found in differences] == [("name", instead)]


@pytest.mark.parametrize(("claim", "evidence"), SAME.values(), ids=SAME)
def test_a_name_in_its_place_raises_no_difference(claim: str, evidence: str) -> None:
    assert compare_slots(claim, evidence) == ()
