"""Reading ontologies: what is broken, too large or dangerous is refused, and nothing is fetched."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ontologies import MEDICINE, PREFIXES

from director_ai.errors import ConfigError, DirectorError, PayloadError
from director_ai.hooks.ontology import OntologyHook, load_ontology, parse_ontology

XML = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY owl "http://www.w3.org/2002/07/owl#"> <!ENTITY med "http://example.org/med#"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="&owl;"
         xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xml:base="http://example.org/med">
  <owl:Ontology rdf:about=""><owl:imports rdf:resource="http://imports.invalid/elsewhere"/></owl:Ontology>
  <owl:Class rdf:about="&med;Drug"><owl:disjointWith rdf:resource="&med;City"/></owl:Class>
  <owl:Class rdf:ID="City"/>
  <owl:ObjectProperty rdf:about="#treats"><rdfs:domain rdf:resource="#Drug"/></owl:ObjectProperty>
  <owl:NamedIndividual rdf:about="#paris"><rdf:type rdf:resource="#City"/></owl:NamedIndividual>
</rdf:RDF>"""


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: Any, **_more: Any) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


def test_turtle_and_xml_say_the_same() -> None:
    for ontology in (parse_ontology(XML, syntax="xml"), parse_ontology(XML.encode(), syntax="xml")):
        hook = OntologyHook(ontology)
        assert {broken.kind for broken in hook.check([("paris", "treats", "x")]).broken} == {"disjoint", "domain"}
    assert parse_ontology(MEDICINE, syntax="turtle").digest == parse_ontology(MEDICINE, syntax="turtle").digest


@pytest.mark.parametrize("ending", [".owl", ".rdf", ".XML"])
def test_files_are_read_by_their_ending(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"med{ending}"
    path.write_text(XML)
    assert "http://example.org/med#Drug" in load_ontology(path).ancestors
    assert "http://example.org/med#Drug" in load_ontology(str(path), syntax="xml").ancestors


def test_a_file_of_no_known_ending_needs_its_syntax(tmp_path: Path) -> None:
    path = tmp_path / "med.txt"
    path.write_text(MEDICINE)
    with pytest.raises(ConfigError, match="syntax"):
        load_ontology(path)
    assert load_ontology(path, syntax="turtle").relations


def test_imports_are_not_followed() -> None:
    assert parse_ontology(MEDICINE, syntax="turtle").ancestors
    assert parse_ontology(XML, syntax="xml").ancestors


def entity(declaration: str, body: str = "") -> str:
    return f'<!DOCTYPE x [ {declaration} ]><x xmlns="urn:CANARY">{body}</x>'


LAUGHS = '<!ENTITY a "CANARY">' + "".join(
    f'<!ENTITY {one} "{f"&{two};" * 10}">' for one, two in zip("bcdefg", "abcdef", strict=True)
)
BAD_XML: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "as xml"),
    "cut": (XML[: len(XML) // 2], "as xml"),
    "no XML": (MEDICINE, "as xml"),
    "entities in entities": (entity(LAUGHS, "&g;"), "not a short text"),
    "one entity in another": (entity('<!ENTITY a "CANARY"><!ENTITY b "&a;">', "&b;"), "not a short text"),
    "a file as an entity": (entity('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;"), "not a short text"),
    "a page as an entity": (entity('<!ENTITY a SYSTEM "http://imports.invalid/">', "&a;"), "not a short text"),
    "a parameter entity": (entity('<!ENTITY % a "CANARY">'), "not a short text"),
    "an outside document type": ('<!DOCTYPE x SYSTEM "http://imports.invalid/x.dtd"><x/>', "document type"),
    "a long entity": (entity(f'<!ENTITY a "{"x" * 257}">'), "not a short text"),
    "markup in an entity": (entity('<!ENTITY a "<y/>">', "&a;"), "not a short text"),
    "many entities": (entity("".join(f'<!ENTITY a{n} "x">' for n in range(65))), "more than 64"),
    "entities that grow": (entity(f'<!ENTITY a "{"x" * 256}">', "&a;" * 10_000), "too long"),
    "entities that grow in attributes": (entity(f'<!ENTITY a "{"x" * 256}">', f'<y z="{"&a;" * 10_000}"/>'), "too long"),
    "too deep": ("<a>" * 100 + "</a>" * 100, "nested"),
    "an encoding that is none": (b'<?xml version="1.0" encoding="klingon"?><x/>', "as xml"),
    "bytes that are no UTF-8": (b"<x>\xff\xfe</x>", "as xml"),
    "no RDF": ("<html><body>CANARY</body></html>", "declares nothing"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "said"), BAD_XML.values(), ids=BAD_XML.keys())
def test_bad_xml_is_refused_without_being_repeated(content: str | bytes, said: str) -> None:
    with pytest.raises(PayloadError, match=said) as caught:
        parse_ontology(content, syntax="xml", max_bytes=100_000)
    assert "CANARY" not in str(caught.value)


BAD_TURTLE: dict[str, str | bytes] = {
    "nothing": "",
    "only prefixes": PREFIXES,
    "cut": MEDICINE[:-30],
    "prose": "The CANARY is yellow.",
    "an unknown prefix": "canary:x canary:y canary:z .",
    "bytes that are no UTF-8": b"\xff\xfe\xfa",
    "nested too deep": PREFIXES + ":a :b " + "[ :c " * 3000 + ":d" + " ]" * 3000 + " .",
    "formulas, which are no Turtle": PREFIXES + "{ :a :b :c } => { :d :e :f } .",
    "a cycle of classes": PREFIXES + ":A rdfs:subClassOf :B . :B rdfs:subClassOf :C . :C rdfs:subClassOf :A .",
    "an individual of excluding classes": PREFIXES + ":A owl:disjointWith :B . :x a :A, :B .",
    "a relation to itself that cannot be": PREFIXES + ":p a owl:IrreflexiveProperty . :x :p :x .",
    "a maximum that is no number": PREFIXES + ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:maxCardinality \"CANARY\" ] .",
    "a maximum below zero": PREFIXES + ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:maxCardinality -1 ] .",
    "members that are no list": PREFIXES + ":A a owl:Class . [] a owl:AllDisjointClasses ; owl:members :Nope .",
    "a union that is no list": PREFIXES + ":A owl:unionOf :Nope .",
    "a list without its end": PREFIXES + ":A owl:unionOf [ rdf:first :B ] .",
    "something that differs from itself": PREFIXES + ":A a owl:Class . :x owl:differentFrom :x .",
    "a list that never ends": PREFIXES + ":l rdf:first :A ; rdf:rest :l . :U owl:unionOf :l .",
}  # fmt: skip


@pytest.mark.parametrize("content", BAD_TURTLE.values(), ids=BAD_TURTLE.keys())
def test_bad_turtle_is_refused_without_being_repeated(content: str | bytes) -> None:
    with pytest.raises(PayloadError) as caught:
        parse_ontology(content, syntax="turtle")
    assert "canary" not in str(caught.value).lower()


def test_equal_classes_are_no_cycle() -> None:
    text = (
        PREFIXES
        + ":A owl:equivalentClass :B . :A rdfs:subClassOf :B . :B rdfs:subClassOf :A . :x a :A . :p rdfs:domain :B ."
    )
    hook = OntologyHook(parse_ontology(text, syntax="turtle"))
    assert hook.check([("x", "p", "y"), ("A", "is_a", "B"), ("B", "is_a", "A")]).allowed


LIMITS: dict[str, dict[str, Any]] = {
    "bytes": {"max_bytes": 100},
    "triples": {"max_triples": 10},
    "what follows": {"max_inferred": 200},
}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
def test_sizes_are_bounded(limit: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(PayloadError, match="more than"):
        parse_ontology(MEDICINE, syntax="turtle", **limit)
    path = tmp_path / "med.ttl"
    path.write_text(MEDICINE)
    with pytest.raises(PayloadError, match="more than"):
        load_ontology(path, **limit)


def test_a_deep_hierarchy_is_closed_in_one_step() -> None:
    deep = PREFIXES + "".join(
        f":C{n} rdfs:subClassOf :C{n + 1} . :p{n} rdfs:subPropertyOf :p{n + 1} ." for n in range(60)
    )
    ontology = parse_ontology(deep + ":C60 owl:disjointWith :D . :p60 rdfs:domain :D .", syntax="turtle")
    assert len(ontology.ancestors["http://example.org/med#C0"]) == 61
    hook = OntologyHook(ontology)
    verdict = hook.check([("x", "is_a", "C0"), ("x", "p0", "y")])
    assert {broken.kind for broken in verdict.broken} == {"disjoint", "domain"}


def test_classes_that_are_kinds_of_each_other_by_others_are_equal() -> None:
    text = (
        PREFIXES
        + ":A owl:equivalentClass :B . :B rdfs:subClassOf :C . :C owl:equivalentClass :A . :C owl:disjointWith :D ."
    )
    hook = OntologyHook(parse_ontology(text, syntax="turtle"))
    assert hook.check([("x", "is_a", "B"), ("x", "is_a", "D")]).reasons == ("disjoint at=1",)


def test_loading_is_bounded_in_time() -> None:
    with pytest.raises(PayloadError, match="max_seconds"):
        parse_ontology(MEDICINE, syntax="turtle", max_seconds=0.001)


def test_what_follows_is_bounded_while_it_grows() -> None:
    same = PREFIXES + "".join(f":a{n} owl:sameAs :a{n + 1} . :a{n} :p{n} :b{n} ." for n in range(60))
    with pytest.raises(PayloadError, match="max_inferred"):
        parse_ontology(same, syntax="turtle", max_inferred=3000)


BAD_ARGUMENTS: dict[str, dict[str, Any]] = {
    "another syntax": {"syntax": "json-ld"},
    "no text": {"content": None},
    "a limit of nothing": {"max_bytes": 0},
    "no limit in time": {"max_seconds": None},
    "a time that is none": {"max_seconds": float("nan")},
    "a limit that is none": {"max_triples": "many"},
    "a relation that is none": {"acyclic": ("adores",)},
    "one name for a tuple": {"acyclic": "part of"},
}


@pytest.mark.parametrize("bad", BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS.keys())
def test_arguments_that_cannot_be_right_are_refused(bad: dict[str, Any]) -> None:
    arguments = {"content": MEDICINE, "syntax": "turtle"} | bad
    with pytest.raises(ConfigError):
        parse_ontology(arguments.pop("content"), **arguments)


@pytest.mark.parametrize("name", ["missing.ttl", "."])
def test_a_file_that_cannot_be_opened_is_a_typed_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(DirectorError):
        load_ontology(tmp_path / name, syntax="turtle")


def test_without_its_libraries_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['rdflib'] = None\n"
        "try:\n    import director_ai.hooks.ontology\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "MissingExtra" in said
    assert "pip install '.[hooks]'" in said


def test_neither_the_protocol_nor_the_swarm_loads_a_graph_library() -> None:
    code = "import sys, director_ai.hooks.protocol, director_ai.hooks.swarm; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"rdflib", "owlrl", "numpy", "onnxruntime"} & set(loaded)
