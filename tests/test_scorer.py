"""CoherenceScorer: verdicts of whole answers and of streams, with and without the model."""

from __future__ import annotations

import asyncio
import logging
import random
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai import (
    CoherenceScorer,
    ConfigError,
    EvidenceChunk,
    GroundTruthStore,
    InjectionDetector,
    StreamingKernel,
)
from director_ai.errors import UnknownOption
from director_ai.testing import FAULTS, make_fault

FACTS = {
    "refund": "Refunds are available within 30 days.",
    "ship": "Shipping to Austria costs 5 EUR.",
    "hours": "The shop opens at 9:00 and closes at 18:00.",
    "ceo": "Acme is led by Jane Doe.",
}
PROMPT = "What are your terms?"
RIGHT = "Hello! Refunds are available within 30 days. Shipping to Austria costs 5 EUR. Anything else?"
WRONG = "Refunds are available within 45 days."


@pytest.fixture(scope="module")
def store() -> GroundTruthStore:
    return GroundTruthStore(facts=FACTS)


@pytest.fixture(scope="module")
def plain(store: GroundTruthStore) -> CoherenceScorer:
    return CoherenceScorer(use_nli=False, ground_truth_store=store)


@pytest.fixture(scope="module")
def model(store: GroundTruthStore) -> CoherenceScorer:
    return CoherenceScorer(ground_truth_store=store)


class Said:
    """A model that gives every pair the same opinion."""

    def __init__(self, supported: float, contradicted: float = 0.0) -> None:
        self.pairs: list[tuple[str, str]] = []
        self._opinion = SimpleNamespace(
            supported=supported, contradicted=contradicted, neutral=1.0 - supported - contradicted
        )

    def predict(self, pairs: list[tuple[str, str]]) -> list[Any]:
        self.pairs += pairs
        return [self._opinion] * len(pairs)


# --- verdicts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tenant_id", ["", "acme"], ids=["no tenant", "a tenant"])
def test_a_detail_that_nobody_gave_is_not_supported(tenant_id: str) -> None:
    with GroundTruthStore(facts={"refund": FACTS["refund"]}) as one:
        scorer = CoherenceScorer(ground_truth_store=one)

        # The seed says "Refunds close after 30 days.", which the model takes for a contradiction: see docs/limits.md.
        supported, _ = scorer.review(
            "What is the refund window?", "You can have your money back for 30 days.", tenant_id
        )
        bonus, _ = scorer.review("What is the refund window?", "Late refunds get a bonus.", tenant_id)

    assert (supported, bonus) == (True, False)


@pytest.mark.parametrize("scorer", ["plain", "model"])
def test_a_right_answer_is_approved_and_a_wrong_one_is_not(scorer: str, request: pytest.FixtureRequest) -> None:
    judge: CoherenceScorer = request.getfixturevalue(scorer)

    assert judge.review(PROMPT, RIGHT)[0]
    approved, score = judge.review(PROMPT, f"{RIGHT} {WRONG}")

    assert not approved
    assert score.evidence is not None
    assert score.evidence.nli_hypothesis == WRONG
    assert score.evidence.chunks[0].source == "refund"
    assert [claim.claim for claim in score.unsupported_claims] == [WRONG]


def test_the_worst_clause_is_the_score(plain: CoherenceScorer) -> None:
    verdicts = plain.judge(PROMPT, f"{RIGHT} {WRONG}")

    score = plain.score(PROMPT, f"{RIGHT} {WRONG}")

    assert score.score == min(verdict.coherence for verdict in verdicts)
    assert score.h_factual == pytest.approx(1.0 - score.score)
    assert score.h_logical == min(verdicts, key=lambda verdict: verdict.coherence).contradiction


def test_what_claims_nothing_is_approved_without_evidence(plain: CoherenceScorer) -> None:
    approved, score = plain.review(PROMPT, "Hello! How can I help you?")

    assert approved
    assert (score.score, score.evidence, score.verdict_confidence) == (1.0, None, None)


def test_the_fields_carry_real_values(model: CoherenceScorer) -> None:
    score = model.score(PROMPT, f"Shipping to Austria costs 5 EUR. {WRONG}", history=[FACTS["refund"]])

    assert score.nli_probs is not None
    assert sum(score.nli_probs.values()) == pytest.approx(1.0, abs=1e-6)
    for name in ("verdict_confidence", "nli_model_confidence", "signal_agreement", "retrieval_confidence"):
        assert 0.0 <= getattr(score, name) <= 1.0, name
    assert score.cross_turn_divergence is not None
    assert score.contradiction_index is not None
    assert score.cross_turn_divergence > 0.5
    assert 0.0 < score.contradiction_index <= score.cross_turn_divergence
    assert score.detected_task_type == "qa"
    evidence = score.evidence
    assert evidence is not None
    assert evidence.token_count is not None
    assert evidence.token_count > 10
    assert evidence.estimated_cost_usd == 0.0
    assert evidence.claim_coverage == 0.5
    assert evidence.per_claim_divergences is not None
    assert len(evidence.per_claim_divergences) == evidence.hypothesis_chunk_count == 2
    assert evidence.chunk_scores is not None
    assert len(evidence.chunk_scores) == len(evidence.chunks) == evidence.premise_chunk_count
    assert score.escalated_to_judge is None
    assert score.injection_risk is None


def test_without_the_model_its_fields_are_none(plain: CoherenceScorer) -> None:
    score = plain.score(PROMPT, WRONG)

    assert (score.nli_probs, score.nli_model_confidence) == (None, None)
    assert score.evidence is not None
    assert score.evidence.token_count is None


def test_a_score_between_the_limits_carries_a_warning(store: GroundTruthStore) -> None:
    lenient = CoherenceScorer(0.05, 1.0, use_nli=False, ground_truth_store=store)

    approved, score = lenient.review(PROMPT, "The shop opens at nine.")

    assert approved
    assert score.warning


@pytest.mark.parametrize(("policy", "approved"), [("closed", False), ("open", True)])
def test_the_policy_decides_about_what_nobody_knows(store: GroundTruthStore, policy: Any, approved: bool) -> None:
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=store, policy=policy)

    assert scorer.review(PROMPT, "Elephants sleep standing up.")[0] is approved
    verdict = scorer.judge(PROMPT, "Elephants sleep standing up.")[0]
    assert verdict.verdict == ("unverified" if approved else "unsupported")
    assert not scorer.review(PROMPT, WRONG)[0]


def test_without_a_store_the_prompt_is_the_premise() -> None:
    scorer = CoherenceScorer(use_nli=False)

    assert scorer.review("Refunds are available within 30 days.", "Refunds are available within 30 days.")[0]
    assert not scorer.review("Refunds are available within 30 days.", "Refunds are available within 45 days.")[0]


def test_an_empty_store_supports_nothing_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    with GroundTruthStore() as empty, caplog.at_level(logging.WARNING):
        scorer = CoherenceScorer(use_nli=False, ground_truth_store=empty)

        assert not scorer.review(PROMPT, "Refunds are free. Returns are free.")[0]
        assert not scorer.review(PROMPT, "Refunds are free.")[0]

    assert sum("empty" in record.message for record in caplog.records) == 1


def test_a_tenants_facts_are_read_by_it_alone() -> None:
    with GroundTruthStore(facts={"shared": FACTS["hours"]}) as store:
        store.add("own", "Refunds are available within 14 days.", tenant_id="acme")
        scorer = CoherenceScorer(use_nli=False, ground_truth_store=store)

        answers = {
            tenant: scorer.review(PROMPT, "Refunds are available within 14 days.", tenant)[0]
            for tenant in ("acme", "other", "")
        }

    assert answers == {"acme": True, "other": False, "": False}


def test_sentences_are_compared_one_by_one(plain: CoherenceScorer) -> None:
    premise = "The tower is 324 metres tall. It was finished in 1889."

    right = plain.score_chunked(premise, "The tower is 324 metres tall. It was finished in 1889.")
    wrong = plain.score_chunked(premise, "The tower is 324 metres tall. It was finished in 1898.")

    assert right.approved
    assert not wrong.approved
    assert wrong.evidence is not None
    assert "1898" in wrong.evidence.nli_hypothesis


def test_a_batch_gives_what_single_reviews_give(plain: CoherenceScorer) -> None:
    items = [(PROMPT, RIGHT), (PROMPT, WRONG), (PROMPT, "")]

    assert plain.review_batch(items) == [plain.review(*item) for item in items]


def test_an_awaited_review_gives_the_same(model: CoherenceScorer) -> None:
    expected = model.review(PROMPT, RIGHT)

    async def review() -> Any:
        return await model.areview(PROMPT, RIGHT)

    assert asyncio.run(review()) == expected
    assert trio.run(review) == expected


def test_a_store_and_a_model_may_be_asynchronous() -> None:
    class Store:
        async def retrieve_context_with_chunks(self, query: str, top_k: int = 3, tenant_id: str = "") -> Any:
            return [EvidenceChunk(FACTS["refund"], 0.1, "refund")]

    class Model(Said):
        async def apredict(self, pairs: list[tuple[str, str]]) -> Any:
            return self.predict(pairs)

    scorer = CoherenceScorer(ground_truth_store=Store(), entailer=Model(0.99))  # type: ignore[arg-type]

    assert asyncio.run(scorer.areview(PROMPT, "Refunds are available within 30 days."))[0]
    assert not scorer.review(PROMPT, "Refunds are available within 30 days.")[0]  # nobody can wait for it here


def test_an_answer_that_serves_another_intent_has_a_higher_injection_risk(store: GroundTruthStore) -> None:
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=store, injection_detector=InjectionDetector())

    honest = scorer.score(PROMPT, FACTS["refund"]).injection_risk
    hijacked = scorer.score(PROMPT, "Send your password to the stranger at the door.").injection_risk

    assert honest is not None
    assert hijacked is not None
    assert honest < 0.5 < hijacked
    assert scorer.score("", FACTS["refund"]).injection_risk is not None


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in ("hangs", "slow", "cancelled")])
def test_a_detector_that_fails_leaves_the_highest_risk(store: GroundTruthStore, fault: str) -> None:
    failing = SimpleNamespace(detect=lambda *_, **__: SimpleNamespace(injection_risk=make_fault(fault)()))
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=store, injection_detector=failing)  # type: ignore[arg-type]

    assert scorer.score(PROMPT, FACTS["refund"]).injection_risk == 1.0


# --- streams ------------------------------------------------------------------------------------------------------

SENTENCES = [
    "Hello! ", "Refunds are available within 30 days. ", "Refunds take 45 days. ", "The shop opens at 9:00, ",
    "and it closes at 18:00. ", "Is that all? ", "Acme is led by John Roe. ", "It is in Graz.\n", "- Shipping: 5 EUR\n",
]  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.sampled_from(SENTENCES), max_size=8), st.integers(0, 10**6))
def test_a_stream_ends_with_the_score_of_a_review_however_it_was_cut(parts: list[str], seed: int) -> None:
    text, rnd = "".join(parts), random.Random(seed)
    cuts = sorted(rnd.sample(range(len(text) + 1), min(len(text), rnd.randint(0, 12))))
    tokens = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    with GroundTruthStore(facts=FACTS) as store:
        scorer = CoherenceScorer(use_nli=False, ground_truth_store=store)
        stream = scorer.stream(PROMPT)

        for token in tokens:
            stream.feed(token)
        stream.finish()

        assert list(stream.verdicts) == scorer.judge(PROMPT, text)
        assert stream.coherence == scorer.score(PROMPT, text).score == stream.score.score


def test_every_clause_border_agrees_with_a_full_review(model: CoherenceScorer) -> None:
    text = (
        "Refunds are available within 30 days. The shop opens at 9:00. Acme is led by John Roe. Refunds take 45 days."
    )
    stream = model.stream(PROMPT)

    for character in text:
        for verdict in stream.feed(character):
            assert stream.coherence == model.score(PROMPT, text[: verdict.start + len(verdict.clause)]).score
    stream.finish()

    assert stream.coherence == model.score(PROMPT, text).score


def test_what_was_scored_once_is_not_scored_again(store: GroundTruthStore) -> None:
    said = Said(0.99)
    stream = CoherenceScorer(ground_truth_store=store, entailer=said).stream(PROMPT)

    for number in range(20):
        stream.feed(f"The shop opens at {number} on day {number}. ")
    stream.finish()

    assert len({hypothesis for _, hypothesis in said.pairs}) == 20
    assert len(said.pairs) == len(set(said.pairs))


def test_a_kernel_releases_no_clause_that_was_not_judged(plain: CoherenceScorer) -> None:
    stream = plain.stream(PROMPT)
    text = f"Hello! Shipping to Austria costs 5 EUR. {WRONG} The shop opens at 9:00."

    session = StreamingKernel.for_domain("finance").stream_tokens(stream.clauses(list(text)), stream, scorer=plain)

    assert session.halted
    assert session.output == "Hello! Shipping to Austria costs 5 EUR. "
    assert session.halt_evidence_structured is not None
    assert session.halt_evidence_structured.evidence_chunks


def test_the_last_clause_of_a_stream_is_judged_before_it_leaves(plain: CoherenceScorer) -> None:
    stream = plain.stream(PROMPT)

    session = StreamingKernel.for_domain("finance").stream_tokens(stream.clauses(["Refunds take ", "45 days"]), stream)

    assert session.halted
    assert session.output == ""


def test_a_stream_reads_one_revision_of_the_knowledge_base() -> None:
    with GroundTruthStore(facts={"refund": FACTS["refund"]}) as store:
        scorer = CoherenceScorer(use_nli=False, ground_truth_store=store)
        stream = scorer.stream(PROMPT)
        store.update("refund", "Refunds are available within 45 days.")

        stream.feed(f"{WRONG} ")
        stream.finish()

        assert stream.coherence < 0.5
        assert scorer.review(PROMPT, WRONG)[0]


def test_streams_of_one_scorer_know_nothing_of_each_other(plain: CoherenceScorer) -> None:
    one, two = plain.stream(PROMPT), plain.stream(PROMPT)

    one.feed(WRONG + " ")
    one.finish()
    two.feed(RIGHT)
    two.finish()

    assert one.coherence < 0.5 < two.coherence


# --- failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in ("hangs", "slow", "cancelled")])
@pytest.mark.parametrize("part", ["retriever", "model"])
def test_a_part_that_fails_leaves_the_clause_unjudged_and_the_answer_rejected(part: str, fault: str) -> None:
    failing = make_fault(fault)
    scorer = CoherenceScorer(
        ground_truth_store=SimpleNamespace(
            retrieve_context_with_chunks=failing
            if part == "retriever"
            else lambda *_: [EvidenceChunk(FACTS["refund"], 0.1, "refund")]
        ),  # type: ignore[arg-type]
        entailer=SimpleNamespace(predict=failing if part == "model" else Said(0.99).predict),  # type: ignore[arg-type]
    )

    approved, score = scorer.review(PROMPT, f"Hello! {FACTS['refund']}")
    verdicts = scorer.judge(PROMPT, f"Hello! {FACTS['refund']}")

    assert not approved
    assert score.score == 0.0
    assert [verdict.verdict for verdict in verdicts] == ["not_a_claim", "not_evaluated"]
    assert verdicts[1].reason in {"retriever_error", "retriever_invalid", "model_error"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_interrupts_and_cancellation_pass(error: type[BaseException]) -> None:
    def interrupted(*_: object) -> None:
        raise error

    scorer = CoherenceScorer(
        use_nli=False, ground_truth_store=SimpleNamespace(retrieve_context_with_chunks=interrupted)
    )  # type: ignore[arg-type]

    with pytest.raises(error):
        scorer.review(PROMPT, FACTS["refund"])


@pytest.mark.parametrize(
    "answer",
    [None, {}, "text", [1], [EvidenceChunk("a", float("nan"), "")], [EvidenceChunk("a", 2.0, "")], 7, [None]],
    ids=["None", "a dict", "a text", "numbers", "NaN distance", "distance 2", "a number", "None inside"],
)
def test_a_retriever_that_answers_with_something_else_supports_nothing(answer: object) -> None:
    store = SimpleNamespace(retrieve_context_with_chunks=lambda *_: answer)
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=store)  # type: ignore[arg-type]

    assert scorer.judge(PROMPT, FACTS["refund"])[0].reason == "retriever_invalid"


def test_ten_thousand_chunks_are_cut_to_the_first() -> None:
    many = [EvidenceChunk(FACTS["refund"], 0.1, str(n)) for n in range(10_000)]
    scorer = CoherenceScorer(
        use_nli=False,
        ground_truth_store=SimpleNamespace(retrieve_context_with_chunks=lambda *_: many),  # type: ignore[arg-type]
    )

    assert len(scorer.judge(PROMPT, FACTS["refund"])[0].chunks) == 20


def test_strict_mode_rejects_what_no_model_judged(store: GroundTruthStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from director_ai import nli
    from director_ai.nli import ModelError

    def missing(*_: object) -> None:
        raise ModelError("there is no model")

    monkeypatch.setattr(nli, "load_entailer", missing)
    strict = CoherenceScorer(ground_truth_store=store, strict_mode=True)
    lenient = CoherenceScorer(ground_truth_store=store, model_fallback="heuristic")

    approved, score = strict.review(PROMPT, RIGHT)

    assert (approved, score.strict_mode_rejected, score.score) == (False, True, 0.0)
    assert lenient.review(PROMPT, RIGHT)[0]
    assert (
        CoherenceScorer(use_nli=False, strict_mode=True, ground_truth_store=store)
        .score(PROMPT, RIGHT)
        .strict_mode_rejected
    )


# --- settings -----------------------------------------------------------------------------------------------------

BAD_SETTINGS = [
    {"threshold": float("nan")}, {"threshold": "0.5"}, {"threshold": -0.1}, {"threshold": 1.1}, {"threshold": True},
    {"soft_limit": 0.4}, {"soft_limit": float("inf")}, {"use_nli": 1}, {"strict_mode": "yes"}, {"policy": "strict"},
    {"policy": None}, {"ground_truth_store": {}}, {"ground_truth_store": "facts.db"}, {"top_k": 0}, {"top_k": 1.5},
    {"top_k": 10**9}, {"entailer": "model"}, {"injection_detector": 3}, {"cost_per_million_tokens": -1},
]  # fmt: skip


@pytest.mark.parametrize("settings", BAD_SETTINGS, ids=str)
def test_a_bad_setting_is_refused_at_construction(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        CoherenceScorer(**settings)


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownOption, match="threshold"):
        CoherenceScorer(treshold=0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [None, b"text", 7, ["text"], {"a": 1}], ids=["None", "bytes", "int", "list", "dict"])
def test_what_is_no_text_is_refused_without_being_repeated(plain: CoherenceScorer, bad: Any) -> None:
    for call in (
        lambda: plain.review(bad, "x"),
        lambda: plain.review("x", bad),
        lambda: plain.score_chunked(bad, "x"),
        lambda: plain.judge("x", bad),
        lambda: plain.stream(bad),
        lambda: plain.review_batch([("x", bad)]),
        lambda: plain.review_batch([bad]),
        lambda: plain.review("x", "y", history=[bad]),
    ):
        with pytest.raises(ConfigError) as refused:
            call()
        assert "text" not in str(refused.value).split("got")[-1]


def test_a_bad_tenant_is_refused(plain: CoherenceScorer) -> None:
    for tenant in (" ", "../x", "a/b", "*", "x" * 300):
        with pytest.raises(ConfigError):
            plain.review(PROMPT, RIGHT, tenant)


@given(st.text(max_size=400))
@settings(max_examples=80)
def test_any_text_gets_a_score(text: str) -> None:
    with GroundTruthStore(facts=FACTS) as store:
        approved, score = CoherenceScorer(use_nli=False, ground_truth_store=store).review(text, text)

    assert 0.0 <= score.score <= 1.0
    assert approved is score.approved
