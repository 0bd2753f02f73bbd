"""`director-ai repair`: a filter for pipes, byte for byte and live."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judging import BY_FACTS, RIGHT, WRONG, Commands

from commands import COMMAND, HEEDING_INTERRUPTS


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Commands:
    return Commands(monkeypatch, tmp_path)


class Running:
    """The command in a process of its own, with pipes."""

    def __init__(self, folder: Path) -> None:
        program = [*HEEDING_INTERRUPTS, COMMAND, "repair", *BY_FACTS]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(program, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe)
        self.stdin: Any = self.process.stdin
        self.stdout: Any = self.process.stdout
        self.stderr: Any = self.process.stderr

    def say(self, text: bytes) -> None:
        self.stdin.write(text)
        self.stdin.flush()

    def hear(self) -> bytes:
        return os.read(self.stdout.fileno(), 100)

    def end(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def running(commands: Commands) -> Iterator[Running]:
    made = Running(commands.folder)
    with made.process:
        yield made
        made.process.kill()


@pytest.mark.parametrize(
    "text",
    ["", "\n", "Hello!\r\n\r\n", "\ufeffHello!\tYou 👩🏽‍🚀\u2028there\x00 — \r", f"{RIGHT}\r\n  {RIGHT}\n", "no end"],
    ids=["nothing", "a line end", "line ends of Windows", "odd characters", "facts", "no end"],
)
def test_what_is_supported_or_claims_nothing_leaves_byte_for_byte(commands: Commands, text: str) -> None:
    ran = commands.run("repair", "--facts", "facts.json", "--profile", "general", "--no-model", stdin=text.encode())
    assert ran.code == 0, ran.err
    assert ran.out.encode() == text.encode()


def test_a_wrong_value_is_patched(commands: Commands) -> None:
    ran = commands.run("repair", *BY_FACTS, stdin=f"Hello! {WRONG}\r\nBye.".encode())
    assert (ran.code, ran.out) == (0, f"Hello! {RIGHT}\r\nBye.")


def test_a_halt_is_an_exit_status_and_a_reason(commands: Commands) -> None:
    ran = commands.run("repair", *BY_FACTS, "--halt", stdin=f"Hello! {WRONG} Bye.".encode())
    assert (ran.code, ran.out) == (1, "Hello! ")
    assert "halted: unsupported_clause" in ran.err


def test_json_tells_what_was_done_to_each_clause(commands: Commands) -> None:
    *pieces, last = commands.run("repair", *BY_FACTS, "--json", stdin=f"Hello! {WRONG}".encode()).records
    assert "".join(piece["text"] for piece in pieces) == f"Hello! {RIGHT}"
    actions = [action for piece in pieces for action in piece["actions"]]
    assert [action["action"] for action in actions] == ["keep", "rewrite"]
    assert last["result"] == {
        "clauses": 2, "kept": 1, "rewritten": 1, "redacted": 0, "halted": False, "halt_reason": "",
    }  # fmt: skip


def test_a_report_is_written(commands: Commands) -> None:
    assert commands.run("repair", *BY_FACTS, "--report", "report.html", stdin=WRONG.encode()).code == 0
    assert "30 days" in (commands.folder / "report.html").read_text()


def test_text_that_is_not_utf8_ends_there_with_a_sentence(commands: Commands) -> None:
    ran = commands.run("repair", *BY_FACTS, stdin=f"{RIGHT} ".encode() + b"\xff more")
    assert ran.code == 2
    assert "not UTF-8" in ran.err
    assert ran.out == f"{RIGHT} "


def test_clauses_leave_while_the_input_is_open(running: Running) -> None:
    """The rest is written only after the first clause was read: a command that buffered would hang."""
    running.say(b"Hello! Refunds are available within 90 da")
    assert running.hear() == b"Hello! "
    letters = "ys. Grüße!".encode()
    running.say(letters[:7])  # half a letter
    assert running.hear() == b"Refunds are available within 30 days. "
    running.say(letters[7:])
    code, out, err = running.end()
    assert (code, err) == (0, b"")
    assert out.decode() in {"Grüße!", "[redacted: not supported]"}


def test_a_reader_that_leaves_ends_it_quietly(running: Running) -> None:
    running.say(b"Hello! Hello! ")
    running.hear()
    running.stdout.close()
    with pytest.raises(BrokenPipeError):
        for _ in range(10_000):
            running.say(b"Hello! " * 100)
    assert running.process.wait(60) == 0
    assert running.stderr.read() == b""
    with contextlib.suppress(BrokenPipeError):
        running.stdin.close()


def test_an_interrupt_ends_it_quietly_and_shows_nothing_unjudged(running: Running) -> None:
    running.say(b"Hello! Refunds are available within 9")
    assert running.hear() == b"Hello! "
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(60) == 130
    assert (running.stdout.read(), running.stderr.read()) == (b"", b"")


def test_a_closed_input_is_a_sentence(commands: Commands) -> None:
    program = f"{sys.executable} -c 'from director_ai.cli import main; main()' repair {' '.join(BY_FACTS)} <&-"
    ran: Any = subprocess.run(program, shell=True, cwd=commands.folder, capture_output=True, timeout=60, check=False)
    assert ran.returncode == 2
    assert b"standard input is closed" in ran.stderr


def test_the_help_shows_an_example(commands: Commands) -> None:
    assert "| director-ai repair" in commands.run("repair", "--help").out.replace("\n", " ")
