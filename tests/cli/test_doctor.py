"""`director-ai doctor` and `director-ai bench`: what is here, whole, and how quick."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from judging import Commands

from director_ai.cli import examining
from director_ai.cli.examining import EXTRAS
from director_ai.nli import loading

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Commands:
    return Commands(monkeypatch, tmp_path)


def states(commands: Commands, code: int, *arguments: str, env: dict[str, str] | None = None) -> dict[str, str]:
    ran = commands.run("doctor", "--json", *arguments, env=env)
    assert ran.code == code, ran.out + ran.err
    return {record["what"]: record["state"] for record in ran.records}


def test_an_installation_that_is_whole_is_well(commands: Commands) -> None:
    found = states(commands, 0)
    assert {found[name] for name in ("Python", "director-ai", "model entailer", "model encoder", "judging")} == {"ok"}
    assert (found["knowledge base"], found["reviews"]) == ("note", "note")
    shown = commands.run("doctor").out
    assert "✓" in shown
    assert "facts add and facts ingest make one" in shown


def test_an_altered_model_is_broken(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(loading.BUNDLED, commands.folder / "models")
    tokenizer = commands.folder / "models" / "entailer" / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes() + b" ")
    monkeypatch.setattr(loading, "BUNDLED", commands.folder / "models")
    found = states(commands, 1)
    assert (found["model entailer"], found["model encoder"], found["judging"]) == ("broken", "ok", "broken")


def test_databases_that_are_there_are_opened(commands: Commands) -> None:
    commands.run("facts", "add", "a", "The shop opens at nine.", "--words")
    (commands.folder / "director.db").write_bytes(b"not a database, whatever its name says" * 100)
    found = states(commands, 1)
    assert (found["knowledge base"], found["reviews"]) == ("ok", "broken")
    (commands.folder / "facts.db").write_bytes(b"not a database either" * 100)
    assert states(commands, 1)["knowledge base"] == "broken"


def test_settings_that_cannot_be_right_are_broken(commands: Commands) -> None:
    assert states(commands, 1, env={"DIRECTOR_AI_TOP_K": "many"})["settings"] == "broken"
    (commands.folder / "a.toml").write_text("profile = 'finanse'")
    assert states(commands, 1, "--config", "a.toml")["settings"] == "broken"


def test_a_part_that_is_not_installed_is_no_fault(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(examining.EXTRAS, "pdf", (("no_such_module",), "facts from PDF pages"))
    ran = commands.run("doctor", "--json")
    assert ran.code == 0
    (pdf,) = (record for record in ran.records if record["what"] == "extra pdf")
    assert (pdf["state"], pdf["advice"]) == ("note", "pip install '.[pdf]'")


def test_every_extra_that_brings_something_is_examined() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {name for name in extras if name not in {"all", "dev", "bench", "nli", "presidio"}} <= set(EXTRAS)


def test_a_benchmark_prints_figures(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = sys.modules["director_ai.cli.bench"]  # the package's own name for it is the command
    monkeypatch.setattr(bench, "ROUNDS", 1)
    monkeypatch.setattr(bench, "ROWS", 50)
    ran = commands.run("bench", "--json")
    assert ran.code == 0, ran.err
    assert [record["unit"] for record in ran.records] == ["µs", "ms", "ms", "rows"]
    assert all(record["value"] > 0 for record in ran.records)
    assert "--peer must be a Python" in commands.run("bench", "--peer", "/no/such/python").err
