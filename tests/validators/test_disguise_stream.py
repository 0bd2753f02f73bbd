"""Promise 11 through the runner: what is hidden inside an address, a key or a link is taken off before they are read."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checked import run_checks
from director_ai.validators import PII, BannedWords, Checks, Disguise, Links, Secrets
from drivers import Driver

CHECKS = Checks([PII(), Links(), Secrets(), BannedWords(("forbidden",))], first=(Disguise(),))
CARRIERS = (
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u2061\u2062\u2063\u2064\u034f\u115f\u1160\u3164\uffa0"
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
    "\U000e0001\U000e0041\U000e007f\ufe00\ufe0f\U000e0100\U000e01ef"
)
HIDDEN = re.compile(f"[{CARRIERS}]")
TARGETS = {
    "jo.smith@example.org": "[EMAIL]",
    "4111 1111 1111 1111": "[CARD]",
    "GB82WEST12345698765432": "[IBAN]",
    "https://evil.example/steal?q=1": "[LINK]",
    "AKIAIOSFODNN7EXAMPLQ": "[API_KEY]",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a": "[API_KEY]",
    "forbidden": "[REMOVED]",
}


def hidden(target: str, chance: random.Random, most: int = 3) -> str:
    """The target with invisible characters between its letters."""
    return (
        "".join(letter + "".join(chance.choices(CARRIERS, k=chance.randint(0, most))) for letter in target[:-1])
        + target[-1]
    )


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_hidden_inside_is_still_removed(driver: Driver, target: str) -> None:
    for seed in range(10):
        chance = random.Random(seed)
        text = f"Before it stands this: {hidden(target, chance)} and after it that."
        size = chance.randint(1, 12)
        pieces, result = run_checks(driver, CHECKS, [text[at : at + size] for at in range(0, len(text), size)])
        assert "".join(pieces) == result.text == f"Before it stands this: {TARGETS[target]} and after it that."


FOLDED = {
    "full width": ("ｊｏ＠ｅｘａｍｐｌｅ．ｏｒｇ", "[EMAIL]"),
    "mathematical letters": ("𝗳𝗼𝗿𝗯𝗶𝗱𝗱𝗲𝗻", "[REMOVED]"),
    "Cyrillic twins": ("f\u043erbidd\u0435n", "[REMOVED]"),
    "circled letters": ("ⓕⓞⓡⓑⓘⓓⓓⓔⓝ", "[REMOVED]"),
    "full-width digits": ("４１１１ １１１１ １１１１ １１１１", "[CARD]"),
    "a terminal order inside": ("forb\x1b[31midden", "[REMOVED]"),
    "a flood of marks": ("forbidden" + "\u0301" * 50, None),
}


@pytest.mark.parametrize("case", FOLDED)
def test_letters_in_disguise_are_read_as_what_they_look_like(driver: Driver, case: str) -> None:
    said, shown = FOLDED[case]
    result = run_checks(driver, CHECKS, list(f"It says {said} there."))[1]
    if shown is None:
        assert result.text.count("\u0301") <= 4
    else:
        assert result.text == f"It says {shown} there."


def test_no_carrier_survives_wherever_it_stands() -> None:
    for seed in range(60):
        chance = random.Random(seed)
        words = [hidden(chance.choice(("plain", "words", *TARGETS)), chance) for _ in range(20)]
        text = " ".join(words) + "".join(chance.choices(CARRIERS, k=chance.choice((0, 1, 300))))
        size = chance.randint(1, 40)
        stream = CHECKS.stream([text[at : at + size] for at in range(0, len(text), size)])
        shown = "".join(piece.text for piece in stream)
        assert not HIDDEN.search(shown), seed
        for target in TARGETS:
            assert target not in shown, seed


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: f"U+{ord(carrier):04X}")
def test_every_carrier_alone_is_removed(carrier: str) -> None:
    assert CHECKS.run(f"one{carrier}two").text == "onetwo"
    assert CHECKS.run(f"jo{carrier}@example.org").text == "[EMAIL]"


def test_what_needs_its_joiners_keeps_them(driver: Driver) -> None:
    text = "👩‍👩‍👧 ❤️ 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f می‌خواهم"
    assert run_checks(driver, CHECKS, list(text))[1].text == text


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(TARGETS)),
    st.text(alphabet=CARRIERS, min_size=1, max_size=400),
    st.integers(1, 8),
    st.integers(1, 60),
)
def test_any_run_of_carriers_anywhere_inside_buys_no_pass(target: str, run: str, at: int, size: int) -> None:
    text = f"See {target[:at]}{run}{target[at:]} now."
    stream = CHECKS.stream([text[at : at + size] for at in range(0, len(text), size)])
    assert "".join(piece.text for piece in stream) == f"See {TARGETS[target]} now."
