"""From verdicts on clauses to one CoherenceScore: the worst clause decides."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from director_ai.core.scoring.entailment import ENTAILED
from director_ai.core.scoring.targets import SURELY_SUPPORTED
from director_ai.core.types import ClaimAttribution, CoherenceScore, EvidenceChunk, ScoringEvidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.scoring.claims import ClauseRole
    from director_ai.core.scoring.entailment import Opinion, Weighed
    from director_ai.core.scoring.slots import SlotDifference

__all__ = ["ClauseVerdict", "JudgeMode", "Limits", "Verdict", "combine_verdicts", "task_type_of"]

Verdict = Literal["supported", "not_a_claim", "unverified", "unsupported", "not_evaluated"]
"""The first and second release a clause; the third does under the `open` policy alone; the last two do not."""
_RELEASED: Final = frozenset({"supported", "not_a_claim", "unverified"})


JudgeMode = Literal["model", "heuristic"]
"""What decided: the entailment model beside words and values, or words and values alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where a score is approved and where it is approved with a warning."""

    threshold: float = 0.5
    soft_limit: float = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseVerdict:
    """What was made of one clause, and on what grounds."""

    clause: str
    start: int
    """Where in the text it begins."""
    role: ClauseRole
    verdict: Verdict
    reason: str
    """One word: the role of what is no claim, `entailed`, `contradicted`, `no_evidence`, or what failed."""
    coherence: float
    """What the clause allows the whole text: 1 where it states nothing."""
    claim: str = ""
    """What was judged in its place, its subject named."""
    support: float | None = None
    contradiction: float = 0.0
    chunks: tuple[EvidenceChunk, ...] = ()
    differences: tuple[SlotDifference, ...] = ()
    opinion: Opinion | None = None
    source: int = 0
    """Which of the chunks says most about it."""
    mode: JudgeMode = "heuristic"
    """The default is the weaker one, so that a judge that does not say what it used promises too little."""
    escalated: bool | None = None
    """Whether a judge decided; False if it was asked and gave no answer, None if it was not asked."""
    correction: str = ""
    """The claim as the judge would have it."""

    @property
    def may_be_shown(self) -> bool:
        """Whether the clause is released as it is.

        A clause in a language that is not supported was not evaluated; an open profile shows it all the same.
        """
        return self.verdict in _RELEASED or (self.reason == "language_not_supported" and self.coherence == 1.0)

    @property
    def is_claim(self) -> bool:
        """Whether the clause states something that was to be judged."""
        return self.verdict != "not_a_claim"


def verdict_of(weighed: Weighed, *, policy: str, threshold: float) -> tuple[Verdict, str, float]:
    """Return the verdict on a claim with evidence, its reason, and what coherence it leaves."""
    if policy == "open":
        coherence = round(1.0 - weighed.contradiction, 6)
        if coherence < threshold:
            return "unsupported", "contradicted", coherence
        if weighed.support >= SURELY_SUPPORTED and (weighed.opinion is None or weighed.opinion.supported >= ENTAILED):
            return "supported", "entailed", coherence
        return "unverified", "not_contradicted", coherence
    if weighed.support >= threshold:
        return "supported", "entailed", weighed.support
    is_contradicted = weighed.contradiction > weighed.support
    return "unsupported", "contradicted" if is_contradicted else "not_entailed", weighed.support


def combine_verdicts(
    verdicts: Sequence[ClauseVerdict],
    limits: Limits,
    *,
    chunk_scores: Sequence[float] | None = None,
    token_count: int | None = None,
    cost_per_million: float = 0.0,
    searched: bool = True,
    has_judge: bool = False,
) -> CoherenceScore:
    """Return the score of a text; `chunk_scores` are the divergences of the worst clause from each of its chunks."""
    worst = worst_of(verdicts)
    score = worst.coherence if worst else 1.0
    failed = any(verdict.verdict == "not_evaluated" and not verdict.may_be_shown for verdict in verdicts)
    approved = score >= limits.threshold and not failed
    contradiction = worst.contradiction if worst else 0.0
    opinion = worst.opinion if worst else None
    return CoherenceScore(
        score=score,
        approved=approved,
        h_logical=contradiction,
        h_factual=round(1.0 - score, 6),
        evidence=_evidence(verdicts, worst, chunk_scores, token_count, cost_per_million) if worst else None,
        warning=approved and score < limits.soft_limit,
        verdict_confidence=_confidence(worst, approved=approved),
        nli_model_confidence=_certainty(opinion) if opinion else None,
        signal_agreement=round(1.0 - abs(contradiction - (1.0 - score)), 6) if worst and not failed else None,
        escalated_to_judge=None if worst is None or not has_judge else worst.escalated is True,
        nli_probs=opinion._asdict() if opinion else None,
        retrieval_confidence=_retrieved(worst) if worst and searched else None,
    )


def worst_of(verdicts: Sequence[ClauseVerdict]) -> ClauseVerdict | None:
    """Return the claim with the lowest coherence, the first of equals; None where nothing is claimed."""
    return min((verdict for verdict in verdicts if verdict.is_claim), key=lambda each: each.coherence, default=None)


def _confidence(worst: ClauseVerdict | None, *, approved: bool) -> float | None:
    """Return the probability that the verdict is right; None where nothing was judged or a judge failed."""
    if worst is None or worst.verdict == "not_evaluated":
        return None
    return worst.coherence if approved else round(1.0 - worst.coherence, 6)


def _certainty(opinion: Opinion) -> float:
    """Return 1 for a model that is sure, 0 for one that has no idea: its entropy, turned around."""
    entropy = -math.fsum(part * math.log(part) for part in opinion if part > 0.0)
    return round(1.0 - entropy / math.log(len(opinion)), 6)


def _retrieved(worst: ClauseVerdict) -> float:
    return round(1.0 - min((chunk.distance for chunk in worst.chunks), default=1.0), 6)


def _evidence(
    verdicts: Sequence[ClauseVerdict],
    worst: ClauseVerdict,
    chunk_scores: Sequence[float] | None,
    token_count: int | None,
    cost_per_million: float,
) -> ScoringEvidence:
    claims = [verdict for verdict in verdicts if verdict.is_claim]
    divergences = [round(1.0 - (claim.support or 0.0), 6) for claim in claims]
    divergence = 1.0 - worst.opinion.supported if worst.opinion else 1.0 - (worst.support or 0.0)
    supported = sum(claim.verdict == "supported" for claim in claims)
    return ScoringEvidence(
        chunks=list(worst.chunks),
        nli_premise=" ".join(chunk.text for chunk in worst.chunks),
        nli_hypothesis=worst.claim,
        nli_score=round(divergence, 6),
        chunk_scores=list(chunk_scores) if chunk_scores is not None else None,
        premise_chunk_count=len(worst.chunks),
        hypothesis_chunk_count=len(claims),
        claim_coverage=supported / len(claims),
        per_claim_divergences=divergences,
        claims=[claim.claim for claim in claims],
        attributions=[
            ClaimAttribution(
                claim=claim.claim,
                claim_index=index,
                source_sentence=claim.chunks[claim.source].text if claim.chunks else "",
                source_index=claim.source if claim.chunks else -1,
                divergence=divergence,
                supported=claim.verdict == "supported",
            )
            for index, (claim, divergence) in enumerate(zip(claims, divergences, strict=True))
        ],
        token_count=token_count,
        estimated_cost_usd=None if token_count is None else token_count * cost_per_million / 1e6,
    )


_TASKS: Final = (
    (
        "summarization",
        re.compile(r"\b(?:summar(?:y|i[sz]e)|tl;?dr|sum up|shorten|key points|abstract of)\b", re.IGNORECASE),
    ),
    (
        "translation",
        re.compile(r"\btranslat(?:e|ion)\b|\bin (?:german|french|spanish|italian|english)\b", re.IGNORECASE),
    ),
    ("code", re.compile(r"```|\b(?:function|python|javascript|sql|regex|code|script)\b", re.IGNORECASE)),
    ("extraction", re.compile(r"\b(?:extract|list all|find all|classify|label)\b", re.IGNORECASE)),
    (
        "creative",
        re.compile(r"\b(?:write|compose|invent) (?:\w+ ){0,3}(?:story|poem|song|joke|tale|slogan)\b", re.IGNORECASE),
    ),
    (
        "qa",
        re.compile(r"\?|^\s*(?:who|what|when|where|why|how|which|is|are|does|do|can|could|will|may)\b", re.IGNORECASE),
    ),
)


def task_type_of(prompt: str) -> str:
    """Return what a prompt asks for: summarization, translation, code, extraction, creative, qa, or generation."""
    head = prompt[:2_000]
    return next((name for name, pattern in _TASKS if pattern.search(head)), "generation")
