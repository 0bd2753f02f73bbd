"""CSV and TSV, a row at a time: a key and a fact where the columns are called so, otherwise all that the row says."""

from __future__ import annotations

import csv
import re
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING

from director_ai.knowledge.ingest.origin import LONGEST_LINE, fold
from director_ai.knowledge.ingest.passages import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from director_ai.knowledge.ingest.origin import Origin

__all__ = ["read"]

_KEYS = ("key", "id")
_FACTS = ("fact", "text")
_NUMBER = re.compile(r"[-+]?[.,]?[0-9][0-9.,]*")
_QUOTED = re.compile(r'"[^"]*"')


def read(origin: Origin) -> Iterator[Passage]:
    """The passages of a table: one per row."""
    is_broken = False
    with closing(origin.lines()) as lines:
        head: list[str] = []
        while not "".join(head[-1:]).strip() and (line := next(lines, "")):
            head.append(line)
        feed = _Feed(origin, chain(head, lines))
        rows = csv.reader(feed, delimiter=_delimiter(origin, "".join(head)), strict=True)
        try:
            yield from _passages(origin, feed, rows)
        except csv.Error:
            is_broken = True
    if is_broken:
        raise origin.error(f"is no valid CSV at line {feed.line}: a quotation mark is missing or one too many")


class _Feed:
    """Hands lines to the reader, and knows how far it has come."""

    def __init__(self, origin: Origin, lines: Iterator[str]) -> None:
        self.line = 0
        self._offset = 0
        self._origin = origin
        self._lines = lines
        self._row_from = 0
        self._row_end = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.line += 1
        self._row_end = self._offset + len(line.rstrip("\r\n"))
        self._offset += len(line)
        size = self._offset - self._row_from
        if size > LONGEST_LINE:
            raise self._origin.error(f"has a row of more than {LONGEST_LINE} characters that ends at line {self.line}")
        if size > csv.field_size_limit():
            # The limit is one for the whole process: it is raised only by a row that needs it, and never lowered.
            csv.field_size_limit(LONGEST_LINE)
        return line

    def end_row(self) -> tuple[int, int]:
        """Begin another row; return where the one that ends here begins and ends."""
        span = self._row_from, self._row_end
        self._row_from = self._offset
        return span


def _passages(origin: Origin, feed: _Feed, rows: Iterator[list[str]]) -> Iterator[Passage]:
    header: list[str] = []
    key_column = fact_column = -1
    for number, row in enumerate(rows, 1):
        start, end = feed.end_row()
        cells = [fold(cell) for cell in row]
        if not any(cells):
            continue
        if not header:
            header = cells
            if any(not cell or _NUMBER.fullmatch(cell) for cell in cells):
                raise origin.error(f"line {feed.line} looks like data, not like names of columns; put names above it")
            key_column, fact_column = _column(origin, header, _KEYS), _column(origin, header, _FACTS)
            continue
        if len(cells) != len(header):
            problem = (
                f"has {len(cells)} cells in the row that ends at line {feed.line}, and {len(header)} in its header"
            )
            raise origin.error(problem)
        key = cells[key_column] if key_column >= 0 and fact_column >= 0 else ""
        if key and header[key_column].lower() == "id":
            key = f"{origin.source}#{key}"  # unique in its file alone
        text = cells[fact_column] if fact_column >= 0 else _described(header, cells)
        if not text:
            raise origin.error(f"has no fact in the row that ends at line {feed.line}")
        yield Passage(
            key=key or f"{origin.source}#{number}",
            text=text,
            source=origin.source,
            start=start,
            end=end,
            locator=f"row {number}",
        )


def _described(header: Sequence[str], cells: Sequence[str]) -> str:
    named = zip(header, cells, strict=True)
    return "; ".join(f"{name}: {cell}" for name, cell in named if cell)


def _column(origin: Origin, header: Sequence[str], wanted: Sequence[str]) -> int:
    """Which column has one of the wanted names, the first of them first; -1 if none has."""
    names = [name.lower() for name in header]
    found = next((name for name in wanted if name in names), None)
    if found is None:
        return -1
    if names.count(found) > 1:
        raise origin.error(f"has {names.count(found)} columns called {found!r}; one must remain")
    return names.index(found)


def _delimiter(origin: Origin, header: str) -> str:
    if origin.path.suffix.lower() == ".tsv":
        return "\t"
    plain = _QUOTED.sub("", header)
    return max(",;\t", key=plain.count)
