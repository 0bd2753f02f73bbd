"""What leaves without being judged: figures, identifiers, and what the client said itself; never prose."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["Envelope", "as_identifier", "as_index"]

MOST_INDEX: Final = 10_000
_MOST_DEPTH: Final = 32
_IDENTIFIER: Final = re.compile(r"[\x21-\x7e]{1,256}")
"""No white space and no letters of other scripts: some of them write whole sentences without any."""
_DROPPED: Final = object()


def as_identifier(value: Any, default: str = "") -> str:
    """Return an id, a name or a word of the protocol; whatever could be prose is replaced."""
    return value if isinstance(value, str) and _IDENTIFIER.fullmatch(value) else default


def as_index(value: Any) -> int | None:
    """Return the number of a choice, item or block; None for what cannot be one."""
    return value if type(value) is int and 0 <= value <= MOST_INDEX else None


class Envelope:
    """Keeps of an upstream's objects what is not text of the model."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._said = set(_strings(request, _MOST_DEPTH))

    def pick(self, value: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
        """Return some fields, as far as they may leave."""
        found = ((name, self._kept(value[name], _drop)) for name in names if name in value)
        return {name: kept for name, kept in found if kept is not _DROPPED}

    def keep(self, value: Any) -> Any:
        """Return a value without the strings that may not leave; None where nothing is left of it."""
        kept = self._kept(value, _drop)
        return None if kept is _DROPPED else kept

    def prose_of(self, value: Any) -> str:
        """Return the strings that may not leave unjudged, as a list in JSON; nothing where there are none."""
        found: list[str] = []

        def note(text: str) -> Any:
            found.append(text)
            return _DROPPED

        self._kept(value, note)
        return json.dumps(found, ensure_ascii=False) if found else ""

    def filled(self, value: Any, judged: str) -> dict[str, Any]:
        """Return an object with its prose as it was judged; without any where that is no longer whole."""
        try:
            texts = json.loads(judged) if judged else []
        except ValueError:
            texts = []
        left = iter(texts if isinstance(texts, list) else ())
        made = self._kept(value, lambda _: next(left, _DROPPED))
        return made if isinstance(made, dict) else {}

    def _kept(self, value: Any, prose: Callable[[str], Any], depth: int = _MOST_DEPTH) -> Any:
        """Return what is left of a value; `prose` says what becomes of the strings that may not leave."""
        if depth == 0:
            return _DROPPED
        match value:
            case None | bool() | int():
                return value
            case float():
                return value if math.isfinite(value) else _DROPPED
            case str():
                return value if not value or value in self._said or _IDENTIFIER.fullmatch(value) else prose(value)
            case list():
                found = [self._kept(each, prose, depth - 1) for each in value]
                return [each for each in found if each is not _DROPPED]
            case dict():
                named = {name: each for name, each in value.items() if self._is_name(name)}
                pairs = [(name, self._kept(each, prose, depth - 1)) for name, each in named.items()]
                return {name: each for name, each in pairs if each is not _DROPPED}
        return _DROPPED

    def _is_name(self, name: str) -> bool:
        return name in self._said or _IDENTIFIER.fullmatch(name) is not None


def _drop(_: str) -> Any:
    return _DROPPED


def _strings(value: Any, depth: int) -> Iterable[str]:
    """Yield every string of a value, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and depth:
        for name, each in value.items():
            yield name
            yield from _strings(each, depth - 1)
    elif isinstance(value, list) and depth:
        for each in value:
            yield from _strings(each, depth - 1)
