"""Containment: a signed anchor says where an agent runs, and what reaches out of there is stopped."""

from __future__ import annotations

from director_ai.hooks.containment.anchors import Anchor, AnchorKey, RunScope, issue_anchor
from director_ai.hooks.containment.hook import REASONS, ContainmentHook, ContainmentVerdict
from director_ai.hooks.containment.networks import HostRules
from director_ai.hooks.nonces import Nonces, NonceStore

__all__ = [
    "REASONS",
    "Anchor",
    "AnchorKey",
    "ContainmentHook",
    "ContainmentVerdict",
    "HostRules",
    "NonceStore",
    "Nonces",
    "RunScope",
    "issue_anchor",
]
