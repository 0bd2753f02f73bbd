"""The regression suite: 144 right passages that must pass, 144 wrong ones that should halt."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from regression_suite import SLOT_ERRORS, measure, passages

KINDS = {"number": 2, "unit": 1, "date": 2, "name": 2, "negation": 1, "swapped_roles": 1, "invented": 2, "overclaim": 1}
MOST_FALSE_HALTS = {False: 0, True: 1}
"""Of 144 right passages, without and with the model. None is wanted: the numbers may only fall."""
CAUGHT = {False: 0.62, True: 0.78}
SLOTS_CAUGHT = {False: 0.82, True: 0.81}


def test_the_passages_are_what_they_should_be() -> None:
    items = passages()
    topics = {item["topic"] for item in items}

    assert len(items) >= 138
    assert len(topics) >= 10
    assert len({item["id"] for item in items}) == len(items)
    for topic in topics:
        kinds = [item["planted"]["kind"] for item in items if item["topic"] == topic]
        assert {kind: kinds.count(kind) for kind in KINDS} == KINDS
    for item in items:
        assert item["planted"]["error"] in item["planted"]["text"]
        assert item["planted"]["error"] not in item["correct"]
        assert not set(item["facts"].values()) & {item["correct"], item["planted"]["text"]}


@pytest.mark.parametrize("use_nli", [False, True], ids=["heuristic mode", "model mode"])
def test_right_passages_pass_and_errors_are_caught(use_nli: bool) -> None:
    figures = measure(use_nli=use_nli)

    assert len(figures.false_halts) <= MOST_FALSE_HALTS[use_nli], figures.false_halts
    assert figures.share() >= CAUGHT[use_nli]
    assert figures.share(SLOT_ERRORS) >= SLOTS_CAUGHT[use_nli]
