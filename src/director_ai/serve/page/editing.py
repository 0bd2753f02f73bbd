"""Edit and judge again: a reviewer's own words are judged like a model's, and somebody else approves them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from director_ai.errors import Refused, UnknownCase
from director_ai.serve.page.deciding import UNDECIDED, case_page, find_case
from director_ai.serve.page.judging import guard_of, judge_text

if TYPE_CHECKING:
    from starlette.responses import Response

    from director_ai.review.cases import ReviewCase
    from director_ai.serve.page.desk import Visit
    from director_ai.serve.page.judging import Judged

__all__ = ["edit_case"]


async def edit_case(visit: Visit) -> Response:
    """Judge a text that a reviewer wrote; on the second step, put it before the others."""
    case, text = await find_case(visit), visit.form.get("text", "")
    reason = visit.form.get("reason", "").strip()
    wrong = _why_not(case, text)
    if wrong:
        return await case_page(visit, case, 409, trouble=wrong, draft=text, edit_open=True)
    guard = guard_of(visit.desk.server, visit.who, case.tenant_id)
    prompt = case.metadata.get("prompt")
    judged = await judge_text(guard, prompt if isinstance(prompt, str) else "", text, case.tenant_id)
    if visit.form.get("step") != "submit":
        return await case_page(visit, case, draft=text, judged_draft=judged, edit_open=True)
    if _needs_support(case) and not judged.is_sound:
        return await case_page(
            visit,
            case,
            409,
            trouble="Nothing was changed: the consensus did not allow this correction, so what takes its place "
            "must be supported in every clause.",
            draft=text,
            judged_draft=judged,
            edit_open=True,
        )
    try:
        made = await asyncio.to_thread(_put_in, visit, case, text, reason, judged)
    except UnknownCase:
        raise
    except Refused as error:
        return await case_page(
            visit, await find_case(visit), 409, trouble=f"Nothing was changed: {error}.", draft=text, edit_open=True
        )
    return visit.go(f"/cases/{made.case_id}", "edit")


def _why_not(case: ReviewCase, text: str) -> str:
    """Return why a text cannot take the place of a case's; empty where it can."""
    if case.state == "released":
        return "Nothing was changed: the case was released already."
    if case.candidate_text is None:
        return "Nothing was changed: the text of the case was let go at the end of its time."
    if not text.strip():
        return "Nothing was changed: the text is blank."
    if text == case.candidate_text.replace("\r\n", "\n"):
        return "Nothing was changed: the text is the same; edit it first."
    return ""


def _needs_support(case: ReviewCase) -> bool:
    """Whether the verifiers were against the correction: an edit is no way around them."""
    return case.kind == "correction" and (case.guard_decision or {}).get("decision") != "allow"


def _put_in(visit: Visit, case: ReviewCase, text: str, reason: str, judged: Judged) -> ReviewCase:
    """Send the old text back where that is still open, and put the new one in."""
    queue, editor = visit.desk.server.queue, visit.who.caller_id
    if case.state in UNDECIDED:
        queue.decide(
            case.case_id,
            reviewer_id=editor,
            action="request_retry",
            reason=reason or "edited",
            tenant_id=case.tenant_id,
        )
    metadata: dict[str, Any] = {"edited_from": case.case_id, "verdicts": _told(judged)}
    if isinstance(case.metadata.get("prompt"), str):
        metadata["prompt"] = case.metadata["prompt"]
    return queue.enqueue_case(
        candidate_text=text,
        evidence_refs=case.evidence_refs,
        tenant_id=case.tenant_id,
        request_id=case.request_id,
        reason=reason or "edited by a reviewer",
        original_text=case.original_text or case.candidate_text or "",
        proposer_id=editor,
        policy_id=case.policy_id,
        retry_of=case.case_id,
        required_approvals=case.required_approvals,
        reviewers=case.reviewers,
        metadata=metadata,
    )


def _told(judged: Judged) -> list[dict[str, Any]]:
    """Return what the guard made of an edit, for whoever approves it: figures and no text."""
    return [
        {"verdict": clause.outcome, "reason": clause.reason, "support": clause.support} for clause in judged.clauses
    ]
