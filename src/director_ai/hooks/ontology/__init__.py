"""The ontology hook: what is asserted, checked against an OWL or RDFS ontology.

loading ─► closure ─► graph, axioms ─► terms (dictionaries, made once)
text ─► phrasing, reading ─► assertions ─► checking, knowledge, cycles ─► hook (verdict and event)
"""

from __future__ import annotations

from director_ai.hooks.ontology.checking import Assertion, BrokenAxiom
from director_ai.hooks.ontology.hook import OntologyHook, OntologyViolation
from director_ai.hooks.ontology.loading import load_ontology, parse_ontology
from director_ai.hooks.ontology.terms import Ontology

__all__ = [
    "Assertion",
    "BrokenAxiom",
    "Ontology",
    "OntologyHook",
    "OntologyViolation",
    "load_ontology",
    "parse_ontology",
]
