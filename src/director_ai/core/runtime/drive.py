"""Acting for the core: two drivers that carry out a plan, and calls held to a time limit where one was asked for.

This is the only module of the core that knows threads and `await`. Without limits a bound call is the plain function,
so that nobody pays for what nobody asked for.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import queue
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.from_thread
import anyio.lowlevel

from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.plan import Late
from director_ai.core.runtime.session import TokenEvent

if TYPE_CHECKING:
    from director_ai.core.runtime.plan import Plan

__all__ = ["Actions", "AsyncCalls", "HelperThread", "SyncCalls", "adrive", "close_quietly", "drive"]

CLOSING_SECONDS: Final = 0.2
"""How long a source may take to be closed where time is limited, or where the reader was cancelled."""
_ASKS_BETWEEN_CHECKPOINTS: Final = 64

Actions = Mapping[str, Callable[..., Any]]
"""For each kind of ask but `release`, the function that does it."""


Show = Callable[[int, int], Iterable[TokenEvent]]
"""Makes the events of released tokens."""


def drive(plan: Plan, actions: Actions, show: Show) -> Generator[TokenEvent]:
    """Do what a plan asks and yield what it releases."""
    with contextlib.closing(plan), contextlib.suppress(StopIteration):
        kind, parts = next(plan)
        while True:
            if kind == "release":
                yield from show(*parts)
                kind, parts = next(plan)
                continue
            try:
                answer = actions[kind](*parts)
            except BaseException as error:  # noqa: BLE001 - what a failure means is for the plan to say
                kind, parts = plan.throw(_for_plan(error))
            else:
                kind, parts = plan.send(answer)


async def adrive(plan: Plan, actions: Actions, show: Show) -> AsyncGenerator[TokenEvent]:
    """Do what a plan asks, awaiting each answer, and yield what it releases."""
    asked = 0
    with contextlib.closing(plan), contextlib.suppress(StopIteration):
        kind, parts = next(plan)
        while True:
            asked += 1
            if asked % _ASKS_BETWEEN_CHECKPOINTS == 0:
                # Sources and callbacks that never wait would let nobody else run, and could not be cancelled.
                await anyio.lowlevel.checkpoint()
            if kind == "release":
                for event in show(*parts):
                    yield event
                kind, parts = next(plan)
                continue
            try:
                answer = await actions[kind](*parts)
            except BaseException as error:  # noqa: BLE001 - as above
                kind, parts = plan.throw(_for_plan(error))
            else:
                kind, parts = plan.send(answer)


def _for_plan(error: BaseException) -> BaseException:
    """A callback's GeneratorExit is a failure like any other; thrown as it is, it would close the plan."""
    return RuntimeError("GeneratorExit") if isinstance(error, GeneratorExit) else error


class _Limits:
    """How long the next call may take: its own limit, or what is left of the whole stream's."""

    def __init__(self, each: float | None, total: float | None, clock: Callable[[], float]) -> None:
        self._each = each
        self._total = total
        self._clock = clock
        self._end = None if total is None else clock() + total
        self.none = each is None and total is None

    def next(self, waited_for: str) -> tuple[float, Late]:
        """Return the seconds left, and the error to raise when they are over; raise it if they are over already."""
        each = self._each
        if self._end is None:
            return each or 0.0, Late(waited_for, each or 0.0)
        left = self._end - self._clock()
        if each is not None and each <= left:
            return each, Late(waited_for, each)
        late = Late("stream", self._total or 0.0)
        if left <= 0:
            raise late
        return left, late


class HelperThread:
    """One daemon thread that works off calls in order; one that hangs is left to itself and blocks no exit."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] | None = None

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...], deliver: Callable[[_Outcome], None]) -> None:
        """Call the function on the thread, in the caller's context, and deliver what came of it."""
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            threading.Thread(target=_work, args=(self._jobs,), name="director-ai-call", daemon=True).start()
        context = contextvars.copy_context()
        self._jobs.put(lambda: deliver(_outcome(context, function, args)))

    def leave(self) -> None:
        """Let the thread end when it is done with what it has."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None


_Outcome = tuple[bool, Any]
"""Whether a call returned, and what it returned or raised."""


def _work(jobs: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()


def _outcome(context: contextvars.Context, function: Callable[..., Any], args: tuple[Any, ...]) -> _Outcome:
    try:
        return True, context.run(function, *args)
    except BaseException as error:  # noqa: BLE001 - carried to the waiting side, which decides
        return False, error


def _unwrap(outcome: _Outcome) -> Any:
    returned, value = outcome
    if returned:
        return value
    raise value


class SyncCalls:
    """Calls functions in place or, where there is a time limit, on a helper thread of this stream."""

    def __init__(self, *, each: float | None, total: float | None, clock: Callable[[], float]) -> None:
        self._limits = _Limits(each, total, clock)
        self._helper = HelperThread()

    def bind(self, waited_for: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, held to the limits."""
        return function if self._limits.none else functools.partial(self._call, waited_for, function)

    def close(self, take: Callable[[], object]) -> None:
        """Close the token source that `take` returns, with a time limit if there is one; no further call will come."""
        if self._limits.none:
            close_quietly(take())
            return
        closed = threading.Event()
        # Behind whatever still hangs there: a generator can only be closed once its last call has returned, and a
        # source that is still being opened is only known once it is open.
        self._helper.submit(lambda: close_quietly(take()), (), lambda _: closed.set())
        closed.wait(CLOSING_SECONDS)
        self._helper.leave()

    def leave(self) -> None:
        """Let the thread end when it is done with what it has."""
        self._helper.leave()

    def _call(self, waited_for: str, function: Callable[..., Any], *args: Any) -> Any:
        seconds, late = self._limits.next(waited_for)
        answers: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
        self._helper.submit(function, args, answers.put)
        try:
            outcome = answers.get(timeout=seconds)
        except queue.Empty:
            raise late from None
        return _unwrap(outcome)


class AsyncCalls:
    """Awaits functions, synchronous or not; with a time limit, synchronous ones go to a helper thread."""

    def __init__(self, *, each: float | None, total: float | None, clock: Callable[[], float]) -> None:
        self._limits = _Limits(each, total, clock)
        self._helper = HelperThread()

    def bind(
        self, waited_for: str, function: Callable[..., Any], *, awaitable: bool | None = None, answers: bool = True
    ) -> Callable[..., Awaitable[Any]]:
        """Return the function as an asynchronous one, held to the limits.

        `awaitable` says whether it returns an awaitable, where that cannot be seen. What comes of it may be one again,
        and is awaited, unless it is no answer but a token, which is passed on whatever it is.
        """
        if awaitable is None:
            awaitable = _is_async(function)
        if not self._limits.none:
            return functools.partial(self._call, waited_for, function, awaitable, answers)
        return function if awaitable else functools.partial(_call_in_place, function, answers)

    async def close(self, take: Callable[[], object], *, awaits: bool) -> None:
        """Close the token source that `take` returns, also while being cancelled, but not for ever.

        `awaits` says that it is an asynchronous one. No further call will come.
        """
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            if awaits:
                await _aclose_quietly(take())
            elif self._limits.none:
                close_quietly(take())
            else:
                await self._call_on_helper(lambda: close_quietly(take()), ())
        self._helper.leave()

    def leave(self) -> None:
        """Let the thread end when it is done with what it has."""
        self._helper.leave()

    async def _call(
        self, waited_for: str, function: Callable[..., Any], awaitable: bool, answers: bool, *args: Any
    ) -> Any:
        seconds, late = self._limits.next(waited_for)
        with anyio.move_on_after(seconds) as scope:
            answer = await function(*args) if awaitable else await self._call_on_helper(function, args)
            if answers and inspect.isawaitable(answer):
                answer = await answer
        # Also where a callback swallowed the cancellation, or blocked the loop so that it never came.
        if scope.cancel_called or anyio.current_time() >= scope.deadline:
            raise late
        return answer

    async def _call_on_helper(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        arrived = anyio.Event()
        outcomes: list[_Outcome] = []
        loop = anyio.lowlevel.current_token()

        def deliver(outcome: _Outcome) -> None:
            outcomes.append(outcome)
            with contextlib.suppress(anyio.RunFinishedError):  # the loop is gone: nobody waits any more
                anyio.from_thread.run_sync(arrived.set, token=loop)

        self._helper.submit(function, args, deliver)
        await arrived.wait()
        return _unwrap(outcomes[0])


def close_quietly(source: object) -> None:
    """Close a source that can be closed; one that fails to is not worth losing the session for."""
    try:
        close = getattr(source, "close", None)
        if callable(close):
            close()
    except BaseException as error:  # interrupts pass, everything else has nothing to tell us
        if must_pass(error):
            raise


async def _aclose_quietly(source: object) -> None:
    try:
        aclose = getattr(source, "aclose", None)
        if callable(aclose):
            await aclose()
    except BaseException as error:
        if must_pass(error):
            raise


async def _call_in_place(function: Callable[..., Any], answers: bool, *args: Any) -> Any:
    answer = function(*args)
    return await answer if answers and inspect.isawaitable(answer) else answer


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - the method itself is wanted
