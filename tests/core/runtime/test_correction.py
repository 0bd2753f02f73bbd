"""The correction loop: nothing leaves that was not allowed, approved and unchanged; each thing leaves once."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import math
import threading
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import director_ai.core
from director_ai.core.guard_control import GuardDecision, RiskEnvelope, VerifierSignal
from director_ai.core.runtime import correction
from director_ai.core.runtime.correction import (
    CorrectionLoop,
    CorrectionProposal,
    GroundedCorrectionDraft,
    HaltCorrectionContext,
    candidate_digest,
    proposal_digest,
)
from director_ai.core.runtime.structured_recovery import (
    StructuredRecovery,
    StructuredRecoveryConfig,
    StructuredRecoveryResult,
)
from director_ai.core.safety_event import HOOK_SCOPES, validate_safety_event
from director_ai.core.scoring.consensus import CrossVerifierConsensus
from director_ai.core.types import EvidenceChunk, HaltEvidence, HaltTraceAttribution
from director_ai.errors import (
    AlreadyReleased,
    ApprovalReused,
    ConfigError,
    DirectorError,
    NoGo,
    NotAllowed,
    NotApproved,
    Refused,
    TextChanged,
    Ungrounded,
)

TEXT = "Refunds close after 30 days, says Jane Doe."
FACT = "Refunds are available within 30 days."
ENVELOPE = RiskEnvelope("text", "reversible", "regulated", 0.65, 0.9)
GOOD = VerifierSignal("nli", "text", 0.08, "supported", 0.03, 0.14, ("kb://fact-1",))
EVIDENCE = HaltEvidence(
    "hard_limit score=0.1000 limit=0.5000",
    0.1,
    [EvidenceChunk(FACT, 0.1, "kb:refund"), EvidenceChunk("Untitled.", 0.2), EvidenceChunk("x", 0.3, "Staff Book.pdf")],
    suggested_action="retry with KB context",
    trace_attribution=HaltTraceAttribution("kb:refund", "review.evidence.chunks", "X.review", 7, 0.5, 0.4),
)


class Changeling(str):
    """A string that shows another face to whoever formats it."""

    def __str__(self) -> str:
        return "swapped"

    def __repr__(self) -> str:
        return "swapped"

    def encode(self, *_: Any) -> bytes:
        return b"swapped"


class Liar:
    """An object that claims to be a string."""

    @property
    def __class__(self) -> type:
        return str


class Counting(CrossVerifierConsensus):
    """A consensus that counts how often it was asked."""

    asked = 0

    def decide(self, *given: Any, **more: Any) -> GuardDecision:
        self.asked += 1
        return super().decide(*given, **more)


def loop(envelope: RiskEnvelope = ENVELOPE, **more: Any) -> CorrectionLoop:
    return CorrectionLoop(
        **{"consensus": CrossVerifierConsensus(), "risk_envelope": envelope, "policy_id": "policy.1"} | more
    )


def proposed(by: CorrectionLoop, text: str = TEXT, **more: Any) -> CorrectionProposal:
    return by.propose(**{"candidate_text": text, "signals": [GOOD], "evidence_refs": ("trace://halt-7",)} | more)


def recovery(policy: str = "last_valid") -> StructuredRecoveryResult:
    made = StructuredRecovery(StructuredRecoveryConfig(policy=policy))  # type: ignore[arg-type]
    made.feed('{"owner": "Jane Doe", "days": 3')
    return made.result(halted=True)


def draft(context: HaltCorrectionContext, **changes: Any) -> GroundedCorrectionDraft:
    given = {"candidate_text": TEXT, "verifier_signals": (GOOD,), "evidence_refs": context.source_refs}
    return GroundedCorrectionDraft(**given | changes)


def signal_with(score: float, verdict: str = "supported") -> VerifierSignal:
    return VerifierSignal("nli", "text", score, verdict)  # type: ignore[arg-type]


# The way through


def test_what_is_allowed_and_approved_leaves_as_it_was_proposed() -> None:
    gate = loop()
    proposal = proposed(gate)
    approved = gate.approve(proposal, approval_id="review-1")
    assert (proposal.approved, approved.approved, approved.approval_id) == (False, True, "review-1")
    assert approved.proposal_id == proposal.proposal_id
    assert gate.release(approved) == TEXT


def test_ids_and_digests_are_made_of_the_content() -> None:
    one, same, other = proposed(loop()), proposed(loop()), proposed(loop(), TEXT + " ")
    assert (one.proposal_id, one.digest) == (same.proposal_id, same.digest)
    assert one.proposal_id != other.proposal_id
    gate = loop()
    approved = gate.approve(proposed(gate), approval_id="review-1")
    assert approved.digest == one.digest, "the approval is no part of what it approves"


def test_the_digest_can_be_made_again_from_the_record() -> None:
    proposal = proposed(loop(), structured_recovery=recovery())
    record = json.loads(json.dumps(proposal.to_dict(include_candidate=True)))
    parts = ("candidate_text", "evidence_refs", "guard_decision", "structured_recovery")
    assert proposal_digest(**{name: record[name] for name in parts}) == record["digest"] == proposal.digest
    assert candidate_digest(record["candidate_text"]) == record["candidate_digest"]


@pytest.mark.parametrize(
    "change",
    [
        {"candidate_text": TEXT + "!"},
        {"evidence_refs": ("trace://halt-8",)},
        {"evidence_refs": ()},
        {"signals": [signal_with(0.01)]},
        {"signals": [GOOD, GOOD]},
        {"structured_recovery": recovery()},
        {"structured_recovery": recovery("redacted")},
    ],
    ids=[
        "the text",
        "the evidence",
        "no evidence",
        "the signals",
        "one signal twice",
        "a recovery",
        "another recovery",
    ],
)
def test_everything_that_is_approved_is_in_the_digest(change: dict[str, Any]) -> None:
    digests = {
        proposed(loop()).digest,
        proposed(loop(), **change).digest,
        proposed(loop(policy_id="policy.2"), **change).digest,
        proposed(loop(dataclasses.replace(ENVELOPE, domain="finance")), **change).digest,
        proposed(loop(consensus=CrossVerifierConsensus(warn_threshold=0.3)), **change).digest,
    }
    assert len(digests) == 5


def test_approving_again_gives_the_same_also_after_the_release() -> None:
    gate = loop()
    proposal = proposed(gate)
    first = gate.approve(proposal, approval_id="review-1")
    assert gate.approve(proposal, approval_id="review-1") == first
    assert gate.approve(first, approval_id="review-1") == first
    gate.release(first)
    assert gate.approve(proposal, approval_id="review-1") == first
    with pytest.raises(AlreadyReleased):
        gate.release(first)


# What does not go through


@pytest.mark.parametrize(
    ("signals", "decision"),
    [
        ([], "warn"),
        ([signal_with(0.4)], "warn"),
        ([signal_with(0.0, "unsupported")], "warn"),
        ([signal_with(0.7)], "halt"),
        ([signal_with(0.0, "contradiction")], "halt"),
        ([signal_with(0.95)], "block"),
        ([signal_with(0.0, "blocked")], "block"),
    ],
    ids=["no signals", "raised risk", "unsupported", "risk", "contradiction", "no-go risk", "blocked"],
)
def test_what_consensus_did_not_allow_is_neither_approved_nor_released(signals: Any, decision: str) -> None:
    gate = loop()
    proposal = proposed(gate, signals=signals)
    assert proposal.guard_decision.decision == decision
    forged = dataclasses.replace(proposal, approved=True, approval_id="review-1")
    for attempt in (lambda: gate.approve(proposal, approval_id="review-1"), lambda: gate.release(forged)):
        with pytest.raises(NotAllowed, match=f"consensus decided '{decision}' .*propose again") as caught:
            attempt()
        assert proposal.guard_decision.reason in str(caught.value)
        assert TEXT not in str(caught.value)


def by_hand(proposal: CorrectionProposal) -> CorrectionProposal:
    return CorrectionProposal("proposal-1", TEXT, (), proposal.guard_decision)


def with_settings(proposal: CorrectionProposal, value: object) -> CorrectionProposal:
    changed = copy.deepcopy(proposal)
    changed.guard_decision.settings["mode"] = value  # type: ignore[index]
    return changed


def with_metadata(proposal: CorrectionProposal, value: object) -> CorrectionProposal:
    changed = copy.deepcopy(proposal)
    changed.structured_recovery.metadata["depth"] = value  # type: ignore[union-attr,index]
    return changed


CHANGES: dict[str, Any] = {
    "another text": lambda p: dataclasses.replace(p, candidate_text="Swapped."),
    "one more space": lambda p: dataclasses.replace(p, candidate_text=TEXT + " "),
    "other evidence": lambda p: dataclasses.replace(p, evidence_refs=("kb://2",)),
    "another decision": lambda p: dataclasses.replace(p, guard_decision=dataclasses.replace(p.guard_decision, risk=0.01)),
    "another policy": lambda p: dataclasses.replace(p, guard_decision=dataclasses.replace(p.guard_decision, policy_id="p")),
    "no recovery": lambda p: dataclasses.replace(p, structured_recovery=None),
    "another id": lambda p: dataclasses.replace(p, proposal_id="proposal-2"),
    "made by hand": by_hand,
    "settings changed in place": lambda p: with_settings(p, "weighted"),
    "settings no record can hold": lambda p: with_settings(p, object()),
    "recovery changed in place": lambda p: with_metadata(p, 9),
    "a recovery no record can hold": lambda p: with_metadata(p, object()),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_proposal_is_not_approved(change: Any) -> None:
    gate = loop()
    changed = change(proposed(gate, structured_recovery=recovery()))
    with pytest.raises(TextChanged, match=r"propose") as caught:
        gate.approve(changed, approval_id="review-1")
    assert "Swapped" not in str(caught.value)
    assert TEXT not in str(caught.value)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_proposal_changed_after_its_approval_is_not_released(change: Any) -> None:
    gate = loop()
    approved = gate.approve(proposed(gate, structured_recovery=recovery()), approval_id="review-1")
    changed = change(approved)
    if not changed.approved:
        changed = dataclasses.replace(changed, approved=True, approval_id="review-1")
    with pytest.raises(TextChanged, match=r"propose"):
        gate.release(changed)
    assert gate.release(approved) == TEXT, "the honest one still leaves"


def test_another_valid_proposal_does_not_leave_by_a_foreign_approval() -> None:
    gate = loop()
    gate.approve(proposed(gate), approval_id="review-1")
    other = dataclasses.replace(proposed(gate, "Another text."), approved=True, approval_id="review-1")
    with pytest.raises(TextChanged, match="approved another text"):
        gate.release(other)


def test_a_changed_text_with_an_id_that_fits_was_still_not_proposed() -> None:
    proposal = proposed(loop(), "Swapped.")
    with pytest.raises(TextChanged, match="this loop did not propose"):
        loop().approve(proposal, approval_id="review-1")


def test_without_an_approval_nothing_leaves() -> None:
    gate = loop()
    proposal = proposed(gate)
    with pytest.raises(NotApproved, match="an approval is missing; call approve"):
        gate.release(proposal)
    with pytest.raises(NotApproved, match="gave no approval with this approval_id; call approve"):
        gate.release(dataclasses.replace(proposal, approved=True, approval_id="review-1"))
    gate.approve(proposal, approval_id="review-1")
    with pytest.raises(NotApproved, match="release what it returns"):
        gate.release(proposal)


def test_an_approval_of_one_loop_is_none_of_another() -> None:
    first, second = loop(), loop()
    approved = first.approve(proposed(first), approval_id="review-1")
    proposed(second)
    with pytest.raises(NotApproved):
        second.release(approved)


def test_an_approval_id_approves_one_proposal_and_a_proposal_has_one_approval_id() -> None:
    gate = loop()
    one, other = proposed(gate), proposed(gate, "Another text.")
    approved = gate.approve(one, approval_id="review-1")
    with pytest.raises(ApprovalReused, match="approved another proposal; every approval needs an id of its own"):
        gate.approve(other, approval_id="review-1")
    with pytest.raises(ApprovalReused, match="approved with another approval_id"):
        gate.approve(one, approval_id="review-2")
    with pytest.raises(ApprovalReused, match="carries another approval_id"):
        gate.approve(approved, approval_id="review-2")
    assert gate.release(approved) == TEXT


def test_each_approval_releases_once_and_the_same_text_can_be_proposed_again() -> None:
    gate = loop()
    proposal = proposed(gate)
    approved = gate.approve(proposal, approval_id="review-1")
    gate.release(approved)
    with pytest.raises(AlreadyReleased, match="propose it again"):
        gate.release(approved)
    with pytest.raises(TextChanged, match="call propose"):
        gate.approve(proposal, approval_id="review-2")
    again = proposed(gate)
    with pytest.raises(AlreadyReleased):
        gate.release(gate.approve(again, approval_id="review-1"))
    assert gate.release(gate.approve(again, approval_id="review-2")) == TEXT
    with pytest.raises(AlreadyReleased):
        gate.release(approved)


def test_of_many_threads_one_releases() -> None:
    gate = loop()
    approved = gate.approve(proposed(gate), approval_id="review-1")
    barrier, outcomes = threading.Barrier(16), []

    def attempt() -> None:
        barrier.wait()
        try:
            outcomes.append(gate.release(approved))
        except AlreadyReleased:
            outcomes.append("")

    threads = [threading.Thread(target=attempt) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [""] * 15 + [TEXT]


@pytest.mark.parametrize(
    "approval_id",
    ["", " ", "review 1", "a" * 129, "r" * 10_240, "../x", "a/b", "-a", None, 3, b"review-1", TEXT, "é"],
    ids=["empty", "blank", "a space", "129 characters", "10 KB", "a path", "a slash", "a dash first", "None", "a number", "bytes", "text", "not ASCII"],
)  # fmt: skip
def test_an_approval_id_is_an_identifier(approval_id: Any) -> None:
    gate = loop()
    proposal = proposed(gate)
    with pytest.raises(ConfigError, match="approval_id") as caught:
        gate.approve(proposal, approval_id=approval_id)
    assert TEXT not in str(caught.value)
    assert gate.release(gate.approve(proposal, approval_id="review-1")) == TEXT, "a refused id leaves nothing behind"


def test_an_approval_id_is_kept_as_a_plain_string() -> None:
    gate = loop()
    approved = gate.approve(proposed(gate), approval_id=Changeling("review-1"))
    assert type(approved.approval_id) is str
    assert approved.approval_id == "review-1"


class Subclass(CorrectionProposal):
    """It could answer differently each time it is asked."""


@pytest.mark.parametrize(
    "what",
    [None, TEXT, {}, Subclass("p", TEXT, (), proposed(loop()).guard_decision)],
    ids=["None", "text", "a record", "a subclass"],
)
def test_only_proposals_are_approved_and_released(what: Any) -> None:
    gate = loop()
    for attempt in (lambda: gate.approve(what, approval_id="review-1"), lambda: gate.release(what)):
        with pytest.raises(ConfigError, match="proposal must be a CorrectionProposal, got a ") as caught:
            attempt()
        assert TEXT not in str(caught.value)


# What is proposed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidate_text": ""}, "candidate_text must not be blank"),
        ({"candidate_text": " \n\t\u2003"}, "candidate_text must not be blank"),
        ({"candidate_text": None}, "candidate_text must be a str, got a NoneType"),
        ({"candidate_text": b"text"}, "candidate_text must be a str, got a bytes"),
        ({"candidate_text": Liar()}, "candidate_text must be a str, got a Liar"),
        ({"candidate_text": TEXT + "\ud800"}, "candidate_text must be text that can be written as UTF-8"),
        ({"candidate_text": "x" * 1_000_001}, "candidate_text must be at most 1000000 characters, got 1000001"),
        ({"signals": None}, "signals must be a list or tuple"),
        ({"signals": [TEXT]}, r"signals\[0\] must be a VerifierSignal, got a str"),
        ({"signals": GOOD}, "signals must be a list or tuple"),
        ({"evidence_refs": "kb://1"}, "evidence_refs must be a list or tuple of identifiers, got a str"),
        ({"evidence_refs": [TEXT]}, r"evidence_refs\[0\] must be an identifier"),
        ({"evidence_refs": None}, "evidence_refs must be a list or tuple of identifiers, got a NoneType"),
        ({"structured_recovery": {}}, "structured_recovery must be a StructuredRecoveryResult or None, got a dict"),
        ({"structured_recovery": dataclasses.replace(recovery(), errors=(TEXT,))}, "must hold words and figures"),
        ({"structured_recovery": dataclasses.replace(recovery(), errors=None)}, "must hold words and figures"),
        ({"structured_recovery": dataclasses.replace(recovery(), metadata={TEXT: 1})}, "must hold words and figures"),
        ({"structured_recovery": dataclasses.replace(recovery(), metadata={"a": TEXT})}, "must hold words and figures"),
        ({"structured_recovery": dataclasses.replace(recovery(), metadata=None)}, "must hold words and figures"),
        ({"structured_recovery": dataclasses.replace(recovery(), halt_offset=math.nan)}, "must hold words and figures"),
        ({"structured_recovery": dataclasses.replace(recovery(), kind=TEXT)}, "unknown recovery kind"),
        ({"structured_recovery": dataclasses.replace(recovery(), policy=None)}, "unknown recovery policy"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_cannot_be_proposed_is_refused_unrepeated(change: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        proposed(loop(), **change)
    assert TEXT not in str(caught.value)


def test_the_longest_text_is_a_million_characters() -> None:
    gate = loop()
    text = "é" * 1_000_000
    assert gate.release(gate.approve(proposed(gate, text), approval_id="review-1")) == text


def test_what_is_handed_over_is_copied() -> None:
    gate = loop()
    signals, refs, cut = [GOOD], [Changeling("trace://1"), "trace://1"], recovery()
    proposal = proposed(gate, Changeling(TEXT), signals=signals, evidence_refs=refs, structured_recovery=cut)
    signals.append(signal_with(1.0))
    refs.append("trace://2")
    cut.metadata["depth"] = 99  # type: ignore[index]
    assert proposal.evidence_refs == ("trace://1",)
    assert {type(proposal.candidate_text), type(proposal.evidence_refs[0])} == {str}
    released = gate.release(gate.approve(proposal, approval_id="review-1"))
    assert (type(released), released) == (str, TEXT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"proposal_id": TEXT}, "proposal_id must be an identifier"),
        ({"proposal_id": None}, "proposal_id must be an identifier"),
        ({"guard_decision": None}, "guard_decision must be a GuardDecision"),
        ({"approved": True}, "give both or neither"),
        ({"approval_id": "review-1"}, "give both or neither"),
        ({"approved": 1, "approval_id": "review-1"}, "give both or neither"),
        ({"approved": True, "approval_id": TEXT}, "approval_id must be"),
        ({"candidate_text": "\udfff"}, "UTF-8"),
        ({"evidence_refs": [TEXT]}, "must be an identifier"),
    ],
    ids=str,
)
def test_a_proposal_that_cannot_be_is_refused_at_construction(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        dataclasses.replace(proposed(loop()), **change)
    assert TEXT not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"consensus": None}, "consensus must be a CrossVerifierConsensus, got a NoneType"),
        ({"consensus": CrossVerifierConsensus(warn_threshold=0.8)}, "warn_threshold must be at most"),
        ({"risk_envelope": {}}, "envelope must be a RiskEnvelope, got a dict"),
        ({"policy_id": ""}, "policy_id is missing"),
        ({"policy_id": TEXT}, "policy_id must be"),
        ({"policy_id": None}, "policy_id must be"),
    ],
    ids=["no consensus", "a warn threshold too high", "no envelope", "no policy", "text as policy", "None as policy"],
)
def test_a_loop_that_cannot_be_right_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        loop(**change)


def test_a_consensus_that_decides_nothing_is_refused() -> None:
    class Silent(CrossVerifierConsensus):
        def decide(self, *given: Any, **more: Any) -> Any:
            return None

    with pytest.raises(Refused, match="must return a GuardDecision, got a NoneType"):
        proposed(loop(consensus=Silent()))


@pytest.mark.parametrize("rule", [True, False], ids=["with the no-go rule", "without it"])
@pytest.mark.parametrize(
    "change",
    [{"action_category": "physical"}, {"domain": "physical"}, {"reversibility": "irreversible"}],
    ids=["a physical action", "a physical domain", "an irreversible action"],
)
def test_no_go_is_refused_before_anybody_is_asked(change: dict[str, Any], rule: bool) -> None:
    consensus, asked = Counting(), []
    gate = loop(dataclasses.replace(ENVELOPE, **change, no_go_rule=rule), consensus=consensus)
    with pytest.raises(NoGo, match="hand it to a person"):
        proposed(gate)
    with pytest.raises(NoGo, match="hand it to a person"):
        gate.propose_from_halt(halt_evidence=EVIDENCE, continuation_builder=asked.append)  # type: ignore[arg-type]
    assert (consensus.asked, asked) == (0, [])


def test_the_oldest_waiting_proposals_are_forgotten_and_can_be_proposed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correction, "MOST_PROPOSALS", 3)
    gate = loop()
    kept = gate.approve(proposed(gate, "Kept."), approval_id="review-0")
    old = proposed(gate, "Old.")
    renewed = proposed(gate, "Renewed.")
    others = []
    for number in range(3):
        proposed(gate, "Renewed.")
        others.append(proposed(gate, f"Text {number}."))
    with pytest.raises(TextChanged, match="more than 3 proposals ago; call propose"):
        gate.approve(old, approval_id="review-1")
    proposed(gate, "Kept.")  # it waits no longer, so it takes nobody's place
    assert gate.approve(others[1], approval_id="review-3").approved
    assert gate.approve(renewed, approval_id="review-2").approved
    assert gate.approve(proposed(gate, "Old."), approval_id="review-1").approved
    assert gate.release(kept) == "Kept.", "what was approved is never forgotten"


# From a halt


def test_a_builder_gets_what_the_halt_rests_on() -> None:
    seen: list[HaltCorrectionContext] = []

    def build(context: HaltCorrectionContext) -> GroundedCorrectionDraft:
        seen.append(context)
        return draft(context)

    proposal = loop().propose_from_halt(halt_evidence=EVIDENCE, continuation_builder=build)
    (context,) = seen
    assert (context.halt_reason, context.last_score) == (EVIDENCE.reason, 0.1)
    assert context.evidence_texts == (FACT, "Untitled.", "x")
    assert context.source_refs[0] == "kb:refund"
    assert all(ref.startswith("sha256:") for ref in context.source_refs[1:])
    assert context.trace_refs == ("kb:refund", "review.evidence.chunks", "X.review", "token:7")
    assert context.suggested_action == "retry with KB context"
    assert FACT not in repr(context)
    assert proposal.evidence_refs == context.source_refs


def test_a_draft_may_cite_the_trace_and_its_signals_may_cite_others() -> None:
    proposal = loop().propose_from_halt(
        halt_evidence=EVIDENCE,
        continuation_builder=lambda context: draft(context, evidence_refs=["X.review", "token:7"]),
    )
    assert proposal.evidence_refs == ("X.review", "token:7")
    assert proposal.guard_decision.evidence_refs == ("kb://fact-1",)


async def build_later(context: HaltCorrectionContext) -> GroundedCorrectionDraft:
    return draft(context)


def fail(error: BaseException) -> Any:
    def build(context: HaltCorrectionContext) -> Any:
        raise error

    return build


class CustomDraft(GroundedCorrectionDraft):
    """It could answer differently each time it is asked."""


@pytest.mark.parametrize(
    ("builder", "error", "message"),
    [
        (fail(ValueError(TEXT)), Refused, "builder raised ValueError; nothing was proposed"),
        (fail(ConfigError(TEXT)), Refused, "builder raised ConfigError"),
        (fail(BaseException(TEXT)), Refused, "builder raised BaseException"),
        (fail(BaseExceptionGroup(TEXT, [ValueError(TEXT)])), Refused, "builder raised ExceptionGroup"),
        (fail(RecursionError(TEXT)), Refused, "builder raised RecursionError"),
        (build_later, Refused, "must not be asynchronous: await the text first"),
        (lambda context: None, Refused, "must return a GroundedCorrectionDraft, got a NoneType"),
        (lambda context: TEXT, Refused, "must return a GroundedCorrectionDraft, got a str"),
        (lambda context: {"candidate_text": TEXT}, Refused, "must return a GroundedCorrectionDraft, got a dict"),
        (lambda context: CustomDraft(TEXT, (GOOD,), context.source_refs), Refused, "got a CustomDraft"),
        (lambda context: draft(context, evidence_refs=()), Ungrounded, "cites no evidence; cite at least one"),
        (lambda context: draft(context, evidence_refs=None), Ungrounded, "must be a list or tuple of identifiers, got a NoneType"),
        (lambda context: draft(context, evidence_refs="kb:refund"), Ungrounded, "must be a list or tuple of identifiers, got a str"),
        (lambda context: draft(context, evidence_refs=("kb:other",)), Ungrounded, "cites 1 references that it was not given"),
        (lambda context: draft(context, evidence_refs=("kb:refund", "kb:other")), Ungrounded, "cites 1 references that it was not given"),
        (lambda context: draft(context, evidence_refs=("kb://fact-1",)), Ungrounded, "cites 1 references that it was not given"),
        (lambda context: draft(context, evidence_refs=(TEXT,)), Ungrounded, r"evidence_refs\[0\] must be an identifier"),
        (lambda context: draft(context, evidence_refs=("Staff Book.pdf",)), Ungrounded, r"evidence_refs\[0\] must be an identifier"),
        (lambda context: draft(context, candidate_text=" "), Refused, "cannot be proposed: candidate_text must not be blank"),
        (lambda context: draft(context, candidate_text=None), Refused, "cannot be proposed: candidate_text must be a str"),
        (lambda context: draft(context, candidate_text=TEXT + "\ud800"), Refused, "cannot be proposed: candidate_text must be text"),
        (lambda context: draft(context, verifier_signals=None), Refused, "cannot be proposed: signals must be a list"),
        (lambda context: draft(context, verifier_signals=[TEXT]), Refused, r"cannot be proposed: signals\[0\] must be"),
    ],
)  # fmt: skip
def test_what_a_builder_must_not_do_is_refused_unrepeated(builder: Any, error: type[Refused], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        loop().propose_from_halt(halt_evidence=EVIDENCE, continuation_builder=builder)
    assert type(caught.value) is error
    assert TEXT not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()], ids=lambda error: type(error).__name__
)
def test_interrupts_and_cancellations_pass_through_a_builder(error: BaseException) -> None:
    with pytest.raises(type(error)):
        loop().propose_from_halt(halt_evidence=EVIDENCE, continuation_builder=fail(error))


def test_a_builder_may_use_the_loop_it_is_called_by() -> None:
    gate = loop()

    def build(context: HaltCorrectionContext) -> GroundedCorrectionDraft:
        gate.release(gate.approve(proposed(gate, "First."), approval_id="review-1"))
        return draft(context)

    proposal = gate.propose_from_halt(halt_evidence=EVIDENCE, continuation_builder=build)
    assert gate.release(gate.approve(proposal, approval_id="review-2")) == TEXT


def test_lists_that_a_builder_keeps_are_copied() -> None:
    kept: list[Any] = [[GOOD], ["kb:refund"]]
    proposal = loop().propose_from_halt(
        halt_evidence=EVIDENCE, continuation_builder=lambda context: GroundedCorrectionDraft(TEXT, kept[0], kept[1])
    )
    kept[0].clear()
    kept[1].append("kb:other")
    assert (proposal.evidence_refs, proposal.guard_decision.signals) == (("kb:refund",), (GOOD,))


@pytest.mark.parametrize(
    ("evidence", "error", "message"),
    [
        (None, ConfigError, "halt_evidence must be a HaltEvidence, got a NoneType"),
        ({"reason": TEXT}, ConfigError, "halt_evidence must be a HaltEvidence, got a dict"),
        (HaltEvidence("x", 0.1, []), Ungrounded, "came without evidence"),
        (HaltEvidence("x", 0.1, None), ConfigError, "a list of at most 10000 EvidenceChunk"),  # type: ignore[arg-type]
        (HaltEvidence("x", 0.1, [TEXT]), ConfigError, "a list of at most 10000 EvidenceChunk"),  # type: ignore[list-item]
        (HaltEvidence("x", 0.1, [EvidenceChunk("x", 0.1)] * 10_001), ConfigError, "a list of at most 10000"),
        (HaltEvidence("x", 0.1, [EvidenceChunk(None, 0.1)]), ConfigError, "must hold text where text belongs"),  # type: ignore[arg-type]
        (HaltEvidence(3, 0.1, [EvidenceChunk("x", 0.1)]), ConfigError, "must hold text where text belongs"),  # type: ignore[arg-type]
        (dataclasses.replace(EVIDENCE, trace_attribution=TEXT), ConfigError, "must be a HaltTraceAttribution or None"),
    ],
    ids=["None", "a record", "without evidence", "no list", "text as a chunk", "10,001 chunks", "no text", "no reason", "text as a trace"],
)  # fmt: skip
def test_evidence_that_is_none_is_refused_before_the_builder_is_asked(evidence: Any, error: Any, message: str) -> None:
    asked: list[Any] = []
    with pytest.raises(error, match=message) as caught:
        loop().propose_from_halt(halt_evidence=evidence, continuation_builder=asked.append)  # type: ignore[arg-type]
    assert not asked
    assert TEXT not in str(caught.value)


def test_ten_thousand_chunks_can_be_cited() -> None:
    chunks = [EvidenceChunk(f"Fact {number}.", 0.1, f"kb:{number}") for number in range(10_000)]
    proposal = loop().propose_from_halt(
        halt_evidence=HaltEvidence("hard_limit", 0.1, chunks, trace_attribution=EVIDENCE.trace_attribution),
        continuation_builder=lambda context: draft(context, evidence_refs=(*context.source_refs, *context.trace_refs)),
    )
    assert len(proposal.evidence_refs) == 10_004


@pytest.mark.parametrize("score", [math.nan, math.inf, None, "0.9", True, -1])
def test_a_last_score_that_is_none_counts_as_the_worst(score: Any) -> None:
    seen: list[float] = []
    loop().propose_from_halt(
        halt_evidence=dataclasses.replace(EVIDENCE, last_score=score),
        continuation_builder=lambda context: (seen.append(context.last_score), draft(context))[1],
    )
    assert seen == [0.0]


@pytest.mark.parametrize("builder", [None, TEXT, 3])
def test_a_builder_must_be_callable(builder: Any) -> None:
    with pytest.raises(ConfigError, match="continuation_builder must be callable, got a "):
        loop().propose_from_halt(halt_evidence=EVIDENCE, continuation_builder=builder)


# Records


def test_a_record_holds_the_text_only_where_it_is_asked_for() -> None:
    gate = loop()
    proposal = gate.approve(proposed(gate, structured_recovery=recovery()), approval_id="review-1")
    record = proposal.to_dict()
    assert "candidate_text" not in record
    for shown in (
        json.dumps(record),
        repr(proposal),
        proposal.to_safety_event(hook_id="h", hook_scope="agent").to_json(),
    ):
        assert "Jane" not in shown
        assert "30 days" not in shown
    assert record["candidate_digest"] == candidate_digest(TEXT)
    assert set(record["structured_recovery"]) == {"kind", "policy", "valid", "complete", "halted", "halt_offset", "errors", "metadata"}  # fmt: skip
    assert proposal.to_dict(include_candidate=True) == record | {"candidate_text": TEXT}


@pytest.mark.parametrize("scope", HOOK_SCOPES)
@pytest.mark.parametrize("score", [0.0, 0.4, 0.7, 0.95])
def test_a_proposal_becomes_an_event_that_validates(score: float, scope: str) -> None:
    proposal = proposed(loop(), signals=[dataclasses.replace(GOOD, score=score)])
    event = proposal.to_safety_event(
        hook_id="correction.loop", hook_scope=scope, request_id="r-1", tenant_id="acme", latency_ms=1.5
    )
    assert validate_safety_event(event.to_dict()) == event
    assert (event.policy_decision, event.observed_score) == (proposal.guard_decision.decision, score)
    assert (event.request_id, event.tenant_id, event.latency_ms) == ("r-1", "acme", 1.5)
    assert event.evidence_refs == ("trace://halt-7", "kb://fact-1")
    assert event.attributes["policy"] == "policy.1"
    assert event.attributes["proposal_id"] == proposal.proposal_id
    assert event.attributes["proposal_digest"] == proposal.digest
    assert event.attributes["approved"] == "false"


def test_an_event_of_an_approved_proposal_names_the_approval() -> None:
    gate = loop()
    event = gate.approve(proposed(gate), approval_id="review-1").to_safety_event(hook_id="h", hook_scope="agent")
    assert (event.attributes["approved"], event.attributes["approval_id"]) == ("true", "review-1")


@pytest.mark.parametrize("given", [{"hook_id": TEXT}, {"request_id": TEXT}, {"tenant_id": TEXT}, {"hook_scope": TEXT}], ids=lambda given: next(iter(given)))  # fmt: skip
def test_an_event_takes_no_text_from_its_caller(given: dict[str, Any]) -> None:
    with pytest.raises(DirectorError) as caught:
        proposed(loop()).to_safety_event(**{"hook_id": "h", "hook_scope": "agent"} | given)
    assert TEXT not in str(caught.value)


def test_the_core_shows_the_names_of_the_loop() -> None:
    names = ["CorrectionLoop", "CorrectionProposal", "GroundedCorrectionDraft", "HaltCorrectionContext"]
    assert director_ai.core.__all__ == names
    for name in names:
        assert getattr(director_ai.core, name) is getattr(correction, name)
        assert name in dir(director_ai.core)


# Laws

moves = st.sampled_from(["propose", "approve", "approve", "release", "release", "swap"])
steps = st.lists(st.tuples(moves, st.integers(0, 2), st.sampled_from(["r-1", "r-2", "r-3"])), min_size=5, max_size=25)


@given(steps, st.lists(st.sampled_from([0.0, 0.1, 0.95]), min_size=3, max_size=3))
def test_whatever_is_tried_only_what_was_approved_leaves_and_once(
    steps: list[tuple[str, int, str]], risks: list[float]
) -> None:
    """A small model of the gate beside the gate: what may leave is known from what was called before."""
    gate = loop()
    texts = ["One.", "Two.", "Three."]
    latest = [proposed(gate, text, signals=[signal_with(risk)]) for text, risk in zip(texts, risks, strict=True)]
    approvals: dict[str, int] = {}
    released: list[str] = []
    for move, number, approval in steps:
        free = number not in approvals.values() and approval not in approvals
        may = {
            "propose": True,
            "approve": risks[number] < 0.9 and (free or approvals.get(approval) == number),
            "release": latest[number].approved and texts[number] not in released,
            "swap": False,
        }[move]
        try:
            if move == "propose":
                proposed(gate, texts[number], signals=[signal_with(risks[number])])
            elif move == "approve":
                latest[number] = gate.approve(latest[number], approval_id=approval)
                approvals[approval] = number
            elif move == "release":
                released.append(gate.release(latest[number]))
            else:
                forged = {"candidate_text": "Swapped.", "approved": True, "approval_id": approval}
                gate.release(dataclasses.replace(latest[number], **forged))
            done = True
        except Refused:
            done = False
        assert done == may, move
    assert len(released) == len(set(released))
    assert set(released) <= {texts[number] for number in approvals.values()}


@given(st.text(st.characters(), min_size=1, max_size=50).filter(lambda text: text.strip()))
@example("a\ud800")
def test_any_text_leaves_byte_for_byte(text: str) -> None:
    gate = loop()
    try:
        text.encode()
    except UnicodeEncodeError:
        with pytest.raises(ConfigError, match="lone surrogate"):
            proposed(gate, text)
        return
    assert gate.release(gate.approve(proposed(gate, text), approval_id="review-1")) == text


@given(
    st.text(alphabet='{}[]",:1a \\\n', max_size=30), st.sampled_from(["json", "tool_call", "reasoning"]), st.booleans()
)
def test_any_recovery_of_a_kernel_can_be_recorded(text: str, kind: Any, halted: bool) -> None:
    cut = StructuredRecovery(StructuredRecoveryConfig(kind=kind))
    cut.feed(text)
    result = cut.result(halted=halted)
    assert proposed(loop(), structured_recovery=result).to_dict()["structured_recovery"] == result.to_dict()
