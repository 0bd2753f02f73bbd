"""Rows like those of the training files, about places that do not exist."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

PLACES = "Alba Borno Cadix Dorun Elsta Farno Gorin Hesta Ilmen Jarva".split()
THINGS = "museum library station harbour theatre market".split()
PAINTERS = "Anna Berg Carl Dorn Emma Falk".split()


def rows(count: int, seed: int = 1) -> list[dict[str, str]]:
    """Supported, contradicted and neutral in turn; a premise is about one thing, and no two are alike."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        place, thing, painter = chance.choice(PLACES), chance.choice(THINGS), chance.choice(PAINTERS)
        rooms, year = chance.randint(3, 90), 1700 + number % 300
        premise = (
            f"The {thing} of {place} was opened in {year}. It has {rooms} rooms, and the mayor of {place} likes it."
        )
        hypothesis, label = (
            (f"The {thing} of {place} has {rooms} rooms.", "supported"),
            (f"The {thing} of {place} was not opened in {year}.", "contradicted"),
            (f"Perhaps {painter} painted the walls of the {thing}.", "neutral"),
        )[number % 3]
        made.append({"id": str(number), "premise": premise, "hypothesis": hypothesis, "label": label, "group": premise})
    return made


def write_file(path: Path, content: list[dict[str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in content)
    return path


def write_training_files(folder: Path) -> Path:
    """Two files of the names that the rules for made pairs look into."""
    write_file(folder / "fm2.jsonl.gz", rows(420, seed=1))
    more = rows(420, seed=2)
    write_file(
        folder / "synth_wiki.jsonl.gz",
        more + [{**row, "hypothesis": row["premise"], "label": "supported"} for row in more[:60]],
    )
    return folder


def write_dev_files(folder: Path) -> Path:
    write_file(folder / "fm2.jsonl.gz", rows(45, seed=3))
    several = [
        {**row, "hypothesis": f"{row['hypothesis']} The mayor of the place likes it."} for row in rows(45, seed=4)
    ]
    write_file(folder / "frank.jsonl.gz", several)
    write_file(folder / "aux_other.jsonl.gz", [{"text": "not a file of pairs"}])
    return folder


def read_made(path: Path) -> list[tuple[str, str, int, str, float]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [tuple(json.loads(line)) for line in lines]
