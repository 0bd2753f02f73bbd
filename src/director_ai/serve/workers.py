"""Several processes that serve on one socket: they are started, replaced when they die, and ended together."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import ConfigError, DirectorError
from director_ai.record.metrics import counted_together, forget_together, leave_place, take_place
from director_ai.serve.turns import NOBODY, Turns

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    Serve = Callable[[socket.socket, Callable[[], None], Turns], None]
    """Serves on a socket until a signal says to end, whenever it is its turn; it says when it is ready."""

__all__ = ["run_workers"]

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 30.0
"""Seconds before a worker that died is replaced; each that dies young doubles them."""
YOUNG: Final = 60.0
AFTER_GRACE: Final = 15.0
"""Seconds behind the grace in which a worker must have ended."""
READY: Final = ""
_SPAWN: Final = multiprocessing.get_context("spawn")
_log: Final = logging.getLogger(__name__)


def run_workers(
    serve: Serve, bound: socket.socket, count: int, *, grace: float, ready: Callable[[], None] = lambda: None
) -> None:
    """Serve by as many processes until a signal says to end; whichever has least to do takes the next connection.

    What keeps a worker from starting the first time is raised; later on, it is logged and tried again.
    """
    with counted_together() as folder, _heard_signals() as heard:
        counts = _SPAWN.RawArray("i", [NOBODY] * count)
        workers = [_Worker(Turns(counts, place), place, serve, bound, folder) for place in range(count)]
        try:
            _watch(workers, heard, ready)
        finally:
            bound.close()  # whoever comes now is refused rather than left to wait
            _end([worker.process for worker in workers if worker.process is not None], heard, grace)


class _Worker:
    """A place among the workers, and the process that has it now."""

    def __init__(self, turns: Turns, place: int, serve: Serve, bound: socket.socket, folder: str) -> None:
        self._turns, self._place, self._serve, self._bound, self._folder = turns, place, serve, bound, folder
        self.process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._began, self._young_deaths = 0.0, 0
        self.is_ready, self._trouble = False, ""
        self.due = 0.0
        """When the next process is to start, where there is none."""

    def start(self) -> None:
        """Start a process; it lives no longer than its end of a pipe is held here."""
        self._pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_work, args=(self._serve, self._bound, theirs, self._turns, self._place))
        with theirs:
            self.process.start()
        self._began, self.is_ready, self._trouble = time.monotonic(), False, ""

    def signs(self) -> list[Any]:
        """Return what says that something happened to it."""
        if self.process is None:
            return []
        return [self.process.sentinel, *([] if self.is_ready else [self._pipe])]

    def look(self) -> str:
        """Take what the process says of itself, or that it ended; return why it cannot start, where it says so."""
        if self.process is None or self._pipe is None:
            return ""
        with contextlib.suppress(EOFError, OSError):
            if self._pipe.poll():
                self._trouble = str(self._pipe.recv())
                self.is_ready = self._trouble == READY
        if not self.process.is_alive():
            self._pipe.close()
            self._bury(self.process)
        return self._trouble

    def _bury(self, process: SpawnProcess) -> None:
        self._young_deaths = self._young_deaths + 1 if time.monotonic() - self._began < YOUNG else 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._young_deaths - 1, 16))
        told = self._trouble or f"exit code {process.exitcode}"
        _log.error("worker %d (process %s) ended: %s; another starts in %.1f s", self._place, process.pid, told, pause)
        process.close()
        leave_place(self._place, self._folder)
        self._turns.leave()
        self.process, self.due, self.is_ready = None, time.monotonic() + pause, False


def _watch(workers: list[_Worker], heard: Connection, ready: Callable[[], None]) -> None:
    """Keep the workers alive until a signal is heard."""
    came_up = False
    while not heard.poll():
        now = time.monotonic()
        for worker in workers:
            if worker.process is None and worker.due <= now:
                worker.start()
        pauses = [worker.due - now for worker in workers if worker.process is None]
        wait([heard, *(sign for worker in workers for sign in worker.signs())], min(pauses, default=None))
        for worker in workers:
            trouble = worker.look()
            if trouble and not came_up:
                raise ConfigError(trouble)
        if not came_up and all(worker.is_ready for worker in workers):
            came_up = True
            ready()
    heard.recv()


def _end(processes: list[SpawnProcess], heard: Connection, grace: float) -> None:
    """Tell all to end, wait as long as they may take, and kill the rest; whoever presses Ctrl-C again hurries them."""
    for process in processes:
        process.terminate()
    until = time.monotonic() + grace + AFTER_GRACE
    while (alive := [each for each in processes if each.is_alive()]) and (left := until - time.monotonic()) > 0:
        if heard in wait([heard, *(each.sentinel for each in alive)], left) and heard.recv() == signal.SIGINT:
            for each in alive:
                os.kill(each.pid or 0, signal.SIGINT)
    for process in processes:
        process.kill()
        process.join()


@contextlib.contextmanager
def _heard_signals() -> Iterator[Connection]:
    """Have the signals that end a process come out of a pipe."""
    heard, said = _SPAWN.Pipe(duplex=False)
    before = {
        each: signal.signal(each, lambda number, _: said.send(number)) for each in (signal.SIGINT, signal.SIGTERM)
    }
    with heard, said:
        try:
            yield heard
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def _work(serve: Serve, bound: socket.socket, pipe: Connection, turns: Turns, place: int) -> None:
    """Be a worker."""
    take_place(place)
    threading.Thread(target=_end_with_parent, args=(pipe,), daemon=True).start()
    try:
        serve(bound, lambda: pipe.send(READY), turns)
    except DirectorError as error:
        pipe.send(str(error))
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(0) from None


def _end_with_parent(pipe: Connection) -> None:
    """End this process in order when the parent is gone, however it went."""
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()  # nothing is ever sent
    forget_together()
    os.kill(os.getpid(), signal.SIGTERM)
