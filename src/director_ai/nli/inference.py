"""From a call to its answers: the cache gives what is known, the worker computes the rest, each item once.

Both drivers do the same around one wait: `ask` blocks its thread, `aask` only its task.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from director_ai.nli.batching import Batcher, Job
from director_ai.nli.cache import AnswerCache
from director_ai.nli.tokens import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from director_ai.nli.batching import Piece
    from director_ai.nli.engine import Engine

__all__ = ["Counts", "Inference", "Texts"]

Answer = TypeVar("Answer")

Texts = tuple[str, ...]
"""What one answer is about: a pair, or one text."""

SMALL = 100_000
"""Characters that are hashed in less than a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a model was asked and what it cost, since it was loaded in this process."""

    hits: int
    """Answers that came from the cache."""
    misses: int
    batches: int
    """Runs of the model."""
    windows: int
    """Rows of those batches: one for a pair that fits the model's window, more for a longer one."""
    tokens: int
    padding: int
    """Further tokens that only made rows equally long."""


@dataclass(slots=True)
class _Question:
    """The keys of a call's items in order, and what is not yet known of them."""

    keys: list[bytes]
    answers: dict[bytes, Any]
    missing: dict[bytes, Texts]


class Inference(Generic[Answer]):
    """Asks one model: with a cache before it, and batches shared by all callers."""

    def __init__(
        self,
        engine: Engine,
        cut: Callable[[Sequence[Texts]], Iterator[Piece]],
        combine: Callable[[int, Iterable[tuple[Any, Any]]], list[Answer]],
        *,
        cache_size: int,
        batch_tokens: int,
        deadline: float,
    ) -> None:
        manifest = engine.manifest
        self._cut = cut
        self._combine = combine
        self._key = bytes.fromhex(manifest.digest)
        self._cache: AnswerCache[Answer] = AnswerCache(cache_size)
        self._batcher = Batcher(
            engine.run, name=f"the model {manifest.name}", batch_tokens=batch_tokens, deadline=deadline
        )

    @property
    def counts(self) -> Counts:
        """What was asked so far, and what it cost."""
        cache, batcher = self._cache, self._batcher
        return Counts(
            hits=cache.hits,
            misses=cache.misses,
            batches=batcher.batches,
            windows=batcher.pieces,
            tokens=batcher.tokens,
            padding=batcher.padding,
        )

    def ask(self, items: Sequence[Texts]) -> list[Answer]:
        """Return one answer per item, in order."""
        question = self._look_up(items)
        if question.missing:
            over = threading.Event()
            job = self._submit(question, over.set)
            try:
                over.wait()
            except BaseException:
                job.give_up()
                raise
            question.answers.update(job.answer())
        return [question.answers[key] for key in question.keys]

    async def aask(self, items: Sequence[Texts]) -> list[Answer]:
        """Return one answer per item, in order, while other tasks of the event loop go on."""
        import anyio.lowlevel  # noqa: PLC0415 - only for who awaits
        import anyio.to_thread  # noqa: PLC0415

        if sum(len(text) + 100 for texts in items for text in texts) <= SMALL:
            await anyio.lowlevel.checkpoint()
            question = self._look_up(items)
        else:
            question = await anyio.to_thread.run_sync(self._look_up, items, abandon_on_cancel=True)
        if question.missing:
            over = anyio.Event()
            job = self._submit(question, _waker(over.set))
            try:
                await over.wait()
            except BaseException:
                job.give_up()
                raise
            question.answers.update(job.answer())
        return [question.answers[key] for key in question.keys]

    def _look_up(self, items: Sequence[Texts]) -> _Question:
        keys, texts = [], {}
        for item in items:
            cleaned = [clean(text) for text in item]
            hashed = hashlib.blake2b(key=self._key, digest_size=20)
            for content in cleaned:
                hashed.update(len(content).to_bytes(8, "big"))
                hashed.update(content)
            key = hashed.digest()
            keys.append(key)
            if key not in texts:
                texts[key] = tuple(content.decode() for content in cleaned)
        answers = self._cache.find(texts)
        return _Question(keys, answers, {key: item for key, item in texts.items() if key not in answers})

    def _submit(self, question: _Question, wake: Callable[[], None]) -> Job:
        missing = question.missing
        job = Job(self._cut(list(missing.values())), functools.partial(self._answers, list(missing)), wake)
        self._batcher.submit(job)
        return job

    def _answers(self, keys: Sequence[bytes], rows: list[tuple[Any, Any]]) -> dict[bytes, Answer]:
        answers = dict(zip(keys, self._combine(len(keys), rows), strict=True))
        self._cache.keep(answers)
        return answers


def _waker(wake: Callable[[], None]) -> Callable[[], None]:
    """Return a function that has the running event loop call `wake` soon, and waits for nothing itself."""
    import anyio.lowlevel  # noqa: PLC0415 - only for who awaits

    loop: Any = anyio.lowlevel.current_token().native_token
    soon = loop.run_sync_soon if hasattr(loop, "run_sync_soon") else loop.call_soon_threadsafe

    def wake_soon() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
            soon(wake)

    return wake_soon
