"""Numbers at the door: what is a usable figure, and what is refused."""

from __future__ import annotations

import math
import numbers
from typing import Final

from director_ai.errors import ConfigError, DirectorError

__all__ = ["as_score", "check_count", "check_number", "check_seconds"]

LONGEST_SECONDS: Final = 1e6
"""Eleven days; the timers of some platforms end not far above it."""


def check_number(
    name: str, value: object, low: float = 0.0, high: float = 1.0, error: type[DirectorError] = ConfigError
) -> float:
    """Return a finite number in [low, high] as a float, or refuse it by its name."""
    if type(value) is float and low <= value <= high and math.isfinite(value):
        return value
    bounds = f"a number from {low:g} to {high:g}" if math.isfinite(high) else f"a finite number of at least {low:g}"
    if isinstance(value, bool) or not issubclass(type(value), numbers.Real):
        raise error(f"{name} must be {bounds}, got a {type(value).__name__}")
    number = _to_float(value)  # type: ignore[arg-type]  # the line above checked it, by its real type
    if not (math.isfinite(number) and low <= number <= high):
        raise error(f"{name} must be {bounds}, got {number:g}")
    return number


def check_count(name: str, value: object, low: int, high: int = 1_000_000) -> int:
    """Return a whole number from `low` to `high`, or refuse it by its name."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ConfigError(f"{name} must be a whole number of at least {low}, got a {type(value).__name__}")
    count = int(value)
    if count < low:
        raise ConfigError(f"{name} must be at least {low}, got {count}")
    if count > high:
        raise ConfigError(f"{name} must be at most {high}")
    return count


def check_seconds(name: str, value: object) -> float | None:
    """Return a time limit, or None for none; refuse anything else by its name."""
    if value is None:
        return None
    seconds = check_number(name, value, 0.0, LONGEST_SECONDS)
    if seconds == 0.0:
        raise ConfigError(f"{name} must be more than 0 seconds, or None for no limit")
    return seconds


def as_score(answer: object) -> float | None:
    """Return a callback's answer as a score, or None where it is not one: fail closed, guess nothing.

    Accepted are real numbers from 0 to 1, NumPy scalars among them. A bool is not a score: it is what a callback
    returns that answers another question. Only the real type counts: a mock or a proxy that claims another is neither.
    """
    if type(answer) is not float:
        if type(answer) is bool or not issubclass(type(answer), numbers.Real):
            return None
        answer = _to_float(answer)  # type: ignore[arg-type]  # the line above checked it
    return answer if 0.0 <= answer <= 1.0 else None  # NaN fails both comparisons


def _to_float(value: numbers.Real) -> float:
    """Return a number as a float; one that cannot be converted is not a number."""
    try:
        return float(value)
    except Exception:  # noqa: BLE001 - a numeric type of the caller's own may raise anything
        return math.nan
