"""Step 1: what the training files become."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import read_made, rows, write_file, write_training_files


def test_the_same_files_give_the_same_pairs(step: Any, tmp_path: Path) -> None:
    data = write_training_files(tmp_path / "data")
    said = json.loads(step("pairs", "--data", data, "--out", tmp_path / "a"))
    step("pairs", "--data", data, "--out", tmp_path / "b")
    for name in ("train.jsonl.gz", "held.jsonl.gz"):
        first, second = (read_made(tmp_path / folder / name) for folder in "ab")
        assert first == second
    assert said["rows"] == len(read_made(tmp_path / "a" / "train.jsonl.gz"))
    assert said["held"] == len(read_made(tmp_path / "a" / "held.jsonl.gz")) > 0


def test_made_rows_are_whole_and_hold_no_premise_that_was_held_out(step: Any, tmp_path: Path) -> None:
    step("pairs", "--data", write_training_files(tmp_path / "data"), "--out", tmp_path)
    made = read_made(tmp_path / "train.jsonl.gz")
    assert {row[3] for row in made} >= {"fm2", "synth_wiki", "joined", "unrelated", "several", "counterfactual"}
    for premise, hypothesis, label, _, weight in made:
        assert premise.strip()
        assert hypothesis.strip()
        assert label in {0, 1, 2, 3}
        assert 0 < weight <= 1
    assert not {row[0] for row in read_made(tmp_path / "held.jsonl.gz")} & {row[0] for row in made}


def test_a_trial_run_keeps_as_many_rows_as_it_is_told(step: Any, tmp_path: Path) -> None:
    step("pairs", "--data", write_training_files(tmp_path / "data"), "--out", tmp_path, "--limit", 50)
    assert len(read_made(tmp_path / "train.jsonl.gz")) == 50


def test_rows_without_a_label_or_a_text_are_left_out(tmp_path: Path) -> None:
    from training.pairs import read_rows

    good, *bad = rows(4)
    bad[0]["label"], bad[1]["premise"], bad[2]["hypothesis"] = "unknown", " ", ""
    assert read_rows(write_file(tmp_path / "x.jsonl.gz", [good, *bad])) == [good]


SENTENCES = [
    "The bridge was opened on May 3, 1937, by Anna Berg.", "Refunds are available within 30 days.",
    "She walked 12 kilometers in 3 hours, which is not much.", "All guests must leave before 10 p.m.",
]  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_changed_sentence_differs_and_the_same_seed_changes_it_alike(sentence: str) -> None:
    from training.counterfactual import change

    made = [change(sentence, random.Random(seed), ["Carl Dorn"]) for seed in range(30)]
    assert sentence not in made
    assert len(set(made)) > 1
    assert made == [change(sentence, random.Random(seed), ["Carl Dorn"]) for seed in range(30)]


@given(st.text("ab 1930,.%$ MayJune", max_size=60), st.integers(0, 99))
def test_any_text_can_be_changed_and_restated_or_is_left_alone(text: str, seed: int) -> None:
    from training.counterfactual import change, restate

    for made in (change(text, random.Random(seed), ["Anna"]), restate(text, random.Random(seed))):
        assert made is None or made != text


def test_a_conversion_keeps_the_amount() -> None:
    from training.counterfactual import restate

    found = {restate("The loan runs for 2 years.", random.Random(seed)) for seed in range(40)}
    assert any(text and "24 months" in text for text in found)
