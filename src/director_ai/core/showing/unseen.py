"""Text of others for a page: escaped, and what nobody could see in it shown as marks."""

from __future__ import annotations

import html
import unicodedata

import regex  # type: ignore[import-untyped]

__all__ = ["escape_visibly"]

# Pictures of several characters are joined by invisible ones; those alone stay as they are.
_UNSEEN = regex.compile(
    r"(?<=\p{Extended_Pictographic})\uFE0F(*SKIP)(*FAIL)"
    r"|(?<=\p{Extended_Pictographic}\uFE0F?)\u200D(?=\p{Extended_Pictographic})(*SKIP)(*FAIL)"
    r"|\r(?=\n)(*SKIP)(*FAIL)"
    r"|[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]"
)


def escape_visibly(text: str) -> str:
    """Return a text as HTML that holds its letters, and for each invisible one an element of the class `unseen`."""
    return str(_UNSEEN.sub(_mark, html.escape(text)))


def _mark(found: regex.Match[str]) -> str:
    character = found[0]
    name = html.escape(unicodedata.name(character, "no character"))
    return f'<span class="unseen" title="{name}">U+{ord(character):04X}</span>'
