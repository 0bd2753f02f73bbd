"""Hooks that examine what agents say and do beside the scorer.

Each is a module of its own: `containment`, `cyber_physical`, `attestation`, `ontology`, `trajectory` and `swarm`. Names
are loaded when they are first used: no hook pays for another one's libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.lazy import names_of

if TYPE_CHECKING:
    from director_ai.hooks.attestation import AttestationHook, PassportVerdict
    from director_ai.hooks.containment import ContainmentHook, ContainmentVerdict
    from director_ai.hooks.cyber_physical import CyberPhysicalHook, GroundingVerdict
    from director_ai.hooks.ontology import OntologyHook, OntologyViolation
    from director_ai.hooks.protocol import Hook, Occasion, ProposedAction, Verdict, consult, may_go_on, worst_decision
    from director_ai.hooks.swarm import HandoffResult, SwarmHook
    from director_ai.hooks.trajectory import PreflightVerdict, TrajectoryHook

__all__ = [
    "AttestationHook",
    "ContainmentHook",
    "ContainmentVerdict",
    "CyberPhysicalHook",
    "GroundingVerdict",
    "HandoffResult",
    "Hook",
    "Occasion",
    "OntologyHook",
    "OntologyViolation",
    "PassportVerdict",
    "PreflightVerdict",
    "ProposedAction",
    "SwarmHook",
    "TrajectoryHook",
    "Verdict",
    "consult",
    "may_go_on",
    "worst_decision",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "AttestationHook": "hooks.attestation",
        "ContainmentHook": "hooks.containment",
        "ContainmentVerdict": "hooks.containment",
        "CyberPhysicalHook": "hooks.cyber_physical",
        "GroundingVerdict": "hooks.cyber_physical",
        "HandoffResult": "hooks.swarm",
        "Hook": "hooks.protocol",
        "Occasion": "hooks.protocol",
        "OntologyHook": "hooks.ontology",
        "OntologyViolation": "hooks.ontology",
        "PassportVerdict": "hooks.attestation",
        "PreflightVerdict": "hooks.trajectory",
        "ProposedAction": "hooks.protocol",
        "SwarmHook": "hooks.swarm",
        "TrajectoryHook": "hooks.trajectory",
        "Verdict": "hooks.protocol",
        "consult": "hooks.protocol",
        "may_go_on": "hooks.protocol",
        "worst_decision": "hooks.protocol",
    },
)
