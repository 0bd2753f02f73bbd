"""How a text becomes a case: checked, bound to a digest, and written with the row of the trail that says so."""

from __future__ import annotations

import dataclasses
import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from director_ai.core.identifiers import check_identifier, is_ref
from director_ai.core.ranges import check_count
from director_ai.core.runtime.correction import CorrectionProposal
from director_ai.core.scoring.consensus import redecide
from director_ai.errors import ConfigError, PayloadError, TextChanged, UnknownCase, UnknownOption
from director_ai.record.canonical import canonical
from director_ai.review import storage
from director_ai.review.cases import ReviewCase, binding_digest, moment, recorded_metadata, recorded_reason
from director_ai.review.intake import (
    MOST_REASON,
    checked_metadata,
    checked_refs,
    checked_reviewers,
    checked_seconds,
    checked_text,
)
from director_ai.review.standing import OPENED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from director_ai.core.guard_control import GuardDecision
    from director_ai.record.chain import Writer

__all__ = ["CaseOptions", "check_proposal", "new_case", "open_case"]

MOST_VERSIONS: Final = 50
_RELEASE: Final = version("director-ai")


class CaseOptions(TypedDict, total=False):
    """What can be said of a case beside its text."""

    original_text: str
    """What the text corrects; needed to reuse the correction."""
    proposer_id: str
    """Who wrote it: anybody else may approve it."""
    policy_id: str
    retry_of: str
    """The case that was sent back."""
    required_approvals: int
    reviewers: Sequence[str]
    """Who may decide; anybody where it is empty."""
    expires_after: float
    metadata: Mapping[str, Any] | None
    """For the reviewers; kept with the case, never in the trail."""
    versions: Mapping[str, str]
    """Identifiers of what judged the text, such as a model's digest or a knowledge base's revision: in the trail."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NewCase:
    """A case that is not in the inbox yet."""

    case: ReviewCase
    lasts: float
    versions: dict[str, str]
    recorded: dict[str, str]
    """What the trail says of its texts."""


def check_proposal(proposal: object) -> None:
    """Refuse what is no proposal, and one that is not what its id stands for."""
    if type(proposal) is not CorrectionProposal:  # a subclass may answer differently the next time it is asked
        raise ConfigError(f"proposal must be a CorrectionProposal, got a {type(proposal).__name__}")
    if proposal.proposal_id != f"proposal-{proposal.digest.removeprefix('sha256:')[:32]}":
        raise TextChanged("the proposal is not what its proposal_id stands for; propose the changed text anew")


def new_case(
    kind: Literal["text", "correction"],
    given: dict[str, Any],
    options: CaseOptions,
    *,
    required: int,
    lasts: float,
    digest: Callable[[str], str],
) -> NewCase:
    """Return a checked case; `required` and `lasts` are what holds where the options do not say."""
    for name in options:
        if name not in CaseOptions.__annotations__:
            raise UnknownOption("option of a case", name, CaseOptions.__annotations__)
    reviewers = checked_reviewers(options.get("reviewers", ()))
    needed = check_count("required_approvals", options.get("required_approvals", required), 1, 100)
    proposer = check_identifier("proposer_id", options.get("proposer_id", ""))
    able = [reviewer for reviewer in reviewers if reviewer != proposer.lower()]
    if reviewers and needed > len(able):
        raise ConfigError(f"required_approvals is {needed}, but only {len(able)} of the reviewers may approve")
    original = checked_text("original_text", options.get("original_text", ""), empty=True)
    case = ReviewCase(
        case_id="",
        kind=kind,
        candidate_text=checked_text("candidate_text", given["candidate_text"]),
        original_text=original or None,
        evidence_refs=checked_refs(given["evidence_refs"]),
        tenant_id=check_identifier("tenant_id", given["tenant_id"]),
        request_id=check_identifier("request_id", given["request_id"]),
        reason=checked_text("reason", given["reason"], most=MOST_REASON, empty=True),
        proposer_id=proposer,
        policy_id=check_identifier("policy_id", options.get("policy_id", "") or given.get("policy_id", "")),
        proposal_id=given.get("proposal_id", ""),
        retry_of=check_identifier("retry_of", options.get("retry_of", "")),
        guard_decision=_checked_decision(given.get("guard_decision")),
        metadata=checked_metadata(options.get("metadata")),
        required_approvals=needed,
        reviewers=reviewers,
        digest="",
        created_at=moment(0),
        expires_at=moment(0),
    )
    case = dataclasses.replace(case, digest=binding_digest(case, digest), case_id=_case_id(case, digest))
    return NewCase(
        case=case,
        lasts=checked_seconds("expires_after", options.get("expires_after", lasts)),
        versions=_checked_versions(options.get("versions", {})),
        recorded={
            "text": digest(case.candidate_text or ""),
            "original": digest(case.original_text) if case.original_text else "",
            "reason": recorded_reason(case.reason, digest),
            "metadata": recorded_metadata(case.metadata, digest),
        },
    )


def open_case(writer: Writer, new: NewCase) -> ReviewCase:
    """Put a case into the inbox and into the trail; one that is there already is returned as it stands."""
    case, connection = new.case, writer.connection
    known = storage.find_case(connection, case.case_id, writer.now)
    if known is not None:
        return known
    if case.retry_of and storage.tenant_of(connection, case.retry_of) != case.tenant_id:
        raise UnknownCase("retry_of names no case of this tenant")
    expires_at = writer.now + int(new.lasts * 1_000_000)
    storage.insert_case(connection, case, created_at=writer.now, expires_at=expires_at)
    writer.append(OPENED, case.case_id, _opened(new, expires_at))
    return dataclasses.replace(case, created_at=moment(writer.now), expires_at=moment(expires_at))


def _opened(new: NewCase, expires_at: int) -> dict[str, Any]:
    """Return what the trail says of a new case: identifiers, hashes and figures."""
    case = new.case
    return {
        "step": 1,
        "digest": case.digest,
        "kind": case.kind,
        "request": case.request_id,
        "proposer": case.proposer_id,
        "policy": case.policy_id,
        "proposal": case.proposal_id,
        "retry_of": case.retry_of,
        "evidence": list(case.evidence_refs),
        "decision": case.guard_decision,
        "required": case.required_approvals,
        "reviewers": list(case.reviewers),
        "expires_at": expires_at,
        "versions": {"director-ai": _RELEASE, **new.versions},
        **new.recorded,
    }


def _case_id(case: ReviewCase, digest: Callable[[str], str]) -> str:
    """Return the id of a case: of a request's text or of a proposal always the same, else a new one."""
    if case.request_id or case.proposal_id or case.retry_of:
        parts = (case.tenant_id, case.request_id, case.kind, case.proposal_id, case.retry_of, case.candidate_text)
        return f"case-{digest(canonical(parts))[:32]}"
    return f"case-{os.urandom(16).hex()}"


def _checked_decision(decision: GuardDecision | None) -> dict[str, Any] | None:
    """Return a decision as plain values; one that its own signals do not lead to was not made by a consensus."""
    if decision is None:
        return None
    try:
        again = redecide(decision)
    except PayloadError as error:
        raise TextChanged(f"the guard decision cannot be decided again: {error}") from None
    if (again.decision, again.reason, again.risk) != (decision.decision, decision.reason, decision.risk):
        raise TextChanged(
            f"the guard decision says {decision.decision!r}, but its signals lead to {again.decision!r}; "
            "propose the correction again"
        )
    return decision.to_dict()


def _checked_versions(versions: object) -> dict[str, str]:
    if not isinstance(versions, dict) or len(versions) > MOST_VERSIONS:
        raise ConfigError(f"versions must map at most {MOST_VERSIONS} names to identifiers")
    if not all(is_ref(name) and is_ref(value) for name, value in versions.items()):
        raise ConfigError("versions must map names to identifiers without blanks, such as a digest or a revision")
    return {str.__str__(name): str.__str__(value) for name, value in versions.items()}
