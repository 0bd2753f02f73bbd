"""Texts as evidence for or against a claim: a premise sentence by sentence, and what was said in earlier turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.claims import read_claim
from director_ai.core.scoring.lexical import compare_words
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.segment import ClauseSegmenter, split_sentences
from director_ai.core.types import EvidenceChunk
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Earlier", "Sentences", "earlier_claims"]

MOST_CLAIMS = 200
"""Earlier claims that are remembered, the latest first."""
NEAR = 0.4
"""Coverage from which on an earlier claim is about the same thing."""
COMPARED = 3


class Sentences:
    """A premise, of which a claim is compared with the sentences nearest to it."""

    def __init__(self, premise: str, most: int) -> None:
        self._sentences = [(part.strip(), Reading(part)) for part in split_sentences(premise) if part.strip()]
        self._most = most

    def find(self, claim: str, _prompt: str, _before: Sequence[str]) -> list[EvidenceChunk]:
        """Return the nearest sentences, in the order of the premise where they are equally near."""
        reading = Reading(claim)
        near = [(compare_words(reading, other).coverage, place) for place, (_, other) in enumerate(self._sentences)]
        best = sorted(near, key=lambda pair: -pair[0])[: self._most]
        return [
            EvidenceChunk(self._sentences[place][0], round(1.0 - cover, 6), f"premise:{place}") for cover, place in best
        ]


class _Said(NamedTuple):
    text: str
    turn: int
    reading: Reading


class Earlier:
    """The claims of a session's earlier answers."""

    def __init__(self, said: Sequence[_Said]) -> None:
        self._said = said

    def find(self, claim: str, _prompt: str, _before: Sequence[str]) -> list[EvidenceChunk]:
        """Return the earlier claims about the same thing, nearest first."""
        reading = Reading(claim)
        ranked = sorted(
            ((compare_words(reading, said.reading).coverage, said) for said in self._said), key=lambda pair: -pair[0]
        )
        return [
            EvidenceChunk(said.text, round(1.0 - near, 6), f"turn:{said.turn}")
            for near, said in ranked[:COMPARED]
            if near >= NEAR
        ]


def earlier_claims(history: Sequence[str]) -> Earlier:
    """Return what earlier answers claimed; greetings and questions are left out."""
    said: list[_Said] = []
    for turn, answer in enumerate(history):
        if not isinstance(answer, str):
            raise ConfigError(f"history[{turn}] must be a string, got a {type(answer).__name__}")
        segmenter = ClauseSegmenter()
        before: list[str] = []
        for clause in [*segmenter.feed(answer), *segmenter.finish()]:
            claim = read_claim(clause.text, kind=clause.kind, preceding=before)
            if claim.role == "claim" and claim.reading is not None:
                said.append(_Said(claim.text, turn, claim.reading))
                before.append(claim.text)
    return Earlier(said[-MOST_CLAIMS:])
