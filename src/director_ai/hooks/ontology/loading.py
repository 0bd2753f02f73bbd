"""Reads an ontology in Turtle or RDF/XML into its closed graph: bounded, and never from a network."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from director_ai.core.ranges import check_count, check_seconds
from director_ai.errors import ConfigError, DirectorError, MissingExtra, PayloadError, UnknownOption
from director_ai.hooks.ontology.cycles import find_cycles
from director_ai.hooks.ontology.markup import vet_xml

try:
    from rdflib import OWL, RDF, RDFS, Graph, URIRef
    from rdflib.term import Node

    from director_ai.hooks.ontology.closure import closed_graph
    from director_ai.hooks.ontology.graph import compile_ontology
except ImportError:
    raise MissingExtra("the ontology hook", extra="hooks") from None

if TYPE_CHECKING:
    from director_ai.hooks.ontology.terms import Ontology

__all__ = ["OntologySyntax", "load_ontology", "parse_ontology"]

OntologySyntax = Literal["turtle", "xml"]
_ENDINGS: Final[dict[str, OntologySyntax]] = {
    ".ttl": "turtle", ".turtle": "turtle", ".owl": "xml", ".rdf": "xml", ".xml": "xml",
}  # fmt: skip
_LANGUAGES: Final = (str(OWL), str(RDFS))
_NOWHERE: Final = "http://ontology.invalid/"
"""What relative addresses are read against; nothing is fetched from it."""


def load_ontology(
    path: str | Path, *, syntax: OntologySyntax | None = None, max_bytes: int = 2_000_000, **limits: Any
) -> Ontology:
    """Read an ontology from a file; the syntax goes by its ending unless it is given."""
    place = Path(path)
    chosen = syntax or _ENDINGS.get(place.suffix.lower())
    if chosen is None:
        raise ConfigError(f"syntax must be given for a file that ends in none of: {', '.join(_ENDINGS)}")
    most = check_count("max_bytes", max_bytes, 1, 100_000_000)
    try:
        with place.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise PayloadError(f"the ontology cannot be opened ({type(error).__name__})") from None
    return parse_ontology(content, syntax=chosen, max_bytes=most, **limits)


def parse_ontology(
    content: str | bytes,
    *,
    syntax: OntologySyntax,
    max_bytes: int = 2_000_000,
    max_triples: int = 20_000,
    max_inferred: int = 400_000,
    max_seconds: float = 60.0,
    acyclic: tuple[str, ...] = (),
) -> Ontology:
    """Return what an ontology says, with what follows by the rules of OWL RL.

    `acyclic` names relations that must not lead back to where they began, besides those that are declared transitive
    and also asymmetric or irreflexive.
    """
    if syntax not in ("turtle", "xml"):
        raise UnknownOption("syntax", syntax, ("turtle", "xml"))
    if not isinstance(content, str | bytes):
        raise ConfigError(f"content must be text or bytes, got a {type(content).__name__}")
    if not isinstance(acyclic, tuple) or not all(isinstance(name, str) for name in acyclic):
        raise ConfigError("acyclic must be a tuple of names of relations")
    most = check_count("max_bytes", max_bytes, 1, 100_000_000)
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if len(data) > most:
        raise PayloadError(f"the ontology has more than {most} bytes; raise max_bytes if it is to be trusted")
    stated = _parsed(data, syntax, most)
    if len(stated) > check_count("max_triples", max_triples, 1, 10_000_000):
        raise PayloadError(f"the ontology has {len(stated)} triples, more than {max_triples}; raise max_triples")
    _refuse_subclass_cycles(stated)
    _refuse_broken_lists(stated)
    seconds = check_seconds("max_seconds", max_seconds)
    if seconds is None:
        raise ConfigError("max_seconds must be a number of seconds")
    bound = check_count("max_inferred", max_inferred, 1, 100_000_000)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()[:32]
    try:
        return compile_ontology(
            stated, closed_graph(stated, most=bound, seconds=seconds), digest=digest, acyclic=acyclic
        )
    except DirectorError:
        raise
    except Exception as error:  # noqa: BLE001 - broken lists and literals fail in many ways
        raise PayloadError(f"what follows from the ontology cannot be told ({type(error).__name__})") from None


def _parsed(data: bytes, syntax: OntologySyntax, most: int) -> Graph:
    if syntax == "xml":
        vet_xml(data, most)
    graph = Graph(bind_namespaces="none")
    try:
        graph.parse(data=data, format=syntax, publicID=_NOWHERE)
    except Exception as error:  # noqa: BLE001 - a parser's errors are of many kinds, and repeat what they read
        raise PayloadError(f"the ontology cannot be read as {syntax} ({type(error).__name__})") from None
    if not any(str(term).startswith(_LANGUAGES) for triple in graph for term in triple[1:]):
        raise PayloadError("the ontology declares nothing: it has no term of RDFS or OWL")
    return graph


def _refuse_subclass_cycles(stated: Graph) -> None:
    edges: dict[str, list[str]] = {}
    for low, _, high in stated.triples((None, RDFS.subClassOf, None)):
        if isinstance(low, URIRef) and isinstance(high, URIRef) and not _equal(stated, low, high):
            edges.setdefault(str(low), []).append(str(high))
    cycles = find_cycles(edges)
    if cycles:
        raise PayloadError(
            f"the ontology has {len(cycles)} cycles of subclasses; state owl:equivalentClass where classes are the same"
        )


def _equal(stated: Graph, one: Node, other: Node) -> bool:
    return (one, OWL.equivalentClass, other) in stated or (other, OWL.equivalentClass, one) in stated


_LISTED: Final = (
    OWL.members, OWL.distinctMembers, OWL.unionOf, OWL.intersectionOf, OWL.disjointUnionOf, OWL.oneOf,
)  # fmt: skip


def _refuse_broken_lists(stated: Graph) -> None:
    """Refuse what stands for a list and is none: its members would be left out in silence."""
    for link in _LISTED:
        for place in stated.objects(None, link):
            node, seen = place, set[Node]()
            while node != RDF.nil:
                rests = list(stated.objects(node, RDF.rest))
                if node in seen or len(rests) != 1 or len(list(stated.objects(node, RDF.first))) != 1:
                    raise PayloadError(f"what the ontology gives as owl:{link.fragment} is no list, or a broken one")
                seen.add(node)
                node = rests[0]
