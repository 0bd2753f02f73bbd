"""Which errors are nobody's to swallow."""

from __future__ import annotations

from typing import Final

__all__ = ["must_pass"]

_PASSING: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)
_CANCELLATIONS: Final = ("CancelledError", "Cancelled")  # asyncio's and trio's, told by name: neither is imported here


def must_pass(error: BaseException) -> bool:
    """Whether an error is an interrupt or a cancellation: those are nobody's to swallow."""
    if isinstance(error, BaseExceptionGroup):
        return any(must_pass(part) for part in error.exceptions)
    cancelled = not isinstance(error, Exception) and type(error).__name__ in _CANCELLATIONS
    return cancelled or isinstance(error, _PASSING)
