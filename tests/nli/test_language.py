"""English clauses are told from others, and short ones get the benefit of the doubt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from director_ai import ProductionGuard
from director_ai.nli.language import is_english

FOREIGN = {
    "german": "Der Zoo schließt im Winter um 17 Uhr.",
    "french": "Le billet coûte douze euros pour les adultes.",
    "spanish": "La piscina abre a las nueve de la mañana.",
    "italian": "Il museo è chiuso il lunedì.",
    "dutch": "De bibliotheek is op zondag gesloten.",
    "portuguese": "O estacionamento custa dez euros por dia.",
    "russian": "Музей открыт каждый день.",
    "chinese": "博物馆每天九点开门。",
    "arabic": "المتحف مفتوح كل يوم.",
}
ENGLISH = [
    "The zoo closes at 5 pm in winter.",
    "Lunch: 12 EUR",
    "Dr. Ngozi Adeyemi-Fröhlich",
    "- Café crème, 4.20 EUR",
    "OK!",
    "42",
    "",
    "```\nx = 1\n```",
]


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_other_languages_are_recognised(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize("text", ENGLISH)
def test_english_and_what_is_too_short_pass(text: str) -> None:
    assert is_english(text)


def test_a_doubtful_clause_is_like_the_one_before_it() -> None:
    assert is_english("Torsten Albers.")
    assert not is_english("Torsten Albers.", ["Der Leiter der Abteilung ist Dr. Ehlers."])


def test_no_sentence_that_we_wrote_in_english_is_taken_for_another_language() -> None:
    folder = Path(__file__).parents[2] / "benchmarks" / "claims"
    rows = [json.loads(line)["text"] for line in (folder / "sentences.jsonl").read_text("utf-8").splitlines()]
    assert [text for text in rows if not is_english(text)] == []


@pytest.mark.parametrize(("profile", "action"), [("medical", "redact"), ("general", "keep")])
def test_the_profile_decides_and_nothing_is_patched(profile: str, action: str) -> None:
    with ProductionGuard.from_profile(profile, use_nli=False, search="words") as guard:
        guard.load_facts({"price": "Der Eintritt kostet 8 Euro.", "hours": "The zoo opens at 9 am."})
        (wrong,) = guard.repair_stream("", "Der Eintritt kostet neunzehn Euro pro Person.").actions
        (verbatim,) = guard.repair_stream("", "Der Eintritt kostet 8 Euro.").actions

    assert (wrong.action, wrong.verdict, wrong.reason) == (action, "not_evaluated", "language_not_supported")
    assert (verbatim.action, verbatim.verdict) == ("keep", "supported")


@pytest.mark.parametrize(
    "text", ["Der Eintritt kostet 9 EUR pro Person.", "Le parking est fermé.", "El hotel es nuevo."]
)
def test_two_common_words_of_another_language_are_enough(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize("text", ["Wien, Köln, München, Zürich", "Los Angeles, Las Vegas, El Paso", "Porto, Lisboa"])
def test_names_alone_are_of_any_language(text: str) -> None:
    assert is_english(text)
