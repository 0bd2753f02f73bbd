"""Promise 6: whatever somebody without the key does to the rows, the first row that was changed is named."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from forgery import HASH_STAYS, KINDS, TENANTS, Forger, Row, fill, rehash

from director_ai.record import AuditTrail, Problem
from director_ai.record.keys import VerifyKey, read_key

PLACES = 8


@dataclass
class Court:
    trail: AuditTrail
    forger: Forger
    rows: list[Row]
    public: VerifyKey


@pytest.fixture(scope="module", params=["file", "postgresql"])
def court(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    """A trail of three tenants that was closed, and a forger who has disarmed the database."""
    folder = tmp_path_factory.mktemp("court")
    place = str(folder / "reviews.db")
    if request.param == "postgresql":
        server: Any = request.getfixturevalue("postgres_server")
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE court")
        place = server.database("court")
    kept = {"checkpoints": folder / "trail.checkpoints", "signing_key": folder / "trail.key"}
    with AuditTrail(place, **kept) as trail:
        for tenant, count in TENANTS.items():
            fill(trail, tenant, count)
    (folder / "public.pem").write_text(read_key(folder / "trail.key").pem())
    forger = Forger(place)
    forger.disarm()
    with AuditTrail(place, **kept) as trail:
        yield Court(trail=trail, forger=forger, rows=forger.rows(), public=read_key(folder / "public.pem"))
    forger.close()


def test_what_was_not_touched_is_intact(court: Court) -> None:
    court.forger.put(court.rows)
    for key in (court.trail.key, court.public):
        found = court.trail.verify(key=key)
        assert found.ok
        assert found.problem is None
        assert (found.rows, found.tenants, found.bad_tenants, found.unsigned_rows) == (180, 3, 0, 0)
        assert found.seals_checked == (key is court.trail.key)


@pytest.mark.parametrize("rehashed", [False, True], ids=["as it is", "re-hashed"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_tampering_is_found_and_the_first_row_named(court: Court, kind: str, rehashed: bool) -> None:
    tamper_and_verify(court, kind, rehashed, range(PLACES))


@pytest.mark.soak
@pytest.mark.parametrize("rehashed", [False, True], ids=["as it is", "re-hashed"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_tampering_is_found_at_two_hundred_more_places(court: Court, kind: str, rehashed: bool) -> None:
    tamper_and_verify(court, kind, rehashed, range(PLACES, PLACES + 200))


def tamper_and_verify(court: Court, kind: str, rehashed: bool, seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"{kind} {seed}")
        rows = [dict(row) for row in court.rows]
        tenant, sequence = KINDS[kind](rows, rng)
        if rehashed:
            for name in {row["tenant"] for row in rows}:
                begin = sequence if name == tenant else len(TENANTS) * 1_000
                rehash(rows, name, begin + (kind in HASH_STAYS))
        court.forger.put(rows)
        found = court.trail.verify()
        assert not found.ok
        assert found.bad_tenants >= 1
        assert found.problem
        assert (found.problem.tenant_id, found.problem.sequence) == (tenant, sequence), (
            f"{kind} {seed}: {found.problem}"
        )
        assert found.problem.since == sequence
        if seed % 4 == 0:
            check_public(court, kind, rehashed, tenant, sequence)


def check_public(court: Court, kind: str, rehashed: bool, tenant: str, sequence: int) -> None:
    """With the public key alone, everything but seals and what comes after the last checkpoint."""
    found = court.trail.verify(key=court.public)
    if kind == "the seal edited":
        assert found.ok
    elif kind == "appended":
        assert found.ok
        assert found.unsigned_rows == 1
    elif kind == "moved to another tenant" and rehashed:
        assert not found.ok, "where it was, it is missing"
    else:
        problem = found.problem
        assert problem
        assert problem.tenant_id == tenant
        assert problem.since <= sequence <= problem.sequence
        assert rehashed or problem.sequence == sequence


def test_a_file_put_back_from_an_older_copy_is_a_cut_tail(court: Court) -> None:
    court.forger.put([row for row in court.rows if row["sequence"] <= 15])
    found = court.trail.verify()
    assert found.problem
    assert (found.problem.kind, found.problem.tenant_id, found.problem.sequence) == ("tail_cut", "", 16)
    assert (found.rows, found.bad_tenants) == (45, 3)


def test_one_tenant_is_judged_without_the_others(court: Court) -> None:
    rows = [dict(row) for row in court.rows]
    next(row for row in rows if row["tenant"] == "acme")["subject"] = "x"
    court.forger.put(rows)
    assert court.trail.verify("zeta").ok
    assert court.trail.verify("").rows == 90
    assert not court.trail.verify("acme").ok
    found = court.trail.verify("nobody")
    assert (found.ok, found.rows, found.tenants) == (True, 0, 0)


def test_a_problem_holds_nothing_of_what_stands_in_the_row(court: Court) -> None:
    rows = [dict(row) for row in court.rows]
    rows[5]["body"] = '{"secret":"canary"}'
    rows[5]["subject"] = "canary"
    court.forger.put(rows)
    found = court.trail.verify()
    assert isinstance(found.problem, Problem)
    assert "canary" not in repr(found)


def test_without_the_forger_the_database_itself_refuses_changes(
    trail: AuditTrail, forger: Forger, tmp_path: Path
) -> None:
    fill(trail, "acme", 3)
    for statement in (
        "UPDATE director_audit SET subject = 'x'",
        "UPDATE director_audit SET body = '{}'",
        "UPDATE director_audit SET body = NULL, seal = 'x'",
        "DELETE FROM director_audit",
        *([] if forger.is_sqlite else ["TRUNCATE director_audit"]),
    ):
        with pytest.raises(Exception, match="append-only"):
            forger.run(statement)
    assert trail.verify().rows == 3
