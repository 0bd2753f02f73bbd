"""What rows say can be let go at the end of its time; that they were there, and what was let go, stays provable."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from forgery import Forger, fill

from director_ai.errors import ConfigError, TrailBroken
from director_ai.record import AuditTrail, retention
from director_ai.record.canonical import sha256_of
from director_ai.record.keys import read_key

DAY = datetime(2026, 3, 1, tzinfo=UTC)


class Clock:
    """Days that a test counts."""

    def __init__(self) -> None:
        self.day = 0

    def __call__(self) -> float:
        return (DAY + timedelta(days=self.day)).timestamp()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def trail(place: str, clock: Clock, tmp_path: Path) -> Any:
    """Ten days of ten rows each, of two tenants."""
    with AuditTrail(place, clock=clock, checkpoints=tmp_path / "c", signing_key=tmp_path / "c.key") as made:
        for clock.day in range(10):
            fill(made, "acme", 10, begin=10 * clock.day)
            fill(made, "zeta", 2, begin=10 * clock.day)
        yield made


def emptied(trail: AuditTrail, tenant: str = "acme") -> list[int]:
    return [row.sequence for row in trail.rows(tenant) if row.body is None]


def test_older_texts_are_let_go_and_a_row_says_so(trail: AuditTrail) -> None:
    before = {row.sequence: row for row in trail.rows("acme")}
    assert trail.retain(DAY + timedelta(days=4), "acme", by="ann") == 40
    assert emptied(trail) == list(range(1, 41))
    last = trail.rows("acme")[-1]
    assert (last.sequence, last.kind) == (101, "retention")
    assert {name: last.content[name] for name in ("first", "last", "count", "by")} == {
        "first": 1, "last": 40, "count": 40, "by": "ann",
    }  # fmt: skip
    for row in trail.rows("acme")[:40]:
        assert (row.hash, row.body_hash, row.seal) == (
            before[row.sequence].hash, before[row.sequence].body_hash, before[row.sequence].seal,
        )  # fmt: skip
    assert sha256_of(before[7].body or "") == trail.rows("acme")[6].body_hash, "whoever kept the text can prove it"
    found = trail.verify()
    assert (found.ok, found.forgotten_rows) == (True, 40)
    assert emptied(trail, "zeta") == [], "other tenants are not touched"


def test_whoever_has_the_public_key_alone_can_check_it(trail: AuditTrail, tmp_path: Path) -> None:
    (tmp_path / "public.pem").write_text(trail.key.pem())
    trail.retain(DAY + timedelta(days=4), "acme", by="ann")
    found = trail.verify(key=read_key(tmp_path / "public.pem"))
    assert (found.ok, found.forgotten_rows) == (True, 40)


def test_the_next_time_it_goes_on_where_it_ended_and_keeps_its_own_rows(trail: AuditTrail, clock: Clock) -> None:
    trail.retain(DAY + timedelta(days=4), "acme", by="ann")
    assert trail.retain(DAY + timedelta(days=4), "acme", by="ann") == 0
    assert trail.verify().ok
    clock.day = 20
    fill(trail, "acme", 1, begin=200)
    assert trail.retain(DAY + timedelta(days=15), "acme", by="bob") == 60
    assert emptied(trail) == list(range(1, 101))
    assert trail.rows("acme")[100].content["by"] == "ann"
    clock.day = 30
    assert trail.retain(DAY + timedelta(days=29), "acme", by="bob") == 1
    assert [row.kind for row in trail.rows("acme") if row.body is not None] == ["retention"] * 3
    assert trail.verify().ok


def test_many_rows_are_let_go_in_batches_each_with_its_row(trail: AuditTrail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 20)
    monkeypatch.setattr(retention, "PAGE", 10)
    told: list[int] = []
    assert trail.retain(DAY + timedelta(days=5), "acme", by="ann", progress=told.append) == 50
    assert told == [20, 40, 50]
    said = [row.content for row in trail.rows("acme") if row.kind == "retention"]
    assert [(each["first"], each["last"]) for each in said] == [(1, 20), (21, 40), (41, 50)]
    assert trail.verify().ok


def test_a_moved_trail_lets_go_of_the_same_texts(trail: AuditTrail, tmp_path: Path) -> None:
    first, second = io.StringIO(), io.StringIO()
    trail.sign()
    trail.export(first)
    trail.retain(DAY + timedelta(days=4), "acme", by="ann")
    trail.export(second)
    with AuditTrail(tmp_path / "copy.db", signing_key=tmp_path / "c.key") as copy:
        copy.import_rows(io.BytesIO(first.getvalue().encode()))
        copy.import_rows(io.BytesIO(second.getvalue().encode()))
        assert emptied(copy) == list(range(1, 41))
        third = io.StringIO()
        copy.export(third)
    assert third.getvalue() == second.getvalue()


# ---- what only looks like it


def forge(trail: AuditTrail, *statements: str) -> Any:
    forger = Forger(trail.database.place)
    forger.run(*statements)
    forger.close()
    return trail.verify().problem


def test_a_text_that_is_gone_without_a_row_that_says_so_is_found(trail: AuditTrail) -> None:
    """The triggers let a text go: that is what retention does; the chain asks on whose word."""
    problem = forge(trail, "UPDATE director_audit SET body = NULL WHERE tenant = 'acme' AND sequence = 33")
    assert (problem.kind, problem.tenant_id, problem.sequence) == ("body_missing", "acme", 33)


def test_a_text_beyond_what_was_let_go_is_found(trail: AuditTrail) -> None:
    trail.retain(DAY + timedelta(days=4), "acme", by="ann")
    problem = forge(trail, "UPDATE director_audit SET body = NULL WHERE tenant = 'acme' AND sequence BETWEEN 41 AND 50")
    assert (problem.kind, problem.sequence) == ("body_missing", 41)


def test_the_row_that_says_what_was_let_go_cannot_be_emptied_itself(trail: AuditTrail) -> None:
    trail.retain(DAY + timedelta(days=4), "acme", by="ann")
    problem = forge(trail, "UPDATE director_audit SET body = NULL WHERE tenant = 'acme' AND kind = 'retention'")
    assert (problem.kind, problem.sequence) == ("body_missing", 101)


def test_another_tenants_retention_explains_nothing(trail: AuditTrail) -> None:
    trail.retain(DAY + timedelta(days=4), "acme", by="ann")
    problem = forge(trail, "UPDATE director_audit SET body = NULL WHERE tenant = 'zeta' AND sequence = 2")
    assert (problem.kind, problem.tenant_id, problem.sequence) == ("body_missing", "zeta", 2)


def test_a_retention_row_that_no_checkpoint_covers_counts_only_where_seals_are_read(
    trail: AuditTrail, tmp_path: Path
) -> None:
    (tmp_path / "public.pem").write_text(trail.key.pem())
    lines = (tmp_path / "c").read_text()
    trail.retain(DAY + timedelta(days=4), "acme", by="ann")
    (tmp_path / "c").write_text(lines)
    assert trail.verify().ok
    problem = trail.verify(key=read_key(tmp_path / "public.pem")).problem
    assert problem
    assert (problem.kind, problem.sequence) == ("body_missing", 1)
    trail.retain(DAY + timedelta(days=4), "acme", by="ann")
    assert trail.verify(key=read_key(tmp_path / "public.pem")).ok, "the next call has it signed"


def test_rows_that_were_changed_are_not_let_go(trail: AuditTrail) -> None:
    forger = Forger(trail.database.place)
    forger.disarm()
    forger.run("UPDATE director_audit SET body = '{}' WHERE tenant = 'acme' AND sequence = 5")
    with pytest.raises(TrailBroken, match="row 5"):
        trail.retain(DAY + timedelta(days=4), "acme", by="ann")
    assert emptied(trail) == []
    forger.close()


def test_a_forged_retention_row_does_not_keep_texts_from_being_let_go(trail: AuditTrail) -> None:
    trail.retain(DAY + timedelta(days=2), "acme", by="ann")
    forger = Forger(trail.database.place)
    forger.disarm()
    rows = forger.rows()
    row = next(each for each in rows if each["kind"] == "retention")
    row["body"] = row["body"].replace('"last":20', '"last":99')
    row["body_hash"] = sha256_of(row["body"])
    forger.put(rows)
    with pytest.raises(TrailBroken):
        trail.retain(DAY + timedelta(days=5), "acme", by="ann")
    forger.close()


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no time zone": ({"before": datetime(2026, 3, 2)}, "time zone"),  # noqa: DTZ001 - what is refused
    "no datetime": ({"before": "2026-03-02"}, "time zone"),
    "the future": ({"before": DAY + timedelta(days=400)}, "future"),
    "nobody": ({"by": ""}, "identifier"),
    "a sentence": ({"by": "Ann from the third floor"}, "identifier"),
    "a tenant that cannot be": ({"tenant_id": "../x"}, "tenant_id"),
}


@pytest.mark.parametrize(("change", "said"), BAD.values(), ids=BAD.keys())
def test_terms_that_cannot_be_meant_are_refused(clock: Clock, change: dict[str, Any], said: str) -> None:
    terms = {"before": DAY + timedelta(days=1), "tenant_id": "acme", "by": "ann", **change}
    with AuditTrail(clock=clock) as trail:
        fill(trail, "acme", 3)
        clock.day = 5
        with pytest.raises(ConfigError, match=said):
            trail.retain(**terms)
        assert emptied(trail) == []
