"""Every snippet of the correction page, as written there."""

from __future__ import annotations

import inspect
from typing import Any

from director_ai import StreamingKernel
from director_ai.core.guard_control import VerifierSignal
from director_ai.core.safety_event import validate_safety_event
from director_ai.testing import ScriptedReviewer, ScriptedScorer

FACTS = {"kb:refund": ("Refunds are available within 30 days.", 0.9)}


def run(code: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(inspect.cleandoc(code), "snippet", "exec"), names)
    return names


USAGE = """
from director_ai.core import CorrectionLoop
from director_ai.core.guard_control import RiskEnvelope, VerifierSignal
from director_ai.core.scoring.consensus import CrossVerifierConsensus

loop = CorrectionLoop(
    consensus=CrossVerifierConsensus(),
    risk_envelope=RiskEnvelope(
        action_category="text",
        reversibility="reversible",
        domain="regulated",
        calibrated_threshold=0.65,
        no_go_threshold=0.9,
    ),
    policy_id="policy.correction.regulated",
)

proposal = loop.propose(
    candidate_text="Corrected response text.",
    signals=[
        VerifierSignal(
            verifier="nli",
            modality="text",
            score=0.08,
            verdict="supported",
            confidence_low=0.03,
            confidence_high=0.14,
            evidence_refs=("kb://fact-1",),
        )
    ],
    evidence_refs=("trace://halt-7",),
)

approved = loop.approve(proposal, approval_id="review-20260513-001")
released_text = loop.release(approved)
"""

FROM_HALT = """
from director_ai.core import GroundedCorrectionDraft


def build_candidate(context):
    return GroundedCorrectionDraft(
        candidate_text="Corrected response text with source citation.",
        verifier_signals=(nli_signal,),
        evidence_refs=context.source_refs,
    )


proposal = loop.propose_from_halt(
    halt_evidence=halt_evidence,
    continuation_builder=build_candidate,
    structured_recovery=session.structured_recovery,
)
"""


def test_usage() -> None:
    space = run(USAGE, {})

    assert space["released_text"] == "Corrected response text."
    assert space["proposal"].guard_decision.decision == "allow"
    assert (space["proposal"].approved, space["approved"].approved) == (False, True)
    assert "Corrected" not in str(space["approved"].to_dict())
    event = space["approved"].to_safety_event(hook_id="correction.loop", hook_scope="agent")
    assert validate_safety_event(event.to_dict()) == event
    assert event.evidence_refs == ("trace://halt-7", "kb://fact-1")


def test_from_a_halt() -> None:
    session = StreamingKernel().stream_tokens(
        ['{"refunds": ', '"close after 3 days"}'],
        ScriptedScorer([0.9, 0.1]),
        scorer=ScriptedReviewer(FACTS),
        structured_recovery="json",
    )
    names = {
        "halt_evidence": session.halt_evidence_structured,
        "session": session,
        "nli_signal": VerifierSignal("nli", "text", 0.08, "supported", 0.03, 0.14, ("kb://fact-1",)),
    }
    proposal = run(FROM_HALT, run(USAGE, names))["proposal"]

    assert proposal.evidence_refs == ("kb:refund",)
    assert proposal.guard_decision.allowed
    recovery = proposal.to_dict()["structured_recovery"]
    assert (recovery["kind"], recovery["halted"], recovery["halt_offset"]) == ("json", True, len('{"refunds": '))
    loop = names["loop"]
    assert loop.release(loop.approve(proposal, approval_id="review-2")) == proposal.candidate_text


def test_the_fields_of_the_page_stand_in_its_order() -> None:
    from director_ai.core import CorrectionLoop, CorrectionProposal, GroundedCorrectionDraft, HaltCorrectionContext

    def parameters(what: Any) -> list[tuple[str, Any]]:
        empty = inspect.Parameter.empty
        found = inspect.signature(what).parameters.values()
        return [(one.name, ... if one.default is empty else one.default) for one in found if one.name != "self"]

    assert parameters(CorrectionProposal)[:7] == [
        ("proposal_id", ...),
        ("candidate_text", ...),
        ("evidence_refs", ...),
        ("guard_decision", ...),
        ("structured_recovery", None),
        ("approved", False),
        ("approval_id", ""),
    ]
    assert parameters(HaltCorrectionContext) == [
        ("halt_reason", ...),
        ("last_score", ...),
        ("evidence_texts", ...),
        ("source_refs", ...),
        ("trace_refs", ()),
        ("suggested_action", ""),
    ]
    assert [name for name, _ in parameters(GroundedCorrectionDraft)] == ["candidate_text", "verifier_signals", "evidence_refs"]  # fmt: skip
    assert parameters(CorrectionLoop) == [("consensus", ...), ("risk_envelope", ...), ("policy_id", ...)]
    assert parameters(CorrectionLoop.propose) == [("candidate_text", ...), ("signals", ...), ("evidence_refs", ()), ("structured_recovery", None)]  # fmt: skip
    assert parameters(CorrectionLoop.propose_from_halt) == [("halt_evidence", ...), ("continuation_builder", ...), ("structured_recovery", None)]  # fmt: skip
    assert parameters(CorrectionLoop.approve) == [("proposal", ...), ("approval_id", ...)]
    assert parameters(CorrectionLoop.release) == [("proposal", ...)]
    assert parameters(CorrectionProposal.to_dict) == [("include_candidate", False)]
    assert parameters(CorrectionProposal.to_safety_event) == [("hook_id", ...), ("hook_scope", ...), ("request_id", ""), ("tenant_id", ""), ("latency_ms", None)]  # fmt: skip
