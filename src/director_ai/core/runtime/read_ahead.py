"""Reading on while something slow is done: what comes is kept up to a bound, and nothing is lost."""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

__all__ = ["AsyncReadAhead", "ReadAhead"]

_Outcome = tuple[bool, Any]


class ReadAhead:
    """A source of tokens that a thread reads on from while its reader is busy; never two of them at once."""

    def __init__(self, pull: Callable[[], Any], most: int) -> None:
        self._pull, self._most = pull, most
        self._kept: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._reading = self._wanted = False
        self._thread: threading.Thread | None = None

    def __call__(self) -> Any:
        """Return the next token, or raise what reading it raised."""
        with self._lock:
            waits = self._reading or not self._kept.empty()
        if not waits:
            return self._pull()
        returned, value = self._kept.get()  # a thread that is reading puts one more there before it ends
        if returned:
            return value
        raise value

    @contextlib.contextmanager
    def meanwhile(self) -> Iterator[None]:
        """Read on during the block; what was begun is finished behind it."""
        with self._lock:
            self._wanted = True
            begins = not self._reading and self._kept.qsize() < self._most
            self._reading = self._reading or begins
        if begins:
            context = contextvars.copy_context()
            self._thread = threading.Thread(
                target=context.run, args=(self._read,), name="director-ai-read", daemon=True
            )
            self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._wanted = False

    def _read(self) -> None:
        while True:
            try:
                outcome: _Outcome = True, self._pull()
            except BaseException as error:  # noqa: BLE001 - carried to the reader, who decides
                outcome = False, error
            with self._lock:
                self._kept.put(outcome)
                if not outcome[0] or not self._wanted or self._kept.qsize() >= self._most:
                    self._reading = False
                    return

    def settle(self, seconds: float) -> None:
        """Wait for what is being read, but not for ever: a generator can only be closed when it is at rest."""
        if self._thread is not None:
            self._thread.join(seconds)


class AsyncReadAhead:
    """The same of an asynchronous source; a token that is being waited for is waited for to the end."""

    def __init__(self, pull: Callable[[], Awaitable[Any]], most: int) -> None:
        self._pull, self._most = pull, most
        self._kept: deque[_Outcome] = deque()

    async def __call__(self) -> Any:
        """Return the next token, or raise what reading it raised."""
        if not self._kept:
            return await self._pull()
        returned, value = self._kept.popleft()
        if returned:
            return value
        raise value

    @contextlib.asynccontextmanager
    async def meanwhile(self) -> AsyncIterator[None]:
        """Read on during the block."""
        wanted = True

        async def read() -> None:
            while wanted and len(self._kept) < self._most and (not self._kept or self._kept[-1][0]):
                try:
                    self._kept.append((True, await self._pull()))
                except anyio.get_cancelled_exc_class():
                    raise
                except BaseException as error:  # noqa: BLE001 - as above
                    self._kept.append((False, error))

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            try:
                yield
            finally:
                wanted = False
