"""Measures the clause segmenter: agreement with gold sentences, speed, and adversarial texts.

    python benchmarks/segmenter.py [DATA_FOLDER] [--save]

DATA_FOLDER holds `aux_sentseg_golden.jsonl.gz` and `aux_sentseg_ewt_dev.jsonl.gz`; by default `../shared/data/dev`
beside the repository. `--save` writes `benchmarks/results/segmenter.json`. Times are CPU seconds of one core.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from director_ai.core.segment import ClauseSegmenter, split_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).resolve().parent.parent
GOLDEN, EWT = "aux_sentseg_golden.jsonl.gz", "aux_sentseg_ewt_dev.jsonl.gz"
Row = tuple[str, str]

PROSE = (
    "Dr. Smith moved to the U.S. in 1994, and he has lived in St. Louis since then. The clinic opens at 9 a.m. on "
    "weekdays; appointments are free. Prices rose by 3.5 % last year (see fig. 2), but the board kept the fee. "
    "Is that too much? Most patients say no!\n\n"
    "- The first visit takes 45 minutes.\n- The second one is shorter, e.g. half an hour.\n\n"
    "## What to bring\n\nBring your card, a list of medicines, and the letter from your doctor. If you lose the "
    "letter, call us, and we will send a copy. The address is https://example.org/clinic.html. Thank you.\n\n"
)
FLAG = "\U0001f1e9\U0001f1ea"
ADVERSARIAL = {
    "dots": ".",
    "spaced dots": ". ",
    "stops and spaces": "." + " " * 300,
    "spaces": " ",
    "double quotes": '"',
    "stop and quotes": '."',
    "1. 1. 1.": "1. ",
    ", and , and": ", and ",
    ", and it is": "x, and it is",
    "(, and it is": "(a, and it is ",
    "; a b c": "; a b c d e f ",
    "backticks": "`",
    "odd backticks": "` `` ``` ",
    "one tick a line": "`a\n",
    "brackets": "(",
    "closing brackets": "1) ",
    "newlines": "\n",
    "short lines": "a\n",
    "pipes": "|",
    "a. b. c. d.": "a. b. c. d. ",
    "U.S. U.S.": "U.S. ",
    "combining marks": "\u0301",
    "stop and marks": ".\u0301 \u0301",
    "ideographic stops": "。",
    "dollars": "$$ ",
    "hashes": "# ",
    "fences": "```\n",
    "tildes": "~",
    "backslashes": "\\",
    "bullets": "• ",
    "flags": FLAG,
    "letters": "x",
}


def load(folder: Path, name: str) -> list[dict[str, Any]] | None:
    path = folder / name
    if not path.is_file():
        print(f"{name} is not in the data folder; its rows are left out", file=sys.stderr)
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def ends(sentences: Iterable[str]) -> list[int]:
    """Offsets where sentences end, white space stripped; blank sentences have no end."""
    found, at = [], 0
    for sentence in sentences:
        if sentence.strip():
            found.append(at + len(sentence.rstrip()))
        at += len(sentence)
    return found


def pysbd_sentences() -> Callable[[str], list[str]] | None:
    try:
        import pysbd  # noqa: PLC0415 - only here may it be missing
    except ImportError:
        print("pysbd is not installed (pip install '.[bench]'); its rows are left out", file=sys.stderr)
        return None
    segmenter = pysbd.Segmenter(language="en", clean=False, char_span=True)

    def split(text: str) -> list[str]:
        starts = [span.start for span in segmenter.segment(text)][1:]
        return [text[start:end] for start, end in pairwise([0, *starts, len(text)])]

    return split


def score(documents: list[dict[str, Any]], split: Callable[[str], list[str]], *, last: bool) -> dict[str, float]:
    hits = found = gold = 0
    for document in documents:
        want = {end for _, end in document["sents"]}
        have = set(ends(split(document["text"])))
        if not last:
            final = {len(document["text"].rstrip())}
            want, have = want - final, have - final
        hits, found, gold = hits + len(want & have), found + len(have), gold + len(want)
    precision, recall = hits / found, hits / gold
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}


def feed(text: str, size: int) -> float:
    """CPU seconds to segment a text that comes in pieces of `size` characters."""
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    begun = time.process_time()
    segmenter = ClauseSegmenter()
    for piece in pieces:
        segmenter.feed(piece)
    segmenter.finish()
    return time.process_time() - begun


def measure_gold(folder: Path) -> list[Row]:
    rows: list[Row] = []
    golden, documents = load(folder, GOLDEN), load(folder, EWT)
    for name, split in {"ours": split_sentences, "pysbd": pysbd_sentences()}.items():
        if split and golden:
            good = sum([s.strip() for s in split(row["text"])] == row["sents"] for row in golden)
            rows.append((f"golden texts cut exactly, {name}", f"{good} of {len(golden)}"))
        for last in (False, True) if split and documents else ():
            result = score(documents, split, last=last)
            figures = ", ".join(f"{key} {value:.4f}" for key, value in result.items())
            rows.append((f"EWT borders, {name}{', last one included' if last else ''}", figures))
    return rows


def measure_speed(share: int) -> list[Row]:
    text = PROSE * (2_000_000 // share // len(PROSE))
    megabytes = len(text.encode()) / 1e6
    tokens = len(text) / 4
    huge = "word " * (2_000_000 // share)
    most = 10_000_000 // share
    return [
        ("prose in pieces of 4 KiB", f"{megabytes / best_of_three(text, 4096):.1f} MB/s"),
        ("prose in tokens of 4 characters", f"{best_of_three(text, 4) / tokens * 1e6:.2f} µs per token"),
        ("one 10 MB token without a stop", f"{feed(huge, len(huge)):.2f} s"),
        ("one 10 MB token of letters", f"{feed('x' * most, most):.2f} s"),
        ("one 10 MB token of flags", f"{feed(FLAG * (most // 8), most):.2f} s"),
        ("one 10 MB token of dots", f"{feed('.' * most, most):.2f} s"),
    ]


def best_of_three(text: str, size: int) -> float:
    return min(feed(text, size) for _ in range(3))


def measure_adversarial(share: int) -> list[Row]:
    rows, worst = [], ("", 0.0)
    for name, unit in ADVERSARIAL.items():
        text = unit * (100_000 // share // len(unit.encode()))
        whole, twice = best_of_three(text, len(text)), best_of_three(text * 2, 2 * len(text))
        single, double = best_of_three(text, 1), best_of_three(text * 2, 1)
        worst = max(worst, (name, whole), key=lambda entry: entry[1])
        figures = f"{whole * 1e3:6.1f} ms (x2: {twice / whole:.2f}); by character {single * 1e3:6.1f} ms"
        rows.append((f"100 KB of {name}", f"{figures} (x2: {double / single:.2f})"))
    return [*rows, ("worst of them, whole", f"{worst[1] * 1e3:.1f} ms ({worst[0]})")]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the clause segmenter.")
    parser.add_argument("data", nargs="?", type=Path, default=ROOT.parent / "shared" / "data" / "dev")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/segmenter.json")
    parser.add_argument("--tiny", action="store_true", help="seconds, and no peer: does it still run?")
    options = parser.parse_args()
    share = 100 if options.tiny else 1
    rows = [] if options.tiny else measure_gold(options.data)
    rows += measure_speed(share) + measure_adversarial(share)
    width = max(len(name) for name, _ in rows)
    for name, figures in rows:
        print(f"{name:{width}}  {figures}")
    if options.save:
        record = {"python": platform.python_version(), "machine": platform.machine(), "rows": dict(rows)}
        path = ROOT / "benchmarks" / "results" / "segmenter.json"
        path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
