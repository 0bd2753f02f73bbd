"""What comes into the queue, checked at the door."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from director_ai.core.guard_control import check_refs
from director_ai.core.identifiers import check_identifier
from director_ai.core.ranges import check_number
from director_ai.errors import ConfigError
from director_ai.record.canonical import canonical

__all__ = [
    "MOST_REASON",
    "checked_clock",
    "checked_metadata",
    "checked_refs",
    "checked_reviewers",
    "checked_seconds",
    "checked_text",
    "named",
    "optional_tenant",
]

MOST_TEXT: Final = 1_000_000
LONGEST_SECONDS: Final = 10 * 366 * 86_400.0
"""Ten years."""
MOST_REASON: Final = 4_000
MOST_METADATA: Final = 100_000
MOST_REFS: Final = 1_000
MOST_REVIEWERS: Final = 100
LATEST: Final = 200_000_000_000.0
"""Seconds since 1970: the year 8307, which leaves room for what comes after."""


def checked_text(name: str, value: object, *, most: int = MOST_TEXT, empty: bool = False) -> str:
    """Return a text as a plain string, or refuse it without repeating it."""
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a string, got a {type(value).__name__}")
    text = str.__str__(value)  # a plain copy: a subclass may answer differently the next time it is asked
    if not empty and not text.strip():
        raise ConfigError(f"{name} must not be blank")
    if len(text) > most:
        raise ConfigError(f"{name} must have at most {most} characters, got {len(text)}")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ConfigError(f"{name} must be text without NUL characters and lone surrogates")
    return text


def named(name: str, value: object) -> str:
    """Return an id that must be there."""
    made = check_identifier(name, value)
    if not made:
        raise ConfigError(f"{name} must not be empty: say who or what it is")
    return made


def optional_tenant(value: object) -> str | None:
    """Return a tenant; None is all of them."""
    return None if value is None else check_identifier("tenant_id", value)


def checked_clock(clock: Callable[[], float]) -> Callable[[], float]:
    """Return a clock that refuses to tell a time which no case can have."""
    if not callable(clock):
        raise ConfigError(f"clock must be a function, got a {type(clock).__name__}")
    return lambda: check_number("what the clock says", clock(), 0.0, LATEST)


def checked_seconds(name: str, value: object) -> float:
    """Return for how long something holds."""
    seconds = check_number(name, value, 0.0, LONGEST_SECONDS)
    if seconds == 0.0:
        raise ConfigError(f"{name} must be more than 0 seconds")
    return seconds


def checked_refs(values: object) -> tuple[str, ...]:
    """Return evidence identifiers, each once."""
    refs = tuple(dict.fromkeys(check_refs("evidence_refs", values)))
    if len(refs) > MOST_REFS:
        raise ConfigError(f"evidence_refs must be at most {MOST_REFS}, got {len(refs)}")
    return refs


def checked_reviewers(values: object) -> tuple[str, ...]:
    """Return who may decide, each once."""
    if isinstance(values, str) or not isinstance(values, list | tuple | set | frozenset):
        raise ConfigError(f"reviewers must be a list of ids, got a {type(values).__name__}")
    if len(values) > MOST_REVIEWERS:
        raise ConfigError(f"reviewers must be at most {MOST_REVIEWERS}, got {len(values)}")
    return tuple(sorted({named("a reviewer", value).lower() for value in values}))


def checked_metadata(values: object) -> dict[str, Any]:
    """Return what a caller wants to keep with a case, as plain JSON values of its own."""
    if values is None:
        return {}
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise ConfigError(f"metadata must map names to JSON values, got a {type(values).__name__}")
    text = canonical(dict(values))
    if len(text) > MOST_METADATA or "\\u0000" in text:
        raise ConfigError(f"metadata must be at most {MOST_METADATA} characters of JSON without NUL characters")
    made: dict[str, Any] = json.loads(text)
    return made
