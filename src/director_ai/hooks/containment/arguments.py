"""Walking through what an action is called with: every value once, within limits."""

from __future__ import annotations

import datetime
import functools
import json
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
from director_ai.hooks.containment.commands import begins_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
_NAMING: Final = frozenset({"name", "key", "header", "field"})
_HOLDING: Final = frozenset({"value", "val", "v", "raw", "plain", "plaintext"})
"""Names that say nothing; what stands there belongs to the name above it, or beside it."""
_PAIRED: Final = frozenset(
    "header headers params parameters query cookie cookies env environ environment variables vars form options".split()
)
"""Where a list of two is a name and its value."""
_PROGRAM: Final = frozenset({"command", "cmd", "program", "executable"})
_ARGUMENTS: Final = frozenset({"args", "argv", "arguments"})
COMMAND_KEYS: Final = frozenset("argv args bash cmd command commands script shell".split())
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


class _Waiting(NamedTuple):
    """A value that is still to be walked through."""

    value: Any
    key: str
    place: str
    depth: int
    is_inside_json: bool = False

    def inner(self, value: object, key: str, step: str) -> _Waiting:
        return self._replace(value=value, key=key, place=f"{self.place}{step}", depth=self.depth + 1)


class _Members(list[tuple[str, Any]]):
    """The members of an object in JSON, with those that come twice."""


def walk_arguments(arguments: Mapping[Any, Any]) -> Iterator[Leaf]:
    """Yield every value and every key; raise TooLarge where there are too many."""
    left = [MOST_VALUES, MOST_CHARACTERS]
    waiting = [_Waiting(arguments, "", "arguments", 0)]
    while waiting:
        at = waiting.pop()
        left[0] -= 1
        if at.depth > MOST_DEPTH or left[0] < 0:
            raise TooLarge("the arguments of an action hold too much to be examined")
        value = at.value
        if isinstance(value, Mapping | _Members):
            yield from _walk_members(at, left, waiting)
        elif isinstance(value, list | tuple | set | frozenset):
            yield from _walk_items(at, left, waiting)
        else:
            plain = _plain(value)
            if isinstance(plain, str):
                _spend(left, plain)
                if not at.is_inside_json and plain.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
                    _read_json(at, plain, waiting)
            yield Leaf(at.key, plain, at.place, is_readable=value is None or plain is not None)


def _walk_members(at: _Waiting, left: list[int], waiting: list[_Waiting]) -> Iterator[Leaf]:
    """Yield the names of a mapping; its values wait, under each name that is theirs."""
    value = at.value
    names, held, programs, lists = [], [], [], []
    members: Iterable[tuple[Any, Any]] = value
    if isinstance(value, Mapping):
        members = dict.items(value) if isinstance(value, dict) else value.items()
    for name, inner in members:
        own = _name_of(name)
        _spend(left, own, len(waiting))
        yield Leaf("", own, at.place, is_readable=isinstance(name, str | int | float | None))
        low, step = own[:64].lower(), f".{own[:64]}"
        waiting.append(at.inner(inner, at.key if at.key and low in _HOLDING else own, step))
        if low in _HOLDING:
            held.append((inner, step))
        elif low in _NAMING and isinstance(inner, str):
            names.append(str.__str__(inner))
        elif low in _PROGRAM and isinstance(inner, str):
            programs.append(inner)
        elif low in _ARGUMENTS and isinstance(inner, list | tuple):
            lists.append((inner, step))
    if len(names) > 8 or len(programs) > 8:
        raise TooLarge("the arguments of an action hold too much to be examined")
    beside = [(inner, name, step) for name in names for inner, step in held]
    beside += [([program, *inner], "argv", step) for program in programs for inner, step in lists]
    for inner, name, step in beside:
        _spend(left, name, len(waiting))
        waiting.append(at.inner(inner, name, step))


def _walk_items(at: _Waiting, left: list[int], waiting: list[_Waiting]) -> Iterator[Leaf]:
    """Let the items of a list wait; yield those of a command in one."""
    value = at.value
    for number, inner in enumerate(value):
        _spend(left, "", len(waiting))
        waiting.append(at.inner(inner, at.key, f"[{number}]"))
    if not isinstance(value, list | tuple) or len(value) < 2 or not isinstance(value[0], str):
        return
    first = str.__str__(value[0])
    if len(value) == 2 and not _PAIRED.isdisjoint(key_words(at.key)):
        waiting.append(at.inner(value[1], first, "[1]"))
    is_named = not COMMAND_KEYS.isdisjoint(key_words(at.key))
    if (is_named or begins_command(first)) and not any(map(str.isspace, first)):
        pieces = [str(piece) for piece in map(_plain, value) if piece is not None]
        joined = " ".join(pieces)
        _spend(left, joined)
        yield Leaf(at.key if is_named else "argv", joined, at.place)


def _read_json(at: _Waiting, text: str, waiting: list[_Waiting]) -> None:
    """Let what a text says in JSON wait as well; a text that is no JSON stays a text."""
    try:
        value = json.loads(text.lstrip("\ufeff"), object_pairs_hook=_Members, parse_int=_integer)
    except RecursionError:
        raise TooLarge("the arguments of an action hold too much to be examined") from None
    except ValueError:
        return
    waiting.append(at.inner(value, at.key, "")._replace(is_inside_json=True))


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= 400 else math.inf


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
