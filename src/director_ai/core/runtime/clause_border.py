"""Where a soft halt may end: at the end of the clause in which it fell, and no further."""

from __future__ import annotations

from director_ai.core.segment import ClauseSegmenter

__all__ = ["ClauseBorder"]


class ClauseBorder:
    """Follows a stream and, once a halt was called, keeps what comes until the clause it fell in is complete."""

    def __init__(self) -> None:
        self._segmenter = ClauseSegmenter()
        self._fed = 0
        self._halt_offset: int | None = None
        self._border: int | None = None
        self._waiting: list[str] = []
        self._waiting_from = 0

    @property
    def reached(self) -> bool:
        """Whether the clause in which the halt fell is complete."""
        return self._border is not None

    @property
    def waiting(self) -> list[str]:
        """What was judged and waits for the border."""
        return self._waiting

    def follow(self, tokens: list[str]) -> None:
        """Read tokens on their way out."""
        for token in tokens:
            self._fed += len(token)
            for clause in self._segmenter.feed(token):
                if self._halt_offset is not None and self._border is None and clause.end > self._halt_offset:
                    self._border = clause.end

    def keep(self, tokens: list[str]) -> list[str]:
        """Take tokens of a halted stream, the first time those it was halted for; return what may leave.

        That is nothing until the border is reached. A token that reaches beyond it is cut there; the rest waits on.
        """
        if self._halt_offset is None:
            self._halt_offset = self._waiting_from = self._fed
        self._waiting += tokens
        self.follow(tokens)
        return self._complete()

    def finish(self) -> list[str]:
        """The text is at its end, where a clause ends, too; return what may leave."""
        if self._halt_offset is not None and self._border is None:
            ends = (clause.end for clause in self._segmenter.finish())
            self._border = next((end for end in ends if end > (self._halt_offset or 0)), self._fed)
        return self._complete()

    def _complete(self) -> list[str]:
        leaving: list[str] = []
        while self._border is not None and self._waiting_from < self._border:
            token = self._waiting.pop(0)
            kept = token[: self._border - self._waiting_from]
            if kept != token:
                self._waiting.insert(0, token[len(kept) :])
            self._waiting_from += len(kept)
            leaving.append(kept)
        return leaving

    def rest(self) -> list[str]:
        """Return what is still waiting."""
        waiting, self._waiting = self._waiting, []
        return waiting
