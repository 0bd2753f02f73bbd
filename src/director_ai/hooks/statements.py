"""Signed statements: read in one spelling only, and held to a clock that may fail."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

from director_ai.errors import PayloadError
from director_ai.hooks.answers import answer_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["StatementRefused", "decode_segment", "encode_segment", "read_object", "read_time", "validity_problem"]

LATEST: Final = 253_402_300_799
"""The last second of the year 9999: whatever lies behind it is no time."""
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_-]+")


class StatementRefused(PayloadError):
    """A signed statement that cannot be relied on; `reason` is the machine-readable word for it."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the signed statement was refused ({reason})")


def encode_segment(data: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode_segment(text: str) -> bytes:
    """Return the bytes of base64url; a second spelling of the same bytes is refused."""
    if not _SEGMENT.fullmatch(text):
        raise PayloadError("a segment must be base64url without padding")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise PayloadError("a segment must be base64url without padding") from None
    if encode_segment(data) != text:
        raise PayloadError("a segment must be base64url in its one canonical spelling")
    return data


def read_object(data: bytes) -> dict[str, Any]:
    """Return a JSON object; keys that stand twice, numbers that are none and text that is no UTF-8 are refused."""
    try:
        found = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_number,
            parse_float=_finite,
        )
    except PayloadError:
        raise
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"not a JSON object ({type(error).__name__})") from None
    if not isinstance(found, dict):
        raise PayloadError(f"not a JSON object, but a {type(found).__name__}")
    return found


def read_time(clock: Callable[[], float]) -> float | None:
    """Return what a clock says in seconds since 1970, or None where it says nothing that is a time."""
    now = answer_of(clock)
    if type(now) not in (int, float) or not math.isfinite(now) or not 0 <= now <= LATEST:
        return None
    return float(now)


def validity_problem(now: float, not_before: float, expires_at: float, skew: float) -> str:
    """Return `not_yet_valid` or `expired`; nothing where the time lies between, give or take the skew of clocks."""
    if now < not_before - skew:
        return "not_yet_valid"
    return "expired" if now >= expires_at + skew else ""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise PayloadError("a key stands twice in the JSON object")
    return made


def _refuse_number(_: str) -> NoReturn:
    raise PayloadError("a number must be finite")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise PayloadError("a number must be finite")
    return number
