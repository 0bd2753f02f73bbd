"""The most telling sentences of a long premise: which they are, and that the answer hears them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.nli import ModelError, load_entailer
from director_ai.nli.focus import LONGEST_SENTENCE, cut_sentences, focus
from tiny_models import keyword_entailer, values, write_model

sentences = st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=12), max_size=20)


@given(sentences, st.lists(st.integers(1, 30), max_size=8), st.integers(0, 60))
def test_what_is_kept_are_whole_sentences_in_their_order(texts: list[list[int]], wanted: list[int], room: int) -> None:
    kept = focus(texts, wanted, room)
    assert len(kept) <= room
    left = list(texts)
    while kept:  # every sentence that was kept comes after the one before it
        assert left, "nothing that is not of the text"
        sentence = left.pop(0)
        if kept[: len(sentence)] == sentence:
            kept = kept[len(sentence) :]


def test_the_sentence_with_the_rare_words_is_kept_before_those_with_common_ones() -> None:
    common, rare = [1, 2, 3, 4], [1, 2, 9, 4]
    assert focus([common, common, rare, common], [1, 9], room=4) == rare


def test_a_sentence_that_is_too_long_is_cut_and_nothing_of_it_lost() -> None:
    long = list(range(2 * LONGEST_SENTENCE + 5))
    pieces = cut_sentences([long, [7]])
    assert [token for piece in pieces for token in piece] == [*long, 7]
    assert max(map(len, pieces)) == LONGEST_SENTENCE


FILLER = "The sat. " * 20


def test_a_long_pair_is_also_judged_on_its_most_telling_sentences(tmp_path: Path) -> None:
    plain = load_entailer(write_model(tmp_path / "plain", keyword_entailer(), calibration={}))
    focused = load_entailer(write_model(tmp_path / "focus", keyword_entailer(), calibration={}, focus_tokens=24))
    pair = (f"{FILLER} The cat yes. {FILLER} No.", "cat")
    (seen_in_parts,), (seen_at_a_glance,) = plain.predict([pair]), focused.predict([pair])
    assert seen_in_parts.contradicted > seen_at_a_glance.contradicted, "what is said of the cat is a yes"
    assert seen_in_parts.supported < seen_at_a_glance.supported
    assert values([seen_at_a_glance]).sum() == pytest.approx(1)


def test_a_pair_within_the_focus_is_read_once(tmp_path: Path) -> None:
    entailer = load_entailer(write_model(tmp_path, keyword_entailer(), calibration={}, focus_tokens=24))
    entailer.predict([("cat " * 17, "cat " * 4)])
    assert entailer.counts.windows == 1
    entailer.predict([("cat " * 18, "cat " * 4)])
    assert entailer.counts.windows == 3


@pytest.mark.parametrize("value", [-1, 3, "320", 2.5, True, []], ids=repr)
def test_a_manifest_with_an_impossible_focus_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(ModelError, match="focus_tokens must be"):
        load_entailer(write_model(tmp_path, keyword_entailer(), focus_tokens=value))
