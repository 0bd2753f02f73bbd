"""Figures of a tenant's inbox: how many cases are in which state, how old the open ones are, which facts they cite."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from director_ai.record.chain import head_of, rows_of
from director_ai.record.tables import CASE
from director_ai.review.cases import STATES

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from director_ai.review.queue import HumanReviewQueue

__all__ = ["AGES", "Waiting", "count_states", "failing_facts", "waiting_cases"]

AGES: Final = (
    (300, "under 5 min"),
    (3_600, "5 to 60 min"),
    (21_600, "1 to 6 h"),
    (86_400, "6 to 24 h"),
    (None, "older"),
)
LATEST_ROWS: Final = 2_000
"""Of a trail, in which the facts are counted that fixes and halts name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Open cases by their age."""

    count: int
    oldest: float
    """Seconds; 0 where nothing waits."""
    by_age: tuple[int, ...]
    """One count for each of AGES."""


def count_states(queue: HumanReviewQueue, tenant_id: str | None, now: float) -> dict[str, int]:
    """Return how many cases of a tenant are in each state; None is every tenant."""
    over = sa.and_(CASE.c.state.in_(("open", "approved")), CASE.c.expires_at <= int(now * 1e6))
    state = sa.case((over, "expired"), else_=CASE.c.state)
    wanted = _of(tenant_id, sa.select(state, sa.func.count()).group_by(state))
    found = queue.trail.database.read(lambda connection: [tuple(row) for row in connection.execute(wanted)])
    counts: dict[str, int] = dict.fromkeys(STATES, 0)
    return counts | {str(name): int(count) for name, count in found}


def waiting_cases(queue: HumanReviewQueue, tenant_id: str | None, now: float) -> Waiting:
    """Return how long the open cases of a tenant have waited."""
    wanted = sa.select(CASE.c.created_at).where(CASE.c.state == "open", CASE.c.expires_at > int(now * 1e6))
    times = queue.trail.database.read(lambda connection: list(connection.scalars(_of(tenant_id, wanted))))
    ages = [max(0.0, now - time / 1e6) for time in times]
    counts = [0] * len(AGES)
    for age in ages:
        counts[next(place for place, (limit, _) in enumerate(AGES) if limit is None or age < limit)] += 1
    return Waiting(count=len(ages), oldest=max(ages, default=0.0), by_age=tuple(counts))


def failing_facts(queue: HumanReviewQueue, tenant_id: str, most: int = 8) -> list[tuple[str, int]]:
    """Return the facts that the latest fixes, halts and cases of a tenant name, the most frequent first."""

    def latest(connection: Connection) -> list[dict[str, Any]]:
        head = head_of(connection, tenant_id)
        after = 0 if head is None else max(0, head.sequence - LATEST_ROWS)
        read = partial(rows_of, connection, tenant_id, most=LATEST_ROWS)
        return [row.content for row in read(after=after) if row.kind in {"safety_event", "case.opened"}]

    counts: Counter[str] = Counter()
    for body in queue.trail.database.read(latest):
        refs = body.get("evidence_refs") or body.get("evidence") or []
        counts.update(refs[:1])
    return counts.most_common(most)


def _of(tenant_id: str | None, wanted: sa.Select[Any]) -> sa.Select[Any]:
    return wanted if tenant_id is None else wanted.where(CASE.c.tenant == tenant_id)
