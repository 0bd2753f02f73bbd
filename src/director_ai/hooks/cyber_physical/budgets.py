"""Budgets of physical actions: how many of them, and how much energy, within a span of time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, Literal

from director_ai.core.ranges import check_count
from director_ai.errors import ConfigError, UnknownOption
from director_ai.hooks.cyber_physical.quantities import Figure, read_figure
from director_ai.hooks.cyber_physical.volumes import OnViolation, check_name, check_on_violation

__all__ = ["Budget", "Ledger"]

_KINDS: Final = ("energy", "steps")
_SLOTS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be spent within a span of time, or altogether until it is refilled."""

    name: str
    kind: Literal["energy", "steps"]
    """Joules, or a count of actions."""
    most: Figure
    per: Figure | None = None
    """The span of time; None: until the hook is told to refill."""
    on_violation: OnViolation = "block"
    amount: float = field(init=False)
    seconds: float | None = field(init=False)

    def __post_init__(self) -> None:
        check_name("the name of a budget", self.name)
        check_on_violation(self.on_violation)
        if self.kind not in _KINDS:
            raise UnknownOption("kind of budget", self.kind, _KINDS)
        is_energy = self.kind == "energy"
        amount = read_figure("energy", self.most) if is_energy else float(check_count("most", self.most, 0))
        seconds = None if self.per is None else read_figure("duration", self.per)
        if amount < 0.0:
            raise ConfigError("a budget must not be negative")
        if seconds is not None and seconds <= 0.0:
            raise ConfigError("the span of a budget must be more than 0 seconds")
        object.__setattr__(self, "amount", amount)
        object.__setattr__(self, "seconds", seconds)


class Ledger:
    """What was spent of one budget; its holder sees to it that one thread at a time asks."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._spent: deque[tuple[float, float]] = deque()  # when the last of a slot was spent, and how much in it
        self._latest = 0.0
        self._begun = 0.0

    def spent(self, now: float) -> float:
        """Return what counts as spent; a clock that goes back gives nothing back."""
        self._latest = max(self._latest, now) if self._spent else now
        span = self.budget.seconds
        while span is not None and self._spent and self._spent[0][0] + span <= self._latest:
            self._spent.popleft()
        return sum(amount for _, amount in self._spent)

    def spend(self, amount: float, now: float) -> None:
        """Take note of what is spent; spendings close to each other share a slot, and expire with its last."""
        now = max(self._latest, now)
        width = (self.budget.seconds or 0.0) / _SLOTS
        if self._spent and (self.budget.seconds is None or now - self._begun < width):
            self._spent[-1] = (now, self._spent[-1][1] + amount)
            return
        self._begun = now
        self._spent.append((now, amount))

    def refill(self) -> None:
        """Forget what was spent."""
        self._spent.clear()
