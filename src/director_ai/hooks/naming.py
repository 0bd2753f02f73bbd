"""Hooks by the name of the function that makes them, for servers that are set up by a file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from director_ai.errors import ConfigError, DirectorError

if TYPE_CHECKING:
    from director_ai.hooks.protocol import Hook

__all__ = ["hooks_named"]


def hooks_named(place: str) -> list[Hook]:
    """Return what the function at `package.module:function` returns: a list of hooks."""
    module, sign, function = place.partition(":")
    if not sign or not module.strip() or not function.strip():
        raise ConfigError(f"hooks must be named as `package.module:function`, got {place!r:.100}")
    try:
        make = getattr(importlib.import_module(module.strip()), function.strip())
        made = list(make())
    except DirectorError:
        raise
    except Exception as error:  # whatever a foreign module does; a server without its hooks must not start
        raise ConfigError(f"the hooks at {place!r:.100} cannot be made ({type(error).__name__}: {error})") from error
    return made
