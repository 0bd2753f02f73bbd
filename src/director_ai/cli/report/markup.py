"""Markup in which every text was escaped: what is no `Markup` cannot get into a page."""

from __future__ import annotations

import html
from typing import NewType

from director_ai.core.showing.unseen import escape_visibly

__all__ = ["Markup", "joined", "tag", "visible"]

Markup = NewType("Markup", str)


def visible(text: str) -> Markup:
    """Return a text escaped, and what nobody could see in it as marks."""
    return Markup(escape_visibly(text))


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
