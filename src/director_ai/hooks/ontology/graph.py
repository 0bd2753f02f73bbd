"""Turns the graph of an ontology into dictionaries, once, so that no assertion needs a search."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from rdflib import OWL, RDF, RDFS, SKOS, XSD, Graph, Literal, URIRef

from director_ai.errors import ConfigError
from director_ai.hooks.ontology.axioms import (
    Ids,
    disjoint_groups,
    excluding_relations,
    is_ours,
    restrictions,
    things_of_kind,
)
from director_ai.hooks.ontology.terms import Ontology, Relation, name_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rdflib.term import Node

__all__ = ["compile_ontology"]

_KINDS_OF_RELATION: Final = (
    RDF.Property, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.FunctionalProperty, OWL.InverseFunctionalProperty,
    OWL.TransitiveProperty, OWL.SymmetricProperty, OWL.AsymmetricProperty, OWL.IrreflexiveProperty,
)  # fmt: skip
_LABELS: Final = (RDFS.label, SKOS.prefLabel, SKOS.altLabel)


def compile_ontology(stated: Graph, closed: Graph, *, digest: str, acyclic: tuple[str, ...]) -> Ontology:
    """Return the dictionaries of a graph and of what follows from it."""
    ids = Ids()
    classes, relations = _classes(stated, closed), _relations(stated)
    ancestors = {ids[c]: frozenset({ids[c], *_named(closed.objects(c, RDFS.subClassOf), ids)}) for c in classes}
    same = _same(closed, ids)
    functional = things_of_kind(stated, OWL.FunctionalProperty)
    inverse_functional = things_of_kind(stated, OWL.InverseFunctionalProperty)
    asymmetric = things_of_kind(stated, OWL.AsymmetricProperty)
    irreflexive = things_of_kind(stated, OWL.IrreflexiveProperty) | asymmetric
    individuals = _individuals(stated, closed, classes, relations, ids, ancestors)
    limits, fillers = restrictions(stated, ancestors, ids)
    relation_names = _names(stated, relations, ids)
    return Ontology(
        digest=digest,
        ancestors=ancestors,
        alternatives={
            ids[u]: tuple(map(ids.of, stated.items(parts))) for u, parts in stated.subject_objects(OWL.unionOf)
        },
        disjoint=disjoint_groups(stated, ancestors, ids),
        limits=limits,
        fillers=fillers,
        relations={ids[r]: _relation(r, stated, ids) for r in relations},
        functional=functional,
        inverse_functional=inverse_functional,
        irreflexive=irreflexive,
        asymmetric=asymmetric,
        acyclic=(things_of_kind(stated, OWL.TransitiveProperty) & irreflexive) | _chosen(acyclic, relation_names),
        excluding=excluding_relations(stated, ids),
        individuals=individuals,
        same=same,
        facts=_facts(closed, relations, inverse_functional, ids, same),
        class_names=_names(stated, classes, ids),
        relation_names=relation_names,
        individual_names=_names(stated, map(URIRef, individuals), ids, same),
    )


def _named(nodes: Iterable[Node], ids: Ids) -> list[str]:
    return [ids[node] for node in nodes if is_ours(node)]


def _ordered(nodes: Iterable[Node]) -> list[Node]:
    return sorted({node for node in nodes if is_ours(node)}, key=str)


def _classes(stated: Graph, closed: Graph) -> list[Node]:
    found: set[Node] = set()
    for kind in (OWL.Class, RDFS.Class, OWL.Restriction):
        found.update(stated.subjects(RDF.type, kind))
    for link in (RDFS.subClassOf, OWL.equivalentClass, OWL.disjointWith, OWL.complementOf):
        for one, other in stated.subject_objects(link):
            found.update((one, other))
    for link in (RDFS.domain, RDFS.range, RDF.type, OWL.onClass, OWL.someValuesFrom, OWL.allValuesFrom):
        found.update(stated.objects(None, link))
    for link in (OWL.unionOf, OWL.disjointUnionOf, OWL.intersectionOf, OWL.members):
        for whole, parts in stated.subject_objects(link):
            found.update(stated.items(parts))
            if link != OWL.members:
                found.add(whole)
    apart = things_of_kind(stated, OWL.AllDisjointProperties)
    found.difference_update(node for node in list(found) if str(node) in apart)
    return _ordered(found - set(closed.subjects(RDF.type, RDFS.Datatype)) - set(_relations(stated)))


def _relations(stated: Graph) -> list[Node]:
    found: set[Node] = set()
    for kind in _KINDS_OF_RELATION:
        found.update(stated.subjects(RDF.type, kind))
    for link in (RDFS.domain, RDFS.range):
        found.update(stated.subjects(link, None))
    for link in (RDFS.subPropertyOf, OWL.inverseOf, OWL.equivalentProperty, OWL.propertyDisjointWith):
        for one, other in stated.subject_objects(link):
            found.update((one, other))
    found.update(stated.objects(None, OWL.onProperty))
    return _ordered(found - set(stated.subjects(RDF.type, OWL.AnnotationProperty)))


def _same(closed: Graph, ids: Ids) -> dict[str, str]:
    groups: dict[str, str] = {}
    for one, other in closed.subject_objects(OWL.sameAs):
        if one != other and isinstance(one, URIRef) and isinstance(other, URIRef):
            groups[ids[one]] = min(groups.get(ids[one], ids[one]), ids[other])
    return groups


def _individuals(
    stated: Graph,
    closed: Graph,
    classes: list[Node],
    relations: list[Node],
    ids: Ids,
    ancestors: Mapping[str, frozenset[str]],
) -> dict[str, tuple[str, ...]]:
    known, found = set(classes), set(stated.subjects(RDF.type, OWL.NamedIndividual))
    found.update(node for node, kind in stated.subject_objects(RDF.type) if kind in known)
    for relation in [*relations, OWL.sameAs, OWL.differentFrom]:
        for one, other in stated.subject_objects(relation):
            found.update((one, other))
    wider = {
        kind: {above for above in over if kind not in ancestors.get(above, ())} for kind, over in ancestors.items()
    }
    made: dict[str, tuple[str, ...]] = {}
    for node in sorted((n for n in found if isinstance(n, URIRef) and is_ours(n)), key=str):
        kinds = [ids[kind] for kind in closed.objects(node, RDF.type) if kind in known]
        # Only the narrowest: a wider class says nothing that these do not.
        narrow = set(kinds).difference(*(wider[kind] for kind in kinds))
        if kinds or node not in known:
            made[ids[node]] = tuple(sorted(narrow))
    return made


def _relation(relation: Node, stated: Graph, ids: Ids) -> Relation:
    forms = _forms(relation, stated)
    subjects: dict[str, None] = {}
    objects: dict[str, None] = {}
    values: dict[str, None] = {}
    for form, flipped in forms:
        for link in (RDFS.domain, RDFS.range):
            for kind in sorted(stated.objects(form, link), key=str):
                of_subject = (link == RDFS.domain) != flipped
                if isinstance(kind, URIRef) and kind.startswith(str(XSD)) and not of_subject:
                    values[str(kind)[len(str(XSD)) :]] = None
                elif is_ours(kind) and (kind, RDF.type, RDFS.Datatype) not in stated:
                    (subjects if of_subject else objects)[ids[kind]] = None
    return Relation(
        iri=ids[relation],
        forms=tuple((ids[form], flipped) for form, flipped in forms),
        subject_classes=tuple(subjects),
        object_classes=tuple(objects),
        value_types=tuple(values),
        takes_values=bool(values) or (relation, RDF.type, OWL.DatatypeProperty) in stated,
    )


def _forms(relation: Node, stated: Graph) -> list[tuple[Node, bool]]:
    """Return every relation that follows from one, each with whether its ends change places."""
    found: dict[tuple[Node, bool], None] = {(relation, False): None}
    waiting = [(relation, False)]
    while waiting:
        node, flipped = waiting.pop()
        wider = [*stated.objects(node, RDFS.subPropertyOf), *stated.objects(node, OWL.equivalentProperty)]
        wider += stated.subjects(OWL.equivalentProperty, node)
        turned = [*stated.objects(node, OWL.inverseOf), *stated.subjects(OWL.inverseOf, node)]
        turned += [node] if (node, RDF.type, OWL.SymmetricProperty) in stated else []
        for other, turn in [*((n, flipped) for n in wider), *((n, not flipped) for n in turned)]:
            if is_ours(other) and (other, turn) not in found:
                found[other, turn] = None
                waiting.append((other, turn))
    return list(found)[:1] + sorted(list(found)[1:], key=str)


def _facts(
    closed: Graph, relations: list[Node], backwards: frozenset[str], ids: Ids, same: Mapping[str, str]
) -> dict[str, dict[str, frozenset[str]]]:
    made: dict[str, dict[str, frozenset[str]]] = {}
    for relation in relations:
        ahead: defaultdict[str, set[str]] = defaultdict(set)
        back: defaultdict[str, set[str]] = defaultdict(set)
        for one, other in closed.subject_objects(relation):
            subject = same.get(ids[one], ids[one])
            value = " " + name_key(str(other)) if isinstance(other, Literal) else same.get(ids[other], ids[other])
            ahead[subject].add(value)
            back[value].add(subject)
        if ahead:
            made[ids[relation]] = {subject: frozenset(values) for subject, values in ahead.items()}
        if back and ids[relation] in backwards:
            made["^" + ids[relation]] = {value: frozenset(subjects) for value, subjects in back.items()}
    return made


def _names(
    stated: Graph, nodes: Iterable[Node], ids: Ids, same: Mapping[str, str] | None = None
) -> dict[str, tuple[str, ...]]:
    made: defaultdict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, URIRef):
            labels = [str(label) for link in _LABELS for label in stated.objects(node, link)]
            local = str(node).rstrip("/#").replace("#", "/").rsplit("/", 1)[-1].rsplit(":", 1)[-1]
            for label in [*labels, local]:
                made[name_key(label)].add((same or {}).get(ids[node], ids[node]))
    made.pop("", None)
    return {key: tuple(sorted(found)) for key, found in made.items()}


def _chosen(names: tuple[str, ...], relation_names: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        meant = relation_names.get(name_key(name), ())
        if len(meant) != 1:
            raise ConfigError("acyclic must name relations of the ontology, each by a name that only one has")
        found.update(meant)
    return frozenset(found)
