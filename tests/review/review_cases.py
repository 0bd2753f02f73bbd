"""What the tests of reviews are made of: a clock, texts, proposals, and a look at the whole trail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from director_ai import HumanReviewQueue
from director_ai.core.guard_control import RiskEnvelope, VerifierSignal
from director_ai.core.runtime.correction import CorrectionLoop, CorrectionProposal
from director_ai.core.scoring.consensus import CrossVerifierConsensus
from director_ai.errors import DirectorError
from director_ai.record.chain import AuditRow, check_links
from director_ai.record.tables import AUDIT, DECISION
from director_ai.review import ReviewCase

TEXT = "The refund takes fourteen days, as clause nine of the contract says."
ORIGINAL = "The refund takes two hours, says the contract."
REASON = "The reviewer found nothing wrong with the refund."
LONG = "x" * 10_240
NEEDLES = ("refund", "fourteen", "contract", "nothing wrong")
"""Words of the texts above: no message may hold any of them."""


class Clock:
    """Seconds since 1970, moved by hand."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def place_of(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("fresh_reviews"))
    return ":memory:" if request.param == "memory" else str(folder / "reviews.db")


def put_in(queue: HumanReviewQueue, **options: Any) -> ReviewCase:
    return queue.enqueue_case(**{"candidate_text": TEXT, "tenant_id": "acme"} | options)


def approved(queue: HumanReviewQueue, **options: Any) -> ReviewCase:
    case = put_in(queue, **options)
    queue.decide(case.case_id, reviewer_id="ann", action="approve", reason=REASON)
    return queue.get_case(case.case_id)


def released(queue: HumanReviewQueue, **options: Any) -> ReviewCase:
    case = approved(queue, **options)
    queue.release(case.case_id, reviewer_id="ann", release_id=f"release-of-{case.case_id}")
    return queue.get_case(case.case_id)


def proposal(verdict: str = "supported", score: float = 0.08, text: str = TEXT) -> CorrectionProposal:
    loop = CorrectionLoop(
        consensus=CrossVerifierConsensus(),
        risk_envelope=RiskEnvelope("text", "reversible", "regulated", 0.65, 0.9),
        policy_id="policy.correction",
    )
    signal = VerifierSignal("nli", "text", score, verdict, max(0.0, score - 0.05), min(1.0, score + 0.05), ("kb://1",))  # type: ignore[arg-type]
    return loop.propose(candidate_text=text, signals=[signal], evidence_refs=("trace://halt-7",))


def forged(verdict: str = "contradiction", score: float = 0.8) -> CorrectionProposal:
    """A halted proposal whose decision somebody rewrote, and that was given the id of what it became."""
    halted = proposal(verdict, score)
    decision = dataclasses.replace(halted.guard_decision, decision="allow")
    changed = dataclasses.replace(halted, guard_decision=decision)
    return dataclasses.replace(changed, proposal_id=f"proposal-{changed.digest.removeprefix('sha256:')[:32]}")


def all_rows(queue: HumanReviewQueue, tenant_id: str) -> list[AuditRow]:
    rows: list[AuditRow] = []
    while page := queue.trail.rows(tenant_id, after=rows[-1].sequence if rows else 0):
        rows += page
    return rows


def tenants(queue: HumanReviewQueue) -> list[str]:
    return queue.trail.database.read(lambda c: list(c.scalars(sa.select(AUDIT.c.tenant).distinct())))


def check_trail(queue: HumanReviewQueue) -> dict[str, list[AuditRow]]:
    """Every row is linked and sealed, and the table of decisions says what the trail says."""
    trails = {tenant: all_rows(queue, tenant) for tenant in tenants(queue)}
    for rows in trails.values():
        check_links(rows, None, queue.trail.key)
    decided = {
        (
            row.tenant_id,
            row.sequence,
            row.subject,
            row.content["decision"],
            row.content["reviewer"],
            row.content["action"],
        )
        for rows in trails.values()
        for row in rows
        if row.kind == "case.decided"
    }
    columns = (DECISION.c.tenant, DECISION.c.audit_sequence, DECISION.c.case_id, DECISION.c.decision_id)
    query = sa.select(*columns, DECISION.c.reviewer_id, DECISION.c.action)
    assert {tuple(row) for row in queue.trail.database.read(lambda c: c.execute(query).fetchall())} == decided
    releases = [row.subject for rows in trails.values() for row in rows if row.kind == "case.released"]
    assert len(releases) == len(set(releases)), "a case was released twice"
    return trails


class Hostile(str):
    """A string that says something else each time it is asked."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return hash("approve")

    def __str__(self) -> str:
        return "approve"

    def __format__(self, how: str) -> str:
        return "approve"

    def __len__(self) -> int:
        return 1

    def __contains__(self, other: object) -> bool:
        return False

    def strip(self, *_: object) -> str:
        return "x"

    def lower(self) -> str:
        return "x"

    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        return b"approve"


def refused(
    queue: HumanReviewQueue, ask: Callable[[HumanReviewQueue], Any], error: type[DirectorError], says: str
) -> None:
    """Ask, and look at the refusal; nothing may have been recorded because of it."""
    before = len(all_rows(queue, "acme"))
    with pytest.raises(error, match=says) as caught:
        ask(queue)
    assert type(caught.value) is error
    said = f"{caught.value!s} {caught.value!r}"
    assert not any(needle in said for needle in NEEDLES), said
    assert LONG[:100] not in said
    assert len(said) < 2_000
    assert len(all_rows(queue, "acme")) == before
