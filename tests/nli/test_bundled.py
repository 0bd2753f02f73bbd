"""The model that comes with the package: the file that was meant, and the judgements it must not get wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import director_ai.nli
from director_ai.nli import load_encoder, load_entailer

FOLDER = Path(director_ai.nli.__file__).parent / "models" / "entailer"

REFUND = "Refunds are available within 30 days of delivery."
SUPPORTED = {
    "the fact itself": (REFUND, REFUND),
    "part of it": (REFUND, "Refunds are available."),
    "in other words": (REFUND, "You can get a refund within 30 days of delivery."),
    "one fact among several": (
        f"The shop opens at nine. {REFUND} Shipping is free.",
        "Refunds are available within 30 days.",
    ),
    "a passive": ("Marie Curie discovered polonium in 1898.", "Polonium was discovered by Marie Curie."),
}
CONTRADICTED = {
    "another number": (REFUND, "Refunds are available within 90 days of delivery."),
    "a negation": (REFUND, "Refunds are not available."),
    "another year": ("The bridge was opened in 1937.", "The bridge was opened in 1951."),
    "another role": ("The CEO is Jane Doe.", "The CEO is a robot."),
    "the opposite": ("The museum is closed on Mondays.", "The museum is open on Mondays."),
}
NEUTRAL = {
    "something else": (REFUND, "Late refunds get a bonus."),
    "another topic": (REFUND, "The company was founded in Berlin."),
}


@pytest.mark.parametrize("pair", SUPPORTED.values(), ids=SUPPORTED.keys())
def test_what_the_premise_says_is_supported(pair: tuple[str, str]) -> None:
    assert load_entailer().predict([pair])[0].supported > 0.5


@pytest.mark.parametrize("pair", CONTRADICTED.values(), ids=CONTRADICTED.keys())
def test_what_the_premise_denies_is_contradicted(pair: tuple[str, str]) -> None:
    prediction = load_entailer().predict([pair])[0]
    assert prediction.contradicted > 0.5 > prediction.supported


@pytest.mark.parametrize("pair", NEUTRAL.values(), ids=NEUTRAL.keys())
def test_what_the_premise_does_not_mention_is_neither(pair: tuple[str, str]) -> None:
    prediction = load_entailer().predict([pair])[0]
    assert prediction.neutral > max(prediction.supported, prediction.contradicted)


def test_padding_and_company_change_no_score_by_more_than_a_ten_thousandth() -> None:
    pairs = [*SUPPORTED.values(), *CONTRADICTED.values(), *NEUTRAL.values(), (REFUND * 12, "Refunds are free.")]
    together = load_entailer(cache_size=0, batch_tokens=8192).predict(pairs)
    alone = [load_entailer(cache_size=0, batch_tokens=1).predict([pair])[0] for pair in pairs]
    for one, other in zip(together, alone, strict=True):
        assert one.supported == pytest.approx(other.supported, abs=1e-4)
        assert one.contradicted == pytest.approx(other.contradicted, abs=1e-4)


def test_the_encoder_finds_the_passage_that_a_question_is_about() -> None:
    passages = [REFUND, "The shop opens at nine.", "Return shipping is free.", "The museum is closed on Mondays."]
    questions = [
        "How long can I get my money back?",
        "When do you open?",
        "Who pays for sending it back?",
        "Is the museum open today?",
    ]
    encoder = load_encoder()
    assert (encoder.encode(questions) @ encoder.encode(passages).T).argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_the_bundled_models_are_at_most_65_mb() -> None:
    assert sum(path.stat().st_size for path in FOLDER.parent.rglob("*") if path.is_file()) <= 65_000_000


def test_the_bundled_file_is_the_one_that_was_meant() -> None:
    manifest = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    assert manifest["version"] == "5"
    assert load_entailer().digest == "ae317ad8384c0d5f9f3a97ac77805e54d7db7b8cf673e2dde23f3b5fac502e50"
    assert (FOLDER / "model.onnx").stat().st_size <= 40_000_000
    assert (FOLDER / "README.md").read_text("utf-8").startswith("# director-entailer, version 5")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from where Linux keeps it")
def test_a_pair_is_scored_within_250_mb() -> None:
    code = (
        "from director_ai.nli import load_entailer;"
        "load_entailer().predict([('The shop opens at nine.', 'The shop opens at ten.')]);"
        "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) / 1024 <= 250
    assert done.stderr == "", "loads without warnings"
