"""Which rows of a trail a command is about."""

from __future__ import annotations

import heapq
import re
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from director_ai.record.scan import RawRow

__all__ = ["all_rows", "newest_rows", "subject_meant"]

_BEGINNING: Final = re.compile(r"([a-z]+-)[0-9a-f]{8,31}")
_DIGITS: Final = 32
"""Of an id that we make, behind the word it begins with."""


def subject_meant(connection: Connection, given: str, tenant_id: str | None) -> str:
    """Return the subject that is named by itself, or by a beginning of its id that no other has."""
    import sqlalchemy as sa  # noqa: PLC0415 - keeps `--help` quick

    from director_ai.record.tables import AUDIT  # noqa: PLC0415 - as above

    beginning = _BEGINNING.fullmatch(given)
    if beginning is None:
        return given
    subject: sa.Column[str] = AUDIT.c.subject
    ours = [] if tenant_id is None else [AUDIT.c.tenant == tenant_id]
    if connection.scalar(sa.select(subject).where(subject == given, *ours).limit(1)) is not None:
        return given
    # Both ends look like an id, so that they stand around the same ones in whatever order a database sorts.
    whole = len(beginning[1]) + _DIGITS
    between = subject.between(given.ljust(whole, "0"), given.ljust(whole, "f"))
    alike = sa.select(subject).where(between, subject.startswith(given), *ours).distinct().limit(2)
    found = list(connection.scalars(alike))
    if len(found) > 1:
        raise ConfigError("several subjects begin like this; give more characters of the id (`--json` shows all of it)")
    return str(found[0]) if found else given


def all_rows(
    connection: Connection, tenant_id: str | None, subject: str | None, kind: str | None
) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a subject and a kind, tenant by tenant."""
    from director_ai.record.scan import rows_like  # noqa: PLC0415 - as above

    for name in _tenants(connection, tenant_id):
        yield from ((name, row) for row in rows_like(connection, name, subject=subject, kind=kind))


def newest_rows(
    connection: Connection, tenant_id: str | None, most: int, subject: str | None, kind: str | None
) -> list[tuple[str, RawRow]]:
    """Return the newest rows in order of their time, and in each tenant in their own order."""
    from director_ai.record.scan import rows_like  # noqa: PLC0415 - as above

    def age(found: tuple[str, RawRow]) -> tuple[int, int]:
        sequence, at = found[1][:2]
        return (at if isinstance(at, int) else 0, sequence if isinstance(sequence, int) else 0)

    found = (
        (name, row)
        for name in _tenants(connection, tenant_id)
        for row in rows_like(connection, name, subject=subject, kind=kind, newest=most)
    )
    return heapq.nlargest(most, found, key=age)[::-1]


def _tenants(connection: Connection, tenant_id: str | None) -> list[str]:
    from director_ai.record.scan import tenants_in  # noqa: PLC0415 - as above

    return sorted(tenants_in(connection)) if tenant_id is None else [tenant_id]
