"""Reads strict JSON and remembers where in the text each value stands."""

from __future__ import annotations

import json.decoder
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MOST_DEPTH", "MOST_KEY", "JsonText", "NotJson", "Place", "read_json"]

MOST_DEPTH: Final = 128
MOST_KEY: Final = 1_000
_MOST_DIGITS: Final = 400
"""Python may be told to refuse numbers of more than 640."""
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<broken>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")
_WORDS: Final[dict[str, tuple[str, object]]] = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}


class NotJson(Exception):
    """A text is not what RFC 8259 calls JSON. Never leaves the checks."""


@dataclass(slots=True)
class Place:
    """Where a value stands, and what is inside it."""

    start: int
    end: int = 0
    inside: dict[str, Place] | list[Place] | None = None


@dataclass(slots=True)
class JsonText:
    """A value, and the places of its parts."""

    value: Any = None
    root: Place = field(default_factory=lambda: Place(0))
    twice: list[Place] = field(default_factory=list)
    """Keys that an object already had; the value of the last one is kept."""
    long_keys: list[Place] = field(default_factory=list)

    def place(self, path: Iterable[str | int]) -> Place:
        """Return the place of a part; where a path leads out of the value, the last place on it."""
        at = self.root
        for step in path:
            if isinstance(at.inside, dict) and step in at.inside:
                at = at.inside[str(step)]
            elif isinstance(at.inside, list) and isinstance(step, int) and 0 <= step < len(at.inside):
                at = at.inside[step]
            else:
                break
        return at


def read_json(text: str, start: int, end: int) -> JsonText:
    """Read the one value that stands between two places of a text; raise NotJson where there is anything else."""
    reader = _Reader(text, end)
    reader.found.value, reader.found.root = reader.value(reader.skip(start), 0)
    if reader.skip(reader.found.root.end) != end:
        raise NotJson
    return reader.found


class _Reader:
    def __init__(self, text: str, end: int) -> None:
        self._text = text
        self._end = end
        self.found = JsonText()

    def skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at, self._end)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> tuple[Any, Place]:
        """Return the value that begins here, and its place."""
        sign = self._text[at : at + 1] if at < self._end else ""
        if depth > MOST_DEPTH:
            raise NotJson
        if sign == "{":
            return self._object(at, depth)
        if sign == "[":
            return self._array(at, depth)
        if sign == '"':
            string, end = self._string(at)
            return string, Place(at, end)
        if sign in _WORDS:
            word, meaning = _WORDS[sign]
            if self._text[at : min(self._end, at + len(word))] != word:
                raise NotJson
            return meaning, Place(at, at + len(word))
        return self._number(at)

    def _number(self, at: int) -> tuple[Any, Place]:
        found = _NUMBER.match(self._text, at, self._end)
        if found is None or found.end() - at > _MOST_DIGITS:
            raise NotJson
        number = float(found[0]) if found["broken"] else int(found[0])
        if isinstance(number, float) and not math.isfinite(number):
            raise NotJson
        return number, Place(at, found.end())

    def _string(self, at: int) -> tuple[str, int]:
        try:
            string, end = json.decoder.scanstring(self._text, at + 1, True)  # type: ignore[attr-defined]
        except json.JSONDecodeError:
            raise NotJson from None
        if end > self._end:
            raise NotJson
        return string, end

    def _array(self, at: int, depth: int) -> tuple[list[Any], Place]:
        values: list[Any] = []
        inside: list[Place] = []
        here = self.skip(at + 1)
        if self._is("]", here):
            return values, Place(at, here + 1, inside)
        while True:
            value, place = self.value(here, depth + 1)
            values.append(value)
            inside.append(place)
            here = self.skip(place.end)
            if self._is("]", here):
                return values, Place(at, here + 1, inside)
            here = self.skip(self._after(",", here))

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], Place]:
        values: dict[str, Any] = {}
        inside: dict[str, Place] = {}
        here = self.skip(at + 1)
        if self._is("}", here):
            return values, Place(at, here + 1, inside)
        while True:
            if not self._is('"', here):
                raise NotJson
            key, end = self._string(here)
            if key in values:
                self.found.twice.append(Place(here, end))
            if len(key) > MOST_KEY:
                self.found.long_keys.append(Place(here, end))
            values[key], inside[key] = self.value(self.skip(self._after(":", self.skip(end))), depth + 1)
            here = self.skip(inside[key].end)
            if self._is("}", here):
                return values, Place(at, here + 1, inside)
            here = self.skip(self._after(",", here))

    def _is(self, sign: str, at: int) -> bool:
        return at < self._end and self._text[at] == sign

    def _after(self, sign: str, at: int) -> int:
        if not self._is(sign, at):
            raise NotJson
        return at + 1
