"""Every step of `training/` on a slice, on the CPU: prepare, train, distil, quantise, score, calibrate, evaluate.

The base is a network of two narrow layers with random weights and a vocabulary of its own. torch is no dependency of the
package or of its tests, so `make test` leaves these out: `pytest -m training` runs them where torch is installed.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up import PAINTERS, PLACES, THINGS, read_made, rows, write_dev_files, write_training_files

pytestmark = [
    pytest.mark.training,
    pytest.mark.filterwarnings("ignore"),  # torch, transformers and the exporter warn of their own changes
    pytest.mark.timeout(600),
]
TRAIN = ("--budget", 2048, "--rate", 3e-3, "--limit", 300, "--epochs", 30)
CLOSE = 0.05
"""How far an int8 file may be from its network, in probability."""


def write_base(folder: Path) -> Path:
    """A base encoder as a hub gives it: a configuration, weights, a tokenizer, and a head of another kind."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from training.pairs import SETTINGS
    from transformers import BertConfig, BertForSequenceClassification

    texts = [row[key].lower() for row in rows(60) for key in ("premise", "hypothesis")]
    words = {word for text in texts for word in text.replace(".", " ").replace(",", " ").split() if word.isalpha()}
    pieces = [*"0123456789abcdefghijklmnopqrstuvwxyz.,", *(f"##{c}" for c in "0123456789abcdefghijklmnopqrstuvwxyz")]
    known = sorted(words | {name.lower() for name in (*PLACES, *THINGS, *PAINTERS)} - set(pieces))
    vocabulary = {
        w: i for i, w in enumerate(dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces, *known]))
    }
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=max(512, SETTINGS["data"]["max_tokens"]), num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def loss_of(model: Path, pairs: Path) -> float:
    """The mean loss over the rows that the slice is trained on."""
    import torch
    from training.network import encode, load_network, load_tokenizer, logits_of, read_pairs
    from training.train import hard_loss

    texts, labels, _, _ = read_pairs(pairs / "train.jsonl.gz")
    torch.manual_seed(0)
    logits = logits_of(load_network(model), encode(load_tokenizer(model, 256), texts[:300]))
    return float(hard_loss(torch.from_numpy(logits), torch.from_numpy(labels[:300]), 0.0).mean())


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


@pytest.fixture
def prepared(step: Any, tmp_path: Path) -> Path:
    """A folder with a base and the prepared pairs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_base(tmp_path / "base")
    step("pairs", "--data", write_training_files(tmp_path / "data"), "--out", tmp_path)
    return tmp_path


def train(step: Any, folder: Path, name: str, *more: object) -> Path:
    step("train", "--base", folder / "base", "--pairs", folder, "--out", folder / name, *TRAIN, *more)
    return folder / name


def logits_in_onnx(model: Path, pairs: list[tuple[str, str]], *, together: bool) -> np.ndarray:
    """By onnxruntime and tokenizers alone: all pairs in one padded batch, or each by itself."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    session = onnxruntime.InferenceSession(model / "model.onnx", providers=["CPUExecutionProvider"])
    if together:
        tokenizer.enable_padding()
    found = []
    for part in [pairs] if together else [[pair] for pair in pairs]:
        encodings = tokenizer.encode_batch(part)
        inputs = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        feed = {name: np.array([getattr(each, field) for each in encodings]) for name, field in inputs.items()}
        found.append(session.run(["logits"], feed)[0])
    return np.concatenate(found)


def softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def test_a_slice_goes_through_every_step(step: Any, prepared: Path) -> None:
    from training.network import encode, load_network, load_tokenizer, logits_of

    teacher = train(step, prepared, "teacher", "--seed", 1)
    before = loss_of(prepared / "base", prepared)
    assert loss_of(teacher, prepared) < 0.8 * before
    assert isinstance(json.loads((teacher / "log.json").read_text()), list)

    student = train(step, prepared, "student", "--seed", 2, "--layers", 1, "--teachers", teacher)
    assert loss_of(student, prepared) < 0.8 * before
    assert json.loads((student / "config.json").read_text())["num_hidden_layers"] == 1

    step("quantise", "--model", student, "--out", prepared / "int8")
    pairs = [(row[0], row[1]) for row in read_made(prepared / "train.jsonl.gz")[:40]]
    network = softmax(logits_of(load_network(student), encode(load_tokenizer(student, 256), pairs)))
    alone = softmax(logits_in_onnx(prepared / "int8", pairs, together=False))
    assert np.abs(alone - network).max() < CLOSE
    together = softmax(logits_in_onnx(prepared / "int8", pairs, together=True))
    assert np.abs(alone - together).max() <= 1e-4, "padding and company change no score"
    assert_the_package_reads_it(prepared / "int8", pairs, alone)

    dev = write_dev_files(prepared / "dev")
    scores = prepared / "student.npz"
    step("score", "--model", student, "--data", dev, "--held", prepared / "held.jsonl.gz", "--out", scores)
    said = next(json.loads(line) for line in step("calibrate", scores).splitlines() if line.startswith("{"))
    table = step("evaluate", scores, "--temperature", said["temperature"], "--bias", *said["bias"])
    assert [line.split()[0] for line in table.splitlines()] == ["fm2", "frank", "mean"]
    assert float(table.splitlines()[-1].split()[2]) > 0.6, "what was learned holds for places it has not seen"


def assert_the_package_reads_it(folder: Path, pairs: list[tuple[str, str]], expected: np.ndarray) -> None:
    from training.quantise import digest

    from director_ai.nli import load_entailer

    manifest = {
        "name": "slice", "version": "1", "kind": "entailer", "license": "none", "max_tokens": 256, "calibration": {},
        "labels": ["supported", "contradicted", "neutral"],
        "files": {name: digest(folder / name) for name in ("model.onnx", "tokenizer.json")},
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = load_entailer(folder).predict(pairs)
    assert np.abs([each.supported for each in found] - expected[:, 0]).max() <= 1e-4


def test_the_same_seed_gives_the_same_weights(step: Any, prepared: Path) -> None:
    first, again, other = (
        weights_of(train(step, prepared, name, "--epochs", 1, "--seed", seed))
        for name, seed in (("first", 5), ("again", 5), ("other", 6))
    )
    assert first.keys() == again.keys() == other.keys()
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert any(not np.array_equal(first[name], other[name]) for name in first)


def test_the_baselines_see_what_the_hypotheses_give_away(step: Any, prepared: Path) -> None:
    said = step("baselines", "--pairs", prepared, "--data", write_dev_files(prepared / "dev"))
    assert [line.split()[0] for line in said.splitlines()] == ["fm2", "frank", "mean"]
