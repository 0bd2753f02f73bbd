"""Runs a command in this process, as a terminal would see it."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from director_ai.cli import main


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
