"""Tokens at the door: however the code units are cut, the same text comes in."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from director_ai import StreamingKernel
from director_ai.core.runtime.intake import TokenIntake
from director_ai.testing import ScriptedScorer

UNITS = st.lists(st.sampled_from(["a", "é", "漢", "\ud83d", "\ude00", "\u200d", "\ufe0f", " "]), max_size=30)


def read(tokens: list[str]) -> tuple[str, int]:
    intake = TokenIntake()
    text = "".join([*(intake.take(token) for token in tokens), intake.finish()])
    return text, intake.lone_surrogates


@given(UNITS, st.randoms(use_true_random=False))
def test_token_borders_do_not_change_what_comes_in(units: list[str], chance: random.Random) -> None:
    tokens: list[str] = []
    for unit in units:
        if tokens and chance.random() < 0.5:
            tokens[-1] += unit
        else:
            tokens.append(unit)
    assert read(tokens) == read(["".join(units)]) == read(units)


@given(UNITS)
def test_what_comes_in_can_be_written_as_utf_8(units: list[str]) -> None:
    text, lone = read(units)
    assert text.encode("utf-8").decode("utf-8") == text
    assert lone == text.count("\ufffd")


@given(st.text(max_size=200), st.integers(0, 2**32))
def test_the_kernel_releases_the_same_text_for_every_cut(text: str, seed: int) -> None:
    """Promise 3, as far as a kernel that scores by token can hold it: the text, not the number of calls."""
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(len(text) + 1), k=min(5, len(text) + 1)))
    tokens = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    session = StreamingKernel(score_every_n=3).stream_tokens(tokens, ScriptedScorer([0.9]))
    assert session.output == text
