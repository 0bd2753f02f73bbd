"""What an entailer promises to one caller: three probabilities per pair, in order, whatever the texts are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from director_ai.errors import ConfigError
from director_ai.nli import Entailer, ModelError, Prediction, load_entailer
from tiny_models import some_pairs, tokenizer_json, values, write_model

ODD_TEXTS = {
    "empty": "",
    "white space": " \t\n",
    "NUL": "the\0cat",
    "a lone surrogate": "the \ud83d cat",
    "a surrogate pair": "the \ud83d\ude00 cat",
    "no known letter": "ελληνικά 漢字 🙂",
    "a combining mark alone": "\u0301",
    "special tokens": "[CLS] [SEP] [PAD] [MASK]",
    "a very long word": "x" * 1_000_000,
    "a million characters": "the cat " * 125_000,
}


@pytest.fixture(scope="module")
def entailer(tmp_path_factory: pytest.TempPathFactory) -> Entailer:
    return load_entailer(write_model(tmp_path_factory.mktemp("entailer")))


def fresh(folder: Path, **settings: Any) -> Entailer:
    return load_entailer(write_model(folder), **settings)


def raw_probabilities(folder: Path, pair: tuple[str, str]) -> Any:
    """The same pair by onnxruntime and tokenizers alone: nothing padded, nothing shared."""
    import onnxruntime  # the package imports it first, with its telemetry off

    tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    encoding = tokenizer.encode(*pair)
    ids, types = np.array([encoding.ids]), np.array([encoding.type_ids])
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
    logits = session.run(None, inputs)[0][0].astype(float) / 1.5 + [0.1, 0.0, -0.1]
    return np.exp(logits) / np.exp(logits).sum()


def test_a_prediction_is_the_calibrated_softmax_of_the_logits(tmp_path: Path) -> None:
    pairs = some_pairs(50)
    predictions = fresh(tmp_path).predict(pairs)
    expected = [raw_probabilities(tmp_path, pair) for pair in pairs]
    assert np.abs(values(predictions) - expected).max() <= 1e-6
    assert len(np.unique(values(predictions).round(4), axis=0)) > 40, "the model tells the pairs apart"


def test_probabilities_are_of_the_named_labels_whatever_their_order_in_the_model(tmp_path: Path) -> None:
    pairs = some_pairs(5)
    calm: dict[str, Any] = {"calibration": {}}
    straight = load_entailer(write_model(tmp_path / "a", **calm)).predict(pairs)
    turned = load_entailer(
        write_model(tmp_path / "b", labels=["neutral", "supported", "contradicted"], **calm)
    ).predict(pairs)
    assert [(p.supported, p.contradicted, p.neutral) for p in straight] == [
        (p.neutral, p.supported, p.contradicted) for p in turned
    ]


# Hypothesis tries words that it finds in the tests: "NAN" is the one for which the small model answers with no number.
ANY_TEXT = st.text(max_size=60).filter(lambda text: "nan" not in text.lower())


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=6))
def test_any_texts_give_probabilities_that_sum_to_one(entailer: Entailer, pairs: list[tuple[str, str]]) -> None:
    found = values(entailer.predict(pairs)).reshape(-1, 3)
    assert len(found) == len(pairs)
    assert np.abs(found.sum(axis=1) - 1).max(initial=0) <= 1e-9
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_texts_are_scored_like_any_other(entailer: Entailer, text: str) -> None:
    found = values(entailer.predict([(text, "the cat"), ("the cat sat", text[:50])]))
    assert np.abs(found.sum(axis=1) - 1).max() <= 1e-9


def test_a_lone_surrogate_reads_as_the_replacement_character(entailer: Entailer) -> None:
    assert entailer.predict([("a \udc00 b", "c")]) == entailer.predict([("a \ufffd b", "c")])


def test_a_special_token_in_a_text_is_only_text(entailer: Entailer) -> None:
    """Otherwise whoever writes the text could end the premise and begin a hypothesis of their own."""
    written, spelled, other = entailer.predict([("a [SEP] b", "c"), ("a [ sep ] b", "c"), ("a [MASK] b", "c")])
    assert written == spelled != other


def test_no_pairs_give_no_predictions(entailer: Entailer) -> None:
    assert entailer.predict([]) == []


def test_ten_thousand_pairs_in_one_call_keep_their_order(entailer: Entailer) -> None:
    pairs = [(f"the cat {index % 97}", f"sat {index % 89}") for index in range(10_000)]
    predictions = entailer.predict(pairs)
    assert len(predictions) == len(pairs)
    for index in (0, 1, 4321, 9999):
        (alone,) = entailer.predict([pairs[index]])
        assert np.abs(values([alone]) - values([predictions[index]])).max() <= 1e-6


def test_padding_does_not_change_a_score(tmp_path: Path) -> None:
    entailer = fresh(tmp_path, cache_size=0)
    pairs = [("the " * size, "cat " * 2) for size in range(20, 26)]
    together = values(entailer.predict(pairs))
    assert entailer.counts.batches == 1
    assert entailer.counts.padding > 0
    alone = np.concatenate([values(entailer.predict([pair])) for pair in pairs])
    assert entailer.counts.batches == 1 + len(pairs)
    assert np.abs(together - alone).max() <= 1e-4


def test_what_was_asked_before_is_not_computed_again(tmp_path: Path) -> None:
    entailer = fresh(tmp_path)
    pairs = some_pairs(20)
    first = entailer.predict(pairs)
    cost = entailer.counts
    assert (cost.hits, cost.misses, cost.windows) == (0, len(set(pairs)), len(set(pairs)))
    assert entailer.predict(pairs) == first
    assert (entailer.counts.hits, entailer.counts.batches) == (len(set(pairs)), cost.batches)


def test_equal_pairs_of_one_call_are_computed_once(tmp_path: Path) -> None:
    entailer = fresh(tmp_path, cache_size=0)
    first, second, third = entailer.predict([("a", "b"), ("b", "a"), ("a", "b")])
    assert (first == third, first == second, entailer.counts.windows) == (True, False, 2)


def test_the_cache_tells_texts_apart_by_where_they_end(tmp_path: Path) -> None:
    entailer = fresh(tmp_path)
    assert len({*entailer.predict([("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")])}) == 4


def test_the_cache_forgets_what_was_not_asked_for_the_longest(tmp_path: Path) -> None:
    entailer = fresh(tmp_path, cache_size=2)
    for text in ("a", "b", "a", "c", "a", "b"):  # c pushes b out, because a was asked again
        entailer.predict([(text, text)])
    assert (entailer.counts.hits, entailer.counts.misses) == (2, 4)


BAD_PAIRS = {
    "None": None,
    "one text": "the cat",
    "bytes": b"the cat",
    "a generator": (pair for pair in [("a", "b")]),
    "a text for a pair": ["ab"],
    "three texts": [("secret", "b", "c")],
    "one of a pair": [("secret",)],
    "None in a pair": [("secret", None)],
    "bytes in a pair": [(b"secret", "b")],
    "a number in a pair": [("secret", 1.0)],
}


@pytest.mark.parametrize("pairs", BAD_PAIRS.values(), ids=BAD_PAIRS)
def test_what_is_no_list_of_pairs_is_refused_without_repeating_it(entailer: Entailer, pairs: Any) -> None:
    with pytest.raises(ConfigError, match="pair") as caught:
        entailer.predict(pairs)
    assert "secret" not in str(caught.value)


def test_an_error_of_the_session_is_raised_and_the_next_call_works(tmp_path: Path) -> None:
    entailer = fresh(tmp_path)
    for _ in range(2):
        with pytest.raises(ModelError, match="the model tiny could not be run: InvalidArgument"):
            entailer.predict([("the cat", "boom")])
        assert len(entailer.predict([("the cat", "sat")])) == 1


def test_a_score_that_is_no_number_is_an_error_never_a_score(tmp_path: Path) -> None:
    entailer = fresh(tmp_path)
    for _ in range(2):  # nothing of it is remembered either
        with pytest.raises(ModelError, match="no number"):
            entailer.predict([("the cat", "sat"), ("the nan", "sat")])
    assert len(entailer.predict([("the cat", "sat")])) == 1


def test_what_an_entailer_says_about_itself(tmp_path: Path) -> None:
    entailer = fresh(tmp_path / "a")
    assert (entailer.name, entailer.max_tokens, len(entailer.digest)) == ("tiny", 32, 64)
    assert entailer.digest != load_entailer(write_model(tmp_path / "b", calibration={"temperature": 2.0})).digest
    with pytest.raises(AttributeError):
        Prediction(supported=1.0, contradicted=0.0, neutral=0.0).supported = 0.5  # type: ignore[misc]
