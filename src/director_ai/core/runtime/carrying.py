"""Carrying out a plan that only asks: each question is answered, or the plan is told what an attempt raised."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

__all__ = ["acarry_out", "carry_out"]

Result = TypeVar("Result")


def carry_out(plan: Generator[tuple[Any, tuple[Any, ...]], Any, Result], act: Callable[..., Any]) -> Result:
    """Do what a plan asks by `act(kind, parts)`, and return what it comes to."""
    with contextlib.closing(plan):
        try:
            ask = next(plan)
            while True:
                try:
                    answer = act(*ask)
                except BaseException as error:  # noqa: BLE001 - what a failure means is for the plan to say
                    ask = plan.throw(_for_plan(error))
                else:
                    ask = plan.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result


async def acarry_out(
    plan: Generator[tuple[Any, tuple[Any, ...]], Any, Result], act: Callable[..., Awaitable[Any]]
) -> Result:
    """Do what a plan asks, awaiting each answer."""
    with contextlib.closing(plan):
        try:
            ask = next(plan)
            while True:
                try:
                    answer = await act(*ask)
                except BaseException as error:  # noqa: BLE001 - as above
                    ask = plan.throw(_for_plan(error))
                else:
                    ask = plan.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result


def _for_plan(error: BaseException) -> BaseException:
    """Somebody's GeneratorExit is a failure like any other; thrown as it is, it would close the plan."""
    return RuntimeError("GeneratorExit") if isinstance(error, GeneratorExit) else error
