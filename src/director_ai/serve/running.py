"""A server under uvicorn: it begins to listen, and ends in an orderly way when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import MissingExtra
from director_ai.serve.app import create_app
from director_ai.serve.listening import listen

try:
    import uvicorn
except ImportError:
    raise MissingExtra("the server", extra="server") from None

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.serve.server import Server
    from director_ai.serve.turns import Turns

__all__ = ["Running", "listen", "run"]

HEAD_SECONDS: Final = 30.0
"""In which the head of a request must have come: a connection that only trickles is closed."""
TICKS: Final = 5
"""Between two looks at the connections; a tick is a tenth of a second."""
AFTER_GRACE: Final = 5
"""Seconds in which streams that were ended must be gone."""
AFTER_OTHERS: Final = 0.005
"""Seconds that another worker has to come first."""
AFTER_ERROR: Final = 0.1
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_log: Final = logging.getLogger(__name__)


class Running(uvicorn.Server):
    """Stops accepting when it is told to end, gives open streams their grace, and ends what is left as halted."""

    def __init__(self, server: Server, turns: Turns | None = None, *, is_alone: bool = False) -> None:
        self.server, self._turns = server, turns
        self._is_to_settle = is_alone
        """Whether what is loaded by now is still to be put out of the garbage collector's way."""
        self._idle: dict[Any, tuple[Any, float]] = {}
        """Connections between two requests: behind which one, and since when."""
        self._accepting: list[asyncio.Task[None]] = []
        super().__init__(
            uvicorn.Config(
                create_app(server),
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=True,
                timeout_graceful_shutdown=int(server.settings.grace) + AFTER_GRACE,
                timeout_keep_alive=30,
                h11_max_incomplete_event_size=64 * 1024,
                lifespan="on",
                ws="none",
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept: all that come, or as one of several workers, when it is its turn."""
        await super().startup(sockets if self._turns is None else [])
        if self._turns is not None:
            self._accepting = [asyncio.create_task(self._take_turns(each, self._turns)) for each in sockets or ()]

    async def _take_turns(self, bound: socket.socket, turns: Turns) -> None:
        """Accept whoever comes, one by one; where there is no room, or less to do elsewhere, after the others."""
        loop = asyncio.get_running_loop()
        bound.setblocking(False)
        while True:
            turns.note(len(self.server_state.connections))
            await _until_readable(bound)
            if self.server.is_full or turns.is_anothers:
                await asyncio.sleep(AFTER_OTHERS)
            try:
                connection, _ = bound.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await loop.connect_accepted_socket(self._protocol, connection)
            except BlockingIOError:  # another one did
                continue
            except OSError as error:  # whoever came has left, or too many files are open
                _log.warning("a connection could not be accepted (%s)", error.strerror)
                await asyncio.sleep(AFTER_ERROR)

    def _protocol(self) -> Any:
        return self.config.http_protocol_class(  # type: ignore[call-arg]  # as uvicorn does it
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that end a process; afterwards it ends with status 0, not by the signal again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections; whether it is time to end."""
        if self._turns is not None:
            self._turns.note(len(self.server_state.connections))
            self.should_exit |= any(task.done() for task in self._accepting)  # another worker can do what this cannot
        if self._is_to_settle and self.server.is_warm:
            # Looking through all that never goes away is what makes the slowest clauses slow.
            self._is_to_settle = False
            gc.collect()
            gc.freeze()
        if counter % TICKS == 0:
            self._close_silent(time.monotonic())
        return await super().on_tick(counter)

    def _close_silent(self, now: float) -> None:
        """Close connections that have been about to ask for too long."""
        waiting = {}
        for connection in self.server_state.connections:
            cycle = getattr(connection, "cycle", None)
            if cycle is not None and not cycle.response_complete:
                continue
            known, since = self._idle.get(connection, (cycle, now))
            waiting[connection] = (cycle, since if known is cycle else now)
            if now - waiting[connection][1] > HEAD_SECONDS:
                connection.transport.close()
        self._idle = waiting

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let nobody in, wait for the open streams as long as the grace lasts, and end the rest."""
        self.server.refuse_new()
        if self._turns is not None:
            self._turns.leave()
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        ending = asyncio.create_task(self._end_streams())
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()

    async def _end_streams(self) -> None:
        await asyncio.sleep(self.server.settings.grace)
        self.server.close_streams()


def run(server: Server, bound: socket.socket, turns: Turns | None = None) -> None:
    """Serve until a signal says to end; with turns, as one of several workers."""
    with bound, server:  # whoever is pressed to end at once closes the databases all the same
        Running(server, turns, is_alone=True).run(sockets=[bound])


async def _until_readable(bound: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    loop.add_reader(bound.fileno(), came.set)
    try:
        await came.wait()
    finally:
        loop.remove_reader(bound.fileno())
