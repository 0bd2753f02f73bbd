"""HTML inside of text: which tags load or run something, and how text goes on without them."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Final, Literal

from director_ai.validators.hosts import leads_inside
from director_ai.validators.stages import Change

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HtmlMode", "open_tag", "tag_changes"]

HtmlMode = Literal["remove", "escape"]
_LONGEST_TAG: Final = 1_000
_LONGEST_CONTENT: Final = 4_000
_WITH_CONTENT: Final = "script|style|svg|iframe|object|math|template|noscript|xmp|noembed|noframes|plaintext"
_ACTIVE: Final = frozenset(
    f"{_WITH_CONTENT}|applet|audio|base|bgsound|button|embed|fencedframe|form|frame|frameset|image|img|input|isindex|link"
    "|marquee|meta|picture|portal|source|track|video|xml".split("|")
)
_HARMLESS: Final = frozenset(
    "align alt class colspan dir headers height lang open reversed rowspan scope start title type valign value "
    "width".split()
)
_FETCHING: Final = frozenset({("a", "href"), ("img", "src")})
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_AUTOMATIC = re.compile(r"https?://[^\s<>=?]*(?:\?[^\s<>=/]*(?:=[^\s<>]*)?)?", re.IGNORECASE)
"""An automatic link of Markdown that is no tag with attributes for those who read it as HTML."""
_NAME = re.compile(r"/?\s*([A-Za-z][^\s/>]*)")
_STRICT = re.compile(
    r"[A-Za-z][A-Za-z0-9]*(?:\s+[A-Za-z]+(?:=(?:\"[^\"<>`]*\"|'[^'<>`]*'|[\w.%:/\-]+))?)*\s*/?", re.ASCII
)
_ATTRIBUTE = re.compile(r"\s([A-Za-z]+)(?:=(?:\"([^\"]*)\"|'([^']*)'|([\w.%:/\-]+)))?")
_CONTENT_START = re.compile(rf"<({_WITH_CONTENT})(?=[\s/>])[^>]{{0,{_LONGEST_TAG}}}>", re.IGNORECASE)
_CONTENT_END = re.compile(rf"</({_WITH_CONTENT})(?=[\s/>])[^>]{{0,{_LONGEST_TAG}}}>", re.IGNORECASE)


def tag_changes(text: str, hosts: frozenset[str], mode: HtmlMode) -> list[Change]:
    """Return changes after which no tag is left that loads or runs something, or that hides text."""
    if "<" not in text:
        return []
    changes, place, close = [], 0, -1
    contents = _contents(text) if mode == "remove" else {}
    while found := _TAG.search(text, place):
        start = found.start()
        if close < start:
            close = text.find(">", start) if close != len(text) else close
            close = close if close >= 0 else len(text)
        whole = contents.get(start) or (_comment_end(text, start) if mode == "remove" else 0)
        closed = close < min(len(text), start + _LONGEST_TAG)
        if whole:
            place = whole
            changes.append(Change(start, whole, _gap(text, start), "remove", "html"))
        elif closed and _harmless(text[start + 1 : close], hosts):
            place = start + 1  # there may be another one inside of it
        elif closed and mode == "remove":
            place = close + 1
            changes.append(Change(start, place, _gap(text, start), "remove", "html"))
        else:
            place = start + 1
            if closed or text.find("=", start, start + _LONGEST_TAG) >= 0 or len(text) > start + _LONGEST_TAG:
                # No tag yet, or one to be read: with a space it becomes none.
                changes.append(Change(start, place, "< " if mode == "remove" else "&lt;", "remove", "html"))
    return changes


def _gap(text: str, start: int) -> str:
    """Return what stands for something removed: nothing, or a space where what follows would make up a new tag."""
    return " " if text[start - 1 : start] in {"<", "&"} else ""


def _contents(text: str) -> dict[int, int]:
    """Return where elements that are more than their tags begin and end, in one pass."""
    ends: dict[str, deque[int]] = defaultdict(deque)
    for found in _CONTENT_END.finditer(text):
        ends[found[1].lower()].append(found.end())
    pairs: dict[int, int] = {}
    for found in _CONTENT_START.finditer(text):
        waiting = ends[found[1].lower()]
        while waiting and waiting[0] <= found.start():
            waiting.popleft()
        if waiting and waiting[0] - found.end() <= _LONGEST_CONTENT:
            pairs[found.start()] = waiting[0]
    return pairs


def _comment_end(text: str, start: int) -> int:
    """Return where a comment ends that begins here; 0 if there is none, or no end to it."""
    end = text.find("-->", start + 2, start + _LONGEST_CONTENT) if text.startswith("<!--", start) else -1
    return end + 3 if end >= 0 else 0


def _harmless(body: str, hosts: frozenset[str]) -> bool:
    """Tell whether a tag loads and runs nothing; where it has no equals sign, no attribute of it does."""
    if _AUTOMATIC.fullmatch(body):
        return True
    name = _NAME.match(body)
    if name and name[1].lower().partition(":")[0] in _ACTIVE and (name[1].lower() != "img" or "=" not in body):
        return False
    if "=" not in body:
        return True
    if not name or not _STRICT.fullmatch(body):
        return False
    return all(_passes(name[1].lower(), *each, hosts) for each in _attributes(body))


def _attributes(body: str) -> Iterator[tuple[str, str]]:
    for attribute in _ATTRIBUTE.finditer(body):
        yield attribute[1].lower(), attribute[2] or attribute[3] or attribute[4] or ""


def _passes(tag: str, attribute: str, value: str, hosts: frozenset[str]) -> bool:
    return attribute in _HARMLESS or ((tag, attribute) in _FETCHING and leads_inside(value, hosts))


def open_tag(text: str) -> int | None:
    """Return where a tag, a comment or an element with content begins that the text ends inside of."""
    places = []
    tail = max(text.rfind(">") + 1, len(text) - _LONGEST_TAG)
    if found := re.compile(r"<(?=[A-Za-z/!?]|\Z)").search(text, tail):
        places.append(found.start())
    low = max(0, len(text) - _LONGEST_CONTENT)
    comment = text.rfind("<!--", low)
    if comment >= 0 and "-->" not in text[comment + 2 :]:
        places.append(comment)
    ended = _contents(text[low:])
    for element in _CONTENT_START.finditer(text, low):
        if element.start() - low not in ended:
            places.append(element.start())
            break
    return min(places, default=None)
