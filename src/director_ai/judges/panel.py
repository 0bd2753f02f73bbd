"""Asking a judge: within a budget for each answer, from a cache, and counted.

A judge that raises, is late, answers something else, or has used up its budget gives no answer. What the clause is then
is for the profile to say (`judge_doubt`).
"""

from __future__ import annotations

import dataclasses
import inspect
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from director_ai.core.ranges import check_count, check_number
from director_ai.core.runtime.drive import AsyncCalls, SyncCalls
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.scoring.escalation import Band, Doubt, JudgeQuestion, JudgeVerdict, read_judge_verdicts
from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from director_ai.core.types import EvidenceChunk

__all__ = ["DOUBTS", "Judge", "JudgeBudget", "JudgePanel", "JudgeSession", "JudgeUsage", "Judgements"]

DOUBTS: Final[tuple[Doubt, ...]] = ("reject", "model")
CACHED: Final = 4_096
"""Verdicts that a panel remembers."""


class Judge(Protocol):
    """A larger model, or anything else that can tell whether evidence supports a claim.

    If the caller is asynchronous and there is an `ajudge` with the same arguments, that is awaited instead. A judge
    with a parameter `question` is also told what the user asked.
    """

    def judge(self, items: Sequence[tuple[str, Sequence[EvidenceChunk]]]) -> Sequence[Any]:
        """Return for each claim and its evidence an object with the fields of `JudgeVerdict`."""
        ...


class Judgements(list[JudgeVerdict | None]):
    """Verdicts of one call, and the tokens that it took; None where the judge left out a claim."""

    def __init__(
        self, verdicts: Iterable[JudgeVerdict | None] = (), *, input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        super().__init__(verdicts)
        self.input_tokens, self.output_tokens = input_tokens, output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBudget:
    """What may be spent on the judge for one answer."""

    calls: int = 6
    seconds: float = 8.0
    """For all calls together; a call that lasts longer is abandoned."""
    tokens: int = 50_000
    """Read and written together, as far as the judge reports them. The call that exceeds the limit is the last one."""
    clauses_per_call: int = 8

    def __post_init__(self) -> None:
        check_count("judge_budget.calls", self.calls, 0, 10_000)
        check_number("judge_budget.seconds", self.seconds, 0.001, 3_600.0)
        check_count("judge_budget.tokens", self.tokens, 0, 1_000_000_000)
        check_count("judge_budget.clauses_per_call", self.clauses_per_call, 1, 1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUsage:
    """What a judge was asked and what it took."""

    calls: int = 0
    clauses: int = 0
    """Clauses that were escalated."""
    cached: int = 0
    """Of these, clauses that were answered from the cache."""
    missed: int = 0
    """Of these, clauses without an answer."""
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: JudgeUsage) -> JudgeUsage:
        pairs = ((each.name, getattr(self, each.name) + getattr(other, each.name)) for each in dataclasses.fields(self))
        return JudgeUsage(**dict(pairs))


class JudgePanel:
    """One judge and the rules for asking it; any number of answers may share a panel.

    Args:
        judge: An object with a method `judge`, or a function of the same arguments.
        band: Clauses whose support by the bundled model lies between these two figures are escalated.
        budget: What one answer may spend.
        doubt: A clause without an answer is rejected (`reject`), or keeps the bundled model's verdict (`model`).
        on_usage: Told what each call took.
    """

    def __init__(
        self,
        judge: Judge | Callable[..., Any],
        *,
        band: tuple[float, float],
        budget: JudgeBudget | None = None,
        doubt: Doubt = "reject",
        on_usage: Callable[[JudgeUsage], None] | None = None,
    ) -> None:
        ask = getattr(judge, "judge", judge)
        if not callable(ask):
            raise ConfigError(f"judge must have a method judge or be a function, got a {type(judge).__name__}")
        if not isinstance(band, tuple | list) or len(band) != 2:
            raise ConfigError(f"judge_band must be two numbers (low, high), got a {type(band).__name__}")
        if doubt not in DOUBTS:
            raise UnknownOption("judge_doubt", doubt, DOUBTS)
        if budget is not None and not isinstance(budget, JudgeBudget):
            raise ConfigError(f"judge_budget must be a JudgeBudget, got a {type(budget).__name__}")
        self.band = Band(low=band[0], high=band[1])
        self.budget = budget or JudgeBudget()
        self.doubt: Doubt = doubt
        self.usage = JudgeUsage()
        self._ask: Callable[..., Any] = ask
        self._aask: Callable[..., Any] = getattr(judge, "ajudge", None) or ask
        self._on_usage = on_usage
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[Any, ...], JudgeVerdict] = OrderedDict()

    def session(self, question: str = "") -> JudgeSession:
        """Return what asks the judge for one answer to a question."""
        return JudgeSession(self, question)

    def remembered(self, key: tuple[Any, ...]) -> JudgeVerdict | None:
        """Return the verdict given earlier on the same claim, evidence and question."""
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
            return self._cache.get(key)

    def remember(self, key: tuple[Any, ...], verdict: JudgeVerdict) -> None:
        """Keep a verdict; the oldest ones go first."""
        with self._lock:
            self._cache[key] = verdict
            while len(self._cache) > CACHED:
                self._cache.popitem(last=False)

    def count(self, usage: JudgeUsage) -> None:
        """Add what a call took to the totals."""
        with self._lock:
            self.usage += usage
        if self._on_usage is not None:
            self._on_usage(usage)

    def bound(self, question: str, *, is_async: bool) -> Callable[..., Any]:
        """Return the judge as a function of items alone."""
        ask = self._aask if is_async else self._ask
        return (lambda items: ask(items, question=question)) if _takes_question(ask) else ask


def _takes_question(ask: Callable[..., Any]) -> bool:
    try:
        return "question" in inspect.signature(ask).parameters
    except (TypeError, ValueError):  # a function of another language tells nothing of its parameters
        return False


class JudgeSession:
    """Asks a panel's judge about the clauses of one answer, as long as the budget lasts."""

    def __init__(self, panel: JudgePanel, question: str) -> None:
        self._panel, self._question = panel, question
        self._spent = JudgeUsage()

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeVerdict | None]:
        """Return a verdict for each question, or None."""
        found, waiting = self._looked_up(questions)
        ask = self._panel.bound(self._question, is_async=False)
        while batch := self._next(waiting):
            began = time.monotonic()
            calls = SyncCalls(each=self._seconds_left, total=None, clock=time.monotonic)
            try:
                answer = calls.bind("judge", ask)([questions[place] for place in batch])
                if inspect.iscoroutine(answer):
                    answer.close()  # nobody can await it here
            except BaseException as error:
                if must_pass(error):
                    raise
                answer = None
            finally:
                calls.leave()
            self._take(answer, batch, questions, found, time.monotonic() - began)
        return self._finished(found)

    async def acall(self, questions: Sequence[JudgeQuestion]) -> list[JudgeVerdict | None]:
        """Return the same without blocking the event loop; a call that is late is cancelled."""
        found, waiting = self._looked_up(questions)
        ask = self._panel.bound(self._question, is_async=True)
        while batch := self._next(waiting):
            began = time.monotonic()
            calls = AsyncCalls(each=self._seconds_left, total=None, clock=time.monotonic)
            try:
                answer = await calls.bind("judge", ask)([questions[place] for place in batch])
            except BaseException as error:
                if must_pass(error):
                    raise
                answer = None
            finally:
                calls.leave()
            self._take(answer, batch, questions, found, time.monotonic() - began)
        return self._finished(found)

    def _looked_up(self, questions: Sequence[JudgeQuestion]) -> tuple[list[JudgeVerdict | None], list[int]]:
        """Return what is known of each question, and the places of those that are to be asked."""
        found = [self._panel.remembered(self._key(each)) for each in questions]
        waiting = [place for place, verdict in enumerate(found) if verdict is None]
        usage = JudgeUsage(clauses=len(questions), cached=len(questions) - len(waiting))
        self._panel.count(usage)
        return found, waiting

    def _next(self, waiting: list[int]) -> list[int]:
        """Take the places of the next call from those that wait; none where nothing more may be spent."""
        budget, spent = self._panel.budget, self._spent
        is_over = (
            spent.calls >= budget.calls
            or self._seconds_left <= 0.0
            or spent.input_tokens + spent.output_tokens >= budget.tokens
        )
        if is_over:
            return []
        batch = waiting[: budget.clauses_per_call]
        del waiting[: budget.clauses_per_call]
        return batch

    @property
    def _seconds_left(self) -> float:
        return self._panel.budget.seconds - self._spent.seconds

    def _take(
        self,
        answer: Any,
        batch: Sequence[int],
        questions: Sequence[JudgeQuestion],
        found: list[JudgeVerdict | None],
        seconds: float,
    ) -> None:
        verdicts = read_judge_verdicts(answer, len(batch))
        for place, verdict in zip(batch, verdicts, strict=True):
            found[place] = verdict
            if verdict is not None:
                self._panel.remember(self._key(questions[place]), verdict)
        usage = JudgeUsage(
            calls=1,
            seconds=seconds,
            input_tokens=_tokens(answer, "input_tokens"),
            output_tokens=_tokens(answer, "output_tokens"),
        )
        self._spent += usage
        self._panel.count(usage)

    def _finished(self, found: list[JudgeVerdict | None]) -> list[JudgeVerdict | None]:
        if missed := sum(verdict is None for verdict in found):
            self._panel.count(JudgeUsage(missed=missed))
        return found

    def _key(self, question: JudgeQuestion) -> tuple[Any, ...]:
        claim, chunks = question
        return claim, self._question, *((chunk.source, chunk.text) for chunk in chunks)


def _tokens(answer: Any, name: str) -> int:
    count = getattr(answer, name, 0)
    return count if type(count) is int and count > 0 else 0
