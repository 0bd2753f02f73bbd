"""Documents to passages: facts of one to a few sentences that know where they were found.

A passage never goes over the border of a paragraph, an item of a list, a cell or a heading. Plain text, Markdown, HTML
and PDF are read whole; CSV and JSON lines are read row by row, however long the file is. Nothing that stands in a
document is followed, run or fetched, and no error quotes it.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from director_ai.errors import ConfigError, UnknownOption
from director_ai.knowledge.ingest.origin import Origin, clean
from director_ai.knowledge.ingest.passages import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FORMATS", "Passage", "read_passages"]

_MODULES = {
    "text": "plain_text",
    "markdown": "markdown",
    "html": "html_page",
    "pdf": "pdf_pages",
    "csv": "csv_rows",
    "jsonl": "json_lines",
}
_SUFFIXES = {
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}

FORMATS = tuple(_MODULES)
"""The formats that documents may have."""

LONGEST_SOURCE = 400
"""Characters: a key holds the source and more."""


def read_passages(
    path: str | Path,
    *,
    source: str | None = None,
    sentences: int = 3,
    format: str | None = None,  # noqa: A002 -- what a caller would guess
) -> Iterator[Passage]:
    """Read the passages of a file, one after the other.

    Wrong arguments and a file that cannot be opened are refused at once; what is wrong inside the file is refused
    where it is met, so that passages before it may have come already.

    Args:
        path: The file.
        source: What the document is called in passages and keys; the path, or only the file's name if that is absolute.
        sentences: The most that one passage may have.
        format: One of `FORMATS`; the suffix of the file's name says it otherwise.
    """
    if isinstance(sentences, bool) or not isinstance(sentences, int) or sentences < 1:
        raise ConfigError(f"sentences must be a whole number from 1, got {sentences!r}")
    if not isinstance(path, str | Path) or not str(path).strip() or "\0" in str(path):
        raise ConfigError(f"path must be the path of a file, got a {type(path).__name__} that is none")
    file = Path(path)
    origin = Origin(path=file, shown=str(path), source=_source(file, source), sentences=sentences)
    name = _format(origin, format)
    with origin.opened():
        pass
    return _read(name, origin)


def _read(name: str, origin: Origin) -> Iterator[Passage]:
    # Only the reader that is needed: some load a library, and one may be missing.
    passages: Iterator[Passage] = importlib.import_module(f"{__name__}.{_MODULES[name]}").read(origin)
    yield from passages


def _source(path: Path, source: str | None) -> str:
    if source is not None and not isinstance(source, str):
        raise ConfigError(f"source must be a string, got a {type(source).__name__}")
    name = clean((path.name if path.is_absolute() else path.as_posix()) if source is None else source).strip()
    if not 0 < len(name) <= LONGEST_SOURCE:
        raise ConfigError(f"source must be a name of at most {LONGEST_SOURCE} characters, got {len(name)}; set source=")
    return name


def _format(origin: Origin, name: str | None) -> str:
    if name is not None:
        if name not in FORMATS:
            raise UnknownOption("format", name, FORMATS)
        return name
    known = _SUFFIXES.get(origin.path.suffix.lower())
    if known is None:
        suffixes, formats = " ".join(_SUFFIXES), ", ".join(FORMATS)
        raise origin.error(f"has an unknown suffix; known: {suffixes}; or say format= with one of: {formats}")
    return known
