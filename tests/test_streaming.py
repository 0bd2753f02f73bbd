"""What both kernels do, each case on the synchronous driver, on asyncio and on trio."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai import AsyncStreamingKernel, ConfigError, StreamingKernel, StreamSession
from director_ai.core.runtime.intake import TokenIntake
from director_ai.core.safety_event import validate_safety_event
from director_ai.core.types import CoherenceScore, EvidenceChunk, ScoringEvidence
from director_ai.errors import UnknownOption
from director_ai.profiles import PROFILES
from director_ai.testing import ManualClock, ScriptedReviewer, ScriptedScorer, ScriptedTokens
from drivers import Driver

CALM: dict[str, Any] = {"window_threshold": 0.0, "trend_threshold": 1.0}
FACTS = {"kb:refund": ("Refunds are available within 30 days.", 0.9), "kb:shop": ("The shop opens at nine.", 0.1)}


def words(count: int) -> list[str]:
    return [f"w{i} " for i in range(count)]


def test_a_good_stream_is_released_whole(driver: Driver) -> None:
    session = driver.run(words(30), ScriptedScorer([0.9]), kernel={})
    assert not session.halted
    assert session.output == "".join(words(30)) == "".join(session.tokens)
    assert (session.halt_index, session.halt_reason, session.warning_count) == (-1, "", 0)
    assert session.avg_coherence == pytest.approx(0.9)
    assert session.min_coherence == 0.9
    assert [event.index for event in session.events] == list(range(30))
    assert session.halt_evidence_structured is None
    assert session.safety_events == ()


HALTS = {
    "hard limit: one score below it": ([0.9, 0.9, 0.39], {**CALM, "hard_limit": 0.4}, 2, "hard_limit"),
    "hard limit: a score on it passes": ([0.9, 0.4], {**CALM, "hard_limit": 0.4}, None, ""),
    "window: the mean of a full window": ([0.6] * 3 + [0.5] * 9, {"window_size": 4, "window_threshold": 0.55, "trend_threshold": 1.0}, 5, "window_avg"),
    "window: not before it is full": ([0.5] * 9, {"hard_limit": 0.1}, None, ""),
    "window: a mean on the threshold passes": ([0.55] * 40, {"trend_threshold": 1.0}, None, ""),
    "trend: a fall over the window": ([0.95, 0.9, 0.86, 0.8, 0.75], {}, 4, "downward_trend"),
    "trend: a fall of just the threshold passes": ([0.9, 0.9, 0.9, 0.9, 0.75], {}, None, ""),
    "trend: not before the window is full": ([0.9, 0.7, 0.7, 0.7], {}, None, ""),
    "order: hard limit before window and trend": ([0.9] * 9 + [0.0], {}, 9, "hard_limit"),
    "order: window before trend": ([0.9, 0.5, 0.5], {"window_size": 3, "window_threshold": 0.65, "trend_window": 3}, 2, "window_avg"),
}  # fmt: skip


@pytest.mark.parametrize(("scores", "kernel", "index", "mechanism"), HALTS.values(), ids=HALTS.keys())
def test_halt_mechanisms(
    driver: Driver, scores: list[float], kernel: dict[str, Any], index: int | None, mechanism: str
) -> None:
    tokens = words(len(scores))
    session = driver.run(tokens, ScriptedScorer(scores), kernel=kernel)
    if index is None:
        assert not session.halted, session.halt_reason
        assert session.output == "".join(tokens)
        return
    assert session.halted
    assert session.halt_index == index
    assert session.halt_reason.split()[0] == mechanism
    assert session.output == "".join(tokens[:index]), "the halting token is not shown"
    assert session.events[-1].token == tokens[index], "but it is in the trace"
    assert session.events[-1].halted
    assert not session.events[-1].released


def test_the_live_form_yields_only_what_may_be_shown_and_reads_no_further_than_the_halt(driver: Driver) -> None:
    tokens = ScriptedTokens(words(10))
    events, session = driver.run_live(tokens, ScriptedScorer([0.9, 0.9, 0.1, 0.9]), kernel=CALM)
    assert "".join(event.token for event in events) == session.output == "w0 w1 "
    assert tokens.given == 3
    assert tokens.closed


def test_warnings_are_counted_below_the_soft_limit_only_while_the_stream_goes_on(driver: Driver) -> None:
    session = driver.run(words(4), ScriptedScorer([0.7, 0.55, 0.59, 0.2]), kernel=CALM)
    assert session.warning_count == 2
    assert [event.warning for event in session.events] == [False, True, True, False]


def test_without_a_soft_limit_nothing_is_a_warning(driver: Driver) -> None:
    assert driver.run(words(4), ScriptedScorer([0.51]), kernel={**CALM, "soft_limit": None}).warning_count == 0


def test_mean_and_minimum_include_the_halting_token(driver: Driver) -> None:
    session = driver.run(words(3), ScriptedScorer([0.9, 0.6, 0.3]), kernel=CALM)
    assert session.avg_coherence == pytest.approx(0.6)
    assert session.min_coherence == 0.3


# --- scoring less often ---------------------------------------------------------------------------------------


def test_the_callback_gets_all_text_since_its_last_call_and_the_tail_is_judged(driver: Driver) -> None:
    scorer = ScriptedScorer([0.9])
    session = driver.run(words(10), scorer, kernel={"score_every_n": 4})
    assert scorer.calls == ["w0 w1 w2 w3 ", "w4 w5 w6 w7 ", "w8 w9 "]
    assert session.output == "".join(words(10))


def test_tokens_are_held_back_until_they_were_judged(driver: Driver) -> None:
    events, session = driver.run_live(words(10), ScriptedScorer([0.9, 0.1]), kernel={**CALM, "score_every_n": 4})
    assert session.output == "w0 w1 w2 w3 "
    assert [event.released for event in session.events] == [True] * 4 + [False] * 4
    assert session.halt_index == 4, "the first token that was not released"
    assert [event.token for event in events] == words(4)


def test_an_unjudged_tail_is_never_released(driver: Driver) -> None:
    session = driver.run(words(6), ScriptedScorer([0.9, 0.1]), kernel={**CALM, "score_every_n": 4})
    assert session.halted
    assert session.output == "w0 w1 w2 w3 "


def test_adaptive_scoring_grows_while_calm_and_returns_to_every_token_near_a_limit(driver: Driver) -> None:
    scorer = ScriptedScorer([0.95, 0.95, 0.95, 0.95, 0.95, 0.68, 0.68])
    session = driver.run(words(40), scorer, kernel={**CALM, "adaptive": True, "max_cadence": 8})
    assert [len(text.split()) for text in scorer.calls] == [1, 2, 4, 8, 8, 8, *[1] * 9]
    assert session.output == "".join(words(40))


def test_adaptive_scoring_returns_to_every_token_when_the_score_falls(driver: Driver) -> None:
    scorer = ScriptedScorer([0.95, 0.95, 0.94, 0.94, 0.94])
    driver.run(words(12), scorer, kernel={**CALM, "adaptive": True})
    assert [len(text.split()) for text in scorer.calls][:5] == [1, 2, 4, 1, 2]


# --- soft halt ------------------------------------------------------------------------------------------------

ANSWER = ["The shop", " opens", " at nine", ".", " It is", " green", " today", ".", " Come", " in", "."]


def soft(at: int) -> ScriptedScorer:
    return ScriptedScorer([0.9] * at + [0.1])


def test_a_soft_halt_ends_at_the_next_clause_border(driver: Driver) -> None:
    events, session = driver.run_live(ANSWER, soft(5), kernel={**CALM, "halt_mode": "soft"})
    assert session.halted
    assert session.output == "The shop opens at nine. It is green today. "
    assert session.output == "".join(event.token for event in events)
    assert session.halt_index == 5
    assert session.halt_reason.startswith("hard_limit")


def test_a_soft_halt_in_the_last_clause_is_not_lost(driver: Driver) -> None:
    session = driver.run(ANSWER[:7], soft(6), kernel={**CALM, "halt_mode": "soft"})
    assert session.halted
    assert session.output == "".join(ANSWER[:7])
    assert len(session.safety_events) == 1


def test_a_soft_halt_cuts_a_token_that_reaches_into_the_next_clause(driver: Driver) -> None:
    session = driver.run(["All is", " well. It", " ends. Not shown."], soft(0), kernel={**CALM, "halt_mode": "soft"})
    assert session.output == "All is well. "


def test_a_fault_during_a_soft_halt_cuts_at_once(driver: Driver) -> None:
    scorer = ScriptedScorer([0.9] * 5 + [0.1, RuntimeError("boom")])
    session = driver.run(ANSWER, scorer, kernel={**CALM, "halt_mode": "soft"})
    assert session.output == "The shop opens at nine. It is", "what waited for the border stays behind"
    assert session.halt_reason.startswith("hard_limit"), "the first cause stands"
    assert [event.released for event in session.events] == [True] * 5 + [False] * 2


def test_a_soft_halt_ends_the_clause_in_which_the_badly_scored_text_began(driver: Driver) -> None:
    tokens = [f"{word} " for word in "Good one. Bad claim here. Bad claim again. More.".split()]
    session = driver.run(tokens, ScriptedScorer([0.0]), kernel={**CALM, "halt_mode": "soft", "score_every_n": 6})
    assert session.output == "Good one. "
    session = driver.run(
        ["Fine. ", "Bad st", "uff. It goe", "s on. And more."],
        lambda text: 0.0 if "uff" in text else 0.9,
        kernel={**CALM, "halt_mode": "soft"},
    )
    assert session.output == "Fine. Bad stuff. "


def test_what_is_cut_off_a_token_is_withheld_and_not_lost(driver: Driver) -> None:
    session = driver.run(
        ["Fine. ", "Bad st", "uff. It goe", "s on."],
        ScriptedScorer([0.9, 0.0, 0.9]),
        kernel={**CALM, "halt_mode": "soft", "streaming_debug": True},
        scorer=ScriptedReviewer(FACTS),
    )
    assert session.tokens == ["Fine. ", "Bad st", "uff. "]
    assert session.withheld == ["It goe"]
    assert "".join(event.token for event in session.events) == "Fine. Bad stuff. It goe"
    assert [event.coherence for event in session.events] == [0.9, 0.0, 0.9, 0.9]
    assert [snap["index"] for snap in session.debug_log] == [0, 1, 2, 3]
    assert session.avg_coherence == pytest.approx(0.6), "one token, though it became two"
    assert session.halt_index == 1
    assert session.events[1].halt_evidence is session.halt_evidence_structured


@pytest.mark.parametrize("cut", range(1, 44))
def test_a_soft_halt_ends_at_the_same_place_however_the_rest_is_cut(cut: int) -> None:
    text = "".join(ANSWER)
    tokens = [text[:cut], text[cut:]] if cut < len(text) else [text]
    session = StreamingKernel(**CALM, halt_mode="soft").stream_tokens(["Oh", *tokens], soft(0))
    assert session.output == "OhThe shop opens at nine. "


# --- evidence -------------------------------------------------------------------------------------------------


def test_a_halt_with_a_scorer_carries_the_most_contradicting_evidence(driver: Driver) -> None:
    reviewer = ScriptedReviewer(FACTS)
    session = driver.run(
        ["Refunds", " close", " after", " 3 days."],
        ScriptedScorer([0.9, 0.9, 0.9, 0.2]),
        kernel=CALM,
        scorer=reviewer,
        top_k=1,
        prompt="When?",
        tenant_id="acme",
        request_id="req-1",
    )
    assert reviewer.calls == [("When?", "Refunds close after 3 days.")], "asked once, with the halting token"
    evidence = session.halt_evidence_structured
    assert evidence is not None
    assert evidence.reason == session.halt_reason == "hard_limit score=0.2000 limit=0.5000"
    assert evidence.last_score == 0.2
    assert [chunk.source for chunk in evidence.evidence_chunks] == ["kb:refund"]
    assert evidence.nli_scores == [0.9]
    assert evidence.suggested_action
    trace = evidence.trace_attribution
    assert trace is not None
    assert (trace.fact_source, trace.token_offset, trace.threshold) == ("kb:refund", 3, 0.5)
    assert trace.causal_contribution == pytest.approx(0.3)
    assert trace.scorer_path == "ScriptedReviewer.review"
    assert session.events[3].halt_evidence is evidence
    event = session.events[3].safety_event
    assert session.safety_events == (event,)
    assert event is not None
    assert (event.tenant_id, event.request_id, event.hook_scope) == ("acme", "req-1", "streaming")
    assert event.policy_decision == "halt"
    assert event.evidence_refs == ("kb:refund",)
    assert "Refunds" not in event.to_json()
    assert validate_safety_event(event.to_dict()) == event


def test_the_counterfactual_names_the_one_fact_that_would_have_prevented_the_halt(driver: Driver) -> None:
    session = driver.run(
        ["It is late. ", "Refunds close after 3 days."], ScriptedScorer([0.9, 0.2]), kernel=CALM, scorer=ScriptedReviewer(FACTS)
    )  # fmt: skip
    diagnostic = session.halt_evidence_structured.counterfactual_diagnostic
    assert (diagnostic.observed_score, diagnostic.threshold) == (0.2, 0.5)
    assert [(c.fact_source, c.prevented_halt) for c in diagnostic.candidates] == [
        ("kb:refund", True),
        ("kb:shop", False),
    ]
    best = diagnostic.best_change
    assert best.original_fact == "Refunds are available within 30 days."
    assert best.proposed_fact == "Refunds close after 3 days.", "the claim, not the whole answer"
    assert best.required_score_delta == pytest.approx(0.3)


def test_two_contradicting_facts_mean_that_no_single_change_would_have_helped(driver: Driver) -> None:
    facts = {"a": ("One.", 0.9), "b": ("Two.", 0.8)}
    session = driver.run(["No."], ScriptedScorer([0.2]), kernel=CALM, scorer=ScriptedReviewer(facts), top_k=1)
    diagnostic = session.halt_evidence_structured.counterfactual_diagnostic
    assert diagnostic.best_change is None, "also where the second fact is not among the top k"


NEEDED = {
    "window": ([0.6, 0.5], {"window_size": 2, "window_threshold": 0.6, "trend_threshold": 1.0}, 0.1),
    "trend": ([0.9, 0.6], {"trend_window": 2, "trend_threshold": 0.2, "window_threshold": 0.0}, 0.1),
}


@pytest.mark.parametrize(("scores", "kernel", "delta"), NEEDED.values(), ids=NEEDED.keys())
def test_the_counterfactual_asks_for_what_the_halting_mechanism_needed(
    driver: Driver, scores: list[float], kernel: dict[str, Any], delta: float
) -> None:
    session = driver.run(words(2), ScriptedScorer(scores), kernel=kernel, scorer=ScriptedReviewer(FACTS))
    diagnostic = session.halt_evidence_structured.counterfactual_diagnostic
    assert diagnostic.best_change.required_score_delta == pytest.approx(delta)


class BrokenReviewer:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def review(self, prompt: str, text: str) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


async def _coroutine() -> None: ...


BROKEN = {
    "raises": lambda: RuntimeError("fact text"),
    "none": lambda: None,
    "a number": lambda: 0.3,
    "a tuple of the wrong things": lambda: (True, "score"),
    "a string": lambda: "no",
    "a dictionary": lambda: {"score": 1},
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_a_review_that_fails_never_masks_the_halt(driver: Driver, answer: Any) -> None:
    session = driver.run(words(2), ScriptedScorer([0.9, 0.1]), kernel=CALM, scorer=BrokenReviewer(answer()))
    assert session.halted
    assert session.output == "w0 "
    assert session.halt_evidence_structured.evidence_chunks == []
    (event,) = session.safety_events
    assert event.attributes == {"evidence": "failed"}
    assert "fact text" not in event.to_json()
    assert validate_safety_event(event.to_dict()) == event


def test_a_synchronous_kernel_given_an_asynchronous_review_says_that_its_evidence_failed() -> None:
    session = StreamingKernel(**CALM).stream_tokens(words(1), lambda _: 0.1, scorer=BrokenReviewer(_coroutine()))
    assert session.safety_events[0].attributes == {"evidence": "failed"}


def test_a_review_without_divergences_keeps_the_order_of_retrieval(driver: Driver) -> None:
    class Plain(ScriptedReviewer):
        def review(self, prompt: str, text: str) -> Any:
            approved, score = super().review(prompt, text)
            return approved, dataclasses.replace(score, evidence=dataclasses.replace(score.evidence, chunk_scores=None))

    session = driver.run(words(1), ScriptedScorer([0.1]), kernel=CALM, scorer=Plain(FACTS), top_k=1)
    assert [chunk.source for chunk in session.halt_evidence_structured.evidence_chunks] == ["kb:refund"]
    assert session.halt_evidence_structured.counterfactual_diagnostic.best_change is None


class Bomb:
    @property
    def evidence(self) -> Any:
        raise RuntimeError("secret text")


def endless_chunks() -> Any:
    while True:
        yield EvidenceChunk("x", 0.1)


LOOKED_AT = {
    "an attribute that raises": Bomb(),
    "a distance beyond floats": CoherenceScore(0.1, False, 0.9, 0.9, ScoringEvidence([EvidenceChunk("x", 10**400)], "", "", 0.9)),
}  # fmt: skip


@pytest.mark.parametrize("score", LOOKED_AT.values(), ids=LOOKED_AT.keys())
def test_a_review_that_fails_when_it_is_looked_at_never_masks_the_halt(driver: Driver, score: Any) -> None:
    session = driver.run(words(2), ScriptedScorer([0.9, 0.1]), kernel=CALM, scorer=BrokenReviewer((False, score)))
    assert session.output == "w0 "
    assert session.safety_events[0].attributes == {"evidence": "failed"}


class HostileText(str):
    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError

    def encode(self, *_: Any) -> bytes:
        raise RuntimeError


class SaysHostile:
    def __str__(self) -> str:
        return HostileText("two words")


def test_the_texts_of_a_review_are_copied(driver: Driver) -> None:
    chunk = EvidenceChunk(SaysHostile(), 0.1, SaysHostile())
    score = CoherenceScore(0.1, False, 0.9, 0.9, ScoringEvidence([chunk], "", "", 0.9))
    session = driver.run(words(1), ScriptedScorer([0.1]), kernel=CALM, scorer=BrokenReviewer((False, score)))
    assert type(session.halt_evidence_structured.evidence_chunks[0].text) is str
    assert session.safety_events[0].evidence_refs[0].startswith("sha256:")


def test_a_review_with_endless_evidence_ends(driver: Driver) -> None:
    score = CoherenceScore(0.1, False, 0.9, 0.9, ScoringEvidence(endless_chunks(), "", "", 0.9))
    session = driver.run(words(1), ScriptedScorer([0.1]), kernel=CALM, scorer=BrokenReviewer((False, score)))
    assert len(session.halt_evidence_structured.evidence_chunks) == 3


def test_a_scorer_of_any_name_makes_a_valid_event(driver: Driver) -> None:
    scorer = type("The patient owes 90", (ScriptedReviewer,), {})(FACTS)
    session = driver.run(words(1), ScriptedScorer([0.1]), kernel=CALM, scorer=scorer)
    assert validate_safety_event(session.safety_events[0].to_dict()) == session.safety_events[0]


def test_events_looked_at_during_the_review_are_not_kept(driver: Driver) -> None:
    class Curious(ScriptedReviewer):
        session: Any = None

        def review(self, prompt: str, text: str) -> Any:
            self.calls.append(len(live.session.events))  # type: ignore[arg-type]
            return super().review(prompt, text)

    reviewer = Curious(FACTS)
    live = StreamingKernel(**CALM).stream(words(2), ScriptedScorer([0.9, 0.1]), scorer=reviewer)
    list(live)
    assert live.session.events[1].safety_event is live.session.safety_events[0]


@pytest.mark.parametrize("close_after", [1, 2])
def test_a_number_cut_by_a_reader_who_left_is_not_taken_for_whole(close_after: int) -> None:
    with StreamingKernel().stream(["[1, 2", "5", "0]"], lambda _: 0.9, structured_recovery="json") as live:
        for _ in range(close_after):
            next(live)
    assert live.session.structured_recovery.value == [1]


# --- callbacks and bookkeeping --------------------------------------------------------------------------------


def test_on_halt_sees_the_finished_session_once(driver: Driver) -> None:
    seen: list[StreamSession] = []
    session = driver.run(
        words(3), ScriptedScorer([0.9, 0.1]), kernel={**CALM, "on_halt": seen.append}, scorer=ScriptedReviewer(FACTS)
    )
    assert seen == [session]
    assert seen[0].halt_evidence_structured is not None
    driver.run(words(3), ScriptedScorer([0.9]), kernel={**CALM, "on_halt": seen.append})
    assert len(seen) == 1, "not called without a halt"


def test_an_on_halt_that_raises_never_masks_the_halt(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    def broken(session: StreamSession) -> None:
        raise RuntimeError(session.output)

    with caplog.at_level(logging.ERROR):
        session = driver.run(["secret ", "x"], ScriptedScorer([0.9, 0.1]), kernel={**CALM, "on_halt": broken})
    assert session.halted
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


def test_an_asynchronous_on_halt_is_awaited() -> None:
    seen = []

    async def listen(session: StreamSession) -> None:
        await anyio.sleep(0)
        seen.append(session)

    kernel = AsyncStreamingKernel(**CALM, on_halt=listen)
    session = anyio.run(kernel.stream_to_session, ScriptedTokens(["a"]), lambda _: 0.1)
    assert seen == [session]


def test_debug_snapshots_tell_what_the_monitor_saw(driver: Driver) -> None:
    session = driver.run(words(3), ScriptedScorer([0.9, 0.8, 0.7]), kernel={"streaming_debug": True, "trend_window": 3})
    assert session.debug_log == [event.debug_info for event in session.events]
    assert session.debug_log[2] == {
        "index": 2,
        "coherence": 0.7,
        "window_avg": pytest.approx(0.8),
        "trend_drop": pytest.approx(0.2),
        "accumulated_tokens": 3,
    }


def test_no_debug_snapshots_are_kept_unless_asked_for(driver: Driver) -> None:
    session = driver.run(words(3), ScriptedScorer([0.9]), kernel={})
    assert session.debug_log == []
    assert session.events[0].debug_info is None


def test_duration_comes_from_the_clock_that_was_passed_in(driver: Driver) -> None:
    clock = ManualClock()

    def score(_: str) -> float:
        clock.advance(0.25)
        return 0.9

    assert driver.run(words(4), score, kernel={"clock": clock}).duration_ms == pytest.approx(1000.0)


def test_structured_recovery_sees_the_safe_text_only(driver: Driver) -> None:
    tokens = ['{"a": 1, ', '"b": "go', 'od", "c": "ba', 'd"}']
    session = driver.run(tokens, ScriptedScorer([0.9, 0.9, 0.9, 0.1]), kernel=CALM, structured_recovery="json")
    recovery = session.structured_recovery
    assert recovery.halted
    assert recovery.value == {"a": 1, "b": "good"}
    assert recovery.halt_offset == len(session.output)


# --- construction ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [StreamingKernel, AsyncStreamingKernel])
@pytest.mark.parametrize("domain", PROFILES)
def test_for_domain_gives_the_documented_limits(kernel: type, domain: str) -> None:
    table = {
        "general": (0.4, 0.50, 0.15, 10),
        "medical": (0.5, 0.60, 0.10, 8),
        "finance": (0.5, 0.55, 0.12, 8),
        "legal": (0.45, 0.55, 0.12, 10),
        "creative": (0.3, 0.40, 0.20, 15),
    }
    rules = kernel.for_domain(domain).rules
    assert (rules.hard_limit, rules.window_threshold, rules.trend_threshold, rules.window_size) == table[domain]


def test_for_domain_takes_overrides_and_names_the_nearest_domain() -> None:
    assert StreamingKernel.for_domain("medical", window_size=3).rules.window_size == 3
    with pytest.raises(UnknownOption, match="did you mean 'medical'"):
        StreamingKernel.for_domain("medcal")


def test_for_domain_really_changes_what_is_halted() -> None:
    scores = ScriptedScorer([0.45])
    assert StreamingKernel.for_domain("medical").stream_tokens(["x"], scores).halted
    assert not StreamingKernel.for_domain("general").stream_tokens(["x"], scores).halted


# --- sharing one kernel ---------------------------------------------------------------------------------------


def check_one_stream(kernel: StreamingKernel, number: int) -> None:
    halt_at = number % 7
    scorer = ScriptedScorer([0.9] * halt_at + [0.1])
    session = kernel.stream_tokens([f"{number}:{i} " for i in range(9)], scorer, tenant_id=f"t{number}")
    assert session.output == "".join(f"{number}:{i} " for i in range(halt_at))
    assert session.safety_events[0].tenant_id == f"t{number}"


def test_one_kernel_serves_64_threads() -> None:
    kernel = StreamingKernel(**CALM)
    with ThreadPoolExecutor(64) as pool:
        list(pool.map(lambda number: check_one_stream(kernel, number), range(640)))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_one_kernel_serves_1000_tasks(backend: str) -> None:
    kernel = AsyncStreamingKernel(**CALM)
    done = []

    async def one(number: int) -> None:
        async def score(text: str) -> float:
            await anyio.sleep(0)
            return 0.1 if text == "halt" else 0.9

        session = await kernel.stream_to_session(ScriptedTokens([str(number), " ", "halt", "x"]), score)
        assert session.output == f"{number} "
        done.append(number)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(1000):
                group.start_soon(one, number)

    anyio.run(main, backend=backend)
    assert len(done) == 1000


def test_a_callback_may_call_back_into_the_kernel() -> None:
    kernel = StreamingKernel(**CALM)
    inner: list[StreamSession] = []

    def score(text: str) -> float:
        inner.append(kernel.stream_tokens([text, "!"], lambda _: 0.9))
        return 0.9

    assert kernel.stream_tokens(["a", "b"], score).output == "ab"
    assert [session.output for session in inner] == ["a!", "b!"]


def test_a_kernel_streams_again_after_a_halt() -> None:
    kernel = StreamingKernel(**CALM)
    assert kernel.stream_tokens(["a"], lambda _: 0.1).halted
    assert not kernel.stream_tokens(["a"], lambda _: 0.9).halted


# --- stopping early -------------------------------------------------------------------------------------------


def test_a_reader_who_leaves_closes_the_source() -> None:
    tokens = ScriptedTokens(words(9))
    with StreamingKernel().stream(tokens, lambda _: 0.9) as live:
        assert next(live).token == "w0 "
    assert tokens.closed
    assert live.session.output == "w0 "


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_asynchronous_reader_who_leaves_closes_the_source(backend: str) -> None:
    tokens = ScriptedTokens(words(9))

    async def main() -> None:
        async with AsyncStreamingKernel().stream(tokens, lambda _: 0.9) as live:
            assert (await anext(live)).token == "w0 "
        assert tokens.closed

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["source", "callback", "review", "on_halt"])
def test_interrupts_pass_through_after_the_source_was_closed(error: type[BaseException], where: str) -> None:
    def interrupt(*_: Any) -> Any:
        raise error

    tokens = ScriptedTokens(words(3), stall=(1, interrupt) if where == "source" else None)
    kernel = StreamingKernel(**CALM, on_halt=interrupt if where == "on_halt" else None)
    callback = interrupt if where == "callback" else ScriptedScorer([0.9, 0.1])
    with pytest.raises(error):
        kernel.stream_tokens(tokens, callback, scorer=BrokenReviewer(error()) if where == "review" else None)
    assert tokens.closed


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("limits", [{}, {"token_timeout": 30.0}], ids=["no limit", "with a limit"])
def test_cancellation_passes_through_after_the_source_was_closed(backend: str, limits: dict[str, Any]) -> None:
    tokens = ScriptedTokens(words(3))
    reached = []

    async def score(_: str) -> float:
        reached.append(True)
        await anyio.sleep(30)
        return 0.9

    async def main() -> None:
        with anyio.move_on_after(0.3) as scope:
            await AsyncStreamingKernel(**limits).stream_to_session(tokens, score)
        assert scope.cancelled_caught

    anyio.run(main, backend=backend)
    assert reached
    assert tokens.closed


PIECES = ["It is ", "so. ", "Not", "!\n", "- item\n", "a, and it is b; ", "x", "\ud83d", "\ude00", "", "。", "```\n"]


@given(
    st.lists(st.sampled_from(PIECES), max_size=25),
    st.lists(st.sampled_from([0.9, 0.9, 0.9, 0.58, 0.2, math.nan, RuntimeError()]), min_size=1, max_size=12),
    st.sampled_from(["hard", "soft"]),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from(["sync", "asyncio", "trio"]),
)
@settings(max_examples=400)
def test_whatever_happens_the_session_is_in_order(
    tokens: list[str], scores: list[Any], mode: str, every: int, adaptive: bool, name: str
) -> None:
    kernel = {"halt_mode": mode, "score_every_n": every, "adaptive": adaptive, "streaming_debug": True, **CALM}
    halts: list[Any] = []
    scorer = ScriptedScorer(scores)
    events, session = Driver(name).run_live(
        tokens,
        scorer,
        kernel={**kernel, "on_halt": halts.append},
        scorer=ScriptedReviewer(FACTS),
        structured_recovery="json",
    )
    text = TokenIntake().take("".join(tokens)).replace("\ud83d", "\ufffd")
    read = session.output + "".join(session.withheld)
    assert "".join(event.token for event in events) == session.output
    assert "".join(scorer.calls).startswith(session.output), "everything that was released was judged"
    assert text.startswith(read.rstrip("\ufffd"))
    assert len(session.tokens) + len(session.withheld) == len(session.scores) == len(session.warned)
    assert [event.index for event in session.events] == list(range(len(session.scores)))
    assert [snap["index"] for snap in session.debug_log] == list(range(len(session.debug_log)))
    assert [event.released for event in session.events] == [True] * len(session.tokens) + [False] * len(
        session.withheld
    )
    assert (len(session.safety_events), len(halts)) == (session.halted, session.halted)
    assert session.structured_recovery.halt_offset == len(session.output)
    for event in session.safety_events:
        assert validate_safety_event(event.to_dict()) == event
        assert event.trace_attribution.token_offset == session.halt_index
    if not session.halted:
        assert read == session.output
    elif mode == "hard":
        assert len(session.tokens) == session.halt_index


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(1, 5))
def test_output_is_exactly_the_judged_prefix(scores: list[float], every: int) -> None:
    tokens = words(len(scores) * every)
    scorer = ScriptedScorer(scores)
    session = StreamingKernel(score_every_n=every).stream_tokens(tokens, scorer)
    judged_well = len(scorer.calls) - session.halted
    assert session.output == "".join(tokens[: judged_well * every])
    assert len(session.events) == len(scorer.calls) * every


def test_a_synchronous_source_and_callback_may_be_given_to_the_asynchronous_kernel() -> None:
    kernel = AsyncStreamingKernel(**CALM, token_timeout=30.0)
    main_thread = threading.get_ident()
    seen = []

    def score(_: str) -> float:
        seen.append(threading.get_ident())
        return 0.9

    session = anyio.run(kernel.stream_to_session, iter(words(3)), score)
    assert session.output == "w0 w1 w2 "
    assert main_thread not in seen, "with a time limit it must not block the event loop"
    assert anyio.run(AsyncStreamingKernel().stream_to_session, words(3), score).output == "w0 w1 w2 "


def test_a_stream_that_was_never_begun_still_closes_its_source() -> None:
    tokens = (token for token in words(2))
    StreamingKernel().stream(tokens, lambda _: 0.9).close()
    assert list(tokens) == []

    async def source() -> Any:
        yield "x"

    async def main() -> list[str]:
        tokens = source()
        async with AsyncStreamingKernel().stream(tokens, lambda _: 0.9):
            pass
        return [token async for token in tokens]

    assert anyio.run(main) == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_source_that_never_waits_lets_others_run_and_can_be_cancelled(backend: str) -> None:
    async def endless() -> Any:
        while True:
            yield "x"

    async def main() -> None:
        with anyio.move_on_after(0.05) as scope:
            await AsyncStreamingKernel().stream_to_session(endless(), lambda _: 0.9)
        assert scope.cancelled_caught

    anyio.run(main, backend=backend)


def test_time_counts_from_the_first_token_asked_for() -> None:
    clock = ManualClock()
    live = StreamingKernel(total_timeout=1.0, clock=clock).stream(["a"], lambda _: 0.9)
    clock.advance(5.0)
    assert "".join(event.token for event in live) == "a"


def test_help_shows_the_options_of_a_stream() -> None:
    shown = inspect.signature(StreamingKernel.stream_tokens).parameters
    assert (shown["top_k"].default, shown["scorer"].default, shown["prompt"].default) == (3, None, "")
    assert list(shown) == list(inspect.signature(StreamingKernel.stream).parameters)


def test_an_asynchronous_source_is_refused_by_the_synchronous_kernel() -> None:
    async def source() -> Any:
        yield "x"

    with pytest.raises(ConfigError, match="AsyncStreamingKernel"):
        StreamingKernel().stream_tokens(source(), lambda _: 0.9)
