"""The trajectory hook: an actor is simulated several times before it may act once.

actor ─► rollouts (one simulation each) ─► simulations (side by side, in time) ─► estimates ─► hook (verdict and event)
"""

from __future__ import annotations

from director_ai.hooks.trajectory.hook import PreflightVerdict, TrajectoryHook
from director_ai.hooks.trajectory.rollouts import Rollout

__all__ = ["PreflightVerdict", "Rollout", "TrajectoryHook"]
