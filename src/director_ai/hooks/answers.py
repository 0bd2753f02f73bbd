"""Asking the parts that a deployment brings along: whoever fails to answer has not agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from director_ai.core.runtime.interrupts import must_pass

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["answer_of"]


def answer_of(ask: Callable[..., Any], *parts: object) -> Any:
    """Return what somebody answers, or None where that fails; interrupts and cancellations pass."""
    try:
        return ask(*parts)
    except BaseException as error:
        if must_pass(error):
            raise
        return None
