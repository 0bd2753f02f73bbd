"""Judges messages between agents by their context and by the sender's record, and keeps the untrustworthy apart.

hook = SwarmHook(scorer=my_scorer)
hook.register("planner", tenant_id="acme")
result = hook.check("planner", "writer", text, context=evidence, tenant_id="acme")
result.allowed, result.reasons, result.safety_event
"""

from __future__ import annotations

from director_ai.hooks.swarm.handoff_policy import SwarmPolicy
from director_ai.hooks.swarm.handoff_result import HandoffResult
from director_ai.hooks.swarm.hook import HandoffScorer, SwarmHook

__all__ = [
    "HandoffResult",
    "HandoffScorer",
    "SwarmHook",
    "SwarmPolicy",
]
