"""Cyber-physical grounding: a proposed action is held against limits, volumes, reach and budgets before it is done.

Nothing is moved here, and nothing is measured: the hook knows what its user declared and what it was told of the last
state. What it does not know, it refuses.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.ranges import check_number
from director_ai.core.safety_event import POLICY_DECISIONS, SafetyEvent
from director_ai.errors import ConfigError, PayloadError
from director_ai.hooks.cyber_physical.action import PhysicalAction, Violation
from director_ai.hooks.cyber_physical.budgets import Ledger
from director_ai.hooks.cyber_physical.grounding import Grounding, beyond
from director_ai.hooks.cyber_physical.model import PhysicalModel
from director_ai.hooks.cyber_physical.quantities import read_figure, read_point
from director_ai.hooks.cyber_physical.reading import ActionReader
from director_ai.hooks.cyber_physical.whereabouts import Whereabouts
from director_ai.hooks.protocol import Occasion, ProposedAction, event_of

if TYPE_CHECKING:
    from director_ai.core.safety_event import PolicyDecision

__all__ = ["CyberPhysicalHook", "GroundingVerdict"]

Reader = Callable[[ProposedAction], Any]
"""Answers with a PhysicalAction, or with None where a call moves nothing; anything else is refused."""
_NAMED_AT_MOST: Final = 32
_TRIES: Final = 16
_ALLOWED: Final = "The physical action was within every limit of the model."
_EXPLANATIONS: Final = {
    "above_range": "The physical action was outside the range of a limit.",
    "below_range": "The physical action was outside the range of a limit.",
    "rate_exceeded": "The physical action exceeds the rate of a limit.",
    "speed_exceeded": "The physical action exceeds the rate of a limit.",
    "step_exceeded": "The physical action exceeds the step of a limit.",
    "keep_out": "The physical action would reach into a closed range.",
    "unreachable": "The physical action was unreachable.",
    "reach_unknown": "The reach of the physical action was unknown.",
    "state_unknown": "The last state was unknown, so the physical action was refused.",
    "state_changing": "The last state was unknown, so the physical action was refused.",
    "state_stale": "The last state has expired, so the physical action was refused.",
    "budget_spent": "The budget of physical actions was spent.",
    "energy_unknown": "The energy of the physical action was unknown.",
}
_REFUSED: Final = "The physical action was invalid or unknown, so it was refused."


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingVerdict:
    """What came of checking an action: the decision, and every constraint that it violates."""

    decision: PolicyDecision
    violations: tuple[Violation, ...]
    safety_event: SafetyEvent

    @property
    def allowed(self) -> bool:
        """Whether the action may be done."""
        return self.decision in {"allow", "warn"}

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every violation as `constraint code figures`."""
        return tuple(f"{each.constraint} {each.reason}" for each in self.violations)


class CyberPhysicalHook:
    """Checks physical actions against a model.

    Args:
        model: Limits, joints, volumes, workspaces and budgets.
        reader: Turns a tool call into a physical action; None where it is not one.
        state_valid_for: Seconds after which what was observed says nothing any more.
        clock: Seconds that only grow.
    """

    hook_id = "cyber_physical.grounding"
    hook_scope = "cyber_physical"
    moments = frozenset({"action"})

    def __init__(
        self,
        model: PhysicalModel,
        *,
        reader: Reader | None = None,
        state_valid_for: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not isinstance(model, PhysicalModel):
            raise ConfigError(f"model must be a PhysicalModel, got a {type(model).__name__}")
        if not callable(clock) or not (reader is None or callable(reader)):
            raise ConfigError("reader and clock must be functions")
        self._model, self._reader, self._clock = model, reader, clock
        self.is_quick = isinstance(reader, ActionReader) and clock is time.monotonic
        """Whether nothing of the user's own is called, so that it cannot hang."""
        self._max_age = check_number("state_valid_for", state_valid_for, 0.0, math.inf)
        self._state = Whereabouts()
        self._ledgers = tuple(Ledger(budget) for budget in model.budgets)
        self._lock = threading.Lock()

    def observe(self, target: str, kind: str, value: Any, *, at: float | None = None) -> None:
        """Say what a quantity was last seen to be; a figure that cannot be read leaves the state unknown."""
        key = (target, self._model.kind_of(target, kind))
        if key not in self._model.bounds:
            raise ConfigError("only quantities that the model limits can be observed")
        self._observe(key, lambda: read_figure(key[1], value), at)

    def observe_place(self, value: Any, *, target: str = "tool", unit: str = "", at: float | None = None) -> None:
        """Say where a tool was last seen; a place that cannot be read leaves it unknown."""
        if target not in self._model.workspaces:
            raise ConfigError("only a tool with a workspace can be observed")
        self._observe((target, "place"), lambda: read_point(value, unit=unit), at)

    def _observe(self, key: tuple[str, str], read: Callable[[], Any], at: float | None) -> None:
        with self._lock:
            self._state.seen.pop(key, None)
        seen = (read(), check_number("at", self._clock() if at is None else at, -math.inf, math.inf, PayloadError))
        with self._lock:
            self._state.see(key, seen)

    def refill(self) -> None:
        """Let every budget start anew."""
        with self._lock:
            for ledger in self._ledgers:
                ledger.refill()

    def examine(self, occasion: Occasion) -> GroundingVerdict | None:
        """Check the action of an occasion; None where there is none, or where the reader says it is not physical.

        An action that is allowed takes from the budgets, each time it is examined.
        """
        if occasion.action is None or self._reader is None:
            return None
        started = time.perf_counter()
        try:
            action = self._reader(occasion.action)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - whatever else a reader of the user's own raises, it has failed
            action = PhysicalAction(faults=(Violation(code="reader_error", constraint="reader"),))
        if action is None:
            return None
        if not isinstance(action, PhysicalAction):
            action = PhysicalAction(faults=(Violation(code="reader_invalid", constraint="reader"),))
        return self.check(action, occasion=occasion, started=started)

    def check(
        self, action: PhysicalAction, *, occasion: Occasion | None = None, started: float | None = None
    ) -> GroundingVerdict:
        """Check an action; where it is allowed, it takes from the budgets, and counts as done from then on."""
        started = time.perf_counter() if started is None else started
        found = tuple(self._grounded(action).violations)
        decision = _decide(found)
        return GroundingVerdict(
            decision=decision,
            violations=found,
            safety_event=self._event(occasion or Occasion(), decision, found, started),
        )

    def _grounded(self, action: PhysicalAction) -> Grounding:
        for _ in range(_TRIES):
            with self._lock:
                state = self._state.copy()
            now = self._now()
            # Without the lock: a value of a type of its own may take its time, and nobody else shall wait for it.
            grounding = Grounding(self._model, state, now=now, max_age=self._max_age)
            grounding.check(action)
            with self._lock:
                # Two actions that are each harmless must not both be allowed by what was so before either.
                if self._state.is_as(state, grounding.aims):
                    self._spend(grounding, now)
                    return grounding
        grounding.violations.append(Violation(code="state_changing", constraint="action"))
        return grounding

    def _now(self) -> float | None:
        try:
            return check_number("clock", self._clock(), -math.inf, math.inf)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - without a time no state is known, which refuses what needs one
            return None

    def _spend(self, grounding: Grounding, now: float | None) -> None:
        """Hold an action against the budgets, and take from them where nothing forbids it."""
        dues: list[tuple[Ledger, float]] = []
        for ledger in self._ledgers:
            budget = ledger.budget
            amount = 1.0 if budget.kind == "steps" else grounding.energy
            code = "energy_unknown" if amount is None else "clock_invalid" if now is None else ""
            if amount is None or now is None:
                grounding.violations.append(Violation(code=code, constraint=f"budget:{budget.name}"))
                continue
            total = ledger.spent(now) + amount
            if beyond(total, budget.amount):
                grounding.violations.append(
                    Violation(
                        code="budget_spent",
                        constraint=f"budget:{budget.name}",
                        value=total,
                        limit=budget.amount,
                        on_violation=budget.on_violation,
                    )
                )
            dues.append((ledger, amount))
        if _decide(tuple(grounding.violations)) not in {"allow", "warn"}:
            return
        at = -math.inf if now is None else now
        for key, values in grounding.aims.items():
            self._state.tell(key, values, at)
        for ledger, amount in dues:
            ledger.spend(amount, at)

    def _event(
        self, occasion: Occasion, decision: str, violations: tuple[Violation, ...], started: float
    ) -> SafetyEvent:
        if not violations:
            return event_of(
                self, occasion, decision, "within_limits", started=started, tenant_safe_explanation=_ALLOWED
            )
        worst = max(violations, key=lambda each: POLICY_DECISIONS.index(each.on_violation))
        return event_of(
            self,
            occasion,
            decision,
            worst.reason,
            started=started,
            tenant_safe_explanation=_EXPLANATIONS.get(worst.code, _REFUSED),
            evidence_refs=tuple(dict.fromkeys(each.constraint for each in violations))[:_NAMED_AT_MOST],
            attributes={"violations": str(len(violations))}
            | {f"violation_{i}": each.code for i, each in enumerate(violations[:_NAMED_AT_MOST])},
        )


def _decide(violations: tuple[Violation, ...]) -> PolicyDecision:
    """Return the strictest of what the violated constraints ask for."""
    return max((each.on_violation for each in violations), key=POLICY_DECISIONS.index, default="allow")
