"""Runs a command in this process, or in one of its own, as a terminal would see it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from director_ai.cli import main

COMMAND = str(Path(sys.executable).parent / "director-ai")
HEEDING_INTERRUPTS = (
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Before a program: ctrl-C reaches it, even if the tests run in the background of a shell, where it is ignored."""


def run_command(
    patch: pytest.MonkeyPatch, arguments: list[str], *, stdin: bytes = b"", env: dict[str, str] | None = None
) -> tuple[int, str, str]:
    """Return the exit status, the output and the errors; a traceback is never shown."""
    patch.setattr(sys, "argv", ["director-ai", *arguments])
    with CliRunner().isolation(input=stdin, env=env) as streams:
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = streams[0].getvalue().decode(), streams[1].getvalue().decode()
    assert "Traceback" not in out + err
    return code, out, err


def read_and_leave(running: subprocess.Popen[bytes]) -> bytes:
    """Read the beginning of what a process writes, go away, and return its errors."""
    assert running.stdout
    running.stdout.read(10)
    running.stdout.close()
    return running.communicate()[1]


def show_on_terminal(
    start: Callable[[int], subprocess.Popen[bytes]], hear: Callable[[subprocess.Popen[bytes], bytes], Any] | None = None
) -> tuple[int, bytes, bytes]:
    """Start a process with a terminal for its errors; return its exit status, its output, and what was shown."""
    main_end, side = pty.openpty()
    running = start(side)
    os.close(side)
    shown = b""
    try:
        while piece := os.read(main_end, 65536):
            shown += piece
            if hear:
                hear(running, shown)
    except OSError:  # how a pseudo-terminal says that the other side is gone
        pass
    os.close(main_end)
    out, _ = running.communicate()
    return running.returncode, out, shown
