"""Test doubles: scripted streams, scorers that fail on cue, and a clock that moves when told.

They are used by this package's own tests and are meant for yours.
"""

from __future__ import annotations

import math
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.types import CoherenceScore, EvidenceChunk, ScoringEvidence
from director_ai.errors import UnknownOption

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping

__all__ = ["FAULTS", "ManualClock", "ScriptedReviewer", "ScriptedScorer", "ScriptedTokens", "make_fault"]


class ScriptedTokens:
    """A token source that yields a script, to synchronous and asynchronous readers alike.

    `error` is raised once the script is over; `stall` is called before the token of that index is given. `given` counts
    the tokens, `closed` tells whether a reader that stopped early closed the source.
    """

    def __init__(
        self,
        tokens: Iterable[Any],
        *,
        error: BaseException | None = None,
        stall: tuple[int, Callable[[], object]] | None = None,
    ) -> None:
        self._tokens = list(tokens)
        self._error = error
        self._stall = stall
        self.given = 0
        self.closed = False

    def __iter__(self) -> Iterator[Any]:
        return self._generate()

    async def __aiter__(self) -> AsyncIterator[Any]:
        source = self._generate()
        try:
            for token in source:
                yield token
        finally:
            source.close()

    def _generate(self) -> Generator[Any]:
        try:
            for index, token in enumerate(self._tokens):
                if self._stall is not None and index == self._stall[0]:
                    self._stall[1]()
                self.given += 1
                yield token
            if self._error is not None:
                raise self._error
        finally:
            self.closed = True


class ScriptedScorer:
    """A coherence callback that answers from a script; the last answer repeats. `calls` holds what it was asked.

    An answer that is an exception is raised; one that can be called is called with the text.
    """

    def __init__(self, answers: Iterable[Any]) -> None:
        self._answers = list(answers)
        self.calls: list[str] = []

    def __call__(self, text: str) -> Any:
        answer = self._answers[min(len(self.calls), len(self._answers) - 1)]
        self.calls.append(text)
        if isinstance(answer, BaseException):
            raise answer
        return answer(text) if callable(answer) else answer


class ScriptedReviewer:
    """A scorer whose `review` finds the same evidence for every text, with one divergence per fact."""

    def __init__(self, facts: Mapping[str, tuple[str, float]], *, score: float = 0.2, threshold: float = 0.5) -> None:
        self._facts = facts
        self._score = score
        self._threshold = threshold
        self.calls: list[tuple[str, str]] = []

    def review(self, prompt: str, text: str) -> tuple[bool, CoherenceScore]:
        """Return `(approved, CoherenceScore)` with `{source: (fact, divergence)}` as evidence."""
        self.calls.append((prompt, text))
        evidence = ScoringEvidence(
            chunks=[EvidenceChunk(fact, 0.1 * i, source) for i, (source, (fact, _)) in enumerate(self._facts.items())],
            nli_premise=" ".join(fact for fact, _ in self._facts.values()),
            nli_hypothesis=text,
            nli_score=1.0 - self._score,
            chunk_scores=[divergence for _, divergence in self._facts.values()],
        )
        approved = self._score >= self._threshold
        return approved, CoherenceScore(self._score, approved, 1.0 - self._score, 1.0 - self._score, evidence)


class ManualClock:
    """A clock that stands still until `advance` moves it."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Move time on."""
        self.now += seconds


class Panic(BaseException):
    """What a crashing extension module raises: no Exception, and no interrupt either."""


_NUMBERS: Final = {"nan": math.nan, "plus_inf": math.inf, "minus_inf": -math.inf, "below_0": -0.01, "above_1": 1.01}
_OTHERS: Final = {"none": None, "str": "0.9", "bool": True, "wrong_batch": [0.9, 0.9]}
_RAISED: Final = {"raises": RuntimeError, "panics": Panic, "cancelled": CancelledError}

FAULTS: Final = (*_RAISED, *_NUMBERS, *_OTHERS, "hangs", "slow")
"""Every way in which a callback can let a stream down, by name."""


def make_fault(name: str, *, release: threading.Event | None = None) -> Callable[..., Any]:
    """Return a function that fails in the named way.

    `hangs` waits for `release`, a minute at the most; `slow` gives a good answer after a second.
    """
    if name in _RAISED:

        def fail(*_: Any) -> Any:
            raise _RAISED[name]

        return fail
    if name in ("hangs", "slow"):
        gate, seconds = release or threading.Event(), 60.0 if name == "hangs" else 1.0
        return lambda *_: gate.wait(seconds) or 0.9
    answers = {**_NUMBERS, **_OTHERS}
    if name not in answers:
        raise UnknownOption("fault", name, FAULTS)
    return lambda *_: answers[name]
