"""Reads JSON as it is streamed and hands out its strings, decoded, with the place of every character.

Text that was handed out is not kept. Two short things wait: an escape that may go on in the next piece, and a figure or
a word (`30`, `true`), of which the next sign must say whether it was JSON or the beginning of a sentence.

It is read with patience, as lenient readers do: in strings control characters, and escapes that JSON does not know,
stand for themselves; NaN and Infinity are numbers; a byte order mark, and characters that cannot be seen, are blanks;
several values may follow one another. The first other sign that JSON does not allow, with the figure or word just
before it, and all that follows is prose. A fence around the JSON ("```json" in a line of its own, "```" behind it) is
no prose.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "MOST_DOUBT",
    "MOST_KEY",
    "JsonEvent",
    "JsonLexer",
    "KeyOpened",
    "Prose",
    "Scalar",
    "StringClosed",
    "StringOpened",
    "StringText",
    "escaped",
]

MOST_KEY: Final = 200
"""Only so much of a key is kept: longer ones name nothing."""
MOST_DOUBT: Final = 400
"""A longer number is JSON so far, and so is one with more white space behind it: it waits no longer."""
MOST_SCALAR: Final = 40
"""A longer number is no figure that anybody compares."""
_MOST_MEMBERS: Final = 12
_MOST_MEMBER: Final = 80
_SLICE: Final = 65_536
"""A huge token is read in such pieces, so that what is noted of it stays small."""


class StringOpened(NamedTuple):
    """A string begins that is a value."""

    place: int
    """Of its first character, after the quote."""
    key: str
    """The nearest key above it."""


class KeyOpened(NamedTuple):
    """A string begins that is a key."""

    place: int
    """Of its first character, after the quote."""


class Scalar(NamedTuple):
    """A number, or one of the words true, false and null; at the top level it may still turn out to be prose."""

    start: int
    end: int
    text: str = ""
    """As it is written; empty where it is long."""
    key: str = ""
    """Its own key; empty where it has none, as in a list."""


class StringText(NamedTuple):
    """More of the open string."""

    text: str
    jumps: list[tuple[int, int]]
    """After each escape that was longer than what it stands for: an index in the text, and its place in the stream."""


class StringClosed(NamedTuple):
    """The open string is complete."""


class Prose(NamedTuple):
    """Text that is not JSON; all that follows is of this kind, too."""

    text: str
    place: int


JsonEvent: TypeAlias = StringOpened | KeyOpened | StringText | StringClosed | Scalar | Prose
_Step: TypeAlias = tuple[int, JsonEvent | None]
_State = Literal[
    "value", "first_value", "key", "first_key", "colon", "next", "string", "key_string", "scalar", "fence", "prose"
]

_BLANK: Final = frozenset(" \t\r\n\ufeff\u200b\u200c\u200d\u200e\u200f\u2060\u00ad\u180e\u061c")
"""White space, and what cannot be seen and is removed as a disguise."""
_AFTER_SCALAR: Final = _BLANK | frozenset(",]}")
_AFTER_VALUE: Final = _AFTER_SCALAR | frozenset("{[")
"""At the top level another value may follow at once; behind a word a string, too, but `12"` are inches."""
_CLOSER: Final = {"[": "]", "{": "}"}
_LITERALS: Final = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_SPACE = re.compile(f"[{''.join(sorted(_BLANK))}]*")
_DIGITS = re.compile(r"[0-9]{3,}")
_SCALAR = re.compile(r"[-+.0-9A-Za-z]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_OPEN_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]*)?)?")

_OPENING = re.compile(r"(`{3,}|~{3,})(?:[ \t]*(?i:json))?[ \t]*\r?\n")
_CLOSING = re.compile(r"(`{3,}|~{3,})[ \t]*\r?\n?")
_OPEN_FENCE = re.compile(r"(?:`+|~+)(?:[ \t]*(?i:j(?:s(?:o(?:n[ \t]*)?)?)?)?\r?)?")

_SIMPLE: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = "[0-9a-fA-F]"
_HIGH = f"[dD][89abAB]{_HEX}{{2}}"
_PLAIN = re.compile(r'[^"\\]+')
_PAIR = re.compile(rf"\\u({_HIGH})\\u([dD][c-fC-F]{_HEX}{{2}})")
_CODE = re.compile(rf"\\u({_HEX}{{4}})")
_OPEN_ESCAPE = re.compile(
    # Where it is the first half of a pair, the second is part of it.
    rf"\\(?:u(?:{_HEX}{{0,3}}|{_HIGH}(?:\\(?:u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?)?))?\Z"
)


class JsonLexer:
    """The state of one stream."""

    def __init__(self) -> None:
        self._state: _State = "value"
        self._brackets: list[str] = []
        self._keys: list[str] = []  # for each open bracket, the key that a string in it would stand under
        self._members: list[list[tuple[str, str]]] = []  # for each open bracket, the values that it has so far
        self._key = ""  # the open key
        self._seen = 0
        self._base = 0  # place of the first character of the piece being read
        self._carry = ""  # an open escape: at most eleven characters, read again with the next piece
        self._doubt = ""  # figures and words not yet known to be JSON, and the white space after them
        self._scalar = ""  # the open one; where it is long, a short one in its place that can go on in the same ways
        self._scalar_place = 0
        self._fence = ""  # the marks that opened the fence around what is being read
        self._fence_at = 0  # where in the doubt the marks of one begin
        self._final = False

    @property
    def settled(self) -> int:
        """Outside of a string: all before this place is JSON and no value string."""
        return self._seen - len(self._doubt)

    @property
    def shown(self) -> int:
        """The same, and no number begins before it that is still open."""
        return min(self.settled, self._scalar_place) if self._state == "scalar" else self.settled

    @property
    def members(self) -> tuple[tuple[str, str], ...]:
        """The first keys and short values of the open object, behind those of the objects around it."""
        return tuple(member for members in self._members for member in members)

    def note(self, key: str, value: str) -> None:
        """Remember a value of the open object for those that come after it."""
        if self._members and key and len(value) <= _MOST_MEMBER and len(self._members[-1]) < _MOST_MEMBERS:
            self._members[-1].append((key, value))

    def feed(self, text: str) -> Iterator[JsonEvent]:
        """Read on; the cost depends on the length of the text alone."""
        for at in range(0, len(text), _SLICE):
            yield from self._read(text[at : at + _SLICE])

    def finish(self) -> Iterator[JsonEvent]:
        """The stream is at its end: an escape that was open stands for itself."""
        self._final = True
        yield from self._read("")
        doubt, self._doubt = self._doubt, ""
        if self._state == "fence" and not self._closes(doubt[self._fence_at :]):
            yield Prose(doubt, self._seen - len(doubt))
        elif self._state == "scalar":
            is_value = self._brackets or self._scalar_place < self._seen - len(doubt) or _is_scalar(self._scalar)
            self._complete()
            yield self._scalar_to(self._seen) if is_value else Prose(doubt, self._seen - len(doubt))

    def _read(self, piece: str) -> Iterator[JsonEvent]:
        text = self._carry + piece
        self._base = self._seen - len(self._carry)
        self._seen += len(piece)
        self._carry = ""
        at, end = 0, len(text)
        while at < end:
            at, event = _READERS[self._state](self, text, at)
            if event is not None:
                yield event

    # Each reader takes the piece and an index in it, and returns the index it reached and what it found.

    def _read_value(self, text: str, at: int) -> _Step:
        sign = text[at]
        if sign in _BLANK:
            return self._skip_space(text, at)
        if sign in _CLOSER:
            self._doubt = ""
            self._keys.append(self._keys[-1] if self._keys else "")
            self._members.append([])
            self._brackets.append(sign)
            self._state = "first_key" if sign == "{" else "first_value"
            return at + 1, None
        if sign == "]" and self._state == "first_value":
            return self._close(at)
        if sign == '"':
            self._doubt = ""
            self._state = "string"
            return at + 1, StringOpened(self._base + at + 1, self._keys[-1] if self._keys else "")
        if sign in "-0123456789tfnNI":
            if len(self._doubt) > MOST_DOUBT:
                self._doubt = ""
            self._scalar, self._scalar_place = "", self._base + at
            self._state = "scalar"
            return self._read_scalar(text, at)
        if sign in "`~" and not self._brackets and (self._fence or not self._doubt):
            self._fence_at = len(self._doubt)
            self._state = "fence"
            return self._read_fence(text, at)
        return self._break(text, at)

    def _read_fence(self, text: str, at: int) -> _Step:
        """Read on in the line of a fence that opens, or closes: it stays in doubt to its end."""
        line_end = text.find("\n", at) + 1
        end = line_end or len(text)
        marks = self._doubt[self._fence_at :] + text[at : min(end, at + MOST_DOUBT + 1)]
        if not line_end:
            if len(marks) > MOST_DOUBT or not _OPEN_FENCE.fullmatch(marks):
                return self._break(text, at)
            self._doubt += text[at:end]
            return end, None
        opening = None if self._fence else _OPENING.fullmatch(marks)
        if len(marks) > MOST_DOUBT or not (opening or self._closes(marks)):
            return self._break(text, at)
        self._fence = opening[1] if opening else ""
        self._doubt = ""
        self._state = "value"
        return end, None

    def _closes(self, marks: str) -> bool:
        closing = _CLOSING.fullmatch(marks)
        return closing is not None and self._fence != "" and closing[1].startswith(self._fence)

    def _read_scalar(self, text: str, at: int) -> _Step:
        found = _SCALAR.match(text, at)
        end = found.end() if found else at
        scalar = self._scalar + text[at:end]
        if not _may_be_scalar(scalar):
            good = _OPEN_NUMBER.match(scalar)
            return self._break_scalar(text, at, at + (good.end() if good else 0) - len(self._scalar))
        is_over = end < len(text)
        if is_over:
            follows = _AFTER_SCALAR if self._brackets else _AFTER_VALUE
            is_next = text[end] in follows or (text[end] == '"' and not self._brackets and scalar in _LITERALS)
            if not is_next or not _is_scalar(scalar):
                return self._break_scalar(text, at, end)
            self._complete()
        self._scalar = _DIGITS.sub("11", scalar) if len(scalar) > MOST_DOUBT else scalar
        self._doubt = "" if self._base + end - self._scalar_place > MOST_DOUBT else self._doubt + text[at:end]
        return end, self._scalar_to(self._base + end) if is_over else None

    def _scalar_to(self, end: int) -> Scalar:
        is_member = bool(self._brackets) and self._brackets[-1] == "{"
        text = self._scalar if end - self._scalar_place <= MOST_SCALAR else ""
        return Scalar(self._scalar_place, end, text, self._keys[-1] if is_member else "")

    def _break_scalar(self, text: str, at: int, end: int) -> _Step:
        """What is no number is prose; one that is longer than any in a sentence stays what it was up to there."""
        if self._base + end - self._scalar_place <= MOST_DOUBT:
            return self._break(text, at)
        self._doubt = ""
        return self._break(text, end)

    def _read_key(self, text: str, at: int) -> _Step:
        sign = text[at]
        if sign in _BLANK:
            return self._skip_space(text, at)
        if sign == '"':
            self._key, self._state = "", "key_string"
            return at + 1, KeyOpened(self._base + at + 1)
        if sign == "}" and self._state == "first_key":
            return self._close(at)
        return self._break(text, at)

    def _read_colon(self, text: str, at: int) -> _Step:
        if text[at] in _BLANK:
            return self._skip_space(text, at)
        if text[at] != ":":
            return self._break(text, at)
        self._state = "value"
        return at + 1, None

    def _read_next(self, text: str, at: int) -> _Step:
        sign = text[at]
        if sign in _BLANK:
            return self._skip_space(text, at)
        bracket = self._brackets[-1]
        if sign == _CLOSER[bracket]:
            return self._close(at)
        if sign != ",":
            return self._break(text, at)
        self._doubt = ""
        self._state = "key" if bracket == "{" else "value"
        return at + 1, None

    def _read_string(self, text: str, at: int) -> _Step:
        if text[at] == '"':
            self._complete()
            return at + 1, StringClosed()
        at, found = self._decode(text, at)
        return at, found if found.text else None

    def _read_key_string(self, text: str, at: int) -> _Step:
        if text[at] == '"':
            self._keys[-1] = self._key
            self._state = "colon"
            return at + 1, StringClosed()
        at, found = self._decode(text, at)
        self._key = (self._key + found.text)[:MOST_KEY]
        return at, found if found.text else None

    def _read_prose(self, text: str, at: int) -> _Step:
        return len(text), Prose(text[at:], self._base + at)

    def _skip_space(self, text: str, at: int) -> _Step:
        found = _SPACE.match(text, at)
        end = found.end() if found else at
        if self._doubt:
            self._doubt += text[at:end]
            if len(self._doubt) > MOST_DOUBT:
                self._doubt = ""
        return end, None

    def _close(self, at: int) -> _Step:
        self._doubt = ""
        self._brackets.pop()
        self._keys.pop()
        self._members.pop()
        self._complete()
        return at + 1, None

    def _complete(self) -> None:
        self._state = "next" if self._brackets else "value"

    def _break(self, text: str, at: int) -> _Step:
        doubt, self._doubt = self._doubt, ""
        self._state = "prose"
        return len(text), Prose(doubt + text[at:], self._base + at - len(doubt))

    def _decode(self, text: str, at: int) -> tuple[int, StringText]:
        """Read on in a string, up to its closing quote or the end of the piece."""
        parts: list[str] = []
        jumps: list[tuple[int, int]] = []
        length, end = 0, len(text)
        while at < end and text[at] != '"':
            plain = _PLAIN.match(text, at)
            if plain is not None:
                parts.append(plain[0])
                length += plain.end() - at
                at = plain.end()
                continue
            if not self._final and _OPEN_ESCAPE.match(text, at):
                self._carry, at = text[at:], end
                break
            char, width = _read_escape(text, at)
            parts.append(char)
            length, at = length + 1, at + width
            if width > 1:
                jumps.append((length, self._base + at))
        return at, StringText("".join(parts), jumps)


def escaped(text: str) -> str:
    """Return a text as it stands inside of a string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _read_escape(text: str, at: int) -> tuple[str, int]:
    """Return what the escape here stands for and how long it is; one that JSON does not know is a plain backslash."""
    simple = _SIMPLE.get(text[at + 1 : at + 2])
    if simple is not None:
        return simple, 2
    pair = _PAIR.match(text, at)
    if pair is not None:
        high, low = int(pair[1], 16), int(pair[2], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)), 12
    code = _CODE.match(text, at)
    if code is None:
        return "\\", 1
    char = chr(int(code[1], 16))
    return "\ufffd" if "\ud800" <= char <= "\udfff" else char, 6


def _is_scalar(text: str) -> bool:
    return text in _LITERALS or _NUMBER.fullmatch(text) is not None


def _may_be_scalar(text: str) -> bool:
    """Whether a number or a literal can begin like this."""
    return _OPEN_NUMBER.fullmatch(text) is not None or any(literal.startswith(text) for literal in _LITERALS)


_READERS: dict[_State, Callable[[JsonLexer, str, int], _Step]] = {
    "value": JsonLexer._read_value,
    "first_value": JsonLexer._read_value,
    "key": JsonLexer._read_key,
    "first_key": JsonLexer._read_key,
    "colon": JsonLexer._read_colon,
    "next": JsonLexer._read_next,
    "string": JsonLexer._read_string,
    "key_string": JsonLexer._read_key_string,
    "scalar": JsonLexer._read_scalar,
    "fence": JsonLexer._read_fence,
    "prose": JsonLexer._read_prose,
}
