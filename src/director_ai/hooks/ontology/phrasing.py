"""What stands around a statement without changing it: line breaks, "of course", "in fact", and clauses behind it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.core.grammar import PRONOUNS, words
from director_ai.hooks.ontology.terms import stem

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

__all__ = ["WRAP", "Phrasing", "has_lines", "sure_part", "unwrapped"]

WRAP: Final = "\v"
"""Stands for the end of a line within a sentence."""
_LINE_END = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_LONG_LINE: Final = 40
"""Characters from which on a line was likely broken because it was full."""
_OPEN: Final = words(
    "a an the of in on at by for with from to and or but not that which who is are was were as if every each all any"
)
_FILLERS: Final = tuple(
    sorted(
        (
            tuple(phrase.split())
            for phrase in (
                "in fact|of course|as you know|as we know|as a matter of fact|to be clear|in short|in summary|"
                "by the way|in other words|for example|for instance|note that|remember that|please note that|"
                "in addition|as well|definitely|certainly|really|truly|indeed|actually|clearly|obviously|surely|"
                "undoubtedly|absolutely|also|still|simply|always|officially|already|additionally|importantly|interestingly|notably|finally"
            ).split("|")
        ),
        key=len,
        reverse=True,
    )
)
_ANSWERS: Final = words("yes no sure ok okay well right alright exactly correct true")
_RELATIVES: Final = words("that which who whose")
_MODALS: Final = words(
    "can cannot can't could may might must should would won't not never doesn't don't didn't isn't aren't"
)
_DOUBTS: Final = words("perhaps maybe possibly probably allegedly supposedly seems")


def has_lines(text: str) -> bool:
    """Whether a text has more than one line."""
    return _LINE_END.search(text) is not None


def unwrapped(text: str, open_stems: AbstractSet[str]) -> str:
    """Return a text in which lines that go on in the next one are one line, by `WRAP`.

    A line goes on where the next begins with a small letter, and where it is long or ends in a word that needs another.
    """
    made: list[str] = []
    before = ""
    for raw in text.splitlines():
        line = raw.strip()
        if made:
            goes_on = bool(before and line) and (
                line[0].islower() or (line[0].isalpha() and _is_open(before, open_stems))
            )
            made.append(WRAP if goes_on else "\n")
        made.append(line)
        before = line
    return "".join(made)


def _is_open(line: str, open_stems: AbstractSet[str]) -> bool:
    if len(line) >= _LONG_LINE or line[-1] == ",":
        return True
    last = line.rsplit(None, 1)[-1]
    return last.lower() in _OPEN or stem(last) in open_stems


def sure_part(small: list[str], unsure: AbstractSet[str]) -> int:
    """Return how many words of a sentence come before a clause that holds its doubtful words; 0 where they concern all.

    "X is a drug that can help" says that X is a drug, and so does "X is a drug and may help".
    """
    first = next(at for at, word in enumerate(small) if word in unsure)
    if small[first] not in _MODALS or not _DOUBTS.isdisjoint(small):
        return 0
    for at in range(first - 1, 0, -1):
        if small[at] in _RELATIVES:
            return at
    near = first - 1 - (small[first - 1] in PRONOUNS)
    return near if near > 0 and small[near] in {"and", "but"} else 0


class Phrasing:
    """Leaves out what fills a sentence, unless the ontology has a name with that word."""

    def __init__(self, name_stems: AbstractSet[str]) -> None:
        kept = [phrase for phrase in _FILLERS if not set(map(stem, phrase)) <= name_stems]
        self._fillers: dict[str, list[tuple[str, ...]]] = {}
        for phrase in kept:
            self._fillers.setdefault(phrase[0], []).append(phrase)
        self._answers = frozenset(word for word in _ANSWERS if stem(word) not in name_stems)

    def plain(self, tokens: list[str]) -> list[str]:
        """Return the words of a sentence without fillers, and "X's a" as "X is a"."""
        small = [token.lower() for token in tokens]
        if small[0] in self._answers and small[1:2] == [","]:
            tokens, small = tokens[2:], small[2:]
        if not self._fillers.keys().isdisjoint(small):
            tokens = self._without_fillers(tokens, small)
        if any(token[-2:] in ("'s", "’s") for token in tokens):
            tokens = _spelled_out(tokens)
        return tokens

    def _without_fillers(self, tokens: list[str], small: list[str]) -> list[str]:
        made: list[str] = []
        at = 0
        while at < len(tokens):
            phrases = self._fillers.get(small[at], ())
            size = next((len(phrase) for phrase in phrases if tuple(small[at : at + len(phrase)]) == phrase), 0)
            if not size:
                made.append(tokens[at])
                at += 1
                continue
            at += size
            if at < len(tokens) and tokens[at] == ",":
                at += 1
                if made and made[-1] == ",":
                    made.pop()
        return made


def _spelled_out(tokens: list[str]) -> list[str]:
    made: list[str] = []
    for at, token in enumerate(tokens):
        is_short = token[-2:] in ("'s", "’s") and tokens[at + 1 : at + 2] and tokens[at + 1].lower() in {"a", "an"}
        made += [token[:-2], "is"] if is_short else [token]
    return made
