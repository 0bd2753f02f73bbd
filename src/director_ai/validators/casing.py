"""The casing check: one case for all letters, exactly as `str.lower` and `str.upper` have it."""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from director_ai.core.checks.rules import check_name
from director_ai.core.merge import Edit
from director_ai.errors import UnknownOption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from director_ai.core.checks.rules import Frontier

__all__ = ["Case", "Casing"]

Case = Literal["lower", "upper", "sentence"]
_MAPPINGS: Final[dict[str, Callable[[str], str]]] = {"lower": str.lower, "upper": str.upper}
_BEHIND_CASED: Final = 0x20000
"""No letter from here on has a case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Casing:
    """Writes letters in one case.

    lower, upper    applied, the edits of any text give `text.lower()` or `text.upper()` exactly; one edit for each
                    longest run of changed letters, and one alone for a letter whose other case is longer (ß, İ)
    sentence        the first letter of the text, which is one sentence, becomes a capital; all else stays
    """

    to: Case = "lower"
    name: str = "casing"

    def __post_init__(self) -> None:
        if self.to not in get_args(Case):
            raise UnknownOption("case", self.to, get_args(Case))
        check_name(self.name)

    @property
    def frontier(self) -> Frontier:
        """Whole words: a sigma at the end of its word is another letter than inside it."""
        return "sentence" if self.to == "sentence" else "word"

    def find(self, text: str) -> Iterable[Edit]:
        """Return the edits that bring this text into the case."""
        return tuple(self._first_letter(text) if self.to == "sentence" else self._runs(text))

    def _runs(self, text: str) -> Iterator[Edit]:
        pattern = _changing(self.to)
        written = _MAPPINGS[self.to](text)  # of the whole text: what a sigma becomes depends on its neighbors
        grown = 0
        for found in pattern.finditer(text):
            start, end = found.span()
            growth = len(_MAPPINGS[self.to](text[start])) - 1 if found.lastgroup == "longer" else 0
            new = written[start + grown : end + grown + growth]
            grown += growth
            yield Edit(start, end, new, "style", self.name, "casing")

    def _first_letter(self, text: str) -> Iterator[Edit]:
        found = re.search(r"[^\W_]", text)
        if found and (new := found[0].title()) != found[0] and found[0].islower():
            yield Edit(found.start(), found.end(), new, "style", self.name, "casing")


@functools.cache
def _changing(to: str) -> re.Pattern[str]:
    """Return what finds the letters that a case changes: runs of those that keep their length, or one that grows."""
    mapping = _MAPPINGS[to]
    letters = [letter for letter in map(chr, range(_BEHIND_CASED)) if mapping(letter) != letter]
    longer = _ranges(letter for letter in letters if len(mapping(letter)) > 1)
    level = _ranges(letter for letter in letters if len(mapping(letter)) == 1)
    return re.compile(f"(?P<level>[{level}]+)|(?P<longer>[{longer}])")


def _ranges(letters: Iterable[str]) -> str:
    """Return the inside of a character class for letters in their order."""
    found = []
    for _, group in itertools.groupby(enumerate(map(ord, letters)), key=lambda pair: pair[1] - pair[0]):
        row = [code for _, code in group]
        found.append(f"{chr(row[0])}-{chr(row[-1])}")
    return "".join(found)
