"""The cross-encoder and how pairs become batches: shared by training, scoring and export."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertForSequenceClassification

__all__ = [
    "Encoded",
    "Pair",
    "batches",
    "device",
    "encode",
    "load_network",
    "load_tokenizer",
    "logits_of",
    "read_pairs",
    "save_network",
]

Pair = tuple[str, str]
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Encoded:
    """Token ids of many pairs, flat and already where the network is: a batch costs no copy, and nothing waits for one."""

    def __init__(self, ids: np.ndarray, types: np.ndarray, starts: np.ndarray) -> None:
        self.arrays = {"ids": ids, "types": types, "starts": starts}
        self.lengths = np.diff(starts)
        self._ids, self._types = torch.from_numpy(ids).to(device), torch.from_numpy(types).to(device)
        self._starts, self._lengths = torch.from_numpy(starts).to(device), torch.from_numpy(self.lengths).to(device)

    def __len__(self) -> int:
        return len(self.lengths)

    def pad(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        width = int(-(-self.lengths[rows].max() // 16) * 16)
        chosen = torch.from_numpy(rows).to(device)
        columns = torch.arange(width, device=device)[None]
        mask = columns < self._lengths[chosen][:, None]
        places = (self._starts[chosen][:, None] + columns).clamp_(max=len(self._ids) - 1)
        return self._ids[places].long() * mask, self._types[places].long() * mask, mask.long()


def load_tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens, strategy="only_first")
    return tokenizer


def encode(tokenizer: Tokenizer, pairs: list[Pair], step: int = 20_000) -> Encoded:
    """Tokenize; a hypothesis that alone fills the window is cut, which no training row needs."""
    ids, types, lengths = [], [], []
    for begin in range(0, len(pairs), step):
        part = [(premise, hypothesis[:1200]) for premise, hypothesis in pairs[begin : begin + step]]
        for encoding in tokenizer.encode_batch(part):
            ids.append(np.asarray(encoding.ids, np.int32))
            types.append(np.asarray(encoding.type_ids, np.int8))
            lengths.append(len(encoding.ids))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Encoded(np.concatenate(ids), np.concatenate(types), starts)


def batches(lengths: np.ndarray, budget: int, rnd: random.Random | None) -> Iterator[np.ndarray]:
    """Rows of like length together, up to a number of tokens; in random order where a generator is given."""
    noise = np.asarray([rnd.random() for _ in range(len(lengths))]) * 8 if rnd else 0
    order = np.argsort(lengths + noise, kind="stable")
    groups: list[np.ndarray] = []
    start = 0
    while start < len(order):  # few shapes: a GPU is slow whenever it meets a new one
        width = 16 * -(-int(lengths[order[start : start + 8]].max()) // 16)
        size = max(8, budget // width // 8 * 8)
        groups.append(order[start : start + size])
        start += size
    if rnd:
        rnd.shuffle(groups)
    yield from groups


def load_network(folder: Path, *, layers: int | None = None) -> BertForSequenceClassification:
    """A network with three outputs from a folder; a base of another head gets a fresh one, layers are dropped evenly."""
    config = BertConfig.from_pretrained(folder, num_labels=3)
    network = BertForSequenceClassification.from_pretrained(
        folder, config=config, ignore_mismatched_sizes=True, dtype=torch.float32
    )
    depth = config.num_hidden_layers
    if layers and layers < depth:
        kept = [round((i + 1) * depth / layers) - 1 for i in range(layers)]
        network.bert.encoder.layer = torch.nn.ModuleList([network.bert.encoder.layer[i] for i in kept])
        network.config.num_hidden_layers = layers
    return network.to(device)


def save_network(network: BertForSequenceClassification, tokenizer_from: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    network.save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((tokenizer_from / "tokenizer.json").read_bytes())


def logits_of(network: BertForSequenceClassification, encoded: Encoded, budget: int = 131_072) -> np.ndarray:
    """The three logits of every pair, in order."""
    network.eval()
    out = np.zeros((len(encoded), 3), np.float32)
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        for rows in batches(encoded.lengths, budget if device.type == "cuda" else 8192, None):
            ids, types, mask = encoded.pad(rows)
            out[rows] = network(input_ids=ids, token_type_ids=types, attention_mask=mask).logits.float().cpu().numpy()
    return out


def read_pairs(path: Path) -> tuple[list[Pair], np.ndarray, np.ndarray, list[str]]:
    """Pairs, labels, weights and sources of a file made by `training.pairs`."""
    pairs, labels, sources, weights = [], [], [], []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            premise, hypothesis, label, source, weight = json.loads(line)
            pairs.append((premise, hypothesis))
            labels.append(label)
            sources.append(source)
            weights.append(weight)
    return pairs, np.asarray(labels), np.asarray(weights, np.float32), sources
