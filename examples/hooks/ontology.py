"""Check what an answer asserts against a small ontology: `python examples/hooks/ontology.py`."""

from __future__ import annotations

import sys

from director_ai.hooks.ontology import OntologyHook, parse_ontology

ONTOLOGY = """
@prefix : <http://example.org/med#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Drug a owl:Class . :Disease a owl:Class . :City a owl:Class . :Person a owl:Class .
[] a owl:AllDisjointClasses ; owl:members ( :Drug :Disease :City :Person ) .
:treats a owl:ObjectProperty ; rdfs:domain :Drug ; rdfs:range :Disease .
:bornIn a owl:ObjectProperty, owl:FunctionalProperty ; rdfs:domain :Person ; rdfs:range :City .
:partOf a owl:ObjectProperty, owl:TransitiveProperty, owl:AsymmetricProperty .
:aspirin a :Drug . :flu a :Disease . :Basel a :City . :Bern a :City . :ann a :Person ; :bornIn :Basel .
"""
ANSWERS = [
    "Aspirin is a drug. Aspirin treats flu.",
    "Aspirin treats Basel.",
    "Ann was born in Bern.",
    "Basel is part of Europe. Europe is part of Basel.",
    "Foozol is a drug. Nobody lives forever. Foozol is a city.",
    "Aspirin may help, who knows?",
]


def main() -> None:
    """Print what becomes of each answer."""
    hook = OntologyHook(parse_ontology(ONTOLOGY, syntax="turtle"))
    for answer in ANSWERS:
        verdict = hook.check_text(answer, tenant_id="acme")
        figures = f"{len(verdict.assertions)} checked, {verdict.not_checked} sentences not"
        sys.stdout.write(f"{verdict.decision:5} {', '.join(verdict.reasons)} ({figures}): {answer}\n")


if __name__ == "__main__":
    main()
