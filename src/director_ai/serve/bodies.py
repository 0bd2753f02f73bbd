"""Bodies of requests, read within limits: what cannot be a request is refused with a sentence."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import PayloadError

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["BodyTooLarge", "BodyTooSlow", "parse_object", "read_body"]

MOST_BYTES: Final = 8 * 1024 * 1024
MOST_SECONDS: Final = 30.0
"""In which a body must have come."""
MOST_DEPTH: Final = 100
MOST_MESSAGES: Final = 10_000
_COUNTS: Final = {"n": 16, "max_tokens": 1_000_000, "max_completion_tokens": 1_000_000, "max_output_tokens": 1_000_000}
"""The most that a request may ask for."""


class BodyTooLarge(PayloadError):
    """More bytes than a request may have."""


class BodyTooSlow(PayloadError):
    """A request that does not come to its end."""


async def read_body(request: Request, most: int = MOST_BYTES) -> bytes:
    """Return the body of a request; reading stops where it is too long."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise PayloadError("compressed requests are not read; send it without content-encoding")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and (len(declared) > 18 or int(declared) > most):
        raise BodyTooLarge(f"a request has at most {most} bytes")
    try:
        async with asyncio.timeout(MOST_SECONDS):
            return await _read(request, most)
    except TimeoutError:
        raise BodyTooSlow(f"a request must have come within {MOST_SECONDS:.0f} seconds") from None


async def _read(request: Request, most: int) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise BodyTooLarge(f"a request has at most {most} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the object of a request; names that stand twice, NaN, and depth without end are refused."""
    try:
        text = body.decode("utf-8")
        _check_depth(text)
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise PayloadError("the request is not UTF-8") from None
    except PayloadError:
        raise
    except (ValueError, RecursionError):
        raise PayloadError("the request is not JSON") from None
    if not isinstance(value, dict):
        raise PayloadError("the request must be a JSON object")
    for name, most in _COUNTS.items():
        count = value.get(name)
        if count is not None and (type(count) is not int or not 1 <= count <= most):
            raise PayloadError(f"{name} must be a whole number from 1 to {most}")
    for name in ("messages", "input"):
        if isinstance(value.get(name), list) and len(value[name]) > MOST_MESSAGES:
            raise PayloadError(f"{name} must be at most {MOST_MESSAGES}")
    if not isinstance(value.get("stream", False), bool | None):
        raise PayloadError("stream must be true or false")
    return value


def _check_depth(text: str) -> None:
    """Refuse what is nested too deeply; brackets inside of strings count too, which is on the safe side."""
    depth = 0
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return
    inside = False
    skip = False
    for sign in text:
        if inside:
            if skip:
                skip = False
            elif sign == "\\":
                skip = True
            elif sign == '"':
                inside = False
        elif sign == '"':
            inside = True
        elif sign in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise PayloadError(f"the request is nested more than {MOST_DEPTH} deep")
        elif sign in "]}":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise PayloadError("a name stands twice in the request")
    return made


def _no_constant(_: str) -> Any:
    raise PayloadError("NaN and Infinity are not JSON")
