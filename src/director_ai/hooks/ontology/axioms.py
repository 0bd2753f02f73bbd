"""What an ontology rules out: classes and relations that exclude each other, and restrictions of classes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, TypeVar

from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, Literal, URIRef

from director_ai.errors import PayloadError
from director_ai.hooks.ontology.terms import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdflib.term import Node

__all__ = ["Ids", "disjoint_groups", "excluding_relations", "is_ours", "restrictions", "things_of_kind"]

T = TypeVar("T")

_VOCABULARY: Final = tuple(str(space) for space in (OWL, RDF, RDFS, XSD))
_HIGHEST_COUNT: Final = 1_000_000
_COUNTS: Final = {
    OWL.maxCardinality: (False, True), OWL.maxQualifiedCardinality: (False, True),
    OWL.minCardinality: (True, False), OWL.minQualifiedCardinality: (True, False),
    OWL.cardinality: (True, True), OWL.qualifiedCardinality: (True, True),
}  # fmt: skip


class Ids:
    """Identifiers of nodes: addresses as they are, nodes without one by number."""

    def __init__(self) -> None:
        self._numbers: dict[Node, str] = {}

    def of(self, node: Node) -> str:
        """Return the identifier of a node."""
        if isinstance(node, BNode):
            return self._numbers.setdefault(node, f"_:{len(self._numbers)}")
        return str(node)

    __getitem__ = of


def is_ours(node: Node) -> bool:
    """Whether a node belongs to the ontology and not to the language that it is written in."""
    return isinstance(node, BNode) or (isinstance(node, URIRef) and not str(node).startswith(_VOCABULARY))


def things_of_kind(stated: Graph, kind: Node) -> frozenset[str]:
    """Return what is declared to be of a kind."""
    return frozenset(str(node) for node in stated.subjects(RDF.type, kind))


def disjoint_groups(
    stated: Graph, ancestors: Mapping[str, frozenset[str]], ids: Ids
) -> dict[str, tuple[tuple[int, str], ...]]:
    """Return for each class the groups that it is in by itself or by what it is a kind of."""
    groups: set[frozenset[str]] = set()
    for link in (OWL.disjointWith, OWL.complementOf):
        groups.update(frozenset({ids[one], ids[other]}) for one, other in stated.subject_objects(link))
    for whole in stated.subjects(RDF.type, OWL.AllDisjointClasses):
        for parts in stated.objects(whole, OWL.members):
            groups.add(frozenset(map(ids.of, stated.items(parts))))
    for parts in stated.objects(None, OWL.disjointUnionOf):
        groups.add(frozenset(map(ids.of, stated.items(parts))))
    member_of: defaultdict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(sorted(groups, key=sorted)):
        for member in group:
            member_of[member].append(number)
    return {
        kind: tuple(sorted((number, above) for above in over for number in member_of.get(above, ())))
        for kind, over in ancestors.items()
    }


def restrictions(
    stated: Graph, ancestors: Mapping[str, frozenset[str]], ids: Ids
) -> tuple[dict[str, tuple[Limit, ...]], dict[str, tuple[tuple[str, str], ...]]]:
    """Return for each class how many things its members may be related to, and of which class they must be."""
    limits: defaultdict[str, list[Limit]] = defaultdict(list)
    fillers: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for node, relation in stated.subject_objects(OWL.onProperty):
        for link, (is_low, is_high) in _COUNTS.items():
            for count in stated.objects(node, link):
                number = _count(count)
                filler = next(filter(is_ours, stated.objects(node, OWL.onClass)), None)
                limits[ids[node]].append(
                    Limit(
                        relation=ids[relation],
                        low=number if is_low else 0,
                        high=number if is_high else None,
                        filler=ids[filler] if filler is not None else "",
                    )
                )
        for kind in filter(is_ours, stated.objects(node, OWL.someValuesFrom)):
            if ids[kind] in ancestors:
                limits[ids[node]].append(Limit(relation=ids[relation], low=1, filler=ids[kind]))
        for kind in filter(is_ours, stated.objects(node, OWL.allValuesFrom)):
            if ids[kind] in ancestors:
                fillers[ids[node]].append((ids[relation], ids[kind]))
    return _inherited(limits, ancestors), _inherited(fillers, ancestors)


def _inherited(own: Mapping[str, list[T]], ancestors: Mapping[str, frozenset[str]]) -> dict[str, tuple[T, ...]]:
    made = {
        kind: tuple(dict.fromkeys(each for above in sorted(over) for each in own.get(above, ())))
        for kind, over in ancestors.items()
    }
    return {kind: each for kind, each in made.items() if each}


def _count(value: Node) -> int:
    number = value.value if isinstance(value, Literal) else None
    if type(number) is not int or not 0 <= number <= _HIGHEST_COUNT:
        raise PayloadError(f"a cardinality of the ontology must be a whole number from 0 to {_HIGHEST_COUNT}")
    return number


def excluding_relations(stated: Graph, ids: Ids) -> dict[str, frozenset[str]]:
    """Return for each relation those that cannot hold beside it."""
    made: defaultdict[str, set[str]] = defaultdict(set)
    groups = [[ids[one], ids[other]] for one, other in stated.subject_objects(OWL.propertyDisjointWith)]
    for whole in stated.subjects(RDF.type, OWL.AllDisjointProperties):
        groups += [list(map(ids.of, stated.items(parts))) for parts in stated.objects(whole, OWL.members)]
    for group in groups:
        for one in group:
            made[one].update(other for other in group if other != one)
    return {one: frozenset(others) for one, others in made.items()}
