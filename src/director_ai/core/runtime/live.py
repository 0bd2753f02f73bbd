"""A running stream in a reader's hands: what comes out of it may be shown, and leaving it closes its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator

    from director_ai.core.runtime.session import StreamSession, TokenEvent

__all__ = ["AsyncLiveStream", "LiveStream", "TokenSource"]


class TokenSource:
    """What the caller gave, and what came of opening it."""

    def __init__(self, tokens: Any) -> None:
        self.tokens = tokens
        self.opened: Any = None

    def open(self) -> None:
        """Make it ready to be read."""
        self.opened = iter(self.tokens)

    def take(self) -> Any:
        """Return what has to be closed, once."""
        taken = self.opened if self.opened is not None else self.tokens
        self.opened = self.tokens = None
        return taken


class LiveStream:
    """The events of a running stream, each of them safe to show; close it, or use `with`, to stop early."""

    def __init__(self, session: StreamSession, events: Generator[TokenEvent], close_source: Callable[[], None]) -> None:
        self.session = session
        """Complete once the events are exhausted."""
        self._events = events
        self._close_source = close_source

    def __iter__(self) -> Iterator[TokenEvent]:
        return self._events

    def __next__(self) -> TokenEvent:
        return next(self._events)

    def close(self) -> None:
        """Stop reading, and close the token source."""
        self._events.close()
        self._close_source()  # a stream that was never begun has not done so

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class AsyncLiveStream:
    """The events of a running stream, each of them safe to show; close it, or use `async with`, to stop early."""

    def __init__(
        self,
        session: StreamSession,
        events: AsyncGenerator[TokenEvent],
        close_source: Callable[[], Awaitable[None]],
    ) -> None:
        self.session = session
        """Complete once the events are exhausted."""
        self._events = events
        self._close_source = close_source

    def __aiter__(self) -> AsyncIterator[TokenEvent]:
        return self._events

    async def __anext__(self) -> TokenEvent:
        return await anext(self._events)

    async def aclose(self) -> None:
        """Stop reading, and close the token source."""
        await self._events.aclose()
        await self._close_source()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
