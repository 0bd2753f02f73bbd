"""Text of others on a page."""

from __future__ import annotations

from markupsafe import Markup

from director_ai.core.showing.unseen import escape_visibly

__all__ = ["visible"]


def visible(text: object) -> Markup:
    """Return a text as markup that holds nothing but its letters and marks for what is invisible."""
    return Markup(escape_visibly(str(text)))  # noqa: S704 - all of it was escaped, the marks are ours
