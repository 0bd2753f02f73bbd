"""Refuses what makes XML dangerous, before anything else reads it."""

from __future__ import annotations

from typing import Final
from xml.parsers import expat

from director_ai.errors import PayloadError

__all__ = ["vet_xml"]

_DEEPEST: Final = 64
_MOST_ENTITIES: Final = 64
_LONGEST_ENTITY: Final = 256


def vet_xml(data: bytes, most: int) -> None:
    """Refuse outside entities, entities in entities, depth, and more than `most` characters once all is expanded.

    Short entities are usual in RDF/XML, where they stand for the beginnings of addresses.
    """
    vetting, parser = _Vetting(most), expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.EntityDeclHandler = vetting.document_type, vetting.entity
    parser.StartElementHandler, parser.EndElementHandler = vetting.start, vetting.end
    parser.CharacterDataHandler = vetting.characters
    try:
        parser.Parse(data, True)
    except PayloadError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:  # the last two: encodings that are none
        raise PayloadError(f"the ontology cannot be read as xml ({type(error).__name__})") from None


class _Vetting:
    def __init__(self, most: int) -> None:
        self._most = most
        self._depth = self._characters = self._entities = 0

    def document_type(self, _name: str, system_id: str | None, public_id: str | None, _has_own: bool) -> None:
        if system_id or public_id:
            raise PayloadError("the ontology cannot be read: its document type is outside of it")

    def entity(self, _name: str, is_parameter: bool, value: str | None, *_outside: str | None) -> None:
        self._entities += 1
        if is_parameter or value is None or len(value) > _LONGEST_ENTITY or "&" in value or "<" in value:
            raise PayloadError("the ontology cannot be read: it declares an entity that is not a short text")
        if self._entities > _MOST_ENTITIES:
            raise PayloadError(f"the ontology cannot be read: it declares more than {_MOST_ENTITIES} entities")

    def start(self, _name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PayloadError(f"the ontology cannot be read: it is nested deeper than {_DEEPEST}")
        for value in attributes.values():
            self.characters(value)

    def end(self, _name: str) -> None:
        self._depth -= 1

    def characters(self, text: str) -> None:
        self._characters += len(text)
        if self._characters > self._most:
            raise PayloadError("the ontology cannot be read: its entities make it too long")
