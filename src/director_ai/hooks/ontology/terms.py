"""An ontology as dictionaries: what a class, a relation and an individual of it may and may not be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from director_ai.core.scoring.claims import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LONGEST_NAME", "Limit", "Ontology", "Relation", "name_key", "stem"]

LONGEST_NAME: Final = 200
"""Characters of a name; what is longer names nothing."""
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IRREGULAR: Final = {"has": "have", "had": "have", "does": "do", "goes": "go", "people": "person", "children": "child"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How many things a member of a class may be related to."""

    relation: str
    low: int = 0
    high: int | None = None
    filler: str = ""
    """Only things of this class are counted; empty: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What an assertion of a relation implies."""

    iri: str
    forms: tuple[tuple[str, bool], ...]
    """The relations that hold with it; True: the other way round."""
    subject_classes: tuple[str, ...] = ()
    object_classes: tuple[str, ...] = ()
    value_types: tuple[str, ...] = ()
    """Data types of XML Schema, by their short names."""
    takes_values: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ontology:
    """What was loaded, with all that follows from it; nothing here changes, so threads may share it."""

    digest: str
    """Which file it was."""
    ancestors: Mapping[str, frozenset[str]]
    """For each class itself and whatever it is a kind of."""
    alternatives: Mapping[str, tuple[str, ...]]
    """For a union, its parts."""
    disjoint: Mapping[str, tuple[tuple[int, str], ...]]
    """For each class the groups of classes that exclude each other, and which member of the group it is."""
    limits: Mapping[str, tuple[Limit, ...]]
    fillers: Mapping[str, tuple[tuple[str, str], ...]]
    """For each class the relations that lead to one class only."""
    relations: Mapping[str, Relation]
    functional: frozenset[str]
    inverse_functional: frozenset[str]
    irreflexive: frozenset[str]
    asymmetric: frozenset[str]
    acyclic: frozenset[str]
    excluding: Mapping[str, frozenset[str]]
    """For each relation those that cannot hold between the same two."""
    individuals: Mapping[str, tuple[str, ...]]
    """For each individual the classes it is known to be of."""
    same: Mapping[str, str]
    """For an individual with several identifiers, the one it goes by."""
    facts: Mapping[str, Mapping[str, frozenset[str]]]
    """For each relation, who is related to what; a relation read backwards has a `^` before its name."""
    class_names: Mapping[str, tuple[str, ...]]
    relation_names: Mapping[str, tuple[str, ...]]
    individual_names: Mapping[str, tuple[str, ...]]

    def classes_called(self, name: str) -> tuple[str, ...]:
        """Return the classes that a name or an identifier may mean."""
        return (name,) if name in self.ancestors else self.class_names.get(name_key(name), ())

    def relations_called(self, name: str) -> tuple[str, ...]:
        """Return the relations that a name or an identifier may mean."""
        return (name,) if name in self.relations else self.relation_names.get(name_key(name), ())

    def things_called(self, name: str) -> tuple[str, ...]:
        """Return the individuals, or else the classes, that a name or an identifier may mean."""
        if name in self.individuals:
            return (self.same.get(name, name),)
        return self.individual_names.get(name_key(name)) or self.classes_called(name)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a word without its case and its plural, as far as its end tells."""
    small = word.casefold()
    if small in _IRREGULAR:
        return _IRREGULAR[small]
    if len(small) > 3 and small.endswith("s") and not small.endswith(("ss", "us", "is")):
        small = small[:-1]
    if len(small) > 3 and small.endswith("ie"):
        return small[:-2] + "y"
    # Singular and plural meet here: "headache(s)" and "church(es)", "cause(s)" and "virus(es)".
    if len(small) > 3 and small.endswith(("che", "she", "sse", "xe", "use")):
        return small[:-1]
    return small


@lru_cache(maxsize=16_384)
def name_key(name: str) -> str:
    """Return what names are compared by: `hasPart`, `has_part` and "Has parts" are one."""
    return " ".join([stem(word) for word in _WORD.findall(_CAMEL.sub(" ", visible(name[:LONGEST_NAME])))])
