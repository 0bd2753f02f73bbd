"""Functions that somebody has already become checks: those that return a better text, and those that say yes or no."""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from director_ai.core.checks.rules import Frontier, check_frontier
from director_ai.core.merge import Edit, EditKind, edits_between
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Predicate", "TextFunction"]


@dataclass(frozen=True, slots=True)
class TextFunction:
    """Calls a function from text to text and makes edits of what it changed.

    The function may be asynchronous: `find` then returns an awaitable. Whatever it raises is passed on, and a result
    that is no text is refused, so that nothing unchecked is released.
    """

    function: Callable[[str], str | Awaitable[str]]
    _: KW_ONLY
    name: str
    frontier: Frontier = "sentence"
    kind: EditKind = "rewrite"

    def __post_init__(self) -> None:
        _check(self.function, self.name)
        check_frontier(self.frontier)
        Edit(0, 0, "", self.kind, self.name)  # refuses what is no kind

    def find(self, text: str) -> Any:
        """Return the edits that make the text into what the function returns, or an awaitable of them."""
        fixed = self.function(text)
        return self._awaited(text, fixed) if inspect.isawaitable(fixed) else self._edits(text, fixed)

    async def _awaited(self, text: str, fixed: Awaitable[str]) -> tuple[Edit, ...]:
        return self._edits(text, await fixed)

    def _edits(self, text: str, fixed: object) -> tuple[Edit, ...]:
        if not isinstance(fixed, str):
            raise ConfigError(f"the function of {self.name!r} must return a text, got a {type(fixed).__name__}")
        # join makes plain texts of subclasses without calling their methods
        source, result = "".join(("", text)), "".join(("", fixed))
        return edits_between(source, result, check=self.name, kind=self.kind, reason=self.name)


@dataclass(frozen=True, slots=True)
class Predicate:
    """Calls a function that says whether a piece of text is fine; one that is not is removed whole.

    The white space around the piece stays. The function may be asynchronous, as for `TextFunction`; an answer other
    than True or False is refused.
    """

    function: Callable[[str], bool | Awaitable[bool]]
    _: KW_ONLY
    name: str
    frontier: Frontier = "sentence"
    reason: str = "refused"
    replacement: str = "[REMOVED]"

    def __post_init__(self) -> None:
        _check(self.function, self.name)
        if check_frontier(self.frontier) not in {"sentence", "text"}:
            raise ConfigError("a predicate judges whole pieces; its frontier must be sentence or text")
        Edit(0, 0, self.replacement, "remove", self.name, self.reason)  # refuses what no edit may hold

    def find(self, text: str) -> Any:
        """Return one edit of the whole piece, or none, or an awaitable of that."""
        fine = self.function(text)
        return self._awaited(text, fine) if inspect.isawaitable(fine) else self._edits(text, fine)

    async def _awaited(self, text: str, fine: Awaitable[bool]) -> tuple[Edit, ...]:
        return self._edits(text, await fine)

    def _edits(self, text: str, fine: object) -> tuple[Edit, ...]:
        if not isinstance(fine, bool):
            raise ConfigError(f"the function of {self.name!r} must return True or False, got a {type(fine).__name__}")
        if fine:
            return ()
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        if start > end:  # white space only
            start, end = 0, len(text)
        return (Edit(start, end, self.replacement if text else "", "remove", self.name, self.reason),)


def _check(function: object, name: object) -> None:
    if not callable(function):
        raise ConfigError(f"a check needs a function, got a {type(function).__name__}")
    if not isinstance(name, str) or not name:
        raise ConfigError("a check needs a name, a text that is not empty")
