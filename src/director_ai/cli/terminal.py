"""Text on its way to a terminal."""

from __future__ import annotations

import re

__all__ = ["for_terminal"]

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)?|[@-Z\\-_])?|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def for_terminal(text: str) -> str:
    """Return text without what would move the cursor, colour the screen or turn the line around."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))
