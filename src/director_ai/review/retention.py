"""Letting texts go at the end of their time: what was decided stays provable by its hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from director_ai.record.tables import CASE, CORRECTION, DECISION

if TYPE_CHECKING:
    from director_ai.record.chain import Writer

__all__ = ["FORGOTTEN", "forget_texts"]

FORGOTTEN: Final = "case.forgotten"
CLOSED: Final = ("rejected", "retry_requested", "expired", "released")
AT_ONCE: Final = 500


def forget_texts(writer: Writer, before: int, by: str) -> int:
    """Empty some closed cases of a tenant of their texts and reasons, and record which ones; return how many."""
    due = list(
        writer.connection.scalars(
            sa.select(CASE.c.case_id)
            .where(
                CASE.c.tenant == writer.tenant_id,
                CASE.c.state.in_(CLOSED),
                CASE.c.created_at < before,
                CASE.c.candidate_text.is_not(None),
            )
            .order_by(CASE.c.created_at)
            .limit(AT_ONCE)
        )
    )
    if not due:
        return 0
    writer.connection.execute(
        sa.update(CASE)
        .where(CASE.c.case_id.in_(due))
        .values(candidate_text=None, original_text=None, reason="", details='{"metadata":{},"reviewers":[]}')
    )
    writer.connection.execute(sa.update(DECISION).where(DECISION.c.case_id.in_(due)).values(reason=None))
    writer.connection.execute(sa.delete(CORRECTION).where(CORRECTION.c.case_id.in_(due)))
    writer.append(FORGOTTEN, "retention", {"by": by, "before": before, "cases": due})
    return len(due)
