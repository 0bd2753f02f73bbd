"""One way to run a kernel, three drivers: every behaviour is tested on all of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio

from director_ai import AsyncStreamingKernel, StreamingKernel, StreamSession, TokenEvent
from director_ai.testing import ScriptedTokens


@dataclass(frozen=True)
class Driver:
    """Runs a stream through the synchronous kernel, or through the asynchronous one on asyncio or trio."""

    name: str

    def run(
        self, tokens: Any, callback: Callable[[str], Any], *, kernel: dict[str, Any], **options: Any
    ) -> StreamSession:
        return self.run_live(tokens, callback, kernel=kernel, **options)[1]

    def run_live(
        self, tokens: Any, callback: Callable[[str], Any], *, kernel: dict[str, Any], **options: Any
    ) -> tuple[list[TokenEvent], StreamSession]:
        if self.name == "sync":
            live = StreamingKernel(**kernel).stream(tokens, callback, **options)
            return list(live), live.session

        async def main() -> tuple[list[TokenEvent], StreamSession]:
            source = ScriptedTokens(tokens) if isinstance(tokens, list) else tokens
            alive = AsyncStreamingKernel(**kernel).stream(source, as_async(callback), **options)
            return [event async for event in alive], alive.session

        return anyio.run(main, backend=self.name)


def as_async(callback: Callable[[str], Any]) -> Callable[[str], Any]:
    """The same callback as a coroutine function, unless it is none, is one already, or asks to stay synchronous."""
    if not callable(callback) or getattr(callback, "stays_synchronous", False) or inspect.iscoroutinefunction(callback):
        return callback

    @functools.wraps(callback, assigned=(), updated=())
    async def ask(text: str) -> Any:
        return callback(text)

    return ask
