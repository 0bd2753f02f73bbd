"""The judge that runs a model from a local folder: real ONNX and a real tokenizer, of a few kilobytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from director_ai import ProductionGuard
from director_ai.core.types import EvidenceChunk
from director_ai.errors import ConfigError, ModelError, UnknownOption
from director_ai.judges import TransformersJudge
from tiny_models import MEAN, VOCABULARY, graph, keyword_entailer, tokenizer_json

NLI = {"0": "entailment", "1": "contradiction", "2": "neutral"}


def keyword_head(outputs: int) -> bytes:
    """The last output counts the words `yes`, minus one; the others are 0."""
    words = np.zeros((len(VOCABULARY) - 1, outputs), np.float32)
    words[VOCABULARY.index("yes"), -1] = 6
    start = np.zeros(outputs, np.float32)
    start[-1] = -3
    tables = {"word_table": words, "side_table": np.zeros((2, outputs), np.float32), "start": start}
    body = f"{MEAN} zeroed = Mul (embedded, column) total = ReduceSum <keepdims = 0> (zeroed, one) logits = Add (total, start)"
    return graph(body, f"float[batch, {outputs}] logits", tables)


def folder_of(path: Path, model: bytes, labels: dict[str, str] | None) -> Path:
    path.mkdir()
    (path / "model.onnx").write_bytes(model)
    (path / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    (path / "config.json").write_text(json.dumps({} if labels is None else {"id2label": labels}), "utf-8")
    return path


def chunk(text: str, source: str = "f") -> EvidenceChunk:
    return EvidenceChunk(text, 0.0, source)


def test_three_labels_are_read_by_their_names(tmp_path: Path) -> None:
    judge = TransformersJudge(folder_of(tmp_path / "m", keyword_entailer(), NLI))
    items = [("yes the cat", (chunk("yes yes"),)), ("no cat", (chunk("the cat sat"),)), ("cat", (chunk("the cat"),))]
    found = judge.judge(items)
    assert [max(("supported", "contradicted", "neutral"), key=lambda name: getattr(each, name)) for each in found] == [
        "supported",
        "contradicted",
        "neutral",
    ]


def test_labels_in_another_order_are_read_by_their_names_too(tmp_path: Path) -> None:
    labels = {"0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL"}
    judge = TransformersJudge(folder_of(tmp_path / "m", keyword_entailer(), labels))
    (found,) = judge.judge([("yes the cat", (chunk("yes yes"),))])
    assert found is not None
    assert found.contradicted > 0.9


@pytest.mark.parametrize(
    "labels",
    [{"0": "not_entailment", "1": "entailment"}, {"0": "LABEL_0", "1": "LABEL_1"}, {"0": "0", "1": "Supported"}],
)
def test_two_labels_say_supported_or_not(tmp_path: Path, labels: dict[str, str]) -> None:
    judge = TransformersJudge(folder_of(tmp_path / "m", keyword_head(2), labels))
    yes, no = judge.judge([("the cat", (chunk("yes yes"),)), ("the cat", (chunk("sat"),))])
    assert yes is not None
    assert no is not None
    assert (yes.supported > 0.9, no.supported < 0.1, no.contradicted) == (True, True, 0.0)


def test_one_figure_is_how_consistent_a_claim_is(tmp_path: Path) -> None:
    judge = TransformersJudge(folder_of(tmp_path / "m", keyword_head(1), {"0": "LABEL_0"}))
    yes, no = judge.judge([("the cat", (chunk("yes"),)), ("the cat", (chunk("sat"),))])
    assert yes is not None
    assert no is not None
    assert (round(yes.supported, 3), round(no.supported, 3)) == (0.953, 0.047)  # the logistic of 3 and -3


def test_evidence_beyond_the_window_is_read_in_pieces_and_the_best_one_is_cited(tmp_path: Path) -> None:
    judge = TransformersJudge(folder_of(tmp_path / "m", keyword_head(2), {"0": "no", "1": "supported"}), max_tokens=32)
    chunks = (*(chunk("the cat sat " * 4, f"f{number}") for number in range(4)), chunk("yes yes", "last"))
    (found,) = judge.judge([("the cat", chunks)])
    assert found is not None
    assert found.supported > 0.9
    assert "last" in found.evidence_ids
    assert "f0" not in found.evidence_ids


def test_a_claim_gets_the_same_figures_alone_and_among_others(tmp_path: Path) -> None:
    judge = TransformersJudge(folder_of(tmp_path / "m", keyword_entailer(), NLI), batch_size=3)
    items = [("yes " * (number % 4) + "no cat", (chunk("the " * (number % 7) + "cat"),)) for number in range(20)]
    together = judge.judge(items)
    alone = [judge.judge([item])[0] for item in items]
    for one, other in zip(together, alone, strict=True):
        assert one is not None
        assert other is not None
        assert abs(one.supported - other.supported) < 1e-5


def test_a_template_makes_one_text_of_both(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "m", keyword_head(2), {"0": "no", "1": "supported"})
    judge = TransformersJudge(folder, template="{evidence} so {claim}")
    (found,) = judge.judge([("yes", (chunk("{claim} yes"),))])
    assert found is not None
    assert found.supported > 0.9


def test_a_folder_named_in_the_settings_judges_the_clauses_of_a_guard(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "m", keyword_head(2), {"0": "no", "1": "supported"})
    with ProductionGuard.from_profile(
        "finance", judge=f"folder:{folder}", judge_band=[0.0, 1.0], metrics=False
    ) as guard:
        guard.load_facts({"cat": "yes, the cat sat down beside the branch manager"})
        result = guard.repair_stream("", "A manager of the branch had a cat for company. yes")
        assert next(each.escalated for each in result.actions if each.verdict != "not_a_claim") is True


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"0": "a", "1": "b", "2": "c"}, "does not say which output means supported"),
        ({"0": "yes", "1": "no"}, "does not say which output means supported"),
        ({str(at): "x" for at in range(5)}, "one, two or three labels"),
    ],
)
def test_labels_that_say_nothing_are_refused(tmp_path: Path, labels: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        TransformersJudge(folder_of(tmp_path / "m", keyword_entailer(), labels))


def test_labels_may_be_told(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "m", keyword_entailer(), {"0": "a", "1": "b", "2": "c"})
    judge = TransformersJudge(folder, labels=("supported", "contradicted", "neutral"))
    (found,) = judge.judge([("yes", (chunk("yes"),))])
    assert found is not None
    assert found.supported > 0.9


def test_a_head_with_more_outputs_than_labels_is_refused(tmp_path: Path) -> None:
    judge = TransformersJudge(folder_of(tmp_path / "m", keyword_entailer(), {"0": "no", "1": "supported"}))
    with pytest.raises(ModelError, match="must give 2 figures for each pair"):
        judge.judge([("the cat", (chunk("yes"),))])


def test_figures_that_are_not_numbers_are_no_answer(tmp_path: Path) -> None:
    broken = np.full((len(VOCABULARY) - 1, 3), np.nan, np.float32)
    tables = {"word_table": broken, "side_table": np.zeros((2, 3), np.float32), "start": np.zeros(3, np.float32)}
    body = f"{MEAN} zeroed = Mul (embedded, column) total = ReduceSum <keepdims = 0> (zeroed, one) logits = Add (total, start)"
    judge = TransformersJudge(folder_of(tmp_path / "m", graph(body, "float[batch, 3] logits", tables), NLI))
    with pytest.raises(ModelError, match="not a number"):
        judge.judge([("the cat", (chunk("yes"),))])


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json"])
def test_a_folder_without_its_files_is_refused(tmp_path: Path, missing: str) -> None:
    folder = folder_of(tmp_path / "m", keyword_entailer(), NLI)
    (folder / missing).unlink()
    with pytest.raises(ModelError, match=missing):
        TransformersJudge(folder)


def test_without_onnx_and_without_torch_the_message_says_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path / "m", keyword_entailer(), NLI)
    (folder / "model.onnx").unlink()
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ModelError, match="need torch and transformers"):
        TransformersJudge(folder)
    with pytest.raises(ModelError, match="export the model"):
        TransformersJudge(folder, runtime="onnx")


@pytest.mark.parametrize(
    "options",
    [{"runtime": "tf"}, {"template": "only {claim}"}, {"labels": ("neutral",)}, {"labels": ("yes", "no")}],
    ids=repr,
)
def test_options_that_cannot_be_right_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    folder = folder_of(tmp_path / "m", keyword_entailer(), NLI)
    with pytest.raises((ConfigError, UnknownOption)):
        TransformersJudge(folder, **options)
