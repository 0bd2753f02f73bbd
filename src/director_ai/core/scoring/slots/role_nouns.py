"""Finds the noun that stands before or after a word, with its head and what describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.role_words import RELATIONS
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = [
    "ARTICLES",
    "Noun",
    "first_noun",
    "is_content",
    "is_genitive",
    "is_name",
    "make_noun",
    "noun_before",
    "run_after",
    "run_before",
    "stand_in",
]

ARTICLES = frozenset("a an the this that these those its his their our your my each every any all both such".split())
_WITHIN = frozenset("of in from at for with near on".split())
_SUBJECTS = frozenset("he she it they".split())


class Noun(NamedTuple):
    """A noun with what describes it, as stems."""

    heads: frozenset[str]
    """The noun itself, and every part of a name."""
    words: frozenset[str]


def is_content(t: Tokens, i: int) -> bool:
    """Whether a token is a word of its own sense."""
    return t.kinds[i] in {"word", "dotted"} and t.words[i] not in FUNCTION_WORDS


def is_name(t: Tokens, i: int) -> bool:
    """Whether a token begins with a capital."""
    return t.raw[i][0].isupper()


def is_genitive(t: Tokens, i: int) -> bool:
    """Whether a token says whose the next one is."""
    return t.words[i].endswith("'s") or (t.words[i].endswith("s") and t.words[i + 1] == "'" and t.touches(i + 1))


def make_noun(t: Tokens, tokens: list[int]) -> Noun | None:
    """The noun that some tokens make, in their order; of "the baker Ann Lee" each but "the" is a head."""
    if not tokens:
        return None
    stems = [t.stems[i] for i in tokens]
    names = [k for k, i in enumerate(tokens) if t.raw[i][0].isupper() or t.kinds[i] == "number"]
    if not names:
        return Noun(frozenset(stems[-1:]), frozenset(stems))
    heads = {stems[k] for k in names}
    heads.add(stems[-1])
    heads.update(stems[max(0, names[0] - 1) : names[0]])
    return Noun(frozenset(heads), frozenset(stems))


def run_before(t: Tokens, i: int, first: int) -> list[int]:
    """The tokens of the noun that ends at token `i`."""
    end = i + 1
    while i >= first and (is_content(t, i) or (t.kinds[i] == "number" and is_content(t, i - 1))):
        if i + 1 < end and is_genitive(t, i):
            break
        i -= 1
    return list(range(i + 1, end))


def run_after(t: Tokens, i: int, end: int) -> list[int]:
    """The tokens of the noun that begins at token `i`, its preposition and article left out."""
    while i < end and (t.words[i] in ARTICLES or t.words[i] in {"to", "from", "by"}):
        i += 1
    first = i
    while i < end and is_content(t, i):
        i += 1
    return list(range(first, i))


def noun_before(t: Tokens, i: int, first: int) -> Noun | None:
    """The noun that a verb after token `i` has as its subject."""
    if i >= first and t.words[i] in {"who", "which", "that", "whom"}:
        i -= 1
    if i >= first and t.words[i] in {",", "."}:  # a full stop within a sentence ends a short form: "Acme Ltd. bought"
        i -= 1
    tokens = run_before(t, i, first)
    if not tokens:
        return stand_in(t, i, first) if i >= first and t.words[i] in _SUBJECTS else None
    start = tokens[0] - 1
    while start >= first and t.words[start] in ARTICLES:
        start -= 1
    if start <= first:
        return make_noun(t, tokens)
    if _is_in_relative(t, start, first):
        return None
    earlier = run_before(t, start - 1, first)
    if earlier and t.words[start] in _WITHIN:
        is_one_name = t.words[start] == "of" and is_name(t, earlier[-1]) and is_name(t, tokens[0])
        return make_noun(t, earlier + tokens if is_one_name else earlier)
    if earlier and t.words[start] == "," and is_name(t, earlier[-1]):
        return make_noun(t, earlier + tokens)  # "Dr Ito, the station manager,"
    return make_noun(t, tokens)


def _is_in_relative(t: Tokens, start: int, first: int) -> bool:
    """Whether a noun is part of "who ...": of "the master who takes in a boy pays", the boy is no subject."""
    for k in range(start - 1, max(first, start - 8) - 1, -1):
        if t.kinds[k] == "sign":
            return False
        if t.words[k] in {"who", "which", "that"}:
            is_that_one = t.words[k] == "that" and t.words[k - 1] in _WITHIN  # "in that year, the bank bought"
            return not is_that_one and t.words[start] not in {"who", "which", "that"}
    return False


def first_noun(t: Tokens, i: int, end: int) -> Noun | None:
    """The noun that begins at token `i`, without the verb after it as far as that can be told."""
    while i < end and t.words[i] in ARTICLES:
        i += 1
    stems: list[str] = []
    while i < end and (is_content(t, i) or (stems and t.kinds[i] == "number")):
        if is_genitive(t, i):
            stems = []
        elif stems and not is_name(t, i) and (t.stems[i] in RELATIONS or t.words[i].endswith("ed")):
            break
        else:
            stems.append(t.stems[i])
        i += 1
    return Noun(frozenset(stems), frozenset(stems)) if stems else None


def stand_in(t: Tokens, i: int, first: int) -> Noun | None:
    """What a pronoun most likely stands for: what its sentence begins with, or the one before."""
    noun = first_noun(t, first, i)
    if noun is None and i == first and first > 0:
        start, end = t.sentences[t.sentence_of[first] - 1]
        noun = first_noun(t, start, end)
    return noun
