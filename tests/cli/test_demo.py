"""The demo, as a person runs it: three planted errors, none of them shown as true."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).parent / "director-ai")
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x1b]*\x1b\\)")
STRUCK = re.compile(r"\[-.*?-\]", re.DOTALL)
PLANTED = ("3.1 %", "Martin", "airport")


def run(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "120", **more}
    return subprocess.run(
        [COMMAND, "demo", *arguments], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


def on_a_terminal(folder: Path, *arguments: str, columns: int = 80, **more: str) -> str:
    """Run it on a pseudo-terminal and return all that was written there."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "NO_COLOR", "TERM"}}
    process = subprocess.Popen(
        [COMMAND, "demo", "--delay", "0", "--no-report", *arguments],
        stdout=side,
        cwd=folder,
        env={**environment, "TERM": "xterm-256color", **more},
    )
    os.close(side)
    shown = b""
    try:
        while piece := os.read(main, 65536):
            shown += piece
    except OSError:  # how a pseudo-terminal says that the other side is gone
        pass
    os.close(main)
    assert process.wait() == 0
    return shown.decode()


def longest_line(shown: str) -> int:
    lines = re.split(r"[\r\n]+", ESCAPES.sub("", shown))
    return max(map(len, lines))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_two_errors_are_corrected_and_one_invention_is_redacted(shown: str) -> None:
    assert "[-3.1-]{+2.1+}" in shown
    assert "[-Martin Keller-]{+Clara Voss+}" in shown
    assert "[redacted: not supported] [-The card also opens" in shown
    assert "10: 7 kept, 2 rewritten, 1 redacted" in shown


def test_no_planted_error_is_shown_as_true(shown: str) -> None:
    answer = shown.partition("held\n")[2].partition("Clauses")[0]
    told = "\n".join(line for line in STRUCK.sub("", answer).splitlines() if "should be" not in line)
    assert not any(error in told for error in PLANTED)
    assert "Your deposits are insured up to 100,000 euros." in told


def test_each_fix_names_its_evidence_and_the_value_that_differs(shown: str) -> None:
    assert "rewritten: “3.1 %” should be “2.1 %”\n     kb:interest  Savings earn 2.1 %" in shown
    assert "rewritten: “Martin Keller” should be “Clara Voss”\n     kb:founder" in shown
    assert "redacted: the evidence does not say so" in shown


def test_the_summary_has_figures(shown: str) -> None:
    for name in ("First clause", "Held back", "Scoring", "Events"):
        assert re.search(rf"^  {name} +.*\d", shown, re.MULTILINE), name


def test_without_a_terminal_there_are_no_escapes_and_no_blanks_at_line_ends(shown: str) -> None:
    assert "\x1b" not in shown
    assert "held back:" not in shown
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_the_report_is_named_last_and_holds_the_answer(shown: str, folder: Path) -> None:
    report = folder / "director-ai-demo.html"
    assert shown.strip().splitlines()[-1].endswith(str(report.resolve()))
    page = report.read_text("ascii")
    assert "<del>3.1</del><ins>2.1</ins>" in page
    assert "<del>Martin Keller</del><ins>Clara Voss</ins>" in page
    assert "http:" not in page
    assert "https:" not in page


def test_a_terminal_gets_colours_and_a_line_that_says_what_is_held_back(folder: Path) -> None:
    shown = on_a_terminal(folder)
    assert "\x1b[9;31m3.1\x1b[0m \x1b[1;32m2.1\x1b[0m" in shown
    assert "held back: " in shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l"), "the cursor is back"
    plain = ESCAPES.sub("", shown)
    assert "redacted ─" in plain
    assert "[-" not in plain
    assert longest_line(shown) <= 80


def test_who_wants_no_colours_gets_none(folder: Path) -> None:
    shown = on_a_terminal(folder, "--no-model", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*(?:3[0-7]|4[0-7])m", shown)
    assert "[-3.1-]{+2.1+}" in ESCAPES.sub("", shown)


@pytest.mark.parametrize("columns", [20, 200])
def test_any_width_will_do(folder: Path, columns: int) -> None:
    shown = on_a_terminal(folder, "--no-model", columns=columns)
    assert longest_line(shown) <= columns
    assert "2.1" in shown


def test_a_terminal_that_cannot_move_its_cursor_gets_no_line_that_moves(folder: Path) -> None:
    shown = on_a_terminal(folder, "--no-model", TERM="dumb")
    assert "held back: " not in shown
    assert "\x1b[?25" not in shown


def test_a_terminal_without_unicode_gets_other_signs(folder: Path) -> None:
    done = run(folder, "--no-report", "--no-model", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "  ~  Savings earn" in done.stdout
    assert 'rewritten: "3.1 %" should be "2.1 %"' in done.stdout
    assert "?" not in done.stdout.replace("Account?", "").replace("account?", "")


def test_without_the_model_the_figures_are_still_corrected(tmp_path: Path) -> None:
    done = run(tmp_path, "--no-model", "--no-report")
    assert "[-3.1-]{+2.1+}" in done.stdout
    assert "Report" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_where_the_report_cannot_stand_it_goes_to_a_temporary_folder(tmp_path: Path) -> None:
    (tmp_path / "director-ai-demo.html").mkdir()
    (tmp_path / "temporary").mkdir()
    done = run(tmp_path, "--no-model", TMPDIR=str(tmp_path / "temporary"))
    assert done.returncode == 0, done.stderr
    (report,) = (tmp_path / "temporary").glob("director-ai-*/director-ai-demo.html")
    assert str(report.resolve()) in done.stdout


def test_a_report_that_was_asked_for_and_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, "--no-model", "--report", str(tmp_path / "none" / "r.html"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "2 rewritten" in done.stdout
