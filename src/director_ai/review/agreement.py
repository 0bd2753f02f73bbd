"""Whether the inbox says what the trail says: what differs was changed by somebody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.errors import TrailBroken
from director_ai.review import storage
from director_ai.review.cases import ReviewDecision, moment, recorded_metadata, recorded_reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, RowMapping

    from director_ai.record.chain import AuditRow
    from director_ai.review.cases import ReviewCase
    from director_ai.review.standing import Standing

__all__ = ["agrees", "borne_out_decisions", "reason_hash"]


def agrees(case: ReviewCase, standing: Standing, now: int, digest: Callable[[str], str]) -> bool:
    """Whether the inbox says of a case what the trail says."""
    shown = (case.state, case.expires_at, case.approvals, case.release_id, case.released_by)
    recorded = (
        "expired" if standing.is_over(now) else standing.state,
        moment(standing.expires_at),
        len(standing.approvals),
        standing.release_id,
        standing.released_by,
    )
    come_in = (case.retry_of, recorded_reason(case.reason, digest), recorded_metadata(case.metadata, digest))
    opened = standing.opened
    return shown == recorded and come_in == (opened["retry_of"], opened["reason"], opened["metadata"])


def borne_out_decisions(
    connection: Connection, case_id: str, standing: Standing, digest: Callable[[str], str]
) -> list[ReviewDecision]:
    """Return the decisions about a case; they must be those of the trail, no more, no fewer and no others."""
    rows = storage.decisions_of(connection, case_id)
    if [row["decision_id"] for row in rows] != list(standing.decided):
        raise TrailBroken("the decisions are not those of the trail; run `director-ai audit verify`")
    return [_decision(row, case_id, standing.decided[row["decision_id"]], digest) for row in rows]


def _decision(row: RowMapping, case_id: str, recorded: AuditRow, digest: Callable[[str], str]) -> ReviewDecision:
    said, reason = recorded.content, row["reason"]
    shown = (row["tenant"], row["reviewer_id"], row["action"], row["digest"], row["at"], row["audit_sequence"])
    is_same = shown == (
        recorded.tenant_id,
        said["reviewer"],
        said["action"],
        said["digest"],
        recorded.at,
        recorded.sequence,
    )
    if not is_same or (
        reason is not None and (type(reason) is not str or reason_hash(reason, digest) != said["reason"])
    ):
        raise TrailBroken("a decision is not what the trail says; run `director-ai audit verify`")
    return ReviewDecision(
        decision_id=row["decision_id"],
        case_id=case_id,
        tenant_id=row["tenant"],
        reviewer_id=row["reviewer_id"],
        action=row["action"],
        reason=reason,
        digest=row["digest"],
        at=moment(row["at"]),
        audit_sequence=row["audit_sequence"],
        state=said["state"],
    )


def reason_hash(reason: str, digest: Callable[[str], str]) -> str:
    """Return what the trail says of a reviewer's reason."""
    return f"hmac:{digest(reason)}" if reason else ""
