"""Who acts out which tool: by its name, or by one that can be taken for it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.lookalikes import STRONG_TWINS
from director_ai.errors import ConfigError
from director_ai.hooks.containment.spelling import plain_spelling

if TYPE_CHECKING:
    from director_ai.hooks.protocol import Occasion
    from director_ai.hooks.trajectory.rollouts import Actor

__all__ = ["Cast", "checked_function"]

_LONGEST_NAME: Final = 1_000
_TWINS: Final = str.maketrans({old.lower(): new.lower() for old, new in STRONG_TWINS.items()})
_QUALIFIER: Final = re.compile(r"[./:]|__")


class Cast:
    """One actor for everything, or one for each tool, with that for prompts under ""."""

    def __init__(self, actors: Actor | Mapping[str, Actor] | None) -> None:
        named = actors if isinstance(actors, Mapping) else {}
        if not all(isinstance(name, str) for name in named):
            raise ConfigError("actors must be named by their tools")
        is_one = actors is not None and not isinstance(actors, Mapping)
        self._everyone: Actor | None = checked_function("actors", actors) if is_one else None
        self._named: dict[str, Actor] = {
            name: checked_function("each of actors", actor) for name, actor in named.items()
        }
        self._folded = {_fold(name): actor for name, actor in self._named.items() if name}
        if len(self._folded) != len(self._named) - ("" in self._named):
            raise ConfigError("actors need tools whose names differ by more than case, width, spaces or look-alikes")

    @property
    def answers(self) -> bool:
        """Whether somebody acts out prompts."""
        return self._everyone is not None or "" in self._named

    def actor_for(self, occasion: Occasion) -> Actor | None:
        """Return who acts it out; for `tanks.drain` and `Drain`, that is whoever does for `drain`."""
        if self._everyone is not None or occasion.action is None:
            return self._everyone or self._named.get("")
        name = occasion.action.name
        if name in self._named or not self._folded:
            return self._named.get(name)
        if len(name) > _LONGEST_NAME:  # longer than any tool's: it gets the first of them, rather than none
            return next(iter(self._folded.values()))
        folded = _fold(name)
        parts = [folded, *(folded[found.end() :] for found in _QUALIFIER.finditer(folded))]
        return next((self._folded[part] for part in parts if part in self._folded), None)


def _fold(name: str) -> str:
    plain = plain_spelling(name).translate(_TWINS).casefold().replace("-", "_")
    return "".join(sign for sign in plain if sign.isprintable() and not sign.isspace())


def checked_function(name: str, function: Any) -> Any:
    """Return a function, or refuse what is none, or is asynchronous."""
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise ConfigError(f"{name} must be a synchronous function, got a {type(function).__name__}")
    return function
