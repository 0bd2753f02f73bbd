"""Balanced accuracy, AUC and calibration error per file, from the scores of `training.score`.

python -m training.evaluate build/dev-student.npz
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np


def probabilities(
    logits: np.ndarray, temperature: float = 1.0, bias: tuple[float, float, float] = (0, 0, 0)
) -> np.ndarray:
    scaled = logits / temperature + np.asarray(bias)
    weights = np.exp(scaled - scaled.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def support(probs: np.ndarray, index: np.ndarray, count: int, *, statements: str = "worst") -> np.ndarray:
    """One figure per row: of each statement the mean of its best window and its focus, of the statements the worst."""
    best: dict[tuple[int, int], float] = {}
    focused: dict[tuple[int, int], float] = {}
    for (row, place, window), p in zip(index.tolist(), probs[:, 0].tolist(), strict=True):
        if window < 0:
            focused[row, place] = p
        else:
            best[row, place] = max(best.get((row, place), 0.0), p)
    best = {key: (p + focused.get(key, p)) / 2 for key, p in best.items()}
    out = np.zeros(count)
    parts: dict[int, list[float]] = {}
    for (row, place), p in best.items():
        if place < 0:
            out[row] = p
        else:
            parts.setdefault(row, []).append(p)
    if statements == "worst":
        for row, values in parts.items():
            out[row] = min(values)
    elif statements == "both":
        for row, values in parts.items():
            out[row] = (min(values) + out[row]) / 2
    return out


def balanced_accuracy(score: np.ndarray, positive: np.ndarray, threshold: float = 0.5) -> float:
    said = score >= threshold
    return float((said[positive].mean() + (~said[~positive]).mean()) / 2)


def auc(score: np.ndarray, positive: np.ndarray) -> float:
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # ties share their mean rank
    good = positive.sum()
    return float((ranks[positive].sum() - good * (good + 1) / 2) / (good * (len(score) - good)))


def ece(score: np.ndarray, positive: np.ndarray, bins: int = 15) -> float:
    places = np.minimum((score * bins).astype(int), bins - 1)
    total = 0.0
    for b in range(bins):
        inside = places == b
        if inside.any():
            total += inside.mean() * abs(score[inside].mean() - positive[inside].mean())
    return total


def report(
    saved: dict[str, np.ndarray], temperature: float, bias: tuple[float, float, float], statements: str
) -> dict[str, dict[str, float]]:
    """The figures of each file."""
    out = {}
    for name in sorted({key.rsplit(".", 1)[0] for key in saved} - {"held"}):
        labels = saved[f"{name}.labels"]
        score = support(
            probabilities(saved[f"{name}.logits"], temperature, bias),
            saved[f"{name}.index"],
            len(labels),
            statements=statements,
        )
        good = labels == 0
        grid = np.linspace(0.02, 0.98, 49)
        out[name] = {
            "balanced_accuracy": balanced_accuracy(score, good),
            "best": max(balanced_accuracy(score, good, t) for t in grid),
            "auc": auc(score, good),
            "ece": ece(score, good),
        }
    out["mean"] = {key: float(np.mean([row[key] for row in out.values()])) for key in next(iter(out.values()))}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path, nargs="+")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--bias", type=float, nargs=3, default=(0.0, 0.0, 0.0))
    parser.add_argument("--statements", choices=("worst", "both", "whole"), default="worst")
    arguments = parser.parse_args()
    loaded = [dict(np.load(path)) for path in arguments.scores]
    merged = {
        key: np.mean([one[key] for one in loaded], 0) if key.endswith("logits") else loaded[0][key] for key in loaded[0]
    }
    for name, row in report(merged, arguments.temperature, tuple(arguments.bias), arguments.statements).items():
        print(f"{name:<18}" + "  ".join(f"{key} {value:.3f}" for key, value in row.items()))


if __name__ == "__main__":
    main()
