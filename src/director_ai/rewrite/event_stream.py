"""Server-sent events, read from bytes as they come."""

from __future__ import annotations

import codecs
import re
from typing import Final

__all__ = ["EventStream"]

_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class EventStream:
    """Gives the data of each event once its blank line has come; bytes that are no UTF-8 raise `UnicodeDecodeError`."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._line: list[str] = []
        self._data: list[str] = []
        self._after_return = False

    def feed(self, part: bytes) -> list[str]:
        """Take the next bytes, and return the data of the events that they complete."""
        return self._take(self._decoder.decode(part))

    def finish(self) -> list[str]:
        """Return the data of a last event whose lines are whole; what is cut in the middle of a line is lost."""
        self._decoder.decode(b"", final=True)
        return self._end_event()

    def _take(self, text: str) -> list[str]:
        if self._after_return and text:
            text = text.removeprefix("\n")  # a CRLF that was cut apart
            self._after_return = False
        found: list[str] = []
        at = 0
        for end in _LINE_END.finditer(text):
            self._line.append(text[at : end.start()])
            at = end.end()
            found += self._end_line()
        if at < len(text):
            self._line.append(text[at:])
        elif text.endswith("\r"):
            self._after_return = True
        return found

    def _end_line(self) -> list[str]:
        line = "".join(self._line)
        self._line.clear()
        if not line:
            return self._end_event()
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
        return []

    def _end_event(self) -> list[str]:
        found = ["\n".join(self._data)] if self._data else []
        self._data.clear()
        return found
