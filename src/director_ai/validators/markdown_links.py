"""Markdown inside of text: links, images, definitions and automatic links that lead elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.validators.hosts import leads_inside
from director_ai.validators.stages import Change

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["link_changes", "open_link"]

_LONGEST: Final = 2_000
_LONGEST_TEXT: Final = 1_000
_BRACKET = re.compile(r"!?\[|\]")
# Each text has one reading only, so these never try one again: runs stand between what may interrupt them, and where
# what follows could match a part of a run, (?!...) says that it is whole.
_PLAIN: Final = r"[^\s()\\]*"
_INNERMOST: Final = rf"\({_PLAIN}(?:\\.{_PLAIN})*\)"
_INNER: Final = rf"\({_PLAIN}(?:(?:\\.|{_INNERMOST}){_PLAIN})*\)"
_PARENTHESES: Final = rf"\({_PLAIN}(?:(?:\\.|{_INNER}){_PLAIN})*\)"
_TITLE: Final = r"(?:\"[^\"\\]*(?:\\.[^\"\\]*)*\"|'[^'\\]*(?:\\.[^'\\]*)*'|\([^()\\]*(?:\\.[^()\\]*)*\))"
_TARGET = re.compile(
    rf"\(\s*(?!\s)(?P<target><[^<>\n\\]*(?:\\.[^<>\n\\]*)*>|{_PLAIN}(?:(?:\\.|\\\Z|{_PARENTHESES}){_PLAIN})*)"
    rf"(?:\s+{_TITLE})?\s*(?P<end>\)|\Z)",
    re.DOTALL,
)
_OPEN_TARGET = re.compile(
    rf"(?=\()(?:\S*\Z(?<!\))|{_TARGET.pattern}(?<!\))|\(\s*(?!\s)\S*\s+[\"'(][^\"'()]*\Z)", re.DOTALL
)
_DEFINITION = re.compile(
    rf"\[(?:[^\[\]\\]|\\.){{1,999}}\]:\s*(?P<target><[^<>\n]*>|\S+(?!\S))"
    rf"(?:\s+{_TITLE}(?=[ \t]*(?:\n|\Z)))?[ \t>]*(?=\n|\Z)",
    re.DOTALL,
)
_AUTOMATIC = re.compile(r"<(?P<target>[A-Za-z][A-Za-z0-9+.\-]{1,31}:[^\s<>]*)>")


def link_changes(text: str, hosts: frozenset[str], keep_alt: bool) -> list[Change]:
    """Return changes after which no link, image or definition leads outside; what a link says stays."""
    found: list[Change] = []
    if "](" in text:
        found += _inline(text, hosts, keep_alt)
    if "]:" in text:
        found += [Change(*each.span(), "", "remove", "definition") for each in _outside(_DEFINITION, text, hosts)]
    if "<" in text:
        found += [Change(*each.span(), each["target"], "remove", "link") for each in _outside(_AUTOMATIC, text, hosts)]
    return list(_outermost(found))


def _outside(pattern: re.Pattern[str], text: str, hosts: frozenset[str]) -> Iterator[re.Match[str]]:
    for found in pattern.finditer(text):
        if not leads_inside(found["target"].strip("<>"), hosts):
            yield found


def _inline(text: str, hosts: frozenset[str], keep_alt: bool) -> Iterator[Change]:
    """Yield what to take away of links and images: their brackets and addresses, or all of an image."""
    openers: list[re.Match[str]] = []
    behind = failed = 0
    for bracket in _BRACKET.finditer(text):
        if bracket.start() < behind:
            continue
        if bracket[0] != "]":
            openers.append(bracket)
            continue
        opener = openers.pop() if openers else None
        if not text.startswith("(", bracket.end()):
            continue
        target = _TARGET.match(text, bracket.end(), bracket.end() + (_LONGEST if failed < 20 else _LONGEST // 20))
        if target is None or (target["end"] != ")" and target.end() < len(text)):
            failed += 1  # whoever opens links over and over and closes none is not worth a long look
            address = text[bracket.end() + 1 : bracket.end() + 400].partition(")")[0].lstrip(" <\t\n")
            if failed > 20 or not leads_inside(address, hosts):
                yield Change(bracket.start(), bracket.end(), "] ", "remove", "link")  # with a space it is none
            continue
        behind = target.end()
        if leads_inside(target["target"].strip("<>"), hosts):
            continue
        image = opener is not None and opener[0] == "!["
        if image and not keep_alt and opener:
            yield Change(opener.start(), target.end(), "", "remove", "image")
            continue
        if opener:
            yield Change(*opener.span(), "", "remove", "image" if image else "link")
        yield Change(bracket.start(), target.end(), "", "remove", "image" if image else "link")


def _outermost(changes: list[Change]) -> Iterator[Change]:
    """Yield changes in their order, without those inside or across another."""
    behind = 0
    for change in sorted(changes, key=lambda each: (each.start, -each.end)):
        if change.start >= behind:
            yield change
            behind = change.end


def open_link(text: str) -> int | None:
    """Return where a link begins that the text ends inside of."""
    low = max(0, len(text) - _LONGEST_TEXT)
    openers: list[int] = []
    for bracket in _BRACKET.finditer(text, low):
        if bracket[0] != "]":
            openers.append(bracket.start())
        elif openers and bracket.end() < len(text):
            start = openers.pop()
            if _OPEN_TARGET.match(text, bracket.end()):
                return min([start, *openers])
    return openers[0] if openers else None
