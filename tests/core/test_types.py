"""The types page: every field, its order and its default."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from director_ai.core import types
from director_ai.core.types import ClaimAttribution, CoherenceScore, EvidenceChunk, ScoringEvidence

REQUIRED = dataclasses.MISSING
FIELDS = {
    "CoherenceScore": {
        "score": REQUIRED, "approved": REQUIRED, "h_logical": REQUIRED, "h_factual": REQUIRED, "evidence": None, "warning": False,
        "cross_turn_divergence": None, "strict_mode_rejected": False, "verdict_confidence": None, "nli_model_confidence": None,
        "signal_agreement": None, "contradiction_index": None, "detected_task_type": None, "escalated_to_judge": None,
        "nli_probs": None, "retrieval_confidence": None, "injection_risk": None,
    },
    "ReviewResult": {
        "output": REQUIRED, "coherence": REQUIRED, "halted": REQUIRED, "candidates_evaluated": REQUIRED, "fallback_used": False,
        "halt_evidence": None, "safety_events": (),
    },
    "ScoringEvidence": {
        "chunks": REQUIRED, "nli_premise": REQUIRED, "nli_hypothesis": REQUIRED, "nli_score": REQUIRED, "chunk_scores": None,
        "premise_chunk_count": 1, "hypothesis_chunk_count": 1, "claim_coverage": None, "per_claim_divergences": None,
        "claims": None, "attributions": None, "token_count": None, "estimated_cost_usd": None,
    },
    "EvidenceChunk": {"text": REQUIRED, "distance": REQUIRED, "source": ""},
    "ClaimAttribution": {
        "claim": REQUIRED, "claim_index": REQUIRED, "source_sentence": REQUIRED, "source_index": REQUIRED, "divergence": REQUIRED,
        "supported": REQUIRED,
    },
    "HaltEvidence": {
        "reason": REQUIRED, "last_score": REQUIRED, "evidence_chunks": REQUIRED, "nli_scores": None, "suggested_action": "",
        "trace_attribution": None, "counterfactual_diagnostic": None,
    },
    "HaltTraceAttribution": {
        "fact_source": "", "retrieval_path": "", "scorer_path": "", "token_offset": -1, "threshold": None,
        "causal_contribution": 0.0,
    },
    "CounterfactualHaltDiagnostic": {
        "question": REQUIRED, "observed_score": REQUIRED, "threshold": REQUIRED, "best_change": REQUIRED, "candidates": REQUIRED,
    },
    "CounterfactualFactChange": {
        "fact_source": REQUIRED, "original_fact": REQUIRED, "proposed_fact": REQUIRED, "required_score_delta": REQUIRED,
        "prevented_halt": REQUIRED,
    },
    "InjectionResult": dict.fromkeys(
        ["injection_detected", "injection_risk", "intent_coverage", "total_claims", "grounded_claims", "drifted_claims",
         "injected_claims", "claims", "input_sanitizer_score", "combined_score"], REQUIRED),
    "InjectedClaim": dict.fromkeys(
        ["claim", "claim_index", "intent_divergence", "reverse_divergence", "bidirectional_divergence", "traceability",
         "entity_match", "verdict", "confidence"], REQUIRED),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_fields_defaults_and_positional_order(name: str) -> None:
    fields = dataclasses.fields(getattr(types, name))
    assert {field.name: field.default for field in fields} == FIELDS[name]
    assert [field.name for field in fields] == list(FIELDS[name])
    assert not any(field.kw_only for field in fields)


def test_every_type_of_the_module_is_on_the_page() -> None:
    assert set(types.__all__) == set(FIELDS)


def attribution(claim: str, index: int, supported: bool) -> ClaimAttribution:
    return ClaimAttribution(claim, index, f"source of {claim}", 3, 0.1 if supported else 0.9, supported)


def score_with(evidence: ScoringEvidence | None) -> CoherenceScore:
    return CoherenceScore(0.5, True, 0.5, 0.5, evidence)


def test_provenance_is_one_dictionary_per_claim() -> None:
    evidence = ScoringEvidence([], "", "", 0.1, attributions=[attribution("a", 0, True), attribution("b", 1, False)])
    score = score_with(evidence)
    assert score.attributions == evidence.attributions
    assert [claim.claim for claim in score.unsupported_claims] == ["b"]
    assert score.claim_provenance()[0] == {
        "claim": "a",
        "supported": True,
        "source": "source of a",
        "divergence": 0.1,
        "source_index": 3,
    }
    assert score.claim_coverage == 0.5, "counted where the scorer gave no figure"


def test_the_scorers_own_coverage_is_taken_where_there_is_one() -> None:
    evidence = ScoringEvidence([], "", "", 0.1, claim_coverage=0.0, attributions=[attribution("a", 0, True)])
    assert score_with(evidence).claim_coverage == 0.0


@pytest.mark.parametrize("evidence", [None, ScoringEvidence([], "", "", 0.1)], ids=["no evidence", "no attributions"])
def test_without_attributions_nothing_is_claimed(evidence: ScoringEvidence | None) -> None:
    score = score_with(evidence)
    assert (score.attributions, score.unsupported_claims, score.claim_provenance()) == ([], [], [])
    assert score.claim_coverage is None


def test_values_are_frozen_and_travel_between_processes() -> None:
    score = score_with(ScoringEvidence([EvidenceChunk("x", 0.1)], "", "", 0.1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        score.score = 1.0  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(score)) == copy.deepcopy(score) == score
