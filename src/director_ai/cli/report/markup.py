"""Markup in which every text was escaped: what is no `Markup` cannot get into a page."""

from __future__ import annotations

import html
import unicodedata
from typing import NewType

import regex  # type: ignore[import-untyped]

__all__ = ["Markup", "joined", "tag", "visible"]

Markup = NewType("Markup", str)

# Pictures of several characters are joined by invisible ones; those alone stay as they are.
_HIDDEN = regex.compile(
    r"(?<=\p{Extended_Pictographic})\uFE0F(*SKIP)(*FAIL)"
    r"|(?<=\p{Extended_Pictographic}\uFE0F?)\u200D(?=\p{Extended_Pictographic})(*SKIP)(*FAIL)"
    r"|\r(?=\n)(*SKIP)(*FAIL)"
    r"|[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]"
)


def visible(text: str) -> Markup:
    """Return a text escaped, and what nobody could see in it as marks."""
    return Markup(_HIDDEN.sub(_mark, html.escape(text)))


def _mark(found: regex.Match[str]) -> str:
    character = found[0]
    name = html.escape(unicodedata.name(character, "no character"))
    return f'<span class="hidden" title="{name}">U+{ord(character):04X}</span>'


def tag(name: str, *content: Markup, **attributes: object) -> Markup:
    """Return an element; `class_` stands for class, and an underscore inside a name for a hyphen."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{told}>{''.join(content)}</{name}>")


def joined(parts: list[Markup], between: str = "") -> Markup:
    """Return parts in a row, with a plain text between them."""
    return Markup(html.escape(between).join(parts))
