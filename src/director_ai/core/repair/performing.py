"""Carrying out what a repair asks for: functions that are synchronous or not, for one thing or for several at once."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio

from director_ai.core.runtime.drive import AsyncCalls, SyncCalls
from director_ai.core.runtime.plan import Late
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from director_ai.core.checks.answers import Outcome

__all__ = ["SLOW", "AsyncPerformer", "Injected", "SyncPerformer", "is_async"]

SLOW: Final = frozenset({"rewrite", "retrieve"})
"""While these are asked for, the stream is read on."""
_SIDE_BY_SIDE: Final = 8
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
        if answered and (not isinstance(values, Sequence) or isinstance(values, str) or len(values) != len(items)):
            answered, values = True, [None] * len(items)  # no answer to any of them
        return True, [(answered, value) for value in (values if answered else [values] * len(items))]


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
        outcomes = [self._call(kind, injected.function, args) for args in injected.arguments(what)]
        return injected.read(what, outcomes)

    def _call(self, kind: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
        try:
            answer = self._calls.bind(kind, function)(*args)
        except Late as late:
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
        self._calls.close(lambda: None)


class AsyncPerformer:
    """Awaits what is asynchronous, several at a time; slow functions that are not go to a thread."""

    def __init__(self, functions: Mapping[str, Injected], deadline: float | None) -> None:
        self._functions = {kind: _awaiting(kind, injected) for kind, injected in functions.items()}
        self._deadline = deadline
        self._calls = self._fresh()

    def _fresh(self) -> AsyncCalls:
        return AsyncCalls(each=self._deadline, total=None, clock=time.monotonic)

    async def __call__(self, ask: Ask) -> Outcome:
        """Return what came of a question."""
        kind, what = ask
        injected = self._functions[kind]
        arguments = injected.arguments(what)
        if len(arguments) == 1 or not is_async(injected.function):
            outcomes = [await self._call(kind, injected.function, args) for args in arguments]
        else:
            outcomes = await self._side_by_side(kind, injected.function, arguments)
        return injected.read(what, outcomes)

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
            return True, await self._calls.bind(kind, function)(*args)
        except anyio.get_cancelled_exc_class():
            raise
        except Late as late:
            self._calls = self._fresh()
            return False, late
        except BaseException as error:  # noqa: BLE001 - as above
            return False, error

    async def leave(self) -> None:
        """Let the thread end."""
        await self._calls.close(lambda: None, awaits=False)


def _awaiting(kind: str, injected: Injected) -> Injected:
    """Return a function as it is called here: by its asynchronous form, or on a thread where it may take long."""
    function = getattr(injected.function, "acall", None) or injected.function
    if kind == "rewrite" and not is_async(function):
        function = functools.partial(_on_thread, function)
    return Injected(function, injected.batched, injected.single)


async def _on_thread(function: Callable[..., Any], *args: Any) -> Any:
    found: Awaitable[Any] | Any = await anyio.to_thread.run_sync(function, *args, abandon_on_cancel=True)
    return await found if inspect.isawaitable(found) else found
