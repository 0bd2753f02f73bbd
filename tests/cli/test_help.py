"""The help of every command: complete, and readable also where there is little room."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from commands import run_command
from director_ai.cli import app


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from walk(each, (*path, name))


COMMANDS = dict(walk(typer.main.get_command(app)))
by_command = pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "director-ai")


def help_of(monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...], columns: int) -> str:
    """Return the letters of a help, without its frames, blanks and line ends."""
    env = {"COLUMNS": str(columns), "TERMINAL_WIDTH": ""}
    code, out, err = run_command(monkeypatch, [*path, "--help"], env=env)
    assert (code, err) == (0, "")
    return re.sub(r"[│╭╮╰╯─\s]", "", out)


def defaults_of(command: Any) -> list[str]:
    """Return what the help must say of the defaults of a command's options, in words where they are no values."""
    told = []
    for option in command.params:
        if isinstance(option.show_default, str):
            told.append(f"default: ({option.show_default})")
        elif option.show_default and option.default not in (None, "", False, True) and not callable(option.default):
            told.append(f"default: {option.default}")
    return told


@by_command
@pytest.mark.parametrize("columns", [60, 160])
def test_the_help_says_every_default(monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...], columns: int) -> None:
    shown = help_of(monkeypatch, path, columns)
    assert [told for told in defaults_of(COMMANDS[path]) if "".join(told.split()) not in shown] == []


@by_command
def test_what_an_option_does_without_a_value_is_said_as_its_default(path: tuple[str, ...]) -> None:
    words = {"/".join(option.opts): getattr(option, "help", "") or "" for option in COMMANDS[path].params}
    assert {name: text for name, text in words.items() if "[" in text or "default" in text} == {}


@by_command
@pytest.mark.parametrize("columns", [40, 160])
def test_no_name_is_cut_where_there_is_little_room(
    monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...], columns: int
) -> None:
    shown = help_of(monkeypatch, path, columns)
    names = [name for option in COMMANDS[path].params for name in (*option.opts, *option.secondary_opts)]
    assert [name for name in names if name not in shown] == []


def test_some_defaults_are_there_at_all() -> None:
    assert sum(len(defaults_of(command)) for command in COMMANDS.values()) > 60


@by_command
def test_every_command_says_what_it_does_and_gives_an_example(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    assert command.help
    if not hasattr(command, "commands"):
        assert "director-ai" in f"{command.help} {command.epilog}"
