"""Of a long premise, the sentences that have most to do with a hypothesis: one text that the model reads at a glance.

Windows over a long text each see a part, and the surest of many parts is sometimes sure by chance. The sentences that
share the hypothesis' rare words, side by side, are a second opinion on the same text.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LONGEST_SENTENCE", "cut_sentences", "focus"]

LONGEST_SENTENCE = 72
"""Tokens. What is longer is cut: a table or a list without a full stop must not push out everything else."""
ENOUGH = 0.92
"""Of the room. The search for ever shorter sentences to fill the rest would bring nothing that matters."""


def cut_sentences(sentences: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return the tokens of each sentence, cut where one is too long."""
    return [
        sentence[start : start + LONGEST_SENTENCE]
        for sentence in sentences
        for start in range(0, len(sentence), LONGEST_SENTENCE)
    ]


def focus(sentences: Sequence[Sequence[int]], hypothesis: Sequence[int], room: int) -> list[int]:
    """Return the tokens of the most telling sentences, in their order in the text, at most `room` of them."""
    vocabularies = [frozenset(sentence) for sentence in sentences]
    found_in = Counter(token for vocabulary in vocabularies for token in vocabulary)
    worth = {token: math.log(1 + len(sentences) / found_in[token]) for token in set(hypothesis) if token in found_in}

    def telling(place: int) -> float:
        shared = math.fsum(worth[token] for token in vocabularies[place] & worth.keys())
        return shared / (1 + math.log(1 + len(sentences[place])) / 2)

    kept, used = [], 0
    for place in sorted(range(len(sentences)), key=telling, reverse=True):
        if used + len(sentences[place]) <= room:
            kept.append(place)
            used += len(sentences[place])
        if used > room * ENOUGH:
            break
    return [token for place in sorted(kept) for token in sentences[place]]
