"""HTML to tags and text, with offsets, however broken it is.

The standard library's parser is not used here: its time grows with the square of the length of a tag that does not end
(20,000 characters of "<a " take it four seconds). Every character below is looked at a fixed number of times.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["VOID", "Tag", "Text", "markup_tokens", "unescaped"]

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_RAW = frozenset("script style title textarea iframe noembed noframes xmp".split())

# (?!\s) and (?=[\s/>]) keep a run from giving back what it took: a document without a ">" costs one look per character.
_TAG = re.compile(
    r"""<(/?)([a-zA-Z][^\s/>]*)(?=[\s/>])
        ([^>"'=]*(?:(?:=\s*(?!\s)(?:"[^"]*" | '[^']*' | (?=[^"'])|\Z) | ["'])[^>"'=]*)*)>""",
    re.VERBOSE,
)
_MOST_FAILURES = 20
"""Tags whose quotes do not close, each of which is looked for to the end, before quotes no longer count."""
_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_LOOSE_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)(?=[\s/>])([^>]*)>")
_ATTRIBUTE = re.compile(r"""([^\s=/"'>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_REFERENCE = re.compile(r"&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?")


@dataclass(frozen=True, slots=True)
class Tag:
    """The opening or closing of an element."""

    name: str
    start: int
    end: int
    is_closing: bool
    is_empty: bool
    """Nothing can be inside of it."""
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """Characters between tags, with their entities unread."""

    start: int
    end: int


def markup_tokens(document: str) -> Iterator[Tag | Text]:
    """The tags and the text of a document, in order; comments and declarations are left out."""
    at = failures = 0
    ends = _Ends(document)
    while at < len(document):
        opening = document.find("<", at)
        if opening < 0 or ends.after(">", opening) < 0:  # no tag can end any more: the rest is text
            yield Text(at, len(document))
            return
        if opening > at:
            yield Text(at, opening)
        if document.startswith(("<!", "<?"), opening):
            # A comment that never ends reaches to the next ">".
            end = ends.after("-->", opening + 2) if document.startswith("<!--", opening) else -1
            at = end + 3 if end >= 0 else ends.after(">", opening) + 1
            continue
        match = _TAG.match(document, opening) if failures < _MOST_FAILURES else None
        if match is None:
            match = _LOOSE_TAG.match(document, opening)
            failures += match is not None
        if match is None:
            yield Text(opening, opening + 1)
            at = opening + 1
            continue
        tag = _tag(match)
        yield tag
        at = match.end()
        if tag.name in _RAW and not tag.is_closing and not tag.is_empty:
            end = ends.after(f"</{tag.name}", at)
            if end >= 0 or tag.name in {"script", "style"}:
                end = len(document) if end < 0 else end
                yield Text(at, end)
                at = end


class _Ends:
    """Where the next of each kind of end is; found once, not again for every place that asks."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._lower = ""
        self._found: dict[str, int] = {}

    def after(self, end: str, at: int) -> int:
        """The offset of the first `end` from `at` on; -1 if there is none. For each `end`, `at` only grows."""
        found = self._found.get(end, 0)
        if 0 <= found < at or end not in self._found:
            found = self._found[end] = self._searched(end).find(end, at)
        return found

    def _searched(self, end: str) -> str:
        if not end.startswith("</"):
            return self._document
        if not self._lower:
            # Only ASCII: other letters may change the length, and with it all offsets.
            self._lower = self._document.translate(_TO_LOWER)
        return self._lower


def _tag(match: re.Match[str]) -> Tag:
    slash, name, rest = match.groups()
    name = name.lower()
    attributes: dict[str, str] = {}
    if not slash and not rest.isspace():
        for attribute in _ATTRIBUTE.finditer(rest):
            key, *values = attribute.groups()
            attributes.setdefault(key.lower(), "".join(value or "" for value in values))
    is_empty = name in VOID or rest.endswith("/")
    return Tag(name, match.start(), match.end(), bool(slash), is_empty, attributes)


def unescaped(document: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """A stretch of text in pieces: plain characters, and entities read, each with its offsets."""
    at = start
    for reference in _REFERENCE.finditer(document, start, end):
        text = html.unescape(reference[0])
        if text != reference[0]:
            if reference.start() > at:
                yield document[at : reference.start()], at, reference.start()
            yield text, reference.start(), reference.end()
            at = reference.end()
    if end > at:
        yield document[at:end], at, end
