"""What a clause is said under: its heading, the clauses before it, and the question.

A clause may be about something that only its surroundings name. "The hotel has 120 rooms." under the heading "Graz"
must not be corrected with a fact about another hotel.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Final

from director_ai.core.scoring.coordination import has_verb, spoken_words
from director_ai.core.scoring.same_subject import content_words, foreign_words
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.segment import split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.clause_source import PlacedClause
    from director_ai.core.types import EvidenceChunk

__all__ = ["Setting", "names_something_else"]

_REMEMBERED: Final = 3
_LONGEST: Final = 500
_TITLE: Final = re.compile(r"\s*(?:#{1,6}\s.*|(?:[-*]\s+)?(\*\*|__).+\1)\s*\Z", re.DOTALL)
_SHORT_LINE: Final = re.compile(r"\s*[^\s.!?,;][^.!?,;\n]{0,60}\n\s*\Z")
_UNDERLINE: Final = re.compile(r"\s*(?:-{3,}|={3,})\s*\Z")
_SETS_SCENE: Final = re.compile(
    r"\W*(?:in|at|for|with|on|from|under|as for|as to|regarding|concerning|about|unlike)\b", re.IGNORECASE
)
_SAYS_NOTHING: Final = frozenset(
    map(
        stem,
        "here detail details follow following information summary overview key fact facts point points answer note "
        "notes important example examples list below above short question questions term terms condition conditions "
        "thing things know main quick else get also more".split(),
    )
)


class Setting:
    """Follows the clauses of one stream in order and tells each what it stands under."""

    def __init__(self) -> None:
        self._heading = ""
        self._lead_in = ""
        self._in_list = False
        self._preceding: tuple[str, ...] = ()

    def see(self, clause: PlacedClause) -> PlacedClause:
        """Return a clause with what it stands under."""
        leads_in = clause.kind in {"item", "row"} or not self._in_list
        heading = (self._lead_in if leads_in else "") or self._heading
        return dataclasses.replace(clause, heading=heading, preceding=self._preceding)

    def place(self, clause: PlacedClause) -> PlacedClause:
        """Return the same, and go on to the next clause."""
        seen = self.see(clause)
        if self._in_list and clause.kind not in {"item", "row"}:
            self._lead_in = ""
        self._in_list = clause.kind == "item"
        text = clause.text[:_LONGEST]
        if text.rstrip().rstrip("*_").endswith(":") and clause.kind != "heading":
            self._lead_in = text
        elif _UNDERLINE.match(text) and self._preceding:
            self._heading, self._lead_in = self._preceding[-1], ""
        elif _is_heading(clause, text):
            self._heading, self._lead_in = text, ""
        self._preceding = (*self._preceding, text)[-_REMEMBERED:]
        return seen


def _is_heading(clause: PlacedClause, text: str) -> bool:
    if clause.kind == "row":
        return False
    if clause.kind == "heading" or _TITLE.match(text):
        return True
    return clause.kind == "prose" and _SHORT_LINE.match(text) is not None and not has_verb(spoken_words(text))


def names_something_else(clause: PlacedClause, question: str, chunks: Sequence[EvidenceChunk]) -> bool:
    """Whether a clause stands under something that none of the facts mentions."""
    heading, scenes = clause.heading, [text for text in clause.preceding if _SETS_SCENE.match(text)]
    if not heading and not scenes and not question:
        return False
    facts = [Reading(chunk.text) for chunk in chunks]
    stems = {word for fact in facts for word in fact.t.stems}
    words = {word for fact in facts for word in fact.t.words}
    if any(set(str(name.slot.value).split()) <= words for name in Reading(clause.text).names):
        return False  # it names what it is about itself
    titled = Reading(heading)
    said = {word for sentence in range(len(titled.t.sentences)) for word in content_words(titled, sentence)}
    if foreign_words(said - _SAYS_NOTHING, stems):
        return True
    return any(
        not set(str(name.slot.value).split()) <= words
        for text in (heading, *scenes, *split_sentences(question[-_LONGEST:].strip())[-1:])
        for name in Reading(text).names
    )
