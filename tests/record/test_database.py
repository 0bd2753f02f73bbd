"""Writes that share commits, and databases that fail: typed errors, nothing half kept, no text of rows in a message."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa
from forgery import Forger, fill
from sqlalchemy import event

from director_ai.errors import ConfigError, RecordError
from director_ai.record import AuditTrail, database
from director_ai.record.database import Database
from director_ai.record.keys import SigningKey
from director_ai.record.tables import AUDIT
from director_ai.record.trail import _key_of

CANARY = "canary-5f1d"


def commits_of(opened: Database) -> list[str]:
    """The commits from now on."""
    seen: list[str] = []

    @event.listens_for(opened._engine, "before_cursor_execute")
    def count(_c: Any, _k: Any, statement: str, *_: Any) -> None:
        if statement == "COMMIT":
            seen.append(statement)

    return seen


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def together(trail: AuditTrail, *works: Callable[[Any], Any]) -> list[Any]:
    """Run writes that wait for the same commit; return their answers or what they raise."""
    inside, go = threading.Event(), threading.Event()

    def first(_: Any) -> None:
        inside.set()
        assert go.wait(30)

    def outcome(work: Callable[[Any], Any]) -> Any:
        try:
            return trail.write(work, "acme")
        except BaseException as error:
            return error

    with ThreadPoolExecutor(len(works) + 1) as pool:
        leader = pool.submit(trail.write, first, "acme")
        assert inside.wait(30)
        waiting = [pool.submit(outcome, work) for work in works]
        while len(trail.database._waiting) < len(works):
            pass
        go.set()
        leader.result()
        return [each.result() for each in waiting]


def adding(number: int) -> Callable[[Any], int]:
    return lambda writer: writer.append("note", f"n-{number}", {"n": number}).sequence


# ---- group commit


def test_writes_of_threads_that_wait_share_one_commit(tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "a.db") as trail:
        fill(trail, "acme", 1)
        commits = commits_of(trail.database)
        answers = together(trail, *(adding(number) for number in range(20)))
        assert sorted(answers) == list(range(2, 22))
        assert len(commits) == 2, "the one that was at work, and one for the twenty that waited"
        assert trail.verify().rows == 21


def test_one_that_fails_is_undone_alone(tmp_path: Path) -> None:
    def fails(writer: Any) -> None:
        writer.append("note", "lost", {})
        raise LookupError("mine")

    def doubles(writer: Any) -> None:
        writer.append("note", "lost", {})
        values = {column.name: "x" for column in AUDIT.c} | {"tenant": "acme", "sequence": 1, "at": 1, "body": CANARY}
        writer.connection.execute(sa.insert(AUDIT).values(values))

    def refused(writer: Any) -> None:
        writer.append("note", "lost", {"x": float("nan")})

    with AuditTrail(tmp_path / "a.db") as trail:
        fill(trail, "acme", 1)
        answers = together(trail, adding(1), fails, adding(2), doubles, refused, adding(3))
        assert [answers[place] for place in (0, 2, 5)] == [2, 3, 4]
        assert [type(answers[place]).__name__ for place in (1, 3, 4)] == ["LookupError", "RecordError", "PayloadError"]
        assert CANARY not in str(answers[3])
        assert [row.subject for row in trail.rows("acme")] == ["case-0", "n-1", "n-2", "n-3"]
        assert trail.verify().ok


def test_an_interrupt_in_one_keeps_nothing_of_the_commit_and_everybody_is_told(tmp_path: Path) -> None:
    def interrupted(writer: Any) -> None:
        writer.append("note", "lost", {})
        raise KeyboardInterrupt

    with AuditTrail(tmp_path / "a.db") as trail:
        fill(trail, "acme", 1)
        answers = together(trail, adding(1), interrupted, adding(2))
        assert sorted(type(each).__name__ for each in answers) == ["KeyboardInterrupt", "RecordError", "RecordError"]
        assert [row.subject for row in trail.rows("acme")] == ["case-0"]
        assert trail.append("note", "after", {}, tenant_id="acme").sequence == 2
        assert trail.verify().ok


def test_a_failure_in_postgresql_undoes_its_own_transaction(fresh_database: str) -> None:
    with AuditTrail(fresh_database) as trail:
        fill(trail, "acme", 1)

        def fails(writer: Any) -> None:
            writer.append("note", "lost", {})
            raise LookupError("mine")

        with pytest.raises(LookupError):
            trail.write(fails, "acme")
        assert trail.verify().rows == 1


@pytest.mark.parametrize("threads", [8])
def test_rows_of_many_threads_and_tenants_stand_without_a_gap(trail: AuditTrail, threads: int) -> None:
    def work(number: int) -> None:
        for each in range(10):
            trail.append("note", f"n-{number}-{each}", {}, tenant_id=f"t{number % 3}")

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    found = trail.verify()
    assert (found.ok, found.rows, found.tenants) == (True, 10 * threads, 3)


# ---- databases that fail


def refused(work: Callable[[], Any], said: str, kind: type[Exception] = RecordError) -> None:
    with pytest.raises(kind, match=said) as caught:
        work()
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None


def append(trail: AuditTrail) -> None:
    trail.append("note", CANARY, {"text": CANARY}, tenant_id="acme")


def test_a_full_disk_is_said_and_writing_goes_on_once_there_is_room(tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "a.db") as trail:
        fill(trail, "acme", 1)

        def pages(most: str) -> int:
            return trail.database.read(
                lambda c: int(c.exec_driver_sql(f"PRAGMA max_page_count = {most}").scalar() or 0)
            )

        full = trail.database.read(lambda c: int(c.exec_driver_sql("PRAGMA page_count").scalar() or 0))
        pages(str(full + 2))

        def fill_up() -> None:
            for _ in range(200):
                trail.append("note", CANARY, {"text": CANARY * 500}, tenant_id="acme")

        refused(fill_up, "disk of the database is full")
        kept = len(trail.rows("acme"))
        pages("1000000")
        assert trail.append("note", "after", {}, tenant_id="acme").sequence == kept + 1
        assert trail.verify().ok


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes wherever it likes")
def test_a_file_without_the_right_to_write_is_said(tmp_path: Path) -> None:
    AuditTrail(tmp_path / "a.db").close()
    (tmp_path / "a.db").chmod(0o400)
    kept = (tmp_path / "a.db").read_bytes()
    refused(lambda: AuditTrail(tmp_path / "a.db"), "can only be read")
    assert (tmp_path / "a.db").read_bytes() == kept


def test_a_database_that_is_only_read_takes_no_row(tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "a.db") as trail:
        fill(trail, "acme", 1)

        @event.listens_for(trail.database._engine, "connect")
        def only_read(made: Any, _: Any = None) -> None:
            made.execute("PRAGMA query_only = ON").close()

        trail.database._engine.dispose()
        refused(lambda: append(trail), "can only be read")
        assert trail.verify().rows == 1


def test_a_locked_database_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.05)
    with AuditTrail(tmp_path / "a.db") as trail:
        holder = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        refused(lambda: append(trail), "locked by another process")
        assert trail.rows("acme") == [], "reading goes on"
        holder.execute("ROLLBACK")
        holder.close()
        append(trail)


def test_a_locked_tenant_of_postgresql_is_said(fresh_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT_SECONDS", 1)
    with AuditTrail(fresh_database) as trail:
        fill(trail, "acme", 1)
        forger = Forger(fresh_database)
        with forger._engine.begin() as connection:
            connection.execute(database._LOCK, {"name": "director-ai acme"})
            refused(lambda: append(trail), "locked by another process")
            fill(trail, "zeta", 1)
        forger.close()
        assert (len(trail.rows("acme")), len(trail.rows("zeta"))) == (1, 1), "others write on"


NO_DATABASE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a missing folder": (lambda folder: folder / "no" / "a.db", "folder of the database does not exist"),
    "a folder": (lambda folder: folder, "is a folder"),
    "another URL": (lambda _: "mysql://root@localhost/x", "postgresql:// URL"),
    "nothing": (lambda _: "", "path of a file"),
    "a NUL": (lambda _: "a\0b", "path of a file"),
    "a number": (lambda _: 5, "path of a file"),
    "a URL that cannot be read": (lambda _: "postgresql://u:p@h:port/x", "cannot be read"),
}


@pytest.mark.parametrize(("make", "said"), NO_DATABASE.values(), ids=NO_DATABASE.keys())
def test_what_is_no_place_of_a_database_is_refused(tmp_path: Path, make: Any, said: str) -> None:
    refused(lambda: AuditTrail(make(tmp_path)), said, ConfigError)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"a letter, and no database at all. " * 40)
    refused(lambda: AuditTrail(tmp_path / "a.db"), "not a database of ours")
    assert (tmp_path / "a.db").read_bytes().startswith(b"a letter")


def test_a_newer_database_is_refused_and_stays(place: str) -> None:
    with AuditTrail(place) as trail:
        fill(trail, "acme", 3)
    forger = Forger(place)
    forger.run("UPDATE director_version SET version_num = '9999'")
    kept = forger.rows()
    for read_only in (False, True):
        refused(lambda only=read_only: Database(place, read_only=only), "newer release.*update director-ai")
    with forger._engine.connect() as connection:
        assert list(connection.exec_driver_sql("SELECT version_num FROM director_version")) == [("9999",)]
    assert (len(kept), forger.rows()) == (3, kept)
    forger.close()


def test_a_database_of_something_else_cannot_be_read_as_a_trail(tmp_path: Path, fresh_database: str) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as other, other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    for place in (str(tmp_path / "a.db"), fresh_database):
        refused(lambda at=place: Database(at, read_only=True), "holds no audit trail")
    refused(lambda: Database(tmp_path / "b.db", read_only=True), "no database at this path", ConfigError)
    refused(lambda: Database(":memory:", read_only=True), "no database", ConfigError)
    assert not (tmp_path / "b.db").exists()


def test_a_server_that_is_not_there_is_said_without_its_password() -> None:
    with pytest.raises(RecordError, match="cannot be reached") as caught:
        Database("postgresql://u:secret@127.0.0.1:9/x")
    assert "secret" not in str(caught.value)


def test_a_server_that_goes_away_is_said_and_found_again(fresh_database: str, postgres_server: Any) -> None:
    with AuditTrail(fresh_database) as trail:
        fill(trail, "acme", 1)

        def loses(writer: Any) -> None:
            writer.append("note", CANARY, {"text": CANARY})
            writer.connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

        refused(lambda: trail.write(loses, "acme"), "connection was lost")
        assert trail.verify().rows == 1
        postgres_server.restart()
        append(trail)
        assert trail.verify().rows == 2


def test_a_closed_database_is_said(trail: AuditTrail) -> None:
    trail.close()
    refused(lambda: append(trail), "is closed")
    refused(trail.verify, "is closed")
    trail.close()


def test_a_reader_sees_one_state_of_the_database(place: str) -> None:
    with AuditTrail(place) as trail:
        fill(trail, "acme", 1)
        count = sa.select(sa.func.count()).select_from(AUDIT)

        def twice(connection: Any) -> tuple[int, int]:
            before = connection.scalar(count)
            with ThreadPoolExecutor(1) as pool:
                pool.submit(fill, trail, "acme", 1).result()
            return before, connection.scalar(count)

        assert trail.database.read(twice) == (1, 1)
        assert len(trail.rows("acme")) == 2


# ---- processes

OPEN = """
    import sys
    from director_ai.record import AuditTrail
    print("ready", flush=True)
    sys.stdin.readline()
    with AuditTrail(sys.argv[1]) as trail:
        for number in range(20):
            trail.append("note", f"n-{number}", {}, tenant_id="acme")
"""


def test_several_processes_may_open_a_new_database_at_once(place: str) -> None:
    processes = [started(OPEN, place) for _ in range(3)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        ended(process)
    with AuditTrail(place) as trail:
        found = trail.verify()
        assert (found.ok, found.rows) == (True, 60)


def test_a_process_that_writes_while_another_starts_is_not_taken_for_a_lost_key(tmp_path: Path) -> None:
    key = tmp_path / "trail.key"

    class Busy:
        """Between two looks of ours, another process makes the key and writes its first row."""

        def read(self, _work: Any) -> bool:
            SigningKey.kept_at(key)
            return True

    assert _key_of(cast("Database", Busy()), key).key_id == SigningKey.kept_at(key).key_id


FORK = """
    import os, sys
    from director_ai.errors import RecordError
    from director_ai.record import AuditTrail
    trail = AuditTrail(sys.argv[1])
    memory = AuditTrail()
    trail.append("note", "parent", {}, tenant_id="acme")
    trail._signing.acquire()  # as if another thread were signing at this moment
    child = os.fork()
    if not child:
        trail.append("note", "child", {}, tenant_id="acme")
        assert trail._timer is not None and trail._timer.is_alive(), "the child signs in time, too"
        try:
            memory.append("note", "x", {})
        except RecordError as error:
            assert "forked process" in str(error)
            trail.close()
            os._exit(7)
        os._exit(1)
    trail._signing.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    trail.append("note", "parent", {}, tenant_id="acme")
    trail.close()
    memory.close()
"""


def test_a_forked_process_goes_on_with_connections_of_its_own(place: str) -> None:
    ended(started(FORK, place))
    with AuditTrail(place) as trail:
        assert [row.subject for row in trail.rows("acme")] == ["parent", "child", "parent"]
        found = trail.verify()
        assert (found.ok, found.unsigned_rows) == (True, 0)


KILLED = """
    import sys
    from director_ai.record import AuditTrail
    trail = AuditTrail(sys.argv[1])
    for number in range(10_000):
        print(trail.append("note", f"n-{number}", {}, tenant_id="acme").sequence, flush=True)
"""


def test_what_was_acknowledged_before_a_kill_is_there_after_it(place: str) -> None:
    process = started(KILLED, place)
    assert process.stdout
    for _ in range(70):
        process.stdout.readline()
    process.kill()
    told = [int(line) for line in process.stdout.read().split()[:-1]]
    process.communicate()
    with AuditTrail(place) as trail:
        trail.append("note", "after", {}, tenant_id="acme")
        trail.sign()
        found = trail.verify()
        assert found.ok
        assert found.rows >= max(told, default=70)
