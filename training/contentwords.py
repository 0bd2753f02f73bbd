"""Wrong twins of right sentences: one content word exchanged, a subject and an object, a pronoun, or a detail added.

Whether such a sentence is contradicted or only not said depends on the premise, so its label is `unsupported`.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable

from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.word_lists import AUXILIARIES, CONTRASTS
from training.counterfactual import misplace
from training.lexis import Lexis, Word, same_sense, words_of

__all__ = ["Exchanger", "add_detail", "phrases_of"]

_NAME = r"(?:[A-Z][\w'’-]+)(?: [A-Z][\w'’-]*\.?){0,3}"
_NOUN = rf"(?:(?:[Tt]he|[Aa]n?|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir) [a-z-]+|{_NAME})"
_TRANSITIVE = re.compile(
    rf"^({_NOUN}) (?:(?:was|were|is|are) )?([a-z]+)( by| with| to| for| against| from)? ({_NOUN})\b(?! [A-Z])"
)
_ARTICLE = re.compile(r"(?:The|An?|His|Her|Its|Their) ")
_PRONOUNS = {
    "he": "she",
    "she": "he",
    "his": "her",
    "her": "his",
    "him": "her",
    "himself": "herself",
    "herself": "himself",
}
_HAS_PRONOUN = re.compile(r"\b(?:he|she|his|her|him|himself|herself)\b", re.IGNORECASE)
_PERSON = re.compile(r"\b[A-Z][a-z]+ (?:[A-Z]\. )?[A-Z][a-z]{2,}\b")
_PHRASE = re.compile(
    r" ((?:in|on|at|for|with|after|during|from|before|because of|due to|against|under|near) (?:the |an? |his |her |its |their )?[\w'’-]+(?: [\w'’-]+){0,4})[.]$"
)
_WHEN_OR_WHERE = re.compile(r"(?:in|on|at|after|during|from|before|under|near)\b")
_KINDS = {
    "past": 9,
    "third": 9,
    "base": 7,
    "ing": 2,
    "noun": 3,
    "nouns": 3,
    "role": 6,
    "adjective": 3,
    "adverb": 2,
    "unit": 1,
}


class Exchanger:
    """Makes the wrong twin of a right sentence."""

    def __init__(self, lexis: Lexis) -> None:
        self._lexis = lexis
        self._opposites: dict[str, list[str]] = defaultdict(list)
        by_place: dict[tuple[int, str], list[tuple[int, str]]] = defaultdict(list)
        for word, kind in sorted(lexis.kinds.items()):
            for group, side, _ in CONTRASTS.get(stem(word), ()):
                by_place[group, kind].append((side, word))
        for members in by_place.values():
            for side, word in members:
                self._opposites[word] += [other for there, other in members if there != side]

    def exchange(self, right: str, sentences: list[str], rnd: random.Random) -> str | None:
        """The sentence with one thing exchanged, so that the premise no longer supports it."""
        ways: list[tuple[int, Callable[[], str | None]]] = [
            (56, lambda: self._other_word(right, sentences, rnd)),
            (12, lambda: self._opposite(right, rnd)),
            (12, lambda: _other_pronoun(right)),
            (8, lambda: _other_person(right, sentences, rnd)),
            (6, lambda: self._turned(right)),
            (6, lambda: misplace(right, " ".join(sentences), rnd)),
        ]
        while ways:
            way = rnd.choices(ways, [weight for weight, _ in ways])[0]
            made = way[1]()
            if made and made != right and made not in sentences:
                return _with_article(made)
            ways.remove(way)
        return None

    def _other_word(self, right: str, sentences: list[str], rnd: random.Random) -> str | None:
        words = [word for word in words_of(right) if self._lexis.kind(word.text) in _KINDS]
        own = {stem(word.text) for word in words}
        source = max(sentences, key=lambda text: len(own & {stem(word.text) for word in words_of(text)}))
        near = [word.text for text in sentences if text != source for word in words_of(text)]
        said = {stem(word.text) for word in words_of(source)} | own
        while words:
            weights = [_KINDS[self._lexis.kinds[word.text]] for word in words]
            word = rnd.choices(words, weights)[0]
            by = self._near(word, near, rnd) if rnd.random() < 0.5 else None
            by = by or self._lexis.fitting(word, rnd)
            if by and stem(by) not in said:
                return right[: word.start] + by + right[word.end :]
            words.remove(word)
        return None

    def _near(self, word: Word, near: list[str], rnd: random.Random) -> str | None:
        """A word of the premise's other sentences that would fit."""
        fitting = [other for other in near if self._lexis.fits(other, word) and not same_sense(other, word.text)]
        return self._lexis.nearest(fitting, word.text, rnd)

    def _opposite(self, right: str, rnd: random.Random) -> str | None:
        words = [word for word in words_of(right) if self._opposites.get(word.text)]
        if not words:
            return None
        word = rnd.choice(words)
        others = [each for each in self._opposites[word.text] if self._lexis.fits(each, word)]
        return right[: word.start] + rnd.choice(others) + right[word.end :] if others else None

    def _turned(self, right: str) -> str | None:
        """Subject and object in each other's place."""
        match = _TRANSITIVE.match(right)
        if not match or self._lexis.kind(match[2]) not in {"past", "third"}:
            return None
        one, two = match[1], match[4]
        if one in {"It", "He", "She", "They", "The", "This"} or one.lower() == two.lower():
            return None
        lowered = one[:1].lower() + one[1:] if _ARTICLE.match(one) else one
        return f"{two[:1].upper()}{two[1:]}{right[match.end(1) : match.start(4)]}{lowered}{right[match.end() :]}"


def _other_pronoun(right: str) -> str | None:
    """All pronouns of one gender exchanged, so that the sentence stays of a piece."""
    found = {match[0].lower() for match in _HAS_PRONOUN.finditer(right)}
    if found & {"he", "his", "him"} and found & {"she", "her"}:
        return None

    def other(match: re.Match[str]) -> str:
        by = _PRONOUNS[match[0].lower()]
        if match[0].lower() == "her" and not re.match(r" [a-z]", right[match.end() :]):
            by = "him"
        return by.capitalize() if match[0][0].isupper() else by

    return _HAS_PRONOUN.sub(other, right)


def _other_person(right: str, sentences: list[str], rnd: random.Random) -> str | None:
    """Another person of the premise for a person, or for the pronoun that begins the sentence."""
    people = {match[0] for text in sentences for match in _PERSON.finditer(text)}
    others = sorted(name for name in people if not set(name.split()) & set(right.rstrip(".").split()))
    named = _PERSON.search(right)
    if not others or not named:
        return None
    by = rnd.choice(others)
    return right[: named.start()] + by + right[named.end() :]


def _with_article(text: str) -> str:
    text = re.sub(r"\b([Aa])n (?=[bcdfgjklmnpqrstvwyz])", r"\1 ", text)
    return re.sub(r"\b([Aa]) (?=[aei][a-z])(?!one|eu)", r"\1n ", text)


def phrases_of(sentences: list[str], lexis: Lexis) -> list[str]:
    """The phrases with a preposition that end sentences."""
    found = (match[1] for text in sentences if (match := _PHRASE.search(text)))
    return [phrase for phrase in found if _is_plain(phrase, lexis)]


def _is_plain(phrase: str, lexis: Lexis) -> bool:
    """Whether a phrase ends in a noun, a name or a number and holds no verb."""
    words = phrase.split()
    ends = lexis.kind(words[-1]) in {"noun", "nouns", "role"} or not words[-1][0].islower()
    return ends and not any(word in AUXILIARIES or lexis.kind(word) in {"past", "third", "base"} for word in words[1:])


def add_detail(right: str, sentences: list[str], phrases: list[str], rnd: random.Random) -> tuple[str, str] | None:
    """The sentence with a phrase of another text, of which the premise says nothing, where it had its own, and its label.

    A sentence that ended without a phrase is left alone, so that a phrase at the end tells nothing. A time or a place may
    contradict the one it stands for; a phrase of another kind is only not said.
    """
    own = _PHRASE.search(right)
    if not phrases or not own or rnd.random() < 0.5:
        return None
    known = {stem(word.lower()) for text in sentences for word in re.findall(r"\w+", text)}
    for phrase in rnd.sample(phrases, min(5, len(phrases))):
        if any(len(word) > 3 and stem(word.lower()) not in known for word in re.findall(r"\w+", phrase)):
            apart = bool(_WHEN_OR_WHERE.match(phrase)) != bool(_WHEN_OR_WHERE.match(own[1]))
            return f"{right[: own.start()]} {phrase}.", "neutral" if apart else "unsupported"
    return None
