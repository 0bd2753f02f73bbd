"""One way to write a record, so that its hash means the same to every reader."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from director_ai.errors import PayloadError

__all__ = ["canonical", "sha256_of"]


def canonical(value: Any) -> str:
    """Return JSON with sorted keys and no blanks; what cannot be written so is refused."""
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:  # a lone surrogate is a ValueError, too
        raise PayloadError(f"a record holds plain JSON values only ({type(error).__name__})") from None
    return text


def sha256_of(text: str) -> str:
    """Return the hash of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
