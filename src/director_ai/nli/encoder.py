"""A text as a unit vector: texts that say related things lie close together, which is how the store finds facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from director_ai.errors import ConfigError
from director_ai.nli.batching import Piece
from director_ai.nli.inference import Counts, Inference, Texts
from director_ai.nli.manifest import ModelError
from director_ai.nli.windows import spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from director_ai.nli.engine import Engine

__all__ = ["Encoder"]

FRAME = 2
"""Tokens around the text."""


class Encoder:
    """A loaded sentence encoder, for any number of threads and tasks at once; `load_encoder` makes it."""

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
        """Of the model and its tokenizer: vectors of equal digests can be compared."""
        return self._engine.manifest.digest

    @property
    def max_tokens(self) -> int:
        """The model's window. A longer text is the mean of its windows, each weighing as much as it has tokens."""
        return self._engine.manifest.max_tokens

    @property
    def dim(self) -> int:
        """Numbers per vector."""
        return self._engine.width

    @property
    def counts(self) -> Counts:
        """What was asked so far, and what it cost."""
        return self._inference.counts

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per text, as the rows of an array, in order."""
        return self._array(self._inference.ask(_checked(texts)))

    async def aencode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same as `encode`, without blocking the event loop (asyncio or trio)."""
        return self._array(await self._inference.aask(_checked(texts)))

    def _array(self, vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415 - not before a model is loaded

        return np.stack(vectors) if vectors else np.empty((0, self.dim), np.float32)

    def _cut(self, items: Sequence[Texts]) -> Iterator[Piece]:
        for place, (text,) in enumerate(items):
            tokens = self._engine.tokens(text)
            for start, end in spans(tokens.words, self.max_tokens - FRAME):
                yield Piece(tokens.ids[start:end], None, (place, end - start + FRAME))

    def _combine(self, count: int, rows: Iterable[tuple[Any, Any]]) -> list[NDArray[np.float32]]:
        import numpy as np  # noqa: PLC0415 - not before a model is loaded

        sums = np.zeros((count, self.dim), np.float64)
        for (place, weight), row in rows:
            sums[place] += np.multiply(row, weight, dtype=np.float64)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise ModelError(f"the model {self.name} answered with something that is no direction")
        # Each a copy: a row of the whole array would keep all of it for as long as the cache keeps that row.
        return [row.copy() for row in (sums / lengths).astype(np.float32)]


def _checked(texts: object) -> list[Texts]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise ConfigError(f"texts must be a list of texts, got {type(texts).__name__}")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise ConfigError(f"text {index} must be a text, got {type(text).__name__}")
    return [(text,) for text in texts]
