"""Corrections that people released once, used again for the same claim, so that nobody reviews it twice."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from director_ai.errors import Refused
from director_ai.record.canonical import sha256_of
from director_ai.review import storage
from director_ai.review.standing import REMEMBERED

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from director_ai.record.chain import Writer
    from director_ai.review.gate import Gate

__all__ = ["Correction", "claim_digest", "find_correction", "remember", "rewriter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What people put in the place of a claim."""

    text: str = field(repr=False)
    case_id: str
    evidence_refs: tuple[str, ...] = ()


def claim_digest(claim: str) -> str:
    """Return what stands for a claim: upper case, blanks and ways to write a letter make no difference."""
    return sha256_of(" ".join(unicodedata.normalize("NFKC", claim).casefold().split()))


def remember(gate: Gate, writer: Writer, case_id: str, *, reviewer: str, fact_key: str | None) -> tuple[str, str]:
    """Record that a released text is to be used again, and return the text and its tenant."""
    case, standing = gate.read(writer.connection, case_id, writer.now)
    if standing.state != "released":
        raise Refused(f"only a released text is used again; the case is {standing.state}")
    if fact_key is None:
        if not case.original_text:
            raise Refused("the case does not say what it corrects; enqueue it with original_text to use it again")
        storage.keep_correction(writer.connection, case.tenant_id, claim_digest(case.original_text), case_id)
    writer.append(
        REMEMBERED,
        case_id,
        {
            "step": standing.steps + 1,
            "reviewer": reviewer,
            "digest": standing.digest,
            "as": "correction" if fact_key is None else "fact",
            "key": f"hmac:{gate.digest(fact_key)}" if fact_key else "",
        },
    )
    return case.candidate_text or "", case.tenant_id


def find_correction(gate: Gate, connection: Connection, claim: str, tenant_id: str, now: int) -> Correction | None:
    """Return the released correction of a claim, if there is one and the trail bears it out."""
    case_id = storage.find_correction(connection, tenant_id, claim_digest(claim))
    if case_id is None:
        return None
    case, standing = gate.read(connection, case_id, now)
    is_of_claim = case.original_text is not None and claim_digest(case.original_text) == claim_digest(claim)
    if not standing.is_correction or case.tenant_id != tenant_id or not is_of_claim:
        return None
    return Correction(text=case.candidate_text or "", case_id=case_id, evidence_refs=case.evidence_refs)


def rewriter(
    find: Callable[[str], Correction | None], otherwise: Callable[..., Any] | None
) -> Callable[[str, list[str]], Any]:
    """Return a rewrite function that knows released corrections; what it writes is judged like any rewrite."""

    def rewrite(clause: str, evidence: list[str]) -> Any:
        known = find(clause)
        if known is not None:
            return known.text
        return otherwise(clause, evidence) if otherwise is not None else ""

    return rewrite
