"""Steps 5 and 6: calibration, and the figures that decide what is shipped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def logits_for(wanted: np.ndarray) -> np.ndarray:
    """Logits whose softmax has this support, the rest shared evenly."""
    rest = (1 - wanted) / 2
    return np.log(np.stack([wanted, rest, rest], axis=1)).astype(np.float32)


def saved(count: int = 400, files: tuple[str, ...] = ("one", "two")) -> dict[str, np.ndarray]:
    """Scores that rank well but say too little support: true rows are about 0.45, others lower."""
    chance = np.random.default_rng(0)
    found: dict[str, np.ndarray] = {}
    for name in (*files, "held"):
        good = chance.random(count) < 0.5
        support = np.clip(np.where(good, 0.45, 0.25) + chance.normal(0, 0.06, count), 0.01, 0.99)
        found[f"{name}.logits"] = logits_for(support)
        found[f"{name}.labels"] = np.where(good, 0, 2).astype(np.int8)
        if name != "held":
            index = np.stack([np.arange(count), np.full(count, -1), np.zeros(count, int)], axis=1)
            found[f"{name}.index"] = index.astype(np.int32)
    return found


def test_a_figure_of_chance_and_a_perfect_one() -> None:
    from training.evaluate import auc, balanced_accuracy, ece

    good = np.array([True, False, True, False])
    assert balanced_accuracy(np.array([0.9, 0.1, 0.8, 0.2]), good) == auc(np.array([0.9, 0.1, 0.8, 0.2]), good) == 1
    assert balanced_accuracy(np.full(4, 0.5), good) == auc(np.full(4, 0.5), good) == 0.5
    assert ece(np.array([1.0, 0.0, 1.0, 0.0]), good) == 0
    assert ece(np.full(4, 0.9), good) == pytest.approx(0.4)


def test_the_best_window_and_the_worst_statement_decide() -> None:
    from training.evaluate import support

    #                  whole       statement 0, two windows     statement 1
    index = np.array([[0, -1, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0], [1, -1, 0]], np.int32)
    probabilities = np.array([[0.7], [0.2], [0.9], [0.6], [0.3]])
    assert support(probabilities, index, 2).tolist() == [0.6, 0.3]
    assert support(probabilities, index, 2, statements="whole").tolist() == [0.7, 0.3]


def test_calibration_moves_the_threshold_to_a_half() -> None:
    from training.calibrate import fit
    from training.evaluate import report

    scores = saved()
    before = report(scores, 1.0, (0.0, 0.0, 0.0), "worst")["mean"]["balanced_accuracy"]
    temperature, bias = fit(scores)
    after = report(scores, temperature, (bias, 0.0, 0.0), "worst")["mean"]["balanced_accuracy"]
    assert temperature > 0
    assert bias > 0
    assert after > before + 0.1


def test_the_steps_print_what_the_manifest_needs(step: Any, tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    np.savez_compressed(path, **saved())
    lines = step("calibrate", path).splitlines()
    said = next(json.loads(line) for line in lines if line.startswith("{"))
    assert len(said["bias"]) == 3
    assert said["temperature"] > 0
    table = step("evaluate", path, "--temperature", said["temperature"], "--bias", *said["bias"])
    assert [line.split()[0] for line in table.splitlines()] == ["one", "two", "mean"]
    assert float(re.findall(r"balanced_accuracy (\S+)", table)[-1]) > 0.8
