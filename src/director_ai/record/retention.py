"""Letting go of what rows say at the end of its time; that they were there, and what their hash was, stays provable."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from director_ai.core.identifiers import is_ref
from director_ai.errors import ConfigError
from director_ai.record.chain import check_links, rows_of
from director_ai.record.tables import AUDIT

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from director_ai.record.chain import AuditRow, Writer
    from director_ai.record.keys import SigningKey

__all__ = ["RETENTION", "Emptied", "check_terms", "empty_batch"]

RETENTION: Final = "retention"
"""Kind and subject of the rows that say what was let go.

They are never emptied themselves, nor are those of cases: what was approved and released stays provable.
"""
BATCH: Final = 10_000
PAGE: Final = 250
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)

_LAST: Final = (
    sa.select(AUDIT.c.sequence)
    # The tenant is a condition without an index, so that SQLite goes by the subject and not through the whole trail.
    .where(AUDIT.c.tenant.concat("") == sa.bindparam("of"), AUDIT.c.subject == RETENTION, AUDIT.c.kind == RETENTION)
    .order_by(AUDIT.c.sequence.desc())
    .limit(1)
)
_EMPTY: Final = (
    sa.update(AUDIT)
    .where(AUDIT.c.tenant == sa.bindparam("of"), AUDIT.c.sequence.between(sa.bindparam("first"), sa.bindparam("last")))
    .where(AUDIT.c.kind != RETENTION, AUDIT.c.kind.not_like("case.%"), AUDIT.c.body.is_not(None))
    .values(body=None)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Emptied:
    """A stretch of rows whose text was let go."""

    first: int
    last: int
    rows: int
    """How many of them had one."""


def check_terms(before: datetime, by: str, now: int) -> int:
    """Return a moment in microseconds since 1970, or refuse the terms of a retention."""
    if not isinstance(before, datetime) or before.tzinfo is None:
        raise ConfigError("before must be a datetime with a time zone")
    moment = (before - _START) // timedelta(microseconds=1)
    if moment > now:
        raise ConfigError("before must not lie in the future; the text of every row would be lost")
    if not is_ref(by):
        raise ConfigError("by must be the identifier of who lets the texts go")
    return moment


def empty_batch(writer: Writer, key: SigningKey, before: int, by: str) -> Emptied | None:
    """Let go of the texts of the next rows from before a moment, and add the row that says so; None when all are gone.

    Rows that are not as they were written are refused: the text is what would show it.
    """
    connection, tenant = writer.connection, writer.tenant_id
    first = _next(connection, tenant, key)
    last = _last_before(connection, tenant, key, first, before)
    if last < first:
        return None
    count = connection.execute(_EMPTY, {"of": tenant, "first": first, "last": last}).rowcount
    if not count:
        return None
    writer.append(RETENTION, RETENTION, {"first": first, "last": last, "count": count, "before": before, "by": by})
    return Emptied(first=first, last=last, rows=count)


def _next(connection: Connection, tenant_id: str, key: SigningKey) -> int:
    """Return the row after those that the last retention row speaks of."""
    sequence = connection.scalar(_LAST, {"of": tenant_id})
    if sequence is None:
        return 1
    *before, row = rows_of(connection, tenant_id, after=max(0, sequence - 2), most=2 if sequence > 1 else 1)
    check_links([row], before[0] if before else None, key)
    last = row.content.get("last")
    return last + 1 if type(last) is int else 1


def _last_before(connection: Connection, tenant_id: str, key: SigningKey, first: int, before: int) -> int:
    """Return the last of the next rows that is from before a moment, all of them checked."""
    previous: AuditRow | None = None
    if first > 1:
        found = rows_of(connection, tenant_id, after=first - 2, most=1)
        previous = found[0] if found else None
    last = first - 1
    while last - first + 1 < BATCH:
        rows = rows_of(connection, tenant_id, after=last, most=PAGE)
        old = [row for row in rows if row.at < before]  # times never run backwards in a trail
        check_links(old, previous, key)
        if old:
            last, previous = old[-1].sequence, old[-1]
        if len(old) < PAGE:
            break
    return last
