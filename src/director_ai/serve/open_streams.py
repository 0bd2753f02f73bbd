"""The answers that are in work now: counted, and ended at once where an operator or a revoked key says so."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from director_ai.errors import DirectorError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Set

    from director_ai.serve.callers import Caller

__all__ = ["AnswerEnded", "OpenStreams", "Waiting"]

T = TypeVar("T")
LEAVING_SECONDS: Final = 0.5
"""For work that was ended to leave; what takes longer is left behind, and can show nothing any more."""
_WHY: Final = {
    "key_revoked": "the key was revoked, or has ended, before the answer was there",
    "kill_switch": "answers are switched off by the operator",
    "shutdown": "the server is about to end; come again",
}


class AnswerEnded(DirectorError):
    """Somebody ended an answer of which nothing was shown yet; `reason` is one word."""

    def __init__(self, reason: str) -> None:
        super().__init__(_WHY.get(reason, "the answer was ended before it was there"))
        self.reason = reason


class Stoppable(Protocol):
    """What can be ended from outside."""

    def stop(self, reason: str) -> None:
        """End it now."""
        ...


class Waiting:
    """A client that waits for an answer: one that is not streamed, or a stream that has not begun."""

    def __init__(self) -> None:
        self._reason = ""
        self._stopped = asyncio.Event()

    def stop(self, reason: str) -> None:
        """End the work, and let the client know why."""
        self._reason = self._reason or reason
        self._stopped.set()

    async def unless_ended(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what comes of some work; it is cancelled, and AnswerEnded raised, where somebody ends it."""
        working, stopped = asyncio.create_task(work), asyncio.create_task(self._stopped.wait())
        working.add_done_callback(_noted)
        try:
            await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise AnswerEnded(self._reason)
        finally:
            working.cancel()
            stopped.cancel()
            await asyncio.wait([working, stopped], timeout=LEAVING_SECONDS)


def _noted(task: asyncio.Task[Any]) -> None:
    """Take note of how work ended that nobody waits for any more."""
    if not task.cancelled():
        task.exception()


def _nobody(_: int) -> None:
    """Hear nothing."""


class OpenStreams:
    """A register; it belongs to one event loop. Its length is the number of streams that have begun."""

    def __init__(self) -> None:
        self._open: dict[Stoppable, Caller] = {}
        self._waiting: dict[Stoppable, Caller] = {}
        self._killed: set[str] = set()
        """Tenants whose switch is off; `*` is everybody."""
        self._closed = ""
        """Why no stream may begin any more."""
        self._tell: Callable[[int], object] = _nobody

    def tell(self, listener: Callable[[int], object]) -> None:
        """Tell somebody how many streams are open, now and whenever that changes."""
        self._tell = listener
        listener(len(self))

    def __len__(self) -> int:
        return len(self._open)

    @contextlib.contextmanager
    def entered(self, exchange: Stoppable, caller: Caller) -> Iterator[None]:
        """Register a stream while it runs; one that was let in before a switch was turned ends at once."""
        try:
            with self._registered(self._open, exchange, caller):
                self._tell(len(self))
                yield
        finally:
            self._tell(len(self))

    @contextlib.contextmanager
    def waiting(self, caller: Caller) -> Iterator[Waiting]:
        """Register a client while it waits for its answer: it is no stream yet, and ends like one."""
        work = Waiting()
        with self._registered(self._waiting, work, caller):
            yield work

    @contextlib.contextmanager
    def _registered(self, among: dict[Stoppable, Caller], work: Stoppable, caller: Caller) -> Iterator[None]:
        among[work] = caller
        if self._closed or self.is_killed(caller.tenant_id):
            work.stop(self._closed or "kill_switch")
        try:
            yield
        finally:
            among.pop(work, None)

    def kill(self, tenant_id: str = "*") -> int:
        """End the answers of a tenant, or all, and let no new ones begin; return how many were ended."""
        self._killed.add(tenant_id)
        return self.stop("kill_switch", lambda caller: tenant_id in {"*", caller.tenant_id})

    def revive(self, tenant_id: str = "*") -> None:
        """Let answers begin again."""
        self._killed.discard(tenant_id)

    def follow(self, killed: Set[str]) -> int:
        """Turn the switches as they stand elsewhere; return how many answers were ended."""
        ended = sum(self.kill(tenant_id) for tenant_id in killed - self._killed)
        self._killed = set(killed)
        return ended

    def is_killed(self, tenant_id: str) -> bool:
        """Whether no answer of a tenant may begin."""
        return "*" in self._killed or tenant_id in self._killed

    def killed(self) -> list[str]:
        """Return whose switch is off."""
        return sorted(self._killed)

    def callers(self) -> list[Caller]:
        """Return whose answers are in work, each once."""
        return list({caller.caller_id: caller for _, caller in self._in_work()}.values())

    def count_by_tenant(self) -> dict[str, int]:
        """Return how many streams of each tenant are open."""
        counted: dict[str, int] = {}
        for caller in self._open.values():
            counted[caller.tenant_id] = counted.get(caller.tenant_id, 0) + 1
        return counted

    def close(self, reason: str) -> int:
        """End all answers and let none begin, for good; return how many were ended."""
        self._closed = reason
        return self.stop(reason)

    def stop(self, reason: str, whose: Callable[[Caller], bool] | None = None) -> int:
        """End answers, those that were begun as halted, and return how many."""
        ended = [work for work, caller in self._in_work() if whose is None or whose(caller)]
        for work in ended:
            work.stop(reason)
        return len(ended)

    def _in_work(self) -> list[tuple[Stoppable, Caller]]:
        return [*self._open.items(), *self._waiting.items()]
