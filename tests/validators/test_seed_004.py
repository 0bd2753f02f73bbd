"""Seed 004's example: a check for lower case and one for personal data on one text, merged exactly."""

from __future__ import annotations

import random

import pytest

from director_ai.core.merge import merge_edits
from director_ai.validators import PII, Casing, Checks

CHECKS = Checks([Casing(to="lower"), PII()])
WORDS = (
    "Hello THERE John Write me At the Office ΣΑΣ Straße İzmir été NAÏVE Call Before Noon , . ! ? A b C\n please"
).split(" ")
PERSONAL = {
    "Jo.Smith@Example.ORG": "[EMAIL]",
    "JO@MAIL.example.com": "[EMAIL]",
    "(212) 555-0123": "[PHONE]",
    "4111 1111 1111 1111": "[CARD]",
    "5500-0000-0000-0004": "[CARD]",
    "054-28-6917": "[US_SSN]",
    "GB82WEST12345698765432": "[IBAN]",
    "41.173.96.26": "[IP]",
}
STANDS_ALONE = ("Hello", "THERE", "John", "Write", "ΣΑΣ", "Straße", "Call")


def example(seed: int) -> tuple[str, str]:
    """A text, and what must come of it: the two fixes, each where it belongs."""
    chance = random.Random(seed)
    source: list[str] = []
    fixed: list[str] = []
    for _ in range(chance.randint(1, 3)):
        words = [*chance.choices(WORDS, k=chance.randint(0, 4)), chance.choice(STANDS_ALONE)]
        source += words
        fixed += [word.lower() for word in words]
        if chance.random() < 0.5:
            found = chance.choice(tuple(PERSONAL))
            source += [found, ";"]
            fixed += [PERSONAL[found], ";"]
    return " ".join(source), " ".join(fixed)


def test_the_example_itself() -> None:
    result = CHECKS.run("Hello, My Name Is JOHN and my e-mail is John@Example.com.")
    assert result.text == "hello, my name is john and my e-mail is [EMAIL]."
    assert {edit.check for edit in result.applied} == {"casing", "pii"}
    assert {(each.lost.check, each.won.check) for each in result.conflicts} == {("casing", "pii")}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("texts", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
def test_thousands_of_finished_texts_come_out_exactly(texts: int) -> None:
    for seed in range(texts):
        text, expected = example(seed)
        assert CHECKS.run(text).text == expected, seed


def test_streams_of_them_come_out_exactly() -> None:
    for seed in range(200):
        text, expected = example(seed)
        size = random.Random(seed).randint(1, 9)
        tokens = [text[at : at + size] for at in range(0, len(text), size)]
        assert "".join(piece.text for piece in CHECKS.stream(tokens)) == expected, seed


def test_the_edits_of_a_result_make_the_text_again() -> None:
    for seed in range(200):
        text, _ = example(seed)
        result = CHECKS.run(text)
        assert merge_edits(text, result.applied).text == result.text
