"""Text beyond the model's window: every token is read, and the rules that make one answer of many windows hold."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.errors import ConfigError
from director_ai.nli import Entailer, Prediction, load_entailer
from director_ai.nli.windows import MOST_WINDOWS, Scores, join_parts, join_windows, pair_windows, spans
from tiny_models import keyword_entailer, values, write_model

ROOM = 32 - 3


def words(sizes: list[int]) -> list[int]:
    """The word of each token, for words of these many tokens."""
    return [word for word, size in enumerate(sizes) for _ in range(size)]


@given(st.lists(st.integers(1, 5), max_size=80).map(words), st.integers(4, 40))
def test_windows_cover_every_token_and_overlap(of: list[int], room: int) -> None:
    found = spans(of, room)
    assert {index for start, end in found for index in range(start, end)} == set(range(len(of)))
    assert all(end - start <= room for start, end in found)
    for (start, end), (next_start, next_end) in itertools.pairwise(found):
        assert start < next_start < end < next_end
        assert end - next_start >= room // 2 - 1
    assert len(found) <= 1 + 4 * len(of) / room + 4


@given(st.lists(st.integers(1, 4), max_size=80).map(words))
def test_windows_begin_with_whole_words(of: list[int]) -> None:
    assert all(start == 0 or of[start] != of[start - 1] for start, _ in spans(of, 24))


@given(st.integers(0, 90), st.integers(0, 90))
def test_every_part_of_a_hypothesis_meets_every_token_of_the_premise(premise: int, hypothesis: int) -> None:
    found = list(pair_windows(range(premise), range(hypothesis), ROOM))
    assert all(there[1] - there[0] + here[1] - here[0] <= ROOM for _, there, here in found)
    seen = {(i, j) for _, there, here in found for i in range(*there) for j in range(*here)}
    assert len(seen) == premise * hypothesis
    if premise + hypothesis <= ROOM:
        assert len(found) == 1


probabilities = st.tuples(*[st.floats(0.001, 1)] * 3).map(lambda raw: Scores(*(value / sum(raw) for value in raw)))


@given(st.lists(probabilities, min_size=1, max_size=6))
def test_one_window_decides_over_a_premise(windows: list[Scores]) -> None:
    joined = join_windows(windows)
    assert joined in windows
    support, contradiction = max(s.supported for s in windows), max(s.contradicted for s in windows)
    if contradiction > support:
        assert joined.contradicted == contradiction
    else:
        assert joined.supported == support


@given(st.lists(probabilities, min_size=1, max_size=6))
def test_a_hypothesis_is_as_good_as_its_worst_part(parts: list[Scores]) -> None:
    joined = join_parts(parts)
    assert joined.supported == min(scores.supported for scores in parts)
    assert joined.contradicted == max(scores.contradicted for scores in parts)
    assert joined.neutral >= 0
    assert sum(joined) == pytest.approx(1)


@pytest.fixture
def entailer(tmp_path: Path) -> Entailer:
    return load_entailer(write_model(tmp_path, keyword_entailer(), calibration={}))


def verdict(prediction: Prediction) -> str:
    return max(("supported", "contradicted", "neutral"), key=lambda name: getattr(prediction, name))


FILLER = "the cat sat " * 20
LONG = {
    "nothing to find": (FILLER, "cat", "neutral"),
    "support at the very beginning": (f"yes {FILLER}", "cat", "supported"),
    "support in the middle": (f"{FILLER} yes {FILLER}", "cat", "supported"),
    "support at the very end": (f"{FILLER} yes", "cat", "supported"),
    "a contradiction in the middle": (f"{FILLER} no {FILLER}", "cat", "contradicted"),
    "a contradiction stronger than the support elsewhere": (f"yes {FILLER} no", "cat", "contradicted"),
    "support stronger than the contradiction elsewhere": (f"yes yes yes yes {FILLER} no", "cat", "supported"),
    "a part of the hypothesis nothing speaks for": ("the cat sat " * 3, f"yes {FILLER}", "neutral"),
    "a hypothesis wrong at its end": ("yes", f"{FILLER} no", "contradicted"),
    "a hypothesis supported in every part": ("yes", FILLER, "supported"),
    "both long": (f"{FILLER} yes", FILLER, "supported"),
}


@pytest.mark.parametrize(("premise", "hypothesis", "expected"), LONG.values(), ids=LONG)
def test_a_pair_longer_than_the_window(entailer: Entailer, premise: str, hypothesis: str, expected: str) -> None:
    (prediction,) = entailer.predict([(premise, hypothesis)])
    assert verdict(prediction) == expected
    assert entailer.counts.windows > 1
    assert values([prediction]).sum() == pytest.approx(1)


def test_a_pair_that_fits_exactly_is_one_window_and_one_token_more_makes_two(entailer: Entailer) -> None:
    entailer.predict([("cat " * (ROOM - 4), "cat " * 4)])
    assert entailer.counts.windows == 1
    entailer.predict([("cat " * (ROOM - 3), "cat " * 4)])
    assert entailer.counts.windows == 3


def test_long_and_short_pairs_of_one_call_keep_apart(entailer: Entailer) -> None:
    pairs = [("yes", "cat"), (FILLER + "no", "cat"), ("", ""), (FILLER, "yes"), ("no", "cat")]
    together = entailer.predict(pairs)
    assert [verdict(each) for each in together] == ["supported", "contradicted", "neutral", "supported", "contradicted"]
    alone = [entailer.predict([pair])[0] for pair in pairs]
    assert np.array_equal(values(together), values(alone))


def test_a_pair_of_two_endless_texts_is_refused_rather_than_run_for_hours(entailer: Entailer) -> None:
    endless = "secret " * 100_000
    with pytest.raises(ConfigError, match=f"the most is {MOST_WINDOWS}") as caught:
        entailer.predict([(endless, endless)])
    assert "secret" not in str(caught.value)
    assert len(entailer.predict([("a", "b")])) == 1
