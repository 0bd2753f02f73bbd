"""Takes assertions from text, by the names that an ontology gives to its classes and relations.

Only plain statements are understood: "X is a Y", "X treats Y and Z". What is denied, asked, doubted or put otherwise is
not asserted, and counted as not read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from director_ai.core.grammar import AUXILIARIES, PRONOUNS, SUBORDINATORS, words
from director_ai.core.scoring.claims import visible
from director_ai.hooks.ontology.checking import Assertion
from director_ai.hooks.ontology.phrasing import WRAP, Phrasing, has_lines, sure_part, unwrapped
from director_ai.hooks.ontology.terms import name_key, stem

if TYPE_CHECKING:
    from director_ai.hooks.ontology.terms import Ontology

__all__ = ["ClauseReader", "ReadText"]

_SENTENCE = re.compile(r"[^.!?;:()\n]*(?:[.](?=[^\W_])[^.!?;:()\n]*)*[.!?;:()\n]?")
_TOKEN = re.compile(r"[^\W_]+(?:[.'’_-][^\W_]+)*|,")
_COPULAS: Final = words("is are was were")
_ARTICLES: Final = words("a an")
_DETERMINERS: Final = words("the a an every each all any this that these those its their his her our your my")
_GENERIC: Final = words("a an every each all any")
_UNSURE: Final = words(
    "not never no none neither nor cannot without if unless whether may might could would should can must seems "
    "perhaps maybe possibly probably allegedly supposedly almost hardly rarely sometimes some most many few several "
    "isn't aren't wasn't weren't don't doesn't didn't can't won't formerly once used"
)
_ENDS: Final = words(
    ", and but which that who whose in on at by for with from to during when while because since after before until "
    "under over per via within among as so although though whereas"
)
_OPENERS: Final = words("and but so also then thus however therefore moreover furthermore indeed hence")
_NEUTRAL: Final = words(
    "everyone everybody everything someone somebody something anyone anybody anything others me us him"
)
_MANNER: Final = words("with as like well badly")
"""Behind a name that nobody knows: "treats guests with respect" is another word than "treats malaria"."""
_NO_NAME: Final = (
    PRONOUNS
    | AUXILIARIES
    | SUBORDINATORS
    | _ENDS
    | _UNSURE
    | _NEUTRAL
    | _MANNER
    | words("of or there here this that these those it them what let")
)
_LONGEST_WORD: Final = 80
_LONGEST_NAME: Final = 8
"""Words of a name that is looked up."""
_LONGEST_NEW_NAME: Final = 3
"""Words of a name that the ontology does not know."""


class ReadText(NamedTuple):
    """What was understood of a text."""

    assertions: tuple[Assertion, ...]
    unread: int
    """Sentences of which nothing was understood."""


class ClauseReader:
    """Reads sentences by the names of an ontology; made once, used from any number of threads."""

    def __init__(self, ontology: Ontology) -> None:
        self._things = ontology.individual_names.keys() | ontology.class_names.keys()
        self._classes = ontology.class_names
        self._individuals = ontology.individual_names
        phrases: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
        self._values: set[tuple[str, ...]] = set()
        names = (*ontology.individual_names.items(), *ontology.class_names.items())
        self._ambiguous = frozenset([name for name, meant in names if len(meant) > 1])
        for name, meant in ontology.relation_names.items():
            if len(meant) > 1:
                continue
            parts = tuple(name.split())
            phrases[parts[0]].append(parts)
            if ontology.relations[meant[0]].takes_values:
                self._values.add(parts)
        self._phrasing = Phrasing({word for name in (*self._things, *ontology.relation_names) for word in name.split()})
        self._starts = _COPULAS | phrases.keys()
        self._phrases = {first: sorted(all_of, key=len, reverse=True) for first, all_of in phrases.items()}

    def read(self, text: str) -> ReadText:
        """Return the assertions of a text, in their order, and how many sentences were not understood."""
        found: list[Assertion] = []
        unread = 0
        shown = visible(text)
        for sentence in _SENTENCE.findall(unwrapped(shown, self._starts) if has_lines(shown) else shown):
            tokens = _TOKEN.findall(sentence)
            if len(tokens) < 2:
                unread += len(tokens)
                continue
            said = [] if sentence[-1] == "?" else self._read_lines(sentence, tokens)
            found += said
            unread += not said
        return ReadText(tuple(found), unread)

    def _read_lines(self, sentence: str, tokens: list[str]) -> list[Assertion]:
        """Return what a sentence says over its lines, or what each line says where each says something by itself."""
        said = self._read_sentence(tokens)
        if WRAP not in sentence or not _UNSURE.isdisjoint(map(_small, tokens)):
            return said
        lines = [self._read_sentence(_TOKEN.findall(line)) for line in sentence.split(WRAP)]
        return said if said and not all(lines) else [each for line in lines for each in line]

    def _read_sentence(self, tokens: list[str]) -> list[Assertion]:
        if not tokens or max(map(len, tokens)) > _LONGEST_WORD:
            return []
        tokens = self._phrasing.plain(tokens)
        stems = list(map(stem, tokens))
        if self._starts.isdisjoint(stems):
            return []
        small = list(map(_small, tokens))
        if not _UNSURE.isdisjoint(small):
            cut = sure_part(small, _UNSURE)
            tokens, small, stems = tokens[:cut], small[:cut], stems[:cut]
        found: list[Assertion] = []
        subject, start, at = "", 0, 1
        while at < len(tokens):
            phrase, after = self._relation_at(at, small, stems) if stems[at] in self._starts else ((), 0)
            if not after:
                at += 1
                continue
            opens = start < at and small[start] in _OPENERS | {","}
            named = self._subject(tokens, small, stems, start, at, is_class=not phrase)
            subject = named or (subject if opens and all(word in _OPENERS | {","} for word in small[start:at]) else "")
            objects, at = self._objects(phrase, tokens, small, stems, after)
            clear = [each for each in objects if self._ambiguous.isdisjoint(map(name_key, (subject, each)))]
            if subject:
                found += [Assertion(subject, " ".join(phrase) or "is a", each) for each in clear]
            start = at
        return found

    def _relation_at(self, at: int, small: list[str], stems: list[str]) -> tuple[tuple[str, ...], int]:
        """Return the relation that begins at a word, the empty one for "is a", and where it ends; 0 where none does."""
        is_copula = small[at] in _COPULAS
        article = is_copula and at + 1 < len(small) and (small[at + 1] in _ARTICLES or small[at + 1] == "the")
        for begin in range(at, at + 1 + is_copula + article):
            for phrase in self._phrases.get(stems[begin], ()) if begin < len(stems) else ():
                if tuple(stems[begin : begin + len(phrase)]) == phrase:
                    return phrase, begin + len(phrase)
        if is_copula and at + 1 < len(small):
            if small[at + 1] in _ARTICLES:
                kind_of = small[at + 2 : at + 4] in (["kind", "of"], ["type", "of"], ["sort", "of"])
                return (), at + (4 if kind_of else 2)
            if small[at] in {"are", "were"}:
                return (), at + 1
        return (), 0

    def _subject(
        self, tokens: list[str], small: list[str], stems: list[str], start: int, end: int, *, is_class: bool
    ) -> str:
        """Return the name between two places; empty where it is none."""
        while start < end and (small[start] in _OPENERS or small[start] == ","):
            start += 1
        determiner = small[start] if start < end and small[start] in _DETERMINERS else ""
        start += bool(determiner)
        if not 0 < end - start <= _LONGEST_NAME:
            return ""
        key = " ".join(stems[start:end])
        if key in self._individuals or (key in self._classes and not (is_class and determiner not in _GENERIC | {""})):
            return " ".join(tokens[start:end])
        if determiner or key in self._classes or end - start > _LONGEST_NEW_NAME:
            return ""
        return "" if any(word in _NO_NAME for word in small[start:end]) else " ".join(tokens[start:end])

    def _objects(
        self, phrase: tuple[str, ...], tokens: list[str], small: list[str], stems: list[str], start: int
    ) -> tuple[list[str], int]:
        """Return the names from a place on, joined by commas and "and", and where they end."""
        end = self._name_end(stems, small, start)
        if not end and phrase:
            end = self._new_name_end(small, start, is_value=phrase in self._values)
        if not end:
            return [], start
        found = [" ".join(tokens[_without_determiner(small, start) : end])]
        while end < len(small) and small[end] in {",", "and"}:
            begin = end + 1 + (small[end : end + 2] == [",", "and"])
            following = self._name_end(stems, small, begin)
            if not following:
                break
            found.append(" ".join(tokens[_without_determiner(small, begin) : following]))
            end = following
        return found, end

    def _name_end(self, stems: list[str], small: list[str], start: int) -> int:
        """Return where the longest known name from a place on ends, if nothing goes on behind it; else 0."""
        start = _without_determiner(small, start)
        for end in range(min(len(stems), start + _LONGEST_NAME), start, -1):
            if " ".join(stems[start:end]) in self._things:
                return end if end == len(small) or small[end] in _ENDS else 0
        return 0

    def _new_name_end(self, small: list[str], start: int, *, is_value: bool) -> int:
        """Return where a name that nobody knows ends: one without an article, and short."""
        longest = _LONGEST_NAME if is_value else _LONGEST_NEW_NAME
        named = list(takewhile(lambda word: word not in _ENDS, small[start : start + longest + 1]))
        if not 0 < len(named) <= longest or small[start + len(named) : start + len(named) + 1] == ["with"]:
            return 0
        if not is_value and any(word in _NO_NAME or word in _DETERMINERS for word in named):
            return 0
        return start + len(named)


def _small(token: str) -> str:
    return token.lower().replace("’", "'")


def _without_determiner(small: list[str], start: int) -> int:
    return start + (start < len(small) and small[start] in _DETERMINERS)
