"""CoherenceAgent: asks a generator for candidates and answers with the best one that the scorer approves.

What happens to a prompt is one plan, `CoherenceAgent._answer`; `process` and `aprocess` carry it out. No candidate is
ever shown that was not approved: without one the answer is a fallback, made of facts, of sentences that are approved
by themselves, or of fixed words.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, Protocol, TypedDict, TypeVar, Unpack

from director_ai.core.identifiers import check_identifier
from director_ai.core.ranges import as_score, check_count, check_seconds
from director_ai.core.runtime.carrying import acarry_out, carry_out
from director_ai.core.runtime.drive import AsyncCalls, SyncCalls
from director_ai.core.runtime.halt_report import Review, read_review, report_halt
from director_ai.core.runtime.halting import Halt
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.plan import Late
from director_ai.core.runtime.release import type_name
from director_ai.core.safety_event import SafetyEvent
from director_ai.core.scoring.excerpts import supported_sentences
from director_ai.core.scoring.judging import read_chunks
from director_ai.core.types import CoherenceScore, HaltEvidence, ReviewResult, ScoringEvidence
from director_ai.errors import ConfigError, UnknownOption
from director_ai.generators import EndpointError, NoAnswer, read_candidate, whole_characters
from director_ai.hooks.attachment import AttachedHooks
from director_ai.hooks.protocol import Hook, Occasion, may_go_on

__all__ = ["CoherenceAgent", "FallbackTexts", "Scorer"]

_log = logging.getLogger(__name__)

Fallback = Literal["retrieval", "disclaimer", "refusal"]
AskKind = Literal["candidate", "review", "judge", "retrieve", "examine"]
Ask = tuple[AskKind, tuple[Any, ...]]
"""What is wanted, and what it takes.

    candidate (prompt,)                    a text
    review    (prompt, text, tenant_id)    (approved, CoherenceScore)
    judge     (prompt, text, tenant_id)    a verdict on each clause
    retrieve  (prompt, top_k, tenant_id)   the facts that bear on the prompt
    examine   (occasion,)                  what the hooks say of a candidate
"""
Result = TypeVar("Result")
Plan = Generator[Ask, Any, Result]

MOST_CANDIDATES: Final = 20
LONGEST_QUOTE: Final = 4_000
"""Characters of facts that one answer quotes."""
_FALLBACKS: Final = ("retrieval", "disclaimer", "refusal")
_REASONS: Final = {
    "no_candidate_approved": ("retry with KB context", "No candidate was approved, so the answer was withheld."),
    "generator_error": ("repair the generator, then retry", "The model gave no answer, so no candidate was approved."),
    "scorer_error": ("repair the scorer, then retry", "The scorer failed, so no candidate was approved."),
    "timeout": ("retry, or raise the time limit", "The time limit was exceeded, so no candidate was approved."),
    "hook_refused": ("review the answer", "A hook refused the answer, so it was withheld."),
    "soft_limit": ("review the answer", "The answer was approved with a warning: its score is below the soft limit."),
}
"""What to do about each, and how it is told to operators."""


class Scorer(Protocol):
    """What an agent needs of a scorer; CoherenceScorer is one.

    `aprocess` prefers a method `areview`. The fallbacks use `ground_truth_store` and `judge`, where there are any;
    `limits.threshold` and `limits.soft_limit`, where there are any, stand in the records.
    """

    def review(self, prompt: str, response: str, tenant_id: str = "", *, history: Sequence[str] = ()) -> Any:
        """Return `(approved, CoherenceScore)`; `history` is given only where there is one."""


class AgentOptions(TypedDict, total=False):
    """Who is speaking to whom, for hooks."""

    passport: str
    sender: str
    receiver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackTexts:
    """What is said where no candidate was approved; give your own for another language."""

    facts: str = "I have no approved answer. The knowledge base says:"
    disclaimer: str = "I found no answer that the knowledge base supports."
    supported: str = "It does support this:"
    refusal: str = "I am sorry, but I cannot answer that."

    def __post_init__(self) -> None:
        for name in self.__slots__:
            _check_text(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What one call is about."""

    prompt: str
    tenant_id: str
    request_id: str
    history: tuple[str, ...]
    began: float
    about: Occasion
    """What hooks are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A text that was judged."""

    text: str
    approved: bool
    score: CoherenceScore
    refused: bool = False
    """A hook objects to it: nothing of it may be shown."""

    @property
    def rank(self) -> tuple[float, float]:
        """The score is that of the worst clause; of two alike, the one of which more is supported."""
        evidence = self.score.evidence
        return self.score.score, (evidence and as_score(evidence.claim_coverage)) or 0.0


class CoherenceAgent:
    """Answers prompts with what the scorer approves; any number of threads and tasks may share one.

    Args:
        generator: A function from the prompt to one answer, called anew for each candidate; for `aprocess` it may be
            asynchronous, or have an asynchronous twin `acall`. `director_ai.generators` asks endpoints.
        scorer: Judges each candidate; usually a CoherenceScorer with a knowledge base.
        candidates: How many are generated at most. The first one that is approved without a warning ends the search.
        fallback: What to answer where none is approved. `retrieval`: the facts that bear on the prompt or, where none
            do, the disclaimer. `disclaimer`: that no supported answer was found, with those sentences of the best
            candidate that are supported. `refusal`: a fixed sentence. None: nothing, an empty output.
        texts: The words of the fallbacks.
        top_k: Facts in a `retrieval` answer and in the halt evidence, at most.
        timeout: Seconds that the generator or the scorer may take for one answer; None for no limit.
        total_timeout: Seconds for all of it.
        hooks: Examine what the scorer approves; what one refuses is never shown. Their events are in the result.
        clock: Seconds, for the total and for the latency in events.
    """

    def __init__(  # noqa: PLR0913 - the documented constructor
        self,
        generator: Callable[[str], str | Awaitable[str]],
        scorer: Scorer,
        *,
        candidates: int = 3,
        fallback: Fallback | None = "retrieval",
        texts: FallbackTexts | None = None,
        top_k: int = 3,
        timeout: float | None = 60.0,
        total_timeout: float | None = None,
        hooks: Iterable[Hook] = (),
        clock: Callable[[], float] = time.monotonic,
        **unknown: NoReturn,
    ) -> None:
        for name in unknown:
            raise UnknownOption("CoherenceAgent option", name, _OPTIONS)
        if not callable(generator):
            raise ConfigError(f"generator must be a function of the prompt, got a {type(generator).__name__}")
        if not callable(getattr(scorer, "review", None)):
            raise ConfigError(f"scorer must have a method review, got a {type(scorer).__name__}")
        if fallback is not None and fallback not in _FALLBACKS:
            raise UnknownOption("fallback", fallback, _FALLBACKS)
        if texts is not None and not isinstance(texts, FallbackTexts):
            raise ConfigError(f"texts must be FallbackTexts, got a {type(texts).__name__}")
        if not callable(clock):
            raise ConfigError(f"clock must be a function that returns seconds, got a {type(clock).__name__}")
        self._generator, self._scorer = generator, scorer
        self._candidates = check_count("candidates", candidates, 1, MOST_CANDIDATES)
        self._fallback: Fallback | None = fallback
        self._texts = texts or FallbackTexts()
        self._top_k = check_count("top_k", top_k, 1, 20)
        self._timeout = check_seconds("timeout", timeout)
        self._total_timeout = check_seconds("total_timeout", total_timeout)
        self._hooks = AttachedHooks(hooks, deadline=self._timeout)
        self._clock = clock

    def process(
        self,
        prompt: str,
        *,
        tenant_id: str = "",
        request_id: str = "",
        history: Sequence[str] = (),
        **agents: Unpack[AgentOptions],
    ) -> ReviewResult:
        """Return the best approved answer to a prompt, or a fallback; `history` are the session's earlier answers."""
        request = self._request(prompt, tenant_id, request_id, history, agents)
        actions = self._actions(request, self._generator, self._scorer.review)

        def act(kind: AskKind, parts: tuple[Any, ...]) -> Any:
            calls = SyncCalls(each=self._seconds(request), total=None, clock=self._clock)
            try:
                answer = calls.bind(kind, actions[kind])(*parts)
            finally:
                calls.close(lambda: None)
            if inspect.iscoroutine(answer):
                answer.close()  # nobody can await it here; the plan sees that it is no answer
            return answer

        return carry_out(self._answer(request), act)

    async def aprocess(
        self,
        prompt: str,
        *,
        tenant_id: str = "",
        request_id: str = "",
        history: Sequence[str] = (),
        **agents: Unpack[AgentOptions],
    ) -> ReviewResult:
        """Return the same; generator, scorer and store may be asynchronous, on asyncio and trio.

        Synchronous ones run on a helper thread or, where there is no time limit, in place.
        """
        request = self._request(prompt, tenant_id, request_id, history, agents)
        generate = getattr(self._generator, "acall", self._generator)
        actions = self._actions(request, generate, getattr(self._scorer, "areview", self._scorer.review))

        async def act(kind: AskKind, parts: tuple[Any, ...]) -> Any:
            calls = AsyncCalls(each=self._seconds(request), total=None, clock=self._clock)
            try:
                return await calls.bind(kind, actions[kind])(*parts)
            finally:
                await calls.close(lambda: None, awaits=True)  # there is nothing to close, so nothing is waited for

        return await acarry_out(self._answer(request), act)

    # --- the plan ---------------------------------------------------------------------------------------------

    def _answer(self, request: _Request) -> Plan[ReviewResult]:
        """Generate and judge until a candidate is beyond doubt; return the best approved one, or fall back."""
        judged: dict[str, _Candidate] = {}
        failures: list[str] = []
        events: list[SafetyEvent] = []
        generated = 0
        for _ in range(self._candidates):
            try:
                text = read_candidate((yield from _asked("candidate", request.prompt)))
                generated += 1
                if text not in judged:
                    judged[text] = yield from self._examined(request, (yield from _judged(request, text)), events)
            except NoAnswer as failure:
                failures.append(failure.reason)
                _log.warning("a candidate was discarded: %s", failure.reason)
                continue
            if judged[text].approved and not judged[text].score.warning:
                break
        approved = [candidate for candidate in judged.values() if candidate.approved]
        best = max(approved or judged.values(), key=lambda candidate: candidate.rank, default=None)
        if best is None or not approved:
            return (yield from self._halted(request, best, failures, generated, events))
        if best.score.warning:
            evidence = self._evidence(f"soft_limit score={best.score.score:.4f}", best, "soft_limit")
            events.insert(0, self._event("warn", request, best, evidence, {"candidates": str(generated)}))
        return ReviewResult(best.text, best.score, False, generated, safety_events=tuple(events))

    def _examined(self, request: _Request, candidate: _Candidate, events: list[SafetyEvent]) -> Plan[_Candidate]:
        """Return a candidate as the hooks leave it; those that are not approved anyway are not shown to them."""
        if not candidate.approved or (yield from self._may_say(request, candidate.text, events)):
            return candidate
        return dataclasses.replace(candidate, approved=False, refused=True)

    def _may_say(self, request: _Request, text: str, events: list[SafetyEvent]) -> Plan[bool]:
        """Return whether the hooks let a text be shown; whoever cannot be asked does not."""
        if not self._hooks:
            return True
        occasion = dataclasses.replace(request.about, text=text)
        try:
            verdicts = yield from _asked("examine", occasion)
        except NoAnswer:
            return False
        events += [verdict.safety_event for verdict in verdicts]
        return may_go_on(verdicts)

    def _halted(
        self, request: _Request, best: _Candidate | None, failures: list[str], generated: int, events: list[SafetyEvent]
    ) -> Plan[ReviewResult]:
        is_refused = best is not None and best.refused
        used, output = yield from self._fall_back(request, None if is_refused else best)
        if output and not (yield from self._may_say(request, output, events)):
            used, output = "refusal", self._texts.refusal
        word = "hook_refused" if is_refused else "no_candidate_approved"
        reason = failures[0] if best is None else f"{word} score={best.score.score:.4f}"
        evidence = self._evidence(reason, best, "threshold")
        words = Counter(_word(failure) for failure in failures)
        attributes = {"candidates": str(generated), "fallback": used or "none"}
        event = self._event("halt", request, best, evidence, attributes | {word: str(n) for word, n in words.items()})
        return ReviewResult(
            output=output,
            coherence=best.score if best else None,
            halted=True,
            candidates_evaluated=generated,
            fallback_used=used is not None,
            halt_evidence=evidence,
            safety_events=(event, *events),
        )

    def _fall_back(self, request: _Request, best: _Candidate | None) -> Plan[tuple[Fallback | None, str]]:
        """Return which fallback was used, and what it says."""
        texts = self._texts
        if self._fallback is None:
            return None, ""
        if self._fallback == "refusal":
            return "refusal", texts.refusal
        if self._fallback == "retrieval":
            facts = yield from self._facts(request)
            if facts:
                return "retrieval", "\n".join([texts.facts, *(f"- {fact}" for fact in facts)])
        excerpt = (yield from self._supported(request, best)) if best else ""
        return "disclaimer", f"{texts.disclaimer} {texts.supported} {excerpt}" if excerpt else texts.disclaimer

    def _facts(self, request: _Request) -> Plan[list[str]]:
        """Return the facts that bear on the prompt, as they stand in the knowledge base; none where it fails."""
        if getattr(self._scorer, "ground_truth_store", None) is None:
            return []
        try:
            answer = yield from _asked("retrieve", request.prompt, self._top_k, request.tenant_id)
        except NoAnswer:
            return []
        kept: list[str] = []
        for chunk in (read_chunks(answer) or ())[: self._top_k]:
            new = chunk.text.strip() and chunk.text not in kept
            if new and sum(map(len, kept)) + len(chunk.text) <= LONGEST_QUOTE:
                kept.append(chunk.text)
        return kept

    def _supported(self, request: _Request, best: _Candidate) -> Plan[str]:
        """Return the sentences of a candidate that are supported and, taken out of it, are approved by themselves."""
        if not callable(getattr(self._scorer, "judge", None)):
            return ""
        try:
            verdicts = yield from _asked("judge", request.prompt, best.text, request.tenant_id)
            excerpt = supported_sentences(best.text, verdicts)
            # "It opens at nine." may speak of something else once the sentence before it is gone.
            return excerpt if excerpt and (yield from _judged(request, excerpt)).approved else ""
        except NoAnswer:
            return ""

    # --- records ----------------------------------------------------------------------------------------------

    def _evidence(self, reason: str, best: _Candidate | None, limit: str) -> HaltEvidence:
        """Return what the doubt about the best candidate rests on; without any candidate, why there was none."""
        score = float(best.score.score) if best else 0.0
        limits = getattr(self._scorer, "limits", None)
        threshold = as_score(getattr(limits, limit, None)) if best else None
        if threshold is not None:
            reason += f" limit={threshold:.4f}"
        path = f"{type_name(self._scorer)}.review"
        found = report_halt(  # a candidate below the limit is what a stream below it is
            Halt(
                mechanism="hard_limit",
                detail="",
                threshold=threshold,
                margin=max(0.0, (threshold or 0.0) - score),
                needed_score=threshold,
            ),
            last_score=score,
            token_offset=-1,
            text=best.score.evidence.nli_hypothesis if best and best.score.evidence else "",
            review=read_review((best.approved, best.score), path=path) if best else Review(path=path),
            top_k=self._top_k,
        )
        return dataclasses.replace(found, reason=reason, suggested_action=_REASONS[_word(reason)][0])

    def _event(
        self,
        decision: Literal["warn", "halt"],
        request: _Request,
        best: _Candidate | None,
        evidence: HaltEvidence,
        attributes: dict[str, str],
    ) -> SafetyEvent:
        elapsed = (self._clock() - request.began) * 1000.0
        return SafetyEvent.from_halt_evidence(
            evidence,
            hook_id="agent.coherence",
            hook_scope="agent",
            policy_decision=decision,
            request_id=request.request_id,
            tenant_id=request.tenant_id,
            latency_ms=max(0.0, elapsed) if math.isfinite(elapsed) else 0.0,
            observed_score=best.score.score if best else None,
            tenant_safe_explanation=_REASONS[_word(evidence.reason)][1],
            attributes=attributes,
        )

    # --- one call ---------------------------------------------------------------------------------------------

    def _request(
        self, prompt: str, tenant_id: str, request_id: str, history: Sequence[str], agents: AgentOptions
    ) -> _Request:
        _check_text("prompt", prompt)
        if isinstance(history, str) or not isinstance(history, Sequence):
            raise ConfigError(f"history must be a list of earlier answers, got a {type(history).__name__}")
        for answer in history:
            _check_text("an answer in history", answer)
        if unknown := agents.keys() - AgentOptions.__annotations__:
            raise UnknownOption("option of process()", min(unknown), AgentOptions.__annotations__)
        prompt = whole_characters(prompt)
        about = Occasion(
            prompt=prompt,
            tenant_id=check_identifier("tenant_id", tenant_id),
            request_id=check_identifier("request_id", request_id),
            exchange_id=f"exchange-{os.urandom(12).hex()}",
            **agents,
        )
        return _Request(
            prompt=prompt,
            tenant_id=tenant_id,
            request_id=request_id,
            about=about,
            history=tuple(whole_characters(answer) for answer in history),
            began=self._clock(),
        )

    def _actions(self, request: _Request, generate: Any, review: Any) -> dict[AskKind, Any]:
        """Return who is asked for what; the last two are asked only where they exist."""
        store = getattr(self._scorer, "ground_truth_store", None)
        return {
            "candidate": generate,
            "review": functools.partial(review, history=request.history) if request.history else review,
            "judge": getattr(self._scorer, "judge", None),
            "retrieve": getattr(store, "retrieve_context_with_chunks", None),
            "examine": lambda occasion: self._hooks.consult(occasion, "request", "text"),
        }

    def _seconds(self, request: _Request) -> float | None:
        """Return how long the next answer may take; raise Late where the whole time is over."""
        if self._total_timeout is None:
            return self._timeout
        left = request.began + self._total_timeout - self._clock()
        if not left > 0.0:
            raise Late("agent", self._total_timeout)
        return left if self._timeout is None else min(left, self._timeout)


_OPTIONS: Final = tuple(name for name in inspect.signature(CoherenceAgent).parameters if name != "unknown")


def _asked(kind: AskKind, *parts: Any) -> Plan[Any]:
    """Return an answer, or raise NoAnswer; interrupts and cancellation pass."""
    try:
        return (yield kind, parts)
    except BaseException as error:
        if must_pass(error):
            raise
        raise NoAnswer(_reason(kind, error)) from None


def _reason(kind: AskKind, error: BaseException) -> str:
    """Say what went wrong without the message of a foreign error: it may hold the text that was being judged."""
    if isinstance(error, Late):
        return f"timeout waited_for={error.waited_for} limit_s={error.limit:g}"
    detail = f"type={type_name(error)}"
    if isinstance(error, EndpointError):
        detail += f" problem={error.problem}" + (f" status={error.status}" if error.status is not None else "")
    return f"{'generator_error' if kind == 'candidate' else 'scorer_error'} {detail}"


def _judged(request: _Request, text: str) -> Plan[_Candidate]:
    """Return a text with what the scorer says of it; whatever is no review is no approval."""
    answer = yield from _asked("review", request.prompt, text, request.tenant_id)
    if type(answer) is not tuple or len(answer) != 2:
        raise NoAnswer(f"scorer_error expected=review got={type_name(answer)}")
    approved, score = answer
    if type(approved) is not bool or not issubclass(type(score), CoherenceScore):
        raise NoAnswer(f"scorer_error expected=review got={type_name(approved)} with={type_name(score)}")
    if as_score(score.score) is None or type(score.approved) is not bool or not _is_evidence(score.evidence):
        raise NoAnswer("scorer_error expected=review got=invalid_score")
    return _Candidate(text=text, approved=approved and score.approved, score=score)


def _is_evidence(value: object) -> bool:
    if not isinstance(value, ScoringEvidence):
        return value is None
    return isinstance(value.chunks, list | tuple) and isinstance(value.nli_hypothesis, str)


def _word(reason: str) -> str:
    return reason.split(" ", 1)[0]


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a string, got a {type(value).__name__}")
