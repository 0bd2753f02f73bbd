"""When a message between agents passes, and when its sender is no longer heard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from director_ai.core.ranges import check_count, check_number, check_seconds
from director_ai.errors import ConfigError, UnknownOption

__all__ = ["SwarmPolicy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmPolicy:
    """When a message passes, when its sender is put into quarantine, and how it comes out again."""

    threshold: float = 0.5
    """A message that scores below is halted."""
    warn_below: float = 0.7
    weight: float = 0.2
    """How much the last score counts in a record."""
    initial_record: float = 0.8
    quarantine_below: float = 0.4
    """A sender whose record falls below is put into quarantine."""
    recovery_messages: int | None = 5
    """Good messages in a row for one step: out of quarantine, and then out of suspicion; None: by an operator only."""
    window: float = 3600.0
    """Seconds for which a hand-off is held against who received it."""
    quarantine_depth: int = 1
    """Hands through which quarantine spreads."""
    suspect_depth: int = 3
    """Hands through which suspicion spreads."""
    unknown: Literal["block", "warn"] = "block"
    """What becomes of messages from and to agents that are not registered."""
    without_context: Literal["block", "warn"] = "warn"
    """What becomes of messages that the built-in scorer has nothing to judge by."""

    def __post_init__(self) -> None:
        for name in ("threshold", "warn_below", "weight", "initial_record", "quarantine_below"):
            check_number(name, getattr(self, name))
        if not self.weight:
            raise ConfigError("weight must be more than 0: no message would count")
        if self.warn_below < self.threshold or self.initial_record < self.quarantine_below:
            raise ConfigError("warn_below must reach threshold, and initial_record must reach quarantine_below")
        if self.recovery_messages is not None:
            check_count("recovery_messages", self.recovery_messages, 1)
        if check_seconds("window", self.window) is None:
            raise ConfigError("window must be a number of seconds")
        check_count("suspect_depth", self.suspect_depth, 0, 8)
        check_count("quarantine_depth", self.quarantine_depth, 0, self.suspect_depth)
        for name in ("unknown", "without_context"):
            if getattr(self, name) not in ("block", "warn"):
                raise UnknownOption(f"choice for {name}", getattr(self, name), ("block", "warn"))
