"""A check that a finished text is neither too long nor too short."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from director_ai.core.borders import splits_grapheme
from director_ai.core.merge import Edit
from director_ai.core.segment import split_sentences
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from director_ai.core.checks.rules import Frontier

__all__ = ["Length"]

_WORD = re.compile(r"\S+")
_LONGEST_CLUSTER: Final = 64
"""How far a hard cut goes back to spare one visible character; longer ones are made to be cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Cuts what is too long, and points out what is too short.

    Too long text is cut behind the last sentence that fits, else behind the last word, else within the first one; the
    rest is an edit of kind "remove" with the reason "too_long". Nothing can mend a text that is too short: the edit
    for it is of kind "rewrite", stands at the end, changes nothing and says "too_short", so that whatever is to happen
    where a check fails does happen. A word is what stands between white space.
    """

    most_characters: int | None = None
    most_words: int | None = None
    most_sentences: int | None = None
    least_characters: int | None = None
    least_words: int | None = None
    least_sentences: int | None = None
    name: str = "length"

    def __post_init__(self) -> None:
        Edit(0, 0, "", "remove", self.name)  # refuses what is no name
        limits = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "name"}
        for option, limit in limits.items():
            if limit is not None and (type(limit) is not int or limit < 1):
                raise ConfigError(f"{option} must be a whole number of at least 1, or None")
        if not any(limits.values()):
            raise ConfigError("a check of length needs a limit; set most_characters, least_words or the like")
        for unit in ("characters", "words", "sentences"):
            least, most = limits[f"least_{unit}"], limits[f"most_{unit}"]
            if least is not None and most is not None and least > most:
                raise ConfigError(f"least_{unit} ({least}) is more than most_{unit} ({most})")

    @property
    def frontier(self) -> Frontier:
        """Only a finished text has a length."""
        return "text"

    def find(self, text: str) -> list[Edit]:
        """Return one edit, or none where the length is right."""
        if self._too_short(text):
            return [Edit(len(text), len(text), "", "rewrite", self.name, "too_short")]
        if self._fits(text):
            return []
        cut = self._cut(text)
        while not self._fits(text[:cut]):  # without what followed, sentences may end elsewhere
            cut = self._cut(text[:cut])
        return [Edit(cut, len(text), "", "remove", self.name, "too_long")]

    def _fits(self, text: str) -> bool:
        return (
            (self.most_characters is None or len(text) <= self.most_characters)
            and (self.most_words is None or _words(text) <= self.most_words)
            and (self.most_sentences is None or _sentences(text) <= self.most_sentences)
        )

    def _too_short(self, text: str) -> bool:
        return (
            (self.least_characters is not None and len(text) < self.least_characters)
            or (self.least_words is not None and _words(text) < self.least_words)
            or (self.least_sentences is not None and _sentences(text) < self.least_sentences)
        )

    def _cut(self, text: str) -> int:
        """Return where to cut: behind a sentence if what stays is not too short then, else behind a word."""
        ends = list(itertools.islice(_sentence_ends(text), self.most_sentences))
        sentences = self._last_that_fits(ends)
        if sentences and not self._too_short(text[:sentences]):
            return sentences
        border = ends[-1][0] if ends else 0
        words = self._last_that_fits(_word_ends(text[:border]))
        return max(sentences, words) or self._hard_cut(text)

    def _last_that_fits(self, ends: Iterable[tuple[int, int]]) -> int:
        """Return the last of the ends, each with the number of words up to it, that is within the limits."""
        last = 0
        for end, words in ends:
            if words > (self.most_words or words) or end > (self.most_characters or end):
                break
            last = end
        return last

    def _hard_cut(self, text: str) -> int:
        most = min(self.most_characters or len(text), len(text))
        for place in range(most, max(0, most - _LONGEST_CLUSTER), -1):
            if not splits_grapheme(text, place):
                return place
        return most


def _words(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def _sentences(text: str) -> int:
    return sum(1 for _ in _sentence_ends(text))


def _word_ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each word ends, and how many there are up to it."""
    for count, word in enumerate(_WORD.finditer(text), start=1):
        yield word.end(), count


def _sentence_ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence ends, without the white space behind it, and how many words there are up to it."""
    start = words = 0
    for sentence in split_sentences(text):
        said = sentence.rstrip()
        words += _words(said)
        if said:
            yield start + len(said), words
        start += len(sentence)
