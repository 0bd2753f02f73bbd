"""Values that cross a stage border: verdicts, evidence, and why a stream was halted.

They are frozen: a verdict that was recorded is the verdict that was given. Positional order is part of the
interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from director_ai.core.safety_event import SafetyEvent

__all__ = [
    "ClaimAttribution",
    "CoherenceScore",
    "CounterfactualFactChange",
    "CounterfactualHaltDiagnostic",
    "EvidenceChunk",
    "HaltEvidence",
    "HaltTraceAttribution",
    "InjectedClaim",
    "InjectionResult",
    "ReviewResult",
    "ScoringEvidence",
]


@dataclass(frozen=True, slots=True)
class EvidenceChunk:
    """A single piece of retrieved evidence."""

    text: str
    distance: float
    """Lower is more relevant."""
    source: str = ""


@dataclass(frozen=True, slots=True)
class ClaimAttribution:
    """Which source sentence best supports or contradicts a claim."""

    claim: str
    claim_index: int
    source_sentence: str
    source_index: int
    divergence: float
    """Lower is better supported."""
    supported: bool


@dataclass(frozen=True, slots=True)
class ScoringEvidence:
    """What a score was built on."""

    chunks: list[EvidenceChunk]
    nli_premise: str
    nli_hypothesis: str
    nli_score: float
    """Divergence: 0 entailed, 1 contradicted."""
    chunk_scores: list[float] | None = None
    premise_chunk_count: int = 1
    hypothesis_chunk_count: int = 1
    claim_coverage: float | None = None
    per_claim_divergences: list[float] | None = None
    claims: list[str] | None = None
    attributions: list[ClaimAttribution] | None = None
    token_count: int | None = None
    estimated_cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class CoherenceScore:
    """Result of a coherence check on generated output."""

    score: float
    """From 0 to 1."""
    approved: bool
    """Whether the score reached the threshold."""
    h_logical: float
    """Probability of contradiction."""
    h_factual: float
    """Deviation from the evidence."""
    evidence: ScoringEvidence | None = None
    warning: bool = False
    """Approved, but below the soft limit."""
    cross_turn_divergence: float | None = None
    strict_mode_rejected: bool = False
    verdict_confidence: float | None = None
    nli_model_confidence: float | None = None
    signal_agreement: float | None = None
    contradiction_index: float | None = None
    detected_task_type: str | None = None
    escalated_to_judge: bool | None = None
    nli_probs: dict[str, float] | None = None
    retrieval_confidence: float | None = None
    injection_risk: float | None = None

    @property
    def attributions(self) -> list[ClaimAttribution]:
        """Per-claim source attribution; empty where claims were not attributed."""
        return list(self.evidence.attributions or ()) if self.evidence else []

    @property
    def claim_coverage(self) -> float | None:
        """Fraction of claims that the sources support, or None where no claim was looked at."""
        if self.evidence is not None and self.evidence.claim_coverage is not None:
            return self.evidence.claim_coverage
        claims = self.attributions
        return sum(claim.supported for claim in claims) / len(claims) if claims else None

    @property
    def unsupported_claims(self) -> list[ClaimAttribution]:
        """The claims that no source supports."""
        return [claim for claim in self.attributions if not claim.supported]

    def claim_provenance(self) -> list[dict[str, Any]]:
        """One dictionary per claim: the claim, its verdict, its source and the distance between them."""
        return [
            {
                "claim": claim.claim,
                "supported": claim.supported,
                "source": claim.source_sentence,
                "divergence": claim.divergence,
                "source_index": claim.source_index,
            }
            for claim in self.attributions
        ]


@dataclass(frozen=True, slots=True)
class HaltTraceAttribution:
    """Trace coordinates of a halt decision."""

    fact_source: str = ""
    retrieval_path: str = ""
    scorer_path: str = ""
    token_offset: int = -1
    """Index of the token at which the halt condition was met."""
    threshold: float | None = None
    causal_contribution: float = 0.0
    """How far beyond the threshold the observed figure was."""


@dataclass(frozen=True, slots=True)
class CounterfactualFactChange:
    """A single fact that, had it been otherwise, might have prevented a halt."""

    fact_source: str
    original_fact: str
    proposed_fact: str
    required_score_delta: float
    prevented_halt: bool


@dataclass(frozen=True, slots=True)
class CounterfactualHaltDiagnostic:
    """Which single fact change would have prevented a halt."""

    question: str
    observed_score: float
    threshold: float
    best_change: CounterfactualFactChange | None
    """The first candidate that prevents the halt."""
    candidates: list[CounterfactualFactChange]


@dataclass(frozen=True, slots=True)
class HaltEvidence:
    """Why a stream was halted, and on what evidence."""

    reason: str
    last_score: float
    evidence_chunks: list[EvidenceChunk]
    nli_scores: list[float] | None = None
    suggested_action: str = ""
    trace_attribution: HaltTraceAttribution | None = None
    counterfactual_diagnostic: CounterfactualHaltDiagnostic | None = None


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """Full review outcome of an agent's answer."""

    output: str
    coherence: CoherenceScore | None
    halted: bool
    candidates_evaluated: int
    fallback_used: bool = False
    halt_evidence: HaltEvidence | None = None
    safety_events: tuple[SafetyEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class InjectedClaim:
    """How one claim relates to the intent it should serve."""

    claim: str
    claim_index: int
    intent_divergence: float
    reverse_divergence: float
    bidirectional_divergence: float
    """The smaller of the two."""
    traceability: float
    entity_match: float
    verdict: Literal["grounded", "drifted", "injected"]
    confidence: float


@dataclass(frozen=True, slots=True)
class InjectionResult:
    """Whether a text follows an instruction that nobody entitled gave."""

    injection_detected: bool
    injection_risk: float
    intent_coverage: float
    total_claims: int
    grounded_claims: int
    drifted_claims: int
    injected_claims: int
    claims: list[InjectedClaim]
    input_sanitizer_score: float
    combined_score: float
