"""The encoder for retrieval: a sentence encoder taken as it is, pooled and normalised inside the graph, int8.

    python -m training.encoder --model MINILM --out build/encoder --data ../shared/data/dev

Prints recall@5 of claims over the passages of each dev file; any passage of the claim's own group counts.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from tokenizers import Tokenizer
from transformers import BertModel

from training.quantise import INPUTS, digest, quantise
from training.score import read_dev


class Embedding(torch.nn.Module):
    """The mean over a text's tokens, scaled to length one."""

    def __init__(self, network: BertModel) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        states = self.network(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(1) / mask.sum(1).clamp(min=1.0)
        return mean / mean.norm(dim=-1, keepdim=True).clamp(min=1e-9)


def export(model: Path, path: Path) -> None:
    network = BertModel.from_pretrained(model, add_pooling_layer=False, attn_implementation="eager").float().eval()
    sample = torch.ones((2, 16), dtype=torch.int64)
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {"embedding": {0: "batch"}}
    torch.onnx.export(
        Embedding(network), (sample, sample, torch.zeros_like(sample)), str(path), input_names=list(INPUTS),
        output_names=["embedding"], dynamic_axes=axes, opset_version=17, dynamo=False,
    )  # fmt: skip


def embed(session: onnxruntime.InferenceSession, tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:
    found = np.zeros((len(texts), 384), np.float32)
    encodings = tokenizer.encode_batch(texts)
    order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
    for begin in range(0, len(order), 16):
        rows = order[begin : begin + 16]
        width = len(encodings[rows[-1]].ids)
        feed = {name: np.zeros((len(rows), width), np.int64) for name in INPUTS}
        for place, row in enumerate(rows):
            feed["input_ids"][place, : len(encodings[row].ids)] = encodings[row].ids
            feed["attention_mask"][place, : len(encodings[row].ids)] = 1
        found[rows] = session.run(["embedding"], feed)[0]
    return found


def recall(
    session: onnxruntime.InferenceSession, tokenizer: Tokenizer, rows: list[dict[str, str]], at: int = 5
) -> float:
    passages = list(dict.fromkeys(row["premise"] for row in rows))
    group_of: dict[str, set[str]] = {}
    for row in rows:
        group_of.setdefault(row["premise"], set()).add(row["group"])
    claims = list({row["hypothesis"]: row for row in rows}.values())[:300]
    stored = embed(session, tokenizer, passages)
    asked = embed(session, tokenizer, [row["hypothesis"] for row in claims])
    best = np.argsort(-(asked @ stored.T), axis=1)[:, :at]
    hits = [
        any(row["group"] in group_of[passages[i]] for i in places) for row, places in zip(claims, best, strict=True)
    ]
    return float(np.mean(hits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    export(arguments.model, arguments.out / "fp32.onnx")
    quantise(arguments.out / "fp32.onnx", arguments.out / "model.onnx")
    shutil.copy(arguments.model / "tokenizer.json", arguments.out / "tokenizer.json")
    print(
        json.dumps(
            {"bytes": (arguments.out / "model.onnx").stat().st_size, "sha256": digest(arguments.out / "model.onnx")}
        )
    )
    if arguments.data:
        tokenizer = Tokenizer.from_file(str(arguments.out / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(256)
        for file in ("fp32.onnx", "model.onnx"):
            session = onnxruntime.InferenceSession(str(arguments.out / file), providers=["CPUExecutionProvider"])
            for name in ("fm2", "checkcovid", "wice_oracle"):
                rows = read_dev(arguments.data, name)[:900]
                print(f"{file:<12}{name:<14}recall@5 {recall(session, tokenizer, rows):.3f}", flush=True)


if __name__ == "__main__":
    main()
