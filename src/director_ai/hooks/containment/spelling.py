"""Spellings of one host: Unicode, look-alikes, invisible characters and escapes."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final
from urllib.parse import unquote

from director_ai.core.lookalikes import STRONG_TWINS

__all__ = ["ascii_name", "decodings", "host_spellings", "plain_spelling"]

LONGEST_HOST: Final = 320
_ROUNDS: Final = 4
"""How often an escape may itself be escaped."""
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]+"
)
_SIGNS: Final = str.maketrans("\u3002\uff61\u2024\u2044\u2215\u29f8\u2236\ua789", "...///::")
"""Full stops, slashes and colons of other kinds."""
_TWINS: Final = str.maketrans({old.lower(): new.lower() for old, new in STRONG_TWINS.items()})
_HOST: Final = re.compile(r"(?:[a-z0-9_*-]{1,63}\.){0,30}[a-z0-9_*-]{1,63}|\[[0-9a-f:.]{2,45}(?:%[\w.-]{1,32})?\]")
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")


def plain_spelling(text: str) -> str:
    """Return a text in lower case, with the letters and signs that resolvers make of it."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text).translate(_SIGNS))
    return _INVISIBLE.sub("", folded).translate(_SIGNS).lower()


def decodings(text: str) -> list[str]:
    """Return a text in its plain spelling, and what becomes of it where escapes in it are resolved."""
    found = [plain_spelling(text)]
    if not any(sign in text for sign in "%&\\"):
        return found
    current = text
    for _ in range(_ROUNDS):
        decoded = _ESCAPE.sub(_unescaped, html.unescape(unquote(current, errors="replace")))
        if decoded == current:
            break
        found.append(plain_spelling(decoded))
        current = decoded
    return found


def ascii_name(host: str, *, keep: str = "") -> str:
    """Return a host in the letters of the domain system; nothing if it is none. `keep` is left as it is."""
    if len(host) > LONGEST_HOST:
        return ""
    plain = plain_spelling(host).removesuffix(".")
    if not plain.isascii():
        try:
            plain = ".".join(
                label if label.isascii() else label.encode("idna").decode("ascii") for label in plain.split(".")
            )
        except UnicodeError:
            return ""
    return plain if _HOST.fullmatch(plain) and ("*" not in plain or keep == "*") else ""


def host_spellings(host: str) -> tuple[str, tuple[str, ...]]:
    """Return a host's name, or nothing if it is none, and the Latin names that it looks like."""
    if len(host) > LONGEST_HOST:
        return "", ()
    name = ascii_name(host)
    if host.isascii() and "xn--" not in name:
        return name, ()
    shown = plain_spelling(host)
    if "xn--" in name:
        try:
            shown = name.encode("ascii").decode("idna")
        except UnicodeError:
            shown = name
    folded = unicodedata.normalize("NFKD", shown.translate(_TWINS))
    twin = ascii_name("".join(sign for sign in folded if not unicodedata.combining(sign)))
    return name, (twin,) if twin and twin != name else ()


def _unescaped(found: re.Match[str]) -> str:
    number = int(found[1] or found[2] or found[3], 16)
    return chr(number) if number <= 0x10FFFF else ""
