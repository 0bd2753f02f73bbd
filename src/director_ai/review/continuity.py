"""Nothing about a case is missing: the rows behind its last one follow one another to the end of the trail.

Whoever takes a rejection or a release out of the trail leaves a gap, or a row that does not fit between its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from director_ai.errors import TrailBroken
from director_ai.record.chain import hash_row
from director_ai.record.tables import AUDIT
from director_ai.review.standing import OPENED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from sqlalchemy import Connection

    from director_ai.record.chain import AuditRow
    from director_ai.record.keys import SigningKey

__all__ = ["Continuity"]

MOST_TENANTS: Final = 1_000
"""Beyond that the rows are looked at again."""
MOST_MOVES: Final = 10_000
"""Of one tenant that are remembered, the last ones."""
_PAGE: Final = 2_000
_BEHIND: Final = (
    sa.select(
        AUDIT.c.sequence,
        AUDIT.c.at,
        AUDIT.c.kind,
        AUDIT.c.subject,
        AUDIT.c.body_hash,
        AUDIT.c.key,
        AUDIT.c.hash,
        AUDIT.c.seal,
    )
    .where(AUDIT.c.tenant == sa.bindparam("of"), AUDIT.c.sequence > sa.bindparam("after"))
    .order_by(AUDIT.c.sequence)
    .limit(_PAGE)
)
_HASH: Final = sa.select(AUDIT.c.hash).where(
    AUDIT.c.tenant == sa.bindparam("of"), AUDIT.c.sequence == sa.bindparam("at")
)


@dataclass(slots=True)
class _Stretch:
    """Rows of a tenant that were seen to follow one another, with the hashes of the first and of the last."""

    first: int
    first_hash: str
    last: int
    hash: str
    moves: dict[str, int] = field(default_factory=dict)
    """Where each case moved last, other than by coming in."""

    @classmethod
    def from_row(cls, row: AuditRow) -> _Stretch:
        return cls(row.sequence, row.hash, row.sequence, row.hash)


class Continuity:
    """Looks at the rows behind a case, and remembers them, so that each is looked at once."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key
        self._known: dict[str, _Stretch] = {}

    def check(self, connection: Connection, case_id: str, last: AuditRow) -> None:
        """Refuse a case if a row about it may be missing behind the last one that was found."""
        tenant = last.tenant_id
        known = self._known.pop(tenant, None)
        if known is None or not _is_there(connection, tenant, known):
            known = _Stretch.from_row(last)
        elif last.sequence < known.first:
            self._reach_back(connection, last, known)
        self._follow(connection, tenant, known)
        if known.moves.get(case_id, 0) > last.sequence:  # seen once, and perhaps never kept: look at all of it again
            known = _Stretch.from_row(last)
            self._follow(connection, tenant, known)
        if len(self._known) >= MOST_TENANTS:
            self._known.clear()
        for subject in list(known.moves)[: max(0, len(known.moves) - MOST_MOVES)]:
            del known.moves[subject]
        self._known[tenant] = known

    def _reach_back(self, connection: Connection, row: AuditRow, known: _Stretch) -> None:
        """Put the rows from an earlier one on before those that are known."""
        earlier = _Stretch.from_row(row)
        self._follow(connection, row.tenant_id, earlier, known.first)
        if (earlier.last, earlier.hash) != (known.first, known.first_hash):
            raise TrailBroken(f"row {known.first} was changed or is gone; run `director-ai audit verify`")
        known.first, known.first_hash = earlier.first, earlier.first_hash
        known.moves = earlier.moves | known.moves

    def _follow(self, connection: Connection, tenant: str, stretch: _Stretch, until: int | None = None) -> None:
        """Go on from row to row, to the end of the trail or to a row; the last one's seal answers for all of them."""
        row: Sequence[Any] = ()
        for row in _rows(connection, tenant, stretch.last):
            sequence, at, kind, subject, body_hash, key, digest, _ = row
            made = hash_row(tenant, sequence, at, kind, subject, body_hash, key, stretch.hash)
            if sequence != stretch.last + 1 or made != digest:
                raise TrailBroken(f"row {stretch.last + 1} was changed or is gone; run `director-ai audit verify`")
            stretch.last, stretch.hash = sequence, digest
            if kind != OPENED:
                stretch.moves[subject] = sequence
            if sequence == until:
                break
        if row and row[-1] != self._key.seal(stretch.hash):
            raise TrailBroken(f"row {stretch.last} was not written by us; run `director-ai audit verify`")


def _rows(connection: Connection, tenant: str, after: int) -> Iterator[Sequence[Any]]:
    while page := connection.execute(_BEHIND, {"of": tenant, "after": after}).fetchall():
        yield from page
        if len(page) < _PAGE or type(page[-1][0]) is not int:
            return
        after = page[-1][0]


def _is_there(connection: Connection, tenant: str, stretch: _Stretch) -> bool:
    """Whether the last row that was seen is still the same: the transaction that wrote it may have failed."""
    return bool(connection.scalar(_HASH, {"of": tenant, "at": stretch.last}) == stretch.hash)
