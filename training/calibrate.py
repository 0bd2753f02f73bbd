"""Step 5, calibrate: one temperature and one bias, so that 0.5 is where support and its absence are equally likely.

    python -m training.calibrate build/second-12.npz

Fitted on the dev files, and checked on the rows that were held out of training.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from training.evaluate import ece, probabilities, report, support

MOST_ECE = 0.04  # a point under what is promised, so that other data may differ a little


def shortfall(saved: dict[str, np.ndarray], temperature: float, bias: float) -> float:
    """Errors at 0.5, as the mean over the files; figures that are not honest over all rows count as errors, too."""
    accuracy = report(saved, temperature, (bias, 0.0, 0.0), "worst")["mean"]["balanced_accuracy"]
    return 1.0 - accuracy + 10 * max(0.0, ece(*pooled(saved, temperature, bias)) - MOST_ECE)


def fit(saved: dict[str, np.ndarray]) -> tuple[float, float]:
    """The best of a grid; the surface is flat around it, so a finer one would fit noise."""
    grid = [(t, b) for t in np.arange(1.0, 2.01, 0.1) for b in np.arange(0.0, 1.21, 0.1)]
    temperature, bias = min(grid, key=lambda point: shortfall(saved, *point))
    return round(float(temperature), 3), round(float(bias), 3)


def pooled(saved: dict[str, np.ndarray], temperature: float, bias: float) -> tuple[np.ndarray, np.ndarray]:
    """Support and truth of all dev rows together."""
    scores, truth = [], []
    for name in sorted({key.rsplit(".", 1)[0] for key in saved} - {"held"}):
        labels = saved[f"{name}.labels"]
        probs = probabilities(saved[f"{name}.logits"], temperature, (bias, 0.0, 0.0))
        scores.append(support(probs, saved[f"{name}.index"], len(labels)))
        truth.append(labels == 0)
    return np.concatenate(scores), np.concatenate(truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path)
    saved = dict(np.load(parser.parse_args().scores))
    temperature, bias = fit(saved)
    held = probabilities(saved["held.logits"], temperature, (bias, 0.0, 0.0))[:, 0]
    print(json.dumps({"temperature": temperature, "bias": [bias, 0.0, 0.0]}))
    print(
        f"pooled ECE {ece(*pooled(saved, temperature, bias)):.3f}, on held-out rows {ece(held, saved['held.labels'] == 0):.3f}"
    )
    for name, row in report(saved, temperature, (bias, 0.0, 0.0), "worst").items():
        print(f"{name:<18}" + "  ".join(f"{key} {value:.3f}" for key, value in row.items()))


if __name__ == "__main__":
    main()
