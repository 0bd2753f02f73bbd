"""`director-ai facts` in a process of its own: pipes, signals, terminals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import COMMAND, HEEDING_INTERRUPTS, read_and_leave, show_on_terminal
from director_ai.knowledge import GroundTruthStore


def process(folder: Path, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "COLUMNS": "100", "DIRECTOR_AI_STORE": str(folder / "facts.db")}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen([*HEEDING_INTERRUPTS, COMMAND, "facts", *arguments], env=environment, cwd=folder, **pipes)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    with GroundTruthStore(str(tmp_path / "facts.db")) as store:
        store.add_many({f"k{n}": f"Fact number {n} of very many. {'x' * 200}" for n in range(2_000)})
    return tmp_path


@pytest.mark.parametrize("arguments", [["list", "--limit", "2000"], ["list", "--json"], ["export"]], ids=" ".join)
def test_a_reader_who_leaves_is_no_error(many: Path, arguments: list[str]) -> None:
    assert read_and_leave(process(many, *arguments)) == b""


@pytest.mark.parametrize("arguments", [["import", "-", "--words"], ["add", "k", "-", "--words"]], ids=" ".join)
def test_a_closed_standard_input_gets_a_sentence(tmp_path: Path, arguments: list[str]) -> None:
    running = process(tmp_path, *arguments, stdin=None, preexec_fn=lambda: os.close(0))
    out, err = running.communicate()
    assert (running.returncode, out) == (2, b"")
    assert b"standard input" in err
    assert b"Traceback" not in err


@pytest.mark.parametrize("arguments", [["list", "--json"], ["export"]], ids=" ".join)
def test_a_closed_standard_output_gets_a_sentence(many: Path, arguments: list[str]) -> None:
    running = process(many, *arguments, stdout=None, preexec_fn=lambda: os.close(1))
    _, err = running.communicate()
    assert running.returncode == 2
    assert b"standard output is closed" in err
    assert b"Traceback" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("arguments", [["list", "--json"], ["export"], ["export", "/dev/full"]], ids=" ".join)
def test_a_full_disk_gets_a_sentence(many: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        running = process(many, *arguments, stdout=full)
        _, err = running.communicate()
    assert running.returncode in {1, 2}
    assert b"No space left" in err
    assert b"Traceback" not in err


def test_ctrl_c_in_a_load_stores_nothing(tmp_path: Path) -> None:
    running = process(tmp_path, "import", "-", "--words", stdin=subprocess.PIPE)
    assert running.stdin
    running.stdin.write(b'{"director_ai": "facts", "format": 1}\n')
    for n in range(20_000):  # far more than a pipe holds: whoever has taken it is in the middle of the load
        running.stdin.write(b'{"key": "k%d", "text": "Fact %d."}\n' % (n, n))
    running.stdin.flush()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    assert running.returncode not in {0, None}
    assert out == b""
    assert b"Traceback" not in err
    with GroundTruthStore(str(tmp_path / "facts.db")) as store:
        assert list(store.facts()) == []


def test_words_alone_load_no_model(tmp_path: Path) -> None:
    arguments = ["facts", "add", "a", "So it is.", "--words", "--store", str(tmp_path / "facts.db")]
    script = (
        f"import sys; from director_ai.cli import app; assert 'numpy' not in sys.modules; "
        f"app({arguments!r}, standalone_mode=False); assert 'onnxruntime' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_the_output_of_a_terminal_without_unicode_loses_nothing_as_json(tmp_path: Path) -> None:
    with GroundTruthStore(str(tmp_path / "facts.db")) as store:
        store.add("cafe", "Le café ouvre à neuf heures.")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "DIRECTOR_AI_STORE": str(tmp_path / "facts.db")}
    ran = subprocess.run([COMMAND, "facts", "export"], capture_output=True, env=environment, check=True)
    assert json.loads(ran.stdout.splitlines()[1])["text"] == "Le café ouvre à neuf heures."


def test_a_progress_bar_is_shown_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("\n\n".join(f"The shop number {n} opens at nine." for n in range(600)))
    quiet = process(tmp_path, "ingest", "many.txt", "--words", "--no-conflicts")
    assert quiet.communicate()[1] == b""
    ingest = ("ingest", "many.txt", "--words", "--no-conflicts", "--json")
    _, out, shown = show_on_terminal(lambda side: process(tmp_path, *ingest, stderr=side))
    assert b"ingesting" in shown
    assert json.loads(out)["unchanged"] == 600
