"""Running simulations side by side on threads, each and all held to a time limit, with answers in order."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from director_ai.hooks.trajectory.rollouts import Rollout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Crews", "Simulated"]

_Outcome = tuple[int, bool, Any]
"""Which simulation it was, whether it returned, and what it returned or raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What came of the simulations, in the order of their seeds, up to where the rest no longer mattered."""

    rollouts: tuple[Rollout, ...]
    is_late: bool = False
    """Whether time was up before the outcome was certain."""
    is_busy: bool = False
    """Whether nothing was run, as all threads are still at work or hang."""


class Crews:
    """Threads for simulations; those that hang are left to themselves, and too many of them refuse further work."""

    def __init__(self, *, workers: int, most: int, each: float, total: float) -> None:
        self._workers, self._most, self._each, self._total = workers, most, each, total
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def run(
        self,
        simulate: Callable[[int], Rollout],
        seeds: Sequence[int],
        is_settled: Callable[[Sequence[Rollout]], bool],
    ) -> Simulated:
        """Simulate each seed; the outcome does not depend on how many run at a time."""
        crew = _Crew(simulate, seeds)
        try:
            # Where others need the threads, fewer of them do: that changes how long it takes, and nothing else.
            if not sum(self.hire(crew) for _ in range(min(self._workers, len(seeds)))):
                return Simulated(rollouts=(), is_busy=True)
            return self._gather(crew, len(seeds), is_settled)
        finally:
            crew.dismiss()

    def hire(self, crew: _Crew) -> bool:
        """Start one more thread; not where too many are still at work."""
        with self._lock:
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if len(self._threads) >= self._most:
                return False
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(crew.work,), name="director-ai-preflight", daemon=True)
            self._threads.append(thread)
            thread.start()
            return True

    def _gather(self, crew: _Crew, count: int, is_settled: Callable[[Sequence[Rollout]], bool]) -> Simulated:
        end = time.monotonic() + self._total
        found: dict[int, Rollout] = {}
        inorder: list[Rollout] = []
        while len(inorder) < count:
            now = time.monotonic()
            if now >= end:
                return Simulated(rollouts=tuple(inorder), is_late=True)
            for index in crew.write_off(now - self._each):
                found[index] = Rollout.failed("actor_timeout")
                self.hire(crew)
            if len(inorder) not in found:
                self._take(crew, found, min(end, crew.first_due(self._each, default=end)) - time.monotonic())
            while len(inorder) in found:
                inorder.append(found.pop(len(inorder)))
                # Judged one by one: which answer came first must not decide where to stop.
                if is_settled(inorder):
                    return Simulated(rollouts=tuple(inorder))
        return Simulated(rollouts=tuple(inorder))

    @staticmethod
    def _take(crew: _Crew, found: dict[int, Rollout], seconds: float) -> None:
        try:
            index, returned, value = crew.answers.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return
        if not returned:
            raise value
        if crew.close(index):
            found[index] = value


class _Crew:
    """The threads of one run: they take seeds in order and hand in what came of them."""

    def __init__(self, simulate: Callable[[int], Rollout], seeds: Sequence[int]) -> None:
        self._simulate, self._seeds = simulate, seeds
        self._lock = threading.Lock()
        self._next = 0
        self._running: dict[int, float] = {}
        self._given_up: set[int] = set()
        self.answers: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()

    def work(self) -> None:
        """Simulate until nothing is left, or until this thread was written off."""
        while True:
            with self._lock:
                index = self._next
                if index >= len(self._seeds):
                    return
                self._next += 1
                self._running[index] = time.monotonic()
            try:
                outcome: _Outcome = (index, True, self._simulate(self._seeds[index]))
            except BaseException as error:  # noqa: BLE001 - carried to the waiting side: only interrupts come here
                outcome = (index, False, error)
            self.answers.put(outcome)
            with self._lock:
                if index in self._given_up:
                    return  # another thread was hired in its place

    def write_off(self, before: float) -> list[int]:
        """Give up those that began before a time; return which."""
        with self._lock:
            late = [index for index, began in self._running.items() if began <= before]
            for index in late:
                del self._running[index]
            self._given_up.update(late)
            return late

    def first_due(self, each: float, *, default: float) -> float:
        """Return when the first of those that run is to be given up."""
        with self._lock:
            return min(self._running.values(), default=default - each) + each

    def close(self, index: int) -> bool:
        """Whether an answer is still waited for; asked once."""
        with self._lock:
            return self._running.pop(index, None) is not None

    def dismiss(self) -> None:
        """Let nobody begin anything more."""
        with self._lock:
            self._next = len(self._seeds)
