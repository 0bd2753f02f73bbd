"""A server under uvicorn: it begins to listen, and ends in an orderly way when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import ConfigError, MissingExtra
from director_ai.serve.app import create_app

try:
    import uvicorn
except ImportError:
    raise MissingExtra("the server", extra="server") from None

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.serve.server import Server

__all__ = ["Running", "listen", "run"]

HEAD_SECONDS: Final = 30.0
"""In which the head of a request must have come: a connection that only trickles is closed."""
TICKS: Final = 5
"""Between two looks at the connections; a tick is a tenth of a second."""
SEND_BUFFER: Final = 64 * 1024
"""Bytes that the system keeps for a client that does not read; left to itself it takes megabytes."""
AFTER_GRACE: Final = 5
"""Seconds in which streams that were ended must be gone."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that waits for connections, or say why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # accepted connections inherit it
        bound.bind((host.strip("[]"), port))
        bound.listen(2_048)
    except OSError as error:
        bound.close()
        raise ConfigError(f"port {port} of {host} cannot be used ({error.strerror}); choose another") from None
    return bound


class Running(uvicorn.Server):
    """Stops accepting when it is told to end, gives open streams their grace, and ends what is left as halted."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._idle: dict[Any, tuple[Any, float]] = {}
        """Connections between two requests: behind which one, and since when."""
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
        ending = asyncio.create_task(self._end_streams())
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()

    async def _end_streams(self) -> None:
        await asyncio.sleep(self.server.settings.grace)
        self.server.close_streams()


def run(server: Server, bound: socket.socket) -> None:
    """Serve until a signal says to end."""
    with bound, server:  # whoever is pressed to end at once closes the databases all the same
        Running(server).run(sockets=[bound])
