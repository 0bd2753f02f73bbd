"""What is known in one run: what the ontology says, and what was asserted besides."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from director_ai.hooks.ontology.terms import name_key

if TYPE_CHECKING:
    from director_ai.hooks.ontology.terms import Limit, Ontology

__all__ = ["Knowledge"]

_MOST_KINDS: Final = 32
"""Classes that one thing may be asserted to be of: each of them is looked at for each of its relations."""


class Knowledge:
    """Classes and relations of things, by dictionary; things that the ontology does not know go by their name."""

    def __init__(self, ontology: Ontology, *, open_world: bool) -> None:
        self.ontology = ontology
        self.wider: dict[str, dict[str, int]] = {}
        """For each class the wider ones that were asserted, and where."""
        self.edges: defaultdict[str, dict[str, dict[str, int]]] = defaultdict(dict)
        """For each relation who was related to what, and where."""
        self.back: defaultdict[str, dict[str, dict[str, int]]] = defaultdict(dict)
        """The same from its other end, for relations that may come from one thing only."""
        self._open_world = open_world
        self._said: dict[str, dict[str, None]] = {}
        self._exclusions: dict[str, dict[int, str]] = {}
        self._torn: set[str] = set()

    def nodes_called(self, name: str) -> tuple[str, ...]:
        """Return what a name may mean; a name that the ontology lacks means a thing of its own."""
        return self.ontology.things_called(name) or (" " + name_key(name),)

    def is_class(self, node: str) -> bool:
        """Whether something is a class and not also an individual."""
        return node in self.ontology.ancestors and node not in self.ontology.individuals

    def kinds(self, node: str) -> tuple[str, ...]:
        """Return the classes that something is said to be of."""
        return (*self._known(node), *self._said.get(node, ()))

    def limits(self, node: str) -> dict[Limit, None]:
        """Return how many things it may be related to; what holds of one member does not hold of a class."""
        if self.is_class(node):
            return {}
        return {limit: None for kind in self.kinds(node) for limit in self.ontology.limits.get(kind, ())}

    def has_room(self, node: str) -> bool:
        """Whether something may be said to be of one more class."""
        return len(self._said.get(node, ())) < _MOST_KINDS

    def classify(self, node: str, kind: str) -> tuple[str, ...]:
        """Take in that something is of a class; return two classes that exclude each other, if there are."""
        self._said.setdefault(node, {})[kind] = None
        return self.infer(node, kind)

    def infer(self, node: str, kind: str) -> tuple[str, ...]:
        """Take in a class that follows; it excludes others, but makes nothing fit."""
        if node not in self._exclusions:
            self._exclusions[node] = {}
            for known in self._known(node):
                self._exclusions[node].update(self.ontology.disjoint.get(known, ()))
        held = self._exclusions[node]
        for group, member in self.ontology.disjoint.get(kind, ()):
            if held.setdefault(group, member) != member:
                self._torn.add(node)
                return tuple(sorted((held[group], member)))
        return ()

    def fits(self, node: str, wanted: str) -> bool | None:
        """Whether something is of a class; None where that is open."""
        above = self.ontology.ancestors
        known, said = self._known(node), self._said.get(node, {})
        # Classes that contradict each other make nothing fit: else one more violation could undo another.
        trusted = known if node in self._torn else (*known, *said)
        if any(wanted in above[kind] for kind in trusted):
            return True
        for kind in (*known, *said):
            if wanted not in above[kind] and not self._may_be(kind, wanted):
                return False
        return None

    def holds(self, subject: str, relation: str, value: str) -> bool:
        """Whether a relation is known to hold."""
        if value in self.edges[relation].get(subject, ()):
            return True
        return value in self.ontology.facts.get(relation, {}).get(subject, ())

    def values(self, relation: str, subject: str) -> set[str]:
        """Return whatever something is related to; a `^` before the relation asks for what is related to it."""
        asserted = self.back[relation[1:]] if relation[0] == "^" else self.edges[relation]
        return {*asserted.get(subject, ()), *self.ontology.facts.get(relation, {}).get(subject, ())}

    def _known(self, node: str) -> tuple[str, ...]:
        return self.ontology.individuals.get(node) or ((node,) if node in self.ontology.ancestors else ())

    def _may_be(self, kind: str, wanted: str) -> bool:
        """Whether members of a class may be of another one that it is not said to be a kind of."""
        if self._open_world:
            return not self._exclude(kind, wanted)
        above = self.ontology.ancestors
        return any(kind in above[part] for part in self.ontology.alternatives.get(wanted, (wanted,)) if part in above)

    def _exclude(self, kind: str, wanted: str) -> bool:
        disjoint = self.ontology.disjoint
        held = dict(disjoint.get(kind, ()))
        parts = self.ontology.alternatives.get(wanted, (wanted,))
        return all(any(held.get(group, own) != own for group, own in disjoint.get(part, ())) for part in parts)
