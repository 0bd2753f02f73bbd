"""How much of a message its context bears out, by words and figures alone."""

from __future__ import annotations

import functools
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
_LONGEST_GREETING: Final = 80
_BEGINNING: Final = 5
"""Letters by which words are compared: "deliver" and "delivery" are one."""


def word_support(text: str, context: str) -> float | None:
    """Return the share of a message's telling words, or of its figures if that is less, that its context has.

    None where it has neither: a message that tells nothing, or only greets, earns nothing.
    """
    held = _held(context)
    support = _share(text, held)
    if support is None or support == 1.0:
        return support
    return _share("".join(each for each in split_sentences(text) if not _is_greeting(each)), held)


@functools.lru_cache(maxsize=512)
def _is_greeting(sentence: str) -> bool:
    """Agents greet with the same few words."""
    return len(sentence) <= _LONGEST_GREETING and role_of(sentence) == "greeting"


@functools.lru_cache(maxsize=32)
def _held(context: str) -> frozenset[str]:
    """What the messages of a stream are compared with is the same for all."""
    return frozenset(word if word[0].isdigit() else word[:_BEGINNING] for word in _WORD.findall(context.casefold()))


def _share(text: str, held: frozenset[str]) -> float | None:
    told = set(_WORD.findall(text.casefold())) - _COMMON
    if not told:
        return None
    figures = {word for word in told if word[0].isdigit()}
    plain = {word[:_BEGINNING] for word in told - figures}
    shares = [len(part & held) / len(part) for part in (figures, plain) if part]
    return min(shares)
