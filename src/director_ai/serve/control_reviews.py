"""For reviewers and their tools: the cases of their own tenant, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from director_ai.review.cases import Action, State  # noqa: TC001 - fastapi reads them when it runs
from director_ai.serve.routing import OPTIONAL, PLAIN, REQUIRED, CallerOf, guarded_router

if TYPE_CHECKING:
    from director_ai.review.cases import ReviewCase
    from director_ai.serve.server import Server

__all__ = ["reviews_router"]

CaseId = Annotated[str, Path(max_length=128, pattern=REQUIRED)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Case(BaseModel):
    """A case; texts are there where one is shown, not in a list."""

    model_config = ConfigDict(extra="allow")

    case_id: str
    tenant_id: str
    request_id: str
    kind: str
    state: State
    reason: str
    candidate_text: str | None = None
    original_text: str | None = None
    metadata: dict[str, Any] | None = None
    evidence_refs: list[str]
    required_approvals: int
    approvals: int
    claimed_by: str
    created_at: str
    expires_at: str


class Decision(BaseModel):
    """What a reviewer said of a case."""

    model_config = ConfigDict(extra="allow")

    decision_id: str
    case_id: str
    reviewer_id: str
    action: Action
    reason: str | None
    state: State
    audit_sequence: int
    at: str


class ShownCase(BaseModel):
    """A case with its texts and decisions, and whether the trail bears it out."""

    case: Case
    decisions: list[Decision]
    borne_out: bool


class NewDecision(_Body):
    """What a reviewer says."""

    action: Action
    reason: str = Field(default="", max_length=4_000, pattern=PLAIN)


class NewRelease(_Body):
    """Under which id the text leaves; the same id again gives the same text."""

    release_id: str = Field(max_length=128, pattern=REQUIRED)


class Released(BaseModel):
    """A text that may be shown."""

    case_id: str
    release_id: str
    text: str


class RetryPayload(BaseModel):
    """What a generator needs that is to try again."""

    model_config = ConfigDict(extra="allow")


def reviews_router(server: Server) -> APIRouter:
    """Return the routes of reviewers; whoever the key belongs to is the reviewer."""
    router = guarded_router(server, "reviewer", prefix="/api/reviews")
    queue = server.queue

    @router.get("")
    def list_cases(
        caller: CallerOf,
        state: State | None = None,
        after: Annotated[str, Query(max_length=128, pattern=OPTIONAL)] = "",
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> list[Case]:
        """List cases, the oldest first."""
        cases = queue.list_cases(tenant_id=caller.tenant_id, state=state, after=after, limit=limit)
        return [_case(case, texts=False) for case in cases]

    @router.get("/{case_id}")
    def show_case(case_id: CaseId, caller: CallerOf) -> ShownCase:
        """Show a case with its texts, its decisions, and whether the trail bears them out."""
        case = queue.get_case(case_id, tenant_id=caller.tenant_id)
        differences = queue.replay(case_id, tenant_id=caller.tenant_id).differences
        decided = [] if differences else queue.decisions(case_id, tenant_id=caller.tenant_id)
        shown = _case(case, texts=True)
        if not caller.shows_evidence:
            shown.metadata = _without_evidence(case.metadata)
        return ShownCase(
            case=shown,
            decisions=[Decision(**each.to_dict()) for each in decided],
            borne_out=not differences,
        )

    @router.post("/{case_id}/claim")
    def claim(case_id: CaseId, caller: CallerOf) -> Case:
        """Hold a case for a while, so that nobody else decides it meanwhile."""
        held = queue.claim(case_id, reviewer_id=caller.caller_id, tenant_id=caller.tenant_id)
        return _case(held, texts=False)

    @router.delete("/{case_id}/claim")
    def unclaim(case_id: CaseId, caller: CallerOf) -> Case:
        """Let go of a case."""
        queue.unclaim(case_id, reviewer_id=caller.caller_id, tenant_id=caller.tenant_id)
        return _case(queue.get_case(case_id, tenant_id=caller.tenant_id), texts=False)

    @router.post("/{case_id}/decision")
    def decide(case_id: CaseId, decision: NewDecision, caller: CallerOf) -> Decision:
        """Approve a case, reject it, or send it back."""
        made = queue.decide(
            case_id,
            reviewer_id=caller.caller_id,
            action=decision.action,
            reason=decision.reason,
            tenant_id=caller.tenant_id,
        )
        return Decision(**made.to_dict())

    @router.post("/{case_id}/release")
    def release(case_id: CaseId, wanted: NewRelease, caller: CallerOf) -> Released:
        """Return the text of an approved case, once."""
        text = queue.release(
            case_id, reviewer_id=caller.caller_id, release_id=wanted.release_id, tenant_id=caller.tenant_id
        )
        return Released(case_id=case_id, release_id=wanted.release_id, text=text)

    @router.get("/{case_id}/retry")
    def retry_payload(case_id: CaseId, caller: CallerOf) -> RetryPayload:
        """Return what a generator needs that is to try again."""
        return RetryPayload(**queue.retry_payload(case_id, tenant_id=caller.tenant_id))

    return router


def _case(case: ReviewCase, *, texts: bool) -> Case:
    return Case(**case.to_dict(include_candidate=texts))


def _without_evidence(value: Any) -> Any:
    """Return what was kept with a case without the text of evidence, however deep it stands."""
    if isinstance(value, dict):
        return {name: _without_evidence(each) for name, each in value.items() if name != "evidence"}
    return [_without_evidence(each) for each in value] if isinstance(value, list) else value
