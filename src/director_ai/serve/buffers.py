"""What waits inside of an exchange, within limits: text for the guard, and bytes for the client."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Feed", "Outbox"]

MOST_WAITING: Final = 8 * 1024
"""Characters of one channel that were read and not judged yet; beyond that the upstream waits."""
MANY: Final = 32
"""Tokens of one channel that wait, beyond which they are taken as one."""
AT_ONCE: Final = 1_000
"""Characters that are handed to the guard at once; between the pieces of a longer text the event loop gets a turn."""
MOST_UNSENT: Final = 128 * 1024
"""Bytes that the client has not taken yet; beyond that everything waits."""


class Feed:
    """The text of one channel on its way to the guard: an asynchronous iterator that is fed from outside.

    Args:
        lagged: Told how many seconds text waited, whenever some is taken.
    """

    def __init__(self, lagged: Callable[[float], None] | None = None) -> None:
        self._tokens: deque[tuple[float, str]] = deque()
        """With the time at which each came."""
        self._size = 0
        self._lagged = lagged
        self._ended = False
        self._is_cut = False
        """Whether what comes next is the rest of a text of which a piece was taken."""
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()

    async def put(self, text: str) -> None:
        """Add text; wait while too much of it is not judged yet."""
        if self._ended:
            return
        self._tokens.append((time.monotonic(), text))
        self._size += len(text)
        self._changed.set()
        while self._size > MOST_WAITING and not self._ended:
            self._taken.clear()
            await self._taken.wait()

    def end(self) -> None:
        """Say that there is no more, and let go whoever waits."""
        self._ended = True
        self._changed.set()
        self._taken.set()

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> str:
        while not self._tokens:
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        is_rest = self._is_cut
        if is_rest:
            await asyncio.sleep(0)
        came, text = self._tokens.popleft()
        if len(self._tokens) > MANY:  # how text is cut changes nothing, and who is behind catches up
            text = "".join([text, *(token for _, token in self._tokens)])
            self._tokens.clear()
        self._is_cut = len(text) > AT_ONCE
        if self._is_cut:
            self._tokens.appendleft((came, text[AT_ONCE:]))
            text = text[:AT_ONCE]
        self._size -= len(text)
        self._taken.set()
        if self._lagged is not None and not is_rest:  # the rest waited for its own beginning
            self._lagged(time.monotonic() - came)
        return text


class Outbox:
    """Bytes for the client, in the order in which they were written."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._closed = False
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()

    async def put(self, data: bytes) -> None:
        """Add bytes at once, so that nothing overtakes them; then wait while the client is behind."""
        self.put_last(data)
        while self._size > MOST_UNSENT and not self._closed:
            self._taken.clear()
            await self._taken.wait()

    def put_last(self, data: bytes) -> None:
        """Add bytes without waiting; nothing is added to what is closed."""
        if data and not self._closed:
            self._pieces.append(data)
            self._size += len(data)
            self._changed.set()

    def close(self) -> None:
        """Say that there is no more."""
        self._closed = True
        self._changed.set()
        self._taken.set()

    async def take(self, patience: float) -> bytes | None:
        """Return the next bytes; none of them where there are none in time, and None at the end."""
        if not self._pieces and not self._closed:
            self._changed.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._changed.wait()
            except TimeoutError:
                return b""
        if not self._pieces:
            return None
        data = self._pieces.popleft()
        self._size -= len(data)
        self._taken.set()
        return data
