"""What each family of slot rules is worth: all of it measured again with one family switched off.

    python benchmarks/ablation.py [--rows 100] [--save]

Claims are those of the dev answers (`../shared/data/dev/answers.jsonl.gz` and `answers_dev/dev.jsonl`) and rows of
the public dev files. The weights are fitted again for each line, on answers of other knowledge bases than the
ones that are measured, so a family is not kept alive by weights that were fitted with it.
"""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
from answers import DATA, DEV
from model import auc, dev_rows
from reporting import RESULTS, keep, labelled_files, machine, show
from rich.console import Console
from rich.progress import track
from training.answers import claims_of
from training.support import SIGNS, fit

from director_ai.core.scoring.entailment import Opinion, features_of
from director_ai.core.scoring.slots.comparison import compare_readings
from director_ai.core.scoring.slots.reading import Reading
from director_ai.nli import load_entailer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from director_ai.core.scoring.slots import SlotDifference

Row = dict[str, Any]
SLOTS = "director_ai.core.scoring.slots"
FOLDS = 10


def none(*_: Any, **__: Any) -> list[SlotDifference]:
    return []


SWITCHES: dict[str, dict[str, Callable[..., Any]]] = {
    "names": {"comparison.compare_names": none, "comparison.find_misplaced": none},
    "misplaced names alone": {"comparison.find_misplaced": none},
    "polarity": {"comparison.compare_negations": none, "comparison.compare_opposites": none},
    "opposites alone": {"comparison.compare_opposites": none},
    "slips": {"comparison.find_slips": none},
}
KINDS = {"quantities": {"number", "money", "percent", "duration"}, "dates": {"date", "time"}}
FAMILIES = ["nothing", *SWITCHES, *KINDS, "every rule"]


@contextlib.contextmanager
def without(family: str) -> Iterator[Callable[[Reading, Reading], list[SlotDifference]]]:
    """Yield the comparison of two readings with a family switched off."""
    with contextlib.ExitStack() as off:
        for place, instead in SWITCHES.get(family, {}).items():
            off.enter_context(mock.patch(f"{SLOTS}.{place}", instead))
        kinds = KINDS.get(family, set())

        def compare(claim: Reading, evidence: Reading) -> list[SlotDifference]:
            if family == "every rule":
                return []
            return [each for each in compare_readings(claim, evidence) if each.kind not in kinds]

        yield compare


def pairs_of(data: Path, rows: int) -> list[Row]:
    return [
        {
            "claim": row["hypothesis"],
            "premises": [row["premise"]],
            "good": row["label"] == "supported",
            "file": path.stem,
        }
        for path in labelled_files(data)
        for row in dev_rows(path, rows)
    ]


def asked(rows: list[Row]) -> None:
    """Ask the model once: what it says does not depend on the rules."""
    entailer = load_entailer()
    for row in track(rows, "model", transient=True):
        said = entailer.predict([(premise, row["claim"]) for premise in row["premises"]])
        row["opinions"] = [Opinion(p.supported, p.contradicted, p.neutral) for p in said]


def features(rows: list[Row], compare: Callable[[Reading, Reading], list[SlotDifference]]) -> tuple[np.ndarray, int]:
    found, differing = [], 0
    for row in rows:
        claim, evidence = Reading(row["claim"]), Reading(row["premises"][0])
        differences = compare(claim, evidence)
        differing += bool(differences)
        found.append(features_of(claim, evidence, differences, row["opinions"]))
    return np.asarray(found), differing


def scored(x: np.ndarray, good: np.ndarray, groups: list[str], others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the answers by weights of other knowledge bases, and of other rows by weights of all answers."""
    names = sorted(set(groups))
    np.random.default_rng(0).shuffle(names)
    fold = np.asarray([names.index(group) % FOLDS for group in groups])
    scores = np.zeros(len(good))
    for number in range(FOLDS):
        inside = fold == number
        weights = fit(x[~inside], good[~inside], np.ones((~inside).sum()), signs=SIGNS)
        scores[inside] = weights[0] + x[inside] @ weights[1:]
    weights = fit(x, good, np.ones(len(good)), signs=SIGNS)
    return scores, weights[0] + others @ weights[1:]


def caught(scores: np.ndarray, good: np.ndarray, kept: float) -> float:
    return float(np.mean(scores[~good] < np.quantile(scores[good], 1.0 - kept)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Switch each family of slot rules off in turn.")
    parser.add_argument("--rows", type=int, default=100, help="of each public dev file")
    parser.add_argument("--save", action="store_true", help="write results/ablation.json")
    options = parser.parse_args()
    console = Console()
    if not DATA.is_file():
        console.print(f"no answers at {DATA}: nothing is measured")
        return
    answers = [
        {
            "claim": each.text,
            "premises": each.premises,
            "opinions": each.opinions,
            "good": each.kind == "right",
            "kb": each.kb,
        }
        for each in claims_of([DATA, DEV])
        if each.kind != "silent"
    ]
    pairs = pairs_of(DATA.parent, options.rows)
    asked(pairs)
    good = np.asarray([row["good"] for row in answers])
    files = [row["file"] for row in pairs]
    labels = np.asarray([row["good"] for row in pairs])
    table = []
    for family in track(FAMILIES, "families", console=console, transient=True):
        with without(family) as compare:
            x, differing = features(answers, compare)
            others, _ = features(pairs, compare)
        scores, public = scored(x, good, [row["kb"] for row in answers], others)
        by_file = [
            auc(public[mine], labels[mine])
            for name in sorted(set(files))
            if 0 < labels[mine := np.asarray(files) == name].sum() < mine.sum()
        ]
        table.append(
            {
                "off": family,
                "claims that differ": differing,
                "answers, AUC": round(auc(scores, good), 4),
                "caught at 95 % kept": round(caught(scores, good, 0.95), 3),
                "at 92 %": round(caught(scores, good, 0.92), 3),
                "public files, mean AUC": round(float(np.mean(by_file)), 4),
            }
        )
    show(console, f"{len(answers)} claims of answers ({int((~good).sum())} wrong), {len(pairs)} public pairs", table)
    if options.save:
        keep("ablation", {**machine(), "rows": options.rows, "table": table}, lambda _: [], console)
        console.print(f"written to {RESULTS / 'ablation.json'}")


if __name__ == "__main__":
    main()
