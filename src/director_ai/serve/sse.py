"""Server-sent events, read and written: however the bytes are cut, the same events come out."""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from director_ai.errors import DirectorError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EventTooLong", "ServerSentEvent", "SseReader", "write_comment", "write_event", "write_object"]

MOST_CHARACTERS: Final = 16 * 1024 * 1024
"""Of one event."""
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_OTHER_LINE_ENDS: Final = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
"""No line ends here, but to clients that split text rather than bytes."""


class EventTooLong(DirectorError):
    """An event that does not end."""


class ServerSentEvent(NamedTuple):
    """One event."""

    data: str
    event: str = ""
    """Its name; empty where it has none."""


class SseReader:
    """Takes bytes as they come, and gives events as soon as they are complete."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._rest: list[str] = []
        self._size = 0
        """Characters of the event that is open."""
        self._data: list[str] = []
        self._name = ""
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that are complete with these bytes."""
        return self._read(self._decode(chunk))

    def finish(self) -> list[ServerSentEvent]:
        """Return the last event, where the stream ended without the empty line behind it."""
        text = self._decode(b"", True)
        return self._read(text + ("\n\n" if self._rest or text else "\n"))

    def _read(self, text: str) -> list[ServerSentEvent]:
        if not text:
            return []
        if self._after_cr and text.startswith("\n"):  # the second half of a line end that was cut
            text = text[1:]
        self._after_cr = text.endswith("\r")
        *lines, rest = _LINE_END.split(text)
        found = []
        for line in lines:
            whole = "".join([*self._rest, line])
            self._rest.clear()
            self._grow(len(line))
            event = self._take(whole)
            if event is not None:
                found.append(event)
        if rest:
            self._rest.append(rest)
            self._grow(len(rest))
        return found

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MOST_CHARACTERS:
            raise EventTooLong(f"an event of the upstream has more than {MOST_CHARACTERS} characters")

    def _take(self, line: str) -> ServerSentEvent | None:
        """Take a line; an empty one completes an event."""
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                self._data.append(value)
            elif name == "event":
                self._name = value
            elif not self._data:
                self._size = 0  # a comment is no part of an event
            return None
        event = ServerSentEvent("\n".join(self._data), self._name) if self._data else None
        self._data, self._name, self._size = [], "", 0
        return event


def write_event(data: str, event: str = "") -> bytes:
    """Return an event as bytes; its data is one line."""
    named = f"event: {event}\n" if event else ""
    return f"{named}data: {data}\n\n".encode("utf-8", "replace")


def write_object(value: Mapping[str, Any], event: str = "") -> bytes:
    """Return an event whose data is a JSON object."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return write_event(data.translate(_OTHER_LINE_ENDS), event)


def write_comment(text: str) -> bytes:
    """Return a line that readers skip: it only shows that somebody is there."""
    return f": {text}\n\n".encode()
