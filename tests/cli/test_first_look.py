"""The command as somebody meets it who makes mistakes, or has little room."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import run_command

FACTS = '{"refund": "Refunds are available within 30 days."}'


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


MISTAKES = {
    "a scope that is none": (["keys", "create", "--scope", "king"], "unknown scope 'king'"),
    "a tenant that cannot be": (["keys", "create", "--scope", "proxy", "--tenant", "../x"], "--tenant must be"),
    "a fact that says nothing": (["facts", "add", "k", "-"], "there is no text to add"),
    "a folder for facts": (["check", "x", "--facts", ".", "--no-model"], "'.' is a folder"),
    "a day that is none": (["audit", "retain", "--before", "yesterday"], "a day such as 2026-01-31"),
}


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_a_sentence_and_leaves_nothing_behind(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run_command(monkeypatch, arguments)
    assert (code, out) == (2, "")
    assert sentence in " ".join(err.split())
    assert err.startswith("director-ai: ")
    assert list(tmp_path.iterdir()) == []


def words_of(monkeypatch: pytest.MonkeyPatch, arguments: list[str], columns: int) -> str:
    """Return what a command says, one line a line of the terminal."""
    _, out, _ = run_command(monkeypatch, arguments, env={"COLUMNS": str(columns)})
    assert all(len(line) <= columns for line in out.splitlines()[:4])
    return out


def test_a_table_with_many_columns_becomes_lines_where_there_is_little_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "facts.json").write_text(FACTS, "utf-8")
    arguments = ["check", "Refunds are available within 90 days.", "--facts", "facts.json", "--no-model"]
    narrow, wide = (words_of(monkeypatch, arguments, columns) for columns in (40, 120))
    assert wide.splitlines()[0].split() == ["verdict", "support", "clause", "evidence"]
    heads = [line.split()[0] for line in narrow.splitlines() if line and not line.startswith(" ")]
    assert heads[:4] == ["verdict", "support", "clause", "evidence"]
    assert "clause   Refunds are available within 90" in narrow


def test_keys_are_listed_one_below_the_other_where_there_is_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    for label in ("first", "second"):
        run_command(monkeypatch, ["keys", "create", "--scope", "proxy", "--label", label])
    narrow = words_of(monkeypatch, ["keys", "list"], 40)
    assert [line.split()[1] for line in narrow.splitlines() if line.startswith("label")] == ["first", "second"]
    assert narrow.count("dai_") == 2
