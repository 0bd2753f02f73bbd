"""Any case can be decided again from its rows in the trail; what comes out must be what was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from director_ai.core.guard_control import GuardDecision
from director_ai.core.scoring.consensus import redecide
from director_ai.errors import DirectorError
from director_ai.record.chain import sealed_rows_about
from director_ai.review.standing import DECIDED, RELEASED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from director_ai.record.chain import AuditRow
    from director_ai.record.keys import SigningKey
    from director_ai.review.cases import ReviewCase
    from director_ai.review.gate import Gate

__all__ = ["Replay", "replay_case"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What came of deciding a case again."""

    case_id: str
    tenant_id: str
    identical: bool
    differences: tuple[str, ...] = ()
    """What is otherwise than it was recorded, one sentence each."""
    rows: tuple[int, ...] = ()
    """The rows of the trail that it was decided from."""
    versions: dict[str, str] = field(default_factory=dict, hash=False)
    """Of what judged the text at the time."""


def replay_case(gate: Gate, connection: Connection, case: ReviewCase, key: SigningKey, now: int) -> Replay:
    """Decide a case again: consensus, approvals, state, release, and the tables beside the trail."""
    try:
        rows = sealed_rows_about(connection, case.tenant_id, case.case_id, key)
    except DirectorError as error:
        return Replay(case_id=case.case_id, tenant_id=case.tenant_id, identical=False, differences=(str(error),))
    found = [*_consensus(rows), *_states(rows), *_release(rows, case, key)]
    try:
        if case.candidate_text is not None:
            gate.read(connection, case.case_id, now)
        gate.decisions(connection, case.case_id)
    except DirectorError as error:
        found.append(str(error))
    return Replay(
        case_id=case.case_id,
        tenant_id=case.tenant_id,
        identical=not found,
        differences=tuple(found),
        rows=tuple(row.sequence for row in rows),
        versions=rows[0].content.get("versions", {}) if rows else {},
    )


def _consensus(rows: Sequence[AuditRow]) -> list[str]:
    recorded = rows[0].content.get("decision") if rows else None
    if recorded is None:
        return []
    try:
        again = redecide(GuardDecision.from_dict(recorded)).to_dict()
    except DirectorError as error:
        return [f"the guard decision cannot be decided again: {error}"]
    wrong = [name for name in ("decision", "reason", "risk") if again[name] != recorded[name]]
    return [f"the guard decision has another {name} than its signals lead to" for name in wrong]


def _states(rows: Sequence[AuditRow]) -> list[str]:
    """Count the approvals again, and compare the states that they lead to."""
    if not rows or not rows[0].content:
        return []
    needed, approvals, wrong = rows[0].content["required"], set(), []
    after = {"reject": "rejected", "request_retry": "retry_requested"}
    for row in rows[1:]:
        body: dict[str, Any] = row.content
        if row.kind != DECIDED or not body:
            continue
        if body["action"] == "approve":
            approvals.add(body["reviewer"].lower())
        expected = after.get(body["action"]) or ("approved" if len(approvals) >= needed else "open")
        if body["state"] != expected:
            wrong.append(f"row {row.sequence} says {body['state']}, the decisions lead to {expected}")
    return wrong


def _release(rows: Sequence[AuditRow], case: ReviewCase, key: SigningKey) -> list[str]:
    released = [row.content for row in rows if row.kind == RELEASED and row.body is not None]
    if len(released) > 1:
        return ["the case was released more than once"]
    if released and case.candidate_text is not None and released[0]["text"] != key.digest(case.candidate_text):
        return ["the text is not the one that was released"]
    return []
