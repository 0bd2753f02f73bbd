"""Teach a model to tell claims from small talk, and leave what it says of pairs as it is.

python -m training.distil.adapt --work WORK --data DATA --claims training/claims --seconds 65

WORK/base.npz holds the tokens of pairs whose answers must not change, WORK/plain.json sentences that are claims
(statements of training/written). This made version 4.1 from version 4.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from training.distil.net import bert, device, judge
from training.distil.pipeline import as_bert, fit, hard_loss, hf_folder, log, shipped_state, soft_loss
from training.distil.prepare import CLAIM_QUESTION, varied

COPIES, WARMTH, CLAIM, NONE = 12, 1.5, 0, 2
HELD = 12
"""One sentence in so many is held out; the two of a minimal pair (b.jsonl) stay together."""


def read_claims(folder: Path) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Sentences with their labels, and those held out."""
    rows, held = [], []
    for path in sorted(folder.glob("*.jsonl")):
        step = 2 if path.stem == "b" else 1
        for n, line in enumerate(path.read_text("utf-8").splitlines()):
            row = json.loads(line)
            kept_out = (n // step) % HELD == 5
            (held if kept_out else rows).append((row["text"], CLAIM if row["label"] == "claim" else NONE))
    return rows, held


def encode(tokenizer: Tokenizer, texts: list[str]) -> dict[str, np.ndarray]:
    found = tokenizer.encode_batch([(CLAIM_QUESTION, text) for text in texts])
    return {
        "ids": np.concatenate([np.asarray(one.ids, np.int16) for one in found]),
        "types": np.concatenate([np.asarray(one.type_ids, np.int8) for one in found]),
        "starts": np.concatenate([[0], np.cumsum([len(one.ids) for one in found])]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("work", "data", "claims"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=65)
    parser.add_argument("--rate", type=float, default=8e-5)
    a = parser.parse_args()
    stored = np.load(a.work / "base.npz")
    base = {key: stored[key] for key in ("ids", "types", "starts")}
    rows, held = read_claims(a.claims)
    rnd = random.Random(11)
    made = [(varied(text, rnd), label) for _ in range(COPIES) for text, label in rows]
    made += [(text, CLAIM) for text in json.loads((a.work / "plain.json").read_text("utf-8"))]
    log("sentences", len(rows), "held out", len(held), "with copies", len(made))
    tokenizer = Tokenizer.from_file(str(a.data / "entailer-tokenizer.json"))
    tokenizer.no_padding()
    own, count = encode(tokenizer, [text for text, _ in made]), len(base["starts"]) - 1
    both = {key: np.concatenate([base[key], own[key]]) for key in ("ids", "types")}
    both["starts"] = np.concatenate([base["starts"], own["starts"][1:] + base["starts"][-1]])
    said = torch.from_numpy(judge(bert(shipped_state(a)), as_bert(base)).astype(np.float32))
    soft = torch.cat([torch.softmax(said / WARMTH, -1), torch.zeros(len(made), 3)]).to(device)
    share = torch.cat([torch.ones(count), torch.zeros(len(made))]).to(device)
    labels = torch.tensor([NONE] * count + [label for _, label in made]).to(device)
    smoothing = torch.full((count + len(made),), 0.02, device=device)

    def loss_of(logits: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        hard = hard_loss(logits, labels[at], smoothing[at])
        return ((1 - share[at]) * hard + share[at] * soft_loss(logits, soft[at], WARMTH)).mean()

    net = bert(shipped_state(a), 0.0)
    everything = np.arange(count + len(made))
    fit(
        net,
        as_bert(both),
        loss_of,
        everything,
        seconds=a.seconds,
        rate=a.rate,
        budget=65536,
        seed=4,
        most=None,
        name="adapt",
    )
    logits = judge(net, as_bert(encode(tokenizer, [text for text, _ in held]))).astype(np.float32)
    none = 1 - torch.softmax(torch.from_numpy(logits) / 1.6 + torch.tensor([0.45, 0, 0]), -1)[:, 0].numpy()
    is_none = np.asarray([label for _, label in held]) == NONE
    for least in (0.2, 0.35, 0.5):
        log(
            least,
            "small talk exempt",
            (none[is_none] >= least).mean(),
            "claims exempt",
            (none[~is_none] >= least).mean(),
        )
    hf_folder(a, net.state(), a.work / "adapted")
    command = [
        sys.executable,
        "-m",
        "training.quantise",
        "--model",
        str(a.work / "adapted"),
        "--out",
        str(a.work / "int8"),
    ]
    subprocess.run(command, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, check=True)


if __name__ == "__main__":
    main()
