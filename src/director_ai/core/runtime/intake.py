"""Tokens at the door: plain strings of whole characters."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["TokenIntake"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class TokenIntake:
    """Joins surrogate halves that a tokenizer cut apart; what stays alone becomes U+FFFD and is counted."""

    __slots__ = ("half", "lone_surrogates")

    def __init__(self) -> None:
        self.half = ""
        """The first half of a character whose second half has not come yet."""
        self.lone_surrogates = 0

    def take(self, token: str) -> str:
        """Return the token as a plain string of whole characters; "" while it is only half of one."""
        text = self.half + str.__str__(token)  # a subclass may answer differently each time it is asked
        self.half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self.half = text[:-1], text[-1]
        return self._mend(text)

    def finish(self) -> str:
        """Return what is left of a character whose other half never came."""
        text, self.half = self.half, ""
        return self._mend(text)

    def _mend(self, text: str) -> str:
        if not _SURROGATE.search(text):
            return text
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        mended, count = _SURROGATE.subn("\ufffd", joined)
        self.lone_surrogates += count
        return mended
