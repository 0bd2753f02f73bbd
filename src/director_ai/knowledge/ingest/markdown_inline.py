"""Markdown that remembers where each piece of text stood."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Literal

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline

from director_ai.knowledge.ingest.passages import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence
    from typing import Any

    from markdown_it.token import Token

__all__ = ["DEEPEST", "Alignment", "PlacedMarkdown", "inline_runs"]

DEEPEST = 40
"""Levels of nesting, of which a list has two; the parser calls itself for each, and leaves out what is deeper."""
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_AT = "at"  # in a token's `meta`: where in the content of its block it was read


class _PlacedState(StateInline):
    """Notes the place of every token, and of the plain text that is collected before it."""

    _pending_at = 0
    _pending_end = -1

    def append_pending(self, text: str) -> None:
        if self.pos != self._pending_end:  # it does not go on with what is pending: a token was between
            self._pending_at = self.pos
        self._pending_end = self.pos + len(text)
        super().append_pending(text)

    def pushPending(self) -> Token:  # noqa: N802 -- the name is the library's
        token = super().pushPending()
        token.meta[_AT] = self._pending_at
        return token

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        token = super().push(ttype, tag, nesting)
        token.meta[_AT] = self.pos
        return token


class _PlacedInline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: MutableMapping[str, Any], tokens: list[Token]) -> list[Token]:
        state = _PlacedState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class PlacedMarkdown(MarkdownIt):
    """CommonMark with tables and struck-out text."""

    def __init__(self) -> None:
        super().__init__("commonmark")
        self.inline = _PlacedInline()
        self.configure("commonmark", {"maxNesting": DEEPEST})
        self.enable(["table", "strikethrough"])
        self.disable(["text_join", "fragments_join"])  # what is joined has no place of its own any more

    def validateLink(self, url: str) -> bool:  # noqa: N802, ARG002 -- the library's; targets are dropped, not followed
        return True

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802 -- the library's
        return link


class Alignment:
    """Where the characters of a block's content stand in the document."""

    def __init__(self, anchors: Sequence[tuple[int, int]]) -> None:
        """Take pairs of an offset in the content and the offset in the document that it goes on from."""
        self._content = [content for content, _ in anchors]
        self._document = [document for _, document in anchors]

    def offset(self, index: int) -> int:
        """The offset in the document of one character of the content."""
        anchor = max(bisect_right(self._content, index) - 1, 0)
        return self._document[anchor] + index - self._content[anchor]

    def run(self, text: str, start: int, end: int) -> Run:
        """A run that stands for a stretch of the content as a whole."""
        return Run(text, self.offset(start), self.offset(end - 1) + 1 if end > start else self.offset(start))

    def runs(self, text: str, start: int) -> Iterator[Run]:
        """Runs for text that stands in the content as it is."""
        end = start + len(text)
        first, last = bisect_right(self._content, start), bisect_right(self._content, end - 1)
        for left, right in zip([start, *self._content[first:last]], [*self._content[first:last], end], strict=True):
            yield Run(text[left - start : right - start], self.offset(left), self.offset(right - 1) + 1)


def inline_runs(content: str, tokens: Sequence[Token], alignment: Alignment, base: int = 0) -> Iterator[Run]:
    """The text of a block without its markup: links and images keep their text, what is struck out is dropped."""
    done = base
    struck = 0
    for token in tokens:
        at = base + int(token.meta.get(_AT, 0))
        struck += {"s_open": 1, "s_close": -1}.get(token.type, 0)
        if struck:
            continue
        if token.type == "text" and token.content:
            # The parts of "***" all have the place of the first; the text of "<a@b.c>" has that of its bracket.
            place = content.find(token.content, max(at, done))
            done = place + len(token.content)
            yield from alignment.runs(token.content, place)
        elif token.type == "text_special":
            yield alignment.run(token.content, at, at + len(token.markup))
        elif token.type == "code_inline":
            place = at + len(token.markup)
            is_padded = content[place : place + len(token.content)].replace("\n", " ") != token.content
            yield from alignment.runs(token.content, place + is_padded)
        elif token.type in {"softbreak", "hardbreak"} or _LINE_BREAK.fullmatch(token.content):
            yield alignment.run("\n", at, at + 1)
        elif token.type == "image":
            yield from inline_runs(content, token.children or (), alignment, at + 2)
