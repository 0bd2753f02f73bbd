"""Bytes of a guarded stream in an SDK's hands, live: leaving them closes the upstream."""

from __future__ import annotations

import concurrent.futures
import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Self

import anyio
import anyio.from_thread
import anyio.to_thread
import httpx2

from director_ai.serve.exchange import UpstreamBroke

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from director_ai.integrations.calls import Call

__all__ = ["AsyncGuardedBytes", "GuardedBytes"]


class AsyncGuardedBytes(httpx2.AsyncByteStream):
    """What an asynchronous SDK reads."""

    def __init__(self, answer: httpx2.Response, call: Call) -> None:
        self._answer = answer
        self._pieces = call.streamed(self._chunks())

    async def _chunks(self) -> AsyncGenerator[bytes]:
        try:
            with _named_errors():
                async with contextlib.aclosing(self._answer.aiter_bytes()) as chunks:
                    async for chunk in chunks:
                        yield chunk
        finally:
            await self._answer.aclose()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        """Stop judging, and close the upstream."""
        try:
            await self._pieces.aclose()
        finally:
            await self._answer.aclose()


class GuardedBytes(httpx2.SyncByteStream):
    """What a synchronous SDK reads: judged on an event loop of its own, so that it is no matter who else runs one."""

    def __init__(self, answer: httpx2.Response, call: Call) -> None:
        self._answer, self._call = answer, call
        self._open = contextlib.ExitStack()
        self._waiting: concurrent.futures.Future[bytes | None] | None = None
        self._closing = threading.Lock()
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        portal = self._open.enter_context(anyio.from_thread.start_blocking_portal("asyncio"))
        judging = portal.call(_Judging.begin, self._call, self._chunks())
        self._open.callback(portal.call, judging.end)
        try:
            while True:
                self._waiting = portal.start_task_soon(judging.next)
                piece = self._waiting.result()
                if piece is None:
                    return
                yield piece
        except concurrent.futures.CancelledError:  # closed meanwhile, by another thread
            return
        finally:
            self.close()

    async def _chunks(self) -> AsyncGenerator[bytes]:
        """Read the upstream in a thread; one that waits for it is let go by `close`."""
        chunks = self._answer.iter_bytes()
        try:
            with _named_errors():
                while chunk := await anyio.to_thread.run_sync(next, chunks, b"", abandon_on_cancel=True):
                    yield chunk
        finally:
            self._let_go()

    def close(self) -> None:
        """Stop judging, and close the upstream, whoever waits for it."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if self._waiting is not None:
            self._waiting.cancel()
        try:
            self._open.close()
        finally:
            self._answer.close()

    def _let_go(self) -> None:
        """End a read that waits in another thread; a connection of HTTP/2 is not ours alone."""
        network = self._answer.extensions.get("network_stream")
        if network is None or self._answer.is_closed or self._answer.http_version == "HTTP/2":
            return
        with contextlib.suppress(OSError):
            network.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


class _Judging:
    """A guarded stream on its event loop: it is asked for a piece, or ended, one at a time."""

    def __init__(self, pieces: AsyncGenerator[bytes]) -> None:
        self._pieces = pieces
        self._turn = anyio.Lock()

    @classmethod
    async def begin(cls, call: Call, chunks: AsyncGenerator[bytes]) -> Self:
        return cls(call.streamed(chunks))

    async def next(self) -> bytes | None:
        async with self._turn:
            return await anext(self._pieces, None)

    async def end(self) -> None:
        async with self._turn:
            await self._pieces.aclose()


@contextlib.contextmanager
def _named_errors() -> Iterator[None]:
    """Name what happened to a connection; the guard then ends the stream with an error, never with a stop."""
    try:
        yield
    except httpx2.HTTPError as error:
        raise UpstreamBroke(f"the upstream broke off ({type(error).__name__})") from None
