"""Which answer is being judged: ids that logs and spans repeat, and no text."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Answering", "answering", "current_answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """What is known of the answer at hand; empty where it is not."""

    model: str = ""
    response_id: str = ""
    request_id: str = ""
    tenant_id: str = ""
    traceparent: str = ""
    """Of the request, as W3C Trace Context has it; what is none is passed over."""


_UNKNOWN: Final = Answering()
_CURRENT: Final[ContextVar[Answering]] = ContextVar("director_ai_answering", default=_UNKNOWN)


def current_answer() -> Answering:
    """Return the answer that this task or thread is about."""
    return _CURRENT.get()


@contextlib.contextmanager
def answering(
    *, model: str = "", response_id: str = "", request_id: str = "", tenant_id: str = "", traceparent: str = ""
) -> Iterator[None]:
    """Say which answer is at hand; what is left empty stays as it was."""
    given = {"model": model, "response_id": response_id, "request_id": request_id, "tenant_id": tenant_id}
    known = given | {"traceparent": traceparent}
    before = _CURRENT.set(replace(_CURRENT.get(), **{name: value for name, value in known.items() if value}))
    try:
        yield
    finally:
        _CURRENT.reset(before)
