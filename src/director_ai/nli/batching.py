"""One worker per model: gathers what concurrent callers ask for, and runs it in batches of like length.

A caller's job is a stream of pieces, cut only as they are needed. The worker takes one piece from each open job in
turn, so that a caller with ten thousand pairs does not hold up one with a single pair, and keeps a pool of up to eight
batches' worth to choose from. Each batch holds the oldest piece of the pool and those nearest to it in length.
"""

from __future__ import annotations

import atexit
import itertools
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from director_ai.errors import DirectorError
from director_ai.nli.forks import reset_after_fork
from director_ai.nli.manifest import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Batcher", "Job", "Piece", "choose"]

POOL = 8
"""Batches' worth of pieces to choose from."""
IDLE = 10.0
"""Seconds after which a worker without work ends; the next caller starts another."""


class Piece:
    """What one row of a batch holds: one text, or two."""

    __slots__ = ("first", "job", "length", "order", "second", "tag")

    def __init__(self, first: NDArray[np.int32], second: NDArray[np.int32] | None, tag: Any = None) -> None:
        self.first = first
        self.second = second
        self.tag = tag
        self.length = len(first) + 2 + (0 if second is None else len(second) + 1)
        self.job: Job
        self.order = 0


class Job:
    """What one caller asks for: pieces to run, and how their rows become the answer."""

    def __init__(
        self, pieces: Iterable[Piece], combine: Callable[[list[tuple[Any, Any]]], Any], wake: Callable[[], None]
    ) -> None:
        self.over = False
        """Answered, failed or given up: nothing more of it is run."""
        self.arrived = 0.0
        self._pieces: Iterator[Piece] = iter(pieces)
        self._combine = combine
        self._wake = wake
        self._next: Piece | None = None
        self._started = False
        self._running = 0
        self._rows: list[tuple[Any, Any]] = []
        self._answer: Any = None
        self._error: BaseException | None = None

    def answer(self) -> Any:
        """Return what came of it, once it is over, or raise what went wrong."""
        if self._error is not None:
            raise self._error
        return self._answer

    def give_up(self) -> None:
        """Nobody waits for this any more."""
        self.over = True

    def take(self) -> Piece | None:
        """Return the next piece, or None if there is none left."""
        if not self._started:
            self._started = True
            self._next = next(self._pieces, None)
        piece = self._next
        if piece is not None:
            self._next = next(self._pieces, None)  # one ahead, to know the last when it is run
            self._running += 1
            piece.job = self
        elif not self._running:
            self._finish()
        return piece

    def accept(self, piece: Piece, row: Any) -> None:
        """Keep the row of a piece; the last one makes the answer."""
        self._rows.append((piece.tag, row))
        self._running -= 1
        if not self._running and self._next is None:
            self._finish()

    def fail(self, error: BaseException) -> None:
        """End with an error, for the caller to raise."""
        if not self.over:
            self.over = True
            self._error = error
            self._wake()

    def _finish(self) -> None:
        if self.over:
            return
        try:
            self._answer = self._combine(self._rows)
        except BaseException as error:  # noqa: BLE001 - raised where the caller waits
            self.fail(error)
        else:
            self.over = True
            self._wake()


def choose(lengths: Sequence[int], oldest: int, budget: int) -> tuple[int, int]:
    """Return which stretch of these rising lengths to run together: around the oldest, like in length, within budget.

    Padding costs as much as text, and a further run about as much as ten tokens: rows are padded by an eighth at most.
    """
    low, high = oldest, oldest + 1

    def fits(start: int, end: int) -> bool:
        if start < 0 or end > len(lengths):
            return False
        longest = lengths[end - 1]
        return (end - start) * longest <= budget and longest - lengths[start] <= max(8, longest // 8)

    while True:
        shorter, longer = fits(low - 1, high), fits(low, high + 1)
        if shorter and longer:
            shorter = lengths[oldest] - lengths[low - 1] <= lengths[high] - lengths[oldest]
        if shorter:
            low -= 1
        elif longer:
            high += 1
        else:
            return low, high


class Batcher:
    """Takes jobs from any thread and works them off on one of its own."""

    def __init__(
        self, run: Callable[[Sequence[Piece]], Any], *, name: str, batch_tokens: int = 2048, deadline: float = 0.002
    ) -> None:
        self.batches = 0
        self.pieces = 0
        self.tokens = 0
        self.padding = 0
        self._run = run
        self._name = name
        self._batch_tokens = batch_tokens
        self._deadline = deadline
        self.after_fork()
        reset_after_fork(self)
        _alive.add(self)

    def after_fork(self) -> None:
        """Begin with nothing to do: the callers stayed with the parent, and so did the worker."""
        self._changed = threading.Condition(threading.Lock())
        self._arrived: deque[Job] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False
        # From here on the worker's own: no lock is needed.
        self._open: deque[Job] = deque()
        self._pool: list[Piece] = []
        self._orders = itertools.count()

    def submit(self, job: Job) -> None:
        """Have a job done; it wakes its caller when it is over."""
        job.arrived = time.monotonic()
        with self._changed:
            if self._closed:
                raise ModelError(f"{self._name} takes nothing more: the interpreter is ending")
            if self._thread is None:
                worker = threading.Thread(target=self._work, name="director-ai-nli", daemon=True)
                try:
                    worker.start()
                except RuntimeError as error:
                    raise ModelError(f"{self._name} cannot be run: {error}") from error
                self._thread = worker
            self._arrived.append(job)
            self._changed.notify()

    def close(self) -> None:
        """End the worker after its batch, so that the interpreter does not end in the middle of one.

        Who still waits then is a daemon thread, which ends with the interpreter and must not be woken up for it.
        """
        with self._changed:
            self._closed = True
            worker = self._thread
            self._changed.notify()
        if worker is not None:
            worker.join(timeout=5.0)

    def _work(self) -> None:
        try:
            while self._gather():
                self._run_batch(self._next_batch())
        except BaseException as error:  # noqa: BLE001 - a worker that ends leaves no caller waiting
            with self._changed:
                jobs = {*self._arrived, *self._open, *(piece.job for piece in self._pool)}
                self._arrived.clear()
                self._open.clear()
                self._pool.clear()
                self._thread = None
            self._fail(jobs, error)

    def _gather(self) -> bool:
        """Fill the pool, waiting for work if there is none; return whether there is any."""
        while True:
            with self._changed:
                if not (self._open or self._pool or self._arrived or self._closed):
                    self._changed.wait(IDLE)
                self._open.extend(self._arrived)
                self._arrived.clear()
                if self._closed or not (self._open or self._pool):
                    self._thread = None
                    return False
            self._fill()
            if self._pool and not self._wait_for_more():
                return True

    def _fill(self) -> None:
        self._pool = [piece for piece in self._pool if not piece.job.over]
        room = POOL * self._batch_tokens - sum(piece.length for piece in self._pool)
        while self._open and room > 0:
            job = self._open.popleft()
            if job.over:
                continue
            try:
                piece = job.take()
            except BaseException as error:  # noqa: BLE001 - raised where the caller waits
                job.fail(error)
                continue
            if piece is not None:
                piece.order = next(self._orders)
                self._pool.append(piece)
                self._open.append(job)
                room -= piece.length

    def _wait_for_more(self) -> bool:
        """Wait for others until the deadline, unless one caller is alone; return whether any arrived."""
        jobs = {piece.job for piece in self._pool}
        if len(jobs) < 2 or sum(piece.length for piece in self._pool) >= self._batch_tokens:
            return False
        left = min(job.arrived for job in jobs) + self._deadline - time.monotonic()
        if left <= 0:
            return False
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._arrived) or self._closed, left)

    def _next_batch(self) -> list[Piece]:
        pool = self._pool
        pool.sort(key=lambda piece: piece.length)
        oldest = min(range(len(pool)), key=lambda index: pool[index].order)
        low, high = choose([piece.length for piece in pool], oldest, self._batch_tokens)
        batch = pool[low:high]
        del pool[low:high]
        return batch

    def _run_batch(self, batch: list[Piece]) -> None:
        try:
            rows = self._run(batch)
        except BaseException as error:  # noqa: BLE001 - raised where the callers wait; the worker lives on
            self._fail({piece.job for piece in batch}, error)
            return
        self.batches += 1
        self.pieces += len(batch)
        self.tokens += sum(piece.length for piece in batch)
        self.padding += len(batch) * batch[-1].length - sum(piece.length for piece in batch)
        for piece, row in zip(batch, rows, strict=True):
            piece.job.accept(piece, row)

    def _fail(self, jobs: Iterable[Job], error: BaseException) -> None:
        """End jobs with an error of their own each: one that several threads raise would gather all their frames."""
        why = str(error) if isinstance(error, DirectorError) else type(error).__name__
        for job in jobs:
            failure = ModelError(f"{self._name} could not be run: {why}")
            failure.__cause__ = error
            job.fail(failure)


_alive: weakref.WeakSet[Batcher] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for batcher in list(_alive):
        batcher.close()
