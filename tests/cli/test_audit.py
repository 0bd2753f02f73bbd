"""`director-ai audit`, through the command's own `main`."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from commands import COMMAND, read_and_leave, run_command, show_on_terminal
from director_ai import HumanReviewQueue
from director_ai.cli.audit_lines import facts_in
from director_ai.record import AuditTrail

HOSTILE = "a\x1b[31mred\x1b]0;title\x07\x9b2J\rover\x08\u202eback [bold]not markup[/] :smile:"


class Audit:
    """The command, in a folder of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, place: str) -> None:
        self.folder, self.place = folder, place
        self._patch = monkeypatch

    def run(self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> tuple[int, str, str]:
        variables = {"COLUMNS": "120", "DIRECTOR_AI_REVIEW_DB": self.place, "DIRECTOR_AI_USER": "ann", **(env or {})}
        return run_command(self._patch, ["audit", *arguments], stdin=stdin, env=variables)

    def records(self, *arguments: str, code: int = 0, **more: Any) -> list[Any]:
        ended, out, err = self.run(*arguments, "--json", **more)
        assert ended == code, err
        return [json.loads(line) for line in out.splitlines()]


def add(trail: AuditTrail, count: int, tenant: str = "acme") -> None:
    def work(writer: Any) -> None:
        for number in range(count):
            writer.append("note.changed" if number % 2 else "note.made", f"case-{number}", {"text": HOSTILE})

    trail.write(work, tenant)


@pytest.fixture(params=["file", "postgresql"])
def audit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Audit:
    """A trail of two tenants, from yesterday."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DIRECTOR_AI_SIGNING_KEY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = "director.db" if request.param == "file" else str(request.getfixturevalue("fresh_database"))
    yesterday = (datetime.now(UTC) - timedelta(days=1)).timestamp()
    with AuditTrail(place, clock=lambda: yesterday) as trail:
        add(trail, 70)
        add(trail, 3, "zeta")
        (tmp_path / "public.pem").write_text(trail.key.pem())
    return Audit(monkeypatch, tmp_path, place)


def tamper(audit: Audit, statement: str = "UPDATE director_audit SET subject = 'x' WHERE sequence = 7") -> None:
    url = audit.place.replace("postgresql:", "postgresql+psycopg:") if "://" in audit.place else "sqlite:///director.db"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        on = " ON director_audit" if "://" in audit.place else ""
        for name in ("stays", "unchanged"):
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS director_audit_{name}{on}")
        connection.exec_driver_sql(statement)
    engine.dispose()


def key_file(audit: Audit) -> Path:
    (found,) = [*audit.folder.glob("*.key"), *audit.folder.glob("state/director-ai/*.key")]
    return found


# ---- verify


def test_an_intact_trail_is_said_to_be_so(audit: Audit) -> None:
    code, out, err = audit.run("verify")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "intact"
    assert out.splitlines()[1].split() == ["rows", "73"]
    assert "rows after the last checkpoint, at most 64 a tenant" in out
    (found,) = audit.records("verify")
    assert (found["ok"], found["rows"], found["tenants"], found["seals_checked"]) == (True, 73, 2, True)
    (found,) = audit.records("verify", "--tenant", "zeta")
    assert (found["rows"], found["tenants"]) == (3, 1)


def test_a_trail_that_was_tampered_with_ends_with_1_and_the_first_row(audit: Audit) -> None:
    tamper(audit)
    code, out, _ = audit.run("verify")
    assert code == 1
    assert out.startswith("broken · tenant acme · row_changed\nrow 7 ")
    assert "good" not in out
    assert "rows checked, of each tenant up to its problem" in out
    (found,) = audit.records("verify", code=1)
    assert (found["problem"]["tenant_id"], found["problem"]["sequence"], found["bad_tenants"]) == ("acme", 7, 1)
    audit.records("verify", "--tenant", "zeta")


def test_a_public_key_is_enough_for_all_but_seals(audit: Audit) -> None:
    (found,) = audit.records("verify", "--key", "public.pem")
    assert (found["ok"], found["seals_checked"]) == (True, False)
    assert "proved by nothing" in audit.run("verify", "--key", "public.pem")[1]
    tamper(audit)
    audit.records("verify", "--key", "public.pem", code=1)


def test_an_empty_trail_or_an_unknown_tenant_ends_with_1(audit: Audit) -> None:
    code, out, _ = audit.run("verify", "--tenant", "nobody")
    assert (code, out.splitlines()[0]) == (1, "empty")


def test_a_trail_without_its_checkpoints_is_not_judged(audit: Audit) -> None:
    for path in [*audit.folder.glob("*.checkpoints"), *audit.folder.glob("state/director-ai/*.checkpoints")]:
        path.unlink()
    code, out, err = audit.run("verify")
    assert (code, out) == (2, "")
    assert "there are no checkpoints at" in err


MISSING: dict[str, tuple[list[str], str]] = {
    "no database": (["verify", "--db", "none.db"], "there is no database at 'none.db'"),
    "no database to show": (["show", "--db", "none.db"], "there is no database at 'none.db'"),
    "no database to export": (["export", "--db", "none.db"], "there is no database at 'none.db'"),
    "no database to import into": (["import", "public.pem", "--db", "none.db"], "there is no database at 'none.db'"),
    "no database to shorten": (["retain", "--before", "2020-01-01", "--db", "none.db"], "there is no database"),
    "no key": (["verify", "--key", "none.pem"], "there is no key at 'none.pem'"),
    "no key to import with": (["import", "public.pem", "--key", "none.pem"], "there is no key at .*the private one"),
    "no key to shorten with": (
        ["retain", "--before", "2020-01-01", "--key", "none.pem"],
        "no key at .*the private one",
    ),
    "no key for a new database": (["import", "public.pem", "--db", "new.db", "--create"], "no key at .*private one"),
    "a public key for a new database": (
        ["import", "public.pem", "--db", "new.db", "--create", "--key", "public.pem"],
        "private key",
    ),
    "no key for a new server": (
        ["import", "public.pem", "--db", "postgresql://localhost:1/x", "--create"],
        "give --key, the private one",
    ),
    "no checkpoints": (["verify", "--checkpoints", "none"], "there are no checkpoints at 'none'"),
    "a folder": (["verify", "--db", "."], "is a folder"),
    "memory": (["verify", "--db", ":memory:"], "there is no database"),
    "a blank": (["verify", "--db", " "], "there is no database"),
    "a NUL": (["verify", "--checkpoints", "a\0b"], "--checkpoints must be the path"),
    "another database": (["verify", "--db", "public.pem"], "not a database of ours"),
    "a key that is none": (["verify", "--key", "reviews.txt"], "Ed25519 key"),
    "a tenant that cannot be": (["verify", "--tenant", "../x"], "tenant_id"),
    "an export that is none": (["verify", "--file", "public.pem", "--key", "public.pem"], "line 1"),
    "an export that is not there": (["verify", "--file", "none", "--key", "public.pem"], "cannot be read"),
    "an export without a key": (["verify", "--file", "public.pem"], "line 1|key is needed"),
    "an export and a tenant": (["verify", "--file", "x", "--tenant", "acme"], "as a whole"),
    "a public key to write with": (["retain", "--before", "2020-01-01", "--key", "public.pem"], "private key"),
    "the future": (["retain", "--before", "2999-01-01"], "future"),
    "the database as an export": (["export", "director.db"], "take the place of the trail"),
    "a folder as an export": (["export", "."], "is a folder"),
}


@pytest.mark.parametrize("audit", ["file"], indirect=True)
@pytest.mark.parametrize(("arguments", "said"), MISSING.values(), ids=MISSING.keys())
def test_bad_input_ends_with_2_and_makes_nothing(audit: Audit, arguments: list[str], said: str) -> None:
    import re

    (audit.folder / "reviews.txt").write_text("no key")
    before = sorted(path.name for path in audit.folder.iterdir())
    code, out, err = audit.run(*arguments)
    assert (code, out) == (2, "")
    assert re.search(said, " ".join(err.split())), err
    after = sorted(path.name for path in audit.folder.iterdir() if not path.name.endswith(("-shm", "-wal")))
    assert after == before


@pytest.mark.parametrize("audit", ["file"], indirect=True)
def test_a_newer_database_is_refused(audit: Audit) -> None:
    tamper(audit, "UPDATE director_version SET version_num = '9999'")
    for command in (["verify"], ["show"], ["export"]):
        code, _, err = audit.run(*command)
        assert (code, "newer release" in err) == (2, True)


# ---- show


def test_rows_are_shown_by_tenant_subject_and_kind(audit: Audit) -> None:
    rows = audit.records("show")
    assert len(rows) == 73
    assert {"tenant_id", "sequence", "at", "kind", "subject", "body", "hash", "seal"} <= rows[0].keys()
    assert rows[0]["body"] == {"text": HOSTILE}
    assert rows[0]["at"].endswith("Z")
    assert [row["sequence"] for row in audit.records("show", "case-2")] == [3, 3]
    assert [row["tenant_id"] for row in audit.records("show", "case-2", "--tenant", "zeta")] == ["zeta"]
    assert len(audit.records("show", "--kind", "note.made", "--tenant", "zeta")) == 2
    assert [row["sequence"] for row in audit.records("show", "--tenant", "acme", "--limit", "2")] == [69, 70]
    code, out, err = audit.run("show", "--limit", "5", "--tenant", "acme")
    assert code == 0
    assert len(out.splitlines()) == 6
    assert "--limit shows more" in err


@pytest.fixture
def reviewed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Audit, list[str]]:
    """The trail of three cases, two of them decided, with their ids."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DIRECTOR_AI_SIGNING_KEY", raising=False)
    with HumanReviewQueue("director.db") as queue:
        ids = []
        for number, tenant in enumerate(["acme", "acme", "corporation-of-acme"]):
            case = queue.enqueue_case(candidate_text=f"Text {number}.", tenant_id=tenant, request_id=f"chat-{number}")
            ids.append(case.case_id)
        for case_id in ids[:2]:
            queue.decide(case_id, reviewer_id="rosa", action="approve")
    return Audit(monkeypatch, tmp_path, "director.db"), ids


@pytest.mark.parametrize("width", [60, 80, 120])
def test_rows_can_be_read_in_a_terminal_of_any_width(reviewed: tuple[Audit, list[str]], width: int) -> None:
    audit, ids = reviewed
    code, out, err = audit.run("show", env={"COLUMNS": str(width)})
    assert (code, err) == (0, "")
    lines = [line.rstrip() for line in out.splitlines()]
    assert max(map(len, lines)) <= width
    assert len(lines) == (6 if width == 120 else 10)
    for case_id in ids:
        assert f"  {case_id[:13]}" in out
        assert case_id not in out
    decided = [at for at, line in enumerate(lines) if "case.decided" in line]
    assert len(decided) == 2
    for at in decided:
        assert "action=approve reviewer=rosa" in " ".join(lines[at : at + 2])
    assert "corporation-of-acme row 1" in out or width == 120


def test_a_subject_is_named_by_a_beginning_of_its_id(reviewed: tuple[Audit, list[str]]) -> None:
    audit, ids = reviewed
    for given in (ids[0], ids[0][:13], ids[0][:36]):
        assert [row["subject"] for row in audit.records("show", given)] == [ids[0], ids[0]]
        assert len(audit.records("show", given, "--tenant", "acme", "--limit", "1")) == 1
        assert audit.run("show", given, "--tenant", "other")[0] == 1
    assert audit.run("show", ids[0][:12])[0] == 1


def test_a_beginning_that_several_subjects_have_is_refused(audit: Audit) -> None:
    with AuditTrail(audit.place) as trail:
        for end in ("0", "a"):
            trail.append("note.made", "case-12345678" + 24 * end, {}, tenant_id="acme")
    code, out, err = audit.run("show", "case-12345678")
    assert (code, out) == (2, "")
    assert "several subjects begin like this" in " ".join(err.split())
    assert len(audit.records("show", "case-123456780")) == 1
    with AuditTrail(audit.place) as trail:
        trail.append("note.made", "case-12345678", {}, tenant_id="acme")
    assert [row["subject"] for row in audit.records("show", "case-12345678")] == ["case-12345678"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "(let go)"),
        ('{"by":"ann","empty":"","none":null,"list":[],"n":0,"yes":true}', "by=ann n=0 yes=true"),
        (
            '{"hash":"' + 64 * "a" + '","text":"sha256:' + 64 * "b" + '","z":"1"}',
            "z=1 hash=aaaaaaaa… text=sha256:bbbbbbbb…",
        ),
        (
            '{"expires_at":0,"refs":["a","b"],"who":{"name":"ann"}}',
            'refs="a,b" who.name=ann expires_at=1970-01-01T00:00:00Z',
        ),
        ('{"reason":"x\\" reviewer=\\"ann"}', r'reason="x\" reviewer=\"ann"'),
        ('{"tenant":"acme","x":1}', "x=1"),
        ("[1]", "[1]"),
        ("rubbish", "rubbish"),
        (b"\xff", r"b'\xff'"),
        ("[" * 100_000, "[" * 100_000),
    ],
    ids=["gone", "empty values", "digests", "nested", "a quotation", "known", "a list", "rubbish", "bytes", "deep"],
)
def test_what_a_row_says_is_names_and_values(body: object, said: str) -> None:
    assert facts_in(body, known={"acme"}) == said


def test_nothing_in_a_row_steers_the_terminal(audit: Audit) -> None:
    tamper(audit, f"UPDATE director_audit SET kind = '{HOSTILE}', subject = '{HOSTILE}' WHERE sequence < 3")
    for command in (["show"], ["verify"], ["show", "--json"], ["verify", "--json"], ["export"]):
        _, out, err = audit.run(*command, env={"COLUMNS": "60"} if command == ["show"] else None)
        controls = {c for c in out + err if c < " " or "\x7f" <= c < "\xa0" or c == "\u202e"}
        assert controls <= {"\n"}
    assert "[bold]not markup[/]" in audit.run("show", "--tenant", "zeta", env={"COLUMNS": "300"})[1]


@pytest.mark.parametrize("audit", ["file"], indirect=True)
def test_rubbish_in_columns_is_shown_and_no_crash(audit: Audit) -> None:
    tamper(audit, "UPDATE director_audit SET at = 9223372036854775807, kind = x'ff00', body = x'01' WHERE sequence = 2")
    assert audit.run("show")[0] == 0
    assert len(audit.records("show")) == 73
    assert audit.run("verify")[0] == 1
    tamper(audit, "UPDATE director_audit SET kind = CAST(x'ff' AS TEXT) WHERE sequence = 2")
    assert audit.run("verify")[0] == 1
    assert audit.run("show")[0] == 2


def test_where_there_are_no_rows_it_says_so(audit: Audit) -> None:
    code, out, err = audit.run("show", "case-none")
    assert (code, out) == (1, "")
    assert "no such rows" in err
    assert audit.run("show", "--json", "--tenant", "nobody")[:2] == (1, "")


# ---- export, import, retain


def test_an_export_is_checked_moved_and_the_same_again(audit: Audit) -> None:
    assert "73 rows and 2 checkpoints in out.jsonl" in audit.run("export", "out.jsonl")[1]
    data = (audit.folder / "out.jsonl").read_bytes()
    assert audit.run("export")[1].encode() == data
    key = str(key_file(audit))
    assert audit.records("verify", "--file", "out.jsonl", "--key", key)[0]["rows"] == 73
    assert audit.records("verify", "--file", "-", "--key", "public.pem", stdin=data)[0]["ok"]
    (moved,) = audit.records("import", "-", "--db", "copy.db", "--create", "--key", key, stdin=data)
    assert moved == {"rows": 73, "tenants": 2, "checkpoints": 2}
    assert audit.run("export", "--db", "copy.db")[1].encode() == data
    audit.records("verify", "--db", "copy.db", "--key", key)
    (alone,) = audit.records("export", "zeta.jsonl", "--tenant", "zeta")
    assert (alone["rows"], alone["tenants"]) == (3, 1)


def test_an_edited_export_ends_with_1_and_the_line(audit: Audit) -> None:
    data = audit.run("export")[1].replace("case-5", "case-6", 1).encode()
    key = str(key_file(audit))
    (found,) = audit.records("verify", "--file", "-", "--key", key, stdin=data, code=1)
    assert found["problem"]["sentence"].startswith("line 7: row 6 ")
    code, out, err = audit.run("import", "-", "--db", "copy.db", "--create", "--key", key, stdin=data)
    assert (code, out) == (1, "")
    assert "line 7" in err
    assert not list(audit.folder.glob("copy.db*"))


def test_an_import_that_fails_leaves_no_new_database(audit: Audit, fresh_database: str) -> None:
    key, data = str(key_file(audit)), audit.run("export")[1].encode()
    (audit.folder / "copy.db.checkpoints").mkdir()  # nothing can be signed there
    code, out, err = audit.run("import", "-", "--db", "copy.db", "--create", "--key", key, stdin=data)
    assert (code, out) == (2, "")
    assert "checkpoints" in err
    (audit.folder / "copy.db.checkpoints").rmdir()
    assert not list(audit.folder.glob("copy.db*"))
    edited = data.replace(b"case-5", b"case-6", 1)
    server = ["--db", fresh_database, "--create", "--checkpoints", "server.checkpoints"]
    if "://" not in audit.place:
        assert audit.run("import", "-", *server, "--key", key, stdin=edited)[0] == 1
        assert audit.run("show", "--db", fresh_database)[0] == 2
        assert not (audit.folder / "server.checkpoints").exists()


@pytest.mark.parametrize("audit", ["file"], indirect=True)
def test_a_database_that_was_there_stays_when_an_import_fails(audit: Audit) -> None:
    data = audit.run("export")[1].replace("case-5", "case-6", 1).encode()
    assert audit.run("import", "-", "--create", stdin=data)[0] == 1
    assert audit.records("verify")[0]["rows"] == 73


def test_texts_are_let_go_by_the_command(audit: Audit) -> None:
    today = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M:%S}"
    assert audit.run("retain", "--before", today, "--tenant", "acme")[1] == "the text of 70 rows was let go\n"
    (found,) = audit.records("verify")
    assert (found["ok"], found["forgotten_rows"]) == (True, 70)
    (row,) = audit.records("show", "--kind", "retention")
    assert row["body"]["by"] == "ann"
    assert "(let go)" in audit.run("show", "--tenant", "acme")[1]
    code, out, _ = audit.run("retain", "--before", today, "--tenant", "acme")
    assert (code, out) == (1, "there are no older rows with a text\n")
    assert audit.records("retain", "--before", today, "--tenant", "acme", code=1) == [{"rows": 0}]


# ---- in a process of its own


@pytest.mark.parametrize("audit", ["file"], indirect=True)
def test_a_reader_who_leaves_is_no_error_and_progress_is_for_terminals(audit: Audit) -> None:
    ran = subprocess.run([COMMAND, "audit", "verify"], capture_output=True, check=True, cwd=audit.folder)
    assert ran.stderr == b""
    pipe = subprocess.PIPE
    assert read_and_leave(subprocess.Popen([COMMAND, "audit", "export"], stdout=pipe, stderr=pipe)) == b""
    verify = [COMMAND, "audit", "verify", "--json"]
    _, out, shown = show_on_terminal(lambda side: subprocess.Popen(verify, stdout=pipe, stderr=side))
    assert json.loads(out)["ok"]
    assert b"checking" in shown


def test_commands_that_write_ask_for_the_private_key_and_say_whose_name_is_kept(audit: Audit) -> None:
    for command in ("import", "retain"):
        text = " ".join(audit.run(command, "--help")[1].replace("│", " ").split())
        assert "private key" in text
        assert "public" not in text
    assert "Who lets them go." in text
    assert "default: (the login name)" in text
    assert "public half" in " ".join(audit.run("verify", "--help")[1].replace("│", " ").split())


def test_help_loads_no_database_library() -> None:
    script = "import sys; from director_ai.cli import app; assert not {'sqlalchemy', 'cryptography'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
