"""Corrections that leave only after the verifiers allowed them and an operator approved exactly what leaves.

    propose ─► consensus allows? ─► approve (by an id) ─► release (once)

What was proposed, approved and released is known by a digest over the text, the evidence, the policy and the whole
decision. A loop remembers all that it approved and released, and the last 10,000 proposals that wait for approval;
older ones must be proposed again. For a memory that outlives the process, enqueue proposals for review.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final, get_args

from director_ai.core.guard_control import (
    MOST_REFS,
    GuardDecision,
    RiskEnvelope,
    VerifierSignal,
    check_choice,
    check_refs,
    items_of,
)
from director_ai.core.identifiers import check_identifier, is_ref, ref_of
from director_ai.core.ranges import as_score
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.structured_recovery import RecoveryKind, RecoveryPolicy, StructuredRecoveryResult
from director_ai.core.safety_event import SafetyEvent, validate_safety_event
from director_ai.core.scoring.consensus import CrossVerifierConsensus
from director_ai.core.tenant_safety import is_machine_reason
from director_ai.core.types import EvidenceChunk, HaltEvidence, HaltTraceAttribution
from director_ai.errors import (
    AlreadyReleased,
    ApprovalReused,
    ConfigError,
    NoGo,
    NotAllowed,
    NotApproved,
    Refused,
    TextChanged,
    Ungrounded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "CorrectionLoop",
    "CorrectionProposal",
    "GroundedCorrectionDraft",
    "HaltCorrectionContext",
    "candidate_digest",
    "proposal_digest",
]

LONGEST_CANDIDATE: Final = 1_000_000
MOST_CHUNKS: Final = 10_000
MOST_PROPOSALS: Final = 10_000


@dataclass(frozen=True, slots=True)
class HaltCorrectionContext:
    """What a builder may rest a correction on; it holds fact text and stays with its tenant."""

    halt_reason: str
    last_score: float
    evidence_texts: Sequence[str] = field(repr=False)
    source_refs: Sequence[str]
    """One per text, in the same order."""
    trace_refs: Sequence[str] = ()
    suggested_action: str = ""

    def __post_init__(self) -> None:
        for name in ("evidence_texts", "source_refs", "trace_refs"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class GroundedCorrectionDraft:
    """What a builder made of a context; the loop checks it when it is handed over."""

    candidate_text: str = field(repr=False)
    verifier_signals: Sequence[VerifierSignal]
    evidence_refs: Sequence[str]
    """What the text rests on: references of the context, at least one."""


@dataclass(frozen=True, slots=True)
class CorrectionProposal:
    """A correction, the decision on it, and whether an operator approved it; only its loop releases it."""

    proposal_id: str
    """Made from the digest: the same proposal has the same id."""
    candidate_text: str = field(repr=False)
    evidence_refs: Sequence[str]
    guard_decision: GuardDecision
    structured_recovery: StructuredRecoveryResult | None = None
    approved: bool = False
    approval_id: str = ""

    def __post_init__(self) -> None:
        if not is_ref(self.proposal_id):
            raise ConfigError("proposal_id must be an identifier; proposals are made by CorrectionLoop.propose")
        if type(self.guard_decision) is not GuardDecision:
            raise ConfigError(f"guard_decision must be a GuardDecision, got a {type(self.guard_decision).__name__}")
        if type(self.approved) is not bool or self.approved != bool(self.approval_id):
            raise ConfigError("a proposal is approved by an approval_id: give both or neither")
        checked = {
            "proposal_id": str.__str__(self.proposal_id),
            "candidate_text": _checked_text(self.candidate_text),
            "evidence_refs": tuple(dict.fromkeys(check_refs("evidence_refs", self.evidence_refs))),
            "structured_recovery": _checked_recovery(self.structured_recovery),
            "approval_id": check_identifier("approval_id", self.approval_id),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def digest(self) -> str:
        """What an approval is bound to: text, evidence, policy, decision and recovery; not the approval itself."""
        recovery = self.structured_recovery
        return proposal_digest(
            candidate_text=self.candidate_text,
            evidence_refs=self.evidence_refs,
            guard_decision=self.guard_decision.to_dict(),
            structured_recovery=None if recovery is None else recovery.to_dict(),
        )

    def to_dict(self, *, include_candidate: bool = False) -> dict[str, Any]:
        """Return the proposal as plain JSON values; the text itself only where it is asked for."""
        recovery = self.structured_recovery
        payload: dict[str, Any] = {
            "proposal_id": self.proposal_id,
            "digest": self.digest,
            "candidate_digest": candidate_digest(self.candidate_text),
            "evidence_refs": list(self.evidence_refs),
            "guard_decision": self.guard_decision.to_dict(),
            "structured_recovery": None if recovery is None else recovery.to_dict(),
            "approved": self.approved,
            "approval_id": self.approval_id,
        }
        return payload | {"candidate_text": self.candidate_text} if include_candidate else payload

    def to_safety_event(
        self,
        *,
        hook_id: str,
        hook_scope: str,
        request_id: str = "",
        tenant_id: str = "",
        latency_ms: float | None = None,
    ) -> SafetyEvent:
        """Record the decision on the proposal, with the evidence of the text and of the verifiers."""
        event = self.guard_decision.to_safety_event(
            hook_id=hook_id,
            hook_scope=hook_scope,
            request_id=request_id,
            tenant_id=tenant_id,
            latency_ms=latency_ms,
        )
        more = {
            "proposal_id": self.proposal_id,
            "proposal_digest": self.digest,
            "approved": str(self.approved).lower(),
        } | ({"approval_id": self.approval_id} if self.approved else {})
        refs = tuple(dict.fromkeys([*self.evidence_refs, *event.evidence_refs]))
        event = replace(event, evidence_refs=refs, attributes=event.attributes | more)
        return validate_safety_event(event.to_dict())


class CorrectionLoop:
    """Proposes, approves and releases corrections under one policy; safe to share between threads."""

    def __init__(self, *, consensus: CrossVerifierConsensus, risk_envelope: RiskEnvelope, policy_id: str) -> None:
        if not isinstance(consensus, CrossVerifierConsensus):
            raise ConfigError(f"consensus must be a CrossVerifierConsensus, got a {type(consensus).__name__}")
        consensus.warn_threshold_for(risk_envelope)  # refuses what is no envelope, or one that does not fit
        self._consensus = consensus
        self._envelope = risk_envelope
        self._policy_id = _required_id("policy_id", policy_id)
        self._lock = threading.Lock()
        self._waiting: dict[str, None] = {}
        """Digests of proposals that wait for approval, the oldest first."""
        self._approved: dict[str, str] = {}
        """Digest by approval id."""
        self._approval_of: dict[str, str] = {}
        """Approval id by digest."""
        self._released: set[str] = set()

    def propose(
        self,
        *,
        candidate_text: str,
        signals: Sequence[VerifierSignal],
        evidence_refs: Sequence[str] = (),
        structured_recovery: StructuredRecoveryResult | None = None,
    ) -> CorrectionProposal:
        """Return an unreleased proposal with the verifiers' decision on it, whatever that is."""
        self._refuse_no_go()
        text = _checked_text(candidate_text)
        refs = tuple(dict.fromkeys(check_refs("evidence_refs", evidence_refs)))
        recovery = _checked_recovery(structured_recovery)
        decision = self._consensus.decide(signals, self._envelope, policy_id=self._policy_id)
        if type(decision) is not GuardDecision:
            raise Refused(f"the consensus must return a GuardDecision, got a {type(decision).__name__}")
        digest = proposal_digest(
            candidate_text=text,
            evidence_refs=refs,
            guard_decision=decision.to_dict(),
            structured_recovery=None if recovery is None else recovery.to_dict(),
        )
        with self._lock:
            self._waiting.pop(digest, None)
            if digest not in self._approval_of:
                self._waiting[digest] = None
            if len(self._waiting) > MOST_PROPOSALS:
                del self._waiting[next(iter(self._waiting))]
        return CorrectionProposal(_proposal_id(digest), text, refs, decision, recovery)

    def propose_from_halt(
        self,
        *,
        halt_evidence: HaltEvidence,
        continuation_builder: Callable[[HaltCorrectionContext], GroundedCorrectionDraft],
        structured_recovery: StructuredRecoveryResult | None = None,
    ) -> CorrectionProposal:
        """Have a correction built from the evidence of a halt, and propose it if it rests on that evidence."""
        self._refuse_no_go()
        if not callable(continuation_builder):
            raise ConfigError(f"continuation_builder must be callable, got a {type(continuation_builder).__name__}")
        recovery = _checked_recovery(structured_recovery)
        context = _context_of(halt_evidence)
        draft = _built(continuation_builder, context)
        refs = _grounded_refs(draft, context)
        try:
            return self.propose(
                candidate_text=draft.candidate_text,
                signals=draft.verifier_signals,
                evidence_refs=refs,
                structured_recovery=recovery,
            )
        except ConfigError as error:
            raise Refused(f"the draft of the continuation builder cannot be proposed: {error}") from None

    def approve(self, proposal: CorrectionProposal, *, approval_id: str) -> CorrectionProposal:
        """Bind an operator's approval to a proposal that consensus allowed; the same call again changes nothing."""
        approval = _required_id("approval_id", approval_id)
        digest = _digest_of(proposal)
        if proposal.approval_id not in ("", approval):
            raise ApprovalReused("the proposal carries another approval_id already; release it, or propose anew")
        with self._lock:
            known = self._approved.get(approval)
            if known is not None and known != digest:
                raise ApprovalReused(
                    "this approval_id approved another proposal; every approval needs an id of its own"
                )
            if self._approval_of.get(digest, approval) != approval:
                raise ApprovalReused("the proposal was approved with another approval_id; release it with that one")
            if known is None:
                if digest not in self._waiting:
                    raise TextChanged(
                        "this loop did not propose this text with this evidence and decision, or did so more than "
                        f"{MOST_PROPOSALS} proposals ago; call propose and approve what it returns, unchanged"
                    )
                del self._waiting[digest]
                self._approved[approval] = digest
                self._approval_of[digest] = approval
        return replace(proposal, approved=True, approval_id=approval)

    def release(self, proposal: CorrectionProposal) -> str:
        """Return the text of a proposal that this loop approved as it stands; once."""
        digest = _digest_of(proposal)
        if not proposal.approved:
            raise NotApproved("an approval is missing; call approve with an approval_id and release what it returns")
        with self._lock:
            known = self._approved.get(proposal.approval_id)
            if known is None:
                raise NotApproved("this loop gave no approval with this approval_id; call approve first")
            if known != digest:
                raise TextChanged("this approval_id approved another text, evidence or decision; propose this one anew")
            if proposal.approval_id in self._released:
                raise AlreadyReleased(
                    "this approval released its text already; propose it again and have it approved again"
                )
            self._released.add(proposal.approval_id)
            del self._approval_of[digest]
        return proposal.candidate_text

    def _refuse_no_go(self) -> None:
        if self._envelope.is_no_go:
            raise NoGo(
                "corrections of physical or irreversible actions are not proposed; leave the action undone, or hand it "
                "to a person"
            )


def candidate_digest(text: str) -> str:
    """Return the SHA-256 of a text as an identifier."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def proposal_digest(
    *,
    candidate_text: str,
    evidence_refs: Sequence[str],
    guard_decision: Mapping[str, Any],
    structured_recovery: Mapping[str, Any] | None = None,
) -> str:
    """Return the SHA-256 of all that an approval is bound to; decision and recovery as their `to_dict` gives them."""
    content = {
        "candidate_digest": candidate_digest(candidate_text),
        "evidence_refs": list(evidence_refs),
        "guard_decision": guard_decision,
        "structured_recovery": structured_recovery,
    }
    return candidate_digest(json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":")))


def _proposal_id(digest: str) -> str:
    return f"proposal-{digest.removeprefix('sha256:')[:32]}"


def _required_id(name: str, value: object) -> str:
    found = check_identifier(name, value)
    if not found:
        raise ConfigError(f"{name} is missing: give 1 to 128 letters, digits and . _ : @ -")
    return found


def _digest_of(proposal: CorrectionProposal) -> str:
    """Return the digest of a proposal that consensus allowed and whose id is its own; refuse any other."""
    if type(proposal) is not CorrectionProposal:  # a subclass may answer differently the next time it is asked
        raise ConfigError(f"proposal must be a CorrectionProposal, got a {type(proposal).__name__}")
    decision = proposal.guard_decision
    if decision.decision != "allow":
        raise NotAllowed(
            f"consensus decided {decision.decision!r} ({decision.reason}); only what it allows can be approved and "
            "released: correct the text or its evidence and propose again"
        )
    try:
        digest = proposal.digest
    except (AttributeError, TypeError, ValueError):  # somebody put in what no proposal is made with
        digest = ""
    if proposal.proposal_id != _proposal_id(digest):
        raise TextChanged("the proposal is not what its proposal_id stands for; propose the changed text anew")
    return digest


def _checked_text(text: object) -> str:
    if not issubclass(type(text), str):
        raise ConfigError(f"candidate_text must be a str, got a {type(text).__name__}")
    plain = str.__str__(text)
    if not plain.strip():
        raise ConfigError("candidate_text must not be blank; withhold the text instead of releasing an empty one")
    if len(plain) > LONGEST_CANDIDATE:
        raise ConfigError(f"candidate_text must be at most {LONGEST_CANDIDATE} characters, got {len(plain)}")
    if not plain.isascii() and any("\ud800" <= character <= "\udfff" for character in plain):
        raise ConfigError("candidate_text must be text that can be written as UTF-8: it holds a lone surrogate")
    return plain


def _checked_recovery(recovery: object) -> StructuredRecoveryResult | None:
    """Return a recovery whose record is words and figures alone, with a copy of what could still be changed."""
    if recovery is None:
        return None
    if type(recovery) is not StructuredRecoveryResult:
        raise ConfigError(
            f"structured_recovery must be a StructuredRecoveryResult or None, got a {type(recovery).__name__}"
        )
    check_choice("recovery kind", recovery.kind, get_args(RecoveryKind))
    check_choice("recovery policy", recovery.policy, get_args(RecoveryPolicy))
    figures = (recovery.valid, recovery.complete, recovery.halted, recovery.halt_offset)
    metadata = dict(recovery.metadata) if isinstance(recovery.metadata, Mapping) else None
    errors = items_of(recovery.errors, MOST_REFS)
    if (
        [type(figure) for figure in figures] != [bool, bool, bool, int]
        or metadata is None
        or not all(is_ref(name) and (type(value) is int or is_ref(value)) for name, value in metadata.items())
        or errors is None
        or not all(is_machine_reason(error) for error in errors)
    ):
        raise ConfigError("structured_recovery must hold words and figures beside its text, as a kernel's session does")
    return replace(recovery, metadata=metadata, errors=errors)


def _context_of(evidence: object) -> HaltCorrectionContext:
    """Read a halt; what it cites are identifiers, what it says stays with the builder."""
    if not isinstance(evidence, HaltEvidence):
        raise ConfigError(f"halt_evidence must be a HaltEvidence, got a {type(evidence).__name__}")
    chunks = items_of(evidence.evidence_chunks, MOST_CHUNKS)
    if chunks is None or len(chunks) > MOST_CHUNKS or not all(isinstance(chunk, EvidenceChunk) for chunk in chunks):
        raise ConfigError(f"halt_evidence must hold a list of at most {MOST_CHUNKS} EvidenceChunk")
    pieces = [(_plain(chunk.text), _plain(chunk.source)) for chunk in chunks]
    trace_refs = _trace_refs(evidence.trace_attribution)
    if not pieces and not trace_refs:
        raise Ungrounded("the halt came without evidence, so no correction can rest on it; stream with a scorer")
    return HaltCorrectionContext(
        halt_reason=_plain(evidence.reason),
        last_score=as_score(evidence.last_score) or 0.0,
        evidence_texts=tuple(text for text, _ in pieces),
        source_refs=tuple(ref_of(source, text) for text, source in pieces),
        trace_refs=trace_refs,
        suggested_action=_plain(evidence.suggested_action),
    )


def _trace_refs(trace: object) -> tuple[str, ...]:
    """Name the coordinates of a halt: its fact, how that was found and scored, and the token."""
    if trace is None:
        return ()
    if not isinstance(trace, HaltTraceAttribution):
        raise ConfigError(f"trace_attribution must be a HaltTraceAttribution or None, got a {type(trace).__name__}")
    places = [_plain(place) for place in (trace.fact_source, trace.retrieval_path, trace.scorer_path)]
    token = [f"token:{trace.token_offset:d}"] if type(trace.token_offset) is int and trace.token_offset >= 0 else []
    return tuple(dict.fromkeys([*(ref_of(place) for place in places if place), *token]))


def _plain(text: object) -> str:
    if not issubclass(type(text), str):
        raise ConfigError(f"halt_evidence must hold text where text belongs, got a {type(text).__name__}")
    return str.__str__(text)


def _built(
    builder: Callable[[HaltCorrectionContext], object], context: HaltCorrectionContext
) -> GroundedCorrectionDraft:
    """Ask a builder; whatever is not a draft is a refusal, and what its error says is not repeated."""
    try:
        draft = builder(context)
    except BaseException as error:
        if must_pass(error):
            raise
        raise Refused(f"the continuation builder raised {type(error).__name__}; nothing was proposed") from None
    if type(draft) is CoroutineType:
        with suppress(Exception):
            draft.close()
        raise Refused("the continuation builder must not be asynchronous: await the text first, then propose it")
    if type(draft) is not GroundedCorrectionDraft:
        raise Refused(f"the continuation builder must return a GroundedCorrectionDraft, got a {type(draft).__name__}")
    return draft


def _grounded_refs(draft: GroundedCorrectionDraft, context: HaltCorrectionContext) -> tuple[str, ...]:
    refs = check_refs("the draft's evidence_refs", draft.evidence_refs, Ungrounded)
    if not refs:
        raise Ungrounded("the draft cites no evidence; cite at least one of the context's source_refs or trace_refs")
    foreign = set(refs) - {*context.source_refs, *context.trace_refs}
    if foreign:
        raise Ungrounded(
            f"the draft cites {len(foreign)} references that it was not given; cite only the context's source_refs and "
            "trace_refs (its verifier signals may cite others)"
        )
    return refs
