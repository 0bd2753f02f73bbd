"""Reads JSON as it is streamed and knows, at every character, where it could stop.

`JsonPrefix` is fed pieces of any size and keeps offsets only, never the text: its owner keeps that. A *valid point*
is an offset where the text read so far becomes a JSON document by adding the brackets still missing: the end of a
value, or just after an opened bracket. Every push and every pop is itself a valid point, so the brackets open at the
last one are those open now, and no snapshot of them is ever needed.

The grammar is RFC 8259 without extensions. Text before the first bracket and after the value is skipped and noted.
The first mistake stops the reading; the last valid point stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MAX_DEPTH", "MAX_NUMBER", "MAX_SPANS", "JsonCut", "JsonPrefix", "ValueSpan"]

MAX_DEPTH: Final = 256
"""What is read here is parsed again by `json.loads`, which recurses: 256 levels fit any sensible stack."""
MAX_NUMBER: Final = 400
"""Python may be told to refuse integers of more than 640 digits, and never of fewer."""
MAX_SPANS: Final = 10_000
"""More calls than that in one answer are no calls; reading on would only cost time."""

_State = Literal[
    "start", "prose", "value", "first_value", "key", "first_key", "colon", "next",
    "string", "key_string", "number", "end", "after", "failed",
]  # fmt: skip

# No character can be read in two ways, so none of these tries again what it has passed: hostile text costs one look per
# character. Possessive repeats would say so, but CPython runs them wrongly before 3.11.5.
_BLANK = frozenset(" \t\r\n")
_SPACE = re.compile(r"[ \t\r\n]*")
_SPACE_OR_FENCE = re.compile(r"[ \t\r\n`]*")
_OPENER = re.compile(r"[\[{]")
_STRING_BODY = re.compile(r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*){0,1000}')
_OPEN_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_LITERAL = re.compile(r"true|false|null")
_OPEN_LITERAL = re.compile(r"(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)\Z")
_NUMBER_RUN = re.compile(r"[-+.0-9eE]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
# A run of short numbers and literals in a list, taken in one step: a table of a million figures is common enough.
# Bounded, because the engine remembers every round.
_SIMPLE_ELEMENTS = re.compile(r"(?:[ \t\r\n]*(?:0|-?[1-9][0-9]{0,15}|true|false|null),){1,1000}")
_AFTER_NUMBER = _BLANK | frozenset(",]}")
_CLOSER = {"[": "]", "{": "}"}
_CALL_PLACES = {(), ("[",), ("{", "[")}


class ValueSpan(NamedTuple):
    """Where a complete value lies, and the key of the list it is in when that list is a member of an object."""

    start: int
    end: int
    depth: int
    list_key: tuple[int, int] | None


class _Frame(NamedTuple):
    bracket: str
    start: int
    key: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonCut:
    """Where the text read so far stands. All offsets are in code points from the start of the stream."""

    begin: int | None
    """Where the value begins; None while none has begun."""
    safe: int | None
    """The last valid point; None before the first."""
    open_value: int | None
    """Where a value was cut, or would have begun after a colon or a comma."""
    open_string: bool
    """The cut value is a string, its opening quote at `open_value`."""
    opened: tuple[tuple[str, tuple[int, int] | None], ...]
    """The open brackets, outermost first, each with the span of the key it stands under."""
    complete: bool
    dropped: bool
    """Something begun after the last valid point is not part of it."""
    values: int
    errors: tuple[str, ...]

    @property
    def closers(self) -> str:
        return "".join(_CLOSER[bracket] for bracket, _ in reversed(self.opened))


class JsonPrefix:
    """The state of one stream. `sequence` reads any number of objects and arrays one after another, and keeps spans."""

    __slots__ = (
        "_base", "_begin", "_carry", "_errors", "_key", "_number", "_safe", "_sequence",
        "_stack", "_start", "_state", "_values", "_whole", "seen", "spans",
    )  # fmt: skip

    def __init__(self, *, sequence: bool = False) -> None:
        self.seen = 0
        self.spans: list[ValueSpan] = []
        """With `sequence`: objects at the top, elements of a list at the top, elements of a list in such an object."""
        self._sequence = sequence
        self._state: _State = "start"
        self._stack: list[_Frame] = []
        self._errors: list[str] = []
        self._carry = ""  # half an escape or half a literal: at most five characters, read again with the next piece
        self._number = ""
        self._base = 0  # offset of the first character of the piece being read
        self._start = -1  # offset of the scalar or key last begun
        self._key: tuple[int, int] | None = None
        self._begin: int | None = None
        self._safe: int | None = None
        self._values = 0
        self._whole = 0  # complete values at the top

    def feed(self, text: str) -> None:
        """Read on; the cost depends on the length of `text` alone."""
        self._base = self.seen - len(self._carry)
        self.seen += len(text)
        text = self._carry + text
        self._carry = ""
        pos, end = 0, len(text)
        while pos < end:
            pos = _READERS[self._state](self, text, pos)

    def cut(self, *, ended: bool) -> JsonCut:
        """What stands if nothing more comes; `ended` when the model stopped by itself: an open number is then whole."""
        state, safe, values, whole = self._state, self._safe, self._values, self._whole
        if ended and state == "number" and _NUMBER.fullmatch(self._number):
            state, safe, values = "next", self.seen, values + 1
            whole += not self._stack
        in_scalar = state in {"string", "number"} or bool(self._carry and state in {"value", "first_value"})
        owed = state == "value" and bool(self._stack)
        complete = whole > 0 and not self._stack
        errors = list(self._errors)
        if self._begin is None:
            errors.append("no_value")
        elif ended and not complete and state != "failed":
            errors.append(f"unexpected_end offset={self.seen}")
        return JsonCut(
            begin=self._begin,
            safe=safe,
            open_value=self._start if in_scalar else self.seen if owed else None,
            open_string=state == "string",
            opened=tuple((frame.bracket, frame.key) for frame in self._stack),
            complete=complete,
            dropped=in_scalar or state in {"value", "key", "key_string", "colon", "failed"},
            values=values,
            errors=tuple(errors),
        )

    # Each reader takes the piece and a position in it and returns the position it reached.

    def _read_start(self, text: str, pos: int) -> int:
        if self._base + pos == 0 and text[pos] == "\ufeff":
            return pos + 1
        if text[pos] in _BLANK:
            return _skip_space(text, pos)
        self._state = "prose" if self._sequence and text[pos] not in _CLOSER else "value"
        return pos

    def _read_prose(self, text: str, pos: int) -> int:
        opener = _OPENER.search(text, pos)
        if opener is None:
            return len(text)
        if not self._whole:
            self._errors.append(f"text_before characters={self._base + opener.start()}")
        return self._read_value(text, opener.start())

    def _read_value(self, text: str, pos: int) -> int:
        char = text[pos]
        if char in _BLANK:
            return _skip_space(text, pos)
        if char in _CLOSER:
            return self._push(text, pos)
        if char == "]" and self._state == "first_value":
            return self._pop(pos)
        if self._stack and self._stack[-1].bracket == "[" and not self._sequence:
            simple = _SIMPLE_ELEMENTS.match(text, pos)
            if simple is not None:
                self._safe, self._state = self._base + simple.end() - 1, "value"
                self._values += text.count(",", pos, simple.end())
                return simple.end()
        self._start = self._base + pos
        if not self._stack:
            self._begin = self._start
        if char == '"':
            self._state = "string"
            return pos + 1
        if char in "-0123456789":
            self._state, self._number = "number", ""
            return self._read_number(text, pos)
        return self._read_literal(text, pos)

    def _read_literal(self, text: str, pos: int) -> int:
        literal = _LITERAL.match(text, pos)
        if literal is not None:
            self._complete(self._start, self._base + literal.end())
            return literal.end()
        if _OPEN_LITERAL.match(text, pos):
            self._carry = text[pos:]
            return len(text)
        return self._fail("unexpected_character", text, pos)

    def _read_string(self, text: str, pos: int) -> int:
        while (body := _STRING_BODY.match(text, pos)) and body.end() > pos:
            pos = body.end()
        if pos == len(text):
            return pos
        char = text[pos]
        if char == '"':
            end = self._base + pos + 1
            if self._state == "key_string":
                self._key, self._state = (self._start, end), "colon"
            else:
                self._complete(self._start, end)
            return pos + 1
        if char != "\\":
            return self._fail("control_character", text, pos)
        if _OPEN_ESCAPE.match(text, pos):
            self._carry = text[pos:]
            return len(text)
        return self._fail("bad_escape", text, pos)

    def _read_number(self, text: str, pos: int) -> int:
        run = _NUMBER_RUN.match(text, pos)
        end = run.end() if run else pos
        self._number += text[pos:end]
        if len(self._number) > MAX_NUMBER:
            return self._fail("number_too_long", text, end, offset=self._start)
        if end == len(text):
            return end
        if text[end] not in _AFTER_NUMBER or not _NUMBER.fullmatch(self._number):
            return self._fail("bad_number", text, end, offset=self._start)
        self._complete(self._start, self._base + end)
        return end

    def _read_key(self, text: str, pos: int) -> int:
        if text[pos] in _BLANK:
            return _skip_space(text, pos)
        if text[pos] == '"':
            self._start, self._state = self._base + pos, "key_string"
            return pos + 1
        if text[pos] == "}" and self._state == "first_key":
            return self._pop(pos)
        return self._fail("unexpected_character", text, pos)

    def _read_colon(self, text: str, pos: int) -> int:
        if text[pos] in _BLANK:
            return _skip_space(text, pos)
        if text[pos] != ":":
            return self._fail("unexpected_character", text, pos)
        self._state = "value"
        return pos + 1

    def _read_next(self, text: str, pos: int) -> int:
        char = text[pos]
        if char in _BLANK:
            return _skip_space(text, pos)
        bracket = self._stack[-1].bracket
        if char == ",":
            self._state = "key" if bracket == "{" else "value"
            return pos + 1
        if char == _CLOSER[bracket]:
            return self._pop(pos)
        return self._fail("unexpected_character", text, pos)

    def _read_end(self, text: str, pos: int) -> int:
        match = _SPACE_OR_FENCE.match(text, pos)
        pos = match.end() if match else pos
        if pos == len(text):
            return pos
        if not self._sequence and self._start == self._begin:
            return self._forget_scalar(pos)
        if self._sequence and text[pos] in _CLOSER:
            return self._push(text, pos)
        if not any(error.startswith("text_after") for error in self._errors):
            self._errors.append(f"text_after offset={self._base + pos}")
        self._state = "prose" if self._sequence else "after"
        return pos

    def _read_nothing(self, text: str, pos: int) -> int:  # noqa: ARG002 - one signature for all readers
        return len(text)

    def _push(self, text: str, pos: int) -> int:
        if len(self._stack) == MAX_DEPTH:
            return self._fail("too_deep", text, pos)
        bracket, start = text[pos], self._base + pos
        if not self._stack:
            self._begin = start
        key = self._key if self._stack and self._stack[-1].bracket == "{" else None
        self._stack.append(_Frame(bracket, start, key))
        self._safe = start + 1
        self._state = "first_key" if bracket == "{" else "first_value"
        return pos + 1

    def _pop(self, pos: int) -> int:
        self._complete(self._stack.pop().start, self._base + pos + 1)
        return pos + 1

    def _complete(self, start: int, end: int) -> None:
        self._safe = end
        self._values += 1
        depth = len(self._stack)
        self._state = "next" if depth else "end"
        self._whole += not depth
        if self._sequence and depth <= 2 and tuple(frame.bracket for frame in self._stack) in _CALL_PLACES:
            self.spans.append(ValueSpan(start, end, depth, self._stack[1].key if depth == 2 else None))
            if len(self.spans) == MAX_SPANS:
                self._errors.append(f"too_many_calls offset={end}")
                self._state = "failed"

    def _fail(self, word: str, text: str, pos: int, *, offset: int | None = None) -> int:
        # At the top, a letter, a dash or "3rd" is how prose begins: that is no mistake.
        if self._stack or word not in {"unexpected_character", "bad_number"}:
            self._errors.append(f"{word} offset={self._base + pos if offset is None else offset}")
        if not self._stack:
            return self._forget_scalar(pos)
        self._state = "failed"
        return len(text)

    def _forget_scalar(self, pos: int) -> int:
        # "3 items: [1, 2]" begins like a number: a scalar at the top that does not stand alone was prose.
        self._begin = self._safe = None
        self._values = self._whole = 0
        self._state = "prose"
        return pos


def _skip_space(text: str, pos: int) -> int:
    match = _SPACE.match(text, pos)
    return match.end() if match else pos


_READERS: dict[_State, Callable[[JsonPrefix, str, int], int]] = {
    "start": JsonPrefix._read_start,
    "prose": JsonPrefix._read_prose,
    "value": JsonPrefix._read_value,
    "first_value": JsonPrefix._read_value,
    "key": JsonPrefix._read_key,
    "first_key": JsonPrefix._read_key,
    "colon": JsonPrefix._read_colon,
    "next": JsonPrefix._read_next,
    "string": JsonPrefix._read_string,
    "key_string": JsonPrefix._read_string,
    "number": JsonPrefix._read_number,
    "end": JsonPrefix._read_end,
    "after": JsonPrefix._read_nothing,
    "failed": JsonPrefix._read_nothing,
}
