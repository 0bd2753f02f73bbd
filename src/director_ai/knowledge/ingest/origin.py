"""Where passages come from: a file that is opened with care, decoded, and cleaned of what is no text."""

from __future__ import annotations

import io
import os
import re
import stat
from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

__all__ = ["LONGEST_LINE", "Lines", "Origin", "clean", "fold"]

LONGEST_LINE = 1 << 26
"""Characters of one line, and of one row, of a file that is read row by row: it has to fit into memory."""

_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_NEWLINE = re.compile("\r\n|[\n\r\u2028\u2029]")
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def clean(text: str) -> str:
    """The text without lone surrogates and without control characters that are no white space."""
    return _NO_TEXT.sub("", text)


def fold(text: str) -> str:
    """The text with one space where there was white space, and none at its ends."""
    return " ".join(text.split())


class Lines:
    """The lines of a document, by offset and by number."""

    def __init__(self, text: str) -> None:
        self.starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]

    def number_at(self, offset: int) -> int:
        """The line that this character is on, counted from 1."""
        return bisect_right(self.starts, offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A file, what it is called, and how long the passages made of it may be."""

    path: Path
    shown: str
    """The path as the caller gave it, for messages."""
    source: str
    sentences: int

    def error(self, problem: str) -> ConfigError:
        """An error that names the file."""
        return ConfigError(f"{self.shown!r} {problem}")

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file, open for reading; every trouble with it, a change meanwhile included, is a `ConfigError`."""
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):  # opening a pipe could wait for ever
                raise self.error("is not a file; give the path of one file")
            with self.path.open("rb") as file:
                before = os.fstat(file.fileno())
                yield file
                after = os.fstat(file.fileno())
        except FileNotFoundError:
            raise self.error("does not exist; check the path") from None
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or type(error).__name__}") from None
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise self.error("has changed while it was read; load it again")

    def text(self) -> str:
        """The whole document: what offsets of passages count in."""
        with self.opened() as file:
            encoding = _encoding(file)
            data = file.read()
        try:
            return clean(data.decode(encoding, "surrogatepass"))
        except UnicodeDecodeError as error:
            problem = _undecodable(error, len(data))
        raise self.error(problem)  # not inside the handler: the error that was caught holds the document

    def lines(self) -> Generator[str]:
        """The lines of the document, one by one, with their ends; whoever stops before the last one closes it."""
        problem = ""
        number = 0
        with self.opened() as file:
            text = io.TextIOWrapper(file, _encoding(file), "surrogatepass", newline="")
            try:
                while line := text.readline(LONGEST_LINE + 1):
                    number += 1
                    if len(line) > LONGEST_LINE:
                        raise self.error(f"has more than {LONGEST_LINE} characters in line {number}")
                    yield clean(line)
            except UnicodeDecodeError as error:
                problem = _undecodable(error, file.tell())
            finally:
                text.detach()  # the file is closed by whoever opened it
        if problem:
            raise self.error(problem)


def _encoding(file: BinaryIO) -> str:
    """What the mark at the beginning of the file says, or UTF-8."""
    head = file.read(3)
    file.seek(0)
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "utf-8")


def _undecodable(error: UnicodeDecodeError, seen: int) -> str:
    """The problem in words; `seen` counts the bytes up to the end of those that were being decoded."""
    name = error.encoding.upper().replace("_", "-")
    byte, offset = error.object[error.start], seen - len(error.object) + error.start
    return f"is not {name}: byte 0x{byte:02x} at offset {offset} cannot be read; convert the file to UTF-8"
