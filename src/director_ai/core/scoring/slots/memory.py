"""Keeps what is found in a reading with that reading: evidence is read once and compared with many clauses."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["kept"]

T = TypeVar("T")
Where = TypeVarTuple("Where")


def kept(find: Callable[[Reading, *Where], T]) -> Callable[[Reading, *Where], T]:
    """Have a function of a reading, and of tokens or sentences in it, look but once; what it finds is not to change."""

    @wraps(find)
    def find_once(reading: Reading, *where: *Where) -> T:
        key = (find, *where)
        try:
            found: T = reading.memory[key]
        except KeyError:
            found = reading.memory[key] = find(reading, *where)
        return found

    return find_once
