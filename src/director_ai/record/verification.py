"""Whether a trail is the one that was written, from its rows, its checkpoints and its key."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError
from director_ai.record.checkpoints import EVERY_SECONDS
from director_ai.record.keys import SigningKey, VerifyKey
from director_ai.record.links import TenantCheck
from director_ai.record.scan import pages_of, strange_tenants, tenants_in
from director_ai.record.signatures import SignedPoints
from director_ai.record.tables import AUDIT
from director_ai.record.verdicts import Problem, Verification

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from director_ai.record.checkpoints import CheckpointFile
    from director_ai.record.database import Database

__all__ = ["Findings", "verify_database"]

LOOKS: Final = 20
PAUSE_SECONDS: Final = 0.05


@dataclass(slots=True, kw_only=True)
class Findings:
    """What was found so far, tenant by tenant."""

    rows: int = 0
    tenants: int = 0
    unsigned: int = 0
    forgotten: int = 0
    problems: list[Problem] = field(default_factory=list)
    """The first one of each tenant."""

    def add(self, check: TenantCheck) -> None:
        """Count what a check found good."""
        self.tenants += 1
        self.rows += check.rows
        self.unsigned += check.unsigned
        self.forgotten += check.forgotten

    def verdict(self, points: SignedPoints, key: VerifyKey) -> Verification:
        """Return what comes of it all; a forged checkpoint is named where no row is bad."""
        problems = list(self.problems)
        if points.problem is not None:
            problems.append(points.problem)
            problems.sort(key=lambda each: each.kind == "checkpoints_missing")  # for that is what they lead to
        return Verification(
            ok=not problems,
            rows=self.rows,
            tenants=self.tenants,
            bad_tenants=len({each.tenant_id for each in problems}),
            checkpoints=points.count,
            unsigned_rows=self.unsigned,
            forgotten_rows=self.forgotten,
            seals_checked=isinstance(key, SigningKey),
            problem=problems[0] if problems else None,
        )


def verify_database(
    database: Database,
    checkpoints: CheckpointFile,
    key: VerifyKey,
    tenant_id: str | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Verification:
    """Check the trail of one tenant or of all, and name the first row that is not good.

    `progress` is told how many rows were read. Rows may be added meanwhile.
    """
    if tenant_id is not None:
        check_identifier("tenant_id", tenant_id)
    if not isinstance(key, VerifyKey):
        raise ConfigError(f"the key must be a SigningKey or a VerifyKey, got a {type(key).__name__}")
    # Before the rows: what was signed before the first look must be there in every later one.
    points = SignedPoints(checkpoints.lines(), key, tenant_id)

    findings, unsigned = Findings(), []

    def work(connection: Connection) -> None:
        names, strange = _tenants(connection, points, tenant_id)
        for name in names:
            check = TenantCheck(name, key, points.of.get(name, {}))
            problem = _checked(connection, name, check, findings.rows, progress)
            findings.add(check)
            if problem is not None:
                findings.problems.append(problem)
                unsigned.extend([(check, problem)] if problem.kind == "checkpoints_missing" else [])
        if strange:
            findings.problems.append(_nameless())

    database.read(work)
    for check, problem in unsigned:
        if _was_signed_meanwhile(database, checkpoints, key, check):
            findings.problems.remove(problem)
    return findings.verdict(points, key)


def _tenants(connection: Connection, points: SignedPoints, tenant_id: str | None) -> tuple[list[str], bool]:
    """Return the tenants to check, in order, and whether there are rows of others that there cannot be.

    A tenant that only checkpoints know of has lost all its rows.
    """
    if tenant_id is not None:
        there = next(pages_of(connection, tenant_id), []) or points.of.get(tenant_id)
        return [tenant_id] if there else [], False
    names, strange = set(points.of), strange_tenants(connection)
    for name in tenants_in(connection):
        try:
            names.add(check_identifier("tenant_id", name))
        except ConfigError:
            strange = True
    return sorted(names), strange


def _checked(
    connection: Connection, tenant_id: str, check: TenantCheck, before: int, progress: Callable[[int], None] | None
) -> Problem | None:
    for page in pages_of(connection, tenant_id):
        problem = check.take(page)
        if progress is not None:
            progress(before + check.rows)
        if problem is not None:
            return problem
    return check.finish()


def _was_signed_meanwhile(database: Database, checkpoints: CheckpointFile, key: VerifyKey, check: TenantCheck) -> bool:
    """Whether the rows at the end were signed while or after they were read, as happens where others write quickly."""
    name = check.tenant_id
    hash_of: sa.Select[Any] = sa.select(AUDIT.c.hash).where(AUDIT.c.tenant == name)
    for patience in range(LOOKS):
        late = SignedPoints(checkpoints.lines(), key, name).of.get(name, {})
        newest = max(late, default=0)
        if newest > check.signed:
            found = database.read(functools.partial(_scalar, query=hash_of.where(AUDIT.c.sequence == newest)))
            return bool(found == late[newest])
        if time.time() - check.last_at / 1_000_000 > EVERY_SECONDS or patience == LOOKS - 1:
            return False
        time.sleep(PAUSE_SECONDS)  # the last row is new: who wrote it is about to sign
    return False


def _scalar(connection: Connection, query: sa.Select[Any]) -> Any:
    return connection.scalar(query)


def _nameless() -> Problem:
    return Problem(
        kind="row_malformed",
        tenant_id="?",
        sequence=0,
        since=0,
        sentence="there are rows of a tenant that there cannot be",
    )
