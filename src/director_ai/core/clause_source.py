"""Where the clauses of a stream come from: running prose, or a text of another shape in which prose is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from director_ai.core.json_lexer import escaped
from director_ai.core.segment import Clause, ClauseSegmenter

if TYPE_CHECKING:
    from director_ai.core.segment import ClauseKind

__all__ = ["ClauseSource", "PlacedClause", "ProseClauses", "ValueClause"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueClause(Clause):
    """A value that is no sentence, as it is judged: its text names it and gives it."""

    label: str
    value: str
    siblings: tuple[tuple[str, str], ...] = ()
    """What the same object says before it: keys in words, and values."""
    is_scalar: bool = False
    """A number, true or false. What no fact contradicts is taken for a parameter."""


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
    siblings: tuple[tuple[str, str], ...] = ()
    """What the same JSON object says before a short value: keys in words, and values."""
    escaped: bool = False
    """It is written as part of a JSON string."""
    is_scalar: bool = False
    """It is a number, true or false in JSON."""
    headings: tuple[str, ...] = ()
    """The heading and the lead-in that it stands under."""
    preceding: tuple[str, ...] = ()
    """The clauses before it, as the model wrote them."""

    def place(self, at: int) -> int:
        """Return where in the stream a character of the text stands."""
        return self.start + at if self.places is None else self.places[at]

    def written(self, text: str) -> str:
        """Return a text as it must be written here; in place of a number that is taken out stands null."""
        if self.is_scalar:
            return "null"
        return escaped(text) if self.escaped else text

    def judged(self) -> Clause:
        """Return the clause as it is judged: a value that is no sentence with what it stands for."""
        if not self.label:
            return Clause(text=self.text, start=self.start, kind=self.kind, ends_sentence=True)
        return ValueClause(
            text=f"{self.label}: {self.text}",
            start=self.start,
            kind=self.kind,
            ends_sentence=True,
            label=self.label,
            value=self.text,
            siblings=self.siblings,
            is_scalar=self.is_scalar,
        )


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
