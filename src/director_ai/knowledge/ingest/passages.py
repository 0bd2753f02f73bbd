"""Running text to passages: one to a few sentences each, of one paragraph, that know where they stand."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from director_ai.knowledge.ingest.grouping import stretches
from director_ai.knowledge.ingest.origin import Lines, fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from director_ai.knowledge.ingest.origin import Origin

__all__ = ["Block", "Outline", "Passage", "Run", "block_passages", "is_statement"]


LONGEST_HEADING = 200
"""Characters that are shown of a heading above a passage."""
_STATES = re.compile(r"\w\W*[.!。！]\W*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A fact as it was found in a document, and where."""

    key: str
    """The row's own key, or `<source>#<row>`, or `<source>#<start>-<end>`."""
    text: str
    """White space folded, no markup."""
    source: str
    """What the document is called; never where it lies on this machine."""
    start: int
    """Offsets in the decoded document, in characters; of a PDF, in the text of its pages."""
    end: int
    locator: str = ""
    """Where a person would look: "page 3", "row 17", "line 4", "Fees > Refunds"."""


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of a block and the stretch of the document that it stands for: its own length, or as a whole."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """Text that no passage may leave: a paragraph, an item, a row, or several paragraphs apart by blank lines."""

    runs: Sequence[Run]
    locator: str = ""
    is_row: bool = False
    """It says one thing, however many sentences that takes."""

    @property
    def text(self) -> str:
        """What the block says, white space as it comes."""
        return "".join(run.text for run in self.runs)


class Outline:
    """The headings that the current place of a document stands under."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, heading: str) -> None:
        """Go on under a heading; those of the same or a deeper level end here."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        if len(heading) > LONGEST_HEADING:
            heading = heading[: LONGEST_HEADING - 1] + "…"
        if heading and heading not in {text for _, text in self._open[-1:]}:  # a page's title is often its heading
            self._open.append((level, heading))

    @property
    def path(self) -> str:
        """For a locator: the headings from the outermost inwards."""
        return " > ".join(text for _, text in self._open)


def block_passages(blocks: Iterable[Block], origin: Origin, document: str) -> Iterator[Passage]:
    """The passages of a document, block by block; those without a locator get the number of their line."""
    lines: Lines | None = None
    for block in blocks:
        text = block.text
        starts = list(accumulate((len(run.text) for run in block.runs), initial=0))[:-1]
        for first, last in stretches(text, origin.sentences, is_row=block.is_row):
            opening = bisect_right(starts, first) - 1
            closing = bisect_right(starts, last - 1) - 1
            start = _offset(block.runs[opening], first - starts[opening])
            end = _offset(block.runs[closing], last - 1 - starts[closing], after=True)
            if not block.locator:
                lines = lines or Lines(document)
            yield Passage(
                key=f"{origin.source}#{start}-{end}",
                text=fold(text[first:last]),
                source=origin.source,
                start=start,
                end=end,
                locator=block.locator or f"line {lines.number_at(start) if lines else 1}",
            )


def _offset(run: Run, index: int, *, after: bool = False) -> int:
    if run.end - run.start == len(run.text):
        return run.start + index + after
    return run.end if after else run.start


def is_statement(heading: str) -> bool:
    """Whether a heading says something by itself, and is not only what the text under it is called."""
    return len(heading) > LONGEST_HEADING or _STATES.search(heading[-20:]) is not None
