"""Assertions against an ontology: every broken axiom is found, by itself, with others, and with what is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ontologies import MEDICINE, PREFIXES

from director_ai.core.safety_event import POLICY_DECISIONS, validate_safety_event
from director_ai.errors import ConfigError
from director_ai.hooks.ontology import Assertion, OntologyHook, OntologyViolation, parse_ontology
from director_ai.hooks.protocol import Hook, Occasion, Verdict

ONTOLOGY = parse_ontology(MEDICINE, syntax="turtle", acyclic=("reports to",))
HOOK = OntologyHook(ONTOLOGY)


def kinds(*assertions: Any, hook: OntologyHook = HOOK, **more: Any) -> list[str]:
    return [broken.kind for broken in hook.check(assertions, **more).broken]


def strictness(decision: str) -> int:
    return POLICY_DECISIONS.index(decision)


FINE: dict[str, list[tuple[str, str, str]]] = {
    "a known class of a known individual": [("aspirin", "is_a", "Drug")],
    "a wider class": [("aspirin", "is_a", "Substance")],
    "plural, case and spelling aside": [("Aspirin", "IS A", "drugs"), ("aspirin", "Treats", "headaches")],
    "by its address": [("http://example.org/med#aspirin", "http://example.org/med#treats", "http://example.org/med#malaria")],
    "by a label in another language": [("Otto", "is_a", "Mensch")],
    "one side of a union as range": [("aspirin", "treats", "malaria")],
    "the other side of it": [("aspirin", "treats", "Headache")],
    "things that nobody knows": [("foozol", "treats", "barpox")],
    "a thing of a wider class than the domain": [("foozol", "is_a", "Substance"), ("foozol", "treats", "malaria")],
    "the inverse": [("malaria", "treated by", "aspirin")],
    "the fact that is known already": [("ann", "born in", "Paris")],
    "two identifiers of one thing": [("bob", "born in", "rome"), ("bob", "born in", "roma")],
    "two parents": [("x", "is_a", "Person"), ("x", "has parent", "y"), ("x", "has parent", "z")],
    "a whole of parts": [("nail", "part of", "finger"), ("arm", "part of", "body")],
    "a number": [("ann", "age", "36")],
    "a day": [("ann", "born on", "1990-02-28")],
    "a kind of a kind": [("Painkiller", "subclass_of", "Substance")],
    "symmetric": [("paris", "near", "rome"), ("rome", "near", "paris")],
    "two relations of which each is fine": [("aspirin", "cures", "malaria"), ("quartz", "causes", "malaria")],
    "many things related to a class": [("x", "is_a", "Person"), *[("Person", "has parent", f"p{n}") for n in range(5)]],
    "a thing beside its class": [("bob", "born in", "City"), ("bob", "born in", "rome")],
    "a value that sounds like two things": [("bob", "has name", "bank")],
    "siblings that are no twins": [("x", "is_a", "Twin"), ("x", "has sibling", "y"), ("x", "has sibling", "z")],
}  # fmt: skip


@pytest.mark.parametrize("assertions", FINE.values(), ids=FINE.keys())
def test_what_the_ontology_allows_breaks_nothing(assertions: list[tuple[str, str, str]]) -> None:
    verdict = HOOK.check(assertions)
    assert (verdict.reasons, verdict.decision, verdict.allowed) == (("within_ontology",), "allow", True)


BROKEN: dict[str, tuple[list[tuple[str, str, str]], list[str]]] = {
    "a class that is none": ([("aspirin", "is_a", "Wizard")], ["unknown_class"]),
    "a relation that is none": ([("aspirin", "adores", "malaria")], ["unknown_relation"]),
    "a name that two have": ([("ann", "near", "bank")], ["ambiguous_name"]),
    "excluding classes": ([("x", "is_a", "Drug"), ("x", "is_a", "City")], ["disjoint"]),
    "a class that excludes a known one": ([("aspirin", "is_a", "Country")], ["disjoint"]),
    "narrower classes exclude each other too": ([("x", "is_a", "Painkiller"), ("x", "is_a", "Disease")], ["disjoint"]),
    "classes that follow from two relations": ([("x", "treats", "malaria"), ("x", "born in", "rome")], ["disjoint"]),
    "a class that follows, and one that is said": ([("x", "treats", "malaria"), ("x", "is_a", "Person")], ["disjoint", "domain"]),
    "domain": ([("quartz", "treats", "malaria")], ["domain"]),
    "domain of a wider relation": ([("quartz", "cures", "malaria")], ["domain"]),
    "domain of a class": ([("Mineral", "treats", "malaria")], ["domain"]),
    "range of a union": ([("aspirin", "treats", "quartz")], ["range"]),
    "domain by the range of the inverse": ([("quartz", "treated by", "aspirin")], ["domain"]),
    "range by the domain of the inverse": ([("malaria", "treated by", "quartz")], ["range"]),
    "range that excludes": ([("ann", "born in", "france")], ["disjoint", "max_cardinality", "range"]),
    "range of one class only": ([("v", "is_a", "Vegan"), ("v", "eats", "cow"), ("cow", "is_a", "Animal")], ["disjoint", "range"]),
    "a value of another type": ([("ann", "age", "old")], ["range"]),
    "a number below the type's": ([("ann", "age", "-1")], ["range"]),
    "a day that is none": ([("ann", "born on", "1990-13-01")], ["range"]),
    "a second value of a functional relation": ([("ann", "born in", "rome")], ["max_cardinality"]),
    "two new values of one": ([("bob", "born in", "rome"), ("bob", "born in", "paris")], ["max_cardinality"]),
    "two for an inverse functional relation": ([("paris", "capital of", "x"), ("rome", "capital of", "x")], ["max_cardinality"]),
    "a second one beside what is known": ([("paris", "capital of", "italy")], ["max_cardinality"]),
    "more than the maximum": ([("x", "is_a", "Person"), *[("x", "has parent", p) for p in "abc"]], ["max_cardinality"]),
    "more than the exact number": ([("x", "is_a", "Bigamist"), *[("x", "married to", p) for p in "abc"]], ["max_cardinality"]),
    "more of one class than the maximum": ([("x", "is_a", "Twin"), *[(p, "is_a", "Twin") for p in "yz"], *[("x", "has sibling", p) for p in "yz"]], ["max_cardinality"]),
    "to itself": ([("rome", "near", "Rome")], ["irreflexive"]),
    "to itself, by asymmetry": ([("nail", "part of", "nail")], ["irreflexive"]),
    "both ways": ([("a", "part of", "b"), ("b", "part of", "a")], ["asymmetric", "cycle"]),
    "both ways with what is known": ([("hand", "part of", "finger")], ["asymmetric", "cycle"]),
    "round three corners": ([("a", "part of", "b"), ("b", "part of", "c"), ("c", "part of", "a")], ["cycle"]),
    "round by what is known": ([("arm", "part of", "x"), ("x", "part of", "finger")], ["cycle"]),
    "round where it was named acyclic": ([("a", "reports to", "b"), ("b", "reports to", "a")], ["cycle"]),
    "a class of its own kind": ([("Substance", "subclass_of", "Drug")], ["cycle"]),
    "a class of its own kind, by two": ([("Person", "is_a", "Animal"), ("Animal", "is_a", "Vegan")], ["cycle"]),
    "a class that excludes its kind": ([("City", "subclass_of", "Country")], ["disjoint"]),
    "a kind of what is no class": ([("aspirin", "subclass_of", "Drug")], ["unknown_class"]),
    "relations that exclude each other": ([("aspirin", "cures", "malaria"), ("aspirin", "causes", "malaria")], ["excluded_relation"]),
}  # fmt: skip


@pytest.mark.parametrize(("assertions", "expected"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_axiom_is_named(assertions: list[tuple[str, str, str]], expected: list[str]) -> None:
    verdict = HOOK.check(assertions)
    assert sorted({broken.kind for broken in verdict.broken}) == expected
    assert (verdict.decision, verdict.allowed) == ("halt", False)
    assert validate_safety_event(verdict.safety_event.to_dict()) == verdict.safety_event
    for broken in verdict.broken:
        assert assertions[broken.position], "each says which assertion it is about"


@pytest.mark.parametrize(("assertions", "expected"), BROKEN.values(), ids=BROKEN.keys())
def test_the_order_of_assertions_hides_nothing(assertions: list[tuple[str, str, str]], expected: list[str]) -> None:
    assert sorted(set(kinds(*reversed(assertions)))) == expected


def test_figures_and_names_of_the_ontology_come_with_it() -> None:
    (broken,) = HOOK.check([("ann", "born in", "rome")]).broken
    assert (broken.count, broken.limit, broken.reason) == (2, 1, "max_cardinality at=0 count=2 limit=1")
    assert broken.refs == ("http://example.org/med#bornIn",)
    (broken,) = HOOK.check([("quartz", "treats", "malaria")]).broken
    assert broken.refs == ("http://example.org/med#treats", "http://example.org/med#Drug")


def test_parts_of_the_ontology_without_a_name_are_not_referred_to() -> None:
    (broken,) = HOOK.check([("aspirin", "treats", "quartz")]).broken
    assert broken.refs == ("http://example.org/med#treats",)


DECLARED: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "a union of disjoint parts": (":S owl:disjointUnionOf ( :A :B ) .", [("x", "is_a", "A"), ("x", "is_a", "B")]),
    "a part of a disjoint union is of the whole": (
        ":S owl:disjointUnionOf ( :A :B ) . :S owl:disjointWith :C .",
        [("x", "is_a", "A"), ("x", "is_a", "C")],
    ),
    "a complement": (":A owl:complementOf :B .", [("x", "is_a", "A"), ("x", "is_a", "B")]),
    "classes of plain RDFS": (
        ":A a rdfs:Class . :B a rdfs:Class ; rdfs:subClassOf :A . :C owl:disjointWith :A .",
        [("x", "is_a", "B"), ("x", "is_a", "C")],
    ),
    "equal classes": (":A owl:equivalentClass :B . :B owl:disjointWith :C .", [("x", "is_a", "A"), ("x", "is_a", "C")]),
    "a class that can have no member": (":A rdfs:subClassOf :B, :C . :B owl:disjointWith :C .", [("x", "is_a", "A")]),
    "a union that is excluded": (":A owl:disjointWith [ owl:unionOf ( :B :C ) ] .", [("x", "is_a", "A"), ("x", "is_a", "C")]),
    "an intersection": (":A owl:equivalentClass [ owl:intersectionOf ( :B :C ) ] . :C owl:disjointWith :D .", [("x", "is_a", "A"), ("x", "is_a", "D")]),
}  # fmt: skip


@pytest.mark.parametrize(("turtle", "assertions"), DECLARED.values(), ids=DECLARED.keys())
def test_what_excludes_each_other_may_be_declared_in_many_ways(turtle: str, assertions: list[Any]) -> None:
    hook = OntologyHook(parse_ontology(PREFIXES + turtle, syntax="turtle"))
    assert kinds(*assertions, hook=hook) == ["disjoint"]


def test_minima_are_not_asked_of_classes() -> None:
    assert kinds(("Person", "near", "x"), complete=True) == []


def test_minima_count_only_where_nothing_is_left_out() -> None:
    assertions = [("x", "is_a", "Bigamist"), ("x", "married to", "y"), ("x", "has name", "Ann")]
    assert kinds(*assertions) == []
    assert kinds(*assertions, complete=True) == ["min_cardinality"]
    assert kinds(*assertions, ("x", "married to", "z"), complete=True) == []
    assert kinds(*assertions[:2], complete=True) == ["min_cardinality", "min_cardinality"]


def test_what_is_wrong_does_not_fill_a_minimum() -> None:
    wrong = [("x", "is_a", "Bigamist"), ("x", "has name", "Ann"), ("x", "married to", "y"), ("x", "married to", "z")]
    assert kinds(*wrong, complete=True) == []
    hook = OntologyHook(parse_ontology(MEDICINE + ":marriedTo rdfs:range :Person .", syntax="turtle"))
    assert "min_cardinality" in kinds(*wrong, ("z", "is_a", "City"), complete=True, hook=hook)


def test_an_open_world_breaks_only_what_contradicts() -> None:
    hook = OntologyHook(ONTOLOGY, open_world=True)
    assert kinds(("quartz", "treats", "malaria"), hook=hook) == [], "nothing says that a mineral is no drug"
    assert kinds(("paris", "treats", "malaria"), hook=hook) == ["disjoint", "domain"]
    assert kinds(("aspirin", "treats", "ann"), hook=hook) == [], "a person is no disease, but may be a symptom"
    assert kinds(("ann", "born in", "rome"), hook=hook) == ["max_cardinality"]


def test_text_cannot_excuse_a_violation_by_one_more() -> None:
    plain = kinds(("paris", "treats", "malaria"))
    assert plain == ["disjoint", "domain"]
    assert set(kinds(("paris", "is_a", "Drug"), ("paris", "treats", "malaria"))) >= set(plain)


def test_letters_that_look_alike_are_the_same_name() -> None:
    assert kinds(("qu\u0430rtz", "treats", "malaria")) == ["domain"]
    assert kinds(("qua\u200brtz", "treats", "malaria")) == ["domain"]


# -- decisions ---------------------------------------------------------------------------------------------------------


def test_kinds_may_lead_to_other_decisions_and_the_strictest_counts() -> None:
    hook = OntologyHook(ONTOLOGY, decisions={"domain": "warn", "unknown_class": "block"})
    assert hook.check([("quartz", "treats", "malaria")]).decision == "warn"
    assert hook.check([("quartz", "treats", "malaria")]).allowed
    both = hook.check([("quartz", "treats", "malaria"), ("quartz", "is_a", "Wizard")])
    assert (both.decision, both.safety_event.halt_reason) == ("block", "unknown_class at=1")
    assert both.reasons == ("domain at=0", "unknown_class at=1")


@pytest.mark.parametrize("bad", [{"domane": "warn"}, {"domain": "allow"}, {"domain": "stop"}, {"domain": None}])
def test_unknown_kinds_and_decisions_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        OntologyHook(ONTOLOGY, decisions=bad)


@pytest.mark.parametrize(
    "bad",
    [{"ontology": "x.ttl"}, {"reader": 5}, {"max_characters": 0}, {"max_assertions": True}, {"max_assertions": 10**9}],
)
def test_a_hook_that_cannot_be_right_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        OntologyHook(**{"ontology": ONTOLOGY} | bad)


NAMES = ["aspirin", "quartz", "malaria", "paris", "ann", "x", "y", "Drug", "Person"]
ASSERTIONS = st.one_of(
    st.tuples(st.sampled_from(NAMES), st.just("is_a"), st.sampled_from(["Drug", "City", "Country", "Person", "Mineral", "Twin", "Wizard"])),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["treats", "cures", "causes", "bornIn", "partOf", "near", "hasParent", "adores"]), st.sampled_from(NAMES)),
)  # fmt: skip
SEVERITIES = st.dictionaries(
    st.sampled_from(["domain", "range", "disjoint", "max_cardinality", "cycle", "unknown_class", "asymmetric"]),
    st.sampled_from(["warn", "halt", "block"]),
)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(st.lists(ASSERTIONS, max_size=8), ASSERTIONS, st.integers(0, 8), SEVERITIES, st.booleans())
def test_adding_a_violation_never_makes_a_verdict_milder(
    assertions: list[Any], added: Any, at: int, decisions: Any, open_world: bool
) -> None:
    hook = OntologyHook(ONTOLOGY, decisions=decisions, open_world=open_world)
    at = min(at, len(assertions))
    before, after = hook.check(assertions), hook.check([*assertions[:at], added, *assertions[at:]])
    is_violation = added[1] != "is_a" or any(broken.position == at for broken in after.broken)
    if is_violation:
        assert strictness(after.decision) >= strictness(before.decision)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.lists(ASSERTIONS, max_size=8))
def test_the_same_assertions_have_the_same_verdict_and_a_valid_event(assertions: list[Any]) -> None:
    one, two = HOOK.check(assertions), HOOK.check(assertions)
    assert (one.broken, one.decision, one.reasons) == (two.broken, two.decision, two.reasons)
    assert validate_safety_event(one.safety_event.to_dict()) == one.safety_event


# -- malformed input, events -------------------------------------------------------------------------------------------

MALFORMED: dict[str, Any] = {
    "two parts": ("a", "b"),
    "four parts": ("a", "b", "c", "d"),
    "a list": ["a", "is_a", "Drug"],
    "a string": "aspirin is_a Drug",
    "none": None,
    "a number inside": ("a", "is_a", 5),
    "a blank name": (" ", "is_a", "Drug"),
    "a name without letters": ("!?", "is_a", "Drug"),
    "a name of 201 characters": ("x" * 201, "is_a", "Drug"),
    "bytes": (b"a", "is_a", "Drug"),
}


@pytest.mark.parametrize("assertion", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_assertions_block(assertion: Any) -> None:
    verdict = HOOK.check([assertion, ("aspirin", "is_a", "Drug")])
    assert (verdict.decision, verdict.reasons) == ("block", ("malformed_assertion at=0",))


@pytest.mark.parametrize("assertions", ["text", None, 5, {"a": "b"}, {("a", "is_a", "Drug")}, b"x"])
def test_what_is_no_list_of_assertions_blocks(assertions: Any) -> None:
    verdict = HOOK.check(assertions)
    assert (verdict.decision, verdict.reasons) == ("block", ("reader_invalid",))


def test_too_many_assertions_block() -> None:
    hook = OntologyHook(ONTOLOGY, max_assertions=3)
    assert hook.check([("aspirin", "is_a", "Drug")] * 4).reasons == ("too_many_assertions",)
    endless = iter(lambda: ("aspirin", "is_a", "Drug"), None)
    assert hook.check(endless).decision == "block"


def test_a_thing_of_too_many_classes_blocks() -> None:
    classes = " ".join(f":C{number} a owl:Class ." for number in range(40))
    hook = OntologyHook(parse_ontology(MEDICINE + classes, syntax="turtle"))
    verdict = hook.check([("x", "is_a", f"C{number}") for number in range(40)])
    assert (verdict.decision, {broken.kind for broken in verdict.broken}) == ("block", {"too_many_classes"})


def test_it_is_a_hook_and_its_verdict_is_named_as_promised() -> None:
    verdict = HOOK.examine(Occasion(text="Aspirin is a drug.", tenant_id="acme", request_id="r-1"))
    assert isinstance(HOOK, Hook)
    assert isinstance(verdict, Verdict)
    assert isinstance(verdict, OntologyViolation)
    event = verdict.safety_event
    assert (event.hook_id, event.hook_scope, event.tenant_id) == ("ontology.assertions", "ontology", "acme")
    assert event.attributes == {"ontology": ONTOLOGY.digest, "checked": "1", "not_checked": "0", "broken": "0"}


def test_events_hold_no_individual_and_no_text() -> None:
    assertions = [
        ("Ann Canary", "born in", "rome"), ("Ann Canary", "born in", "paris"), ("ann", "born in", "rome"),
        ("CANARY", "is_a", "CanaryClass"), ("canary", "canaryRelation", "x"), ("Canary", "age", "Canary"),
    ]  # fmt: skip
    verdict = HOOK.check(assertions, tenant_id="t", request_id="r")
    assert len(verdict.broken) >= 5
    payload = verdict.safety_event.to_json().lower()
    for word in ("canary", "#ann", "#rome", "#paris"):
        assert word not in payload
    assert "canary" not in "".join(verdict.reasons).lower()
    assert Assertion("ann", "born in", "rome") in verdict.assertions, "in the process, they are there to be shown"


def test_work_grows_with_the_number_of_assertions_alone() -> None:
    many = [("x", "has parent", f"p{number}") for number in range(2500)]
    many += [(f"n{number}", "part of", f"n{number + 1}") for number in range(2500)]
    verdict = HOOK.check([*many[:-1], ("n2499", "part of", "n0")])
    assert [broken.kind for broken in verdict.broken] == ["cycle"]
