"""Carrying out what a repair asks for: functions that are synchronous or not, for one thing or for several at once."""

from __future__ import annotations

import inspect
import itertools
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.lowlevel

from director_ai.core.ranges import LONGEST_SECONDS
from director_ai.core.runtime.drive import AsyncCalls, SyncCalls
from director_ai.core.runtime.plan import Late
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from director_ai.core.checks.answers import Outcome

__all__ = ["SLOW", "AsyncPerformer", "Injected", "SyncPerformer", "is_async"]

SLOW: Final = frozenset({"rewrite", "retrieve", "judge"})
"""While these are asked for, the stream is read on."""
_SIDE_BY_SIDE: Final = 8
_TURN: Final = 0.01
"""Seconds of quick calls after which others get a turn."""
Ask = tuple[str, tuple[Any, ...]]


def is_async(function: object) -> bool:
    """Whether a function returns an awaitable, as far as that can be seen."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - the method itself is wanted


@dataclass(frozen=True, slots=True)
class Injected:
    """A function that answers one kind of question."""

    function: Callable[..., Any]
    batched: bool = False
    """It takes lists and returns one."""
    single: bool = False
    """It is asked as a whole: what it returns is the answer, not one answer for each thing."""

    @property
    def is_quick(self) -> bool:
        """Whether it says of itself that it only computes: it is called in place then, and no thread waits for it."""
        return getattr(self.function, "is_quick", False) is True

    def arguments(self, what: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return the arguments of each call that a question takes."""
        if self.single:
            return [what]
        (items,) = what
        each = [item if isinstance(item, tuple) else (item,) for item in items]
        return [tuple(map(list, zip(*each, strict=True)))] if self.batched else each

    def read(self, what: tuple[Any, ...], outcomes: list[Outcome]) -> Outcome:
        """Return the answer to a question out of what its calls gave."""
        if self.single:
            return outcomes[0]
        if not self.batched:
            return True, outcomes
        (items,), (answered, values) = what, outcomes[0]
        if not answered:
            return True, [(False, values)] * len(items)
        return True, [(True, value) for value in _one_for_each(values, len(items))]


def _one_for_each(values: Any, count: int) -> list[Any]:
    """Return the items of a list or array where there are as many as were asked for; otherwise no answer to any."""
    try:
        is_list = hasattr(values, "__len__") and not isinstance(values, str | bytes | bytearray | Mapping | Set)
        found = list(itertools.islice(values, count + 1)) if is_list else []
    except Exception:  # noqa: BLE001 - a foreign function may answer with anything
        found = []
    return found if len(found) == count else [None] * count


class SyncPerformer:
    """Calls functions in place or, with a deadline, on a thread that is left behind where one of them hangs."""

    def __init__(self, functions: Mapping[str, Injected], deadline: float | None) -> None:
        self._functions, self._deadline = functions, deadline
        self._calls = self._fresh()

    def _fresh(self) -> SyncCalls:
        return SyncCalls(each=self._deadline, total=None, clock=time.monotonic)

    def __call__(self, ask: Ask) -> Outcome:
        """Return what came of a question."""
        kind, what = ask
        injected = self._functions[kind]
        call = _call_in_place if injected.is_quick else self._call
        outcomes = [call(kind, injected.function, args) for args in injected.arguments(what)]
        return injected.read(what, outcomes)

    def _call(self, kind: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
        try:
            answer = self._calls.bind(kind, function)(*args)
        except Late as late:
            self._calls.leave()
            self._calls = self._fresh()
            return False, late
        except BaseException as error:  # noqa: BLE001 - what a failure means is for the plan to say
            return False, error
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            return False, ConfigError("an asynchronous function needs astream() or arepair()")
        return True, answer

    def leave(self) -> None:
        """Let the thread end."""
        self._calls.leave()


class AsyncPerformer:
    """Awaits what is asynchronous, several at a time; slow functions that are not go to a thread."""

    def __init__(self, functions: Mapping[str, Injected], deadline: float | None) -> None:
        self._functions = {kind: _awaiting(injected) for kind, injected in functions.items()}
        self._deadline = deadline
        self._calls: dict[bool, AsyncCalls] = {}
        self._since = time.monotonic()

    def _calls_of(self, kind: str) -> AsyncCalls:
        """Return who calls the functions of a kind; where one may take long, with a time limit and so on a thread."""
        is_slow = kind in SLOW
        if is_slow not in self._calls:
            each = self._deadline or (LONGEST_SECONDS if is_slow else None)
            self._calls[is_slow] = AsyncCalls(each=each, total=None, clock=time.monotonic)
        return self._calls[is_slow]

    async def __call__(self, ask: Ask) -> Outcome:
        """Return what came of a question."""
        kind, what = ask
        injected = self._functions[kind]
        arguments = injected.arguments(what)
        if injected.is_quick:
            outcomes = [_call_in_place(kind, injected.function, args) for args in arguments]
            await self._give_way()
        elif len(arguments) == 1 or not is_async(injected.function):
            outcomes = [await self._call(kind, injected.function, args) for args in arguments]
        else:
            outcomes = await self._side_by_side(kind, injected.function, arguments)
        return injected.read(what, outcomes)

    async def _give_way(self) -> None:
        """Let others have the event loop if this stream has had it for long: reading a long clause takes a while."""
        if time.monotonic() - self._since > _TURN:
            await anyio.lowlevel.checkpoint()
            self._since = time.monotonic()

    async def _side_by_side(
        self, kind: str, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Outcome]:
        outcomes: list[Outcome] = [(False, RuntimeError("not asked"))] * len(arguments)
        limit = anyio.CapacityLimiter(_SIDE_BY_SIDE)

        async def ask(place: int) -> None:
            async with limit:
                outcomes[place] = await self._call(kind, function, arguments[place])

        async with anyio.create_task_group() as group:
            for place in range(len(arguments)):
                group.start_soon(ask, place)
        return outcomes

    async def _call(self, kind: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
        try:
            return True, await self._calls_of(kind).bind(kind, function)(*args)
        except anyio.get_cancelled_exc_class():
            raise
        except Late as late:
            self._calls.pop(kind in SLOW).leave()
            return False, late
        except BaseException as error:  # noqa: BLE001 - as above
            return False, error

    def leave(self) -> None:
        """Let the thread end."""
        for calls in self._calls.values():
            calls.leave()


def _call_in_place(_kind: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    try:
        return True, function(*args)
    except BaseException as error:  # noqa: BLE001 - as above
        return False, error


def _awaiting(injected: Injected) -> Injected:
    """Return a function as it is called here: by its asynchronous form, where it has one."""
    return Injected(getattr(injected.function, "acall", injected.function), injected.batched, injected.single)
