"""HTML to blocks: what a reader of the page sees, without its frame of navigation and footers."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from director_ai.knowledge.ingest.html_tokens import VOID, Tag, markup_tokens, unescaped
from director_ai.knowledge.ingest.origin import fold
from director_ai.knowledge.ingest.passages import Block, Outline, Run, block_passages, is_statement
from director_ai.knowledge.ingest.table_rows import TableRows

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from director_ai.knowledge.ingest.html_tokens import Text
    from director_ai.knowledge.ingest.origin import Origin
    from director_ai.knowledge.ingest.passages import Passage

__all__ = ["page_blocks", "read"]

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SKIPPED = frozenset(
    "script style template noscript svg head nav footer aside iframe noembed noframes textarea select "
    "del s strike".split()  # what is struck out no longer holds
)
_IN_HEAD = frozenset("title meta link style script base noscript template".split())
_CELLS = frozenset({"td", "th"})
_ROW_PARTS = _CELLS | frozenset("colgroup thead tbody tfoot tr".split())
_BLOCKS = _ROW_PARTS | frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search "
    "section summary table ul".split()
)
_PARAGRAPH = frozenset({"p"})
_CLOSED_BY = {  # elements that people leave open, and what then ends them
    "li": {"p", "li"},
    "dt": {"p", "dt", "dd"},
    "dd": {"p", "dt", "dd"},
    "option": {"option"},
    "body": {"head"},
}
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_WHITE = re.compile(r"\s")
_ENDS_SENTENCE = re.compile(r"[.!?:。！？]\W*\Z")


def read(origin: Origin) -> Iterator[Passage]:
    """The passages of an HTML file."""
    document = origin.text()
    yield from block_passages(page_blocks(document, Outline()), origin, document)


def page_blocks(document: str, outline: Outline) -> list[Block]:
    """The blocks of a page or of a piece of one, under the headings of `outline` and its own."""
    page = _Page(document, outline)
    for token in markup_tokens(document):
        if isinstance(token, Tag):
            page.meet_tag(token)
        else:
            page.meet_text(token)
    page.finish()
    return page.blocks


class _Page:
    """Keeps the open elements in a list: no depth of nesting is too deep."""

    def __init__(self, document: str, outline: Outline) -> None:
        self.blocks: list[Block] = []
        self._document = document
        self._outline = outline
        self._runs: list[Run] = []  # of the open block
        self._open: list[str] = []
        self._total = Counter[str]()  # open elements by name
        self._scopes = [Counter[str]()]  # the same outside of all cells, and then in each open cell
        self._skipped_from = 0  # how many elements are open when the skipped one is; 0 if none is
        self._headings = 0
        self._tables: list[TableRows] = []
        self._sinks = [self.blocks]  # where blocks go to: the innermost cell comes last
        self._term: Block | None = None  # of a definition list
        self._term_is_new = False
        self._defines = False  # the next block is what the term means

    # What comes.

    def meet_text(self, text: Text) -> None:
        """Take characters that stand between tags."""
        innermost = self._open[-1] if self._open else ""
        if innermost == "head" and self._document[text.start : text.end].strip():
            self._pop()
        pieces = unescaped(self._document, text.start, text.end)
        if innermost == "title" and (self._total["head"] or not self._skipped_from):
            self._outline.enter(0, fold("".join(piece for piece, _, _ in pieces)))
        elif not self._skipped_from:
            keeps_lines = self._total["pre"] > 0
            self._runs += [Run(piece if keeps_lines else _WHITE.sub(" ", piece), *span) for piece, *span in pieces]

    def meet_tag(self, tag: Tag) -> None:
        """Take the opening or closing of an element."""
        if tag.name == "br" and not self._skipped_from:
            self._runs.append(Run("\n", tag.start, tag.end))
        elif tag.name == "hr":
            self._flush()
        elif tag.is_closing:
            self._close(tag.name)
        elif tag.name not in VOID:
            self._prepare(tag.name)
            self._push(tag)
            if tag.is_empty:
                self._pop()

    def finish(self) -> None:
        """Close what the document left open."""
        while self._open:
            self._pop()
        self._flush()
        self._drop_term()

    # Elements.

    def _prepare(self, name: str) -> None:
        """Close what cannot stay open when this element opens."""
        if self._open[-1:] == ["head"] and name not in _IN_HEAD:
            self._pop()
        if name in _BLOCKS:
            if self._headings and any(run.text.strip() for run in self._runs):
                self._pop_until(_HEADINGS)  # its closing tag was forgotten
            closed = _CLOSED_BY.get(name, _PARAGRAPH)
            while self._open and self._open[-1] in closed:
                self._pop()
        if self._tables and name in _ROW_PARTS:
            if self._tables[-1].in_cell:
                self._pop_until(_CELLS)
            if self._tables[-1].in_row and name not in _CELLS:
                self._pop_until({"tr"})

    def _push(self, tag: Tag) -> None:
        name = tag.name
        if name in _BLOCKS:
            self._flush()
        self._open.append(name)
        self._total[name] += 1
        self._scopes[-1][name] += 1
        self._headings += name in _HEADINGS
        if not self._skipped_from and (name in _SKIPPED or _is_hidden(tag)):
            self._skipped_from = len(self._open)
        if name == "dd":
            self._defines = True
        elif name in _ROW_PARTS or name == "table":
            self._enter_table_part(name)

    def _close(self, name: str) -> None:
        # A closing tag inside a cell ends nothing outside of it, but for the parts of the table.
        if self._total[name] if name in _ROW_PARTS or name == "table" else self._scopes[-1][name]:
            self._pop_until({name})
        elif name in _BLOCKS:
            self._flush()

    def _pop_until(self, names: Container[str]) -> None:
        while self._pop() not in names:
            pass

    def _pop(self) -> str:
        """Close the innermost element."""
        name = self._open[-1]
        if name in _HEADINGS:
            self._end_heading(_HEADINGS[name])
        elif name == "dt":
            self._end_term()
        elif name in _BLOCKS:
            self._flush()
        self._open.pop()
        if name in _CELLS:
            self._scopes.pop()
            self._sinks.pop()
        self._total[name] -= 1
        self._scopes[-1][name] -= 1
        if len(self._open) < self._skipped_from:
            self._skipped_from = 0
        if name == "dl":
            self._drop_term()
        elif self._tables:
            self._leave_table_part(name)
        return name

    def _enter_table_part(self, name: str) -> None:
        table = self._tables[-1] if self._tables else None
        if name == "table":
            if table and table.in_cell:
                self._sinks[-2] += table.lay_out()
                self._sinks[-1] = self._sinks[-2]
            self._tables.append(TableRows())
        elif name == "tr" and table:
            table.in_row = True
        elif name in _CELLS:
            self._scopes.append(Counter())
            sink = table.open_cell(is_heading=name == "th") if table else None
            self._sinks.append(self._sinks[-1] if sink is None else sink)

    def _leave_table_part(self, name: str) -> None:
        if name in _CELLS:
            self._tables[-1].in_cell = False
        elif name == "tr":
            self._sinks[-1] += self._tables[-1].end_row(in_head=self._total["thead"] > 0)
        elif name == "table":
            self._sinks[-1] += self._tables.pop().end()

    # Blocks.

    def _take(self) -> Block:
        runs, self._runs = self._runs, []
        return Block(runs, self._outline.path)

    def _flush(self) -> None:
        """End the open block."""
        if self._headings:
            return
        block = self._take()
        if not block.text.strip():
            return
        if self._defines and self._term is not None:
            term, start = fold(self._term.text), block.runs[0].start
            label = term + (" " if _ENDS_SENTENCE.search(term) else ": ")
            block = Block([Run(label, start, start), *block.runs], block.locator)
            self._term_is_new = self._defines = False
        self._sinks[-1].append(block)

    def _end_heading(self, level: int) -> None:
        self._headings -= 1
        block = self._take()
        heading = fold(block.text)
        if heading:
            self._outline.enter(level, heading)
        if is_statement(heading):
            self._sinks[-1].append(Block(block.runs, self._outline.path))

    def _end_term(self) -> None:
        term = self._take()
        if term.text.strip():
            self._drop_term()
            self._term, self._term_is_new = term, True

    def _drop_term(self) -> None:
        """Forget the term that was being defined; one without a definition stands for itself."""
        if self._term is not None and self._term_is_new:
            self._sinks[-1].append(self._term)
        self._term, self._term_is_new = None, False


def _is_hidden(tag: Tag) -> bool:
    attributes = tag.attributes
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or _INVISIBLE.search(attributes.get("style", "")) is not None
    )
