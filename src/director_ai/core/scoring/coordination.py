"""Which words of a clause are its verbs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from director_ai.core.grammar import LIKELY_VERBS, SURE_VERBS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LONGEST_SUBJECT", "WORD", "has_verb", "is_verb", "spoken_words"]

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
LONGEST_SUBJECT = 6


def spoken_words(said: str) -> list[str]:
    """Return the words of a text in lower case, with plain apostrophes."""
    return [word.lower().replace("’", "'") for word in WORD.findall(said)]


def has_verb(spoken: Sequence[str]) -> bool:
    """Whether one of some words is a verb, or looks like one."""
    return any(word in SURE_VERBS or word in LIKELY_VERBS or (word.endswith("ed") and len(word) > 4) for word in spoken)


def is_verb(word: str, follows: str) -> bool:
    """Whether a word is the verb of its statement; "charge" is none before "is"."""
    return word in SURE_VERBS or (word in LIKELY_VERBS and follows not in SURE_VERBS and follows not in LIKELY_VERBS)
