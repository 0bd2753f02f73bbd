"""Words, numbers and signs of a text, with the sentence each is in."""

from __future__ import annotations

import re
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING

from director_ai.core.borders import LINE_ENDS, abbreviation, is_paragraph, lines_differ, may_end
from director_ai.core.scoring.slots.lexicon import LEXICON, STOP, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Tokens", "in_one_line"]

# Nothing that follows a repetition can match what it matches, so that no text makes the search try the same characters
# again and again. The one group is the token with the space after it, so that splitting gives tokens and what else is
# between them in turn. The first line is the second's common case, and only there for speed.
_TOKEN = re.compile(
    r"""([a-zA-Z]+[ ]|(?:
      [^\W\d_](?!\.[^\W\d_]|(?<=[vV])\d{1,9}\.\d)[^\W_]*(?:['’][^\W_]+)*  # a word; not the "v1" of "v1.2"
    | (?=\d)(?:
          \d{4}-\d{2}-\d{2}(?!\d)
        | \d{1,2}(?:/\d{1,2}/|\.\d{1,2}\.)(?:\d{4}|\d{2})(?![\d.]\d|\d)
        | \d{1,2}-\d{1,2}-\d{4}(?![\d-])
        | \d{1,5}(?:-\d{1,7}){2,5}(?![\d-])  # a telephone number
        | \d{1,2}:\d{2}(?::\d{2})?(?!\d)
        | \d{1,9}(?:\.\d{1,9}){2,8}(?!\d)  # a version
        | \d{1,3}(?:(?:,\d{3}){1,9}|(?:[ ]000){1,4}|(?:[\u00a0\u2009\u202f]\d{3}){1,9})(?!\d)(?:\.\d+)?
        | (?<![\w,(\[])\d{1,9},\d{1,2}(?=[ \u00a0]?[%€°A-Za-z])  # a decimal comma
        | \d+(?:\.\d+)?
      )
    | \.\d+
    | \(\d{3}\)[ ]?\d{3}-\d{4}(?![\d-])
    | [^\w\s]
    | [^\W\d_](?:\.[^\W\d_]){1,5}(?:\.|(?![^\W_]))  # letters with stops
    | [^\W\d_]
    )[ ]?)""",
    re.VERBOSE,
)
_LINE_END = re.compile(f"[{LINE_ENDS}]")
_FIRST_OF_LINE = 12
"""Characters of a line by which the segmenter tells whether it goes on with the line before."""
# Narrow spaces group digits: "12\u202f000".
_WIDE = re.compile(r"[^\S \u00a0\u2009\u202f]")


_BEYOND = 8
_NO_START, _NO_END = [-1] * _BEYOND, [-2] * _BEYOND
_NO_ENTRY = [Entry(" ", "", "", "", "", 0)] * _BEYOND


def in_one_line(clause: str) -> str:
    """Return a clause with a space for each line end and tab in it, so that every place stays where it is.

    The segmenter has decided that the lines of a clause are one text. Seen alone they may look like several.
    """
    return clause if clause.isprintable() else _WIDE.sub(" ", clause)


class Tokens:
    """A text cut into tokens: parallel sequences, because most rules look at the neighbors of a word.

    Each sequence ends in a few empty tokens, so that a rule may look beyond the last token, and before the first.
    """

    __slots__ = (
        "ends", "flags", "kinds", "marked", "raw", "sentence_of", "sentences", "starts", "stems", "text", "topics",
        "words",
    )  # fmt: skip
    raw: tuple[str, ...]
    words: tuple[str, ...]
    kinds: tuple[str, ...]
    stems: tuple[str, ...]
    topics: tuple[str, ...]
    flags: tuple[int, ...]

    def __init__(self, text: str) -> None:
        self.text = text
        parts = _TOKEN.split(text)
        edges = list(accumulate(map(len, parts)))
        starts = edges[:-1:2]
        self.raw, self.words, self.kinds, self.stems, self.topics, self.flags = zip(
            *map(LEXICON.__getitem__, parts[1::2]), *_NO_ENTRY, strict=True
        )
        self.starts = starts + _NO_START
        self.ends: list[int] = [*map(add, starts, map(len, self.raw)), *_NO_END]
        self.marked = [i for i, flags in enumerate(self.flags) if flags]
        """The tokens that any finder looks at."""
        self.sentences = self._find_sentences(len(starts), parts[2:-1:2])
        self.sentence_of: list[int] = []
        for number, (first, end) in enumerate(self.sentences):
            self.sentence_of += [number] * (end - first)
        self.sentence_of += _NO_START

    def touches(self, i: int) -> bool:
        """Whether token `i` follows its predecessor without a space."""
        return self.starts[i] == self.ends[i - 1]

    def span(self, first: int, last: int) -> tuple[int, int, str]:
        """Start, end and text from token `first` to token `last`, both included."""
        start, end = self.starts[first], self.ends[last]
        return start, end, self.text[start:end]

    def _find_sentences(self, count: int, gaps: list[str]) -> list[tuple[int, int]]:
        """First token and the token after the last, of each sentence; `gaps` is what stands between the tokens."""
        ends = [i + 1 for i in self.marked if self.flags[i] & STOP and i + 1 < count and self._ends_sentence(i)]
        if not self.text.isprintable():  # a quick look: no line end is printable
            ends = sorted({*ends, *self._line_breaks(gaps)})
        return list(zip([0, *ends], [*ends, count], strict=True))

    def _line_breaks(self, gaps: list[str]) -> Iterator[int]:
        """The first token of each line that does not go on with the line before, by the segmenter's own rule."""
        line = 0
        for i, gap in enumerate(gaps):
            if gap and _LINE_END.search(gap):
                end, following = self.ends[i], self.starts[i + 1]
                first = self.text[following : following + _FIRST_OF_LINE].split()[0]
                if is_paragraph(gap) or lines_differ(self.text[line:end], end - line, first):
                    yield i + 1
                line = following

    def _ends_sentence(self, i: int) -> bool:
        if self.touches(i + 1):
            return False
        following = self.raw[i + 1]
        if following[0].islower() or following[0] in ",;:)":
            return False
        if self.raw[i][0] in "!?":
            return True
        before = self.raw[i][:-1] or (self.raw[i - 1] if i and self.touches(i) else "")
        kind = abbreviation(before) if before else None
        return kind is None or may_end(kind, following, initial=self.words[i + 2] == ".")
