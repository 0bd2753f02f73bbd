"""Walking through what an action is called with: every value once, within limits."""

from __future__ import annotations

import datetime
import functools
import math
import numbers
import re
from collections.abc import Mapping
from decimal import Decimal
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from director_ai.errors import PayloadError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Leaf", "key_words", "walk_arguments"]

MOST_DEPTH: Final = 32
MOST_VALUES: Final = 10_000
MOST_CHARACTERS: Final = 1_000_000
_WRITTEN: Final = (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    PurePath,
    UUID,
    datetime.date,
    datetime.time,
    datetime.timedelta,
)
"""What is read as it is written."""
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")


class Leaf(NamedTuple):
    """A value that holds no others."""

    key: str
    """The name that it stands under, also where it stands in a list."""
    value: str | bool | int | float | None
    place: str
    is_readable: bool = True
    """False: a value of a type that could be anything, or a number that is none."""


class TooLarge(PayloadError):
    """There is more than is looked at."""


@functools.lru_cache(maxsize=2_048)
def _words_of(key: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _CAMEL.split(key) if word)


def key_words(key: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `baseUrl` and `BASE_URL` have the same."""
    return _words_of(key[:200])


def walk_arguments(arguments: Mapping[Any, Any]) -> Iterator[Leaf]:
    """Yield every value and every key; raise TooLarge where there are too many."""
    left = [MOST_VALUES, MOST_CHARACTERS]
    waiting: list[tuple[Any, str, str, int]] = [(arguments, "", "arguments", 0)]
    while waiting:
        value, key, place, depth = waiting.pop()
        left[0] -= 1
        if depth > MOST_DEPTH or left[0] < 0:
            raise TooLarge("the arguments of an action hold too much to be examined")
        if isinstance(value, Mapping):
            for name, inner in dict.items(value) if isinstance(value, dict) else value.items():
                own = _name_of(name)
                _spend(left, own, len(waiting))
                yield Leaf("", own, place, is_readable=isinstance(name, str | int | float | None))
                waiting.append((inner, own, f"{place}.{own[:64]}", depth + 1))
        elif isinstance(value, list | tuple | set | frozenset):
            for at, inner in enumerate(value):
                _spend(left, "", len(waiting))
                waiting.append((inner, key, f"{place}[{at}]", depth + 1))
        else:
            plain = _plain(value)
            if isinstance(plain, str):
                _spend(left, plain)
            yield Leaf(key, plain, place, is_readable=value is None or plain is not None)


def _spend(left: list[int], text: str, waiting: int = 0) -> None:
    left[1] -= len(text)
    if left[1] < 0 or waiting > left[0]:
        raise TooLarge("the arguments of an action hold too much to be examined")


def _name_of(name: object) -> str:
    if isinstance(name, str):
        return str.__str__(name)
    return str(name) if type(name) in (int, float, bool, type(None)) else ""


def _plain(value: object) -> str | bool | int | float | None:
    """Return a value of a plain type that says the same; None for what could say anything."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # a subclass may answer differently the next time it is asked
    if isinstance(value, bytes | bytearray):
        if len(value) > MOST_CHARACTERS:
            raise TooLarge("the arguments of an action hold too much to be examined")
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real | Decimal):
        return float(value) if math.isfinite(value) else None
    return str(value) if isinstance(value, _WRITTEN) else None
