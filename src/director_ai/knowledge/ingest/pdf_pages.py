"""PDF, page by page: paragraphs by blank lines, words put together again that a line's end had cut."""

from __future__ import annotations

import io
import logging
import re
import struct
import zlib
from typing import TYPE_CHECKING

from director_ai.errors import MissingExtra
from director_ai.knowledge.ingest.origin import clean
from director_ai.knowledge.ingest.passages import Block, Run, block_passages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdf import PdfReader

    from director_ai.knowledge.ingest.origin import Origin
    from director_ai.knowledge.ingest.passages import Passage

__all__ = ["PAGE_END", "read"]

PAGE_END = "\f"
"""Between the texts of two pages, in the document that offsets count in."""

_CUT_WORD = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad][^\S\n\r]*(?:\r\n|[\n\r])\s*(?=[^\W\d_A-Z])")
# What pypdf lets through when a file is not as it should be, besides its own errors.
_DAMAGE = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, RecursionError),
    *(TypeError, ValueError, struct.error, zlib.error),
)


def read(origin: Origin) -> Iterator[Passage]:
    """The passages of a PDF file; pages without text are passed over, unless all are."""
    damage = _possible_errors()
    with origin.opened() as file:
        data = file.read()
    start = empty = number = 0
    for number, text in enumerate(_page_texts(origin, data, damage), 1):
        empty += not text.strip()
        yield from block_passages([Block(_runs(text, start), f"page {number}")], origin, text)
        start += len(text) + len(PAGE_END)
    if number and empty == number:
        raise origin.error(f"has no text on any of its {number} pages (scanned pages): run OCR first")


def _page_texts(origin: Origin, data: bytes, damage: tuple[type[Exception], ...]) -> Iterator[str]:
    if not data:
        return
    where = "its structure"
    try:
        reader = _unlocked(data)
        if reader is not None:
            for number, page in enumerate(reader.pages, 1):
                where = f"page {number}"
                yield clean(page.extract_text())
            return
    except damage:
        problem = f"is no PDF, or a damaged one: {where} cannot be read; save it again with another program"
    else:
        problem = "is encrypted; save it without a password"
    raise origin.error(problem)  # not inside the handler: the error that was caught may hold text of the document


def _unlocked(data: bytes) -> PdfReader | None:
    """The document; None if it cannot be read without a password."""
    import pypdf  # noqa: PLC0415 -- optional, and slow to load

    reader = pypdf.PdfReader(io.BytesIO(data))
    try:
        return None if reader.is_encrypted and not reader.decrypt("") else reader
    except pypdf.errors.DependencyError:  # a cipher that it needs another package for
        return None


def _possible_errors() -> tuple[type[Exception], ...]:
    """What pypdf raises when it cannot read a file, on purpose or not; says so if it is not installed."""
    try:
        from pypdf.errors import PyPdfError  # noqa: PLC0415 -- optional, and slow to load
    except ImportError:
        raise MissingExtra("reading PDF", extra="pdf") from None
    logger = logging.getLogger("pypdf")
    if logger.level == logging.NOTSET:  # its warnings quote the document; who wants them has set a level
        logger.setLevel(logging.CRITICAL)
    return (PyPdfError, *_DAMAGE)


def _runs(text: str, base: int) -> list[Run]:
    """The text of a page without the hyphens at ends of lines."""
    runs = []
    at = 0
    for cut in [*_CUT_WORD.finditer(text), None]:
        end = cut.start() if cut else len(text)
        runs.append(Run(text[at:end], base + at, base + end))
        at = cut.end() if cut else end
    return runs
