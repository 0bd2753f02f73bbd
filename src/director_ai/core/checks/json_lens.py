"""JSON as checks read it: its strings without escapes; and their edits in a form that leaves it JSON.

An escape must hide nothing from a check (`a\\u0040b.com`), and no edit may cut one in two, reach through a quote, or
put words where a number stood.
"""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import json
from math import inf
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from director_ai.core.json_lexer import JsonLexer, KeyOpened, Prose, Scalar, StringClosed, StringOpened, StringText
from director_ai.core.merge import in_common

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from director_ai.core.json_lexer import JsonEvent
    from director_ai.core.merge import Edit

__all__ = ["JsonLens", "escaped", "read_whole", "unescaped"]

_MANY: Final = 1_024
"""Marks that are kept before those that nobody asks for any more are let go of."""


class _Part(NamedTuple):
    """Where something stands that can be changed: the inside of a string, or a whole number or word."""

    start: int
    end: float
    kind: Literal["key", "text", "scalar"]


class JsonLens:
    """Follows the JSON that one gate reads. *Seen* places count in what checks read, *raw* ones in the stream."""

    def __init__(self) -> None:
        self._lexer = JsonLexer()
        self._waiting, self._waiting_at = "", 0  # what was not handed out yet, and where it begins
        self._copied = 0  # raw: all before it was handed out
        self._seen: list[int] = [0]  # from each of these on, seen and raw places go in step, up to the next
        self._raw: list[int] = [0]
        self._parts: list[_Part] = []
        self._is_open = False  # the last of them goes on
        self._prose: float = inf
        self.length = 0
        """Of what checks read."""

    def feed(self, piece: str) -> str:
        """Take the next piece of the stream; return what checks read of it."""
        self._waiting += piece
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
        return part is not None and part.kind != "scalar" and edit.end <= part.end

    def fit(self, edit: Edit, source: str) -> list[Edit]:
        """Return what of an edit with raw places can be done in JSON; `source` is what it replaces.

        What it puts there stands in the first string or number that it touches; the others are emptied.
        """
        if edit.start >= self._prose:
            return [edit]
        if self.is_inside(edit):
            part = self._part_at(edit.start)
            is_key = part is not None and part.kind == "key"
            new = dataclasses.replace(edit, replacement=escaped(edit.replacement))
            return [] if is_key and edit.kind == "style" else [new]
        if _is_json(source) and _is_json(edit.replacement):
            return [edit]
        if edit.kind == "style":
            return []
        return self._each(edit)

    def within(self, removal: Edit, hits: Iterable[Edit]) -> list[Edit]:
        """Return the removal of a sentence, cut down to the strings and numbers that others hit."""
        if removal.start >= self._prose:
            return [removal]
        hit = [part for edit in hits for part in self._touched(edit.start, max(edit.end, edit.start + 1))]
        return [
            cut
            for part in dict.fromkeys(hit)
            for cut in self._each(
                dataclasses.replace(removal, start=max(removal.start, part.start), end=int(min(removal.end, part.end)))
            )
        ]

    def forget(self, before: int) -> None:
        """Let go of what lies before a seen place."""
        if len(self._seen) > _MANY:
            at = bisect.bisect_right(self._seen, before) - 1
            self._seen, self._raw = self._seen[at:], self._raw[at:]
        if len(self._parts) > _MANY:
            raw = self.place(before)
            self._parts = self._parts[max(0, bisect.bisect_right(self._parts, raw, key=lambda part: part.start) - 1) :]

    def _raw_of(self, seen: int) -> int:
        at = bisect.bisect_right(self._seen, seen) - 1
        return self._raw[at] + seen - self._seen[at]

    def _each(self, edit: Edit) -> list[Edit]:
        """Return an edit for everything that one touches."""
        fitted: list[Edit] = []
        put = edit.replacement
        for part in self._touched(edit.start, edit.end):
            start, end = max(edit.start, part.start), int(min(edit.end, part.end))
            if part.kind == "scalar" and part.start <= start < end:
                new = json.dumps(put, ensure_ascii=False) if put else "null"
                fitted.append(dataclasses.replace(edit, start=part.start, end=int(part.end), replacement=new))
            elif start < end:
                fitted.append(dataclasses.replace(edit, start=start, end=end, replacement=escaped(put)))
            put = "" if fitted else put
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
                    while self._parts and self._parts[-1].start >= event.place:
                        self._parts.pop()  # numbers that were the beginning of a sentence
                    self._prose = min(self._prose, event.place)
                    out.append(self._copy(event.place + len(event.text)))
        if not self._is_open:
            out.append(self._copy(self._lexer.settled))
        self._waiting, self._waiting_at = self._waiting[self._copied - self._waiting_at :], self._copied
        return "".join(out)

    def _copy(self, end: int) -> str:
        """Hand out text as it came, up to a raw place."""
        text = self._waiting[self._copied - self._waiting_at : end - self._waiting_at]
        self._copied = max(self._copied, end)
        self.length += len(text)
        return text


def read_whole(text: str) -> str:
    """Return a whole text as checks read it."""
    lens = JsonLens()
    return lens.feed(text) + lens.finish()


def escaped(text: str) -> str:
    """Return a text as it stands inside of a string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


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
