"""Text of others on a page: escaped, and what nobody could see in it shown as marks."""

from __future__ import annotations

import html
import unicodedata

import regex  # type: ignore[import-untyped]
from markupsafe import Markup

__all__ = ["visible"]

# Pictures of several characters are joined by invisible ones; those alone stay as they are.
_HIDDEN = regex.compile(
    r"(?<=\p{Extended_Pictographic})\uFE0F(*SKIP)(*FAIL)"
    r"|(?<=\p{Extended_Pictographic}\uFE0F?)\u200D(?=\p{Extended_Pictographic})(*SKIP)(*FAIL)"
    r"|\r(?=\n)(*SKIP)(*FAIL)"
    r"|[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]"
)


def visible(text: object) -> Markup:
    """Return a text as markup that holds nothing but its letters and marks for what is invisible."""
    return Markup(_HIDDEN.sub(_mark, html.escape(str(text))))  # noqa: S704 - all of it was escaped, the marks are ours


def _mark(found: regex.Match[str]) -> str:
    character = found[0]
    name = html.escape(unicodedata.name(character, "no character"))
    return f'<span class="unseen" title="{name}">U+{ord(character):04X}</span>'
