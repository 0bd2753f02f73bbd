"""English word forms: one and many, "a" and "an", and verbs with their opposites."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["article_for", "is_uncounted", "plural", "singular", "with_capital_of"]

_IRREGULAR: Final = {
    "person": "people", "man": "men", "woman": "women", "child": "children", "foot": "feet", "tooth": "teeth",
    "half": "halves", "life": "lives", "knife": "knives", "wife": "wives", "leaf": "leaves", "shelf": "shelves",
    "penny": "pence", "mouse": "mice", "series": "series", "species": "species",
}  # fmt: skip
_SINGULAR: Final = {many: one for one, many in _IRREGULAR.items()} | {"this": "this", "gas": "gas", "bus": "bus"}
_SILENT: Final = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_LIKE_YOU: Final = re.compile(r"(?:uni(?!n|m)|use|usu|eu|one\b|once\b|ut(?:il|op)|ub|ewe)", re.IGNORECASE)
_SPELT: Final = re.compile(r"[A-Z]{2,}\b|[A-Z](?=[\d\W]|$)|[A-Z]{2,}(?=\d)")
_UNCOUNTED: Final = re.compile(
    r".*(?:ing|ance|ence|age|ness)|access|breakfast|cash|cover|credit|delivery|furniture|help|interest|internet|money|"
    r"news|proof|staff|support|time|tax|traffic|water|wi-?fi|work",
    re.IGNORECASE,
)
_EIGHTS: Final = re.compile(r"(?:8\d*|1[18](?:\d{3})*)(?:[,.]\d+)*(?!\d)")


def plural(noun: str) -> str:
    """Return the plural of a noun in the singular."""
    lower = noun.lower()
    if lower in _IRREGULAR:
        return noun[:1] + _IRREGULAR[lower][1:]
    if re.search(r"[^aeiou]y$", lower):
        return noun[:-1] + "ies"
    return noun + ("es" if lower.endswith(("s", "x", "z", "ch", "sh")) else "s")


def singular(noun: str) -> str:
    """Return the singular of a noun in the plural; one that is in the singular stays."""
    lower = noun.lower()
    if lower in _SINGULAR:
        return noun[:1] + _SINGULAR[lower][1:]
    if lower.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if lower.endswith(("sses", "ches", "shes", "xes", "zzes")):
        return noun[:-2]
    return noun[:-1] if lower.endswith("s") and not lower.endswith(("ss", "us", "is")) else noun


def article_for(text: str) -> str:
    """Return "a" or "an", as the sound of what follows wants it."""
    if text[:1].isdigit():
        return "an" if _EIGHTS.match(text) else "a"
    if _SPELT.match(text):
        return "an" if text[0] in "AEFHILMNORSX" else "a"
    is_vowel = text[:1].lower() in set("aeiou") and not _LIKE_YOU.match(text)
    return "an" if is_vowel or _SILENT.match(text) else "a"


def is_uncounted(noun: str) -> bool:
    """Whether a noun usually stands without "a": "parking", "insurance"."""
    return _UNCOUNTED.fullmatch(noun) is not None


def with_capital_of(text: str, model: str) -> str:
    """Return a text that begins with a capital where the model does, and only there unless it is a name."""
    if model[:1].isupper() and text[:1].islower():
        return text[:1].upper() + text[1:]
    is_common = text[:1].isupper() and text[1:2].islower() and " " not in text
    return text[:1].lower() + text[1:] if is_common and model[:1].islower() else text


_VERBS: Final = """
open opens opened opened opening | close closes closed closed closing | shut shuts shut shut shutting
allow allows allowed allowed allowing | permit permits permitted permitted permitting
forbid forbids forbade forbidden forbidding | prohibit prohibits prohibited prohibited prohibiting
ban bans banned banned banning | accept accepts accepted accepted accepting | refuse refuses refused refused refusing
reject rejects rejected rejected rejecting | decline declines declined declined declining
begin begins began begun beginning | start starts started started starting | end ends ended ended ending
finish finishes finished finished finishing | buy buys bought bought buying | sell sells sold sold selling
win wins won won winning | lose loses lost lost losing | include includes included included including
exclude excludes excluded excluded excluding | omit omits omitted omitted omitting
enable enables enabled enabled enabling | disable disables disabled disabled disabling
increase increases increased increased increasing | decrease decreases decreased decreased decreasing
rise rises rose risen rising | fall falls fell fallen falling | raise raises raised raised raising
lower lowers lowered lowered lowering | reduce reduces reduced reduced reducing | grow grows grew grown growing
shrink shrinks shrank shrunk shrinking | drop drops dropped dropped dropping | climb climbs climbed climbed climbing
improve improves improved improved improving | worsen worsens worsened worsened worsening
enter enters entered entered entering | exit exits exited exited exiting | love loves loved loved loving
hate hates hated hated hating | like likes liked liked liking | import imports imported imported importing
export exports exported exported exporting | expand expands expanded expanded expanding
strengthen strengthens strengthened strengthened strengthening | weaken weakens weakened weakened weakening
"""
_FORMS: Final = [tuple(row.split()) for line in _VERBS.strip().splitlines() for row in line.split(" | ")]


def _ending(word: str) -> str:
    return next((ending for ending in ("ing", "ed", "est", "er", "pay") if word.lower().endswith(ending)), "")
