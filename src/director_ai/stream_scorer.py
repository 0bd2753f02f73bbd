"""Scores one stream clause by clause: what was scored once is not scored again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from director_ai.core.segment import ClauseSegmenter

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence

    from director_ai.core.scoring.coherence import ClauseVerdict
    from director_ai.core.segment import Clause
    from director_ai.core.types import CoherenceScore

__all__ = ["StreamScorer"]


class StreamScorer:
    """Coherence of a stream so far: that of its worst complete clause; an open clause does not lower it.

    `kernel.stream_tokens(stream.clauses(tokens), stream)` releases nothing that was not judged: the kernel is given
    whole clauses, and asks for the coherence of each before it lets it go. `feed` and `finish` are the same for callers
    of their own. After the last clause the score equals that of a review of the whole text, exactly.
    """

    def __init__(
        self,
        judge: Callable[[Sequence[Clause]], list[ClauseVerdict]],
        combine: Callable[[Sequence[ClauseVerdict]], CoherenceScore],
    ) -> None:
        self._judge, self._combine = judge, combine
        self._segmenter = ClauseSegmenter()
        self._cut: list[Clause] = []  # handed out by `clauses` and not judged yet
        self._verdicts: list[ClauseVerdict] = []
        self._coherence = 1.0

    @property
    def coherence(self) -> float:
        """Of everything that was judged so far."""
        return self._coherence

    @property
    def verdicts(self) -> tuple[ClauseVerdict, ...]:
        """On each clause so far, in order."""
        return tuple(self._verdicts)

    @property
    def score(self) -> CoherenceScore:
        """The whole score of what was judged so far."""
        return self._combine(self._verdicts)

    def __call__(self, token: str) -> float:
        """Take what the kernel asks about and return the coherence: a clause of `clauses`, or the next token."""
        if self._cut:
            clauses, self._cut = self._cut, []
            self._take(clauses)
        else:
            self.feed(token)
        return self._coherence

    def clauses(self, tokens: Iterable[Any]) -> Iterator[Any]:
        """Yield a stream clause by clause, to its end, so that a kernel scores and releases whole clauses."""
        for token in tokens:
            if not isinstance(token, str):
                yield token  # the kernel refuses it, with a reason
                return
            yield from self._hand_out(self._segmenter.feed(token))
        yield from self._hand_out(self._segmenter.finish())

    async def aclauses(self, tokens: AsyncIterable[Any]) -> AsyncIterator[Any]:
        """Yield the same of an asynchronous stream."""
        async for token in tokens:
            if not isinstance(token, str):
                yield token
                return
            for clause in self._hand_out(self._segmenter.feed(token)):
                yield clause
        for clause in self._hand_out(self._segmenter.finish()):
            yield clause

    def _hand_out(self, clauses: Sequence[Clause]) -> Iterator[str]:
        for clause in clauses:
            self._cut.append(clause)
            yield clause.text

    def feed(self, token: str) -> list[ClauseVerdict]:
        """Take the next piece of the stream; return the verdicts on the clauses that are now complete."""
        return self._take(self._segmenter.feed(token))

    def finish(self) -> list[ClauseVerdict]:
        """The stream is at its end; return the verdicts on its last clauses."""
        return self._take(self._segmenter.finish())

    def _take(self, clauses: Sequence[Clause]) -> list[ClauseVerdict]:
        if not clauses:
            return []
        found = self._judge(clauses)
        self._verdicts += found
        self._coherence = min([self._coherence, *(verdict.coherence for verdict in found)])
        return found
