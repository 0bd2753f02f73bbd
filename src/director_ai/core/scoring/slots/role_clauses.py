"""Reads a clause as a relation: a verb or a noun, and who stands in which of its places."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.role_nouns import (
    ARTICLES,
    Noun,
    first_noun,
    is_content,
    is_genitive,
    is_name,
    make_noun,
    noun_before,
    run_after,
    run_before,
    stand_in,
)
from director_ai.core.scoring.slots.role_words import RELATIONS, SYMMETRIC, Relation
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.word_lists import AUXILIARIES, CONTRASTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["NEGATIVE", "ORDERS", "Clause", "is_denied", "may_be_verb", "read_clauses"]

_REACH = 24  # how many tokens after a verb its places are looked for
_NEAR = 4  # how many tokens before a verb a negation reaches it
ORDERS = frozenset({"than", "before", "after"})
NEGATIVE = frozenset("not never no nor neither cannot nobody none without hardly".split())
_BEING = frozenset("be been being is are was were gets get got".split())
_PREPOSITIONS = frozenset("to from by for against over under on into of with after before at in as through".split())
_BEFORE_NOUN = frozenset("of in from at for with near on".split())
_NO_SIDE = frozenset({"with", "in", "at", "as"})
"""Prepositions whose noun is no side of what happens, or one with the same part as the subject."""
_STOPS = AUXILIARIES | frozenset(
    "and who which that whom whose where when while whereas but because if unless until although though since so than "
    "or nor once whether".split()
)
_DUTY = frozenset("has have had need needs is are was were ought able obliged required supposed allowed going".split())
_ADVERBS = frozenset(
    "also not never always only still already then later first often usually even just again soon once twice now both "
    "each all themselves itself himself herself alone in turn out perhaps sometimes besides towards".split()
)
_TIMES = frozenset(map(stem, "year month week day night morning evening hour time season".split()))
_PARTICLES = frozenset("up out off back in down away way room about".split())
_OBJECTS = frozenset("him her them".split())
_SUPPLIES = frozenset(map(stem, "supply provide present serve equip".split()))
_MARKS = frozenset("'-\"“”")
_BORDERS = frozenset({",", ";", ":", "but", "while", "whereas"})


class Clause(NamedTuple):
    """A relation, and who has which part in it."""

    kind: str
    word: str
    parts: dict[str, Noun]
    at: int


def read_clauses(t: Tokens, i: int, first: int, end: int) -> Iterator[Clause]:
    """What token `i` says of two: a verb, a noun such as "teacher", or the word between two that are compared."""
    if t.words[i] in ORDERS:
        yield from _read_order(t, i, first, end)
    elif t.words[i] == "from":
        yield from _read_way(t, i, end)
    elif not is_denied(t, max(first, i - _NEAR), min(end, i + 2)):
        yield from _read_verb(t, i, first, end)


def may_be_verb(t: Tokens, i: int) -> bool:
    """Whether a word that is in no list has the form of a verb."""
    return (
        t.stems[i] not in SYMMETRIC
        and t.raw[i][0].islower()
        and len(t.words[i]) > 4
        and t.words[i] not in _ADVERBS
        and "'" not in t.words[i]
        and (t.words[i].endswith(("s", "ed", "ing")) or t.words[i - 1] in AUXILIARIES or t.words[i - 1] == "to")
    )


def is_denied(t: Tokens, first: int, end: int) -> bool:
    """Whether there is a negation between two tokens: who does not do it may be anyone."""
    words = t.words[first:end]
    return not NEGATIVE.isdisjoint(words) or "n't" in " ".join(words)


def _subject(t: Tokens, i: int, first: int) -> tuple[Noun | None, bool]:
    """The noun before a verb, and whether a form of "be" stands between."""
    j, is_passive = i - 1, False
    while j >= first:
        word = t.words[j]
        if word in AUXILIARIES or word in _BEING:
            is_passive = is_passive or word in _BEING
        elif not (
            (word == "to" and t.words[j - 1] in _DUTY)
            or word in _ADVERBS
            or (word.endswith("ly") and not is_name(t, j))
        ):
            break
        j -= 1
    if j >= first and t.words[j] in {"and", "but"}:
        start = max((k + 1 for k in range(first, j) if t.words[k] in {";", ":"}), default=first)
        return first_noun(t, start, j), is_passive
    return noun_before(t, j, first), is_passive


def _relative(t: Tokens, i: int, first: int) -> Noun | None:
    """What "whom" or "which" stands for, where it is the object: the boat of "the boat which the miller sold"."""
    for k in range(i - 2, max(first, i - 6), -1):
        if t.words[k] in {"whom", "which", "that"}:
            return noun_before(t, k, first)
        if t.kinds[k] == "sign":
            break
    return None


class _Places:
    """The nouns after a verb, by the preposition before each; bare ones are "P", or "to" and "P" if there are two."""

    def __init__(self, t: Tokens, i: int) -> None:
        self.t = t
        self.found: dict[str, Noun] = {}
        self.place = "P"
        self.tokens: list[int] = []
        self.is_within = False  # after the "of" of a noun
        self.verb = i

    def close(self, place: str) -> None:
        """End the noun that is being read; what follows stands in `place`."""
        noun = make_noun(self.t, self.tokens)
        if noun:
            self.put(noun)
        self.place, self.tokens, self.is_within = place, [], False

    def put(self, noun: Noun) -> None:
        if self.place == "P" and "P" in self.found and not noun.heads.isdisjoint(_TIMES):
            return  # "beat him the year before"
        if self.place == "P" and "P" in self.found and "to" not in self.found:
            self.found["to"] = self.found["P"]
            self.found["P"] = noun
        else:
            self.found.setdefault(self.place, noun)

    def next_bare(self) -> str:
        """Where a second noun without a preposition stands: after the object only."""
        return "P" if self.place == "P" else "-"

    def read(self, end: int) -> dict[str, Noun]:
        j = self.verb + 1
        while j < end:
            following = self._step(j, end)
            if following is None:
                break
            j = following
        self.close("-")
        return self.found

    def _step(self, j: int, end: int) -> int | None:
        """Read token `j`: the token to go on with, or None where the verb's places end."""
        t, word = self.t, self.t.words[j]
        if word in ARTICLES and word != "that":
            if self.tokens and not self.is_within:
                self.close(self.next_bare())
        elif word == "of" and self.tokens:
            self.is_within = not (is_name(t, self.tokens[-1]) and is_name(t, j + 1))
        elif word in _PREPOSITIONS and not (j == self.verb + 1 and word in _PARTICLES):
            self.close(word)
        elif word in _OBJECTS and not self.tokens:
            noun = stand_in(t, j, t.sentences[t.sentence_of[j]][0])
            if noun and self.place not in self.found:
                self.put(noun)
                self.place = self.next_bare()
        elif t.kinds[j] == "sign":
            return j + 1 if word in _MARKS else None
        elif word == "and" and self.tokens and not self.is_within:
            return self._join(j, end)
        elif word in _STOPS:
            return None
        else:
            self._add(j)
        return j + 1

    def _join(self, j: int, end: int) -> int | None:
        """Add the noun after "and" to the one before it."""
        more = run_after(self.t, j + 1, end)
        place = self.place
        self.close("-")
        noun, extra = self.found.get(place), make_noun(self.t, more)
        if not noun or not extra:
            return None
        if place != "P":
            self.found[place] = Noun(noun.heads | extra.heads, noun.words | extra.words)
        return more[-1] + 1

    def _add(self, j: int) -> None:
        t = self.t
        if t.kinds[j] == "number":
            if self.tokens and is_content(t, j + 1) and not is_name(t, j + 1):
                self.close(self.next_bare())
            elif self.tokens:
                self.tokens.append(j)
        elif is_content(t, j) and not self.is_within:
            if is_genitive(t, j):
                self.tokens = []
            elif not t.words[j].endswith("ly") or is_name(t, j):
                self.tokens.append(j)


def _read_verb(t: Tokens, i: int, first: int, end: int) -> Iterator[Clause]:
    root = t.stems[i]
    before = t.words[i - 1] if i > first else ""
    relations = RELATIONS.get(root, ())
    for relation in relations:
        if "N" in relation.parts:
            yield from _read_kin(t, i, first, end, relation)
            break
    if (before in ARTICLES and before != "that") or before in _BEFORE_NOUN or (i > first and is_genitive(t, i - 1)):
        return
    found = _places_of(t, i, first, end)
    relation_ = _choose(t, i, relations, found)
    if relation_ is None:
        if root not in SYMMETRIC and (not relations or may_be_verb(t, i)):
            yield Clause(root, root, {place: noun for place, noun in found.items() if place not in _NO_SIDE}, i)
        return
    parts = {part: found[place] for place, part in relation_.parts.items() if place in found}
    if root in _SUPPLIES and "P" in found and "with" in found:
        parts["dst"], found["P"] = found["P"], found["with"]
    if "P" in found and "P" not in relation_.parts:
        parts["thing"] = found["P"]
        if relation_.parts.get("A") == "src":
            parts.setdefault("dst", found["P"])
    if parts:
        yield Clause(relation_.kind, root, parts, i)


def _places_of(t: Tokens, i: int, first: int, end: int) -> dict[str, Noun]:
    """Who stands in which place of a verb, as if it were active; "A" is who does it."""
    subject, has_being = _subject(t, i, first)
    found = _Places(t, i).read(min(end, i + _REACH))
    if (has_being and not t.words[i].endswith("ing")) or (t.words[i + 1] == "by" and t.words[i][-1] != "s"):
        if subject:
            found.setdefault("to" if "P" in found else "P", subject)
        subject = found.pop("by", None)
    elif subject and "P" not in found:
        relative = _relative(t, i, first)
        if relative:
            found["P"] = relative
    if subject:
        found = {place: noun for place, noun in found.items() if noun.words != subject.words}
        found["A"] = subject
    return found


def _choose(t: Tokens, i: int, relations: Sequence[Relation], found: dict[str, Noun]) -> Relation | None:
    for relation in relations:
        is_read = "N" not in relation.parts and (not relation.place or relation.place in found)
        if is_read and relation.kind == "lead" and relation.place:
            is_read = "P" not in found  # who reports a fault to someone need not work for him
        if is_read and relation.particle in {"", t.words[i + 1]}:
            return relation
    return None


def _read_kin(t: Tokens, i: int, first: int, end: int, relation: Relation) -> Iterator[Clause]:
    """What a noun such as "teacher" says of two: "Y's teacher X", "X is Y's teacher", "X is the teacher of Y"."""
    k = i - 2 if t.words[i - 1] == "'" else i - 1
    while k > first and is_content(t, k) and not is_genitive(t, k) and t.raw[k][0].islower():
        k -= 1
    if k >= first and is_genitive(t, k):
        tokens = run_before(t, k, first)
        whose, start = make_noun(t, tokens), tokens[0] if tokens else k
    elif k >= first and t.words[k] in ARTICLES and t.words[i + 1] in {"of", "to"}:
        whose, start = first_noun(t, i + 2, end), k
    else:
        return
    while start > first and t.words[start - 1] in ARTICLES:
        start -= 1
    holder = _holder(t, i, start, first, end)
    if whose and holder:
        yield Clause(relation.kind, t.stems[i], {relation.parts["N"]: holder, relation.parts["of"]: whose}, i)


def _holder(t: Tokens, i: int, start: int, first: int, end: int) -> Noun | None:
    """Who has the part that the noun at token `i` names; its own words begin at `start`."""
    while start > first and t.words[start - 1] in _ADVERBS:
        start -= 1
    if start > first and t.words[start - 1] in _BEING:
        return _subject(t, start, first)[0]
    if is_name(t, i + 1) and is_content(t, i + 1):
        return first_noun(t, i + 1, end)
    if t.words[i + 1] in {"is", "was", ","}:
        return first_noun(t, i + 2, end)
    return noun_before(t, start - 1, first) if start > first and t.words[start - 1] == "," else None


def _read_order(t: Tokens, i: int, first: int, end: int) -> Iterator[Clause]:
    """Two sides that are compared or put in order: "X is larger than Y", "X before Y"."""
    if i == first or is_denied(t, max(first, i - _NEAR), min(end, i + 2)):
        return
    border = max((k + 1 for k in range(first, i) if t.words[k] in _BORDERS), default=first)
    left, right = first_noun(t, border, i), first_noun(t, i + 1, end)
    if not left or not right:
        return
    kind, is_turned = "before", t.words[i] == "after"
    if t.words[i] == "than":
        place = next((k for k in range(i - 1, max(border, i - 5), -1) if _is_comparative(t, k)), -1)
        if place < 0:
            return
        kind = t.stems[place]
        if kind in CONTRASTS:
            group, side, _ = CONTRASTS[kind][0]
            kind, is_turned = f"than {group}", side > 0
    parts = {"A": right, "B": left} if is_turned else {"A": left, "B": right}
    yield Clause(kind, kind, parts, i)


def _is_comparative(t: Tokens, i: int) -> bool:
    word = t.words[i]
    return word in {"more", "less", "fewer"} or (word.endswith("er") and len(word) > 4 and t.raw[i][0].islower())


def _read_way(t: Tokens, i: int, end: int) -> Iterator[Clause]:
    """The two ends of "from X to Y"."""
    if not {"back", "return"}.isdisjoint(t.stems[max(0, i - 4) : i + 8]):
        return
    found = _Places(t, i - 1).read(min(end, i + _REACH))
    if "from" in found and "to" in found:
        yield Clause("from", "from", {"A": found["from"], "B": found["to"]}, i)
