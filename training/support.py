"""Step 7, weigh: fits how the model's opinion, differing values and shared words become support and contradiction.

    python -m training.support --model src/director_ai/nli/models/entailer

On the pairs that we wrote and training never saw (without the model: on all of them), each claim with the facts that the
store finds for it, and on the clauses of `benchmarks/passages`, which are worded as answers are; both count alike. Rows
of the pairs are weighted to the base rate of use that `settings.toml` states. The figures printed for passages are those of
weights that were fitted without their topic. Writes `src/director_ai/core/scoring/weights.py`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from pathlib import Path

import numpy as np

from director_ai.core.scoring.claims import read_claim
from director_ai.core.scoring.entailment import Features, Opinion, features_of, premises_of
from director_ai.core.scoring.slots.comparison import compare_readings
from director_ai.core.scoring.slots.reading import Reading
from director_ai.knowledge import GroundTruthStore, VectorGroundTruthStore
from director_ai.nli import load_entailer
from director_ai.scorer import CoherenceScorer
from training.counterfactual import change
from training.pairs import SETTINGS, Row, names_in, said_of, written_items

WEIGHTS = Path(__file__).parents[1] / "src/director_ai/core/scoring/weights.py"
PASSAGES = Path(__file__).parents[1] / "benchmarks/passages"
LABELS = ("supported", "contradicted", "neutral")


def changed(item: Row, rnd: random.Random, names: list[str]) -> list[tuple[str, str]]:
    """The facts themselves, and each with one value, name or negation changed: what a careless copy would be."""
    pairs = [(fact, change(fact, rnd, names)) for fact in item["facts"]]
    return [(text, label) for fact, other in pairs for text, label in ((fact, LABELS[0]), (other, LABELS[1])) if text]


class Claims:
    """Claims with their evidence, on their way to features."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.readings: list[Reading] = []
        self.premises: list[list[str]] = []
        self.labels: list[int] = []

    def add(self, text: str, reading: Reading, premises: list[str], label: int) -> None:
        self.texts.append(text)
        self.readings.append(reading)
        self.premises.append(premises)
        self.labels.append(label)

    def features(self, model: Path | None) -> np.ndarray:
        opinions: list[list[Opinion] | None] = [None] * len(self.texts)
        if model:
            pairs = [(each, text) for text, found in zip(self.texts, self.premises, strict=True) for each in found]
            said = iter(load_entailer(model).predict(pairs))
            opinions = [
                [Opinion(p.supported, p.contradicted, p.neutral) for p in itertools.islice(said, len(found))]
                for found in self.premises
            ]
        features = []
        for reading, found, opinion in zip(self.readings, self.premises, opinions, strict=True):
            evidence = Reading(found[0])
            features.append(features_of(reading, evidence, compare_readings(reading, evidence), opinion))
        return np.asarray(features)


def rows(model: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """The features of every claim of our pairs, and its label as a number."""
    claims = Claims()
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
                    claims.add(claim.text, claim.reading, found, LABELS.index(label))
    return claims.features(model), np.asarray(claims.labels)


def passage_rows(model: Path | None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The features of every claim of the passages, its label, and its topic."""
    claims, topics = Claims(), []
    for path in sorted(PASSAGES.glob("*.json")):
        file = json.loads(path.read_text("utf-8"))
        for item in file["items"]:
            with (VectorGroundTruthStore if model else GroundTruthStore)(facts=item["facts"]) as store:
                scorer = CoherenceScorer(use_nli=False, ground_truth_store=store)
                planted = item["planted"]
                for text, error in ((item["correct"], ""), (planted["text"], planted["error"])):
                    for verdict in scorer.judge(item["prompt"], text):
                        found = premises_of(verdict.chunks)
                        if not found:
                            continue
                        is_wrong = bool(error) and verdict.clause.strip().rstrip(".,; ") in error
                        beyond = planted["kind"] in {"invented", "overclaim"}
                        label = (2 if beyond else 1) if is_wrong else 0
                        claims.add(verdict.claim, Reading(verdict.claim), found, label)
                        topics.append(file["topic"])
    return claims.features(model), np.asarray(claims.labels), topics


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


def weighed(features: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights of support and of contradiction, as sharp and as lenient as the settings say."""
    sharp, lean = SETTINGS["support"]["sharpness"], SETTINGS["support"]["lean"]
    support, contradiction = fit(features, labels == 0, weights), fit(features, labels == 1, weights)
    support[0] += lean
    contradiction[0] -= lean
    return sharp * support, sharp * contradiction


def report(name: str, features: np.ndarray, labels: np.ndarray, found: np.ndarray, weights: np.ndarray) -> None:
    report_scores(name, np.hstack([np.ones((len(features), 1)), features]) @ found, labels, weights)


def report_scores(name: str, scores: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
    p, y = 1.0 / (1.0 + np.exp(-np.clip(scores, -30, 30))), labels == 0
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
        pair_features, pair_labels = rows(model)
        features, labels, topics = passage_rows(model)
        features, labels = np.vstack([pair_features, features]), np.concatenate([pair_labels, labels])
        topics = ["" for _ in pair_labels] + topics
        if model is None:  # what is missing says little where nothing tells paraphrases from inventions
            features[:, [Features._fields.index(field) for field in ("missing_values", "missing_names")]] = 0.0
        weights = np.concatenate([base_weights(pair_labels), np.full(len(topics) - len(pair_labels), 0.0)])
        own = np.asarray([bool(topic) for topic in topics])
        weights[own] = len(pair_labels) / own.sum()
        pair = weighed(features, labels, weights)
        if model is None:  # without a model nothing speaks for a claim whose words are all foreign
            pair[0][1 + Features._fields.index("foreign")] = -2.0 * pair[0][0]
        report(name, features[~own], labels[~own], pair[0], base_weights(pair_labels))
        left_out = np.zeros(len(labels))
        for topic in sorted(set(topics) - {""}):
            mine = np.asarray([each == topic for each in topics])
            found = weighed(features[~mine], labels[~mine], weights[~mine])[0]
            left_out[mine] = np.hstack([np.ones((mine.sum(), 1)), features[mine]]) @ found
        report_scores(
            f"{name}, passages by weights without their topic", left_out[own], labels[own], np.ones(own.sum())
        )
        print(dict(zip(("constant", *Features._fields), pair[0].round(2).tolist(), strict=True)))
        start = text.index(f"{name} = ModeWeights(")
        end = text.index("\n)\n", start) + 2
        text = text[:start] + as_source(name, pair) + text[end:]
    if arguments.write:
        WEIGHTS.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
