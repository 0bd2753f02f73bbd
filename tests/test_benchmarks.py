"""Every benchmark of `make bench` still starts and finishes: on next to nothing, without data and without peers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TINY = {
    "kernel": ["--tiny"],
    "segmenter": ["--tiny"],
    "slots": ["--tiny"],
    "knowledge": ["--facts", "1000", "--words", "--skip-postgres", "--data", "absent"],
    "scoring": ["speed", "--runs", "1"],
    "streaming_false_halt_bench": ["--tiny"],
    "regression_suite": ["--tiny"],
    "answers": ["absent"],
    "pii": ["absent"],
    "model": ["--rounds", "1", "--skip-accuracy"],
    "injection": ["--tiny", "--no-model", "absent"],
    "merge": ["--tiny"],
    "repair": ["passages", "--passages", "1"],
    "review": ["growth", "--sqlite", "--rows", "20", "--count", "8", "--rounds", "1", "--races", "2"],
}
ELSEWHERE = {"serve": "tests/test_serve_benchmark.py"}


def test_every_benchmark_of_the_makefile_is_tried() -> None:
    run = set(re.findall(r"benchmarks/(\w+)\.py", (ROOT / "Makefile").read_text("utf-8")))
    assert run == TINY.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_runs_to_its_end(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *TINY[name]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


def test_the_peer_is_compared_with_modules_that_are_there() -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import merge

    subprocess.run([sys.executable, "-c", merge.IMPORTS["ours"]], check=True, timeout=60)
