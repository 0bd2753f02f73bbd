"""The banned-words check: words and phrases that must not be seen."""

from __future__ import annotations

import functools
import itertools
import re
import sys
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from director_ai.core.checks.rules import MOST_LOOKAHEAD, Frontier, check_name
from director_ai.core.merge import Edit, in_common
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["BannedWords"]

_WIDEST_GAP: Final = 8
_DEEPEST: Final = 40
"""Branches inside branches: the compiler of patterns recurses."""
_MARKS_OF_A_LETTER: Final = 4
"""So many marks the disguise check leaves on one letter."""
_ACCENTS: Final = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")


@dataclass(frozen=True, slots=True)
class BannedWords:
    """Replaces banned words and phrases; of several that begin at one place, the longest.

    The space inside a phrase stands for up to eight spaces or line breaks. Thousands of words cost as much as a few.
    """

    words: tuple[str, ...] = field(repr=False)
    whole_words: bool = field(default=True, kw_only=True)
    """A word inside a longer one stays."""
    ignore_case: bool = field(default=True, kw_only=True)
    fold: bool = field(default=False, kw_only=True)
    """Accents, full-width forms and ligatures count as the plain letters."""
    replacement: str = field(default="[REMOVED]", kw_only=True)
    name: str = field(default="banned-words", kw_only=True)
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        words = _checked_words(self.words)
        for option in ("whole_words", "ignore_case", "fold"):
            if not isinstance(getattr(self, option), bool):
                raise ConfigError(f"{option} must be True or False, got a {type(getattr(self, option)).__name__}")
        if not isinstance(self.replacement, str):
            raise ConfigError(f"the replacement must be a text, got a {type(self.replacement).__name__}")
        check_name(self.name)
        keys = sorted({form for word in words for form in self._forms(word)})
        if not all(key.strip() for key in keys):
            raise ConfigError("a banned word consists of accents alone, and fold drops those")
        longest = max((len(key) + key.count(" ") * (_WIDEST_GAP - 1) for key in keys), default=1)
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "_pattern", _compiled(keys, self.whole_words))
        object.__setattr__(self, "_longest", longest * (1 + _MARKS_OF_A_LETTER if self.fold else 1) + 1)
        if self._longest > MOST_LOOKAHEAD:
            raise ConfigError(f"a banned phrase is too long: the check would need {self._longest} characters at once")

    def _forms(self, word: str) -> set[str]:
        """Return how a word is looked for: as folded, or in both of the ways in which Unicode writes it."""
        forms = {word} if self.fold else {unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word)}
        return {" ".join(self._plain(form)[0].split()) for form in forms}

    @property
    def frontier(self) -> Frontier:
        """As many characters as the longest phrase, and one to see that it ends."""
        return self._longest

    def find(self, text: str) -> Iterable[Edit]:
        """Return the edits that replace every banned word of this text."""
        plain, owners = self._plain(text)
        found = (match.span() for match in self._pattern.finditer(plain))
        return tuple(
            Edit(start, end, self.replacement, "remove", self.name, "banned word")
            for start, end in (found if owners is None else _in_source(found, owners))
            if end <= len(text)
        )

    def _plain(self, text: str) -> tuple[str, Sequence[int] | None]:
        """Return the text as it is compared, and where each of its characters comes from unless that is its place."""
        if text.isascii() or not (self.fold or self.ignore_case):
            return (text.lower() if self.ignore_case else text), None
        letters = [_letter(letter, self.ignore_case, self.fold) for letter in text]
        plain = "".join(letters)
        if len(plain) == len(text) and all(letters):
            return plain, None  # none vanished, so none grew
        owners = itertools.chain.from_iterable(itertools.repeat(at, len(said)) for at, said in enumerate(letters))
        return plain, [*owners, len(text)]


def _checked_words(words: object) -> tuple[str, ...]:
    if isinstance(words, str | bytes) or not hasattr(words, "__iter__"):
        raise ConfigError(f"banned words must be several texts, got a {type(words).__name__}")
    listed = tuple(words)
    if not all(isinstance(word, str) and word.strip() for word in listed):
        raise ConfigError("banned words must be texts that are not empty")
    return listed


def _in_source(found: Iterable[tuple[int, int]], owners: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Yield where matches stand in the source; a letter of which a part matches goes as a whole, with its accents."""
    last = 0
    for start, end in found:
        source_start, source_end = max(last, owners[start]), max(owners[end - 1] + 1, owners[end])
        if source_start < source_end:
            yield source_start, source_end
        last = source_end


@functools.lru_cache(maxsize=65_536)
def _letter(letter: str, ignore_case: bool, fold: bool) -> str:
    if fold:
        letter = _ACCENTS.sub("", unicodedata.normalize("NFKD", letter))
    if ignore_case:
        letter = letter.casefold()
    return unicodedata.normalize("NFC", letter) if fold else letter


def _compiled(words: Sequence[str], whole: bool) -> re.Pattern[str]:
    if not words:
        return re.compile("(?!)")
    inside = rf"[\w{_marks()}]"
    branches = []
    for first, group in itertools.groupby(words, key=lambda word: word[0]):
        letter = re.escape(first)
        # Behind the letter, not before it: a pattern that begins with letters is searched many times faster.
        begins = rf"(?<!{inside}{letter})" if whole and re.match(inside, first) else ""
        branches.append(f"{letter}{begins}(?:{_branches([word[1:] for word in group], 1)})")
    ends = rf"(?:(?!{inside})|(?<!{inside}))" if whole else ""
    return re.compile(f"(?:{'|'.join(branches)}){ends}")


@functools.cache
def _marks() -> str:
    """Return the marks of all scripts as the inside of a character class: an Indic vowel does not end a word."""
    marks = [code for code in range(0x300, sys.maxunicode) if unicodedata.category(chr(code)) in {"Mn", "Mc", "Me"}]
    rows = [list(row) for _, row in itertools.groupby(enumerate(marks), key=lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(row[0][1])}-{chr(row[-1][1])}" for row in rows)


def _branches(words: Sequence[str], depth: int) -> str:
    """Return one pattern for words in their order that tells them apart letter by letter, longer ones first."""
    if depth == _DEEPEST:
        return "|".join(map(_escaped, sorted(words, key=len, reverse=True)))
    ends = "" in words
    branches = []
    for _, group in itertools.groupby((word for word in words if word), key=lambda word: word[0]):
        same = list(group)
        shared = in_common(same[0], same[-1])  # the first and the last of a sorted row speak for all
        rests = [word[shared:] for word in same]
        rest = _branches(rests, depth + 1) if rests != [""] else ""
        branches.append(_escaped(same[0][:shared]) + (f"(?:{rest})" if rest else ""))
    return "|".join([*branches, ""] if ends else branches)


def _escaped(word: str) -> str:
    return re.escape(word).replace(r"\ ", rf"\s{{1,{_WIDEST_GAP}}}")
