"""How rows of a trail look in a terminal of any width."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from director_ai.cli.audit_show import time_of
from director_ai.cli.facts_show import console, shown, table
from director_ai.cli.review_show import shortest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from rich.console import Console

    from director_ai.record.scan import RawRow

__all__ = ["facts_in", "show_rows"]

WIDE: Final = 100
"""Columns from which on a row is a line; in fewer, what it says stands on a second one."""
_ID: Final = re.compile(r"[a-z]+-[0-9a-f]{32}")
_DIGEST: Final = re.compile(r"((?:[a-z0-9]+[:-])?[0-9a-f]{8})[0-9a-f]{24,}")
_WORD: Final = re.compile(r"[\w.:@/+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row in words."""

    tenant: str
    number: str
    time: str
    kind: str
    subject: str
    says: str


def show_rows(rows: Sequence[tuple[str, RawRow]]) -> None:
    """Show rows, a line each in a wide terminal and two in a narrow one; ids as far as they differ."""
    length = shortest([str(row[3]) for _, row in rows if _ID.fullmatch(str(row[3]))])
    lines, to = [_line_of(tenant, row, length) for tenant, row in rows], console()
    (_show_wide if to.width >= WIDE else _show_narrow)(lines, to)


def _line_of(tenant: str, row: RawRow, length: int) -> Line:
    number, at, kind, subject, body = row[:5]
    name = str(subject)
    return Line(
        tenant=tenant,
        number=str(number),
        time=time_of(at)[:19].replace("T", " "),
        kind=str(kind),
        subject=name[:length] if _ID.fullmatch(name) else name,
        says=facts_in(body, known={tenant, name}),
    )


def _show_wide(lines: Sequence[Line], to: Console) -> None:
    rows = table("tenant", "row", "time", "kind", "subject", "says")
    for line in lines:
        words = (line.tenant, line.number, line.time, line.kind, line.subject, line.says)
        rows.add_row(*(shown(word, one_line=True) for word in words))
    tenant, number, time, kind, subject, says = rows.columns
    for column in (tenant, kind, subject):
        column.max_width = to.width // 6
    number.no_wrap, number.justify, time.no_wrap = True, "right", True
    rows.expand, says.ratio = True, 1
    says.no_wrap, says.overflow = True, "ellipsis"
    to.print(rows)


def _show_narrow(lines: Sequence[Line], to: Console) -> None:
    for line in lines:
        head = shown(f"{line.time}  ")
        kind = shown(line.kind, one_line=True)
        kind.stylize("bold")
        head.append_text(kind).append("  ").append_text(shown(line.subject, one_line=True))
        place = shown(f"{line.tenant} row {line.number}".strip(), one_line=True)
        place.stylize("bright_black")
        to.print(head, overflow="fold")
        says = shown("  ").append_text(place).append("  ").append_text(shown(line.says, one_line=True))
        to.print(says, no_wrap=True, overflow="ellipsis")


def facts_in(body: object, *, known: Collection[str] = ()) -> str:
    """Return what a row says as names and values, times and digests last; `known` is what need not be said again."""
    if body is None:
        return "(let go)"
    try:
        said = json.loads(str(body))
    except (ValueError, RecursionError):
        return str(body)
    if not isinstance(said, dict):
        return str(body)
    facts = [(name, value) for name, value in _flat(said) if value not in known]
    facts.sort(key=lambda fact: (_DIGEST.fullmatch(fact[1]) is not None, fact[0].endswith("_at")))
    return " ".join(f"{name}={_short(value)}" for name, value in facts)


def _flat(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is not empty, in order; what is nested behind the rest."""
    nested = [(name, value) for name, value in values.items() if isinstance(value, dict)]
    for name, value in values.items():
        if isinstance(value, list):
            if value:
                yield name, ",".join(each if isinstance(each, str) else json.dumps(each) for each in value)
        elif isinstance(value, int) and not isinstance(value, bool) and name.endswith("_at"):
            yield name, time_of(value)[:19] + "Z"
        elif isinstance(value, str):
            if value:
                yield name, value
        elif value is not None and not isinstance(value, dict):
            yield name, json.dumps(value)
    for name, inner in nested:
        yield from ((f"{name}.{of}", value) for of, value in _flat(inner))


def _short(value: str) -> str:
    """Return a digest by its beginning, a word as it is and anything else in quotes."""
    digest = _DIGEST.fullmatch(value)
    if digest is not None:
        return f"{digest[1]}…"
    return value if _WORD.fullmatch(value) else json.dumps(value, ensure_ascii=False)
