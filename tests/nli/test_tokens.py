"""Tokenizing in slices gives the tokens of the whole text."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.nli import ModelError
from director_ai.nli.tokens import Tokenizer, clean
from tiny_models import tokenizer_json

TOKENIZER = Tokenizer(tokenizer_json().encode(), "tokenizer.json")
TEXTS = st.lists(st.text("abcxyz é\u0301.,-!漢字\n\t\0🙂ñ가", max_size=12) | st.text(max_size=6), max_size=20)


@given(TEXTS.map(" ".join), st.integers(30, 60))
def test_slices_do_not_change_the_tokens(text: str, size: int) -> None:
    text = clean(text).decode()
    whole, sliced = TOKENIZER.tokens(text, len(text) + 1), TOKENIZER.tokens(text, size)
    assert sliced.ids.tolist() == whole.ids.tolist()
    borders = [[a != b for a, b in itertools.pairwise(each)] for each in (sliced.words, whole.words)]
    assert borders[0] == borders[1]


def test_a_word_longer_than_a_slice_is_unknown_in_any_case() -> None:
    for length in (600, 601, 1000, 1199, 1201, 5000):
        *unknown, cat = TOKENIZER.tokens("x" * length + " cat", 600).ids.tolist()
        assert (set(unknown), cat) == ({1}, 8)


def test_white_space_longer_than_a_slice_hides_nothing() -> None:
    text = f"cat {' ' * 500} sat {' ' * 97} cat {' ' * 300}"
    assert TOKENIZER.tokens(text, 100).ids.tolist() == [8, 9, 8]


@given(st.text(st.characters(), max_size=20))
def test_cleaning_only_replaces_lone_surrogates(text: str) -> None:
    cleaned = clean(text).decode()
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert cleaned == text


def test_a_lone_surrogate_becomes_one_replacement_character_and_a_pair_its_character() -> None:
    assert clean("a\ud83db\ude00c").decode() == "a\ufffdb\ufffdc"
    assert clean("\ud83d\ude00").decode() == "\U0001f600"


def test_a_tokenizer_that_does_not_frame_pairs_as_bert_does_is_refused() -> None:
    settings = json.loads(tokenizer_json())
    settings["post_processor"] = None
    with pytest.raises(ModelError, match="frame a pair as BERT does"):
        Tokenizer(json.dumps(settings).encode(), "tokenizer.json")
