"""What may stand in a record: identifiers and hashes, never text."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import time
from datetime import UTC, datetime

from director_ai.errors import ConfigError

__all__ = [
    "REF_PATTERN",
    "UTC_PATTERN",
    "check_identifier",
    "is_ref",
    "is_utc_timestamp",
    "new_event_id",
    "ref_of",
    "utc_now",
]

_IDENTIFIER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:@-]{0,126}[A-Za-z0-9])?")
REF_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9._:/#@+~=&?\[\]-]{0,199}"
UTC_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|\+00:00)"
_REF = re.compile(REF_PATTERN)
_UTC = re.compile(UTC_PATTERN)


def check_identifier(name: str, value: object) -> str:
    """Return a tenant or request id as a plain string, or refuse it; the empty one means "none"."""
    if not isinstance(value, str) or (value and (not _IDENTIFIER.fullmatch(value) or ".." in value)):
        raise ConfigError(
            f"{name} must be empty or 1 to 128 letters, digits and . _ : @ - (a letter or digit first and last), "
            f"got a {type(value).__name__}" + (f" of {len(value)} characters" if isinstance(value, str) else "")
        )
    return str.__str__(value)  # a plain copy: a subclass may answer differently the next time it is asked


def is_ref(value: object) -> bool:
    """Whether a value can only be an identifier: one printable ASCII word of at most 200 characters."""
    return isinstance(value, str) and _REF.fullmatch(value) is not None


def ref_of(source: str, text: str = "") -> str:
    """Return an evidence identifier: the source if it is one, else a hash of what it stands for."""
    if is_ref(source):
        return source
    return "sha256:" + hashlib.sha256((source or text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_utc_timestamp(value: object) -> bool:
    """Whether a value is an RFC 3339 timestamp in UTC that exists on the calendar."""
    if not isinstance(value, str) or not _UTC.fullmatch(value):
        return False
    return _exists(value[:19])


@functools.lru_cache(maxsize=64)
def _exists(second: str) -> bool:
    """Whether there is such a second; most timestamps are of the last one."""
    try:
        datetime.fromisoformat(second)
    except ValueError:
        return False
    return True


def new_event_id() -> str:
    """Return a fresh opaque id."""
    return f"evt-{os.urandom(16).hex()}"


def utc_now() -> str:
    """Return the present as an RFC 3339 timestamp."""
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return f"{_written(seconds)}.{rest // 1_000:06d}Z"


@functools.lru_cache(maxsize=8)
def _written(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
