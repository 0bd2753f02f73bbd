"""A model that cannot be loaded stops a guard from starting, unless going on without it was chosen; then all say so."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from director_ai import ConfigError, DirectorError, ProductionGuard
from director_ai.core.streaming_repair import REDACTED_CLAUSE, StreamingRepairer
from director_ai.errors import ModelUnavailable
from director_ai.knowledge.store import GroundTruthStore
from director_ai.nli import loading
from director_ai.scorer import CoherenceScorer
from director_ai.settings import GuardSettings

FACTS = {"ferry": "The ferry to Brodick leaves at 7 am.", "bikes": "A bicycle costs 4 EUR."}
RIGHT, WRONG = "A bicycle costs 4 EUR.", "A bicycle costs 9 EUR."


def _truncated(folder: Path) -> None:
    model = folder / "model.onnx"
    model.write_bytes(model.read_bytes()[:-4096])


def _flipped(folder: Path) -> None:
    content = bytearray((folder / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.onnx").write_bytes(content)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "model deleted": lambda folder: (folder / "model.onnx").unlink(),
    "model truncated": _truncated,
    "one bit of the model flipped": _flipped,
    "model empty": lambda folder: (folder / "model.onnx").write_bytes(b""),
    "tokenizer altered": lambda folder: (folder / "tokenizer.json").write_bytes(b"{}"),
    "manifest deleted": lambda folder: (folder / "manifest.json").unlink(),
    "manifest is not JSON": lambda folder: (folder / "manifest.json").write_text("{"),
    "folder deleted": shutil.rmtree,
}


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a copy of the bundled entailer, which is the one that is loaded."""
    folder = tmp_path / "entailer"
    shutil.copytree(loading.BUNDLED / "entailer", folder)
    monkeypatch.setattr(loading, "BUNDLED", tmp_path)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)  # some 30 MB, which pytest would keep for three runs


@pytest.fixture
def damaged(copy: Path) -> Path:
    (copy / "model.onnx").unlink()
    return copy


@pytest.fixture
def store() -> GroundTruthStore:
    return GroundTruthStore(facts=FACTS)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_is_refused_at_construction(copy: Path, damage: str, store: GroundTruthStore) -> None:
    DAMAGES[damage](copy)

    with pytest.raises(ModelUnavailable, match=r'model_fallback="heuristic"'):
        CoherenceScorer(ground_truth_store=store)
    with pytest.raises(ModelUnavailable, match="director-ai doctor"):
        ProductionGuard.from_profile("finance", store=store)


def test_a_damaged_encoder_is_refused_or_facts_are_found_by_their_words(
    copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert not (copy.parent / "encoder").exists()

    with pytest.raises(ModelUnavailable, match=r'the encoder cannot be loaded: .*search="words"'):
        ProductionGuard.from_profile("finance")
    with ProductionGuard.from_profile("finance", model_fallback="heuristic") as guard:
        guard.load_facts(FACTS)
        (action,) = guard.repair_stream("", WRONG).actions
        assert action.text == RIGHT
    assert "found by their words alone" in caplog.text


def test_a_model_that_onnxruntime_cannot_open_is_refused(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(onnxruntime, "InferenceSession", fail)
    with pytest.raises(ModelUnavailable, match="cannot be opened by onnxruntime"):
        CoherenceScorer()


def test_without_onnxruntime_the_error_says_what_to_install(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelUnavailable, match="pip install onnxruntime"):
        CoherenceScorer()


def test_errors_of_others_are_named_by_their_type_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from director_ai import nli

    def fail() -> None:
        raise RuntimeError("a message of somebody else")

    monkeypatch.setattr(nli, "load_entailer", fail)
    with pytest.raises(ModelUnavailable, match="RuntimeError") as caught:
        CoherenceScorer()
    assert "somebody else" not in str(caught.value)
    assert isinstance(caught.value, DirectorError)


def test_a_model_of_ones_own_needs_no_bundled_one(damaged: Path, store: GroundTruthStore) -> None:
    class Sure:
        def predict(self, pairs: Any) -> Any:
            return [(0.98, 0.01, 0.01)] * len(pairs)

    scorer = CoherenceScorer(entailer=Sure(), ground_truth_store=store)  # type: ignore[arg-type]
    assert scorer.mode == "model"


@pytest.mark.parametrize("value", ["ignore", "", None, True])
def test_a_fallback_that_does_not_exist_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="model_fallback"):
        CoherenceScorer(use_nli=False, model_fallback=value)
    with pytest.raises(ConfigError, match="model_fallback"):
        GuardSettings(model_fallback=value)


@pytest.mark.parametrize("way", ["option", "mapping", "environment"])
def test_the_fallback_is_a_setting(damaged: Path, way: str) -> None:
    ways: dict[str, Callable[[], ProductionGuard]] = {
        "option": lambda: ProductionGuard.from_profile("finance", model_fallback="heuristic", search="words"),
        "mapping": lambda: ProductionGuard.from_config({"model_fallback": "heuristic", "search": "words"}, env={}),
        "environment": lambda: ProductionGuard.from_config(
            env={"DIRECTOR_AI_MODEL_FALLBACK": "heuristic", "DIRECTOR_AI_SEARCH": "words"}
        ),
    }
    with ways[way]() as guard:
        assert guard.scorer.mode == "heuristic"


def _modes_of(guard: ProductionGuard) -> set[str]:
    guard.load_facts(FACTS)
    result = guard.repair_stream("", f"Hello! {RIGHT} {WRONG}", rewrite_fn=lambda *_: None)
    assert [action.action for action in result.actions] == ["keep", "keep", "redact"]
    halted = guard.repair_stream("", WRONG, mode="halt")
    assert halted.halted
    events = [event.attributes["mode"] for event in (*result.events, *halted.events)]
    assert len(events) == 2
    verdicts = guard.scorer.judge("", f"Hello! {RIGHT} {WRONG}")
    return {*events, *(each.mode for each in verdicts), *(each.mode for each in result.actions)}


def _counted(mode: str) -> float:
    return REGISTRY.get_sample_value("streaming_repair_judged_total", {"mode": mode}) or 0.0


def test_after_a_fallback_verdicts_actions_events_and_metrics_say_so(damaged: Path) -> None:
    with ProductionGuard.from_profile("finance", model_fallback="heuristic", search="words") as guard:
        before = _counted("heuristic"), _counted("model")
        assert _modes_of(guard) == {"heuristic"}
        assert (_counted("heuristic") - before[0], _counted("model") - before[1]) == (3, 0)


def test_heuristic_mode_by_choice_says_the_same() -> None:
    with ProductionGuard.from_profile("finance", use_nli=False, search="words") as guard:
        assert _modes_of(guard) == {"heuristic"}


def test_with_the_model_they_say_that() -> None:
    with ProductionGuard.from_profile("finance", search="words") as guard:
        before = _counted("heuristic"), _counted("model")
        assert _modes_of(guard) == {"model"}
        assert (_counted("heuristic") - before[0], _counted("model") - before[1]) == (0, 3)


def test_a_scorer_of_ones_own_is_a_model() -> None:
    actions = StreamingRepairer(lambda clause: 0.9).repair("It is so.\n\n").actions
    assert {action.mode for action in actions} == {"model"}


def test_strict_mode_starts_without_a_model_and_releases_no_claim(damaged: Path, store: GroundTruthStore) -> None:
    with ProductionGuard.from_profile("finance", strict_mode=True, store=store) as guard:
        assert guard.repair_stream("", f"Hello! {RIGHT}").repaired_text == f"Hello! {REDACTED_CLAUSE}"
        assert guard.check("", RIGHT)[1].strict_mode_rejected


def test_all_guards_of_a_process_share_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    first = CoherenceScorer()
    opened = []
    monkeypatch.setattr(loading, "Engine", lambda *given, **_: opened.append(given))

    scorers = [CoherenceScorer() for _ in range(20)]

    assert opened == []
    assert {id(scorer._entailer) for scorer in scorers} == {id(first._entailer)}


def test_a_model_that_fails_later_leaves_claims_not_evaluated(store: GroundTruthStore) -> None:
    class Broken:
        def predict(self, pairs: Any) -> Any:
            raise RuntimeError

    scorer = CoherenceScorer(entailer=Broken(), ground_truth_store=store)  # type: ignore[arg-type]
    (verdict,) = scorer.judge("", RIGHT)
    assert (verdict.verdict, verdict.reason, verdict.mode) == ("not_evaluated", "model_error", "model")
