"""What else verification finds: checkpoints that were touched, rubbish in columns, and what it is not fooled by."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from forgery import Forger, fill

from director_ai.errors import ConfigError, RecordError, TrailBroken
from director_ai.record import AuditTrail
from director_ai.record.checkpoints import Checkpoint
from director_ai.record.database import Database
from director_ai.record.keys import SigningKey, VerifyKey, read_key
from director_ai.record.tables import AUDIT
from director_ai.record.verification import verify_database


@pytest.fixture
def file_trail(tmp_path: Path) -> AuditTrail:
    """A trail of 150 rows that was closed and opened again."""
    with AuditTrail(tmp_path / "reviews.db", clock=lambda: 1e9) as trail:
        fill(trail, "acme", 150)
    return AuditTrail(tmp_path / "reviews.db", clock=lambda: 1e9 + 60)


def lines_of(trail: AuditTrail) -> list[str]:
    assert trail.checkpoints.path
    return trail.checkpoints.path.read_text().splitlines()


def write_lines(trail: AuditTrail, lines: list[str]) -> None:
    assert trail.checkpoints.path
    trail.checkpoints.path.write_text("".join(f"{line}\n" for line in lines))


def kind_of(trail: AuditTrail, **more: Any) -> str:
    found = trail.verify(**more)
    assert found.ok == (found.problem is None)
    return found.problem.kind if found.problem else "ok"


def public_half(trail: AuditTrail, folder: Path) -> VerifyKey:
    (folder / "public.pem").write_text(trail.key.pem())
    return read_key(folder / "public.pem")


# ---- checkpoints


@pytest.mark.parametrize("public", [False, True], ids=["whole key", "public key"])
def test_any_changed_character_of_a_checkpoint_is_found(file_trail: AuditTrail, tmp_path: Path, public: bool) -> None:
    key = public_half(file_trail, tmp_path) if public else None
    lines = lines_of(file_trail)
    rng = random.Random(5)
    for place in rng.sample(range(len(lines[1]) - 1), 60):
        new = rng.choice([c for c in '0az"{ 9\u00e9' if c != lines[1][place]])
        write_lines(file_trail, [lines[0], lines[1][:place] + new + lines[1][place + 1 :], lines[2]])
        assert kind_of(file_trail, key=key) == "checkpoint_forged", place


def test_the_signature_in_capital_letters_is_a_changed_line(file_trail: AuditTrail, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in lines_of(file_trail)]
    for line in lines:
        line["signature"] = line["signature"].upper()
    write_lines(file_trail, [json.dumps(line, separators=(",", ":"), sort_keys=True) for line in lines])
    for key in (None, public_half(file_trail, tmp_path)):
        assert kind_of(file_trail, key=key) == "checkpoint_forged"


def test_checkpoints_forged_with_another_key_are_found(file_trail: AuditTrail) -> None:
    forger = SigningKey.fresh()
    row = file_trail.rows("acme")[-1]
    write_lines(file_trail, [*lines_of(file_trail), Checkpoint.of(row, forger, at=1).line()])
    found = file_trail.verify()
    assert found.problem
    assert (found.problem.kind, found.problem.tenant_id, found.problem.sequence) == ("checkpoint_forged", "acme", 150)
    assert "line 4" in found.problem.sentence
    assert (found.rows, found.checkpoints, found.bad_tenants) == (150, 3, 1)


def test_a_trail_whose_checkpoints_were_removed_is_not_intact(file_trail: AuditTrail) -> None:
    lines = lines_of(file_trail)
    write_lines(file_trail, lines[:2])
    found = file_trail.verify()
    assert (found.ok, found.unsigned_rows) == (True, 20), "what a busy writer leaves unsigned is no crime"
    write_lines(file_trail, lines[:1])
    found = file_trail.verify()
    assert found.problem
    assert (found.problem.kind, found.problem.sequence, found.unsigned_rows) == ("checkpoints_missing", 71, 80)
    assert file_trail.checkpoints.path
    file_trail.checkpoints.path.unlink()
    assert kind_of(file_trail) == "checkpoints_missing"


def test_a_checkpoint_in_the_middle_that_is_gone_is_covered_by_the_later_ones(file_trail: AuditTrail) -> None:
    write_lines(file_trail, lines_of(file_trail)[-1:])
    assert kind_of(file_trail) == "ok"


def test_rubbish_among_the_checkpoints_is_a_problem_and_no_crash(file_trail: AuditTrail) -> None:
    lines = lines_of(file_trail)
    surrogate = json.dumps({**json.loads(lines[0]), "tenant": "\ud800"})
    for rubbish in ("x", "{}", "[1]", "null", "9" * 5_000, "[" * 100_000, '{"at":1}', surrogate, "\x00", "{" * 9_000):
        write_lines(file_trail, [*lines, rubbish])
        found = file_trail.verify()
        assert found.problem, rubbish[:20]
        assert found.problem.kind == "checkpoint_forged"


def test_a_line_that_a_crash_cut_off_is_passed_over_and_the_next_one_stands_alone(file_trail: AuditTrail) -> None:
    assert file_trail.checkpoints.path
    with file_trail.checkpoints.path.open("a") as file:
        file.write(lines_of(file_trail)[0][:50])
    assert kind_of(file_trail) == "ok"
    fill(file_trail, "acme", 1)
    file_trail.sign()
    assert len(lines_of(file_trail)) == 5
    found = file_trail.verify()
    assert (found.ok, found.checkpoints, found.unsigned_rows) == (True, 4, 0)


def test_a_database_put_back_and_continued_contradicts_its_checkpoints(tmp_path: Path) -> None:
    kept = {"checkpoints": tmp_path / "c", "signing_key": tmp_path / "k"}
    with AuditTrail(tmp_path / "a.db", **kept) as trail:
        fill(trail, "acme", 50)
    (tmp_path / "copy.db").write_bytes((tmp_path / "a.db").read_bytes())
    with AuditTrail(tmp_path / "a.db", **kept) as trail:
        fill(trail, "acme", 30, begin=50)
    with AuditTrail(tmp_path / "copy.db", **kept) as trail:
        with pytest.raises(TrailBroken, match=r"row 80 is gone.*put back the newest"):
            fill(trail, "acme", 1, begin=1_000)
        fill(trail, "zeta", 1)
    elsewhere = {"checkpoints": tmp_path / "d", "signing_key": tmp_path / "k"}
    with AuditTrail(tmp_path / "copy.db", **elsewhere) as trail:
        fill(trail, "acme", 40, begin=1_000)
    (tmp_path / "both").write_bytes((tmp_path / "c").read_bytes() + (tmp_path / "d").read_bytes())
    with AuditTrail(tmp_path / "copy.db", checkpoints=tmp_path / "both", signing_key=tmp_path / "k") as trail:
        found = trail.verify()
    assert found.problem
    assert found.problem.kind == "checkpoint_differs"


# ---- keys


def test_another_key_is_named_as_the_problem(file_trail: AuditTrail, tmp_path: Path) -> None:
    other = SigningKey.fresh()
    assert kind_of(file_trail, key=other) == "other_key"
    with pytest.raises(ConfigError, match="SigningKey or a VerifyKey"):
        file_trail.verify(key=(tmp_path / "reviews.db.key").read_text())  # type: ignore[arg-type]


def test_whoever_has_only_the_public_key_trusts_no_row_after_the_last_checkpoint(
    file_trail: AuditTrail, tmp_path: Path
) -> None:
    fill(file_trail, "acme", 3)
    found = file_trail.verify(key=public_half(file_trail, tmp_path))
    assert (found.ok, found.seals_checked, found.unsigned_rows) == (True, False, 3)


# ---- rubbish in columns

RUBBISH: dict[str, Any] = {
    "bytes": b"\xff\x00",
    "bytes that would be right": b"case.decided",
    "not UTF-8": sa.text("CAST(x'ff41' AS TEXT)"),
    "a NUL": "a\x00b",
    "quotation marks": 'x","kind":"y',
    "nothing": "",
    "a real number": 1.5,
    "an infinity": sa.text("9e999"),
    "the largest number": 2**63 - 1,
    "the smallest number": -(2**63),
    "hex that is none": "g" * 64,
    "a long text": "a" * 3_000_000,
}


@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH.keys())
@pytest.mark.parametrize("public", [False, True], ids=["whole key", "public key"])
def test_rubbish_in_any_column_is_a_problem_of_that_row_and_no_crash(
    tmp_path: Path, rubbish: Any, public: bool
) -> None:
    with AuditTrail(tmp_path / "reviews.db") as trail:
        fill(trail, "acme", 5)
    with AuditTrail(tmp_path / "reviews.db") as trail:
        key = public_half(trail, tmp_path) if public else None
        forger = Forger(trail.database.place)
        forger.disarm()
        rows = forger.rows()
        for column in AUDIT.c:
            with forger._engine.begin() as connection:
                connection.execute(
                    sa.update(AUDIT).where(AUDIT.c.sequence == 3).values({column: rubbish}),
                )
            found = trail.verify(key=key)
            if public and column.name == "seal":
                assert found.ok
            else:
                assert found.problem, column.name
                named = (found.problem.tenant_id, found.problem.sequence)
                if column.name == "sequence":
                    assert named[0] == "acme"
                elif column.name == "tenant":  # it is another's now, or nobody's
                    assert named in {("acme", 3), ("", 1), (str(rubbish), 1), ("Inf", 1)}
                else:
                    assert named == ("acme", 3)
                assert len(repr(found)) < 1_000
            with forger._engine.begin() as connection:
                connection.execute(sa.delete(AUDIT))
                connection.execute(sa.insert(AUDIT), rows)
        assert trail.verify(key=key).ok
        forger.close()


def test_rubbish_is_no_crash_on_postgresql_either(fresh_database: str) -> None:
    with AuditTrail(fresh_database) as trail:
        fill(trail, "acme", 3)
    with AuditTrail(fresh_database) as trail:
        forger = Forger(trail.database.place)
        forger.disarm()
        change = "ALTER TABLE director_audit ALTER COLUMN {0} TYPE {1} USING {2}({0}, 'UTF8')"
        for column in ("kind", "subject", "body", "body_hash", "key", "hash", "seal"):
            forger.run(change.format(column, "bytea", "convert_to"))
            found = trail.verify()
            assert found.problem
            assert (found.problem.kind, found.problem.sequence) == ("row_malformed", 1)
            forger.run(change.format(column, "text", "convert_from"))
        assert trail.verify().ok
        forger.close()


def test_a_writer_refuses_to_go_on_behind_a_head_that_is_rubbish(tmp_path: Path) -> None:
    for rubbish in ("x'ff'", "CAST(x'ff' AS TEXT)", "'g'", "1.5"):
        for column in ("sequence", "at", "hash", "seal", "key", "body_hash"):
            place = tmp_path / f"{column}{len(list(tmp_path.iterdir()))}.db"
            with AuditTrail(place) as trail:
                fill(trail, "acme", 1)
            forger = Forger(str(place))
            forger.disarm()
            forger.run(f"UPDATE director_audit SET {column} = {rubbish}")
            forger.close()
            with AuditTrail(place) as trail:
                if (column, rubbish) == ("body_hash", "1.5"):
                    continue
                with pytest.raises(RecordError, match=r"audit verify|signing_key"):
                    fill(trail, "acme", 1)


# ---- the rest


def test_progress_is_told_and_ends_with_all_rows(trail: AuditTrail) -> None:
    fill(trail, "acme", 300)
    fill(trail, "zeta", 10)
    told: list[int] = []
    assert trail.verify(progress=told.append).rows == 310
    assert told == sorted(told)
    assert told[-1] == 310
    assert len(told) >= 3, "more than one page"


def test_a_trail_in_memory_is_verified_too() -> None:
    with AuditTrail() as trail:
        fill(trail, "acme", 130)
        found = trail.verify()
        assert (found.ok, found.rows, found.checkpoints, found.unsigned_rows) == (True, 130, 2, 0)


def test_an_empty_trail_has_nothing_wrong(trail: AuditTrail) -> None:
    found = trail.verify()
    assert (found.ok, found.rows, found.tenants, found.checkpoints) == (True, 0, 0, 0)


@pytest.mark.parametrize("tenant", [" ", "../x", "a/b", "*", "x" * 300, 5])
def test_a_tenant_that_there_cannot_be_is_refused(tenant: Any) -> None:
    with AuditTrail() as trail, pytest.raises(ConfigError, match="tenant_id"):
        trail.verify(tenant)


def test_verification_while_others_write_finds_nothing_wrong(trail: AuditTrail) -> None:
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            fill(trail, "acme", 40, begin=number)
            number += 40

    writers = [threading.Thread(target=write) for _ in range(3)]
    for each in writers:
        each.start()
    try:
        for _ in range(15):
            found = trail.verify()
            assert found.ok, found.problem
    finally:
        done.set()
        for each in writers:
            each.join()
    assert trail.verify().ok


def test_a_database_that_is_only_read_is_verified_and_not_changed(place: str, tmp_path: Path) -> None:
    kept = {"checkpoints": tmp_path / "c", "signing_key": tmp_path / "k"}
    with AuditTrail(place, **kept) as trail:
        fill(trail, "acme", 70)
        checkpoints, key = trail.checkpoints, trail.key
    database = Database(place, read_only=True)
    assert verify_database(database, checkpoints, key).rows == 70
    with pytest.raises(RecordError, match="only be read"):
        database.read(lambda connection: connection.execute(sa.insert(AUDIT).values(tenant="x", sequence=1)))
    database.close()


def test_long_bodies_are_read_in_short_pages(tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "reviews.db") as trail:
        for number in range(140):
            trail.append("note", f"n-{number}", {"x": "y" * (900_000 if number < 12 else 10)}, tenant_id="acme")
        told: list[int] = []
        assert trail.verify(progress=told.append).ok
        assert told[-1] == 140
