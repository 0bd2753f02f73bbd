"""JSON as checks read it: its strings without escapes; and their edits in a form that leaves it JSON.

An escape must hide nothing from a check (`a\\u0040b.com`), and no edit may cut one in two, reach through a quote, or
put words where a number stood.
"""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import json
import re
from math import inf
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from director_ai.core.json_lexer import (
    JsonLexer,
    KeyOpened,
    Prose,
    Scalar,
    StringClosed,
    StringOpened,
    StringText,
    escaped,
)
from director_ai.core.merge import in_common

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from director_ai.core.json_lexer import JsonEvent
    from director_ai.core.merge import Edit

__all__ = ["JsonLens", "read_whole", "unescaped"]

_ODD: Final = re.compile(r'[^\s{}\[\],:"`~]')
"""What stands outside of strings and numbers only where something is no JSON."""
_MANY: Final = 1_024
"""Marks that are kept before those that nobody asks for any more are let go of."""


class _Part(NamedTuple):
    """Where something stands that can be changed: the inside of a string, a whole number or word, or no JSON."""

    start: int
    end: float
    kind: Literal["key", "text", "scalar", "prose"]


class JsonLens:
    """Follows the JSON that one gate reads. *Seen* places count in what checks read, *raw* ones in the stream."""

    def __init__(self) -> None:
        self._lexer = JsonLexer()
        self._waiting: list[str] = []  # what was not handed out yet, and where it begins
        self._waiting_at = 0
        self._copied = 0  # raw: all before it was handed out
        self._seen: list[int] = [0]  # from each of these on, seen and raw places go in step, up to the next
        self._raw: list[int] = [0]
        self._parts: list[_Part] = []
        self._is_open = False  # the last of them is a string that goes on
        self.length = 0
        """Of what checks read."""

    def feed(self, piece: str) -> str:
        """Take the next piece of the stream; return what checks read of it."""
        self._waiting.append(piece)
        return self._read(self._lexer.feed(piece))

    def finish(self) -> str:
        """The stream is at its end; return the rest."""
        return self._read(self._lexer.finish())

    def place(self, seen: int) -> int:
        """Return the raw place of a seen one; inside a number it is where that begins: half of it must not leave."""
        raw = self._raw_of(seen)
        part = self._part_at(raw)
        return part.start if part and part.kind == "scalar" and raw < part.end else raw

    def put(self, edit: Edit, old: str) -> Edit:
        """Return an edit of what checks read with its raw places.

        One that reaches through a quote only to put the same there again is drawn in.
        """
        placed = dataclasses.replace(edit, start=self._raw_of(edit.start), end=self._raw_of(edit.end))
        if old == edit.replacement or self.is_inside(placed):
            return placed
        new = edit.replacement
        same = in_common(old, new)
        old, new = old[same:], new[same:]
        tail = in_common(old[::-1], new[::-1])
        start, end = self._raw_of(edit.start + same), self._raw_of(edit.end - tail)
        narrow = dataclasses.replace(edit, start=start, end=end, replacement=new[: len(new) - tail])
        return narrow if self.is_inside(narrow) else placed

    def is_inside(self, edit: Edit) -> bool:
        """Whether all of an edit, with raw places, lies in one string."""
        part = self._part_at(edit.start)
        return part is not None and part.kind in {"key", "text"} and edit.end <= part.end

    def read(self, edit: Edit) -> str:
        """Return what checks read of what an edit with raw places puts there."""
        return unescaped(edit.replacement) if self.is_inside(edit) else read_whole(edit.replacement)

    def fit(self, edit: Edit, source: str) -> list[Edit]:
        """Return what of an edit with raw places can be done in JSON; `source` is what it replaces.

        What it puts there stands in the first string or number that it touches; the others are emptied.
        """
        part = self._part_at(edit.start)
        if part is not None and part.kind == "prose":
            return [edit]
        if part is not None and self.is_inside(edit):
            new = escaped(edit.replacement)
            if edit.kind == "style" and part.kind == "key":
                return []
            # A style that is cut to fit beside another edit must not be cut in an escape.
            kind = "rewrite" if edit.kind == "style" and new != edit.replacement else edit.kind
            return [dataclasses.replace(edit, replacement=new, kind=kind)]
        if self._is_value(edit, source) and _is_json(edit.replacement):
            return [edit]
        return [] if edit.kind == "style" else self._each(edit, source)

    def within(self, removal: Edit, hits: Iterable[Edit], source: str) -> list[Edit]:
        """Return the removal of a sentence, cut down to the strings and numbers that others hit."""
        hit = [part for edit in hits for part in self._touched(edit.start, max(edit.end, edit.start + 1))]
        found = []
        for part in dict.fromkeys(hit):
            start, end = max(removal.start, part.start), int(min(removal.end, part.end))
            if start < end:
                cut = dataclasses.replace(removal, start=start, end=end)
                found += self._each(cut, source[start - removal.start : end - removal.start])
        return found

    def forget(self, released: int) -> None:
        """Let go of what lies before a raw place: nobody will ask for what was released."""
        if len(self._seen) > _MANY:
            at = max(0, bisect.bisect_right(self._raw, released) - 1)
            self._seen, self._raw = self._seen[at:], self._raw[at:]
        if len(self._parts) > _MANY:
            at = max(0, bisect.bisect_right(self._parts, released, key=lambda part: part.start) - 1)
            self._parts = self._parts[at:]

    def _raw_of(self, seen: int) -> int:
        at = bisect.bisect_right(self._seen, seen) - 1
        return self._raw[at] + seen - self._seen[at]

    def _is_value(self, edit: Edit, source: str) -> bool:
        """Whether an edit is of one whole value."""
        if source[:1] in ("{", "["):
            return _is_json(source)
        quote = int(source[:1] == '"')
        part = self._part_at(edit.start + quote)
        if part is None or (part.start, part.end) != (edit.start + quote, edit.end - quote):
            return False
        return part.kind == ("text" if quote else "scalar")

    def _each(self, edit: Edit, source: str) -> list[Edit]:
        """Return an edit for everything that one touches; what is no sign of JSON is part of it, wherever it stands."""
        fitted: list[Edit] = []
        put, place = edit.replacement, edit.start

        def add(start: int, end: int, new: str) -> None:
            nonlocal put
            fitted.append(dataclasses.replace(edit, start=start, end=end, replacement=new))
            put = ""

        for part in (*self._touched(edit.start, edit.end), None):
            between = source[place - edit.start : (edit.end if part is None else max(part.start, place)) - edit.start]
            if _ODD.search(between):
                add(place, place + len(between), put)
            if part is None:
                break
            start, end = max(edit.start, part.start), int(min(edit.end, part.end))
            if part.kind == "scalar" and start < end:
                add(part.start, int(part.end), json.dumps(put, ensure_ascii=False) if put else "null")
            elif start < end:
                add(start, end, put if part.kind == "prose" else escaped(put))
            place = max(place, end)
        return fitted

    def _touched(self, start: int, end: int) -> Iterator[_Part]:
        first = max(0, bisect.bisect_right(self._parts, start, key=lambda part: part.start) - 1)
        for at in range(first, len(self._parts)):
            if self._parts[at].start >= end:
                break
            if self._parts[at].end > start:
                yield self._parts[at]

    def _part_at(self, raw: int) -> _Part | None:
        at = bisect.bisect_right(self._parts, raw, key=lambda part: part.start) - 1
        return self._parts[at] if at >= 0 and raw <= self._parts[at].end else None

    def _read(self, events: Iterable[JsonEvent]) -> str:
        out: list[str] = []
        for event in events:
            match event:
                case StringOpened() | KeyOpened():
                    out.append(self._copy(event.place))
                    self._parts.append(_Part(event.place, inf, "text" if isinstance(event, StringOpened) else "key"))
                    self._is_open = True
                case StringText():
                    out.append(event.text)
                    self._seen += [self.length + at for at, _ in event.jumps]
                    self._raw += [place for _, place in event.jumps]
                    at, place = event.jumps[-1] if event.jumps else (0, self._copied)
                    self._copied = place + len(event.text) - at
                    self.length += len(event.text)
                case StringClosed():
                    self._parts[-1] = self._parts[-1]._replace(end=self._copied)
                    self._is_open = False
                case Scalar():
                    self._parts.append(_Part(event.start, event.end, "scalar"))
                case Prose():
                    while self._parts and self._parts[-1].start >= event.place and self._parts[-1].kind == "scalar":
                        self._parts.pop()  # numbers that were the beginning of a sentence
                    if not self._parts or self._parts[-1].kind != "prose":
                        self._parts.append(_Part(event.place, inf, "prose"))
                    out.append(self._copy(event.place + len(event.text)))
        if not self._is_open:
            out.append(self._copy(self._lexer.shown))
        if self._copied > self._waiting_at:
            self._waiting = ["".join(self._waiting)[self._copied - self._waiting_at :]]
            self._waiting_at = self._copied
        return "".join(out)

    def _copy(self, end: int) -> str:
        """Hand out text as it came, up to a raw place."""
        if end <= self._copied:
            return ""
        self._waiting = ["".join(self._waiting)]
        text = self._waiting[0][self._copied - self._waiting_at : end - self._waiting_at]
        self._copied = end
        self.length += len(text)
        return text


def read_whole(text: str) -> str:
    """Return a whole text as checks read it."""
    lens = JsonLens()
    return lens.feed(text) + lens.finish()


def unescaped(text: str) -> str:
    """Return what the inside of a string says."""
    with contextlib.suppress(ValueError):
        return str(json.loads(f'"{text}"', strict=False))
    return text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
