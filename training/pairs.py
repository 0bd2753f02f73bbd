"""Step 1, prepare: the licence-clean files, mixed as the model will meet them in use.

python -m training.pairs --data ../shared/data/train --out build/pairs.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from training.counterfactual import change, misplace, restate
from training.twins import make_twins

LABELS = {"supported": 0, "contradicted": 1, "neutral": 2, "unsupported": 3}
SETTINGS = tomllib.loads((Path(__file__).parent / "settings.toml").read_text("utf-8"))
_WIKI = (
    "tenp",
    "fever_bin",
    "fm2",
    "synth_wiki",
    "checkcovid",
    "scitail_ni",
    "factscore",
    "conjnli",
    "cg2c_doc",
    "begin",
)
_NAME = re.compile(r"(?<=[a-z,;] )((?:[A-Z][a-z]{2,} )*[A-Z][a-z]{2,})\b")
WRITTEN = Path(__file__).parent / "written"
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'])")

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row for row in rows if row["label"] in LABELS and row["premise"].strip() and row["hypothesis"].strip()]


def is_held_out(row: Row, share: float = SETTINGS["data"]["holdout"]) -> bool:
    """By premise, so that no premise is on both sides."""
    digest = hashlib.blake2b(row["premise"].encode("utf-8", "replace"), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32 < share


def load(folder: Path, rnd: random.Random) -> tuple[dict[str, list[Row]], list[Row]]:
    """The files after their caps, and what is kept out of training."""
    files: dict[str, list[Row]] = {}
    held: list[Row] = []
    for path in sorted(folder.glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        rows = read_rows(path)
        rnd.shuffle(rows)
        out = [row for row in rows if is_held_out(row)]
        held += [{**row, "source": name} for row in out[:400]]
        files[name] = [row for row in rows if not is_held_out(row)][: SETTINGS["data"]["caps"].get(name, len(rows))]
    return files, held


def surrounded(row: Row, pool: list[str], rnd: random.Random, words: int) -> Row:
    """The row with its premise among others, in any order; never so long that the window would cut it off."""
    parts, room = [row["premise"]], words - len(row["premise"].split()) - len(row["hypothesis"].split())
    for _ in range(rnd.randint(1, 6)):
        other = rnd.choice(pool)
        room -= len(other.split())
        if room < 0:
            break
        parts.append(other)
    rnd.shuffle(parts)
    return {**row, "premise": rnd.choice([" ", " ", "\n"]).join(parts)}


def joined(files: dict[str, list[Row]], rnd: random.Random, count: int) -> list[Row]:
    """The relevant premise among others of its kind."""
    names = [name for name in _WIKI if len(files.get(name, [])) > 100]
    pools = {name: [row["premise"] for row in files[name]] for name in names}
    made = []
    for _ in range(count):
        name = rnd.choice(names)
        pool = pools[rnd.choice(names) if rnd.random() < 0.3 else name]
        made.append({**surrounded(rnd.choice(files[name]), pool, rnd, SETTINGS["data"]["words"]), "source": "joined"})
    return made


def misplaced(files: dict[str, list[Row]], rnd: random.Random, count: int) -> list[Row]:
    """Statements that people wrote and a premise supports, as they are and with one of the premise's values misplaced."""
    rows = [
        row
        for name in (
            "factscore",
            "fm2",
            "cg2c_doc",
            "wice_oracle",
            "checkcovid",
            "begin",
            "tenp",
            "synth_wiki",
            "fever_bin",
        )
        for row in files.get(name, [])
        if row["label"] == "supported"
    ]
    premises = [row["premise"] for row in rows]
    made: list[Row] = []
    for row in rnd.choices(rows, k=count * 3):
        evidence = surrounded(row, premises, rnd, SETTINGS["data"]["words"])
        premise = evidence["premise"] if rnd.random() < 0.5 else row["premise"]
        wrong = misplace(row["hypothesis"], premise, rnd)
        if wrong:
            made.append({"premise": premise, "hypothesis": wrong, "label": "unsupported", "source": "misplaced"})
            made.append(
                {"premise": premise, "hypothesis": row["hypothesis"], "label": "supported", "source": "misplaced"}
            )
        if len(made) >= count:
            break
    return made[:count]


def unrelated(files: dict[str, list[Row]], rnd: random.Random, count: int) -> list[Row]:
    """Any hypothesis beside premises that say nothing about it: what it says must not decide."""
    made = []
    names = [name for name in files if len(files[name]) > 300]
    for _ in range(count):
        rows = files[rnd.choice(names)]
        parts = [rnd.choice(rows)["premise"] for _ in range(rnd.choice([1, 1, 2, 3]))]
        made.append(
            {
                "premise": " ".join(parts),
                "hypothesis": rnd.choice(rows)["hypothesis"],
                "label": "neutral",
                "source": "unrelated",
            }
        )
    return made


def several(files: dict[str, list[Row]], rnd: random.Random, count: int) -> list[Row]:
    """Two to four statements about one premise: supported if all of them are."""
    groups: list[list[Row]] = []
    for name in ("factscore", "infotabs", "synth_wiki", "contractnli", "tenp", "fm2", "mnli_ni", "snli_ni"):
        by_premise = defaultdict(list)
        for row in files.get(name, []):
            by_premise[row["premise"]].append(row)
        groups += [rows for rows in by_premise.values() if len(rows) > 1]
    made = []
    while groups and len(made) < count:
        rows = rnd.choice(groups)
        good = [row for row in rows if row["label"] == "supported"]
        chosen = (
            rnd.sample(good, min(len(good), rnd.randint(2, 4)))
            if good and rnd.random() < 0.55
            else rnd.sample(rows, min(len(rows), rnd.randint(2, 3)))
        )
        if len(chosen) < 2:
            continue
        labels = {row["label"] for row in chosen}
        label = (
            "supported" if labels == {"supported"} else "contradicted" if "contradicted" in labels else "unsupported"
        )
        text = " ".join(row["hypothesis"].strip().rstrip(".") + "." for row in chosen)
        made.append({"premise": rows[0]["premise"], "hypothesis": text, "label": label, "source": "several"})
    return made


def counterfactual(files: dict[str, list[Row]], rnd: random.Random, count: int) -> list[Row]:
    """A sentence of a premise, changed in one slot or said in another way."""
    premises = [
        row["premise"]
        for name in ("synth_wiki", "fm2", "factscore", "fever_bin", "tenp", "checkcovid", "wice_oracle", "begin")
        for row in files.get(name, [])
    ]
    names = sorted({m for p in rnd.sample(premises, min(4000, len(premises))) for m in _NAME.findall(p)})
    made: list[Row] = []
    tries = 0
    while len(made) < count and tries < count * 12:
        tries += 1
        premise = rnd.choice(premises)
        sentences = [s for s in _SENTENCE.split(premise) if 5 <= len(s.split()) <= 45]
        if not sentences:
            continue
        sentence = rnd.choice(sentences)
        same = restate(sentence, rnd)
        other = change(same if same and rnd.random() < 0.5 else sentence, rnd, names)
        for text, label in ((same if rnd.random() < 0.8 else sentence, "supported"), (other, "contradicted")):
            if text:
                made.append({"premise": premise, "hypothesis": text, "label": label, "source": "counterfactual"})
    return made[:count]


def written(rnd: random.Random, copies: int) -> tuple[list[Row], list[Row]]:
    """What we wrote ourselves: facts of a knowledge base, and what an assistant makes of them, right and wrong.

    Each copy has the facts in another order, now and then with facts of another subject between them, as a search
    would find them. The facts themselves, and right sentences with one value changed, stand beside them, so that
    neither plain words nor free ones tell the label.
    """
    items = written_items()
    names = names_in(items)
    made: list[Row] = []
    held: list[Row] = []
    for item in items:
        out = item["held"]
        for _ in range(1 if out else copies):
            said = said_of(item) if out else said_of(item) + _varied(item, rnd, names)
            for text, label in said:
                facts = list(item["facts"])
                if not out and rnd.random() < 0.4:
                    other = rnd.choice(items)["facts"]
                    facts += rnd.sample(other, rnd.randint(1, len(other)))
                rnd.shuffle(facts)
                row = {"premise": rnd.choice([" ", "\n"]).join(facts), "hypothesis": text, "label": label}
                (held if out else made).append({**row, "source": "written"})
    return made, held


def written_items() -> list[Row]:
    """Every item that we wrote; `held` says whether training may not see it."""
    data = SETTINGS["data"]
    items = []
    for path in sorted(WRITTEN.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            item = json.loads(line)
            held = path.stem in data["written_unseen"] or is_held_out(
                {"premise": item["facts"][0]}, data["written_holdout"]
            )
            items.append({**item, "held": held})
    return items


def names_in(items: list[Row]) -> list[str]:
    return sorted({name for item in items for fact in item["facts"] for name in _NAME.findall(fact)})


def said_of(item: Row) -> list[tuple[str, str]]:
    """The sentences of an item with their labels; twins of a pair differ in one detail."""
    pairs = item.get("pairs", [])
    right = [*item.get("right", []), *(pair[0] for pair in pairs)]
    wrong = [*(each["text"] for each in item.get("wrong", [])), *(pair[1] for pair in pairs)]
    labelled = [(right, "supported"), (wrong, "contradicted"), ([each["text"] for each in item["beyond"]], "neutral")]
    return [(text, label) for texts, label in labelled for text in texts]


def _varied(item: Row, rnd: random.Random, names: list[str]) -> list[tuple[str, str]]:
    """A fact as it is or said a little differently, one with a value changed, and a right sentence with one changed."""
    one, two = rnd.choice(item["facts"]), rnd.choice(item["facts"])
    right = rnd.choice([text for text, label in said_of(item) if label == "supported"])
    found = [(restate(one, rnd) or one if rnd.random() < 0.7 else one, "supported")]
    for text in (change(two, rnd, names), change(right, rnd, names)):
        if text:
            found.append((text, "contradicted"))
    return found


def mixture(folder: Path) -> tuple[list[Row], list[Row]]:
    """All training rows in random order, and the rows kept for calibration."""
    data = SETTINGS["data"]
    rnd = random.Random(data["seed"])
    files, held = load(folder, rnd)
    own, own_held = written(rnd, data["written"])
    held += own_held
    rows = [{**row, "source": name} for name, part in files.items() for row in part * data["repeat"].get(name, 1)]
    rows += joined(files, rnd, data["joined"])
    rows += unrelated(files, rnd, data["unrelated"])
    rows += several(files, rnd, data["several"])
    rows += counterfactual(files, rnd, data["counterfactual"])
    rows += misplaced(files, rnd, data["misplaced"])
    rows += own
    rows += make_twins(files, written_items(), random.Random(data["seed"]), data.get("twins", 0))
    rnd.shuffle(rows)
    return rows, held


def write(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as out:
        for row in rows:
            weight = SETTINGS["data"]["weight"].get(row["source"], 1.0)
            out.write(
                json.dumps([row["premise"], row["hypothesis"], LABELS[row["label"]], row["source"], weight]) + "\n"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=None, help="keep only so many rows, for a trial run")
    arguments = parser.parse_args()
    rows, held = mixture(arguments.data)
    write(arguments.out / "train.jsonl.gz", rows[: arguments.limit])
    write(arguments.out / "held.jsonl.gz", held[: arguments.limit])
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        counts[row["source"]] += 1
    print(json.dumps({"rows": len(rows), "held": len(held), "by source": dict(sorted(counts.items()))}))


if __name__ == "__main__":
    main()
