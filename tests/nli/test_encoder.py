"""What an encoder promises: one unit vector per text, in order, whatever the texts are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from director_ai.errors import ConfigError
from director_ai.nli import Encoder, ModelError, load_encoder
from tiny_models import some_pairs, write_encoder


@pytest.fixture
def encoder(tmp_path: Path) -> Encoder:
    return load_encoder(write_encoder(tmp_path))


def test_vectors_are_unit_rows_in_the_order_of_the_texts(encoder: Encoder) -> None:
    texts = [premise for premise, _ in some_pairs(40)]
    together = encoder.encode(texts)
    assert (together.shape, together.dtype) == ((40, encoder.dim), np.float32)
    assert np.abs(np.linalg.norm(together, axis=1) - 1).max() <= 1e-6
    alone = np.concatenate([load_again(encoder, text) for text in texts])
    assert np.abs(together - alone).max() <= 1e-4


def load_again(encoder: Encoder, text: str) -> Any:
    """The same text without its neighbours, from an encoder that remembers nothing."""
    return load_encoder(encoder._engine._folder, cache_size=0).encode([text])


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 16)


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "漢字", "the cat " * 50_000], ids=ascii)
def test_odd_texts_have_a_direction_too(encoder: Encoder, text: str) -> None:
    assert np.linalg.norm(encoder.encode([text])) == pytest.approx(1, abs=1e-6)


def test_a_long_text_is_the_mean_of_its_windows_to_its_very_end(encoder: Encoder) -> None:
    filler = "the cat sat " * 30
    first, same, changed = encoder.encode([filler, filler, filler + "yes yes"])
    assert np.array_equal(first, same)
    assert 0 < np.abs(first - changed).max() < 0.5


def test_a_vector_can_be_changed_without_changing_the_cache(encoder: Encoder) -> None:
    vectors = encoder.encode(["the cat"])
    vectors[:] = 0
    assert np.linalg.norm(encoder.encode(["the cat"])) == pytest.approx(1, abs=1e-6)
    assert encoder.counts.hits == 1


def test_a_remembered_vector_does_not_keep_those_it_was_computed_with(encoder: Encoder) -> None:
    encoder.encode([f"the cat {number}" for number in range(50)])
    kept = encoder._inference._cache._answers.values()
    assert len(kept) == 50
    assert all(vector.base is None for vector in kept)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_awaiting_gives_the_same(encoder: Encoder, backend: str) -> None:
    assert np.array_equal(anyio.run(encoder.aencode, ["the", "cat"], backend=backend), encoder.encode(["the", "cat"]))


@pytest.mark.parametrize("texts", [None, "secret", b"secret", [b"secret"], [None], [("secret",)]], ids=repr)
def test_what_is_no_list_of_texts_is_refused_without_repeating_it(encoder: Encoder, texts: Any) -> None:
    with pytest.raises(ConfigError, match="text") as caught:
        encoder.encode(texts)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("word", ["nan", "boom"])
def test_a_vector_that_is_none_is_an_error(encoder: Encoder, word: str) -> None:
    with pytest.raises(ModelError):
        encoder.encode(["the cat", word])
    assert len(encoder.encode(["the cat"])) == 1
