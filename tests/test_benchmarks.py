"""Every benchmark of `make bench` starts and finishes, on tiny data and without peers."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from director_ai import EvidenceChunk

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
TINY = {
    "kernel": ["--tiny"],
    "segmenter": ["--tiny"],
    "slots": ["--tiny"],
    "knowledge": ["--facts", "1000", "--words", "--skip-postgres", "--data", "absent"],
    "scoring": ["speed", "--runs", "1"],
    "streaming_false_halt_bench": ["--tiny"],
    "regression_suite": ["--tiny"],
    "answers": ["answers.jsonl.gz", "--profiles", "finance", "--list"],
    "pii": [".", "--no-peer", "--skip-hostile"],
    "model": ["--tiny"],
    "injection": ["--tiny", "--no-model", "absent"],
    "merge": ["--tiny"],
    "repair": ["passages", "--passages", "1"],
    "review": ["growth", "--sqlite", "--rows", "20", "--count", "8", "--rounds", "1", "--races", "2"],
}
ANSWER = {
    "id": "ferry",
    "lang": "en",
    "shape": "text",
    "kind": "number",
    "question": "How long is the crossing?",
    "facts": {"crossing": "The crossing to Marsk takes 40 minutes."},
    "right": "The crossing to Marsk takes 40 minutes.",
    "wrong": "The crossing to Marsk takes 70 minutes.",
    "error_span": "70 minutes",
    "truth": "40 minutes",
}
PERSONAL = {"text": "Write to ada@example.com.", "spans": [{"start": 9, "end": 24, "label_type": "EMAIL_ADDRESS"}]}
DATA = {
    "answers.jsonl.gz": [ANSWER],
    "aux_pii_presidio.jsonl.gz": [PERSONAL, PERSONAL],
    "frank.jsonl.gz": [{"premise": "The mayor opened a bridge on Monday."}],
}
ELSEWHERE = {"serve": "tests/test_serve_benchmark.py"}


def test_every_benchmark_of_the_makefile_is_tried() -> None:
    run = set(re.findall(r"benchmarks/(\w+)\.py", (ROOT / "Makefile").read_text("utf-8")))
    assert run == TINY.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_runs_to_its_end(name: str, tmp_path: Path) -> None:
    for file, rows in DATA.items():
        (tmp_path / file).write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *TINY[name]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


def test_the_peer_is_compared_with_modules_that_are_there() -> None:
    import merge

    subprocess.run([sys.executable, "-c", merge.IMPORTS["ours"]], check=True, timeout=60)


def test_a_recorded_judge_answers_what_was_recorded_and_writes_down_the_rest(tmp_path: Path) -> None:
    from recorded_judge import Cassette

    evidence = (EvidenceChunk("The fee is 5 EUR.", "fee"),)
    first = Cassette(tmp_path / "judge.jsonl")
    with pytest.raises(LookupError):
        first.judge().judge([("It costs five euros.", evidence)], question="What is the fee?")
    first.write_missing(tmp_path / "missing.jsonl")
    (missing,) = map(json.loads, (tmp_path / "missing.jsonl").read_text("utf-8").splitlines())
    assert missing["message"]["question"] == "What is the fee?"

    answer = {"verdicts": [{"id": 1, "verdict": "supported", "evidence": ["E1"], "correction": ""}]}
    (tmp_path / "judge.jsonl").write_text(json.dumps({"prompt": missing["prompt"], "answer": answer}) + "\n", "utf-8")
    second = Cassette(tmp_path / "judge.jsonl")
    (verdict,) = second.judge().judge([("It costs five euros.", evidence)], question="What is the fee?")
    assert verdict is not None
    assert (verdict.supported > 0.9, second.missing) == (True, {})


def test_what_the_peer_does_not_approve_counts_as_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    import answers

    silent = {**ANSWER, "kind": "noinfo", "right": "I do not know. Ask the harbour.", "wrong": None, "error_span": None}
    tool = {**ANSWER, "shape": "json"}
    given: list[dict] = []

    def approve_all_but_the_error(texts: list[dict], python: str, profile: str) -> dict:
        given.extend(texts)
        assert (python, profile) == ("python", "finance")
        return {"clauses": [[[0.9, "70" not in clause] for clause in text["clauses"]] for text in texts]}

    monkeypatch.setattr(answers, "check_clauses", approve_all_but_the_error)
    row = answers.checked_by_peer([ANSWER, silent, tool], "finance", "python")
    assert [text["clauses"] for text in given] == [
        ["The crossing to Marsk takes 40 minutes."],
        ["The crossing to Marsk takes 70 minutes."],
        ["I do not know. ", "Ask the harbour."],
    ]
    assert row["right answers byte for byte"].startswith("1/1 ")
    assert row["errors gone"].startswith("1/1 ")
    assert row["no-info answers kept"] == "1/1"
