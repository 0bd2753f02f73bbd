"""Cuts a stream into the units that a check is asked about, wherever the tokens happen to end."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from director_ai.core.segment import ClauseSegmenter

if TYPE_CHECKING:
    from director_ai.core.checks.rules import Frontier

__all__ = ["Cutter", "Unit", "cutter_for"]

_BLOCK: Final = 96
"""Characters that a check with a look-ahead decides about at a time, up to the next white space."""
_BEHIND: Final = 80
"""Characters before them that it sees."""
_LONGEST_WORD: Final = 2_048
_LONG_REACH: Final = 512
"""Where there is no white space for so long, a border falls anywhere, and more is seen around it."""
_SPACE = re.compile(r"\s")


class Unit(NamedTuple):
    """A stretch of the stream to decide about, and the window that a check needs for that. Places in the stream."""

    start: int
    end: int
    low: int
    high: int
    final: bool = False
    """Nothing comes after the window."""


class Cutter(Protocol):
    """Says which units are complete. Its borders depend on the text alone."""

    def feed(self, token: str) -> list[Unit]: ...

    def finish(self) -> list[Unit]: ...

    @property
    def behind(self) -> int:
        """How much of the text before a unit its window may hold."""
        ...

    @property
    def earliest(self) -> float:
        """How long the text must be before another unit can be complete."""
        ...

    def longer(self, unit: Unit) -> Unit | None:
        """Return a unit with a longer window, to be asked again; None where it had all it can get."""
        ...


def cutter_for(frontier: Frontier) -> Cutter:
    """Return a cutter for one stream."""
    if isinstance(frontier, int):
        return _Windows(frontier)
    kinds: dict[str, type[_Words | _Sentences | _Whole]] = {"word": _Words, "sentence": _Sentences, "text": _Whole}
    return kinds[frontier]()


class _Simple:
    """Units that are their own windows."""

    def __init__(self) -> None:
        self._start = self._seen = 0

    behind = 0

    @property
    def earliest(self) -> float:
        return 0

    def longer(self, _unit: Unit) -> Unit | None:
        return None

    def _up_to(self, end: int, *, final: bool = False) -> list[Unit]:
        start, self._start = self._start, end
        return [Unit(start, end, start, end, final)] if end > start or final else []

    def finish(self) -> list[Unit]:
        return self._up_to(self._seen, final=True)


class _Words(_Simple):
    def feed(self, token: str) -> list[Unit]:
        before, self._seen = self._seen, self._seen + len(token)
        for at in range(len(token) - 1, -1, -1):
            if token[at].isspace():
                return self._up_to(before + at + 1)
        return []


class _Whole(_Simple):
    @property
    def earliest(self) -> float:
        return inf

    def feed(self, token: str) -> list[Unit]:
        self._seen += len(token)
        return []


class _Sentences(_Simple):
    def __init__(self) -> None:
        super().__init__()
        self._segmenter = ClauseSegmenter()

    def feed(self, token: str) -> list[Unit]:
        self._seen += len(token)
        return [
            unit for clause in self._segmenter.feed(token) if clause.ends_sentence for unit in self._up_to(clause.end)
        ]

    def finish(self) -> list[Unit]:
        units = [
            unit
            for clause in self._segmenter.finish()
            if clause.ends_sentence and clause.end < self._seen
            for unit in self._up_to(clause.end)
        ]
        return units + super().finish()


class _Windows:
    """Blocks that end behind white space, with context on both sides. What has no white space in it is never cut."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._long_reach = max(_LONG_REACH, reach)
        self.behind = max(_BEHIND, self._long_reach)
        self._text = ""  # from the open block on
        self._start = self._searched = 0

    def feed(self, token: str) -> list[Unit]:
        self._text += token
        units: list[Unit] = []
        text, begin = self._text, 0
        while len(text) >= begin + _BLOCK + self._reach:
            space = _SPACE.search(text, max(begin + _BLOCK - 1, self._searched), begin + _LONGEST_WORD)
            border, reach = (space.end(), self._reach) if space else (begin + _LONGEST_WORD, self._long_reach)
            if len(text) < border + reach:
                self._searched = begin + _BLOCK - 1 if space else max(begin + _BLOCK - 1, len(text) - 1)
                break
            low = max(0, self._start + begin - max(_BEHIND, reach))
            units.append(Unit(self._start + begin, self._start + border, low, self._start + border + reach))
            begin, self._searched = border, 0
        if begin:
            self._text, self._start = text[begin:], self._start + begin
            self._searched = max(0, self._searched - begin)
        return units

    @property
    def earliest(self) -> float:
        return self._start + _BLOCK + self._reach

    def longer(self, unit: Unit) -> Unit | None:
        return None if unit.final else unit._replace(high=unit.end + 2 * (unit.high - unit.end))

    def finish(self) -> list[Unit]:
        end = self._start + len(self._text)
        return [Unit(self._start, end, max(0, self._start - max(_BEHIND, self._reach)), end, True)]
