"""One guarded stream: the upstream's events go in, and what may be shown of them comes out as bytes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import operator
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import DirectorError
from director_ai.serve.buffers import Feed, Outbox
from director_ai.serve.sse import EventTooLong, write_comment
from director_ai.serve.upstream import UpstreamUnreachable
from director_ai.serve.wire.items import End, Finish, Pass, Say
from director_ai.serve.wire.reading import UpstreamSaid

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

    from director_ai.core.repair.record import RepairResult
    from director_ai.core.repair.streams import RepairPiece
    from director_ai.serve.calls import GuardedStream
    from director_ai.serve.optimism import Optimism
    from director_ai.serve.sse import ServerSentEvent
    from director_ai.serve.wire.items import Channel, Item, Wire

__all__ = ["Exchange", "UpstreamBroke"]

KEEP_ALIVE_SECONDS: Final = 10.0
CLOSING_SECONDS: Final = 0.5
"""For an upstream to be closed, and for what was cancelled to end; who takes longer is left behind."""
MOST_CHANNELS: Final = 512
"""Texts that are open at the same time."""
_log: Final = logging.getLogger(__name__)


class UpstreamBroke(DirectorError):
    """The upstream ended in the middle of an answer, or said what is no answer."""


UPSTREAM: Final = (UpstreamBroke, UpstreamSaid, UpstreamUnreachable, EventTooLong)
"""What is the upstream's fault; what else goes wrong is the guard's."""


class Exchange:
    """Guards the channels of one exchange, each by a stream of its own.

    Args:
        wire: How the protocol is read and written.
        guard: (channel's first text, its tokens) -> a guarded stream of them.
        describe: What a client may learn of a piece: action, place, evidence ids; None for nothing.
        describe_halt: What a client may learn of a halt.
        optimism: Shows text before it is judged, and says what becomes of it; None where nothing is shown so.
        at_end: Called at the end of an exchange that did so, however it ended.
        lagged: Told how long text waited for the guard.
        keep_alive: Seconds without anything to send, after which a comment is sent.
    """

    def __init__(
        self,
        wire: Wire,
        guard: Callable[[Say, Feed], GuardedStream],
        *,
        describe: Callable[[RepairPiece], Mapping[str, Any] | None],
        describe_halt: Callable[[RepairResult | None, str], Mapping[str, Any]],
        optimism: Optimism | None = None,
        at_end: Callable[[Optimism], Awaitable[None]] | None = None,
        lagged: Callable[[float], None] | None = None,
        keep_alive: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        self._wire, self._guard = wire, guard
        self._optimism, self._at_end = optimism, at_end
        self._describe, self._describe_halt = describe, describe_halt
        self._keep_alive, self._lagged = keep_alive, lagged
        self._out = Outbox()
        self._feeds: dict[Channel, Feed] = {}
        self._judging: dict[Channel, asyncio.Task[None]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._failed: Exception | None = None
        """What went wrong in the guard."""
        self._reason = ""
        self._ended = False
        """Whether the end that the upstream gave it was written."""
        self.stopped = asyncio.Event()
        """Set when somebody ended the exchange from outside."""

    async def run(self, events: AsyncGenerator[ServerSentEvent]) -> AsyncGenerator[bytes]:
        """Yield what the client gets; leaving it closes the upstream, too."""
        conducting = asyncio.create_task(self._conduct(events))
        try:
            while (data := await self._out.take(self._keep_alive)) is not None:
                yield data or write_comment("keep-alive")
        finally:
            conducting.cancel()
            await asyncio.wait([conducting], timeout=4 * CLOSING_SECONDS)

    def stop(self, reason: str) -> None:
        """End the exchange now, as a halt: what was not judged is never shown."""
        self._reason = self._reason or reason
        self.stopped.set()
        self._interrupt()

    def _interrupt(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    # --- from the beginning to one of its ends ----------------------------------------------------------------

    async def _conduct(self, events: AsyncGenerator[ServerSentEvent]) -> None:
        """Read the upstream to an end, of whatever kind, and write that; nothing is left running behind it."""
        try:
            broken = await self._outcome(events)
            self._out.put_last(self._retracted() + self._written_end(broken))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client must not wait for ever
            _log.error("an exchange ended in %s", type(error).__name__)
        finally:
            await self._leave(self._judging.values())
            await self._told_end()
            self._out.close()

    async def _outcome(self, events: AsyncGenerator[ServerSentEvent]) -> Exception | None:
        """Return what went wrong, if anything did."""
        reading = self._reading = asyncio.create_task(self._read(events))
        if self._reason:
            reading.cancel()
        try:
            await asyncio.wait([reading])
        finally:
            await self._leave([reading])
            await _closed(events)
        if reading.cancelled() or not reading.done():
            return None
        error = reading.exception()
        if isinstance(error, UPSTREAM):
            # What the upstream did say is judged and shown; behind it stands an error, never a `stop`.
            ending = self._reading = asyncio.create_task(self._finish(tuple(self._feeds)))
            try:
                await asyncio.wait([ending])
            finally:
                await self._leave([ending])
        elif isinstance(error, Exception):
            self._failed = self._failed or error
        return error if isinstance(error, Exception) else None

    def _written_end(self, broken: Exception | None) -> bytes:
        """Return the last bytes of an exchange that did not come to the end that the upstream gave it."""
        wire = self._wire
        if self._ended:
            return b""
        if wire.is_over:
            return wire.write_end(None)
        if self._failed is not None:
            _log.error("the guard of an exchange failed with %s", type(self._failed).__name__)
            return wire.write_error("guard_error", "the guard failed; what was not judged is not shown")
        if self._reason:
            return wire.write_halt(None, self._told_halt(None, self._reason)) + wire.write_end(None)
        return b"" if broken is None else wire.write_error("upstream_error", str(broken))

    def _retracted(self) -> bytes:
        """Take back what was shown and will not be judged any more."""
        return b"" if self._optimism is None else self._optimism.retract()

    async def _told_end(self) -> None:
        """Tell who wants to know; it may not hold up the end."""
        if self._optimism is not None and self._at_end is not None:
            await asyncio.wait([asyncio.ensure_future(self._at_end(self._optimism))], timeout=CLOSING_SECONDS)

    async def _leave(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        """End tasks; one that does not end in time is left behind, and can show nothing any more."""
        left = [task for task in tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=CLOSING_SECONDS)

    # --- reading ----------------------------------------------------------------------------------------------

    async def _read(self, events: AsyncGenerator[ServerSentEvent]) -> None:
        """Read the upstream to its end, or to where nothing more may be shown."""
        async for event in events:
            for item in self._wire.read(event):
                await self._take(item)
                if isinstance(item, End):
                    return
        if not self._wire.is_complete:
            raise UpstreamBroke("the upstream ended in the middle of its answer")
        await self._take(End())

    async def _take(self, item: Item) -> None:
        if isinstance(item, Pass):
            await self._out.put(item.data)
        elif isinstance(item, Say):
            await self._say(item)
        elif isinstance(item, Finish):
            await self._finish(item.channels)
            if not any(map(self._wire.is_halted, item.channels)):
                await self._out.put(self._wire.write_finish(item))
        else:
            await self._finish(tuple(self._feeds))
            self._ended = True
            await self._out.put(self._wire.write_end(item))

    async def _say(self, item: Say) -> None:
        if self._wire.is_halted(item.channel):
            return
        feed = self._feeds.get(item.channel)
        if feed is None:
            if len(self._feeds) >= MOST_CHANNELS:
                raise UpstreamBroke(f"the upstream has more than {MOST_CHANNELS} texts open at once")
            feed = self._feeds[item.channel] = Feed(self._lagged)
            self._judging[item.channel] = asyncio.create_task(self._judge(item, feed))
        if self._optimism is not None and self._optimism.takes(item) and not self._is_closed(item.channel):
            await self._out.put(self._optimism.show(item))
        await feed.put(item.text)

    async def _finish(self, channels: tuple[Channel, ...]) -> None:
        """Wait until all that some channels said was judged."""
        for name in channels:
            if name in self._feeds:
                self._feeds[name].end()
                await asyncio.wait([self._judging[name]])
                self._feeds.pop(name, None)
                self._judging.pop(name, None)

    # --- judging ----------------------------------------------------------------------------------------------

    async def _judge(self, first: Say, feed: Feed) -> None:
        """Show what may be shown of a channel; where the guard fails, nothing more is shown of any."""
        try:
            await self._show(first, feed)
        except Exception as error:  # noqa: BLE001 - fail closed, whatever it is
            self._failed = self._failed or error
            self._interrupt()
        finally:
            feed.end()

    async def _show(self, first: Say, feed: Feed) -> None:
        name, opening = first.channel, first.opening
        async with contextlib.aclosing(self._guard(first, feed)) as stream:
            async for piece in stream:
                if self._is_closed(name):
                    return
                head, opening = opening() if opening else b"", None
                if data := head + self._written(first, piece):
                    await self._out.put(data)
        result = stream.result
        if opening and not result.halted and not self._is_closed(name):
            await self._out.put(opening())
        if not self._is_closed(name) and (data := self._settled(name, result)):
            await self._out.put(data)
            if result.halted and self._wire.is_over:
                self._interrupt()

    def _written(self, first: Say, piece: RepairPiece) -> bytes:
        """Return what a client gets of what the guard let go."""
        if self._optimism is not None and self._optimism.takes(first):
            return self._optimism.settle(first.channel, piece, self._describe(piece))
        return self._wire.write_text(first.channel, piece, self._describe(piece)) if piece.text else b""

    def _settled(self, name: Channel, result: RepairResult) -> bytes:
        """Return what a client gets where a guarded stream ends: nothing where all of it was let go."""
        taken = b""
        if self._optimism is not None:
            ends = functools.partial(self._wire.shares_end if result.halted else operator.eq, name)
            taken = self._optimism.retract(ends)
        if not result.halted:
            return taken
        return taken + self._wire.write_halt(name, self._told_halt(result, result.halt_reason))

    def _told_halt(self, result: RepairResult | None, reason: str) -> Mapping[str, Any]:
        """Return what a client may learn of a halt; where text was shown before it was judged, that, too."""
        told = self._describe_halt(result, reason)
        return told if self._optimism is None else {**told, "shown_before_judged": True}

    def _is_closed(self, channel: Channel) -> bool:
        """Whether nothing of a channel may be shown any more, because of itself or of all."""
        return self._failed is not None or bool(self._reason) or self._wire.is_halted(channel)


async def _closed(events: AsyncGenerator[ServerSentEvent]) -> None:
    """Close the upstream; one that cannot be closed in time is left behind."""
    closing = asyncio.ensure_future(events.aclose())
    await asyncio.wait([closing], timeout=CLOSING_SECONDS)
    if not closing.done():
        closing.cancel()
    elif not closing.cancelled():
        closing.exception()
