"""From questions to evidence: candidates by words and by meaning, fused, with a distance that all stores share."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from director_ai.core.evidence import fuse_rankings
from director_ai.errors import ConfigError
from director_ai.knowledge.terms import REPEATED, repeated, terms_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.evidence import Question
    from director_ai.knowledge.embedding import Embedder
    from director_ai.knowledge.tables import FactTables, Numbers, Rows, StoredFact, Vectors

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
KEPT_SCOPES = 1_000
LOOKED_AT = 12
"""Candidates per result that is wanted, to choose different ones from."""
LONG_PASSAGE, SHARED = 40, 0.3
"""Terms from which on a passage counts as long, and the share of them by which it repeats another."""
ALWAYS_KEPT = 2
"""The best results stand, whatever they repeat."""

Place = tuple[str, int]
"""A tenant and a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A fact that was found, and how far it is from what was asked: 0 says it, 1 has nothing to do with it."""

    stored: StoredFact
    distance: float


class _Living(NamedTuple):
    """The facts of a scope that live at a revision, how many they are, and of how many words."""

    lives: np.ndarray
    facts: int
    words: int


class _Scope:
    """What search knows of a tenant's facts without reading them, as of a revision of that tenant."""

    __slots__ = ("_living", "changed", "rows")

    def __init__(self, changed: int, rows: Rows) -> None:
        self.changed, self.rows = changed, rows
        self._living: tuple[int, _Living] | None = None

    def living(self, at: int) -> _Living:
        """Return which facts live at a revision; the last answer is kept, for a stream asks at the same one."""
        known = self._living
        if known is None or known[0] != at:
            lives = (self.rows.born <= at) & (self.rows.died > at)
            known = at, _Living(lives, int(lives.sum()), int(self.rows.words[lives].sum()))
            self._living = known
        return known[1]


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
        self._scopes: OrderedDict[str, _Scope] = OrderedDict()
        self._lock = threading.Lock()

    def find(
        self, questions: Sequence[Question], top_k: int, tenant_id: str, at: int | None, floor: float | None = None
    ) -> list[Hit]:
        """Return the facts relevant to the questions, nearest first: a tenant's own and the shared ones."""
        floor = self._floor if floor is None else floor
        questions = [question for question in questions if question.text.strip()]
        if not questions:
            return []
        at = self.tables.revision() if at is None else at
        scopes = {name: self._scope(name) for name in dict.fromkeys(("", tenant_id))}
        asked = [_Asked(question, self, scopes, at) for question in questions]
        if self.embedder:
            for each, vector in zip(asked, self.embedder.questions([q.text for q in questions]), strict=True):
                each.look_near(vector)
        fused = fuse_rankings(ranking for each in asked for ranking in each.rankings)
        return self._hits(asked, fused[: max(LOOKED_AT * top_k, 12)], top_k, floor)

    def _hits(self, asked: Sequence[_Asked], places: Sequence[Place], top_k: int, floor: float) -> list[Hit]:
        """Return the first relevant and different facts; those that repeat one before them only where others lack."""
        chosen: list[_Candidate] = []
        repeating: list[_Candidate] = []
        for start in range(0, len(places), 2 * top_k):
            for candidate in self._candidates(asked, places[start : start + 2 * top_k]):
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

    def _candidates(self, asked: Sequence[_Asked], places: Sequence[Place]) -> list[_Candidate]:
        by_tenant: dict[str, list[int]] = {}
        for tenant, row in places:
            by_tenant.setdefault(tenant, []).append(row)
        facts = {
            (tenant, stored.id): stored
            for tenant, rows in by_tenant.items()
            for stored in self.tables.load(tenant, rows)
        }
        cosines = [each.cosines(by_tenant) for each in asked]
        found = []
        for place in places:
            if place in facts:  # a version may have left the index since it was found
                terms = frozenset(terms_of(facts[place].fact.text))
                near = [
                    each.relevance(terms, said.get(place))
                    for each, said in zip(asked, cosines, strict=True)
                    if each.decides
                ]
                found.append(_Candidate(facts[place], terms, max(near)))
        return found

    def _scope(self, tenant_id: str) -> _Scope:
        changed = self.tables.changed(tenant_id)
        with self._lock:
            known = self._scopes.get(tenant_id)
            if known is not None and known.changed == changed:
                self._scopes.move_to_end(tenant_id)
                return known
        found = _Scope(changed, self.tables.rows(tenant_id))
        with self._lock:
            self._scopes[tenant_id] = found
            while len(self._scopes) > KEPT_SCOPES:
                self._scopes.popitem(last=False)
        return found


class _Candidate:
    """A fact that may become a hit."""

    __slots__ = ("relevance", "stored", "terms")

    def __init__(self, stored: StoredFact, terms: frozenset[str], relevance: float) -> None:
        self.stored, self.terms, self.relevance = stored, terms, relevance

    def repeats(self, others: Sequence[_Candidate]) -> bool:
        """Whether this is a long passage that says mostly what one before it says: together they are one evidence.

        Short facts never repeat: two that differ in a single number are just what must be seen side by side.
        """
        return len(self.terms) > LONG_PASSAGE and any(
            len(self.terms & other.terms) > SHARED * min(len(self.terms), len(other.terms)) for other in others
        )


class _Asked:
    """One question, and what was found for it so far."""

    def __init__(self, question: Question, search: Search, scopes: dict[str, _Scope], at: int) -> None:
        self._weight, self.decides = question.weight, question.decides
        self._tables, self._scopes, self._at = search.tables, scopes, at
        self._terms = list(dict.fromkeys(terms_of(question.text)))[-MOST_TERMS:]
        self._vector: Vectors | None = None
        self._near: dict[Place, float] = {}
        self._living = {name: scope.living(at) for name, scope in scopes.items()}
        self._count = sum(living.facts for living in self._living.values())
        self._worth: dict[str, float] = {}
        self.rankings: list[tuple[list[Place], float]] = [(self._by_words(), WORDS_WEIGHT * self._weight)]

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
        total = math.fsum(self._worth.values())
        by_words = math.fsum(worth for term, worth in self._worth.items() if term in held) / total if total else 0.0
        if cosine is None:
            return by_words
        by_meaning = min(1.0, max(0.0, (cosine - UNRELATED) / (CERTAIN - UNRELATED)))
        return max(by_meaning, (by_words + by_meaning) / 2)  # one shared word alone makes nothing relevant

    def _by_words(self) -> list[Place]:
        """Rank by BM25 within the scopes that are read: other tenants' facts change nothing."""
        found = {name: self._postings(name) for name in self._scopes}
        scores = {name: np.zeros(len(scope.rows.ids)) for name, scope in self._scopes.items()}
        usual = sum(living.words for living in self._living.values()) / self._count if self._count else 1.0
        common: list[str] = []
        for term in self._terms:
            rows = {name: self._alive(name, found[name].get(term)) for name in self._scopes}
            count = sum(len(places) for places in rows.values())
            self._worth[term] = 1 + math.log((self._count + 1) / (count + 1))
            if any(len(found[name].get(term, ())) > COMMON for name in self._scopes):
                common.append(term)
            else:
                worth = math.log(1 + (self._count - count + 0.5) / (count + 0.5))
                self._add(scores, rows, worth, usual, 1)
                for before, times in zip((1, *REPEATED), REPEATED, strict=False):
                    often = {name: self._alive(name, found[name].get(repeated(term, times))) for name in self._scopes}
                    self._add(scores, often, worth, usual, times)
                    self._add(scores, often, -worth, usual, before)
        if common and not any(score.any() for score in scores.values()):
            self._add(scores, self._with_all(common), 1.0, usual, 1)
        return self._best(scores)

    def _postings(self, name: str) -> dict[str, Numbers]:
        """Return the rows of a scope that hold each term, and of the terms that tell much those that repeat it."""
        found = self._tables.postings(name, self._terms, COMMON)
        rare = [term for term, rows in found.items() if 0 < len(rows) <= COMMON]
        marks = [repeated(term, times) for term in rare for times in REPEATED]
        return found | self._tables.postings(name, marks, COMMON) if marks else found

    def _with_all(self, terms: Sequence[str]) -> dict[str, Numbers]:
        """Return the facts that hold all terms, or as many of them as any do: for questions of common words alone."""
        for number in range(len(terms), 0, -1):
            rows = {
                name: self._alive(name, self._tables.together(name, terms[:number], COMMON)) for name in self._scopes
            }
            if any(len(places) for places in rows.values()):
                return rows
        return {name: np.empty(0, np.int64) for name in self._scopes}

    def _alive(self, name: str, rows: Numbers | None) -> Numbers:
        """Return the places in a scope of the rows that live at the revision that is read."""
        known = self._scopes[name].rows.ids
        if rows is None or not len(rows) or not len(known):
            return np.empty(0, np.int64)
        places: Numbers = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        return np.asarray(places[(known[places] == rows) & self._living[name].lives[places]])

    def _add(
        self, scores: dict[str, np.ndarray], rows: dict[str, Numbers], worth: float, usual: float, times: int
    ) -> None:
        """Add what a term is worth to the facts that hold it so often."""
        for name, places in rows.items():
            if not len(places):
                continue
            length = self._scopes[name].rows.words[places] / max(usual, 1.0)
            held_against = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length)
            scores[name][places] += worth * times * (SATURATION + 1) / (times + held_against)

    def _best(self, scores: dict[str, np.ndarray]) -> list[Place]:
        found: list[tuple[float, str, int]] = []
        for name, score in scores.items():
            places = np.flatnonzero(score > 0)
            places = places[np.argsort(-score[places], kind="stable")[:CANDIDATES]]  # of equals, those that came first
            found += [(-float(score[p]), name, int(self._scopes[name].rows.ids[p])) for p in places]
        return [(name, row) for _, name, row in sorted(found)[:CANDIDATES]]
