"""A case and what a reviewer does with it; whoever comes second gets a sentence and the case as it is now."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, cast

from director_ai.errors import PayloadError, Refused, UnknownCase
from director_ai.review.cases import ACTIONS
from director_ai.serve.page import wording
from director_ai.serve.page.dossier import gather
from director_ai.serve.page.reach import own_tenant

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from director_ai.review.cases import Action, ReviewCase
    from director_ai.serve.page.desk import Visit

__all__ = ["decide_case", "do_to_case", "find_case", "show_case", "show_state"]

UNDECIDED: Final = ("open", "approved")


async def find_case(visit: Visit) -> ReviewCase:
    """Return the case of the address, if it is one that the caller may see."""
    case_id = visit.request.path_params["case_id"]
    return await asyncio.to_thread(visit.desk.server.queue.get_case, case_id, tenant_id=own_tenant(visit.who))


async def show_case(visit: Visit) -> Response:
    """Show a case."""
    return await case_page(visit, await find_case(visit))


async def case_page(visit: Visit, case: ReviewCase, status: int = 200, **values: Any) -> Response:
    """Return the page of a case, with what else is to be said."""
    dossier = await gather(visit.desk.server, visit.who, case)
    shown: dict[str, Any] = {
        "trouble": "",
        "draft": case.candidate_text or "",
        "judged_draft": None,
        "reason_given": "",
        "action_given": "",
        "edit_open": False,
    }
    return visit.render(
        "case.html",
        status,
        dossier=dossier,
        case=case,
        is_mine=bool(case.claimed_by) and case.claimed_by.lower() == visit.who.caller_id.lower(),
        is_proposer=bool(case.proposer_id) and case.proposer_id.lower() == visit.who.caller_id.lower(),
        can_decide=case.state in UNDECIDED,
        actions=wording.ACTIONS,
        metadata=_shown_metadata(case.metadata, evidence=visit.who.shows_evidence),
        prompt=_text(case.metadata, "prompt"),
        shown_before=_text(case.metadata, "shown"),
        version=version_of(case),
        retry=await _retry_payload(visit, case),
        **(shown | values),
    )


async def show_state(visit: Visit) -> Response:
    """Say whether a case that is open in a browser has changed since."""
    case = await find_case(visit)
    known = visit.request.query_params.get("known", "")
    return visit.render("_state.html", case=case, version=version_of(case), changed=known != version_of(case))


def version_of(case: ReviewCase) -> str:
    """Return what changes whenever somebody does something to a case."""
    return f"{case.state}.{case.approvals}.{case.claimed_by}"


async def decide_case(visit: Visit) -> Response:
    """Record a decision."""
    action, reason = visit.form.get("action", ""), visit.form.get("reason", "").strip()
    if action not in ACTIONS:
        return await _refused(visit, "Choose whether to approve, reject or send back.", reason)
    case = await find_case(visit)
    queue = visit.desk.server.queue
    try:
        made = await asyncio.to_thread(
            queue.decide,
            case.case_id,
            reviewer_id=visit.who.caller_id,
            action=cast("Action", action),
            reason=reason,
            tenant_id=case.tenant_id,
        )
    except UnknownCase:
        raise
    except Refused as error:
        return await _refused(visit, _sentence(error), reason, action)
    said = "approved" if made.state == "approved" else action
    return visit.go(f"/cases/{case.case_id}", said)


async def do_to_case(visit: Visit) -> Response:
    """Claim a case, let go of it, release it, or have its correction used again."""
    case, does = await find_case(visit), visit.request.path_params["does"]
    queue = visit.desk.server.queue
    who: Any = {"reviewer_id": visit.who.caller_id, "tenant_id": case.tenant_id}
    steps: dict[str, Callable[[], object]] = {
        "claim": lambda: queue.claim(case.case_id, **who),
        "unclaim": lambda: queue.unclaim(case.case_id, **who),
        "release": lambda: queue.release(case.case_id, release_id=f"page-{case.case_id}", **who),
        "remember": lambda: queue.remember(case.case_id, **who),
    }
    if does not in steps:
        raise PayloadError("there is no such step")
    try:
        await asyncio.to_thread(steps[does])
    except UnknownCase:
        raise
    except Refused as error:
        return await _refused(visit, _sentence(error))
    return visit.go(f"/cases/{case.case_id}", does)


async def _refused(visit: Visit, sentence: str, reason: str = "", action: str = "") -> Response:
    """Show the case as it is now, with the sentence that says why nothing was changed."""
    case = await find_case(visit)
    return await case_page(visit, case, 409, trouble=sentence, reason_given=reason, action_given=action)


def _sentence(error: Refused) -> str:
    said = str(error)
    return f"Nothing was changed: {said}."


def _shown_metadata(metadata: dict[str, Any], *, evidence: bool) -> str:
    """Return what came in with a case; texts of evidence only for those who may see them."""
    if not metadata:
        return ""
    return json.dumps(metadata if evidence else _without_evidence(metadata), indent=2, ensure_ascii=False)


def _without_evidence(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_evidence(each) for name, each in value.items() if name != "evidence"}
    return [_without_evidence(each) for each in value] if isinstance(value, list) else value


def _text(metadata: dict[str, Any], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""


async def _retry_payload(visit: Visit, case: ReviewCase) -> str:
    """Return what a generator gets that is to try again; empty where no new text is asked for."""
    if case.state != "retry_requested":
        return ""
    try:
        payload = await asyncio.to_thread(visit.desk.server.queue.retry_payload, case.case_id, tenant_id=case.tenant_id)
    except Refused:
        return ""
    return json.dumps(payload, indent=2, ensure_ascii=False)
