"""What follows from an ontology by the rules of OWL RL: bounded in size and in time."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from owlrl.OWLRL import OWLRL_Semantics  # type: ignore[import-untyped]
from rdflib import OWL, RDF, RDFS, Graph

from director_ai.errors import PayloadError

if TYPE_CHECKING:
    from rdflib.term import Node

    Triple = tuple[Node, Node, Node]

__all__ = ["closed_graph"]

_SILENT: Final = frozenset({RDFS.label, RDFS.comment, RDFS.seeAlso, RDFS.isDefinedBy, OWL.imports, OWL.versionInfo})
_HIERARCHIES: Final[dict[Node, Node]] = {
    RDFS.subClassOf: OWL.equivalentClass,
    RDFS.subPropertyOf: OWL.equivalentProperty,
}


def closed_graph(stated: Graph, *, most: int, seconds: float) -> Graph:
    """Return a graph with what follows; labels and comments follow from nothing and are left out."""
    graph = Graph(bind_namespaces="none")
    for subject, predicate, value in stated:
        if predicate not in _SILENT:
            graph.add((subject, predicate, value))
    for whole, _, parts in stated.triples((None, OWL.disjointUnionOf, None)):
        for part in stated.items(parts):
            graph.add((part, RDFS.subClassOf, whole))
    rules = _BoundedRules(graph, most, seconds)
    rules.closure()
    if rules.error_messages:
        raise PayloadError(f"the ontology contradicts itself in {len(rules.error_messages)} places")
    return graph


class _BoundedRules(OWLRL_Semantics):  # type: ignore[misc]  # the library is untyped
    """The rules of OWL RL, with hierarchies closed in one step and without what is equal to itself."""

    def __init__(self, graph: Graph, most: int, seconds: float) -> None:
        super().__init__(graph, False, False)
        self._most = most
        self._seconds = seconds
        self._ends = time.monotonic() + seconds
        self._cycle = 0
        self._closed: dict[Node, int] = {}
        self._wider: dict[Node, set[Node]] = {}

    def store_triple(self, t: Triple) -> None:
        super().store_triple(t)
        if len(self.added_triples) + len(self.graph) > self._most:
            raise PayloadError(f"more than {self._most} triples follow from the ontology; raise max_inferred")
        self._watch()

    def rules(self, t: Triple, cycle_num: int) -> None:
        if cycle_num != self._cycle:
            self._cycle = cycle_num
            for link in _HIERARCHIES:
                self._close(link)
            self._classify()
        self._watch()
        super().rules(t, cycle_num)

    def _watch(self) -> None:
        if time.monotonic() > self._ends:
            raise PayloadError(
                f"what follows from the ontology was not found within {self._seconds:g} seconds; load a smaller part "
                "of it, or raise max_seconds"
            )

    def _close(self, link: Node) -> None:
        """Store whatever a hierarchy leads to, unless nothing was added to it since the last time."""
        above: defaultdict[Node, set[Node]] = defaultdict(set)
        for low, high in self.graph.subject_objects(link):
            above[low].add(high)
        size = sum(map(len, above.values()))
        if self._closed.get(link) == size:
            return
        for low in list(above):
            reached, waiting = set(above[low]), list(above[low])
            while waiting:
                further = above.get(waiting.pop(), set()) - reached
                reached |= further
                waiting += further
            for high in reached - above[low] - {low}:
                self.store_triple((low, link, high))
                size += 1
            above[low] = reached
        self._closed[link] = size
        if link == RDFS.subClassOf:
            self._wider = above

    def _classify(self) -> None:
        """Store of each thing the classes that are wider than its own."""
        kinds: defaultdict[Node, set[Node]] = defaultdict(set)
        for thing, kind in self.graph.subject_objects(RDF.type):
            kinds[thing].add(kind)
        for thing, own in kinds.items():
            for kind in own.union(*(self._wider.get(kind, ()) for kind in own)) - own:
                self.store_triple((thing, RDF.type, kind))

    def _class_axioms(self, triple: Triple, cycle_num: int) -> None:
        if triple[1] != RDFS.subClassOf:
            super()._class_axioms(triple, cycle_num)

    def _schema_vocabulary(self, triple: Triple, cycle_num: int) -> None:
        low, link, high = triple
        if link not in _HIERARCHIES:
            super()._schema_vocabulary(triple, cycle_num)
        elif low != high and (high, link, low) in self.graph:
            self.store_triple((low, _HIERARCHIES[link], high))

    def _equality(self, triple: Triple, cycle_num: int) -> None:
        one, link, other = triple
        if (link == OWL.sameAs and one != other) or (link == RDF.type and other == OWL.AllDifferent):
            super()._equality(triple, cycle_num)
        elif link == OWL.differentFrom and one == other:
            self.add_error("something differs from itself")
