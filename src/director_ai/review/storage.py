"""Cases and decisions as rows; every function works inside a transaction that somebody else began."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Final, cast

import sqlalchemy as sa

from director_ai.core.identifiers import is_ref
from director_ai.errors import TrailBroken, UnknownCase
from director_ai.record.canonical import canonical
from director_ai.record.tables import CASE, CORRECTION, DECISION
from director_ai.review.cases import ReviewCase, ReviewDecision, moment

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping

    from director_ai.review.cases import State

__all__ = [
    "case_of_release",
    "change_case",
    "decisions_of",
    "due_cases",
    "find_case",
    "find_correction",
    "insert_case",
    "insert_decision",
    "keep_correction",
    "next_case",
    "page_of_cases",
    "tenant_of",
]

UNDECIDED: Final = ("open", "approved")
_FIND: Final = sa.select(CASE).where(CASE.c.case_id == sa.bindparam("id"))
_TENANT: Final = sa.select(CASE.c.tenant).where(CASE.c.case_id == sa.bindparam("id"))
_RELEASE: Final = sa.select(CASE.c.case_id).where(
    CASE.c.tenant == sa.bindparam("of"), CASE.c.release_id == sa.bindparam("release")
)
_INSERT_CASE: Final = sa.insert(CASE)
_INSERT_DECISION: Final = sa.insert(DECISION)
_TEXTS: Final = tuple(column.name for column in CASE.c if isinstance(column.type, sa.Text))
_LASTS: Final = CASE.c.expires_at + 0
"""When a case expires, as a condition that has no index: the inbox is read in the order of its own."""
_DECISIONS: Final = (
    sa.select(DECISION).where(DECISION.c.case_id == sa.bindparam("id")).order_by(DECISION.c.audit_sequence)
)


def insert_case(connection: Connection, case: ReviewCase, *, created_at: int, expires_at: int) -> None:
    """Add a case to the inbox."""
    connection.execute(
        _INSERT_CASE,
        {
            "case_id": case.case_id,
            "tenant": case.tenant_id,
            "request_id": case.request_id,
            "kind": case.kind,
            "state": case.state,
            "reason": case.reason,
            "proposer_id": case.proposer_id,
            "policy_id": case.policy_id,
            "proposal_id": case.proposal_id,
            "retry_of": case.retry_of,
            "candidate_text": case.candidate_text,
            "original_text": case.original_text,
            "evidence_refs": canonical(list(case.evidence_refs)),
            "decision": None if case.guard_decision is None else canonical(case.guard_decision),
            "details": canonical({"metadata": case.metadata, "reviewers": list(case.reviewers)}),
            "digest": case.digest,
            "required_approvals": case.required_approvals,
            "approvals": 0,
            "created_at": created_at,
            "expires_at": expires_at,
            "claimed_by": "",
            "released_by": "",
        },
    )


@functools.cache
def _change(names: tuple[str, ...]) -> sa.Update:
    """Return the statement that sets some columns, made once: to make it takes longer than to run it."""
    return (
        sa.update(CASE)
        .where(CASE.c.case_id == sa.bindparam("id"))
        .values({name: sa.bindparam(f"new_{name}") for name in names})
    )


def change_case(connection: Connection, case_id: str, **values: Any) -> None:
    """Set columns of a case."""
    connection.execute(
        _change(tuple(values)), {"id": case_id, **{f"new_{name}": value for name, value in values.items()}}
    )


def tenant_of(connection: Connection, case_id: str) -> str | None:
    """Return whose case it is; None where there is none."""
    return connection.scalar(_TENANT, {"id": case_id})


def find_case(connection: Connection, case_id: str, now: int) -> ReviewCase | None:
    """Return a case as it stands at a time."""
    found = connection.execute(_FIND, {"id": case_id}).mappings().first()
    return _case(found, now) if found is not None else None


def page_of_cases(
    connection: Connection, *, tenant_id: str | None, state: State | None, after: str, most: int, now: int
) -> list[ReviewCase]:
    """Return cases behind another one, the oldest first."""
    wanted = sa.select(CASE).order_by(CASE.c.created_at, CASE.c.case_id).limit(most)
    if tenant_id is not None:
        wanted = wanted.where(CASE.c.tenant == tenant_id)
    if state in UNDECIDED:
        wanted = wanted.where(CASE.c.state == state, now < _LASTS)
    elif state == "expired":
        wanted = wanted.where(
            sa.or_(CASE.c.state == "expired", sa.and_(CASE.c.state.in_(UNDECIDED), CASE.c.expires_at <= now))
        )
    elif state is not None:
        wanted = wanted.where(CASE.c.state == state)
    if after:
        since = connection.scalar(sa.select(CASE.c.created_at).where(CASE.c.case_id == after))
        if since is None or (tenant_id is not None and tenant_of(connection, after) != tenant_id):
            raise UnknownCase("`after` names no case" + ("" if tenant_id is None else " of this tenant"))
        wanted = wanted.where(
            sa.tuple_(CASE.c.created_at, CASE.c.case_id) > sa.tuple_(sa.literal(since), sa.literal(after))
        )
    return [_case(found, now) for found in connection.execute(wanted).mappings()]


def next_case(connection: Connection, tenant_id: str, reviewer: str, now: int) -> str | None:
    """Return the oldest open case that nobody holds and that this reviewer, in lower case, may decide."""
    wanted = (
        sa.select(CASE.c.case_id, CASE.c.details)
        .where(
            CASE.c.tenant == tenant_id,
            CASE.c.state == "open",
            now < _LASTS,
            sa.or_(CASE.c.claimed_until.is_(None), CASE.c.claimed_until <= now),
        )
        .order_by(CASE.c.created_at, CASE.c.case_id)
    )
    for most in (1, None):  # nearly always the oldest will do
        for case_id, details in connection.execute(wanted.limit(most)):
            may = _details(details)["reviewers"]
            if not may or reviewer in may:
                return str(case_id)
    return None


def due_cases(connection: Connection, now: int, most: int) -> list[str]:
    """Return cases whose time has come to an end, and that do not say so yet."""
    wanted = sa.select(CASE.c.case_id).where(CASE.c.state.in_(UNDECIDED), CASE.c.expires_at <= now).limit(most)
    return list(connection.scalars(wanted))


def case_of_release(connection: Connection, tenant_id: str, release_id: str) -> str | None:
    """Return the case that was released under an id."""
    return connection.scalar(_RELEASE, {"of": tenant_id, "release": release_id})


def insert_decision(connection: Connection, decision: ReviewDecision, *, at: int) -> None:
    """Add a decision."""
    connection.execute(
        _INSERT_DECISION,
        {
            "decision_id": decision.decision_id,
            "case_id": decision.case_id,
            "tenant": decision.tenant_id,
            "reviewer_id": decision.reviewer_id,
            "action": decision.action,
            "reason": decision.reason,
            "digest": decision.digest,
            "at": at,
            "audit_sequence": decision.audit_sequence,
        },
    )


def decisions_of(connection: Connection, case_id: str) -> list[RowMapping]:
    """Return the rows of the decisions about a case, in order."""
    return list(connection.execute(_DECISIONS, {"id": case_id}).mappings())


def keep_correction(connection: Connection, tenant_id: str, claim: str, case_id: str) -> None:
    """Let a claim be corrected by a case from now on."""
    connection.execute(sa.delete(CORRECTION).where(CORRECTION.c.tenant == tenant_id, CORRECTION.c.claim == claim))
    connection.execute(sa.insert(CORRECTION), {"tenant": tenant_id, "claim": claim, "case_id": case_id})


def find_correction(connection: Connection, tenant_id: str, claim: str) -> str | None:
    """Return the case that corrects a claim."""
    return connection.scalar(
        sa.select(CORRECTION.c.case_id).where(CORRECTION.c.tenant == tenant_id, CORRECTION.c.claim == claim)
    )


def _case(found: RowMapping, now: int) -> ReviewCase:
    try:
        return _read(found, now)
    except (ValueError, TypeError, KeyError, OverflowError):
        shown = found["case_id"] if is_ref(found["case_id"]) else "a case"
        raise TrailBroken(f"{shown} cannot be read: its row was changed; run `director-ai audit verify`") from None


def _details(text: str) -> dict[str, Any]:
    try:
        details = json.loads(text)
        return {"metadata": dict(details["metadata"]), "reviewers": list(details["reviewers"])}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TrailBroken("a case cannot be read: its row was changed; run `director-ai audit verify`") from None


def _read(found: RowMapping, now: int) -> ReviewCase:
    if not all(isinstance(found[name], str | None) for name in _TEXTS):
        raise TypeError("no text")
    details = _details(found["details"])
    over = found["state"] in UNDECIDED and found["expires_at"] <= now
    return ReviewCase(
        case_id=found["case_id"],
        tenant_id=found["tenant"],
        request_id=found["request_id"],
        kind=found["kind"],
        state=cast("State", "expired" if over else found["state"]),
        reason=found["reason"],
        candidate_text=found["candidate_text"],
        original_text=found["original_text"],
        evidence_refs=tuple(json.loads(found["evidence_refs"])),
        proposer_id=found["proposer_id"],
        policy_id=found["policy_id"],
        proposal_id=found["proposal_id"],
        retry_of=found["retry_of"],
        guard_decision=None if found["decision"] is None else json.loads(found["decision"]),
        metadata=details["metadata"],
        digest=found["digest"],
        required_approvals=found["required_approvals"],
        approvals=found["approvals"],
        reviewers=tuple(details["reviewers"]),
        created_at=moment(found["created_at"]),
        expires_at=moment(found["expires_at"]),
        claimed_by=found["claimed_by"] if (found["claimed_until"] or 0) > now else "",
        claimed_until=moment(found["claimed_until"]) if (found["claimed_until"] or 0) > now else None,
        release_id=found["release_id"] or "",
        released_by=found["released_by"],
        released_at=None if found["released_at"] is None else moment(found["released_at"]),
    )
