"""Kill switches, kept in the database: one that is set by any process acts in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from director_ai.core.identifiers import check_identifier
from director_ai.record.tables import SWITCH

if TYPE_CHECKING:
    from director_ai.record.chain import Writer
    from director_ai.record.trail import AuditTrail

__all__ = ["EVERYBODY", "Switches", "check_target"]

EVERYBODY: Final = "*"


def check_target(tenant_id: str) -> str:
    """Return whose switch is meant: a tenant's, or everybody's."""
    return tenant_id if tenant_id == EVERYBODY else check_identifier("tenant_id", tenant_id)


class Switches:
    """Whose answers are switched off; each turn of a switch stands in the trail."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail = trail

    def turn_off(self, tenant_id: str, *, by: str = "") -> None:
        """Switch the answers of a tenant off, or everybody's."""

        def turn(writer: Writer) -> None:
            writer.connection.execute(sa.delete(SWITCH).where(SWITCH.c.tenant == tenant_id))
            writer.connection.execute(sa.insert(SWITCH), {"tenant": tenant_id, "at": writer.now})
            writer.append("switch.off", _subject(tenant_id), {"by": check_identifier("by", by)})

        self._trail.write(turn, _trail_of(tenant_id))

    def turn_on(self, tenant_id: str, *, by: str = "") -> None:
        """Let answers begin again."""

        def turn(writer: Writer) -> None:
            writer.connection.execute(sa.delete(SWITCH).where(SWITCH.c.tenant == tenant_id))
            writer.append("switch.on", _subject(tenant_id), {"by": check_identifier("by", by)})

        self._trail.write(turn, _trail_of(tenant_id))

    def turned_off(self) -> frozenset[str]:
        """Return whose answers are switched off now."""
        return self._trail.database.read(
            lambda connection: frozenset(map(str, connection.scalars(sa.select(SWITCH.c.tenant))))
        )


def _trail_of(tenant_id: str) -> str:
    return "" if tenant_id == EVERYBODY else tenant_id


def _subject(tenant_id: str) -> str:
    return f"tenant:{tenant_id}" if tenant_id != EVERYBODY else "everybody"
