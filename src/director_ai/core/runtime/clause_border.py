"""Where a soft halt may end: at the next clause border, and no further."""

from __future__ import annotations

from director_ai.core.segment import ClauseSegmenter

__all__ = ["ClauseBorder"]


class ClauseBorder:
    """Follows a stream and, once a halt was called, keeps what comes until the clause it fell in is complete."""

    def __init__(self) -> None:
        self._segmenter = ClauseSegmenter()
        self._fed = 0
        self._halt_offset: int | None = None
        self._waiting: list[str] = []
        self._waiting_from = 0
        self._border = 0

    @property
    def reached(self) -> bool:
        """Whether the clause in which the halt fell is complete."""
        return self._halt_offset is not None and self._border >= self._halt_offset

    def halt_here(self) -> None:
        """The halt fell at the end of what was passed so far."""
        self._halt_offset = self._waiting_from = self._fed

    def follow(self, tokens: list[str]) -> None:
        """Read tokens on their way out."""
        for token in tokens:
            self._fed += len(token)
            for clause in self._segmenter.feed(token):
                if not self.reached:
                    self._border = clause.end

    def keep(self, tokens: list[str]) -> list[str]:
        """Take tokens after a halt; return what may leave, which is nothing until the border is reached.

        A token that reaches beyond the border is cut there.
        """
        self._waiting += tokens
        self.follow(tokens)
        leaving: list[str] = []
        while self.reached and self._waiting_from < self._border:
            token = self._waiting.pop(0)[: self._border - self._waiting_from]
            self._waiting_from += len(token)
            leaving.append(token)
        return leaving

    def rest(self) -> list[str]:
        """Return what is still waiting."""
        waiting, self._waiting = self._waiting, []
        return waiting
