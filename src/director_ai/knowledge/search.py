"""From questions to evidence: candidates by words and by meaning, fused, with a distance that all stores share."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from director_ai.core.evidence import fuse_rankings
from director_ai.errors import ConfigError
from director_ai.knowledge.scopes import Scopes
from director_ai.knowledge.terms import MARK, REPEATED, repeated, terms_asked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from director_ai.core.evidence import Question
    from director_ai.knowledge.embedding import Embedder
    from director_ai.knowledge.scopes import Held, Scope
    from director_ai.knowledge.tables import FactTables, Numbers, StoredFact, Vectors

__all__ = ["FLOOR", "Hit", "Search"]

FLOOR = 0.25
"""Relevance below which a fact is no evidence."""
COMMON = 512
"""Facts with a term, above which it tells too little to be looked up."""
MOST_TERMS = 48
CANDIDATES = 100
WORDS_WEIGHT = 1.2
"""Of the ranking by words beside that by meaning."""
SATURATION, LENGTH_SHARE = 1.2, 0.75
"""Of BM25: how fast another occurrence stops counting, and how much a long fact is held against itself."""
UNRELATED, CERTAIN = 0.2, 0.8
"""Cosines of the bundled encoder that stand for relevance 0 and 1."""
LOOKED_AT = 12
"""Candidates per result that is wanted, to choose different ones from."""
LONG_PASSAGE, SHARED = 40, 0.3
"""Terms from which on a passage counts as long, and the share of them by which it repeats another."""
MOST_WORDS = 5_000
"""That are remembered for a revision."""
ALWAYS_KEPT = 2
"""The best results stand, whatever they repeat."""

Place = tuple[str, int]
"""A tenant and a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A fact that was found, and how far it is from what was asked: 0 says it, 1 has nothing to do with it."""

    stored: StoredFact
    distance: float


def check_floor(floor: float | None) -> None:
    """Refuse what is no relevance."""
    if floor is not None and (isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor <= 1):
        raise ConfigError(f"floor must be a number from 0 to 1, got {floor!r}")


class Search:
    """Finds facts in the tables; one for any number of threads."""

    def __init__(self, tables: FactTables, embedder: Embedder | None, floor: float | None) -> None:
        check_floor(floor)
        self.tables = tables
        self.embedder = embedder
        self._floor = FLOOR if floor is None else float(floor)
        self._scopes = Scopes(tables)
        self._words: _Words | None = None

    def find(
        self, questions: Sequence[Question], top_k: int, tenant_id: str, at: int | None, floor: float | None = None
    ) -> list[Hit]:
        """Return the facts relevant to the questions, nearest first: a tenant's own and the shared ones."""
        floor = self._floor if floor is None else floor
        questions = [question for question in questions if any(part.strip() for part in question.parts)]
        if not questions:
            return []
        at = self.tables.revision() if at is None else at
        scopes = {name: self._scopes.get(name, at) for name in dict.fromkeys(("", tenant_id))}
        terms = [list(dict.fromkeys(terms_asked(question.parts)))[-MOST_TERMS:] for question in questions]
        words = self._words_at(scopes, at)
        if not words.learn(dict.fromkeys(itertools.chain.from_iterable(terms))) and not self.embedder:
            return []
        asked = [_Asked(question, own, words) for question, own in zip(questions, terms, strict=True)]
        if self.embedder:
            for each, vector in zip(asked, self.embedder.questions([q.text for q in questions]), strict=True):
                each.look_near(vector)
        fused = fuse_rankings(ranking for each in asked for ranking in each.rankings)
        return self._hits(asked, scopes, fused[: max(LOOKED_AT * top_k, 12)], top_k, floor)

    def _words_at(self, scopes: dict[str, Scope], at: int) -> _Words:
        """Return what is known of words; a stream asks about the same ones again and again, at one revision."""
        known = self._words
        if known is None or not known.is_for(scopes, at):
            known = self._words = _Words(self.tables, scopes, at)
        return known

    @staticmethod
    def _hits(
        asked: Sequence[_Asked], scopes: dict[str, Scope], places: Sequence[Place], top_k: int, floor: float
    ) -> list[Hit]:
        """Return the first relevant and different facts; those that repeat one before them only where others lack."""
        chosen: list[_Candidate] = []
        repeating: list[_Candidate] = []
        for start in range(0, len(places), 2 * top_k):
            for candidate in _candidates(asked, scopes, places[start : start + 2 * top_k]):
                if candidate.relevance >= floor:
                    repeats = len(chosen) >= ALWAYS_KEPT and candidate.repeats(chosen)
                    (repeating if repeats else chosen).append(candidate)
            if len(chosen) >= top_k:
                break
        hits = (chosen + repeating)[:top_k]
        return sorted(
            (Hit(stored=hit.stored, distance=round(1.0 - hit.relevance, 6)) for hit in hits),
            key=lambda hit: hit.distance,
        )

    def close(self) -> None:
        """Let go of what was kept of the facts, and of the database."""
        self._scopes.forget()
        self._words = None
        self.tables.close()


def _candidates(asked: Sequence[_Asked], scopes: dict[str, Scope], places: Sequence[Place]) -> list[_Candidate]:
    by_tenant: dict[str, list[int]] = {}
    for tenant, row in places:
        by_tenant.setdefault(tenant, []).append(row)
    facts = {(tenant, held.stored.id): held for tenant, rows in by_tenant.items() for held in scopes[tenant].load(rows)}
    cosines = [each.cosines(by_tenant) for each in asked]
    found = []
    for place in places:
        if place in facts:  # a version may have left the index since it was found
            held = facts[place]
            near = [
                each.relevance(held.terms, said.get(place))
                for each, said in zip(asked, cosines, strict=True)
                if each.decides
            ]
            found.append(_Candidate(held, max(near)))
    return found


class _Candidate:
    """A fact that may become a hit."""

    __slots__ = ("relevance", "stored", "terms")

    def __init__(self, held: Held, relevance: float) -> None:
        self.stored, self.terms, self.relevance = held.stored, held.terms, relevance

    def repeats(self, others: Sequence[_Candidate]) -> bool:
        """Whether this is a long passage that says mostly what one before it says: together they are one evidence.

        Short facts never repeat: two that differ in a single number are just what must be seen side by side.
        """
        return len(self.terms) > LONG_PASSAGE and any(
            len(self.terms & other.terms) > SHARED * min(len(self.terms), len(other.terms)) for other in others
        )


class _Asked:
    """One question, and what was found for it so far."""

    def __init__(self, question: Question, terms: Sequence[str], words: _Words) -> None:
        self._weight, self.decides = question.weight, question.decides
        self._tables, self._at, self._scopes = words.tables, words.at, words.scopes
        self._vector: Vectors | None = None
        self._near: dict[Place, float] = {}
        self._terms = frozenset(terms)
        self._worth = words.worth(terms)
        self._total = math.fsum(self._worth.values())
        self.rankings: list[tuple[list[Place], float]] = [(words.ranking(terms), WORDS_WEIGHT * self._weight)]

    def look_near(self, vector: Vectors) -> None:
        """Add the ranking by meaning."""
        self._vector = vector
        found = [
            (cosine, name, row)
            for name in self._scopes
            for row, cosine in self._tables.nearest(name, vector, CANDIDATES, self._at)
        ]
        self._near = {(name, row): cosine for cosine, name, row in found}
        found.sort(key=lambda each: (-each[0], *each[1:]))
        self.rankings.append(([(name, row) for _, name, row in found[:CANDIDATES]], self._weight))

    def cosines(self, by_tenant: dict[str, list[int]]) -> dict[Place, float]:
        """Return how near each of these facts is to the question."""
        if self._vector is None:
            return {}
        found = dict(self._near)
        for tenant, rows in by_tenant.items():
            others = [row for row in rows if (tenant, row) not in found]
            if others:
                said = self._tables.similarity(tenant, others, self._vector)
                found |= {(tenant, row): cosine for row, cosine in said.items()}
        return found

    def relevance(self, held: frozenset[str], cosine: float | None) -> float:
        """Return from 0 to 1 how much a fact has to do with the question, by its words and its meaning."""
        by_words = math.fsum(map(self._worth.__getitem__, self._terms & held))
        by_words = by_words / self._total if self._total else 0.0
        if cosine is None:
            return by_words
        by_meaning = min(1.0, max(0.0, (cosine - UNRELATED) / (CERTAIN - UNRELATED)))
        return max(by_meaning, (by_words + by_meaning) / 2)  # one shared word alone makes nothing relevant


class _Words:
    """Which facts hold the words of all questions about a clause, and what a word is worth to them (BM25).

    Only the scopes that are read count: other tenants' facts change nothing.
    """

    def __init__(self, tables: FactTables, scopes: dict[str, Scope], at: int) -> None:
        self.tables, self.scopes, self.at = tables, scopes, at
        self._living = {name: scope.living(at) for name, scope in scopes.items()}
        self._count = sum(living.facts for living in self._living.values())
        self._usual = max(sum(living.words for living in self._living.values()) / max(self._count, 1), 1.0)
        self._gains: dict[str, list[tuple[str, Numbers, np.ndarray]]] = {}
        self._common: set[str] = set()
        self._worth: dict[str, float] = {}
        self._read: set[str] = set()

    def is_for(self, scopes: dict[str, Scope], at: int) -> bool:
        """Whether this is about these very scopes, and not too much of it."""
        same = self.at == at and self.scopes.keys() == scopes.keys() and len(self._read) < MOST_WORDS
        return same and all(self.scopes[name] is scope for name, scope in scopes.items())

    def learn(self, terms: Iterable[str]) -> bool:
        """Look up the terms that are new; return whether any fact holds any of them all."""
        terms = list(terms)
        if new := [term for term in terms if term not in self._read]:
            found = {name: _postings(scope, new) for name, scope in self.scopes.items()}
            for term in dict.fromkeys(term for rows in found.values() for term in rows if MARK not in term):
                self._weigh(term, found)
            self._read.update(new)
        return any(term in self._worth for term in terms)

    def worth(self, terms: Sequence[str]) -> dict[str, float]:
        """Return how much each term tells: the rarer, the more."""
        unheard = 1 + math.log(self._count + 1)
        return {term: self._worth.get(term, unheard) for term in terms}

    def ranking(self, terms: Sequence[str]) -> list[Place]:
        """Return the facts that hold some of these terms, the best first."""
        gains = [gain for term in terms for gain in self._gains.get(term, ())]
        if not gains:
            common = [term for term in terms if term in self._common]
            gains = [(name, rows, np.ones(len(rows))) for name, rows in self._with_all(common).items()]
        scores = {name: np.zeros(len(self.scopes[name].rows.ids)) for name in dict.fromkeys(name for name, *_ in gains)}
        for name, places, values in gains:
            scores[name][places] += values
        return self._best(scores)

    def _weigh(self, term: str, found: dict[str, dict[str, Numbers]]) -> None:
        rows = self._alive(term, found)
        count = sum(len(places) for places in rows.values())
        self._worth[term] = 1 + math.log((self._count + 1) / (count + 1))
        if any(len(held.get(term, ())) > COMMON for held in found.values()):
            self._common.add(term)
            return
        worth = math.log(1 + (self._count - count + 0.5) / (count + 0.5))
        gains = self._gain(rows, worth, 1)
        for before, times in zip((1, *REPEATED), REPEATED, strict=False):
            often = self._alive(repeated(term, times), found)
            if not often:
                break  # what does not occur twice does not occur four times
            gains += self._gain(often, worth, times) + self._gain(often, -worth, before)
        self._gains[term] = gains

    def _gain(self, rows: dict[str, Numbers], worth: float, times: int) -> list[tuple[str, Numbers, np.ndarray]]:
        """Return what a term adds to the facts that hold it so often."""
        gains = []
        for name, places in rows.items():
            length = self.scopes[name].rows.words[places] / self._usual
            held_against = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length)
            gains.append((name, places, worth * times * (SATURATION + 1) / (times + held_against)))
        return gains

    def _with_all(self, terms: Sequence[str]) -> dict[str, Numbers]:
        """Return the facts that hold all terms, or as many of them as any do: for questions of common words alone."""
        for number in range(len(terms), 0, -1):
            rows = {name: self.tables.together(name, terms[:number], COMMON) for name in self.scopes}
            if places := self._places(rows):
                return places
        return {}

    def _alive(self, term: str, found: dict[str, dict[str, Numbers]]) -> dict[str, Numbers]:
        return self._places({name: held[term] for name, held in found.items() if term in held})

    def _places(self, rows: dict[str, Numbers]) -> dict[str, Numbers]:
        """Return the places in their scopes of the rows that live at the revision that is read."""
        found = {}
        for name, held in rows.items():
            known = self.scopes[name].rows.ids
            if not len(held) or not len(known):
                continue
            places: Numbers = np.minimum(known.searchsorted(held), len(known) - 1)
            places = places[(known[places] == held) & self._living[name].lives[places]]
            if len(places):
                found[name] = places
        return found

    def _best(self, scores: dict[str, np.ndarray]) -> list[Place]:
        found: list[tuple[float, str, int]] = []
        for name, score in scores.items():
            places = np.flatnonzero(score > 0)
            places = places[np.argsort(-score[places], kind="stable")[:CANDIDATES]]  # of equals, those that came first
            found += zip((-score[places]).tolist(), itertools.repeat(name), self.scopes[name].rows.ids[places].tolist())
        return [(name, row) for _, name, row in sorted(found)[:CANDIDATES]]


def _postings(scope: Scope, terms: Sequence[str]) -> dict[str, Numbers]:
    """Return the rows of a scope that hold each term, and of the terms that tell much those that repeat it."""
    found = {term: rows for term, rows in scope.postings(terms, COMMON).items() if len(rows)}
    marks = [repeated(term, times) for term, rows in found.items() if len(rows) <= COMMON for times in REPEATED]
    if marks:
        found |= {mark: rows for mark, rows in scope.postings(marks, COMMON).items() if len(rows)}
    return found
