"""Does a premise support a hypothesis, contradict it, or neither? Three probabilities per pair."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from director_ai.core.segment import split_sentences
from director_ai.errors import ConfigError
from director_ai.nli.batching import Piece
from director_ai.nli.focus import cut_sentences, focus
from director_ai.nli.inference import Counts, Inference, Texts
from director_ai.nli.manifest import LABELS, ModelError
from director_ai.nli.windows import Scores, Span, join_parts, join_views, join_windows, pair_windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from director_ai.nli.engine import Engine

__all__ = ["Entailer", "Prediction"]

FRAME = 3
"""Tokens around and between the two texts."""
WINDOW, FOCUS = "window", "focus"
"""A piece holds a stretch of the premise, or its most telling sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """How likely each of the three is; together they are 1."""

    supported: float
    contradicted: float
    neutral: float


class Entailer:
    """A loaded cross-encoder, for any number of threads and tasks at once; `load_entailer` makes it."""

    def __init__(self, engine: Engine, *, cache_size: int, batch_tokens: int, deadline: float) -> None:
        self._engine = engine
        self._inference = Inference(
            engine, self._cut, self._combine, cache_size=cache_size, batch_tokens=batch_tokens, deadline=deadline
        )

    @property
    def name(self) -> str:
        """The model's name."""
        return self._engine.manifest.name

    @property
    def digest(self) -> str:
        """Of the model, its tokenizer and its calibration: equal digests give equal scores."""
        return self._engine.manifest.digest

    @property
    def max_tokens(self) -> int:
        """The model's window. A longer pair is read in several windows, never cut off."""
        return self._engine.manifest.max_tokens

    @property
    def knows_claims(self) -> bool:
        """Whether it also tells a claim from small talk."""
        return self._engine.manifest.knows_claims

    @property
    def knows_context(self) -> bool:
        """Whether it also reads a claim behind what was asked and said before it."""
        return self._engine.manifest.knows_context

    @property
    def counts(self) -> Counts:
        """What was asked so far, and what it cost."""
        return self._inference.counts

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[Prediction]:
        """Return one prediction for each (premise, hypothesis), in order."""
        return self._inference.ask(_checked(pairs))

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> list[Prediction]:
        """Return the same as `predict`, without blocking the event loop (asyncio or trio)."""
        return await self._inference.aask(_checked(pairs))

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Return how many tokens the model reads in these texts, each once."""
        return sum(len(self._engine.tokens(text).ids) for text in texts)

    def _cut(self, items: Sequence[Texts]) -> Iterator[Piece]:
        room = self.max_tokens - FRAME
        for place, (premise_text, hypothesis_text) in enumerate(items):
            premise, hypothesis = self._engine.tokens(premise_text), self._engine.tokens(hypothesis_text)
            spans: dict[int, Span] = {}
            for part, there, here in pair_windows(premise.words, hypothesis.words, room):
                spans[part] = here
                yield Piece(premise.ids[slice(*there)], hypothesis.ids[slice(*here)], (place, part, WINDOW))
            if len(premise.ids) + len(hypothesis.ids) > self._engine.manifest.focus_tokens - FRAME >= 0:
                parts = [hypothesis.ids[slice(*span)] for span in spans.values()]
                for part, focused in zip(spans, self._focused(premise_text, parts), strict=True):
                    yield Piece(focused, hypothesis.ids[slice(*spans[part])], (place, part, FOCUS))

    def _focused(self, premise: str, parts: Sequence[Any]) -> Iterator[Any]:
        """Return for each part of a hypothesis the premise's sentences that have most to do with it."""
        import numpy as np  # noqa: PLC0415 - not before a model is loaded

        sentences = cut_sentences([self._engine.tokens(text).ids.tolist() for text in split_sentences(premise)])
        for part in parts:
            room = max(0, self._engine.manifest.focus_tokens - FRAME - len(part))
            yield np.asarray(focus(sentences, part.tolist(), room), np.int32)

    def _combine(self, count: int, rows: Iterable[tuple[Any, Any]]) -> list[Prediction]:
        tags, logits = zip(*rows, strict=True)
        views: dict[tuple[int, int], dict[str, list[Scores]]] = {}
        for (place, part, view), scores in zip(tags, self._probabilities(logits), strict=True):
            views.setdefault((place, part), {}).setdefault(view, []).append(scores)
        wholes: list[list[Scores]] = [[] for _ in range(count)]
        for (place, _), seen in views.items():
            wholes[place].append(join_views(join_windows(seen[WINDOW]), seen.get(FOCUS, [])))
        return [Prediction(**join_parts(whole)._asdict()) for whole in wholes]

    def _probabilities(self, logits: Sequence[Any]) -> Iterator[Scores]:
        import numpy as np  # noqa: PLC0415 - not before a model is loaded

        manifest = self._engine.manifest
        values = np.stack(logits).astype(np.float64)
        if not np.isfinite(values).all():
            raise ModelError(f"the model {manifest.name} answered with something that is no number")
        values = values / manifest.calibration.temperature + np.array(manifest.calibration.bias)
        values = np.exp(values - values.max(axis=1, keepdims=True))
        values /= values.sum(axis=1, keepdims=True)
        order = [manifest.labels.index(label) for label in LABELS]
        return itertools.starmap(Scores, values[:, order].tolist())


def _checked(pairs: object) -> list[Texts]:
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Sequence):
        raise ConfigError(f"pairs must be a list of (premise, hypothesis), got {type(pairs).__name__}")
    checked: list[Texts] = []
    for index, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ConfigError(f"pair {index} must be two texts, (premise, hypothesis), got {_shape(pair)}")
        premise, hypothesis = pair
        if not isinstance(premise, str) or not isinstance(hypothesis, str):
            raise ConfigError(
                f"pair {index} must be two texts, got {type(premise).__name__}, {type(hypothesis).__name__}"
            )
        checked.append((premise, hypothesis))
    return checked


def _shape(value: object) -> str:
    size = f" of {len(value)}" if isinstance(value, tuple | list) else ""
    return f"{type(value).__name__}{size}"
