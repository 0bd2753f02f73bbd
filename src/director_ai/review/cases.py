"""What a review is about, what was decided, and the digest that binds an approval to what was approved."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from director_ai.core.tenant_safety import is_machine_reason
from director_ai.record.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ACTIONS",
    "STATES",
    "Action",
    "ReviewCase",
    "ReviewDecision",
    "State",
    "binding_digest",
    "moment",
    "recorded_metadata",
    "recorded_reason",
]

State = Literal["open", "approved", "rejected", "retry_requested", "expired", "released"]
Action = Literal["approve", "reject", "request_retry"]
STATES: Final[tuple[str, ...]] = get_args(State)
ACTIONS: Final[tuple[str, ...]] = get_args(Action)

_TEXTS: Final = frozenset({"candidate_text", "original_text", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCase:
    """A text that waits for people, or that they have decided about."""

    case_id: str
    tenant_id: str = ""
    request_id: str = ""
    kind: Literal["text", "correction"] = "text"
    """A correction has a guard decision, which must be to allow."""
    state: State = "open"
    reason: str = ""
    """Why it came here."""
    candidate_text: str | None = field(default=None, repr=False)
    """What would be released; None once it was let go at the end of its time."""
    original_text: str | None = field(default=None, repr=False)
    """What it corrects, where that is known."""
    evidence_refs: tuple[str, ...] = ()
    proposer_id: str = ""
    policy_id: str = ""
    proposal_id: str = ""
    retry_of: str = ""
    """The case that was sent back, and that this one is the next try of."""
    guard_decision: dict[str, Any] | None = field(default=None, hash=False, repr=False)
    metadata: dict[str, Any] = field(default_factory=dict, hash=False, repr=False)
    digest: str
    """Of the text and all that is approved with it."""
    required_approvals: int = 1
    approvals: int = 0
    reviewers: tuple[str, ...] = ()
    """Who may decide; empty where that is not limited to some."""
    created_at: datetime
    expires_at: datetime
    """Of the case, and once it is approved, of the approval."""
    claimed_by: str = ""
    claimed_until: datetime | None = None
    release_id: str = ""
    released_by: str = ""
    released_at: datetime | None = None

    def to_dict(self, *, include_candidate: bool = False) -> dict[str, Any]:
        """Return plain JSON values; texts, and what else a tenant put in, only where asked for."""
        payload = {f.name: getattr(self, f.name) for f in fields(self) if include_candidate or f.name not in _TEXTS}
        for name, value in payload.items():
            if isinstance(value, datetime):
                payload[name] = value.isoformat(timespec="microseconds").replace("+00:00", "Z")
            elif isinstance(value, tuple):
                payload[name] = list(value)
        return payload


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision:
    """What one reviewer said of a case."""

    decision_id: str
    case_id: str
    tenant_id: str
    reviewer_id: str
    action: Action
    reason: str | None = field(repr=False)
    """In the reviewer's words; None once it was let go at the end of its time."""
    digest: str
    """What the case was when it was decided."""
    at: datetime
    audit_sequence: int
    """The row of the tenant's trail that says so."""
    state: State
    """Of the case, with this decision."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        payload = {f.name: getattr(self, f.name) for f in fields(self)}
        return payload | {"at": self.at.isoformat(timespec="microseconds").replace("+00:00", "Z")}


def binding_digest(case: ReviewCase, digest: Callable[[str], str]) -> str:
    """Return the digest of all that an approval is for: change any of it, and it is approved no longer."""
    return digest(
        canonical(
            {
                "text": case.candidate_text or "",
                "original": case.original_text or "",
                "tenant": case.tenant_id,
                "request": case.request_id,
                "kind": case.kind,
                "policy": case.policy_id,
                "evidence": list(case.evidence_refs),
                "proposal": case.proposal_id,
                "proposer": case.proposer_id,
                "decision": case.guard_decision,
                "reviewers": list(case.reviewers),
                "required": case.required_approvals,
                "version": 1,
            }
        )
    )


def recorded_reason(reason: str, digest: Callable[[str], str]) -> str:
    """Return what the trail says of a reason: a machine's word as it is, of people's words the hash."""
    return reason if not reason or is_machine_reason(reason) else f"hmac:{digest(reason)}"


def recorded_metadata(metadata: dict[str, Any], digest: Callable[[str], str]) -> str:
    """Return what the trail says of a case's metadata: the hash."""
    return digest(canonical(metadata)) if metadata else ""


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment(microseconds: int) -> datetime:
    """Return a stored time as one to look at."""
    return _EPOCH + timedelta(microseconds=microseconds)
