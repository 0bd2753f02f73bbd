"""How much of a message its context bears out, by words and figures alone."""

from __future__ import annotations

import re
from typing import Final

from director_ai.core.grammar import words
from director_ai.core.scoring.claims import role_of
from director_ai.core.segment import split_sentences

__all__ = ["word_support"]

_WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W\d_]{3,}")
_COMMON: Final = words(
    "the and for are was were has have had that this these those with from into onto over under its their his her our "
    "your they them you she him who whom whose which what when where why how not nor but all any some each every both "
    "been being does did done will would shall should can could may might must there here then than also only just "
    "very more most other such about after before between because while until since through during please"
)
_BEGINNING: Final = 5
"""Letters by which words are compared: "deliver" and "delivery" are one."""


def word_support(text: str, context: str) -> float | None:
    """Return the share of a message's telling words, or of its figures if that is less, that its context has.

    None where it has neither: a message that tells nothing, or only greets, earns nothing.
    """
    said = [sentence for sentence in split_sentences(text) if role_of(sentence) != "greeting"]
    told = set(_WORD.findall("".join(said).casefold())) - _COMMON
    if not told:
        return None
    held = {word if word[0].isdigit() else word[:_BEGINNING] for word in _WORD.findall(context.casefold())}
    figures = {word for word in told if word[0].isdigit()}
    plain = {word[:_BEGINNING] for word in told - figures}
    shares = [len(part & held) / len(part) for part in (figures, plain) if part]
    return min(shares)
