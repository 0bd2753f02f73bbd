"""`director-ai check`: the verdict on an answer, for people and for scripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import BY_FACTS, RIGHT, WRONG, Commands


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Commands:
    return Commands(monkeypatch, tmp_path)


def test_an_answer_that_facts_support_is_approved(commands: Commands) -> None:
    ran = commands.run("check", f"Hello! {RIGHT}", *BY_FACTS)
    assert ran.code == 0, ran.err
    assert "approved" in ran.out
    assert "✓ supported" in ran.out
    assert "· not a claim" in ran.out
    assert "█" in ran.out


def test_one_that_they_contradict_is_not_and_the_value_is_named(commands: Commands) -> None:
    ran = commands.run("check", WRONG, *BY_FACTS)
    assert ran.code == 1
    assert "not approved" in ran.out
    assert "“90 days”: the evidence has “30 days”" in ran.out
    assert "refund" in ran.out


def test_the_answer_comes_from_an_argument_a_file_or_the_standard_input(commands: Commands) -> None:
    (commands.folder / "answer.txt").write_text(WRONG)
    for ran in (
        commands.run("check", WRONG, *BY_FACTS, "--json"),
        commands.run("check", "--file", "answer.txt", *BY_FACTS, "--json"),
        commands.run("check", "-", *BY_FACTS, "--json", stdin=WRONG.encode()),
        commands.run("check", *BY_FACTS, "--json", stdin=WRONG.encode()),
    ):
        assert ran.code == 1
        (record,) = ran.records
        assert record["approved"] is False
        assert record["clauses"][0]["evidence_ids"] == ["refund"]
        assert record["clauses"][0]["differences"] == [{"kind": "duration", "said": "90 days", "evidence": "30 days"}]


def test_facts_come_from_a_store_or_a_document_too(commands: Commands) -> None:
    assert commands.run("facts", "add", "refund", RIGHT, "--words", "--store", "known.db").code == 0
    (commands.folder / "facts.md").write_text(f"# Refunds\n\n{RIGHT}\n")
    for place in (("--store", "known.db"), ("--facts", "facts.md")):
        assert commands.run("check", RIGHT, *place, "--no-model").code == 0
        assert commands.run("check", WRONG, *place, "--no-model").code == 1
    known = {"DIRECTOR_AI_STORE": "known.db"}
    assert commands.run("check", WRONG, "--no-model", env=known).code == 1


def test_facts_of_a_file_are_kept_nowhere(commands: Commands) -> None:
    before = sorted(commands.folder.iterdir())
    commands.run("check", RIGHT, *BY_FACTS)
    assert sorted(commands.folder.iterdir()) == before


def test_nothing_in_an_answer_reaches_the_terminal_as_a_command(commands: Commands) -> None:
    ran = commands.run("check", "Refunds \x1b[31mare\u202e free [bold]now[/].", *BY_FACTS)
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "[bold]" in ran.out


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["x"], b"", "nothing to judge by"),
        (["", *BY_FACTS], b"", "it is empty"),
        ([*BY_FACTS], b"", "it is empty"),
        ([*BY_FACTS], b"\xff\xfe", "not UTF-8"),
        (["x", "--file", "answer.txt", *BY_FACTS], b"", "not both"),
        (["--file", "missing.txt", *BY_FACTS], b"", "cannot be read"),
        (["--file", ".", *BY_FACTS], b"", "cannot be read"),
        (["x", "--facts", "missing.json"], b"", "cannot be read"),
        (["x", "--facts", "bad.json"], b"", "not JSON"),
        (["x", "--facts", "list.json"], b"", "a text for each key"),
        (["x", "--facts", "facts.json", "--store", "a.db"], b"", "not both"),
        (["x", "--store", "missing.db"], b"", "no knowledge base"),
        (["x", *BY_FACTS, "--tenant", "../x"], b"", "tenant_id"),
        (["x", "--facts", "facts.json", "--profile", "finanse"], b"", "did you mean 'finance'"),
        (["x", *BY_FACTS, "--config", "missing.toml"], b"", "no file"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_bad_input_is_a_sentence(commands: Commands, arguments: list[str], stdin: bytes, message: str) -> None:
    (commands.folder / "bad.json").write_text("{")
    (commands.folder / "list.json").write_text('{"a": 1}')
    ran = commands.run("check", *arguments, stdin=stdin)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def test_the_help_shows_an_example(commands: Commands) -> None:
    assert "For example: director-ai check" in commands.run("check", "--help").out
