"""Where a tool may not go, and how far it can: places in meters, and straight lines between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from director_ai.core.identifiers import is_ref
from director_ai.errors import ConfigError, UnknownOption
from director_ai.hooks.cyber_physical.quantities import Figure, Point, read_figure, read_point

__all__ = ["Box", "HalfSpace", "KeepOut", "OnViolation", "Sphere", "Workspace", "check_name", "check_on_violation"]

OnViolation = Literal["warn", "halt", "block"]
"""What comes of going beyond a constraint."""
_OUTCOMES: Final = ("warn", "halt", "block")


def check_name(what: str, name: object) -> str:
    """Return a name that may stand in records, or refuse it."""
    if not isinstance(name, str) or not is_ref(name) or len(name) > 100:
        raise ConfigError(f"{what} must be one word of at most 100 letters, digits and . _ : / -")
    return str.__str__(name)


def check_on_violation(outcome: object) -> None:
    """Refuse what is not one of warn, halt and block."""
    if outcome not in _OUTCOMES:
        raise UnknownOption("on_violation", outcome, _OUTCOMES)


def _length(name: str, value: object, unit: str, *, least: float) -> float:
    found = read_figure("length", value, unit=unit)
    if found < least:
        raise ConfigError(f"{name} must be at least {least:g} m")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box with sides along the axes; its faces belong to it."""

    name: str
    low: Any
    """The corner with the smallest x, y and z."""
    high: Any
    unit: str = ""
    """What bare numbers are in."""
    on_violation: OnViolation = "block"
    corners: tuple[Point, Point] = field(init=False)

    def __post_init__(self) -> None:
        check_name("the name of a box", self.name)
        check_on_violation(self.on_violation)
        low, high = read_point(self.low, unit=self.unit), read_point(self.high, unit=self.unit)
        if any(least > most for least, most in zip(low, high, strict=True)):
            raise ConfigError("the low corner of a box must not lie above its high corner")
        object.__setattr__(self, "corners", (low, high))

    def entry(self, start: Point, end: Point, clearance: float) -> float | None:
        """Return how far along the line, from 0 to 1, it is entered; None where it is not."""
        first, last = 0.0, 1.0
        low, high = self.corners
        for axis in (0, 1, 2):
            a, b = start[axis], end[axis]
            near, far = low[axis] - clearance, high[axis] + clearance
            if (a < near and b < near) or (a > far and b > far):
                return None
            span = b - a
            if span == 0.0:
                continue
            enters, leaves = (
                ((near - a) / span, (far - a) / span) if span > 0.0 else ((far - a) / span, (near - a) / span)
            )
            first, last = max(first, enters), min(last, leaves)
        return first if first <= last else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere:
    """A ball; its surface belongs to it."""

    name: str
    center: Any
    radius: Figure
    unit: str = ""
    on_violation: OnViolation = "block"
    ball: tuple[Point, float] = field(init=False)

    def __post_init__(self) -> None:
        check_name("the name of a sphere", self.name)
        check_on_violation(self.on_violation)
        radius = _length("radius", self.radius, self.unit, least=1e-9)
        object.__setattr__(self, "ball", (read_point(self.center, unit=self.unit), radius))

    def entry(self, start: Point, end: Point, clearance: float) -> float | None:
        """Return how far along the line, from 0 to 1, it is entered; None where it is not."""
        center, radius = self.ball
        reach = radius + clearance
        if math.dist(start, center) <= reach:
            return 0.0
        (x, y, z), (u, v, w) = start, (end[0] - start[0], end[1] - start[1], end[2] - start[2])
        length = math.hypot(u, v, w)
        if length == 0.0:
            return None
        # Along the line in meters: squares of fractions would lose small spheres far away.
        nearest = (u * (center[0] - x) + v * (center[1] - y) + w * (center[2] - z)) / length
        part = nearest / length
        aside = math.dist((x + u * part, y + v * part, z + w * part), center)
        ends_inside = math.dist(end, center) <= reach
        if not ends_inside and (nearest <= 0.0 or aside > reach):
            return None
        enters = nearest - math.sqrt(max(reach * reach - aside * aside, 0.0))
        return None if enters > length and not ends_inside else min(max(enters / length, 0.0), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfSpace:
    """All that lies beyond a plane, on the side its normal points to; the plane belongs to it."""

    name: str
    normal: tuple[float, float, float]
    """A direction; its length does not matter."""
    through: Any
    """A place on the plane."""
    unit: str = ""
    on_violation: OnViolation = "block"
    plane: tuple[Point, float] = field(init=False)

    def __post_init__(self) -> None:
        check_name("the name of a half-space", self.name)
        check_on_violation(self.on_violation)
        normal = read_point(self.normal, unit="m")
        length = math.hypot(*normal)
        if length < 1e-9:
            raise ConfigError("the normal of a half-space must point somewhere")
        x, y, z = (each / length for each in normal)
        point = read_point(self.through, unit=self.unit)
        object.__setattr__(self, "plane", ((x, y, z), x * point[0] + y * point[1] + z * point[2]))

    def entry(self, start: Point, end: Point, clearance: float) -> float | None:
        """Return how far along the line, from 0 to 1, it is entered; None where it is not."""
        normal, offset = self.plane
        x, y, z = normal
        first = x * start[0] + y * start[1] + z * start[2] - offset + clearance
        last = x * end[0] + y * end[1] + z * end[2] - offset + clearance
        if first >= 0.0:
            return 0.0
        return None if last < 0.0 else first / (first - last)


KeepOut = Box | Sphere | HalfSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Where one tool can be put: between two distances from its base, no faster than its speed.

    Without `outer` nothing is known to be within reach, so nothing is, unless a robot's description says how far its
    arm can reach, or `assume_reachable` is set.
    """

    target: str = "tool"
    base: Any = (0.0, 0.0, 0.0)
    inner: Figure = "0 m"
    outer: Figure | None = None
    speed: Figure | None = None
    clearance: Figure = "0 m"
    """How far from a keep-out volume the tool's point must stay: at least the radius of the tool."""
    unit: str = "m"
    assume_reachable: bool = False
    on_violation: OnViolation = "block"
    origin: Point = field(init=False)
    shell: tuple[float, float | None] = field(init=False)
    fastest: float | None = field(init=False)
    margin: float = field(init=False)

    def __post_init__(self) -> None:
        check_name("the target of a workspace", self.target)
        check_on_violation(self.on_violation)
        inner = _length("inner", self.inner, self.unit, least=0.0)
        outer = None if self.outer is None else _length("outer", self.outer, self.unit, least=1e-9)
        if outer is not None and inner > outer:
            raise ConfigError("the inner distance of a workspace must not be more than its outer one")
        fastest = None if self.speed is None else read_figure("velocity", self.speed)
        margin = _length("clearance", self.clearance, self.unit, least=0.0)
        if fastest is not None and fastest < 0.0:
            raise ConfigError("the speed of a workspace must not be negative")
        object.__setattr__(self, "origin", read_point(self.base, unit=self.unit))
        object.__setattr__(self, "shell", (inner, outer))
        object.__setattr__(self, "fastest", fastest)
        object.__setattr__(self, "margin", margin)
