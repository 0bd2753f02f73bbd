"""Scores evaluation files with a network: every statement of a hypothesis against every window of its premise.

    python -m training.score --model build/student --data ../shared/data/dev --tokenizer BASE --out build/dev-student.npz

What the windows and statements add up to is decided later (`training.evaluate`), so that it can be tried out without
scoring again.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from director_ai.core.segment import split_sentences
from director_ai.nli.focus import cut_sentences, focus
from training.network import encode, load_network, load_tokenizer, logits_of, read_pairs
from training.pairs import LABELS, SETTINGS

FOCUS = -1
"""Stands for a window's number where the premise's most telling sentences were read."""


def windows(tokenizer: Tokenizer, premise: str, hypothesis: str, limit: int) -> list[str]:
    """The premise, or overlapping stretches of it that fit beside the hypothesis."""
    room = max(64, limit - 3 - min(len(tokenizer.encode(hypothesis, add_special_tokens=False).ids), limit // 2))
    offsets = tokenizer.encode(premise, add_special_tokens=False).offsets
    if len(offsets) <= room:
        return [premise]
    starts = range(0, len(offsets) - room // 2, room // 2)
    return [premise[offsets[s][0] : offsets[min(s + room, len(offsets)) - 1][1]] for s in starts]


def most_telling(tokenizer: Tokenizer, premise: str, hypothesis: str) -> str | None:
    """What the package reads beside the windows of a long premise."""
    wanted = tokenizer.encode(hypothesis, add_special_tokens=False).ids
    limit = SETTINGS["data"]["focus_tokens"] - 3
    if len(tokenizer.encode(premise, add_special_tokens=False).ids) + len(wanted) <= limit:
        return None
    sentences = cut_sentences(
        [tokenizer.encode(text, add_special_tokens=False).ids for text in split_sentences(premise)]
    )
    return tokenizer.decode(focus(sentences, wanted, max(64, limit - len(wanted))))


def statements(hypothesis: str) -> list[str]:
    """The sentences of a hypothesis that are long enough to say something."""
    parts = [part.strip() for part in split_sentences(hypothesis) if len(part.split()) > 2]
    return parts if len(parts) > 1 else [hypothesis]


def expand(rows: list[dict[str, str]], tokenizer: Tokenizer, limit: int) -> tuple[list[tuple[str, str]], np.ndarray]:
    """All pairs to score, and for each of them (row, statement, window); statement -1 is the whole hypothesis."""
    pairs, index = [], []
    for number, row in enumerate(rows):
        parts = statements(row["hypothesis"])
        for place, part in enumerate([row["hypothesis"]] + (parts if len(parts) > 1 else []), start=-1):
            texts = windows(tokenizer, row["premise"], part, limit)
            for window, text in enumerate(texts):
                pairs.append((text, part))
                index.append((number, place, window))
            if focused := most_telling(tokenizer, row["premise"], part):
                pairs.append((focused, part))
                index.append((number, place, FOCUS))
    return pairs, np.asarray(index, np.int32)


def read_dev(folder: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row["label"] in LABELS]


def dev_files(folder: Path) -> list[str]:
    names = (path.name.removesuffix(".jsonl.gz") for path in sorted(folder.glob("*.jsonl.gz")))
    return [name for name in names if not name.startswith(("aux_", "repair_"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--held", type=Path, help="also score the rows kept for calibration")
    arguments = parser.parse_args()
    limit = SETTINGS["data"]["max_tokens"]
    plain = Tokenizer.from_file(str(arguments.model / "tokenizer.json"))
    plain.no_padding()
    plain.no_truncation()
    tokenizer = load_tokenizer(arguments.model, limit)
    network = load_network(arguments.model)
    saved: dict[str, np.ndarray] = {}
    for name in dev_files(arguments.data):
        rows = read_dev(arguments.data, name)
        pairs, index = expand(rows, plain, limit)
        saved[f"{name}.logits"] = logits_of(network, encode(tokenizer, pairs))
        saved[f"{name}.index"] = index
        saved[f"{name}.labels"] = np.asarray([LABELS[row["label"]] for row in rows], np.int8)
    if arguments.held:
        held, labels, _, _ = read_pairs(arguments.held)
        saved["held.logits"] = logits_of(network, encode(tokenizer, held))
        saved["held.labels"] = labels.astype(np.int8)
    np.savez_compressed(arguments.out, **saved)


if __name__ == "__main__":
    main()
