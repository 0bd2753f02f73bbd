"""`director-ai facts`, through typer's runner and the command's own `main`."""

from __future__ import annotations

import json
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commands import run_command
from director_ai.knowledge import GroundTruthStore

REFUNDS = "Refunds are available within 30 days of delivery."
HOSTILE = "a\x1b[31mred\x1b]0;title\x07\x9b2J\rover\x08\u202eback [bold]not markup[/] :smile:"


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def records(self) -> list[Any]:
        """What `--json` printed: every line of the output has to be JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


class Facts:
    """The command, with a store of its own, going by words unless told otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "facts.db"
        self._patch = monkeypatch

    def run(self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ran:
        variables = {"COLUMNS": "120", "DIRECTOR_AI_STORE": str(self.store), "DIRECTOR_AI_USER": "ann", **(env or {})}
        return Ran(*run_command(self._patch, ["facts", *arguments], stdin=stdin, env=variables))

    def done(self, *arguments: str, **more: Any) -> Ran:
        ran = self.run(*arguments, **more)
        assert ran.code == 0, ran.err
        return ran

    def add(self, key: str, text: str, *more: str) -> Ran:
        return self.done("add", key, text, "--words", "--no-conflicts", *more)

    def file(self, name: str, text: str | bytes) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Facts:
    monkeypatch.chdir(tmp_path)
    return Facts(monkeypatch, tmp_path)


def test_a_fact_that_was_added_is_listed_with_where_it_comes_from(facts: Facts) -> None:
    assert facts.add("refunds", REFUNDS, "--source", "policy.md").out == "added refunds · revision 1\n"
    (record,) = facts.done("list", "--json").records
    assert record.pop("added_at").endswith("Z")
    assert record == {"key": "refunds", "text": REFUNDS, "source": "policy.md", "version": 1, "added_by": "ann"}
    shown = facts.done("list").out
    assert all(part in shown for part in ("refunds", "policy.md", REFUNDS))


def test_the_store_is_named_by_option_by_environment_or_is_facts_db_here(facts: Facts) -> None:
    facts.add("a", "One.", "--store", "other.db")
    assert (facts.folder / "other.db").exists()
    assert not facts.store.exists()
    facts.done("add", "b", "Two.", "--words", env={"DIRECTOR_AI_STORE": ""})
    assert [fact.key for fact in GroundTruthStore(str(facts.folder / "facts.db")).facts()] == ["b"]
    assert "facts.db" in facts.done("add", "--help").out


def test_the_same_fact_again_changes_nothing_and_another_needs_replace(facts: Facts) -> None:
    facts.add("refunds", REFUNDS)
    assert "unchanged" in facts.add("refunds", REFUNDS).out
    refused = facts.run("add", "refunds", "Refunds take 14 days.", "--words")
    assert (refused.code, refused.out) == (2, "")
    assert "the key 'refunds' already stands" in refused.err
    assert "--replace" in refused.err
    assert "updated" in facts.add("refunds", "Refunds take 14 days.", "--replace").out
    versions = facts.done("history", "refunds", "--json").records
    assert [(each["version"], each.get("ended", False)) for each in versions] == [(1, True), (2, False)]
    assert "Refunds take 14 days." in facts.done("history", "refunds").out


def test_a_fact_can_come_from_the_standard_input(facts: Facts) -> None:
    facts.done("add", "cafe", "-", "--words", stdin="Le café ouvre à neuf heures.\n".encode())
    assert facts.done("list", "--json").records[0]["text"] == "Le café ouvre à neuf heures."


def test_a_tenants_facts_are_its_own(facts: Facts) -> None:
    facts.add("hours", "The shop opens at nine.")
    facts.add("hours", "The shop opens at ten.", "--tenant", "acme")
    assert [each["text"] for each in facts.done("list", "--json").records] == ["The shop opens at nine."]
    found = facts.done("search", "When does the shop open?", "--words", "--json", "--tenant", "acme").records
    assert {(each["text"], each.get("tenant_id", "")) for each in found} == {
        ("The shop opens at nine.", ""),
        ("The shop opens at ten.", "acme"),
    }
    other = facts.done("search", "When does the shop open?", "--words", "--json", "--tenant", "bolt").records
    assert [each["text"] for each in other] == ["The shop opens at nine."]
    assert facts.run("remove", "hours", "--tenant", "bolt").code == 1
    shown = facts.done("search", "When does the shop open?", "--words", "--tenant", "acme").out.splitlines()
    assert ["(shared)" in line for line in shown if "nine" in line or "ten" in line].count(True) == 1
    assert all("(shared)" in line for line in shown if "nine" in line)
    assert "(shared)" not in facts.done("search", "When does the shop open?", "--words").out


def test_search_shows_distance_key_source_and_text(facts: Facts) -> None:
    facts.add("refunds", REFUNDS, "--source", "policy.md")
    facts.add("late", "Refunds are slow.")
    shown = facts.done("search", "Refunds are available within 90 days.", "--words").out
    assert all(part in shown for part in ("distance", "█", "refunds", "policy.md", REFUNDS))
    found = facts.done("search", "refunds", "--words", "--json", "-k", "1").records
    assert len(found) == 1
    assert 0 <= found[0]["distance"] <= 1


def test_search_says_nothing_relevant_with_exit_status_1(facts: Facts) -> None:
    facts.add("refunds", REFUNDS)
    ran = facts.run("search", "unicorns in Patagonia", "--words")
    assert (ran.code, ran.out) == (1, "nothing relevant\n")
    ran = facts.run("search", "unicorns in Patagonia", "--words", "--json")
    assert (ran.code, ran.out) == (1, "")


def test_search_by_meaning_takes_the_prompt_as_context(facts: Facts) -> None:
    facts.done("add", "basel", "The shop in Basel opens at nine.")
    facts.done("add", "bern", "The museum in Bern opens at ten.")
    found = facts.done("search", "It opens at nine.", "--prompt", "When does the Basel shop open?", "--json").records
    assert found[0]["key"] == "basel"
    assert facts.done("search", "The boutique begins its day at nine.", "--json").records[0]["key"] == "basel"


def test_removing_says_whether_there_was_anything(facts: Facts) -> None:
    facts.add("refunds", REFUNDS)
    assert facts.done("remove", "refunds").out == "removed refunds\n"
    ran = facts.run("remove", "refunds")
    assert (ran.code, ran.out) == (1, "")
    assert "no fact under this key" in ran.err
    ran = facts.run("remove", "refunds", "--json")
    assert (ran.code, ran.records) == (1, [{"key": "refunds", "removed": False}])
    assert "removed after" in facts.done("history", "refunds").out
    assert facts.done("history", "refunds", "--json").records[0]["ended"] is True
    assert facts.run("history", "never").code == 1


def test_contradictory_facts_are_shown_when_they_come_and_when_asked_for(facts: Facts) -> None:
    facts.add("old", REFUNDS)
    shown = facts.done("add", "new", REFUNDS.replace("30", "90"), "--words").out
    assert "Contradictory facts:" in shown
    assert REFUNDS in shown
    (pair,) = facts.done("conflicts", "--words", "--json").records
    assert {pair["key"], pair["other"]} == {"old", "new"}
    assert "duration" in facts.done("conflicts", "--words").out
    facts.done("remove", "old")
    assert facts.done("conflicts", "--words").out == "no contradictory facts\n"
    assert facts.done("conflicts", "--words", "--json").out == ""


def test_a_contradiction_with_a_shared_fact_says_so(facts: Facts) -> None:
    facts.add("refunds", REFUNDS)
    shown = facts.done("add", "refunds", REFUNDS.replace("30", "90"), "--words", "--tenant", "acme").out
    assert "refunds (shared)" in shown


def test_a_list_for_people_is_cut_and_says_so(facts: Facts) -> None:
    facts.add("a", "One.")
    facts.add("b", "Two.")
    ran = facts.done("list", "--limit", "1")
    assert "Two." not in ran.out
    assert "--limit" in ran.err
    assert len(facts.done("list", "--limit", "1", "--json").records) == 1
    assert facts.done("list", "--tenant", "nobody").out == ""


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_a_list_of_long_texts_shows_every_key_and_source(facts: Facts, columns: int) -> None:
    facts.add("refunds", "Refunds are available. " * 20, "--source", "policy.md")
    facts.add(f"hours-{'x' * 60}-end", "The shop opens at nine. " * 20, "--source", "hours.md")
    lines = facts.done("list", env={"COLUMNS": str(columns)}).out.splitlines()
    assert lines[0].split() == ["key", "source", "text"]
    assert lines[1].split()[:3] == ["refunds", "policy.md", "Refunds"]
    assert lines[1].rstrip().endswith("…")
    assert "".join(line.split()[0] for line in lines[2:] if line.strip()) == f"hours-{'x' * 60}-end"
    assert max(map(len, lines)) <= columns


def test_nothing_in_a_fact_steers_the_terminal(facts: Facts) -> None:
    facts.add("x", HOSTILE, "--source", HOSTILE)
    facts.add("y", HOSTILE.replace("red", "30 days"), "--by", HOSTILE)
    facts.add("y", HOSTILE.replace("red", "90 days"), "--by", HOSTILE, "--replace")
    for command in (["list"], ["search", "not markup", "--words"], ["history", "y"], ["conflicts", "--words"]):
        ran = facts.run(*command)
        controls = {c for c in ran.out + ran.err if c < " " or "\x7f" <= c < "\xa0" or c == "\u202e"}
        assert controls <= {"\n"}
    assert "[bold]not markup[/] :smile:" in facts.done("search", "not markup", "--words").out
    for command in (["list", "--json"], ["export"]):
        assert facts.done(*command).out.isascii()


# ---- documents


def test_ingest_reads_files_and_folders_and_reports(facts: Facts) -> None:
    facts.file("kb/policy.md", f"# Refunds\n\n{REFUNDS}\n")
    facts.file("kb/sub/old.txt", REFUNDS.replace("30", "90"))
    facts.file("kb/logo.png", b"\x89PNG")
    facts.file("kb/latin.txt", "Café".encode("latin-1"))
    facts.file("kb/empty.md", "")
    facts.file("kb/.git/config.txt", "Hidden things stay hidden.")
    named = facts.file("hours.txt", "The shop opens at nine.")
    ran = facts.done("ingest", "kb", named, "--words", "--json")
    (report,) = ran.records
    assert (report["files"], report["passages"]) == (3, 3)
    assert len(report["added"]) == 3
    assert {each["file"]: each["reason"] for each in report["skipped"]}.keys() == {"logo.png", "latin.txt", "empty.md"}
    assert len(report["conflicts"]) == 1
    stored = facts.done("list", "--json").records
    assert [each["source"] for each in stored] == ["hours.txt", "policy.md", "sub/old.txt"]
    text = (facts.folder / "kb/policy.md").read_text()
    assert text[stored[1]["start"] : stored[1]["end"]] == REFUNDS
    shown = facts.done("ingest", "kb", "--words", "--store", "second.db").out
    for part in ("2 files, 2 passages", "added", "logo.png", "has an unknown suffix", "Contradictory facts:"):
        assert part in shown
    quiet = facts.done("ingest", "kb", "--words", "--store", "third.db", "--no-conflicts").out
    assert "Contradictory" not in quiet


def test_ingesting_again_changes_nothing(facts: Facts) -> None:
    facts.file("kb/policy.md", REFUNDS)
    facts.done("ingest", "kb", "--words")
    (again,) = facts.done("ingest", "kb", "--words", "--json").records
    assert (again["added"], again["unchanged"]) == ([], 1)
    from_inside = facts.done("ingest", str(facts.folder / "kb" / "policy.md"), "--words", "--json").records[0]
    assert from_inside["unchanged"] == 1, "the name does not depend on where the command runs"


def test_what_a_document_no_longer_says_is_removed_with_replace(facts: Facts) -> None:
    name = facts.file("policy.md", f"{REFUNDS}\n\nReturns are free.\n")
    facts.add("own", "Not from a document.")
    facts.done("ingest", name, "--words")
    facts.file("policy.md", f"New.\n\n{REFUNDS}\n")
    ran = facts.done("ingest", name, "--words", "--dry-run", "--replace", "--json")
    would = ran.records[0]
    assert len(would["removed"]) == 2
    assert len(facts.done("list", "--json").records) == 3
    refused = facts.run("ingest", name, "--words")
    assert (refused.code, refused.out) == (2, "")
    assert "give --replace" in refused.err
    assert len(facts.done("list", "--json").records) == 3, "old and new do not stand side by side"
    facts.done("ingest", name, "--words", "--replace")
    assert {each["text"] for each in facts.done("list", "--json").records} == {"Not from a document.", "New.", REFUNDS}


EDITS = {
    "all of it moved": f"New.\n\n{REFUNDS}\n\nReturns are free.\n",
    "its end is gone": f"{REFUNDS}\n",
    "other words in the same place": f"{REFUNDS}\n\nReturns are dear.\n",
    "all of it is gone": "",
}


@pytest.mark.parametrize("edited", EDITS.values(), ids=EDITS.keys())
def test_a_document_that_has_changed_needs_replace(facts: Facts, edited: str) -> None:
    facts.file("kb/policy.md", f"{REFUNDS}\n\nReturns are free.\n")
    facts.add("own", "Not from the document.", "--source", "policy.md")
    facts.done("ingest", "kb", "--words")
    facts.done("ingest", "kb", "--words")
    before = facts.done("list", "--json").out
    facts.file("kb/policy.md", edited)
    facts.file("kb/a-new-one.md", "The shop opens at nine.")
    ran = facts.run("ingest", "kb", "--words")
    assert (ran.code, ran.out) == (2, "")
    assert "the document 'policy.md' has changed; give --replace to let it take the place of what it said" in ran.err
    dry = facts.done("ingest", "kb", "--words", "--dry-run", "--json")
    (would,) = dry.records
    assert would["stale"]
    assert would["removed"] == []
    assert "without --replace nothing is stored" in dry.err
    assert facts.done("list", "--json").out == before
    (did,) = facts.done("ingest", "kb", "--words", "--replace", "--json").records
    assert set(would["stale"]) == {*did["removed"], *did["updated"]}
    assert did["stale"] == []
    said = edited + "The shop opens at nine. Not from the document."
    assert all(each["text"] in said for each in facts.done("list", "--json").records)


def test_rows_without_a_key_of_their_own_are_told_apart_by_their_file(facts: Facts) -> None:
    facts.file("kb/a.csv", "id,fact\n1,The shop opens at nine.\n")
    facts.file("kb/b.jsonl", '{"id": 1, "text": "Returns are free."}\n')
    facts.done("ingest", "kb", "--words")
    assert [each["key"] for each in facts.done("list", "--json").records] == ["a.csv#1", "b.jsonl#1"]


@pytest.mark.parametrize("more", [[], ["--replace"], ["--dry-run"]], ids=["plain", "replace", "dry run"])
def test_one_key_twice_in_a_load_is_refused(facts: Facts, more: list[str]) -> None:
    facts.file("kb/a.csv", "key,fact\nhours,The shop opens at nine.\n")
    facts.file("kb/b.jsonl", '{"text": "Returns are free."}\n{"key": "hours", "text": "The shop opens at ten."}\n')
    ran = facts.run("ingest", "kb", "--words", *more)
    assert (ran.code, ran.out) == (2, "")
    assert "'b.jsonl', line 2: an earlier fact of this load has the same key" in ran.err
    assert not facts.store.exists() or facts.done("list", "--json").out == ""


def test_a_link_to_outside_the_folder_is_not_followed(facts: Facts) -> None:
    facts.file("secret.txt", "The safe opens with 7431.")
    facts.file("kb/hours.txt", "The shop opens at nine.")
    links = {"out.txt": "../secret.txt", "in.txt": "hours.txt", "round.txt": "round.txt", "broken.txt": "nowhere.txt"}
    for name, target in links.items():
        (facts.folder / "kb" / name).symlink_to(target)
    (report,) = facts.done("ingest", "kb", "--words", "--json").records
    reasons = {each["file"]: each["reason"] for each in report["skipped"]}
    assert reasons["out.txt"] == "is a link to outside the folder"
    assert reasons.keys() == {"out.txt", "round.txt", "broken.txt"}
    assert {each["source"] for each in facts.done("list", "--json").records} == {"hours.txt", "in.txt"}


def test_one_bad_file_that_was_named_and_nothing_is_stored(facts: Facts) -> None:
    good, bad = facts.file("a.txt", REFUNDS), facts.file("z.jsonl", '{"text": "So it is."}\n{"text": \n')
    ran = facts.run("ingest", good, bad, "--words")
    assert (ran.code, ran.out) == (2, "")
    assert "z.jsonl" in ran.err
    assert not facts.store.exists() or facts.done("list", "--json").out == ""


def test_a_folder_without_documents_is_nothing_found(facts: Facts) -> None:
    facts.file("kb/logo.png", b"\x89PNG")
    ran = facts.run("ingest", "kb", "--words", "--json")
    assert (ran.code, ran.records[0]["files"], ran.records[0]["added"]) == (1, 0, [])
    (facts.folder / "emptydir").mkdir()
    ran = facts.run("ingest", "emptydir")
    assert (ran.code, ran.out, ran.err) == (1, "", "no documents in 'emptydir'\n")
    assert not facts.store.exists()


def test_documents_of_one_name_are_told_apart_by_a_prefix(facts: Facts) -> None:
    one, other = facts.file("a/README.md", "The shop opens at nine."), facts.file("b/README.md", "Returns are free.")
    assert "--source" in facts.run("ingest", one, other, "--words").err
    facts.done("ingest", one, "--words", "--source", "a/")
    facts.done("ingest", other, "--words", "--source", "b/")
    assert [each["source"] for each in facts.done("list", "--json").records] == ["a/README.md", "b/README.md"]


def test_a_dry_run_shows_what_would_change_and_makes_no_file(facts: Facts) -> None:
    policy = facts.file("policy.md", REFUNDS)
    export = facts.file("x.jsonl", '{"director_ai": "facts", "format": 1}\n{"key": "a", "text": "One."}\n')
    for command in (["add", "a", "One."], ["ingest", policy], ["import", export]):
        ran = facts.done(*command, "--words", "--dry-run")
        assert "A dry run: nothing was stored." in ran.out
        assert [line.split()[:2] for line in ran.out.splitlines() if line.startswith(("added", "unch"))] == [
            ["added", "1"],
            ["unchanged", "0"],
        ]
        assert not facts.store.exists()
    facts.add("a", "Zero.")
    (would,) = facts.done("import", export, "--words", "--dry-run", "--replace", "--json").records
    assert (would["updated"], would["dry_run"]) == (["a"], True)
    assert facts.done("list", "--json").records[0]["text"] == "Zero."


# ---- export and import


def test_an_export_goes_to_a_file_and_into_another_store(facts: Facts) -> None:
    facts.add("refunds", REFUNDS, "--source", "policy.md")
    facts.add("hours", "The shop opens at nine.", "--tenant", "acme")
    assert facts.done("export", "x.jsonl").out == "1 fact in x.jsonl\n"
    assert facts.done("export", "acme.jsonl", "--tenant", "acme", "--json").records == [
        {"file": "acme.jsonl", "facts": 1}
    ]
    for name in ("x.jsonl", "acme.jsonl"):
        facts.done("import", name, "--words", "--store", "other.db")
    for scope in ([], ["--tenant", "acme"]):
        before, after = (
            [{**each, "added_at": ""} for each in facts.done("list", "--json", *scope, *more).records]
            for more in ([], ["--store", "other.db"])
        )
        assert before == after
    assert sorted(path.name for path in facts.folder.glob("*.part")) == []


def test_an_export_holds_all_tenants_or_says_that_it_does_not(facts: Facts) -> None:
    for tenant in ("", "acme", "bolt", "gone"):
        facts.add("hours", f"The shop opens at {len(tenant)}.", "--tenant", tenant)
    facts.done("remove", "hours", "--tenant", "gone")
    for to in ("-", "x.jsonl"):
        assert "The facts of 2 tenants were not exported; --all-tenants" in facts.done("export", to).err
        assert facts.done("export", to, "--tenant", "acme").err == ""
        assert facts.done("export", to, "--all-tenants").err == ""
    facts.done("import", "x.jsonl", "--words", "--store", "other.db")
    for tenant in ("", "acme", "bolt"):
        (record,) = facts.done("list", "--json", "--store", "other.db", "--tenant", tenant).records
        assert (record["text"], record.get("tenant_id", "")) == (f"The shop opens at {len(tenant)}.", tenant)


def test_an_export_flows_through_pipes(facts: Facts) -> None:
    facts.add("cafe", "Le café ouvre à neuf heures.")
    export = facts.done("export").out
    facts.done("import", "-", "--words", "--store", "other.db", stdin=export.encode())
    assert facts.done("list", "--json", "--store", "other.db").records[0]["text"] == "Le café ouvre à neuf heures."


def test_an_export_of_versions_marks_the_earlier_ones(facts: Facts) -> None:
    facts.add("a", "One.")
    facts.add("a", "Two.", "--replace")
    records = facts.done("export", "--versions").records
    assert [(each["text"], each.get("ended")) for each in records[1:]] == [("One.", True), ("Two.", None)]


def test_an_export_that_fails_leaves_the_file_that_was_there(facts: Facts) -> None:
    facts.add("a", "One.")
    kept = facts.file("x.jsonl", "kept")
    assert facts.run("export", kept, "--tenant", " ").code == 2
    assert Path(kept).read_text() == "kept"
    assert sorted(path.name for path in facts.folder.iterdir() if "part" in path.name) == []


def test_an_export_does_not_take_the_place_of_the_store(facts: Facts) -> None:
    facts.add("a", "One.")
    ran = facts.run("export", str(facts.store))
    assert ran.code == 2
    assert "knowledge base itself" in ran.err
    assert facts.done("list", "--json").records[0]["key"] == "a"


# ---- bad input

NO_STORE: dict[str, list[str]] = {
    "list": ["list"],
    "search": ["search", "refunds", "--words"],
    "export": ["export"],
    "export to a file": ["export", "x.jsonl"],
    "remove": ["remove", "a"],
    "history": ["history", "a"],
    "conflicts": ["conflicts", "--words"],
}


@pytest.mark.parametrize("arguments", NO_STORE.values(), ids=NO_STORE.keys())
def test_a_command_that_only_reads_makes_no_store(facts: Facts, arguments: list[str]) -> None:
    ran = facts.run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "there is no knowledge base at" in ran.err
    assert list(facts.folder.iterdir()) == []


# From Python 3.14 on `Path.exists()` answers False for a name that no file can have, and does not raise.
TOO_LONG = "cannot be opened" if sys.version_info < (3, 14) else "there is no knowledge base"


BAD: dict[str, tuple[list[str], str]] = {
    "a blank tenant": (["list", "--tenant", " "], "tenant_id must be"),
    "a tenant that is a path": (["list", "--tenant", "../x"], "tenant_id must be"),
    "a tenant that is a pattern": (["search", "x", "--words", "--tenant", "%"], "tenant_id must be"),
    "a tenant of 300 characters": (["export", "--tenant", "x" * 300], "tenant_id must be"),
    "a tenant with a slash": (["add", "k", "So.", "--words", "--tenant", "a/b"], "tenant_id must be"),
    "a tenant twin in capitals": (["add", "k", "So.", "--words", "--tenant", "ACME"], "capital letters"),
    "a blank fact": (["add", "k", " ", "--words"], "there is no text to add"),
    "a blank key": (["add", " ", "So it is.", "--words"], "the key of"),
    "a key that is too long": (["history", "k" * 600], "the key of"),
    "a fact of 10 MB": (["add", "k", "-", "--words"], "split it into passages"),
    "half a surrogate pair": (["add", "k", "So \udcff it is.", "--words"], "surrogate"),
    "a store that is a folder": (["list", "--store", "."], "is a folder"),
    "a store in a folder that is not there": (["add", "k", "So.", "--words", "--store", "no/x.db"], "does not exist"),
    "a store in a folder that takes no files": (
        ["add", "k", "S.", "--words", "--store", "/proc/x.db"],
        "cannot be written or opened",
    ),
    "a store that is text": (["list", "--store", "text.txt"], "is no knowledge base"),
    "a store that is empty": (["list", "--store", "empty.txt"], "there is no knowledge base"),
    "a store of something else": (["list", "--store", "else.db"], "something else"),
    "a store in memory": (["add", "k", "So.", "--words", "--store", ":memory:"], "--store must be"),
    "a store of another kind": (["list", "--store", "mysql://u:secret@h/d"], "--store must be"),
    "a store with a name without end": (["list", "--store", "x" * 5000], TOO_LONG),
    "importing what is not there": (["import", "no.jsonl", "--words"], "cannot be read (No such file"),
    "importing a folder": (["import", ".", "--words"], "cannot be read (Is a directory"),
    "importing what is not UTF-8": (["import", "latin.jsonl", "--words"], "not UTF-8"),
    "importing what is no export": (["import", "text.txt", "--words"], "line 1 does not say"),
    "importing nothing": (["import", "empty.txt", "--words"], "the file is empty"),
    "importing half an export": (["import", "half.jsonl", "--words"], "line 2 is not JSON"),
    "importing another tenant's facts": (["import", "bolt.jsonl", "--words", "--tenant", "acme"], "another tenant"),
    "ingesting what is not there": (["ingest", "no.md", "--words"], "cannot be read (No such file"),
    "ingesting what is not UTF-8": (["ingest", "latin.txt", "--words"], "not UTF-8"),
    "ingesting what is no document": (["ingest", "else.db", "--words"], "unknown suffix"),
    "ingesting a format that is none": (["ingest", "text.txt", "--words", "--format", "tex"], "did you mean 'text'"),
    "ingesting a folder as a format that is none": (["ingest", ".", "--words", "--format", "foo"], "format 'foo'"),
    "ingesting a table without names": (["ingest", "bare.csv", "--words"], "looks like data"),
    "exporting one tenant and all": (["export", "--tenant", "acme", "--all-tenants"], "one of the two"),
    "exporting into a folder": (["export", "."], "is a folder"),
    "exporting into a folder that is not there": (["export", "no/x.jsonl"], "cannot be written (No such file"),
    "exporting into a folder that takes no files": (["export", "/proc/x.jsonl"], "cannot be written"),
    "no results at most": (["search", "x", "-k", "0"], "-k"),
    "half a sentence of options": (["add", "k"], "Missing argument"),
    "an unknown option": (["list", "--tennant", "acme"], "--tennant"),
    "an unknown command": (["serch", "x"], "search"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_gets_a_sentence_and_exit_status_2(facts: Facts, arguments: list[str], words: str) -> None:
    facts.add("known", "Known to acme.", "--tenant", "acme")
    facts.file("text.txt", "Just text. " * 200)
    facts.file("empty.txt", "")
    facts.file("bare.csv", "tea,5\n")
    facts.file("latin.txt", "Café".encode("latin-1"))
    header = '{"director_ai": "facts", "format": 1}\n'
    facts.file("latin.jsonl", header.encode() + b'{"key": "caf\xe9"}')
    facts.file("half.jsonl", header + '{"key": "a", "te')
    facts.file("bolt.jsonl", header + '{"key": "a", "text": "So.", "tenant_id": "bolt"}')
    sqlite3.connect(facts.folder / "else.db").execute("CREATE TABLE recipes (name)").connection.close()
    ran = facts.run(*arguments, stdin=b"x" * 10_000_000 if "-" in arguments else b"")
    assert ran.code == 2
    assert ran.out == ""
    assert words in ran.err
    assert "secret" not in ran.err
    if ran.err.startswith("director-ai:"):
        assert ran.err.count("\n") == 1
    assert [each["key"] for each in facts.done("list", "--json", "--tenant", "acme").records] == ["known"]
    assert facts.done("list", "--json").out == ""


def test_a_store_that_another_process_writes_to_for_too_long(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    facts.add("a", "One.")
    monkeypatch.setattr("director_ai.knowledge.sqlite.WAIT_SECONDS", 0.05)
    other = sqlite3.connect(facts.store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ran = facts.run("add", "b", "Two.", "--words")
    other.execute("ROLLBACK")
    other.close()
    assert (ran.code, ran.out) == (2, "")
    assert "locked" in ran.err
