"""Halt evidence: what a halt rests on, and which single fact would have prevented it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from types import CoroutineType
from typing import TYPE_CHECKING, Final

from director_ai.core.ranges import as_score
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.segment import split_clauses
from director_ai.core.types import (
    CounterfactualFactChange,
    CounterfactualHaltDiagnostic,
    EvidenceChunk,
    HaltEvidence,
    HaltTraceAttribution,
)

if TYPE_CHECKING:
    from director_ai.core.runtime.halting import Halt

__all__ = ["Review", "read_review", "report_halt"]

_QUESTION: Final = "What single fact change would have prevented this halt?"
_CLAIM_TAIL: Final = 2_000
_MOST_CHUNKS: Final = 10_000
_ACTIONS: Final = {
    "hard_limit": "retry with KB context",
    "window_avg": "retry with KB context",
    "downward_trend": "retry with KB context from the last supported clause",
    "invalid_score": "repair the scorer: it must return a number from 0 to 1",
    "callback_error": "repair the scorer, then retry",
    "source_error": "retry the generation",
    "timeout": "retry, or raise the time limit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a scorer's review said about the text at the halt."""

    chunks: tuple[EvidenceChunk, ...] = ()
    """The most contradicting first."""
    divergences: tuple[float, ...] | None = None
    """One per chunk, where the scorer gave them."""
    path: str = ""
    """Which method answered."""
    failed: bool = False
    """The review did not answer, or not with a review."""


def read_review(answer: object, *, path: str) -> Review:
    """Read `(approved, CoherenceScore)`; anything else is a failed review, never an error: a halt stands without it."""
    try:
        if type(answer) is CoroutineType:
            answer.close()  # a synchronous kernel cannot await it
        evidence = answer[1].evidence  # type: ignore[index]
        if evidence is None:
            return Review(path=path)
        found = list(itertools.islice(evidence.chunks, _MOST_CHUNKS))
        chunks = [EvidenceChunk(_plain(c.text), float(c.distance), _plain(c.source)) for c in found]
        scores = evidence.chunk_scores
        divergences = None if scores is None else [as_score(s) for s in itertools.islice(scores, _MOST_CHUNKS)]
    except BaseException as error:  # what a foreign scorer answers with may do anything when it is looked at
        if must_pass(error):
            raise
        return Review(path=path, failed=True)
    if divergences is None or len(divergences) != len(chunks) or None in divergences:
        return Review(chunks=tuple(chunks), path=path)
    ranked = sorted(zip(chunks, divergences, strict=True), key=lambda pair: -(pair[1] or 0.0))
    return Review(
        chunks=tuple(chunk for chunk, _ in ranked),
        divergences=tuple(divergence or 0.0 for _, divergence in ranked),
        path=path,
    )


def _plain(text: object) -> str:
    """A plain copy: a subclass of str may do anything later on, too."""
    return str.__str__(str(text))


def report_halt(
    halt: Halt, *, last_score: float, token_offset: int, text: str, review: Review, top_k: int
) -> HaltEvidence:
    """Put a halt, the text it fell on and the `top_k` most telling pieces of its review into one record."""
    trace = HaltTraceAttribution(
        fact_source=review.chunks[0].source if review.chunks else "",
        retrieval_path="review.evidence.chunks" if review.chunks else "",
        scorer_path=review.path or "coherence_callback",
        token_offset=token_offset,
        threshold=halt.threshold,
        causal_contribution=halt.margin,
    )
    return HaltEvidence(
        reason=halt.reason,
        last_score=last_score,
        evidence_chunks=list(review.chunks[:top_k]),
        nli_scores=list(review.divergences[:top_k]) if review.divergences is not None else None,
        suggested_action=_ACTIONS[halt.mechanism],
        trace_attribution=trace,
        counterfactual_diagnostic=_counterfactual(halt, last_score, text, review, top_k),
    )


def _counterfactual(
    halt: Halt, last_score: float, text: str, review: Review, top_k: int
) -> CounterfactualHaltDiagnostic | None:
    """Ask of each fact: had it said what the stream claims, would the halt have happened?

    The worst divergence decides a score. A fact that says the claim itself diverges from it by nothing, so the score
    would then have been set by the worst of the other facts. Where the divergences are not known, that can only be
    said of a lone fact.
    """
    if halt.needed_score is None or halt.threshold is None or not review.chunks:
        return None
    claims = split_clauses(text[-_CLAIM_TAIL:])
    claim = claims[-1].strip() if claims else ""
    candidates = []
    for position, chunk in enumerate(review.chunks[:top_k]):
        if review.divergences is not None:
            # Ranked: the worst of the others is the first, or the second where this is the first.
            worst_other = [*review.divergences[:2], 0.0][0 if position else 1]
            prevented = 1.0 - worst_other >= halt.needed_score
        else:
            prevented = len(review.chunks) == 1 and halt.needed_score <= 1.0
        candidates.append(
            CounterfactualFactChange(
                fact_source=chunk.source,
                original_fact=chunk.text,
                proposed_fact=claim,
                required_score_delta=max(0.0, halt.needed_score - last_score),
                prevented_halt=prevented,
            )
        )
    return CounterfactualHaltDiagnostic(
        question=_QUESTION,
        observed_score=last_score,
        threshold=halt.threshold,
        best_change=next((change for change in candidates if change.prevented_halt), None),
        candidates=candidates,
    )
