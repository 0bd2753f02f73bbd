"""The command, as a person runs it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from director_ai import __version__
from director_ai.cli.terminal import for_terminal
from director_ai.core.safety_event import safety_event_schema

COMMAND = str(Path(sys.executable).parent / "director-ai")
COMMANDS = [["demo", "--no-report", "--no-model"], ["schema"]]


def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", **more}
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, env=environment, check=False)


def test_the_version() -> None:
    assert run("--version").stdout == f"director-ai {__version__}\n"


def test_the_schema_is_the_schema() -> None:
    assert json.loads(run("schema").stdout) == json.loads(json.dumps(safety_event_schema()))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["dmo"], "Did you mean 'demo'"), (["demo", "--delay", "x"], "--delay"), (["demo", "--delay", "-1"], "--delay")],
    ids=["unknown command", "not a number", "out of range"],
)
def test_a_mistake_gets_a_sentence_and_no_traceback(arguments: list[str], words: str) -> None:
    failed = run(*arguments)
    assert failed.returncode == 2
    assert words in failed.stderr
    assert "Traceback" not in failed.stderr + failed.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_reader_who_leaves_is_no_error(command: list[str]) -> None:
    process = subprocess.Popen([COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_gets_a_sentence(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        failed = subprocess.run([COMMAND, *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert failed.returncode != 0
    assert "Traceback" not in failed.stderr


TERMINAL = {
    "colour sequences": ("a\x1b[31mb\x1b[0mc", "abc"),
    "a window title": ("a\x1b]0;title\x07b", "ab"),
    "an unfinished sequence": ("a\x1b", "a"),
    "C1 controls": ("a\x9b31mb\x85c", "abc"),
    "carriage return and backspace": ("a\rb\x08c", "abc"),
    "bidi controls": ("a\u202eb\u2066c", "abc"),
    "line ends and tabs stay": ("a\n\tb", "a\n\tb"),
}


@pytest.mark.parametrize(("text", "shown"), TERMINAL.values(), ids=TERMINAL.keys())
def test_nothing_reaches_the_terminal_that_could_steer_it(text: str, shown: str) -> None:
    assert for_terminal(text) == shown
