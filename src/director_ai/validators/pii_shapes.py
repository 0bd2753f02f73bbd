"""How a kind of personal data is described: a shape, what its characters must fulfil, and words that must be near."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["AFTER", "BEFORE", "DASH", "GAP", "SPACE", "Nearby", "Shape", "Span", "united", "words"]

BEFORE: Final = 60
"""How far behind the beginning of a context word something may begin."""
AFTER: Final = 4
"""How close behind something a context word may follow."""
SPACE: Final = r"[ \xa0\u2007\u2009\u202f]"
DASH: Final = r"[-\u2010-\u2015\u2212]"
GAP: Final = r"[ \xa0\u2007\u2009\u202f\-\u2010-\u2015\u2212]"
_START: Final = r"(?<![^\W_])(?<!\d[.,])"
_WORD: Final = re.compile(r"[^\W\d_]+")
_END: Final = r"(?![^\W_])(?![.,]\d)"


class Span(NamedTuple):
    """Where something of a kind stands."""

    start: int
    end: int
    kind: str


def united(places: Iterable[tuple[int, int]], kind: str) -> Iterator[Span]:
    """Yield places that come in the order of their starts; those that overlap, as one."""
    first = last = -1
    for start, end in places:
        if start >= last:
            if last >= 0:
                yield Span(first, last, kind)
            first = start
        last = max(last, end)
    if last >= 0:
        yield Span(first, last, kind)


def words(listed: str) -> frozenset[str]:
    """Return words, any of which is a context: lower case finds any case, anything else only itself."""
    return frozenset(listed.split())


class Nearby:
    """Where context words stand in one text, read once, when first asked for."""

    def __init__(self, text: str, vocabulary: frozenset[str]) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._places: dict[str, list[int]] | None = None
        self._known: dict[frozenset[str], list[int]] = {}

    def _read(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for found in _WORD.finditer(self._text):
            word = found.group()
            if word in self._vocabulary or (word := word.lower()) in self._vocabulary:
                places.setdefault(word, []).append(found.start())
        return places

    def _starts(self, context: frozenset[str]) -> list[int]:
        if self._places is None:
            self._places = self._read()
        if (starts := self._known.get(context)) is None:
            starts = self._known[context] = sorted(
                place for word in context & self._places.keys() for place in self._places[word]
            )
        return starts

    def knows(self, context: frozenset[str]) -> bool:
        """Tell whether any of these words stands anywhere."""
        return bool(self._starts(context))

    def leads(self, context: frozenset[str], start: int) -> bool:
        """Tell whether a context word begins shortly before a place."""
        starts = self._starts(context)
        at = bisect.bisect_left(starts, start) - 1
        return at >= 0 and start - starts[at] <= BEFORE

    def follows(self, context: frozenset[str], end: int) -> bool:
        """Tell whether a context word begins right behind a place."""
        starts = self._starts(context)
        at = bisect.bisect_left(starts, end)
        return at < len(starts) and starts[at] - end <= AFTER


def _anything(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Shape:
    """One way in which a kind is written. Every place where it may begin is tried, whatever was found before it, so
    that what is found does not depend on where a window of the text begins.
    """

    kind: str
    pattern: re.Pattern[str]
    """Matches nothing but a place; the group `it` is what stands there."""
    holds: Callable[[str], bool] = _anything
    """What its characters must fulfil."""
    context: frozenset[str] | None = None
    """Words of which one must stand shortly before."""

    @classmethod
    def of(
        cls,
        kind: str,
        body: str,
        holds: Callable[[str], bool] = _anything,
        *,
        context: frozenset[str] | None = None,
    ) -> Shape:
        """Return the shape of something that stands alone, between characters that belong to no word."""
        return cls(kind, re.compile(rf"{_START}(?=(?P<it>{body}){_END})"), holds, context)

    def spans(self, text: str, zones: Sequence[tuple[int, int]], nearby: Nearby) -> Iterator[Span]:
        """Yield wherever it stands, in some zones of a text."""
        if self.context is not None:
            is_there = any(self.pattern.search(text, start, end) for start, end in zones)
            if not is_there or not nearby.knows(self.context):
                return
        for start, end in zones:
            yield from united(self._places(text, start, end, nearby), self.kind)

    def _places(self, text: str, start: int, end: int, nearby: Nearby) -> Iterator[tuple[int, int]]:
        for found in self.pattern.finditer(text, start, end):
            if (self.context is None or nearby.leads(self.context, found.start())) and self.holds(found["it"]):
                yield found.span("it")
