"""A proposed physical action in typed parts, and what can be held against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from director_ai.hooks.cyber_physical.volumes import OnViolation, check_on_violation

__all__ = ["Move", "PhysicalAction", "Setpoint", "Violation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setpoint:
    """One quantity of one thing, and what it is to be; the value is judged when the action is checked."""

    target: Any
    kind: str
    """One of KINDS, or of JOINT_KINDS for a joint of the robot."""
    value: Any
    unit: str = ""
    """What a bare number is in; empty: it must state its unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A tool that is to go to a place, or through several of them on straight lines."""

    target: Any
    path: Any
    """A list of places, each with three lengths."""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that an action violates: its code, which constraint, and the figures."""

    code: str
    constraint: str
    """An identifier: `limit:oven.temperature`, `joint:elbow`, `keep_out:press`; hashed where it came from outside."""
    value: float | None = None
    limit: float | None = None
    on_violation: OnViolation = "block"

    def __post_init__(self) -> None:
        check_on_violation(self.on_violation)

    @property
    def reason(self) -> str:
        """The code with its figures, as it stands in records."""
        figures = [("value", self.value), ("limit", self.limit)]
        return " ".join([self.code, *(f"{name}={each:.6g}" for name, each in figures if each is not None)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalAction:
    """What is to be done at once, and what is already known to be wrong with it."""

    setpoints: tuple[Setpoint, ...] = ()
    moves: tuple[Move, ...] = ()
    duration: Any = None
    """How long it will take; where it is not said, the time since the last known state counts."""
    energy: Any = None
    """What it will draw; a power times the duration counts where it is more."""
    least_energy: Any = None
    """What such an action draws at the least, whatever it says of itself."""
    faults: tuple[Violation, ...] = ()
