"""The clauses of a stream that is JSON: its string values are texts of their own, and numbers are values to compare."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final

from director_ai.core.borders import CLOSERS, abbreviation
from director_ai.core.clause_source import PlacedClause
from director_ai.core.json_lexer import JsonLexer, Prose, Scalar, StringClosed, StringOpened, StringText
from director_ai.core.segment import MAX_CLAUSE, ClauseSegmenter
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from director_ai.core.json_lexer import JsonEvent
    from director_ai.core.segment import Clause

__all__ = ["JsonClauses", "key_in_words", "reads_as_prose"]

_FEW_WORDS: Final = 4
"""A value of fewer words that has no sentence end is no prose."""
_STOPS: Final = ".!?…‼⁇⁈⁉"
_FULL_STOPS = re.compile("[。！？｡︒﹒﹖﹗؟۔।॥։።፧။។៕᠃᠉]")  # of scripts that need no space after a sentence
_BEFORE_WORD: Final = "\"'“‘«([{*_~—–-"
_PARTS_OF_KEY = re.compile(r"[\W_]+|(?<=[^\W_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class JsonClauses:
    """The clauses of the string values of a JSON stream, and of all that follows where it stops being JSON."""

    def __init__(self) -> None:
        self._lexer = JsonLexer()
        self._string: _StringClauses | None = None
        self._prose: _ProseRest | None = None
        self._scalar: PlacedClause | None = None  # the last number, while it may still turn out to begin prose
        self._finished = False

    @property
    def settled(self) -> int:
        """Where the open clause begins; outside of clauses, how far the stream was read."""
        open_text = self._string or self._prose
        return self._lexer.settled if open_text is None else open_text.settled

    @property
    def held(self) -> str:
        """The open clause so far, decoded."""
        open_text = self._string or self._prose
        return "" if open_text is None else open_text.held

    def feed(self, text: str) -> list[PlacedClause]:
        """Take the next piece of the stream; return the clauses that are now complete."""
        if self._finished:
            raise ConfigError("feed() was called after finish(); a new stream needs an object of its own")
        if not isinstance(text, str):
            raise ConfigError(f"a token must be a str, got {type(text).__name__}")
        # join makes a plain str of a subclass without calling its methods.
        clauses = [clause for event in self._lexer.feed("".join((text,))) for clause in self._take(event)]
        is_certain = self._scalar is not None and self._lexer.settled >= self._scalar.end
        return clauses + self._take_scalar() if is_certain else clauses

    def finish(self) -> list[PlacedClause]:
        """The stream is at its end; return what an open string holds, and the last clauses."""
        if self._finished:
            return []
        self._finished = True
        clauses = [clause for event in self._lexer.finish() for clause in self._take(event)] + self._take_scalar()
        open_text = self._string or self._prose
        self._string = None
        return clauses if open_text is None else clauses + open_text.finish()

    def _take(self, event: JsonEvent) -> list[PlacedClause]:
        if self._scalar and isinstance(event, Prose) and event.place <= self._scalar.start:
            self._scalar = None
        clauses = self._take_scalar()
        match event:
            case StringOpened():
                self._string = _StringClauses(event.place, event.key, self._members())
            case StringText() if self._string:
                clauses += self._string.feed(event)
            case StringClosed() if self._string:
                clauses += self._string.finish()
                self._lexer.note(self._string.key, self._string.value)
                self._string = None
            case Scalar() if event.key and event.text:
                self._scalar = self._placed(event)
                self._lexer.note(event.key, event.text)
            case Prose():
                self._prose = self._prose or _ProseRest(event.place)
                clauses += self._prose.feed(event.text)
        return clauses

    def _members(self) -> tuple[tuple[str, str], ...]:
        return tuple((key_in_words(key), value) for key, value in self._lexer.members)

    def _take_scalar(self) -> list[PlacedClause]:
        scalar, self._scalar = self._scalar, None
        return [] if scalar is None else [scalar]

    def _placed(self, event: Scalar) -> PlacedClause | None:
        if event.text not in {"true", "false"} and not event.text.lstrip("-")[:1].isdigit():
            return None  # null, NaN and Infinity say nothing
        return PlacedClause(
            text=event.text,
            start=event.start,
            end=event.end,
            label=key_in_words(event.key),
            siblings=self._members(),
            is_scalar=True,
        )


class _ProseRest:
    """What follows the first mistake."""

    def __init__(self, start: int) -> None:
        self._segmenter = ClauseSegmenter()
        self._start = start
        self.settled = start

    @property
    def held(self) -> str:
        return self._segmenter.held

    def feed(self, text: str) -> list[PlacedClause]:
        return [self._placed(clause) for clause in self._segmenter.feed(text)]

    def finish(self) -> list[PlacedClause]:
        return [self._placed(clause) for clause in self._segmenter.finish()]

    def _placed(self, clause: Clause) -> PlacedClause:
        self.settled = self._start + clause.end
        return PlacedClause(text=clause.text, start=self._start + clause.start, end=self.settled, kind=clause.kind)


class _StringClauses:
    """The clauses of one string value.

    Its beginning waits until it is known to be prose, since a short value is one clause whatever is in it. White space
    alone is no clause.
    """

    def __init__(self, start: int, key: str, siblings: tuple[tuple[str, str], ...]) -> None:
        self.settled = start
        self.value = ""
        """All of it, if it is short and no prose."""
        self.key, self._siblings = key, siblings
        self._segmenter = ClauseSegmenter()
        self._places = _Places(start)
        self._opening: str | None = ""
        self._is_wordless = False  # longer than a clause may be, and its beginning was no prose

    @property
    def held(self) -> str:
        return self._segmenter.held if self._opening is None else self._opening

    def feed(self, event: StringText) -> list[PlacedClause]:
        self._places.add(event)
        if self._opening is None:
            return self._placed(self._segmenter.feed(event.text))
        before = len(self._opening)
        self._opening += event.text
        is_prose = (
            _FULL_STOPS.search(event.text, 0, MAX_CLAUSE - before) is not None  # earlier text was searched as it came
            or reads_as_prose(self._opening[:MAX_CLAUSE], ended=False)
        )
        if not is_prose and len(self._opening) <= MAX_CLAUSE:
            return []
        self._is_wordless = not is_prose
        return self._placed(self._cut_opening())

    def finish(self) -> list[PlacedClause]:
        is_word = self._opening is not None and len(self._opening.split()) < 2  # "Yes." says nothing without its key
        if self._opening is not None and (is_word or not reads_as_prose(self._opening, ended=True)):
            is_blank = not self._opening or self._opening.isspace()
            self.value = self._opening
            return [] if is_blank else [self._place(self._opening, 0, label=key_in_words(self.key))]
        return self._placed([*self._cut_opening(), *self._segmenter.finish()])

    def _cut_opening(self) -> list[Clause]:
        opening, self._opening = self._opening or "", None
        return self._segmenter.feed(opening)

    def _placed(self, clauses: list[Clause]) -> list[PlacedClause]:
        placed = [self._place(each.text, each.start, each) for each in clauses]
        return [clause for clause in placed if not clause.text.isspace()]

    def _place(self, text: str, start: int, clause: Clause | None = None, *, label: str = "") -> PlacedClause:
        if self._is_wordless and not reads_as_prose(text, ended=True):
            label = key_in_words(self.key)
        begin, self.settled, places = self._places.take(start, start + len(text))
        return PlacedClause(
            text=text,
            start=begin,
            end=self.settled,
            kind="prose" if clause is None else clause.kind,
            label=label,
            places=places,
            siblings=self._siblings if label else (),
            escaped=True,
        )


class _Places:
    """Where in the stream the characters of one decoded string stand. Asked for in order, each stretch once."""

    def __init__(self, start: int) -> None:
        self._marks = deque([(0, start)])  # from each index on, characters and places go in step, up to the next mark
        self._length = 0

    def add(self, event: StringText) -> None:
        self._marks.extend((self._length + at, place) for at, place in event.jumps)
        self._length += len(event.text)

    def take(self, start: int, end: int) -> tuple[int, int, tuple[int, ...] | None]:
        """Return the places of two indices, and of all from one to the other unless they go in step."""
        places: list[int] = []
        marks, at = self._marks, start
        index, place = marks[0]
        while len(marks) > 1 and marks[1][0] <= end:
            places.extend(range(place + at - index, place + marks[1][0] - index))
            marks.popleft()
            index, place = marks[0]
            at = index
        if at == start:
            return place + start - index, place + end - index, None
        places.extend(range(place + at - index, place + end - index + 1))
        return places[0], places[-1], tuple(places)


def reads_as_prose(text: str, *, ended: bool) -> bool:
    """Whether a value has four words or the end of a sentence; unless it has ended, its last word may go on."""
    words = text.split(None, _FEW_WORDS)
    if len(words) >= _FEW_WORDS:
        return True
    whole = words if ended or text[-1:].isspace() else words[:-1]
    has_stop = any(_ends_sentence(word, previous) for previous, word in zip(["", *whole], whole, strict=False))
    return has_stop or (ended and _FULL_STOPS.search(text) is not None)


def _ends_sentence(word: str, previous: str) -> bool:
    bare = word.rstrip(CLOSERS)
    if bare[-1:] == "." and bare[-2:-1] not in _STOPS:
        return abbreviation(bare[:-1].lstrip(_BEFORE_WORD), previous) is None
    return bare != "" and bare[-1] in _STOPS


def key_in_words(key: str) -> str:
    """Return the words of a key that is written as one: "refundWindow", "refund_window" and "refund-window"."""
    if len(key.split()) > 1:
        return " ".join(key.split())
    words = [word for word in _PARTS_OF_KEY.split(key) if word]
    is_shouted = key.isupper()
    return " ".join(word if word.isupper() and not is_shouted and len(word) > 1 else word.lower() for word in words)
