"""Markdown to blocks: paragraphs, items, quotations and rows of tables, under their headings; no code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from director_ai.knowledge.ingest.html_page import page_blocks
from director_ai.knowledge.ingest.markdown_inline import DEEPEST, Alignment, PlacedMarkdown, inline_runs
from director_ai.knowledge.ingest.origin import Lines, fold
from director_ai.knowledge.ingest.passages import Block, Outline, Run, block_passages, is_statement
from director_ai.knowledge.ingest.table_rows import TableRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

    from director_ai.knowledge.ingest.origin import Origin
    from director_ai.knowledge.ingest.passages import Passage

__all__ = ["read"]

_FRONT_MATTER = re.compile(
    r"(?P<fence>---|\+\+\+)[ \t]*\n(?=[\w\"'#-]*\s*[:=\[#]|(?P=fence)).*?^(?:(?P=fence)|\.\.\.)[ \t]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_CONTAINERS = frozenset({"blockquote_open", "bullet_list_open", "ordered_list_open", "list_item_open"})
_OTHER_LINE_ENDS = re.compile("[\u2028\u2029]")
_LINE_END = re.compile("\r\n?|\n")


def read(origin: Origin) -> Iterator[Passage]:
    """The passages of a Markdown file."""
    document = origin.text()
    yield from block_passages(_Blocks(origin, document).all(), origin, document)


class _Blocks:
    """Goes through the tokens of one document."""

    def __init__(self, origin: Origin, document: str) -> None:
        self._origin = origin
        self._document = document
        self._lines = Lines(document)
        self._outline = Outline()
        self._tables: list[TableRows] = []
        self._cell_from = 0  # where in its line the next cell is looked for

    def all(self) -> Iterator[Block]:
        """The blocks of the document, in order."""
        # The same lines as in the document, so that the numbers that the parser gives are theirs.
        source = _LINE_END.sub("\n", _OTHER_LINE_ENDS.sub("\n", self._document))
        front = _FRONT_MATTER.match(source)
        if front:
            source = "\n" * front[0].count("\n") + source[front.end() :]
        kind, level = "", 0
        for token in PlacedMarkdown().parse(source):
            if token.level >= DEEPEST - 1 and token.type in _CONTAINERS:
                line = _first_line(token) + 1
                raise self._origin.error(f"is nested too deeply at line {line}; what is inside would be lost")
            if token.type == "inline" and kind == "heading_open":
                yield from self._heading(token, level)
            elif token.type == "inline" and kind in {"th_open", "td_open"}:
                self._cell(token, is_heading=kind == "th_open")
            elif token.type == "inline":
                yield self._block(token, self._paragraph_alignment(token))
            elif token.type == "html_block":
                yield from self._html(token)
            elif token.type.startswith(("table", "tr")):
                yield from self._table_part(token)
            kind, level = token.type, int(token.tag[1:]) if token.type == "heading_open" else 0

    def _heading(self, token: Token, level: int) -> Iterator[Block]:
        block = self._block(token, self._paragraph_alignment(token))
        heading = fold(block.text)
        self._outline.enter(level, heading)
        if is_statement(heading):
            yield Block(block.runs, self._outline.path)

    def _table_part(self, token: Token) -> Iterator[Block]:
        if token.type == "table_open":
            self._tables.append(TableRows())
        elif token.type == "tr_open":
            self._cell_from = self._lines.starts[_first_line(token)]
        elif token.type == "tr_close":
            yield from self._tables[-1].end_row()
        elif token.type == "table_close":
            yield from self._tables.pop().end()

    def _cell(self, token: Token, *, is_heading: bool) -> None:
        cell = self._tables[-1].open_cell(is_heading=is_heading)
        if cell is not None and token.content:
            cell.append(self._block(token, self._cell_alignment(token.content)))

    def _block(self, token: Token, alignment: Alignment) -> Block:
        return Block(list(inline_runs(token.content, token.children or (), alignment)), self._outline.path)

    def _html(self, token: Token) -> Iterator[Block]:
        alignment = self._paragraph_alignment(token)
        for block in page_blocks(token.content, self._outline):
            runs: list[Run] = []
            for run in block.runs:
                if run.end - run.start == len(run.text):
                    runs += alignment.runs(run.text, run.start)
                else:
                    runs.append(alignment.run(run.text, run.start, run.end))
            yield Block(runs, block.locator, block.is_row)

    def _paragraph_alignment(self, token: Token) -> Alignment:
        """Each line of the content is the end of a line of the document, or between the marks of a heading."""
        anchors = []
        at = 0
        for number, line in enumerate(token.content.split("\n"), _first_line(token)):
            if number >= len(self._lines.starts):
                break
            start, end = self._lines.starts[number], self._line_end(number)
            place = self._document.rfind(line.strip(), start, end)
            anchors.append((at, max(place, start) - len(line) + len(line.lstrip())))
            at += len(line) + 1
        return Alignment(anchors)

    def _cell_alignment(self, content: str) -> Alignment:
        """The content of a cell has "|" where its line has "\\|"."""
        place = max(self._document.find(content.replace("|", "\\|"), self._cell_from), self._cell_from)
        self._cell_from = place + len(content) + content.count("|")
        anchors = [(0, place)]
        for count, pipe in enumerate(re.finditer(r"\|", content), 1):
            anchors.append((pipe.start(), place + pipe.start() + count))
        return Alignment(anchors)

    def _line_end(self, number: int) -> int:
        following = number + 1
        return self._lines.starts[following] if following < len(self._lines.starts) else len(self._document)


def _first_line(token: Token) -> int:
    return token.map[0] if token.map else 0
