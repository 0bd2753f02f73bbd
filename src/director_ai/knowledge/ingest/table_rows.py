"""Rows of a table as facts: "column: value; column: value", so that each stands by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.knowledge.ingest.origin import fold
from director_ai.knowledge.ingest.passages import Block, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TableRows"]


class TableRows:
    """Takes the cells of a table, row by row, and gives back the blocks that they make."""

    def __init__(self) -> None:
        self.in_row = False
        self.in_cell = False
        self._is_layout = False
        self._names: list[str] = []  # of the columns
        self._unused: list[Block] = []  # the row that gave the names, until a row has used them
        self._cells: list[tuple[bool, list[Block]]] = []  # of the open row: whether it is a heading, and what is in it

    def open_cell(self, *, is_heading: bool) -> list[Block] | None:
        """Begin a cell; what it holds is to be put into the list that is returned, if it is one of a row of values."""
        self.in_cell = True
        if self._is_layout:
            return None
        blocks: list[Block] = []
        self._cells.append((is_heading, blocks))
        return blocks

    def end_row(self, *, in_head: bool = False) -> list[Block]:
        """The blocks of the row that ends here; none for the names of the columns."""
        cells, self._cells = self._cells, []
        self.in_row = self.in_cell = False
        blocks = [block for _, content in cells for block in content]
        if not blocks or any(len(content) > 1 for _, content in cells):
            return blocks  # cells of several paragraphs: a table that lays out the page, and no row of values
        locator = blocks[0].locator
        values: list[Sequence[Run]] = [content[0].runs if content else () for _, content in cells]
        headings = [is_heading for is_heading, _ in cells]
        if len(cells) > 1 and (in_head or all(headings)):
            unused, self._unused = self._unused, [Block(_labeled(values, ()), locator, is_row=True)]
            self._names = [fold("".join(run.text for run in value)) for value in values]
            return unused
        names: Sequence[str] = ()
        if len(self._names) == len(cells):
            names, self._unused = self._names, []
        elif headings[0] and len(cells) > 1:  # the row has a name instead of the columns
            names = ["", fold(blocks[0].text)]
            values[0] = ()
        return [Block(_labeled(values, names), locator, is_row=True)]

    def lay_out(self) -> list[Block]:
        """Learn that a cell holds a table, so that no row holds values; give back what was kept of the open row."""
        self._is_layout = True
        kept = [*self._unused, *(block for _, content in self._cells for block in content)]
        self._unused, self._cells = [], []
        return kept

    def end(self) -> list[Block]:
        """What is left over when the table ends: names of columns that had no rows."""
        return self.end_row() + self._unused


def _labeled(values: Sequence[Sequence[Run]], names: Sequence[str]) -> list[Run]:
    """The values with the names of their columns before them; empty cells are left out."""
    runs: list[Run] = []
    for index, value in enumerate(values):
        if value:
            name = names[index] if index < len(names) else ""
            label = ("; " if runs else "") + (f"{name}: " if name else "")
            runs += [Run(label, value[0].start, value[0].start), *value]
    return runs
