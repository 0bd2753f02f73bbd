"""Step 7, weigh: fits how the model's opinion, differing values and shared words become support and contradiction.

    python -m training.support --model src/director_ai/nli/models/entailer

On the pairs that we wrote and training never saw (without the model: on all of them), each claim with the facts that the
store finds for it. Rows are weighted to the base rate of use that `settings.toml` states. Writes
`src/director_ai/core/scoring/weights.py`.
"""

from __future__ import annotations

import argparse
import itertools
import random
from pathlib import Path

import numpy as np

from director_ai.core.scoring.claims import read_claim
from director_ai.core.scoring.entailment import Features, Opinion, features_of, premises_of
from director_ai.core.scoring.slots.comparison import compare_readings
from director_ai.core.scoring.slots.reading import Reading
from director_ai.knowledge import GroundTruthStore, VectorGroundTruthStore
from director_ai.nli import load_entailer
from training.counterfactual import change
from training.pairs import SETTINGS, Row, names_in, said_of, written_items

WEIGHTS = Path(__file__).parents[1] / "src/director_ai/core/scoring/weights.py"
LABELS = ("supported", "contradicted", "neutral")


def changed(item: Row, rnd: random.Random, names: list[str]) -> list[tuple[str, str]]:
    """The facts themselves, and each with one value, name or negation changed: what a careless copy would be."""
    pairs = [(fact, change(fact, rnd, names)) for fact in item["facts"]]
    return [(text, label) for fact, other in pairs for text, label in ((fact, LABELS[0]), (other, LABELS[1])) if text]


def rows(model: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """The features of every claim, and its label as a number."""
    claims, readings, premises, labels = [], [], [], []
    rnd, names = random.Random(SETTINGS["data"]["seed"]), names_in(written_items())
    for item in written_items():
        if "pairs" not in item or (model and not item["held"]):
            continue  # the twins alone: they are worded as answers are, the others are harder than most
        facts = {f"fact-{number}": fact for number, fact in enumerate(item["facts"])}
        with (VectorGroundTruthStore if model else GroundTruthStore)(facts=facts) as store:
            for text, label in [*said_of(item), *changed(item, rnd, names)]:
                found = premises_of(store.evidence_for(text, top_k=5))
                claim = read_claim(text)
                if found and claim.reading is not None:
                    claims.append(claim.text)
                    readings.append(claim.reading)
                    premises.append(found)
                    labels.append(LABELS.index(label))
    opinions: list[list[Opinion] | None] = [None] * len(claims)
    if model:
        pairs = [(premise, claim) for claim, found in zip(claims, premises, strict=True) for premise in found]
        said = iter(load_entailer(model).predict(pairs))
        opinions = [
            [Opinion(p.supported, p.contradicted, p.neutral) for p in itertools.islice(said, len(found))]
            for found in premises
        ]
    features = []
    for claim, found, opinion in zip(readings, premises, opinions, strict=True):
        evidence = Reading(found[0])
        features.append(features_of(claim, evidence, compare_readings(claim, evidence), opinion))
    return np.asarray(features), np.asarray(labels)


def fit(features: np.ndarray, wanted: np.ndarray, weights: np.ndarray, penalty: float = 1.0) -> np.ndarray:
    """Logistic regression by Newton's method; features that never vary get no weight."""
    x = np.hstack([np.ones((len(features), 1)), features])
    used = np.ptp(x, axis=0) > 0
    used[0] = True
    x, found = x[:, used], np.zeros(used.sum())
    ridge = penalty * np.eye(x.shape[1])
    ridge[0, 0] = 0.0
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ found, -30, 30)))
        slope = x.T @ (weights * (p - wanted)) + ridge @ found
        bend = (x * (weights * p * (1 - p))[:, None]).T @ x + ridge
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < 1e-8:
            break
    whole = np.zeros(len(used))
    whole[used] = found
    return whole


def base_weights(labels: np.ndarray) -> np.ndarray:
    """So that the labels come as often as they do in use."""
    rate = SETTINGS["support"]["base_rate"]
    return np.asarray([rate[LABELS[label]] / np.mean(labels == label) for label in labels])


def report(name: str, features: np.ndarray, labels: np.ndarray, found: np.ndarray) -> None:
    p = 1.0 / (1.0 + np.exp(-(np.hstack([np.ones((len(features), 1)), features]) @ found)))
    weights, y = base_weights(labels), labels == 0
    bins = np.minimum((p * 10).astype(int), 9)
    gaps = [
        abs(np.average(p[bins == b], weights=weights[bins == b]) - np.average(y[bins == b], weights=weights[bins == b]))
        * weights[bins == b].sum()
        for b in set(bins.tolist())
    ]
    right, wrong = p[y], p[~y]
    auc = np.mean(right[:, None] > wrong[None, :]) + 0.5 * np.mean(right[:, None] == wrong[None, :])
    print(
        f"{name}: {len(p)} claims, AUC {auc:.3f}, ECE {sum(gaps) / weights.sum():.3f}, right >= 0.5 {np.mean(right >= 0.5):.3f}, "
        f"wrong < 0.5 {np.mean(p[labels == 1] < 0.5):.3f}, beyond < 0.5 {np.mean(p[labels == 2] < 0.5):.3f}"
    )


def as_source(name: str, pair: tuple[np.ndarray, np.ndarray]) -> str:
    lines = [f"{name} = ModeWeights("]
    for field, found in zip(("support", "contradiction"), pair, strict=True):
        lines.append(f"    {field}=({', '.join(f'{value:.4f}' for value in found)}),")
    return "\n".join([*lines, ")"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model", type=Path, help="folder of the entailer; without it only the heuristic mode is fitted"
    )
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    arguments = parser.parse_args()
    text = WEIGHTS.read_text("utf-8")
    for name, model in (("HEURISTIC", None), ("MODEL", arguments.model)):
        if name == "MODEL" and model is None:
            continue
        features, labels = rows(model)
        if model is None:  # what is missing says little where nothing tells paraphrases from inventions
            features[:, [Features._fields.index(field) for field in ("missing_values", "missing_names")]] = 0.0
        weights = base_weights(labels)
        sharp = SETTINGS["support"]["sharpness"]
        pair = sharp * fit(features, labels == 0, weights), sharp * fit(features, labels == 1, weights)
        if model is None:  # without a model nothing speaks for a claim whose words are all foreign
            pair[0][1 + Features._fields.index("foreign")] = -2.0 * pair[0][0]
        report(name, features, labels, pair[0])
        print(dict(zip(("constant", *Features._fields), pair[0].round(2).tolist(), strict=True)))
        start = text.index(f"{name} = ModeWeights(")
        end = text.index("\n)\n", start) + 2
        text = text[:start] + as_source(name, pair) + text[end:]
    if arguments.write:
        WEIGHTS.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
