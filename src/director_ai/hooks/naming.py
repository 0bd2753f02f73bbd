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
        made = make()
    except (DirectorError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, a server without its hooks must not start
        # The type alone: a message may hold a secret.
        raise ConfigError(
            f"the hooks at {place!r:.100} cannot be made ({type(error).__name__}); the module must be installed, or "
            "its folder stand in PYTHONPATH, and the function take no arguments"
        ) from None
    if not isinstance(made, list | tuple):
        raise ConfigError(f"the function at {place!r:.100} must return a list of hooks, got a {type(made).__name__}")
    return list(made)
