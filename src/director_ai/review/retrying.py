"""What a generator gets that is to try again: why and by what, never the text that was sent back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.review.cases import ReviewCase, ReviewDecision

__all__ = ["retry_payload"]

_QUOTATION: Final = 3
"""So many words in a row in common with a text are a quotation of it; of a shorter text, all of it."""
_WORDS: Final = re.compile(r"\w+")


def retry_payload(case: ReviewCase, decisions: Sequence[ReviewDecision]) -> dict[str, Any]:
    """Return plain JSON values for the next try of a case that a reviewer sent back."""
    if case.state != "retry_requested":
        raise Refused(f"no retry was requested: the case is {case.state}; decide it with action='request_retry' first")
    asked = next(each for each in reversed(decisions) if each.action == "request_retry")
    return {
        "retry_of": case.case_id,
        "tenant_id": case.tenant_id,
        "request_id": case.request_id,
        "policy_id": case.policy_id,
        "proposal_id": case.proposal_id,
        "evidence_refs": list(case.evidence_refs),
        "decision_id": asked.decision_id,
        "reviewer_id": asked.reviewer_id,
        "requested_at": asked.to_dict()["at"],
        "case_reason": _unquoted(case.reason, case),
        "review_reason": _unquoted(asked.reason or "", case),
    }


def _unquoted(said: str, case: ReviewCase) -> str:
    """Return a reason, or nothing where it quotes the text or what that corrects."""
    return "" if any(_quotes(said, text) for text in (case.candidate_text, case.original_text) if text) else said


def _quotes(said: str, text: str) -> bool:
    spoken, written = _WORDS.findall(said.casefold()), _WORDS.findall(text.casefold())
    length = min(_QUOTATION, len(written))
    if not length:
        return text.strip() in said
    runs = {tuple(spoken[at : at + length]) for at in range(len(spoken) - length + 1)}
    return any(tuple(written[at : at + length]) in runs for at in range(len(written) - length + 1))
