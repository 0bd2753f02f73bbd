"""Capabilities: what an agent may do, as words such as `tool:search` and patterns such as `tool:files/*`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Final

from director_ai.errors import ConfigError

__all__ = ["Grants", "capability_of_tool", "checked_capabilities"]

MOST_CAPABILITIES: Final = 256
_PART: Final = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_WORD: Final = re.compile(rf"[a-z][a-z0-9_-]{{0,31}}:{_PART}(?:/{_PART}){{0,7}}")
_PATTERN: Final = re.compile(rf"[a-z][a-z0-9_-]{{0,31}}:(?:\*|{_PART}(?:/{_PART}){{0,7}}(?:/\*)?)")
_LONGEST: Final = 200


class Grants:
    """What some patterns cover; `tool:files/*` covers all below `tool:files`, and not `tool:files` itself."""

    def __init__(self, patterns: Iterable[str]) -> None:
        given = checked_capabilities("capabilities", patterns, is_pattern=True)
        self._words = frozenset(given)
        self._beginnings = tuple(pattern[:-1] for pattern in given if pattern.endswith("*"))

    def covers(self, capability: str) -> bool:
        """Whether a capability, or all that a pattern covers, is granted."""
        return capability in self._words or capability.startswith(self._beginnings)


def checked_capabilities(what: str, given: Iterable[str], *, is_pattern: bool) -> tuple[str, ...]:
    """Return capabilities, or refuse what is none."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ConfigError(f"{what} must be several capabilities, got a {type(given).__name__}")
    found = tuple(itertools.islice(given, MOST_CAPABILITIES + 1))
    if len(found) > MOST_CAPABILITIES:
        raise ConfigError(f"{what} must hold at most {MOST_CAPABILITIES} capabilities")
    shape = _PATTERN if is_pattern else _WORD
    for each in found:
        if not isinstance(each, str) or len(each) > _LONGEST or ".." in each or not shape.fullmatch(each):
            raise ConfigError(
                f"{what} must hold words such as tool:search" + (" or tool:files/*" if is_pattern else "")
            )
    return tuple(str.__str__(each) for each in found)


def capability_of_tool(name: str) -> str:
    """Return the capability that calling a tool needs; nothing where its name cannot be granted."""
    capability = f"tool:{name}"
    is_word = len(capability) <= _LONGEST and ".." not in capability and _WORD.fullmatch(capability)
    return capability if is_word else ""
