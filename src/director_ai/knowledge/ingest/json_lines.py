"""JSON lines: one object per line, with a "text" or "fact", and perhaps a "key" or "id" and where it came from."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn

from director_ai.knowledge.ingest.origin import clean, fold
from director_ai.knowledge.ingest.passages import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.knowledge.ingest.origin import Origin

__all__ = ["read"]


class _Refused(Exception):
    """What is wrong with a line, in words that hold nothing of it."""


def read(origin: Origin) -> Iterator[Passage]:
    """The passages of the file: one per line that is not blank."""
    offset = 0
    with closing(origin.lines()) as lines:
        for number, line in enumerate(lines, 1):
            if not line.isspace():
                yield _passage(origin, line, number, offset)
            offset += len(line)


def _passage(origin: Origin, line: str, number: int, offset: int) -> Passage:
    try:
        record = _parsed(line)
        text = _text(record, ("fact", "text"), is_needed=True)
        key = _text(record, ("key",))
        own = "" if key else _text(record, ("id",))
        start, end = _span(record) or (offset, offset + len(line.rstrip()))
        return Passage(
            key=key or f"{origin.source}#{own or number}",  # an id is unique in its file alone
            text=text,
            source=_text(record, ("source",)) or origin.source,
            start=start,
            end=end,
            locator=f"line {number}",
        )
    except _Refused as error:
        problem = str(error)
    raise origin.error(f"line {number}: {problem}")


def _parsed(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        problem = f"is no valid JSON at column {error.colno}"
    except RecursionError:
        problem = "is nested too deeply"
    except ValueError:
        problem = "has a number that is too long"
    else:
        if isinstance(record, dict):
            return record
        problem = f"must be an object, and is a {type(record).__name__}"
    raise _Refused(problem)  # not inside a handler: the error that was caught holds the line


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _Refused("has an object with the same name twice")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused(f"has {name}, which is no JSON")


def _text(record: dict[str, Any], names: tuple[str, ...], *, is_needed: bool = False) -> str:
    """The first of these fields that is there, as folded text, or ""; a number may be an id."""
    for name in names:
        value = record.get(name)
        if type(value) is int and name in {"key", "id"}:
            value = str(value)
        if value is None:
            continue
        if not isinstance(value, str):
            raise _Refused(f"must have a string as {name}, and has a {type(value).__name__}")
        text = fold(clean(value))
        if not text:
            raise _Refused(f"has a blank {name}")
        return text
    if is_needed:
        raise _Refused(f"must have one of: {', '.join(names)}")
    return ""


def _span(record: dict[str, Any]) -> tuple[int, int] | None:
    start, end = record.get("start"), record.get("end")
    if start is None and end is None:
        return None
    if type(start) is int and type(end) is int and 0 <= start <= end < 1 << 63:
        return start, end
    raise _Refused("must have whole numbers as start and end, the first not beyond the second")
