"""Ontologies that several tests read."""

from __future__ import annotations

PREFIXES = """
@prefix : <http://example.org/med#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
MEDICINE = (
    PREFIXES
    + """
<http://example.org/med> a owl:Ontology ; owl:imports <http://imports.invalid/elsewhere.owl> .
:Substance a owl:Class . :Drug a owl:Class ; rdfs:subClassOf :Substance . :Mineral rdfs:subClassOf :Substance .
:Painkiller rdfs:subClassOf :Drug .
:Disease a owl:Class . :Symptom a owl:Class . :Headache rdfs:subClassOf :Symptom .
:Place a owl:Class . :City rdfs:subClassOf :Place . :Country rdfs:subClassOf :Place .
:City owl:disjointWith :Country .
:Person a owl:Class ; rdfs:label "Person"@en, "Mensch"@de ;
  rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :hasParent ; owl:maxCardinality 2 ],
                  [ a owl:Restriction ; owl:onProperty :hasName ; owl:minCardinality 1 ] .
:Bigamist rdfs:subClassOf :Person, [ a owl:Restriction ; owl:onProperty :marriedTo ; owl:cardinality 2 ] .
:Vegan rdfs:subClassOf :Person, [ a owl:Restriction ; owl:onProperty :eats ; owl:allValuesFrom :Plant ] .
:Twin rdfs:subClassOf :Person, [ a owl:Restriction ; owl:onProperty :hasSibling ; owl:maxQualifiedCardinality 1 ; owl:onClass :Twin ] .
:Plant a owl:Class . :Animal a owl:Class ; owl:disjointWith :Plant .
[] a owl:AllDisjointClasses ; owl:members ( :Substance :Disease :Place :Person ) .
:treats a owl:ObjectProperty ; rdfs:domain :Drug ; rdfs:range [ a owl:Class ; owl:unionOf ( :Disease :Symptom ) ] .
:cures rdfs:subPropertyOf :treats ; owl:propertyDisjointWith :causes .
:causes a owl:ObjectProperty .
:treatedBy owl:inverseOf :treats ; rdfs:label "treated by" .
:bornIn a owl:ObjectProperty, owl:FunctionalProperty ; rdfs:domain :Person ; rdfs:range :City .
:capitalOf a owl:ObjectProperty, owl:InverseFunctionalProperty .
:partOf a owl:ObjectProperty, owl:TransitiveProperty, owl:AsymmetricProperty .
:near a owl:ObjectProperty, owl:SymmetricProperty, owl:IrreflexiveProperty .
:reportsTo a owl:ObjectProperty .
:hasParent a owl:ObjectProperty . :marriedTo a owl:ObjectProperty . :eats a owl:ObjectProperty . :hasSibling a owl:ObjectProperty .
:hasName a owl:DatatypeProperty . :age a owl:DatatypeProperty ; rdfs:range xsd:nonNegativeInteger .
:bornOn a owl:DatatypeProperty ; rdfs:range xsd:date .
:aspirin a :Painkiller . :quartz a :Mineral . :malaria a :Disease .
:paris a :City . :rome a :City . :roma owl:sameAs :rome . :france a :Country .
:rome :capitalOf :italy . :ann a :Person ; :bornIn :paris . :finger :partOf :hand . :hand :partOf :arm .
:bank1 a :Place ; rdfs:label "bank" . :bank2 a :Plant ; rdfs:label "bank" .
"""
)
