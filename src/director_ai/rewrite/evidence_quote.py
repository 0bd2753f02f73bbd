"""A rewriter that quotes: the evidence's own sentence in the place of the clause."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS
from director_ai.core.segment import split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EvidenceQuote"]

_MOST_TEXTS: Final = 8
_MOST_SENTENCES: Final = 200
_LONGEST: Final = 20_000
_ENDS: Final = (".", "!", "?", "…", "。")
_CLOSERS: Final = "\"'”’»)]"


class EvidenceQuote:
    """Offers the evidence sentence that shares most with the clause, whole, with a capital and a full stop."""

    def __call__(self, clause: str, evidence: Sequence[str]) -> str:
        """Return the sentence, or nothing where none shares a word with the clause."""
        said = Reading(clause[:_LONGEST])
        best, most = "", (0, 0)
        for text in islice(evidence, _MOST_TEXTS):
            for sentence in split_sentences(text[:_LONGEST])[:_MOST_SENTENCES]:
                shared = _shared(said, Reading(sentence))
                if shared > most and shared[0]:
                    best, most = sentence, shared
        quote = _as_sentence(best)
        return "" if quote == clause else quote


def _shared(said: Reading, sentence: Reading) -> tuple[int, int]:
    """How many topic words, and how many words at all, two texts have in common."""
    return len(_topic(said) & _topic(sentence)), len(said.vocabulary & sentence.vocabulary)


def _topic(reading: Reading) -> frozenset[str]:
    return frozenset().union(*reading.topics) - LIGHT_STEMS


def _as_sentence(text: str) -> str:
    text = text.strip().lstrip("-*•# ")
    if not text:
        return ""
    ends = text.rstrip(_CLOSERS).endswith(_ENDS)
    return text[:1].upper() + text[1:] + ("" if ends else ".")
