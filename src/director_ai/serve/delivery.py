"""Sending a guarded stream: who leaves, or is too slow when it is stopped, holds up nothing."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.responses import Response

from director_ai.errors import DirectorError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping

    from starlette.types import Receive, Scope, Send

    from director_ai.serve.exchange import Exchange

__all__ = ["ClientLeft", "Delivery", "unless_left"]

T = TypeVar("T")
STOPPING_SECONDS: Final = 0.8
"""For a client to take the end of a stream that was stopped."""


class ClientLeft(DirectorError):
    """Nobody is there to answer."""


class Delivery(Response):
    """Sends the bytes of an exchange while it runs."""

    def __init__(
        self,
        exchange: Exchange,
        pieces: AsyncGenerator[bytes],
        headers: Mapping[str, str],
        *,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._exchange, self._pieces, self._close = exchange, pieces, close
        self.status_code, self.background = 200, None
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - part of the protocol
        """Send until the end, until the client left, or until the stream was stopped and nobody takes its end."""
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_left(receive))
        stopped = asyncio.create_task(self._exchange.stopped.wait())
        try:
            await asyncio.wait([sending, leaving, stopped], return_when=asyncio.FIRST_COMPLETED)
            if stopped.done() and not leaving.done():
                await asyncio.wait([sending, leaving], timeout=STOPPING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(sending, leaving, stopped)
            with contextlib.suppress(Exception):  # pieces that nobody asked for have not closed the upstream
                await asyncio.wait_for(self._close(), STOPPING_SECONDS)
        if not sending.cancelled() and (error := sending.exception()) is not None and not isinstance(error, OSError):
            raise error

    async def _send(self, send: Send) -> None:
        async with contextlib.aclosing(self._pieces) as pieces:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def unless_left(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Return what comes of some work; it is cancelled where the client leaves."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_left(receive))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientLeft("the client left")
    finally:
        await _end(working, leaving)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
