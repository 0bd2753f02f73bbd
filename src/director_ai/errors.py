"""Everything this package raises on purpose.

    DirectorError
    ├── ConfigError            (also ValueError)  a setting or an argument that cannot be right
    │   └── UnknownOption      (also TypeError)   a setting that does not exist; names the nearest one
    ├── PayloadError           (also ValueError)  a record that is malformed or carries raw text
    └── MissingExtra           (also ImportError) an optional part that is not installed

Messages say what was expected, what came and what to do. They never hold prompts, facts or generated text.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ConfigError", "DirectorError", "MissingExtra", "PayloadError", "UnknownOption"]


class DirectorError(Exception):
    """The root of the tree: `except DirectorError` catches whatever this package raises on purpose."""


class ConfigError(DirectorError, ValueError):
    """A setting or an argument that cannot be right."""


class UnknownOption(ConfigError, TypeError):
    """A name that is not among the known ones; says which one is nearest."""

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        # Only what looks like a name is repeated: anything else may be text that must not reach a log.
        plain = isinstance(name, str) and len(name) <= 64 and name.replace("-", "_").isidentifier()
        shown = repr(name) if plain else f"(a {type(name).__name__} that is no name)"
        close = difflib.get_close_matches(str(name), names, n=1) if plain else []
        hint = f"did you mean {close[0]!r}? " if close else ""
        super().__init__(f"unknown {what} {shown}; {hint}known: {', '.join(names)}")


class PayloadError(DirectorError, ValueError):
    """A record that is malformed, or that carries raw text where only identifiers may stand."""


class MissingExtra(DirectorError, ImportError):
    """An optional part was asked for that this installation lacks."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(f"{what} needs an optional part; install it with: pip install 'director-ai[{extra}]'")
