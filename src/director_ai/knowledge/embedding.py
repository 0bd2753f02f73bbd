"""Vectors of facts and questions, by the bundled encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from director_ai.core.segment import split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.knowledge.tables import Vectors

__all__ = ["Embedder"]

LONG = 90
"""Words. One vector says little about a longer text, so its stretches get vectors of their own."""
STRETCH = 60


class Embedder:
    """An encoder, the bundled one by default, as the stores use it."""

    def __init__(self, encoder: Any = None) -> None:
        if encoder is None:
            from director_ai.nli import load_encoder  # noqa: PLC0415 - loads the model

            encoder = load_encoder()
        self._encoder = encoder
        self.digest: str = encoder.digest

    def facts(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each text: one, or for a long text one more for each stretch."""
        parts = [stretches_of(text) for text in texts]
        vectors = self._encoder.encode([part for each in parts for part in each])
        ends = np.cumsum([len(each) for each in parts])
        return [vectors[end - len(each) : end] for end, each in zip(ends, parts, strict=True)]

    def questions(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text."""
        vectors: Vectors = self._encoder.encode(list(texts))
        return vectors


def stretches_of(text: str) -> list[str]:
    """Return a text, and if it is long also its stretches of some sentences."""
    if len(text.split()) <= LONG:
        return [text]
    stretches: list[str] = []
    words = 0
    for sentence in split_sentences(text):
        size = len(sentence.split())
        if stretches and words + size <= STRETCH:
            stretches[-1] += sentence
            words += size
        elif size:
            stretches.append(sentence)
            words = size
    return [text, *stretches]
