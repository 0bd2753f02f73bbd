"""What becomes of a message between agents, and what is recorded of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from director_ai.core.safety_event import POLICY_DECISIONS, PolicyDecision, SafetyEvent
from director_ai.hooks.protocol import event_of
from director_ai.hooks.swarm.handoffs import Standing, agent_ref

if TYPE_CHECKING:
    from director_ai.hooks.protocol import Hook, Occasion

__all__ = ["EXPLANATIONS", "Ground", "HandoffResult", "Settled", "result_of"]

Ground = tuple[PolicyDecision, str]
"""A decision, and the reason that leads to it."""

_MOST_REFS: Final = 16
EXPLANATIONS: Final = {
    "within_limits": "The handoff was judged, and no rule was violated.",
    "nothing_said": "The handoff has no text, so only the agent was judged.",
    "unknown_sender": "The agent is unknown, so its handoff was not accepted.",
    "unknown_receiver": "The handoff is for an agent that is unknown.",
    "quarantined_sender": "The agent is withheld from the swarm, so its handoff was blocked.",
    "quarantined_receiver": "The handoff is for an agent that is withheld from the swarm.",
    "suspect_sender": "The agent may have text from an agent that is withheld from the swarm.",
    "quarantine_begun": "The scores of the agent fell below the limit, so it was withheld from the swarm.",
    "low_score": "The score of the handoff fell below the threshold.",
    "weak_score": "The score of the handoff is below the warning threshold.",
    "no_context": "The handoff has no evidence that it can be judged by.",
    "scorer_error": "The scorer failed, so the handoff was blocked.",
    "invalid_score": "The scorer gave an answer that is not a score, so the handoff was blocked.",
    "clock_error": "The clock failed, so the handoff was blocked.",
    "too_long": "The text exceeds the limit, so the handoff was blocked.",
    "operator_release": "An operator released the agent.",
    "operator_quarantine": "An operator withheld the agent from the swarm.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffResult:
    """What became of a message from one agent to another."""

    decision: PolicyDecision
    reasons: tuple[str, ...]
    """Machine-readable, the strictest first."""
    score: float | None
    """None where the message was not scored."""
    record: float | None
    """The sender's, with this message; None where it is not registered."""
    standing: Standing | None
    """The sender's, after this message."""
    quarantined: tuple[str, ...] = ()
    """Agents that were put into quarantine along with the sender."""
    suspected: tuple[str, ...] = ()
    safety_event: SafetyEvent

    @property
    def allowed(self) -> bool:
        """Whether the message may be handed on."""
        return self.decision in {"allow", "warn"}


@dataclass(slots=True, kw_only=True)
class Settled:
    """What was found about a message while nobody else could change a record."""

    grounds: list[Ground]
    score: float | None
    record: float | None = None
    standing: Standing | None = None
    quarantined: tuple[str, ...] = ()
    suspected: tuple[str, ...] = ()


def result_of(hook: Hook, occasion: Occasion, settled: Settled, *, threshold: float, started: float) -> HandoffResult:
    """Return what became of a message, with its event; agents stand in it by their hashes."""
    grounds = sorted(settled.grounds, key=lambda ground: -POLICY_DECISIONS.index(ground[0]))
    plain = "within_limits" if settled.score is not None else "nothing_said"
    decision, reason = grounds[0] if grounds else ("allow", plain)
    tenant = occasion.tenant_id
    attributes = {"sender": agent_ref(tenant, occasion.sender)}
    if occasion.receiver:
        attributes["receiver"] = agent_ref(tenant, occasion.receiver)
    if settled.standing is not None:
        attributes |= {"record": f"{settled.record:.4f}", "standing": settled.standing}
    touched = settled.quarantined + settled.suspected
    if touched:
        attributes |= {"quarantined": str(len(settled.quarantined)), "suspected": str(len(settled.suspected))}
    event = event_of(
        hook,
        occasion,
        decision,
        reason,
        started=started,
        threshold=threshold,
        observed_score=settled.score,
        tenant_safe_explanation=EXPLANATIONS[reason.split(" ", 1)[0]],
        evidence_refs=tuple(agent_ref(tenant, name) for name in touched[:_MOST_REFS]),
        attributes=attributes,
    )
    return HandoffResult(
        decision=decision,
        reasons=tuple(ground[1] for ground in grounds) or (plain,),
        score=settled.score,
        record=settled.record,
        standing=settled.standing,
        quarantined=settled.quarantined,
        suspected=settled.suspected,
        safety_event=event,
    )
