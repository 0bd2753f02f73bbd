"""Two planners are simulated before one of them may act: one is steady, the other loses the thread now and then.

python examples/hooks/trajectory.py
"""

from __future__ import annotations

import random
import sys

from director_ai.hooks.protocol import Occasion
from director_ai.hooks.trajectory import TrajectoryHook


def steady(seed: int, _: Occasion) -> list[float]:
    """A planner whose every step fits the one before."""
    steps = random.Random(seed)  # noqa: S311 - chance for a simulation, not for a secret
    return [steps.uniform(0.7, 1.0) for _ in range(12)]


def erratic(seed: int, _: Occasion) -> list[float]:
    """A planner that sometimes takes a step that fits nothing."""
    steps = random.Random(seed)  # noqa: S311 - chance for a simulation, not for a secret
    return [steps.uniform(0.7, 1.0) if steps.random() > 0.06 else 0.2 for _ in range(12)]


hook = TrajectoryHook(simulations=40, seed=7, max_halt_rate=0.2, min_coherence=0.6)
occasion = Occasion(prompt="Drain tank 4 into tank 5.", tenant_id="acme")

for actor in (steady, erratic):
    verdict = hook.preflight(actor, occasion)
    low, high = verdict.halt_interval
    sys.stdout.write(f"{actor.__name__}: {verdict.outcome}, {len(verdict.rollouts)} of {verdict.planned} simulated\n")
    sys.stdout.write(f"  halted {verdict.halt_rate:.0%} (between {low:.0%} and {high:.0%})\n")
    sys.stdout.write(f"  coherence {verdict.mean_coherence:.2f}, deviation {verdict.deviation:.2f}\n")
    sys.stdout.writelines(f"  {reason}\n" for reason in verdict.reasons)
