"""What is kept of what was decided: figures for operators, and a trail for auditors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.lazy import names_of

if TYPE_CHECKING:
    from director_ai.record.trail import AuditTrail
    from director_ai.record.verdicts import Problem, Verification

__all__ = ["AuditTrail", "Problem", "Verification"]

_HOMES = {"AuditTrail": "record.trail", "Problem": "record.verdicts", "Verification": "record.verdicts"}

__getattr__, __dir__ = names_of(__name__, _HOMES)
