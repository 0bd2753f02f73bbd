"""Checks assertions against an ontology, in time that grows with their number alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeGuard

from director_ai.hooks.ontology.cycles import find_cycles
from director_ai.hooks.ontology.knowledge import Knowledge
from director_ai.hooks.ontology.terms import LONGEST_NAME, name_key
from director_ai.hooks.ontology.values import is_value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from director_ai.hooks.ontology.terms import Ontology, Relation

__all__ = ["Assertion", "AxiomKind", "BrokenAxiom", "check_assertions"]

AxiomKind = Literal[
    "malformed_assertion", "unknown_class", "unknown_relation", "ambiguous_name", "too_many_classes", "disjoint",
    "domain", "range", "max_cardinality", "min_cardinality", "irreflexive", "asymmetric", "cycle", "excluded_relation",
]  # fmt: skip

_MEMBERSHIP: Final = frozenset(map(name_key, ("is a", "a", "type", "rdf:type", "instance of", "is an")))
_SUBSUMPTION: Final = frozenset(map(name_key, ("subclass of", "rdfs:subClassOf", "is a kind of", "kind of")))


class Assertion(NamedTuple):
    """One thing that is said: `Assertion("aspirin", "is_a", "Drug")`, `Assertion("aspirin", "treats", "headache")`."""

    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenAxiom:
    """What an assertion violates."""

    kind: AxiomKind
    position: int
    """Which of the assertions, counted from 0."""
    refs: tuple[str, ...] = ()
    """The classes and relations of the ontology that are concerned; never an individual."""
    count: int | None = None
    limit: int | None = None

    @property
    def reason(self) -> str:
        """The kind with its figures, for machines."""
        figures = "" if self.count is None else f" count={self.count} limit={self.limit}"
        return f"{self.kind} at={self.position}{figures}"


class _Edge(NamedTuple):
    position: int
    subject: str
    relation: Relation
    object: str
    written: str
    """The object as it was written."""

    def implied(self) -> Iterator[tuple[str, str, str]]:
        """Yield whatever follows, as subject, relation and object."""
        for form, flipped in self.relation.forms:
            yield (self.object, form, self.subject) if flipped else (self.subject, form, self.object)


def check_assertions(
    ontology: Ontology, assertions: Sequence[object], *, open_world: bool = False, complete: bool = False
) -> tuple[BrokenAxiom, ...]:
    """Return every axiom that assertions break, by themselves, with each other or with what the ontology says.

    `open_world`: what is not said may be so, and only what contradicts is broken. `complete`: the assertions say all
    there is to say of their subjects, so that a minimum that is not reached is broken.
    """
    checking = _Checking(ontology, open_world=open_world)
    edges = [edge for position, each in enumerate(assertions) if (edge := checking.read(position, each)) is not None]
    for edge in edges:
        checking.relate(edge)
    for edge in edges:
        checking.count(edge)
    if complete:
        checking.count_missing()
    checking.find_cycles()
    return tuple(sorted(dict.fromkeys(checking.found), key=lambda broken: (broken.position, broken.kind, broken.refs)))


class _Checking:
    """One run over assertions."""

    def __init__(self, ontology: Ontology, *, open_world: bool) -> None:
        self.found: list[BrokenAxiom] = []
        self._ontology = ontology
        self._known = Knowledge(ontology, open_world=open_world)
        self._void: set[tuple[str, str, str]] = set()
        self._counted: set[tuple[str, str]] = set()
        self._subjects: dict[str, int] = {}

    def read(self, position: int, assertion: object) -> _Edge | None:
        """Take in what is said of classes; return what is said of relations, for when all classes are known."""
        if not _is_assertion(assertion):
            self._break("malformed_assertion", position)
            return None
        subject, name, written = assertion
        meant, key = self._ontology.relations_called(name), name_key(name)
        if not meant and (key in _MEMBERSHIP or key in _SUBSUMPTION):
            self._read_class(position, subject, written, of_classes=key in _SUBSUMPTION)
            return None
        if len(meant) != 1:
            self._break("ambiguous_name" if meant else "unknown_relation", position, meant)
            return None
        relation = self._ontology.relations[meant[0]]
        ends = [self._known.nodes_called(subject), self._known.nodes_called(written)]
        if relation.takes_values:
            ends[1] = (" " + name_key(written),)
        if any(len(end) > 1 for end in ends):
            self._break("ambiguous_name", position)
            return None
        self._subjects.setdefault(ends[0][0], position)
        return _Edge(position, ends[0][0], relation, ends[1][0], written)

    def _read_class(self, position: int, subject: str, name: str, *, of_classes: bool) -> None:
        kinds, nodes = self._ontology.classes_called(name), self._known.nodes_called(subject)
        if not kinds or (of_classes and not self._known.is_class(nodes[0])):
            self._break("unknown_class", position)
        elif len(kinds) > 1 or len(nodes) > 1:
            self._break("ambiguous_name", position, kinds)
        elif self._known.is_class(nodes[0]):
            self._break_if("disjoint", position, self._known.infer(nodes[0], kinds[0]))
            self._known.wider.setdefault(nodes[0], {}).setdefault(kinds[0], position)
        elif self._known.has_room(nodes[0]):
            self._break_if("disjoint", position, self._known.classify(nodes[0], kinds[0]))
            self._subjects.setdefault(nodes[0], position)
        else:
            self._break("too_many_classes", position)

    def relate(self, edge: _Edge) -> None:
        """Take in that a relation holds, with whatever follows from it."""
        before = len(self.found)
        for kind in edge.relation.subject_classes:
            self._expect(edge.subject, kind, "domain", edge)
        for kind in edge.relation.object_classes:
            self._expect(edge.object, kind, "range", edge)
        if not all(is_value_of(name, edge.written) for name in edge.relation.value_types):
            self._break("range", edge.position, (edge.relation.iri,))
        for subject, form, value in edge.implied():
            self._expect_filler(subject, form, value, edge)
            self._relate(subject, form, value, edge.position)
        if len(self.found) > before:
            # What is wrong must not make good what is missing.
            self._void.update(edge.implied())

    def _expect(self, node: str, kind: str, broken: AxiomKind, edge: _Edge) -> None:
        fits = self._known.fits(node, kind)
        if fits is False:
            self._break(broken, edge.position, (edge.relation.iri, kind))
        if not fits:
            self._break_if("disjoint", edge.position, self._known.infer(node, kind))

    def _expect_filler(self, subject: str, form: str, value: str, edge: _Edge) -> None:
        for kind in self._known.kinds(subject):
            for relation, filler in self._ontology.fillers.get(kind, ()):
                if relation == form:
                    self._expect(value, filler, "range", edge)

    def _relate(self, subject: str, form: str, value: str, position: int) -> None:
        ontology, known = self._ontology, self._known
        if subject == value and form in ontology.irreflexive:
            self._break("irreflexive", position, (form,))
        elif form in ontology.asymmetric and known.holds(value, form, subject):
            self._break("asymmetric", position, (form,))
        for other in ontology.excluding.get(form, ()):
            if known.holds(subject, other, value):
                self._break("excluded_relation", position, tuple(sorted((form, other))))
        known.edges[form].setdefault(subject, {}).setdefault(value, position)
        if form in ontology.inverse_functional:
            known.back[form].setdefault(value, {}).setdefault(subject, position)

    def count(self, edge: _Edge) -> None:
        """Compare how many things the ends of a relation are related to with how many they may be."""
        for subject, form, value in edge.implied():
            if form in self._ontology.inverse_functional and self._is_new(value, "^" + form):
                self._count(value, "^" + form, 1, "")
            if not self._is_new(subject, form):
                continue
            if form in self._ontology.functional:
                self._count(subject, form, 1, "")
            for limit in self._known.limits(subject):
                if limit.relation == form and limit.high is not None:
                    self._count(subject, form, limit.high, limit.filler)

    def _is_new(self, node: str, form: str) -> bool:
        """Whether this was not counted yet in this run."""
        known = (node, form) in self._counted
        self._counted.add((node, form))
        return not known

    def _count(self, subject: str, form: str, most: int, filler: str) -> None:
        if self._known.is_class(subject):
            return
        name = form.removeprefix("^")
        asserted = (self._known.back if form[0] == "^" else self._known.edges)[name][subject]
        values = [value for value in self._known.values(form, subject) if self._counts(value, filler)]
        if len(values) > most:
            position = max((asserted[value] for value in values if value in asserted), default=-1)
            if position >= 0:
                self._break("max_cardinality", position, (name,), len(values), most)

    def _counts(self, value: str, filler: str) -> bool:
        return not self._known.is_class(value) and (not filler or self._known.fits(value, filler) is True)

    def count_missing(self) -> None:
        """Compare how many things each subject is related to with how many it must be."""
        for subject, position in self._subjects.items():
            for limit in self._known.limits(subject):
                values = self._known.values(limit.relation, subject) if limit.low else set()
                sound = [v for v in values if (subject, limit.relation, v) not in self._void]
                count = len([value for value in sound if self._counts(value, limit.filler)])
                if count < limit.low:
                    self._break("min_cardinality", position, (limit.relation,), count, limit.low)

    def find_cycles(self) -> None:
        """Find what leads back to itself: classes, and relations that must not."""
        wider = self._known.wider
        if wider:
            touched = {*wider, *(kind for kinds in wider.values() for kind in kinds)}
            known = {kind: self._ontology.ancestors[kind] & touched for kind in touched}
            self._break_cycles(wider, known, ())
        for form in sorted(self._ontology.acyclic & self._known.edges.keys()):
            asserted = self._known.edges[form]
            touched = {*asserted, *(value for values in asserted.values() for value in values)}
            facts = self._ontology.facts.get(form, {})
            known = {node: facts[node] & touched for node in touched if node in facts}
            self._break_cycles(asserted, known, (form,))

    def _break_cycles(
        self, asserted: Mapping[str, Mapping[str, int]], known: Mapping[str, frozenset[str]], refs: tuple[str, ...]
    ) -> None:
        edges = {node: [*asserted.get(node, ()), *known.get(node, ())] for node in {**asserted, **known}}
        for cycle in find_cycles(edges):
            positions = [at for node in cycle for value, at in asserted.get(node, {}).items() if value in cycle]
            equal = not refs and not any(self._narrows(node, asserted) for node in cycle)
            if positions and not equal:
                self._break("cycle", max(positions), refs)

    def _narrows(self, node: str, asserted: Mapping[str, Mapping[str, int]]) -> bool:
        """Whether it is asserted to be of a class that the ontology does not say it is of."""
        return any(kind not in self._ontology.ancestors[node] for kind in asserted.get(node, ()))

    def _break_if(self, kind: AxiomKind, position: int, refs: tuple[str, ...]) -> None:
        if refs:
            self._break(kind, position, refs)

    def _break(
        self,
        kind: AxiomKind,
        position: int,
        refs: tuple[str, ...] = (),
        count: int | None = None,
        limit: int | None = None,
    ) -> None:
        named = tuple(ref for ref in refs if ref[0] != "_")
        self.found.append(BrokenAxiom(kind=kind, position=position, refs=named, count=count, limit=limit))


def _is_assertion(assertion: object) -> TypeGuard[tuple[str, str, str]]:
    return (
        isinstance(assertion, tuple)
        and len(assertion) == 3
        and all(type(part) is str and len(part) <= LONGEST_NAME and name_key(part) for part in assertion)
    )
