"""The preflight of an actor: what its simulations come to, and whether it may go on."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from director_ai.core.ranges import check_count, check_number, check_seconds
from director_ai.errors import ConfigError
from director_ai.hooks.protocol import Occasion, event_of
from director_ai.hooks.trajectory.casting import Cast, checked_function
from director_ai.hooks.trajectory.estimates import Bootstrap, deviation_of, wilson_interval
from director_ai.hooks.trajectory.memory import OccasionMemory, key_of
from director_ai.hooks.trajectory.rollouts import Actor, Rollout, Scorer, roll_out
from director_ai.hooks.trajectory.simulations import Crews

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from director_ai.core.safety_event import PolicyDecision, SafetyEvent
    from director_ai.hooks.trajectory.simulations import Simulated

__all__ = ["PreflightVerdict", "TrajectoryHook"]

_DECISIONS: Final[Mapping[str, PolicyDecision]] = {"proceed": "allow", "warn": "warn", "halt": "halt"}
_EXPLANATIONS: Final = {
    "preflight_passed": "The simulations were within every limit.",
    "preflight_busy": "All simulations allowed were open, so no preflight was run and the action was halted.",
    "preflight_deadline": "The simulations took more time than the deadline allows, so the action was halted.",
    "halt_rate": "More simulations were halted than the limit allows, so the action was halted.",
    "mean_coherence": "The mean coherence of the simulations was below the limit, so the action was halted.",
    "halt_rate_unsure": "The confidence interval of the rate of halted simulations exceeds the limit.",
    "mean_coherence_unsure": "The confidence interval of the mean coherence reached below the limit.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightVerdict:
    """What the simulations say of an actor: whether it may go on, why, and the figures."""

    outcome: Literal["proceed", "warn", "halt"]
    reasons: tuple[str, ...]
    """Everything that speaks against it, the strictest first."""
    planned: int
    rollouts: tuple[Rollout, ...]
    """In the order of their seeds, up to where the rest could change nothing."""
    halts: int
    halt_rate: float
    halt_interval: tuple[float, float]
    mean_coherence: float
    deviation: float
    coherence_interval: tuple[float, float]
    faults: Mapping[str, int]
    """How many simulations gave no answer, by the reason."""
    safety_event: SafetyEvent

    @property
    def decision(self) -> PolicyDecision:
        """The outcome as a policy decision."""
        return _DECISIONS[self.outcome]

    @property
    def allowed(self) -> bool:
        """Whether the actor may act."""
        return self.outcome != "halt"


class TrajectoryHook:
    """Simulates an actor before it may act.

    Args:
        actors: One function for everything, or one for each tool by its name, with that for prompts under "".
        scorer: Scores texts; needed where an actor answers with one.
        simulations: How many are planned.
        seed: What all seeds are derived from.
        max_halt_rate: The largest share of halted simulations.
        min_coherence: The smallest mean coherence.
        halt_below: A simulation whose worst coherence is below this counts as halted.
        confidence: Of both intervals; where one crosses its limit, the outcome is a warning.
        workers: How many simulations of one preflight run at a time.
        max_threads: How many threads all preflights may have, those that hang among them.
        simulation_timeout: Seconds for one simulation; one that takes longer counts as halted.
        deadline: Seconds for all of them; where they do not suffice, the outcome is a halt.
        remember: How many verdicts are kept, so that one occasion is not simulated twice; 0 keeps none.
        remember_for: Seconds for which a verdict is kept.
    """

    hook_id = "trajectory.preflight"
    hook_scope = "trajectory"
    is_quick = False

    def __init__(  # noqa: PLR0913 - settings, each with a default
        self,
        actors: Actor | Mapping[str, Actor] | None = None,
        *,
        scorer: Scorer | None = None,
        simulations: int = 20,
        seed: int = 0,
        max_halt_rate: float = 0.2,
        min_coherence: float = 0.6,
        halt_below: float = 0.5,
        confidence: float = 0.95,
        workers: int = 4,
        max_threads: int = 256,
        simulation_timeout: float = 5.0,
        deadline: float = 20.0,
        remember: int = 64,
        remember_for: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cast = Cast(actors)
        self.moments = frozenset({"request", "action"} if self._cast.answers else {"action"})
        """Before an answer it is asked only where somebody acts out prompts."""
        self._scorer = None if scorer is None else checked_function("scorer", scorer)
        self._planned = check_count("simulations", simulations, 1, 1000)
        self._max_halt_rate = check_number("max_halt_rate", max_halt_rate)
        self._min_coherence = check_number("min_coherence", min_coherence)
        self._halt_below = check_number("halt_below", halt_below)
        self._confidence = check_number("confidence", confidence, 0.5, 0.999)
        seed = check_count("seed", seed, 0, 2**63)
        self.seeds = tuple(_derive(seed, index) for index in range(self._planned))
        """What each simulation is seeded with, so that one can be played again."""
        self._bootstrap = Bootstrap(seed, self._planned, self._confidence)
        self._crews = Crews(
            workers=check_count("workers", workers, 1, 32),
            most=check_count("max_threads", max_threads, 1, 4096),
            each=check_seconds("simulation_timeout", _limit("simulation_timeout", simulation_timeout)) or 0.0,
            total=check_seconds("deadline", _limit("deadline", deadline)) or 0.0,
        )
        self._memory: OccasionMemory[PreflightVerdict] = OccasionMemory(
            check_count("remember", remember, 0, 100_000),
            check_number("remember_for", remember_for, 0.0, 1e6),
            checked_function("clock", clock),
        )

    def examine(self, occasion: Occasion) -> PreflightVerdict | None:
        """Preflight what an occasion asks for; None where it asks for nothing, or where nobody can act it out."""
        if occasion.action is None and not occasion.prompt.strip():
            return None
        actor = self._cast.actor_for(occasion)
        if actor is None:
            return None
        key = key_of(occasion)
        kept = self._memory.recall(key)
        if kept is not None:
            return kept
        verdict = self.preflight(actor, occasion)
        self._memory.keep(key, verdict)
        return verdict

    def preflight(self, actor: Actor, occasion: Occasion) -> PreflightVerdict:
        """Simulate an actor now; it is handed the occasion without its text and passport, which do not matter here."""
        started = time.perf_counter()
        asked = dataclasses.replace(occasion, text="", passport="")

        def simulate(seed: int) -> Rollout:
            return roll_out(actor, self._scorer, seed, asked, self._halt_below)

        return self._judge(self._crews.run(simulate, self.seeds, self._is_settled), occasion, started)

    def _is_settled(self, rollouts: Sequence[Rollout]) -> bool:
        """Whether it comes to a halt even if all that are left go as well as can be."""
        left = self._planned - len(rollouts)
        halts = sum(each.halted for each in rollouts)
        best = (math.fsum(each.coherence for each in rollouts) + left) / self._planned
        return halts / self._planned > self._max_halt_rate or best < self._min_coherence - 1e-12

    def _judge(self, simulated: Simulated, occasion: Occasion, started: float) -> PreflightVerdict:
        rollouts = simulated.rollouts
        count, halts = len(rollouts), sum(each.halted for each in rollouts)
        values = [each.coherence for each in rollouts]
        rate, mean = (halts / count, math.fsum(values) / count) if count else (1.0, 0.0)
        shares, means = wilson_interval(halts, count, self._confidence), self._bootstrap.interval(values)
        limits = (self._max_halt_rate, self._min_coherence)
        against = [
            ("preflight_busy", simulated.is_busy, (0.0, 1.0)),
            ("preflight_deadline", simulated.is_late, (count / self._planned, 1.0)),
            ("halt_rate", count > 0 and rate > limits[0], (rate, limits[0])),
            ("mean_coherence", count > 0 and mean < limits[1], (mean, limits[1])),
            ("halt_rate_unsure", rate <= limits[0] < shares[1], (shares[1], limits[0])),
            ("mean_coherence_unsure", means[0] < limits[1] <= mean, (means[0], limits[1])),
        ]
        found = {code: figures for code, holds, figures in against if holds}
        outcome: Literal["proceed", "warn", "halt"] = "proceed" if not found else "warn"
        if any(not code.endswith("_unsure") for code in found):
            outcome = "halt"
        faults = dict(sorted(Counter(each.fault for each in rollouts if each.fault).items()))
        figures = {"halt_rate": rate, "mean_coherence": mean, "deviation": deviation_of(values)}
        return PreflightVerdict(
            outcome=outcome,
            reasons=tuple(f"{code} value={value:.4f} limit={limit:.4f}" for code, (value, limit) in found.items()),
            planned=self._planned,
            rollouts=rollouts,
            halts=halts,
            halt_interval=shares,
            coherence_interval=means,
            faults=MappingProxyType(faults),
            safety_event=self._event(occasion, outcome, found, figures, (len(rollouts), faults), started),
            **figures,
        )

    def _event(
        self,
        occasion: Occasion,
        outcome: str,
        found: Mapping[str, tuple[float, float]],
        figures: Mapping[str, float],
        run: tuple[int, Mapping[str, int]],
        started: float,
    ) -> SafetyEvent:
        code, (value, limit) = next(
            iter(found.items()), ("preflight_passed", (figures["mean_coherence"], self._min_coherence))
        )
        return event_of(
            self,
            occasion,
            _DECISIONS[outcome],
            f"{code} value={value:.4f} limit={limit:.4f} runs={run[0]}",
            started=started,
            observed_score=value,
            threshold=limit,
            tenant_safe_explanation=_EXPLANATIONS[code],
            attributes={"planned": str(self._planned), "runs": str(run[0])}
            | {name: f"{figure:.4f}" for name, figure in figures.items()}
            | {f"against_{position}": each for position, each in enumerate(found)}
            | {fault: str(number) for fault, number in run[1].items()},
        )


def _derive(seed: int, index: int) -> int:
    """Return the seed of one simulation: the same whatever runs beside it."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{index}".encode()).digest()[:8], "big") >> 1


def _limit(name: str, value: object) -> object:
    if value is None:
        raise ConfigError(f"{name} must be a number of seconds: a simulation that hangs must end")
    return value
