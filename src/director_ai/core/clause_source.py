"""Where the clauses of a stream come from: running prose, or a text of another shape in which prose is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from director_ai.core.json_lexer import escaped
from director_ai.core.segment import ClauseSegmenter

if TYPE_CHECKING:
    from director_ai.core.segment import Clause, ClauseKind

__all__ = ["ClauseSource", "PlacedClause", "ProseClauses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedClause:
    """A clause as it is read, and where in the stream it is written."""

    text: str
    start: int
    """Of its stretch of the stream, in code points."""
    end: int
    kind: ClauseKind = "prose"
    label: str = ""
    """What a value stands for that is no sentence: the key of a short JSON value."""
    places: tuple[int, ...] | None = None
    """Where each character of the text, and its end, stands in the stream; None where they follow one by one."""
    escaped: bool = False
    """It is written as part of a JSON string."""
    heading: str = ""
    """The heading or lead-in that it stands under."""
    preceding: tuple[str, ...] = ()
    """The clauses before it, as the model wrote them."""

    def place(self, at: int) -> int:
        """Return where in the stream a character of the text stands."""
        return self.start + at if self.places is None else self.places[at]

    def written(self, text: str) -> str:
        """Return a text as it must be written here."""
        return escaped(text) if self.escaped else text


class ClauseSource(Protocol):
    """Cuts one stream into clauses. Where they begin and end depends on the text alone, not on its tokens."""

    def feed(self, text: str) -> list[PlacedClause]:
        """Take the next piece of the stream; return the clauses that are now complete."""
        ...

    def finish(self) -> list[PlacedClause]:
        """The stream is at its end; return its last clauses."""
        ...

    @property
    def settled(self) -> int:
        """All before this place is in a clause that was returned, or is not to be judged (keys, figures, brackets)."""
        ...

    @property
    def held(self) -> str:
        """What has come of the open clause, as it is read."""
        ...


class ProseClauses:
    """The clauses of plain text and Markdown."""

    def __init__(self) -> None:
        self._segmenter = ClauseSegmenter()
        self._settled = 0

    @property
    def settled(self) -> int:
        """Where the open clause begins."""
        return self._settled

    @property
    def held(self) -> str:
        """The open clause so far."""
        return self._segmenter.held

    def feed(self, text: str) -> list[PlacedClause]:
        """Take the next piece of the stream; return the clauses that are now complete."""
        return self._placed(self._segmenter.feed(text))

    def finish(self) -> list[PlacedClause]:
        """The stream is at its end; return its last clauses."""
        return self._placed(self._segmenter.finish())

    def _placed(self, clauses: list[Clause]) -> list[PlacedClause]:
        if clauses:
            self._settled = clauses[-1].end
        return [PlacedClause(text=each.text, start=each.start, end=each.end, kind=each.kind) for each in clauses]
