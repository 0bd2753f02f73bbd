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
from director_ai.core.scoring.slots.reading import read_once
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.segment import split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.clause_source import PlacedClause
    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.types import EvidenceChunk

__all__ = ["Setting", "facts_in_setting", "unsure_of"]

_REMEMBERED: Final = 3
_LONGEST: Final = 500
_TITLE: Final = re.compile(r"\s*(?:#{1,6}\s.*|(?:[-*]\s+)?(\*\*|__).+\1)\s*\Z", re.DOTALL)
_SHORT_LINE: Final = re.compile(r"\s*[^\s.!?,;][^.!?,;\n]{0,60}\n\s*\Z")
_UNDERLINE: Final = re.compile(r"\s*(?:-{3,}|={3,})\s*\Z")
_SETS_SCENE: Final = re.compile(
    r"\W*(?:in|at|for|with|on|from|under|as for|as to|regarding|concerning|about|unlike)\b", re.IGNORECASE
)
_ADDRESS: Final = re.compile(r"\S+@\S+|https?://\S+")
_CONTINUES: Final = re.compile(r"\W*(?:and|or|but|what about|how about)\b", re.IGNORECASE)
_NARROWS: Final = frozenset(
    "for in at on with without of from about if when while during under per by as between after before since until "
    "versus than instead".split()
)
_NOT_AS_IT_IS: Final = frozenset(
    "another other old former wrong false untrue incorrect myth lie joke mistake write writes wrote claim claims "
    "claimed".split()
)
"""A question with one of these does not ask what is true here and now: "Which year would be wrong?"."""
_SHORT_IS: Final = frozenset({"what's", "it's", "that's", "who's", "how's", "where's", "there's", "here's", "let's"})
_SAYS_NOTHING: Final = frozenset(
    map(
        stem,
        "here detail details follow following information summary overview key fact facts point points answer note "
        "notes important example examples list below above short question questions term terms condition conditions "
        "thing things know main quick else get also more "
        "tell ask say explain describe give show find want need like love help mean look please thank thanks sure "
        "happy glad great good course welcome sorry hello hi hey yes no ok okay certainly absolutely much many "
        "window period time said take takes "
        "long far often big high how what when where which who why whose kind sort exactly actually really "
        "currently possible able let see start wonder understand check is are do does did have "
        "has had can could would should shall will may might must go make use cost pay price charge fee amount "
        "someone anyone people person "
        "customer".split(),
    )
)


class Setting:
    """Follows the clauses of one stream in order and tells each what it stands under."""

    def __init__(self) -> None:
        self._heading = ""
        self._lead_in = ""
        self._in_list = False
        self._labels_item = False
        """The lead-in is an item itself; what stands below it may be its second line."""
        self._preceding: tuple[str, ...] = ()

    def see(self, clause: PlacedClause) -> PlacedClause:
        """Return a clause with what it stands under."""
        leads_in = clause.kind in {"item", "row"} or self._labels_item or not self._in_list
        headings = tuple(text for text in (self._heading, self._lead_in if leads_in else "") if text)
        return dataclasses.replace(clause, headings=headings, preceding=self._preceding)

    def place(self, clause: PlacedClause) -> PlacedClause:
        """Return the same, and go on to the next clause."""
        seen = self.see(clause)
        if self._in_list and clause.kind not in {"item", "row"} and not self._labels_item:
            self._lead_in = ""
        self._in_list = clause.kind == "item"
        text = clause.text[:_LONGEST]
        if text.rstrip().rstrip("*_").endswith(":") and clause.kind != "heading":
            self._lead_in, self._labels_item = text, clause.kind == "item"
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


def unsure_of(action: str, verdict: str, text: str) -> str:
    """Return a clause that is shown although no fact supports it, and nothing for any other."""
    return text if action == "keep" and verdict != "supported" else ""


def facts_in_setting(
    clause: PlacedClause, question: str, chunks: Sequence[EvidenceChunk], unsure: Sequence[str] = ()
) -> list[EvidenceChunk]:
    """Return the facts that mention everything a clause stands under: only these may correct it.

    A wide question ("What do I get with this account?") need only be known to the facts together. `unsure` are the
    clauses shown before it that no fact supports: "And the castle? Admission is 9 EUR." is no error about the museum.
    """
    scenes = [text for text in clause.preceding if _SETS_SCENE.match(text) and not _leads_in(text)]
    under = [_words_of(text) for text in (*clause.headings, *scenes, *_since_title(unsure))]
    asked = split_sentences(question[-_LONGEST:].strip())[-1:]
    if not under and not asked:
        return list(chunks)
    said = read_once(clause.text)
    known = [{*said.t.stems, *read_once(chunk.text).t.stems} for chunk in chunks]
    for sentence in asked:
        reading = read_once(_ADDRESS.sub("", sentence))
        words = _asked_in(reading)
        if _is_narrow(sentence, words, said):
            under.append(words)
        elif _is_foreign(_narrowed_to(reading), set().union(*known)):
            return []
        else:
            under.append({word for word in words if word[:1].isdigit()})
    return [
        chunk for chunk, words in zip(chunks, known, strict=True) if not any(_is_foreign(each, words) for each in under)
    ]


def _words_of(text: str) -> set[str]:
    return _said_in(read_once(_ADDRESS.sub("", text)))


def _is_narrow(question: str, words: set[str], said: Reading) -> bool:
    """Whether a question asks for just what a clause tells, or for one thing more: "And in winter?"."""
    told = {word for at in range(len(said.t.sentences)) for word in content_words(said, at)}
    return (
        _CONTINUES.match(question) is not None
        or not has_verb(spoken_words(question))
        or bool(words & told - _SAYS_NOTHING)
    )


def _since_title(texts: Sequence[str]) -> list[str]:
    """Return the texts behind the last title; titles and lead-ins count as long as they hold, not so many clauses."""
    found: list[str] = []
    for text in reversed(texts):
        if _TITLE.match(text):
            break
        if not _leads_in(text):
            found.append(text)
    return found


def _leads_in(text: str) -> bool:
    return text.rstrip().rstrip("*_").endswith(":")


def _is_foreign(said: set[str], known: set[str]) -> bool:
    return bool(foreign_words({word for word in said - _SAYS_NOTHING if word.isalnum()}, known))


def _said_in(reading: Reading, begin: int = 0) -> set[str]:
    """Return the words of a text from a token on, and its names, dates and numbers.

    Only a number tells the Falco 3 from the Falco 2.
    """
    t = reading.t
    said = {word for sentence in range(len(t.sentences)) for word in content_words(reading, sentence)}
    said &= set(t.stems[begin:])
    said.update(t.stems[i] for i, word in enumerate(t.words) if i and word[:1].isdigit() and t.words[i - 1].isalpha())
    for placed in reading.placed:
        if placed.slot.kind in {"date", "name"}:
            said.update(t.stems[placed.first : placed.last + 1])
    return said


def _asked_in(reading: Reading) -> set[str]:
    """Return all words of a question, owners among them: "Zeta's"."""
    return _said_in(reading) | (_NOT_AS_IT_IS & set(reading.t.words)) | _owners(reading)


def _narrowed_to(reading: Reading) -> set[str]:
    """Return the words of a question that say of what it is asked: "for students", "if I pay by card", "Zeta's"."""
    t = reading.t
    narrows = (
        i
        for i, word in enumerate(t.words)
        if word in _NARROWS or (word == "to" and t.words[i + 1] in {"the", "a", "an", "my", "our", "your"})
    )
    begin = next(narrows, len(t.words)) if has_verb(spoken_words(t.text)) else 0
    return _said_in(reading, begin) | (_NOT_AS_IT_IS & set(t.words)) | _owners(reading)


def _owners(reading: Reading) -> set[str]:
    t = reading.t
    owners = {t.stems[i] for i, word in enumerate(t.words) if word.endswith(("'s", "’s")) and word not in _SHORT_IS}
    return {owner.removesuffix("'s").removesuffix("’s") for owner in owners}
