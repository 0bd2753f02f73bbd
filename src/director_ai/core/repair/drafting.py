"""A repaired answer as the draft of a correction: the text, what it rests on, and what the verifiers say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.core.guard_control import VerifierSignal
from director_ai.core.runtime.correction import GroundedCorrectionDraft

if TYPE_CHECKING:
    from director_ai.core.guard_control import Verdict
    from director_ai.core.repair.record import RepairResult
    from director_ai.core.runtime.correction import HaltCorrectionContext
    from director_ai.core.types import CoherenceScore

__all__ = ["draft_of_repair"]

_CONTRADICTED = 0.5


def draft_of_repair(
    context: HaltCorrectionContext, repaired: RepairResult, score: CoherenceScore
) -> GroundedCorrectionDraft:
    """Return a draft with two signals: how well the repaired answer is supported, and whether it is all there.

    It cites what the halt and the repair both rest on. `score` is of the repaired text.
    """
    cited = tuple(dict.fromkeys(ref for action in repaired.actions for ref in action.evidence_ids))
    redacted = sum(action.action == "redact" for action in repaired.actions)
    complete = not redacted and not repaired.halted
    return GroundedCorrectionDraft(
        candidate_text=repaired.repaired_text,
        verifier_signals=(
            VerifierSignal(
                verifier="coherence",
                modality="text",
                score=1.0 - score.score,
                verdict=_verdict(score),
                evidence_refs=cited,
            ),
            VerifierSignal(
                verifier="completeness",
                modality="text",
                score=redacted / max(1, len(repaired.actions)),
                verdict="supported" if complete else "uncertain",
            ),
        ),
        evidence_refs=tuple(ref for ref in context.source_refs if ref in set(cited)),
    )


def _verdict(score: CoherenceScore) -> Verdict:
    if score.approved:
        return "supported"
    return "contradiction" if score.h_logical >= _CONTRADICTED else "unsupported"
