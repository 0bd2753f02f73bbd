"""The gate: who may decide what about a case, and when its text may leave.

    open ──approve──► approved ──release──► released
      │                  │
      ├──reject──────────┴──► rejected
      ├──request_retry───┴──► retry_requested
      └──(its time ends)─┴──► expired

A case is approved once as many reviewers as it needs have approved it. What the sealed rows of the trail say decides;
a table that says otherwise was changed by somebody else, and then nothing leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from director_ai.core.runtime.interrupts import must_pass
from director_ai.errors import (
    AlreadyReleased,
    ApprovalReused,
    CaseClaimed,
    CaseDecided,
    CaseExpired,
    NotAllowed,
    NotApproved,
    Refused,
    ReviewerRefused,
    SelfApproval,
    TextChanged,
    TrailBroken,
    UnknownCase,
)
from director_ai.record.canonical import sha256_of
from director_ai.record.chain import sealed_rows_about
from director_ai.review import storage
from director_ai.review.agreement import agrees, borne_out_decisions, reason_hash
from director_ai.review.cases import ReviewDecision, binding_digest, moment
from director_ai.review.continuity import Continuity
from director_ai.review.standing import DECIDED, EXPIRED, RELEASED, standing_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from director_ai.record.chain import Writer
    from director_ai.record.keys import SigningKey
    from director_ai.review.cases import Action, ReviewCase, State
    from director_ai.review.standing import Standing

__all__ = ["Gate"]

_STATE_AFTER: Final[dict[str, State]] = {"reject": "rejected", "request_retry": "retry_requested"}


class Gate:
    """Decides about cases inside a transaction; a refusal that is itself recorded is returned, not raised."""

    def __init__(
        self, key: SigningKey, *, authorize: Callable[[str, str, str], bool] | None, approval_lasts: float
    ) -> None:
        self._key = key
        self.digest = key.digest
        self._continuity = Continuity(key)
        self._authorize = authorize
        self._approval_lasts = int(approval_lasts * 1_000_000)

    def read(self, connection: Connection, case_id: str, now: int) -> tuple[ReviewCase, Standing]:
        """Return a case and where it stands; refuse one that is not what the trail says it is."""
        case = storage.find_case(connection, case_id, now)
        if case is None:
            raise UnknownCase("there is no such case")
        standing = standing_of(sealed_rows_about(connection, case.tenant_id, case_id, self._key))
        if case.candidate_text is None:
            raise CaseExpired("the text of the case was let go at the end of its time")
        if standing is None:
            raise TrailBroken("the trail knows nothing of this case; it was not put in by the queue")
        if binding_digest(case, self.digest) != standing.digest or case.digest != standing.digest:
            raise TextChanged(
                "the text of the case, or what would be approved with it, was changed after it came in; "
                "enqueue it anew, with retry_of"
            )
        if not agrees(case, standing, now, self.digest):
            raise TrailBroken("the state of the case is not what the trail says; run `director-ai audit verify`")
        return case, standing

    # --- deciding ---------------------------------------------------------------------------------------------

    def decide(
        self, writer: Writer, case_id: str, *, reviewer: str, action: Action, reason: str
    ) -> ReviewDecision | Refused:
        """Record what a reviewer says; the same said again is the same decision."""
        case, standing = self.read(writer.connection, case_id, writer.now)
        decision_id = f"decision-{sha256_of(f'{case_id} {reviewer.lower()} {action}')[:32]}"
        if decision_id in standing.decided and standing.state in {
            "open",
            "approved",
            "released",
            _STATE_AFTER.get(action),
        }:
            made = borne_out_decisions(writer.connection, case_id, standing, self.digest)
            return next(each for each in made if each.decision_id == decision_id)
        if (over := self._close_if_over(writer, case, standing)) is not None:
            return over
        _check_reviewer(case, standing, reviewer, writer.now)
        if action == "approve":
            _check_approval(case, standing, reviewer)
        self._continuity.check(writer.connection, case_id, standing.last)
        state, expires_at = self._after(standing, reviewer, action, writer.now)
        row = writer.append(
            DECIDED,
            case_id,
            {
                "step": standing.steps + 1,
                "decision": decision_id,
                "reviewer": reviewer,
                "action": action,
                "reason": reason_hash(reason, self.digest),
                "digest": standing.digest,
                "state": state,
                "expires_at": expires_at,
            },
        )
        decision = ReviewDecision(
            decision_id=decision_id,
            case_id=case_id,
            tenant_id=case.tenant_id,
            reviewer_id=reviewer,
            action=action,
            reason=reason,
            digest=standing.digest,
            at=moment(row.at),
            audit_sequence=row.sequence,
            state=state,
        )
        storage.insert_decision(writer.connection, decision, at=row.at)
        storage.change_case(
            writer.connection,
            case_id,
            state=state,
            approvals=len(standing.approvals) + (action == "approve"),
            expires_at=expires_at,
            claimed_by="",
            claimed_until=None,
        )
        return decision

    def _after(self, standing: Standing, reviewer: str, action: Action, now: int) -> tuple[State, int]:
        """Return the state with one more decision, and until when it holds."""
        if action != "approve":
            return _STATE_AFTER[action], standing.expires_at
        if len({*standing.approvals, reviewer.lower()}) < standing.required:
            return "open", standing.expires_at
        return "approved", now + self._approval_lasts

    def check_may(self, reviewer: str, action: str, *, tenant_id: str) -> None:
        """Refuse a reviewer whom the function of the queue's owner does not let act."""
        if self._authorize is None:
            return
        try:
            may = self._authorize(reviewer, tenant_id, action)
        except BaseException as error:
            if must_pass(error):
                raise
            raise ReviewerRefused(f"authorize failed with {type(error).__name__}, so nobody may {action}") from None
        if may is not True:
            raise ReviewerRefused(f"this reviewer may not {action} in this tenant")

    def decisions(self, connection: Connection, case_id: str) -> list[ReviewDecision]:
        """Return what was decided about a case, each decision borne out by its row of the trail."""
        tenant = storage.tenant_of(connection, case_id)
        if tenant is None:
            raise UnknownCase("there is no such case")
        standing = standing_of(sealed_rows_about(connection, tenant, case_id, self._key))
        if standing is None:
            raise TrailBroken("the trail knows nothing of this case; it was not put in by the queue")
        return borne_out_decisions(connection, case_id, standing, self.digest)

    # --- releasing --------------------------------------------------------------------------------------------

    def release(self, writer: Writer, case_id: str, *, reviewer: str, release_id: str) -> str | Refused:
        """Record that the text leaves, and return it; the same release asked for again returns the same text."""
        case, standing = self.read(writer.connection, case_id, writer.now)
        if standing.state == "released":
            if (standing.release_id, standing.released_by.lower()) == (release_id, reviewer.lower()):
                return case.candidate_text or ""
            raise AlreadyReleased(
                "the case was released already, under another release_id or by another reviewer; "
                "each approval releases once"
            )
        if (over := self._close_if_over(writer, case, standing)) is not None:
            return over
        _check_claim(case, reviewer, writer.now)
        _check_allowed(case)
        if standing.state != "approved" or len(standing.approvals) < standing.required:
            raise NotApproved(
                f"the case is {standing.state}: it has {len(standing.approvals)} of {standing.required} approvals"
            )
        borne_out_decisions(
            writer.connection, case_id, standing, self.digest
        )  # raises where they are not those of the trail
        self._continuity.check(writer.connection, case_id, standing.last)
        taken = storage.case_of_release(writer.connection, case.tenant_id, release_id)
        if taken is not None:
            raise ApprovalReused("this release_id released another case; every release needs its own")
        row = writer.append(
            RELEASED,
            case_id,
            {
                "step": standing.steps + 1,
                "release": release_id,
                "reviewer": reviewer,
                "digest": standing.digest,
                "text": self.digest(case.candidate_text or ""),
                "approvals": sorted(standing.approvals.values()),
            },
        )
        storage.change_case(
            writer.connection,
            case_id,
            state="released",
            release_id=release_id,
            released_by=reviewer,
            released_at=row.at,
            claimed_by="",
            claimed_until=None,
        )
        return case.candidate_text or ""

    # --- the end of its time ----------------------------------------------------------------------------------

    def expire(self, writer: Writer, case_id: str) -> bool:
        """Record that a case came to its end; whether it did."""
        case, standing = self.read(writer.connection, case_id, writer.now)
        return standing.state != "expired" and self._close_if_over(writer, case, standing) is not None

    def _close_if_over(self, writer: Writer, case: ReviewCase, standing: Standing) -> Refused | None:
        if not standing.is_over(writer.now):
            return None
        if standing.state != "expired":
            body = {"step": standing.steps + 1, "was": standing.state, "expired_at": standing.expires_at}
            writer.append(EXPIRED, case.case_id, body)
            storage.change_case(writer.connection, case.case_id, state="expired")
        what = "its approval was not used in time" if standing.approvals else "nobody decided in time"
        return CaseExpired(f"the case expired: {what}; put the text in as a new case, with retry_of")


def _check_claim(case: ReviewCase, reviewer: str, now: int) -> None:
    if case.claimed_by and case.claimed_by.lower() != reviewer.lower() and case.claimed_until is not None:
        left = (case.claimed_until - moment(now)).total_seconds()
        raise CaseClaimed(f"another reviewer holds the case for {left:.0f} more seconds")


def _check_allowed(case: ReviewCase) -> None:
    """Refuse a correction that the consensus did not allow: no approval stands in for it."""
    if case.kind != "correction":
        return
    decided = (case.guard_decision or {}).get("decision", "nothing")
    if decided != "allow":
        raise NotAllowed(
            f"the verifiers' consensus decided {decided!r}, not 'allow': reject the case or request a retry"
        )


def _check_approval(case: ReviewCase, standing: Standing, reviewer: str) -> None:
    _check_allowed(case)
    if standing.proposer and standing.proposer == reviewer.lower():
        raise SelfApproval("whoever proposed a text cannot approve it; another reviewer must")
    if standing.state == "approved":
        raise CaseDecided("the case has all the approvals it needs; release it")


def _check_reviewer(case: ReviewCase, standing: Standing, reviewer: str, now: int) -> None:
    if standing.reviewers and reviewer.lower() not in standing.reviewers:
        raise ReviewerRefused("this reviewer is not among those who may decide this case")
    if standing.state == "released":
        raise AlreadyReleased("the case was released already; it can no longer be decided")
    if standing.state in {"rejected", "retry_requested"}:
        raise CaseDecided(f"the case is {standing.state} already; put a new text in as a new case")
    _check_claim(case, reviewer, now)
