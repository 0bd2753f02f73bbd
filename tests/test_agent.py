"""CoherenceAgent: the best approved of several candidates, or a fallback; every behaviour on all three drivers."""

from __future__ import annotations

import functools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest

from director_ai.agent import MOST_CANDIDATES, CoherenceAgent, FallbackTexts
from director_ai.core.safety_event import validate_safety_event
from director_ai.core.types import CoherenceScore, EvidenceChunk, ReviewResult, ScoringEvidence
from director_ai.errors import ConfigError, UnknownOption
from director_ai.generators import LONGEST_CANDIDATE
from director_ai.knowledge import GroundTruthStore
from director_ai.scorer import CoherenceScorer
from director_ai.testing import FAULTS, ManualClock, make_fault

PROMPT = "Within how many days are refunds available?"
FACT = "Refunds are available within 30 days of delivery."
RIGHT = FACT
WRONG = "Refunds are available within 90 days of delivery."
FAR = "The moon of Jupiter is made of cheese."
TEXTS = FallbackTexts()
LIMIT = 0.5


@dataclass(frozen=True)
class Driver:
    """Asks an agent synchronously, or asynchronously on asyncio or trio."""

    name: str

    def run(self, agent: CoherenceAgent, prompt: str = PROMPT, **options: Any) -> ReviewResult:
        if self.name == "sync":
            return agent.process(prompt, **options)
        return anyio.run(functools.partial(agent.aprocess, prompt, **options), backend=self.name)


@pytest.fixture(params=["sync", "asyncio", "trio"])
def driver(request: pytest.FixtureRequest) -> Driver:
    return Driver(request.param)


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """What is loaded at the first answer, such as the language identifier, would take most of a short limit."""
    Driver("sync").run(CoherenceAgent(Script(WRONG), scorer()))


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets go of whatever hangs once a test is over."""
    event = threading.Event()
    yield event
    event.set()


class Script:
    """A generator that answers from a script, the last answer again and again; what can be called is called."""

    def __init__(self, *answers: Any) -> None:
        self.answers = answers
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> Any:
        answer = self.answers[min(len(self.prompts), len(self.answers) - 1)]
        self.prompts.append(prompt)
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer


class Table:
    """A scorer that knows the score of each text, and approves from 0.5 on, below 0.6 with a warning."""

    def __init__(self, **scores: float) -> None:
        self.scores = scores
        self.asked: list[tuple[Any, ...]] = []

    def review(self, prompt: str, response: str, tenant_id: str = "", **more: Any) -> Any:
        self.asked.append((prompt, response, tenant_id, more))
        score = self.scores[response]
        approved = score >= 0.5
        return approved, CoherenceScore(score, approved, 0.0, 1.0 - score, warning=approved and score < 0.6)


def store(**facts: str) -> GroundTruthStore:
    return GroundTruthStore(facts=facts or {"refunds": FACT})


def scorer(**options: Any) -> CoherenceScorer:
    """A real one, in heuristic mode, with limits that leave no doubt about the texts used here."""
    return CoherenceScorer(**{"threshold": 0.7, "use_nli": False, "ground_truth_store": store(), **options})


# --- choosing ---------------------------------------------------------------------------------------------------


def test_an_approved_candidate_is_the_answer(driver: Driver) -> None:
    generate = Script(RIGHT)
    result = driver.run(CoherenceAgent(generate, scorer()))
    assert (result.output, result.halted, result.fallback_used) == (RIGHT, False, False)
    assert result.coherence is not None
    assert result.coherence.approved
    assert (result.halt_evidence, result.safety_events) == (None, ())
    assert generate.prompts == [PROMPT]


def test_a_rejected_candidate_is_followed_by_another(driver: Driver) -> None:
    generate = Script(WRONG, RIGHT, FAR)
    result = driver.run(CoherenceAgent(generate, scorer()))
    assert (result.output, result.candidates_evaluated) == (RIGHT, 2)
    assert len(generate.prompts) == 2


def test_the_best_of_several_doubtful_candidates_wins(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Script("a", "b", "c"), Table(a=0.52, b=0.58, c=0.55)))
    assert (result.output, result.candidates_evaluated, result.halted) == ("b", 3, False)
    assert result.coherence is not None
    assert result.coherence.warning


def test_the_first_candidate_beyond_doubt_ends_the_search(driver: Driver) -> None:
    table = Table(a=0.55, b=0.8, c=0.99)
    generate = Script("a", "b", "c")
    result = driver.run(CoherenceAgent(generate, table))
    assert (result.output, result.candidates_evaluated) == ("b", 2)
    assert [text for _, text, *_ in table.asked] == ["a", "b"]


def test_a_rejected_candidate_loses_whatever_its_score(driver: Driver) -> None:
    """A text with a clause that could not be judged is rejected, however good the others are."""

    class Strict(Table):
        def review(self, prompt: str, response: str, tenant_id: str = "", **more: Any) -> Any:
            approved, score = super().review(prompt, response, tenant_id, **more)
            return (approved, score) if response == "b" else (False, replace(score, approved=False))

    result = driver.run(CoherenceAgent(Script("a", "b"), Strict(a=0.99, b=0.55)))
    assert (result.output, result.halted) == ("b", False)


def test_of_two_alike_the_first_wins(driver: Driver) -> None:
    assert driver.run(CoherenceAgent(Script("a", "b"), Table(a=0.55, b=0.55))).output == "a"


def test_what_was_judged_once_is_not_judged_again(driver: Driver) -> None:
    table = Table(a=0.55)
    result = driver.run(CoherenceAgent(Script("a"), table, candidates=4))
    assert (len(table.asked), result.candidates_evaluated) == (1, 4)


@pytest.mark.parametrize("candidates", [1, 2, MOST_CANDIDATES])
def test_no_more_candidates_than_asked_for(driver: Driver, candidates: int) -> None:
    generate = Script(WRONG)
    assert driver.run(CoherenceAgent(generate, scorer(), candidates=candidates)).candidates_evaluated == candidates
    assert len(generate.prompts) == candidates


def test_a_doubtful_answer_comes_with_one_warning_event(driver: Driver) -> None:
    agent = CoherenceAgent(Script(RIGHT), scorer(threshold=0.1, soft_limit=1.0))
    result = driver.run(agent, tenant_id="acme", request_id="req-1")
    (event,) = result.safety_events
    assert (event.policy_decision, event.hook_id, event.hook_scope) == ("warn", "agent.coherence", "agent")
    assert (event.tenant_id, event.request_id, event.threshold) == ("acme", "req-1", 1.0)
    assert event.halt_reason.startswith("soft_limit score=")
    assert event.evidence_refs == ("refunds",)
    assert validate_safety_event(event.to_dict()) == event
    assert (result.output, result.halted, result.halt_evidence) == (RIGHT, False, None)


def test_the_bundled_model_judges_a_paraphrase(driver: Driver) -> None:
    agent = CoherenceAgent(
        Script(WRONG, "You can get your money back for 30 days after delivery."), scorer(use_nli=True)
    )
    result = driver.run(agent)
    assert (result.halted, result.candidates_evaluated) == (False, 2)
    assert result.coherence is not None
    assert result.coherence.nli_model_confidence is not None


# --- what goes along --------------------------------------------------------------------------------------------


def test_the_tenant_and_the_history_reach_the_scorer(driver: Driver) -> None:
    table = Table(a=0.9)
    driver.run(CoherenceAgent(Script("a"), table), tenant_id="acme", history=["earlier"])
    assert table.asked == [(PROMPT, "a", "acme", {"history": ("earlier",)})]


def test_a_tenant_is_answered_from_its_own_facts_and_the_shared_ones(driver: Driver) -> None:
    facts = store()
    facts.add("own", "Refunds are available within 60 days for members.", tenant_id="acme")
    agent = CoherenceAgent(Script(FAR), scorer(ground_truth_store=facts))
    own = driver.run(agent, "Refunds are available within how many days for members?", tenant_id="acme").output
    assert "60 days for members" in own
    for other in ("bolt", ""):
        assert driver.run(agent, tenant_id=other).output == f"{TEXTS.facts}\n- {FACT}"


def test_half_characters_reach_neither_generator_nor_reader(driver: Driver) -> None:
    generate = Script("a\ud800")
    table = Table(**{"a\ufffd": 0.9})
    assert driver.run(CoherenceAgent(generate, table), "\udfff?").output == "a\ufffd"
    assert generate.prompts == ["\ufffd?"]


class Hostile(str):
    def __str__(self) -> str:
        return "something else"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __len__(self) -> int:
        return 1


def test_a_hostile_subclass_of_str_becomes_plain_text(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Script(Hostile(RIGHT)), scorer()))
    assert type(result.output) is str
    assert result.output == RIGHT


def test_an_agent_serves_many_at_once() -> None:
    facts = store()
    for number in range(8):
        facts.add("own", f"The code of the house is {number}{number}{number}.", tenant_id=f"t{number}")
    agent = CoherenceAgent(lambda prompt: WRONG, scorer(ground_truth_store=facts))
    outputs: dict[int, str] = {}

    def ask(number: int) -> None:
        outputs[number] = agent.process("What is the code of the house?", tenant_id=f"t{number % 8}").output

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {n: f"{TEXTS.facts}\n- The code of the house is {n % 8}{n % 8}{n % 8}." for n in range(32)}


# --- fallbacks --------------------------------------------------------------------------------------------------


def test_retrieval_answers_with_the_facts_as_they_stand(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Script(WRONG), scorer()))
    assert result.output == f"{TEXTS.facts}\n- {FACT}"
    assert (result.halted, result.fallback_used) == (True, True)
    assert result.safety_events[0].attributes == {"candidates": "3", "fallback": "retrieval"}


def test_retrieval_without_a_relevant_fact_is_the_disclaimer(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Script(FAR), scorer()), "What is the moon of Jupiter made of?")
    assert result.output == TEXTS.disclaimer
    assert result.safety_events[0].attributes["fallback"] == "disclaimer"


def test_retrieval_without_a_store_is_the_disclaimer(driver: Driver) -> None:
    assert driver.run(CoherenceAgent(Script("a"), Table(a=0.1))).output == TEXTS.disclaimer


def test_the_disclaimer_shows_the_supported_sentences_alone(driver: Driver) -> None:
    agent = CoherenceAgent(Script(f"Hello! {RIGHT} {FAR}"), scorer(), fallback="disclaimer")
    result = driver.run(agent)
    assert result.output == f"{TEXTS.disclaimer} {TEXTS.supported} {RIGHT}"
    assert result.halted


def test_the_disclaimer_never_shows_half_a_sentence(driver: Driver) -> None:
    """The first clause is supported; what it says hangs on the second."""
    text = f"{RIGHT[:-1]}, but the moon of Jupiter is made of cheese."
    agent = CoherenceAgent(Script(text), scorer(), fallback="disclaimer")
    verdicts = [verdict.verdict for verdict in scorer().judge(PROMPT, text)]
    assert verdicts == ["supported", "unsupported"]
    assert driver.run(agent).output == TEXTS.disclaimer


def test_the_disclaimer_without_support_is_the_disclaimer(driver: Driver) -> None:
    assert driver.run(CoherenceAgent(Script(WRONG), scorer(), fallback="disclaimer")).output == TEXTS.disclaimer


class ChangesItsMind(CoherenceScorer):
    """Supports a sentence among others, and rejects it by itself."""

    def review(self, prompt: str, response: str, tenant_id: str = "", *, history: Sequence[str] = ()) -> Any:
        approved, score = super().review(prompt, response, tenant_id, history=history)
        return (False, replace(score, approved=False)) if response == RIGHT else (approved, score)

    async def areview(self, prompt: str, response: str, tenant_id: str = "", *, history: Sequence[str] = ()) -> Any:
        return self.review(prompt, response, tenant_id, history=history)


def test_an_excerpt_is_shown_only_if_it_is_approved_by_itself(driver: Driver) -> None:
    judge = ChangesItsMind(threshold=0.7, use_nli=False, ground_truth_store=store())
    agent = CoherenceAgent(Script(f"{RIGHT} {FAR}"), judge, fallback="disclaimer")
    assert driver.run(agent).output == TEXTS.disclaimer


def test_the_refusal_is_a_fixed_sentence(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Script(f"{RIGHT} {FAR}"), scorer(), fallback="refusal"))
    assert (result.output, result.fallback_used) == (TEXTS.refusal, True)


def test_without_a_fallback_the_output_is_empty(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Script(WRONG), scorer(), fallback=None))
    assert (result.output, result.halted, result.fallback_used) == ("", True, False)
    assert result.safety_events[0].attributes["fallback"] == "none"


def test_the_words_of_the_fallbacks_are_yours() -> None:
    texts = FallbackTexts(facts="Wir wissen:", disclaimer="Nichts.", supported="Nur:", refusal="Nein.")
    for fallback, output in (("retrieval", f"Wir wissen:\n- {FACT}"), ("disclaimer", "Nichts."), ("refusal", "Nein.")):
        assert CoherenceAgent(Script(WRONG), scorer(), fallback=fallback, texts=texts).process(PROMPT).output == output


class Answers:
    """A store that answers whatever it is told to."""

    def __init__(self, *answers: Any) -> None:
        self.answer = Script(*answers)

    def retrieve_context_with_chunks(self, query: str, top_k: int = 3, tenant_id: str = "") -> Any:
        return self.answer(query)


def chunks(*texts: str) -> list[EvidenceChunk]:
    return [EvidenceChunk(text, 0.1, f"k{index}") for index, text in enumerate(texts)]


LONG = "x" * 3_000


@pytest.mark.parametrize(
    ("answer", "quoted"),
    [
        (chunks("a", "a", "b"), ["a", "b"]),
        (chunks("a", "b", "c", "d"), ["a", "b", "c"]),
        (chunks("", " \n", "a"), ["a"]),
        (chunks(LONG, LONG[1:], "a"), [LONG, "a"]),
        (chunks("x" * 10_000_000), []),
        (chunks(*map(str, range(10_000))), ["0", "1", "2"]),
        ({"a": "b"}, []),
        ("a fact", []),
        ([EvidenceChunk("a", math.nan)], []),
    ],
    ids=[
        "the same twice",
        "more than top_k",
        "blank",
        "too much",
        "endless",
        "10,000",
        "a dict",
        "a text",
        "no distance",
    ],
)
def test_a_store_may_answer_anything(driver: Driver, answer: Any, quoted: list[str]) -> None:
    judge = Table(a=0.1)
    judge.ground_truth_store = Answers(answer)  # type: ignore[attr-defined]
    lines = [TEXTS.facts, *(f"- {text}" for text in quoted)] if quoted else [TEXTS.disclaimer]
    assert driver.run(CoherenceAgent(Script("a"), judge)).output == "\n".join(lines)


# --- evidence and records ---------------------------------------------------------------------------------------


def test_a_halt_says_on_what_evidence(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Script(FAR, WRONG), scorer()), tenant_id="acme", request_id="req-1")
    evidence, coherence = result.halt_evidence, result.coherence
    assert evidence is not None
    assert coherence is not None
    assert coherence.evidence is not None
    assert evidence.reason == f"no_candidate_approved score={coherence.score:.4f} limit=0.7000"
    assert evidence.last_score == coherence.score
    assert not coherence.approved
    assert [chunk.source for chunk in evidence.evidence_chunks] == ["refunds"]
    assert evidence.nli_scores == coherence.evidence.chunk_scores
    assert evidence.suggested_action == "retry with KB context"
    trace, diagnostic = evidence.trace_attribution, evidence.counterfactual_diagnostic
    assert trace is not None
    assert (trace.fact_source, trace.scorer_path, trace.threshold) == ("refunds", "CoherenceScorer.review", 0.7)
    assert trace.causal_contribution == pytest.approx(0.7 - coherence.score)
    assert diagnostic is not None
    assert diagnostic.best_change is not None
    assert diagnostic.best_change.proposed_fact == WRONG
    (event,) = result.safety_events
    assert (event.policy_decision, event.hook_id, event.hook_scope) == ("halt", "agent.coherence", "agent")
    assert (event.halt_reason, event.observed_score) == (evidence.reason, coherence.score)
    assert (event.tenant_id, event.request_id, event.evidence_refs) == ("acme", "req-1", ("refunds",))
    assert validate_safety_event(event.to_dict()) == event


def test_the_evidence_is_that_of_the_best_candidate(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Script("a", "b", "c"), Table(a=0.1, b=0.4, c=0.2)))
    assert result.coherence is not None
    assert result.coherence.score == 0.4
    assert result.halt_evidence is not None
    assert result.halt_evidence.reason == "no_candidate_approved score=0.4000"


def test_of_two_rejected_alike_the_one_with_more_support_is_best(driver: Driver) -> None:
    agent = CoherenceAgent(Script(FAR, f"{RIGHT} {FAR}"), scorer(), fallback="disclaimer", candidates=2)
    assert RIGHT in driver.run(agent).output


def test_latency_is_measured_by_the_clock(driver: Driver) -> None:
    clock = ManualClock()
    agent = CoherenceAgent(Script(lambda: clock.advance(1.5) or WRONG), scorer(), candidates=2, clock=clock)
    assert driver.run(agent).safety_events[0].latency_ms == 3000.0
    runs_away = iter([0.0])
    agent = CoherenceAgent(Script(WRONG), scorer(), clock=lambda: next(runs_away, math.inf))
    assert driver.run(agent).safety_events[0].latency_ms == 0.0


def test_records_hold_no_text(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    """The words of the prompt, the candidates, the facts and of foreign errors stay out of events and logs."""
    canary = "xylophone"
    facts = store(refunds=f"Refunds for a {canary} are available within 30 days.")
    wrong = f"Refunds for a {canary} are available within 90 days."
    generate = Script(RuntimeError(canary), 7, wrong)
    judge = scorer(ground_truth_store=facts)
    with caplog.at_level(logging.DEBUG):
        result = driver.run(CoherenceAgent(generate, judge), f"How long are refunds for a {canary}?")
    assert canary in result.output
    assert canary not in result.safety_events[0].to_json()
    assert canary not in (result.halt_evidence.reason if result.halt_evidence else canary)
    assert [record.getMessage() for record in caplog.records if record.name == "director_ai.agent"] == [
        "a candidate was discarded: generator_error type=RuntimeError",
        "a candidate was discarded: generator_error expected=str got=int",
    ]
    assert canary not in caplog.text


# --- faults -----------------------------------------------------------------------------------------------------

SLOW = ("hangs", "slow")
RAISED = {"raises": "RuntimeError", "panics": "Panic", "cancelled": "CancelledError"}
GOT = {"none": "NoneType", "str": "str", "bool": "bool", "wrong_batch": "list"}


class FailingScorer:
    """A scorer of which one method fails, from its second call on or at once."""

    def __init__(self, part: str, fail: Callable[..., Any]) -> None:
        self._whole = scorer()
        self.limits = self._whole.limits
        self.ground_truth_store: Any = self._whole.ground_truth_store
        if part == "review":
            self.review = fail
        if part == "judge":
            self.judge = fail
        if part == "retrieve":
            self.ground_truth_store = Answers(fail)

    def review(self, *args: Any) -> Any:
        return self._whole.review(*args)

    def judge(self, *args: Any) -> Any:
        return self._whole.judge(*args)


def limits(fault: str) -> dict[str, float]:
    # A limit that a busy machine could miss by itself is set only where something is meant to miss it.
    return {"timeout": LIMIT if fault in SLOW else 30.0}


def expected_reason(word: str, fault: str, waited_for: str, expected: str) -> str:
    if fault in SLOW:
        return f"timeout waited_for={waited_for} limit_s={LIMIT:g}"
    if fault in RAISED:
        return f"{word} type={RAISED[fault]}"
    return f"{word} expected={expected} got={GOT.get(fault, 'float')}"


# Left out: "0.9" is an ordinary answer of a generator.
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "str"])
def test_a_generator_that_fails_is_asked_again(driver: Driver, fault: str, release: threading.Event) -> None:
    generate = Script(make_fault(fault, release=release), RIGHT)
    result = driver.run(CoherenceAgent(generate, scorer(), **limits(fault)))
    assert (result.output, result.halted, result.candidates_evaluated) == (RIGHT, False, 1)
    assert result.safety_events == ()


@pytest.mark.timeout(50)  # what hangs lets go after a minute
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "str"])
def test_a_generator_that_fails_always_halts_with_a_typed_reason(
    driver: Driver, fault: str, release: threading.Event
) -> None:
    agent = CoherenceAgent(Script(make_fault(fault, release=release)), scorer(), candidates=2, **limits(fault))
    result = driver.run(agent)
    assert (result.halted, result.candidates_evaluated, result.coherence) == (True, 0, None)
    assert result.output == f"{TEXTS.facts}\n- {FACT}"
    assert result.halt_evidence is not None
    assert result.halt_evidence.reason == expected_reason("generator_error", fault, "candidate", "str")
    assert (result.halt_evidence.last_score, result.halt_evidence.evidence_chunks) == (0.0, [])
    (event,) = result.safety_events
    assert event.attributes[event.halt_reason.split()[0]] == "2"
    assert event.observed_score is None
    assert validate_safety_event(event.to_dict()) == event


@pytest.mark.timeout(50)  # what hangs lets go after a minute
@pytest.mark.parametrize("fault", FAULTS)
def test_a_scorer_that_fails_approves_nothing(driver: Driver, fault: str, release: threading.Event) -> None:
    failing = FailingScorer("review", make_fault(fault, release=release))
    agent = CoherenceAgent(Script(RIGHT), failing, candidates=1, fallback="disclaimer", **limits(fault))
    result = driver.run(agent)
    assert (result.halted, result.candidates_evaluated, result.coherence) == (True, 1, None)
    assert result.output == TEXTS.disclaimer
    assert result.halt_evidence is not None
    assert result.halt_evidence.reason == expected_reason("scorer_error", fault, "review", "review")
    (event,) = result.safety_events
    assert validate_safety_event(event.to_dict()) == event


@pytest.mark.parametrize("part", ["judge", "retrieve"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fallback_that_fails_says_the_disclaimer(
    driver: Driver, part: str, fault: str, release: threading.Event
) -> None:
    failing = FailingScorer(part, make_fault(fault, release=release))
    fallback = "retrieval" if part == "retrieve" else "disclaimer"
    text = WRONG if part == "retrieve" else f"{RIGHT} {FAR}"
    result = driver.run(CoherenceAgent(Script(text), failing, candidates=1, fallback=fallback, **limits(fault)))
    assert (result.output, result.halted) == (TEXTS.disclaimer, True)
    assert result.halt_evidence is not None
    assert result.halt_evidence.reason.startswith("no_candidate_approved")


async def _coroutine() -> str:
    return RIGHT


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (b"bytes", "expected=str got=bytes"),
        ("", "got=blank"),
        (" \n\t", "got=blank"),
        ("x" * 10_000_000, f"got=too_long limit={LONGEST_CANDIDATE}"),
        ([RIGHT], "expected=str got=list"),
        (GeneratorExit(), "type=RuntimeError"),
        (StopIteration(RIGHT), "type=StopIteration"),
    ],
    ids=["bytes", "empty", "blank", "10 MB", "a list", "raises GeneratorExit", "raises StopIteration"],
)
def test_what_is_no_answer_is_discarded(driver: Driver, answer: Any, got: str) -> None:
    agent = CoherenceAgent(Script(answer), scorer(), candidates=1, timeout=None)
    result = driver.run(agent)
    assert (result.halted, result.candidates_evaluated) == (True, 0)
    assert result.halt_evidence is not None
    if isinstance(answer, StopIteration) and driver.name != "sync":
        got = "type=RuntimeError"  # what a coroutine makes of it
    assert result.halt_evidence.reason == f"generator_error {got}"


@pytest.mark.parametrize("timeout", [None, 30.0], ids=["no limit", "with a limit"])
def test_a_coroutine_is_an_answer_only_where_it_can_be_awaited(driver: Driver, timeout: float | None) -> None:
    result = driver.run(CoherenceAgent(Script(_coroutine), scorer(), candidates=1, timeout=timeout))
    if driver.name == "sync":
        assert result.halt_evidence is not None
        assert result.halt_evidence.reason == "generator_error expected=str got=coroutine"
    else:
        assert result.output == RIGHT


def evidence_with(**fields: Any) -> ScoringEvidence:
    return ScoringEvidence(**{"chunks": [], "nli_premise": "", "nli_hypothesis": "", "nli_score": 0.0, **fields})


GOOD = CoherenceScore(0.9, True, 0.0, 0.1)


@pytest.mark.parametrize(
    "answer",
    [
        (True, replace(GOOD, score=math.nan)),
        (True, replace(GOOD, score=1.5)),
        (True, replace(GOOD, score="0.9")),
        (True, replace(GOOD, approved="yes")),
        (1, GOOD),
        ("approved", GOOD),
        (True, None),
        (True, 0.9),
        (True, GOOD, "more"),
        [True, GOOD],
        (True, replace(GOOD, evidence="evidence")),
        (True, replace(GOOD, evidence=evidence_with(chunks=None))),
        (True, replace(GOOD, evidence=evidence_with(nli_hypothesis=None))),
    ],
)
def test_what_is_no_review_is_no_approval(driver: Driver, answer: Any) -> None:
    result = driver.run(CoherenceAgent(Script(RIGHT), FailingScorer("review", lambda *_: answer), candidates=1))
    assert result.halted
    assert result.halt_evidence is not None
    assert result.halt_evidence.reason.startswith("scorer_error expected=review got=")


@pytest.mark.parametrize("answer", [(False, GOOD), (True, replace(GOOD, approved=False))])
def test_a_scorer_that_contradicts_itself_does_not_approve(driver: Driver, answer: Any) -> None:
    assert driver.run(CoherenceAgent(Script(RIGHT), FailingScorer("review", lambda *_: answer))).halted


def test_odd_evidence_does_not_break_a_halt(driver: Driver) -> None:
    odd = evidence_with(chunks=[object()], chunk_scores=[2.0], claim_coverage="all", attributions=[1])
    answer = (False, replace(GOOD, score=0.25, approved=False, evidence=odd))
    result = driver.run(CoherenceAgent(Script(RIGHT), FailingScorer("review", lambda *_: answer)))
    assert result.halt_evidence is not None
    assert (result.halted, result.halt_evidence.evidence_chunks) == (True, [])


class Verdict:
    def __init__(self, clause: Any, verdict: Any = "supported") -> None:
        self.clause, self.verdict = clause, verdict


class Lenient(Table):
    """A scorer that rejects one text, approves any other, and judges clauses as it is told to."""

    def __init__(self, rejected: str, verdicts: Any) -> None:
        super().__init__()
        self.rejected, self.verdicts = rejected, verdicts

    def review(self, prompt: str, response: str, tenant_id: str = "", **more: Any) -> Any:
        self.scores = {response: 0.1 if response == self.rejected else 0.9}
        return super().review(prompt, response, tenant_id, **more)

    def judge(self, prompt: str, response: str, tenant_id: str) -> Any:
        self.asked.append((prompt, response, tenant_id))
        return self.verdicts


BOTH = f"{RIGHT} {FAR}"


def test_an_excerpt_is_judged_for_its_tenant(driver: Driver) -> None:
    lenient = Lenient(BOTH, [Verdict(f"{RIGHT} "), Verdict(FAR, "unsupported")])
    agent = CoherenceAgent(Script(BOTH), lenient, candidates=1, fallback="disclaimer")
    assert driver.run(agent, tenant_id="acme").output == f"{TEXTS.disclaimer} {TEXTS.supported} {RIGHT}"
    assert [asked[1:3] for asked in lenient.asked] == [(BOTH, "acme"), (BOTH, "acme"), (RIGHT, "acme")]


@pytest.mark.parametrize(
    "verdicts",
    [
        [Verdict("Something else.")],
        [Verdict(RIGHT)],
        [Verdict(BOTH)],
        [Verdict("x" * len(f"{RIGHT} ")), Verdict(FAR, "unsupported")],
        [Verdict(RIGHT[:10]), Verdict(f"{RIGHT[10:]} ", "unsupported"), Verdict(FAR, "not_evaluated")],
        [Verdict(f"{RIGHT} ", "not_a_claim"), Verdict(FAR, "unverified")],
        [Verdict(f"{RIGHT} ", ["supported"]), Verdict(FAR)],
        [Verdict(7)],
        [],
        7,
    ],
    ids=["of another text", "too few", "across sentences", "half of another text", "half a sentence", "no support", "no word",
         "no text", "none", "no list"],
)  # fmt: skip
def test_verdicts_that_do_not_support_whole_sentences_of_the_text_show_nothing_of_it(verdicts: Any) -> None:
    agent = CoherenceAgent(Script(BOTH), Lenient(BOTH, verdicts), fallback="disclaimer")
    assert agent.process(PROMPT).output == TEXTS.disclaimer


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit], ids=lambda error: error.__name__)
@pytest.mark.parametrize("part", ["candidate", "review", "judge", "retrieve"])
def test_interrupts_pass_through(driver: Driver, part: str, error: type[BaseException]) -> None:
    def interrupt(*_: Any) -> Any:
        raise error

    generate = Script(interrupt) if part == "candidate" else Script(f"{RIGHT} {FAR}" if part == "judge" else WRONG)
    agent = CoherenceAgent(
        generate, FailingScorer(part, interrupt), fallback="disclaimer" if part == "judge" else "retrieval"
    )
    with pytest.raises((error, BaseExceptionGroup)) as raised:
        driver.run(agent)
    passed = raised.value
    while isinstance(passed, BaseExceptionGroup):
        passed = passed.exceptions[0]
    assert isinstance(passed, error)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancellation_passes_through_and_reaches_the_generator(backend: str) -> None:
    told = []

    async def hang(prompt: str) -> str:
        try:
            await anyio.sleep(60)
        except BaseException as error:
            told.append(type(error).__name__)
            raise
        return RIGHT

    async def main() -> bool:
        with anyio.move_on_after(0.05) as scope:
            await CoherenceAgent(hang, scorer()).aprocess(PROMPT)
        return scope.cancelled_caught

    assert anyio.run(main, backend=backend)
    assert told in (["CancelledError"], ["Cancelled"])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_asynchronous_generator_that_hangs_is_given_up(backend: str) -> None:
    async def hang(prompt: str) -> str:
        await anyio.sleep(60)
        return RIGHT

    result = Driver(backend).run(CoherenceAgent(hang, scorer(), candidates=1, timeout=LIMIT))
    assert result.halt_evidence is not None
    assert result.halt_evidence.reason == f"timeout waited_for=candidate limit_s={LIMIT:g}"


# --- time -------------------------------------------------------------------------------------------------------


def test_the_total_time_ends_the_search_and_the_fallback(driver: Driver) -> None:
    clock = ManualClock()
    generate = Script(lambda: clock.advance(20.0) or WRONG)
    judge = Table(**{WRONG: 0.1})
    judge.ground_truth_store = Answers(chunks(FACT))  # type: ignore[attr-defined]
    result = driver.run(CoherenceAgent(generate, judge, candidates=9, total_timeout=50.0, timeout=None, clock=clock))
    assert (len(generate.prompts), result.candidates_evaluated) == (3, 3)
    assert (result.output, result.halted) == (TEXTS.disclaimer, True)
    assert result.safety_events[0].attributes["timeout"] == "6"


def test_an_approved_answer_survives_the_end_of_the_time(driver: Driver) -> None:
    clock = ManualClock()
    generate = Script("a", lambda: clock.advance(60.0) or "b")
    result = driver.run(CoherenceAgent(generate, Table(a=0.55, b=0.99), total_timeout=50.0, clock=clock))
    assert (result.output, result.halted) == ("a", False)


@pytest.mark.timeout(50)  # what hangs lets go after a minute
def test_the_whole_time_bounds_a_generator_that_hangs(driver: Driver, release: threading.Event) -> None:
    agent = CoherenceAgent(Script(make_fault("hangs", release=release)), scorer(), timeout=30.0, total_timeout=LIMIT)
    result = driver.run(agent)
    assert result.halt_evidence is not None
    left = result.halt_evidence.reason.removeprefix("timeout waited_for=candidate limit_s=")
    assert 0 < float(left) <= LIMIT
    assert result.safety_events[0].attributes["timeout"] == "3"


def test_helper_threads_end_with_the_call(driver: Driver) -> None:
    before = threading.active_count()
    driver.run(CoherenceAgent(Script(WRONG), scorer()))
    for _ in range(200):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before


# --- asynchronous parts -----------------------------------------------------------------------------------------


class Twins:
    """A generator with an asynchronous twin."""

    def __call__(self, prompt: str) -> str:
        return "sync"

    async def acall(self, prompt: str) -> str:
        return "async"


class AsyncStore:
    async def retrieve_context_with_chunks(self, query: str, top_k: int = 3, tenant_id: str = "") -> Any:
        await anyio.sleep(0)
        return chunks(FACT)


def test_the_asynchronous_twin_is_asked_where_it_can_be(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Twins(), Table(**{"sync": 0.9, "async": 0.9})))
    assert result.output == ("sync" if driver.name == "sync" else "async")


def test_an_asynchronous_store_is_asked_where_it_can_be(driver: Driver) -> None:
    result = driver.run(CoherenceAgent(Script(RIGHT), scorer(ground_truth_store=AsyncStore())))
    assert result.output == (TEXTS.disclaimer if driver.name == "sync" else RIGHT)
    result = driver.run(CoherenceAgent(Script(WRONG), scorer(ground_truth_store=AsyncStore())))
    assert result.output == (TEXTS.disclaimer if driver.name == "sync" else f"{TEXTS.facts}\n- {FACT}")


# --- settings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": 0}, "candidates must be at least 1"),
        ({"candidates": MOST_CANDIDATES + 1}, "candidates must be at most 20"),
        ({"candidates": True}, "candidates must be a whole number"),
        ({"candidates": "3"}, "candidates must be a whole number"),
        ({"fallback": "retreival"}, "did you mean 'retrieval'"),
        ({"fallback": ""}, "unknown fallback"),
        ({"fallback": ["retrieval"]}, "unknown fallback"),
        ({"texts": {"refusal": "No."}}, "texts must be FallbackTexts"),
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"timeout": 0}, "timeout must be more than 0 seconds"),
        ({"timeout": math.nan}, "timeout must be a number"),
        ({"timeout": True}, "timeout must be a number"),
        ({"total_timeout": -1.0}, "total_timeout must be a number"),
        ({"total_timeout": "60"}, "total_timeout must be a number"),
        ({"clock": 5.0}, "clock must be a function"),
        ({"candidate": 5}, "did you mean 'candidates'"),
        ({"generator": "model"}, "generator must be a function"),
        ({"scorer": len}, "scorer must have a method review"),
    ],
)
def test_settings_that_cannot_be_right_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CoherenceAgent(**{"generator": Script(RIGHT), "scorer": scorer(), **options})


def test_texts_that_are_no_texts_are_refused() -> None:
    with pytest.raises(ConfigError, match="refusal must be a string"):
        FallbackTexts(refusal=None)  # type: ignore[arg-type]
    with pytest.raises(UnknownOption, match="CoherenceAgent option"):
        CoherenceAgent(Script(RIGHT), scorer(), refusal="No.")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": None}, "prompt must be a string"),
        ({"prompt": b"bytes"}, "prompt must be a string"),
        ({"tenant_id": "../x"}, "tenant_id must be"),
        ({"tenant_id": " "}, "tenant_id must be"),
        ({"request_id": "a b"}, "request_id must be"),
        ({"history": "one text"}, "history must be a list"),
        ({"history": None}, "history must be a list"),
        ({"history": ["a", 5]}, "history must be a string"),
    ],
)
def test_arguments_that_cannot_be_right_are_refused_before_anything_is_generated(
    driver: Driver, options: dict[str, Any], message: str
) -> None:
    generate = Script(RIGHT)
    with pytest.raises(ConfigError, match=message):
        driver.run(CoherenceAgent(generate, scorer()), **{"prompt": PROMPT, **options})
    assert generate.prompts == []
