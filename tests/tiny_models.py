"""Models of a few kilobytes that behave like real ones: real ONNX, a real WordPiece tokenizer, a real manifest.

The vocabulary has letters, a few whole words, and three words for faults and rules: `nan` (its embedding is not a
number), `boom` (it has no embedding, so that onnxruntime raises) and, for the keyword model, `yes` and `no`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the tiny models are made with onnx")

from onnx import numpy_helper, parser  # noqa: E402 - only where onnx is
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "yes", "no", "the", "cat", "sat", "nan"]
VOCABULARY = [
    *WORDS, *string.ascii_lowercase, *string.digits, *string.punctuation, *(f"##{c}" for c in string.ascii_lowercase), "boom",
]  # fmt: skip
"""`boom` is last: the embeddings have one row less."""
WINDOW = 32

MEAN = """
  kept = Cast <to: int = 1> (attention_mask)
  column = Unsqueeze (kept, two)
  words = Gather (word_table, input_ids)
  sides = Gather (side_table, token_type_ids)
  embedded = Add (words, sides)
"""
BLOCK = """
  query = MatMul (embedded, query_weight)
  key = MatMul (embedded, key_weight)
  value = MatMul (embedded, value_weight)
  turned = Transpose <perm = [0, 2, 1]> (key)
  raw = MatMul (query, turned)
  row = Unsqueeze (kept, one)
  absent = Sub (unit, row)
  penalty = Mul (absent, far)
  masked = Add (raw, penalty)
  attention = Softmax <axis = -1> (masked)
  mixed = MatMul (attention, value)
  hidden = Add (embedded, mixed)
"""
POOLED = """
  zeroed = Mul (hidden, column)
  total = ReduceSum <keepdims = 0> (zeroed, one)
  count = ReduceSum <keepdims = 1> (kept, one)
  pooled = Div (total, count)
"""


def tokenizer_json() -> str:
    vocabulary = {word: index for index, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(WORDS[:5])
    tokenizer.enable_padding(length=128)  # as published tokenizers do; the package must undo both
    tokenizer.enable_truncation(8)
    return str(tokenizer.to_str())


def graph(body: str, output: str, weights: dict[str, Any]) -> bytes:
    inputs = ", ".join(f"int64[batch, seq] {name}" for name in ("input_ids", "attention_mask", "token_type_ids"))
    text = f'<ir_version: 9, opset_import: ["" : 17]> tiny ({inputs}) => ({output}) {{ {body} }}'
    constants = {"one": np.array([1]), "two": np.array([2]), "unit": np.float32(1), "far": np.float32(-1e9)}
    model = parser.parse_model(text)
    for name, value in {**constants, **weights}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return bytes(model.SerializeToString())


def weights(width: int = 16, outputs: int = 3) -> dict[str, Any]:
    chance = np.random.default_rng(7)

    def table(*shape: int) -> Any:
        return chance.normal(0, 1, shape).astype(np.float32)

    words = table(len(VOCABULARY) - 1, width)
    words[VOCABULARY.index("nan")] = np.nan
    tables = {"word_table": words, "side_table": table(2, width), "head": table(width, outputs)}
    return {**tables, **{f"{name}_weight": table(width, width) / width for name in ("query", "key", "value")}}


@functools.cache
def random_entailer() -> bytes:
    """One transformer block, mean over the tokens that are there, three logits."""
    return graph(f"{MEAN} {BLOCK} {POOLED} logits = MatMul (pooled, head)", "float[batch, 3] logits", weights())


@functools.cache
def keyword_entailer() -> bytes:
    """Each `yes` of either text adds to supported, each `no` twice as much to contradicted; otherwise neutral."""
    words = np.zeros((len(VOCABULARY) - 1, 3), np.float32)
    words[VOCABULARY.index("yes"), 0] = 4
    words[VOCABULARY.index("no"), 1] = 8
    tables = {"word_table": words, "side_table": np.zeros((2, 3), np.float32), "start": np.array([0, 0, 2], np.float32)}
    body = f"{MEAN} zeroed = Mul (embedded, column) total = ReduceSum <keepdims = 0> (zeroed, one) logits = Add (total, start)"
    return graph(body, "float[batch, 3] logits", tables)


@functools.cache
def random_encoder() -> bytes:
    body = f"{MEAN} {BLOCK} {POOLED} embedding = LpNormalization <axis = 1> (pooled)"
    return graph(body, "float[batch, 16] embedding", weights())


def write_model(folder: Path, model: bytes | None = None, **changes: Any) -> Path:
    """Write a model's folder; `changes` are to the manifest, and None takes a field out."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(random_entailer() if model is None else model)
    (folder / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    manifest = {
        "name": "tiny",
        "kind": "entailer",
        "version": "1",
        "license": "Apache-2.0",
        "labels": ["supported", "contradicted", "neutral"],
        "max_tokens": WINDOW,
        "files": {name: digest(folder / name) for name in ("model.onnx", "tokenizer.json")},
        "calibration": {"temperature": 1.5, "bias": [0.1, 0.0, -0.1]},
        **changes,
    }
    manifest = {key: value for key, value in manifest.items() if value is not None}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


def write_encoder(folder: Path, **changes: Any) -> Path:
    return write_model(folder, random_encoder(), kind="encoder", labels=None, calibration=None, **changes)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def some_pairs(count: int, seed: int = 1, longest: int = 10) -> list[tuple[str, str]]:
    """Pairs of different lengths that all fit the window."""
    chance = np.random.default_rng(seed)
    words = [*"abcdefgh", "the", "cat", "sat", "yes", "no"]

    def text() -> str:
        return " ".join(chance.choice(words, chance.integers(0, longest)))

    return [(text(), text()) for _ in range(count)]


def values(predictions: Any) -> Any:
    return np.array([(each.supported, each.contradicted, each.neutral) for each in predictions])
