"""Holding one physical action against a model and the last known state: every constraint that it violates."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.identifiers import ref_of
from director_ai.hooks.cyber_physical.action import Violation
from director_ai.hooks.cyber_physical.quantities import KINDS, FigureRefused, read_figure, read_point
from director_ai.hooks.cyber_physical.whereabouts import MOST_TOLD, swept

if TYPE_CHECKING:
    from director_ai.hooks.cyber_physical.action import Move, PhysicalAction, Setpoint
    from director_ai.hooks.cyber_physical.model import Bounds, PhysicalModel
    from director_ai.hooks.cyber_physical.quantities import Point
    from director_ai.hooks.cyber_physical.volumes import OnViolation, Workspace
    from director_ai.hooks.cyber_physical.whereabouts import Known, Whereabouts

__all__ = ["Grounding", "beyond"]

_MOST_PARTS: Final = 256
_EDGE: Final = 1e-9


def beyond(value: float, limit: float) -> bool:
    """Whether a figure is above a limit; one on the limit is not, in whatever unit it was said."""
    return value > limit + _EDGE * abs(limit) if math.isfinite(limit) else value > limit


def _change(value: float, from_value: float) -> float:
    """Return how far apart two figures are, less what rounding alone can put between them."""
    return max(abs(value - from_value) - 4.0 * math.ulp(max(abs(value), abs(from_value))), 0.0)


class Grounding:
    """One action being checked; `violations` grows, and nothing takes from it."""

    def __init__(self, model: PhysicalModel, state: Whereabouts, *, now: float | None, max_age: float) -> None:
        self._model, self._state, self._now, self._max_age = model, state, now, max_age
        self._duration: float | None = None
        self._power: float | None = None
        self.violations: list[Violation] = []
        self.energy: float | None = None
        """What the action draws, in joules; None where nothing says so."""
        self.aims: dict[tuple[str, str], tuple[Any, ...]] = {}
        """Where the action leads what is judged by where it was: values, or the places of a path."""

    def check(self, action: PhysicalAction) -> None:
        """Hold every part of an action against the model."""
        try:
            self._check(action)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - parts of an unexpected type, made by a reader of the user's own
            self._hold("action_malformed", "action")

    def _check(self, action: PhysicalAction) -> None:
        if all(isinstance(fault, Violation) for fault in action.faults):
            self.violations += action.faults
        else:
            self._hold("action_malformed", "action")
        if len(action.setpoints) + len(action.moves) > _MOST_PARTS:
            self._hold("action_too_large", "action", float(len(action.setpoints) + len(action.moves)), _MOST_PARTS)
            return
        if action.duration is not None:
            self._duration = self._figure("duration", action.duration, "", "duration")
            if self._duration is not None and self._duration <= 0.0:
                self._hold("duration_invalid", "duration", self._duration, 0.0)
                self._duration = None
        seen: set[tuple[str, str]] = set()
        for setpoint in action.setpoints:
            self._check_setpoint(setpoint, seen)
        for move in action.moves:
            self._check_move(move, seen)
        self._total_energy(action)

    def _hold(self, code: str, constraint: str, value: float | None = None, limit: float | None = None) -> None:
        self.violations.append(Violation(code=code, constraint=constraint, value=value, limit=limit))

    def _hold_bounds(self, code: str, bounds: Bounds | Workspace, constraint: str, value: float, limit: float) -> None:
        self.violations.append(
            Violation(code=code, constraint=constraint, value=value, limit=limit, on_violation=bounds.on_violation)
        )

    def _figure(self, kind: str, value: Any, unit: str, constraint: str) -> float | None:
        try:
            return read_figure(kind, value, unit=unit)
        except FigureRefused as error:
            self._hold(error.code, constraint)
        except Exception:  # noqa: BLE001 - a value of a type of its own may raise anything when it is looked at
            self._hold("figure_malformed", constraint)
        return None

    def _check_setpoint(self, setpoint: Setpoint, seen: set[tuple[str, str]]) -> None:
        target = setpoint.target
        refusal = self._model.joint_refusal(target) if isinstance(target, str) else "target_unknown"
        if refusal is None and target not in self._model.targets:
            refusal = "target_unknown"
        if refusal is not None:
            self._hold(refusal, _hashed(target) if refusal == "target_unknown" else f"joint:{target}")
            return
        kind = self._model.kind_of(target, setpoint.kind)
        limits = self._model.bounds.get((target, kind))
        if limits is None:
            self._hold("quantity_unknown", f"limit:{target}.{kind}" if kind in KINDS else _hashed(kind))
            return
        constraint = f"limit:{target}.{kind}"
        if (target, kind) in seen:
            self._hold("target_twice", constraint)
        seen.add((target, kind))
        value = self._figure(kind, setpoint.value, setpoint.unit, constraint)
        if value is None:
            return
        if kind == "power":
            self._power = (self._power or 0.0) + abs(value)
        if kind == "energy":
            self.energy = (self.energy or 0.0) + max(value, 0.0)
        for bounds in limits:
            self._check_bounds(bounds, value, (target, kind))

    def _check_bounds(self, bounds: Bounds, value: float, key: tuple[str, str]) -> None:
        if beyond(value, bounds.high):
            self._hold_bounds("above_range", bounds, bounds.constraint, value, bounds.high)
        if beyond(-value, -bounds.low):
            self._hold_bounds("below_range", bounds, bounds.constraint, value, bounds.low)
        if math.isinf(bounds.rate) and math.isinf(bounds.step):
            return
        self.aims[key] = (value,)
        known = self._known(key, bounds.constraint, bounds.on_violation)
        if known is None:
            return
        # It may be where it was seen, or already where it was told to go since.
        starts = [known, *self._told(key)]
        change = max(_change(value, start) for start, _ in starts)
        if beyond(change, bounds.step):
            self._hold_bounds("step_exceeded", bounds, bounds.constraint, change, bounds.step)
        rate = max(self._per_second(_change(value, start), at) for start, at in starts)
        if beyond(rate, bounds.rate):
            self._hold_bounds("rate_exceeded", bounds, bounds.constraint, rate, bounds.rate)

    def _known(self, key: tuple[str, str], constraint: str, outcome: OnViolation = "block") -> Known | None:
        """Return the last known state, if there is one and it is neither old nor from the future."""
        known = self._state.seen.get(key)
        if known is None or self._now is None or len(self._told(key)) > MOST_TOLD:
            self.violations.append(Violation(code="state_unknown", constraint=constraint, on_violation=outcome))
            return None
        age = self._now - known[1]
        if not 0.0 <= age <= self._max_age:
            self.violations.append(
                Violation(
                    code="state_stale", constraint=constraint, value=age, limit=self._max_age, on_violation=outcome
                )
            )
            return None
        return known

    def _told(self, key: tuple[str, str]) -> tuple[Known, ...]:
        return self._state.told.get(key, ())

    def _per_second(self, change: float, since: float) -> float:
        seconds = self._duration if self._duration is not None else (self._now or 0.0) - since
        if change == 0.0:
            return 0.0
        return change / seconds if seconds > 0.0 else math.inf

    def _check_move(self, move: Move, seen: set[tuple[str, str]]) -> None:
        space = self._model.workspaces.get(move.target) if isinstance(move.target, str) else None
        if space is None:
            self._hold("target_unknown", _hashed(move.target))
            return
        constraint = f"workspace:{space.target}"
        if (space.target, "place") in seen:
            self._hold("target_twice", constraint)
        seen.add((space.target, "place"))
        points = self._points(move, constraint)
        if points is None:
            return
        for point in points:
            self._check_reach(space, point, constraint)
        if not self._needs_start(space):
            self._check_volumes(space, points, [])
            return
        self.aims[space.target, "place"] = tuple(points)
        known = self._known((space.target, "place"), constraint)
        starts = [] if known is None else [known, *self._told((space.target, "place"))]
        if starts and space.fastest is not None:
            way = sum(math.dist(a, b) for a, b in pairwise(points))
            speed = max(self._per_second(way + math.dist(start, points[0]), at) for start, at in starts)
            if beyond(speed, space.fastest):
                self._hold_bounds("speed_exceeded", space, constraint, speed, space.fastest)
        self._check_volumes(space, points, [place for place, _ in starts])

    def _needs_start(self, space: Workspace) -> bool:
        return bool(self._model.keep_out) or space.fastest is not None

    def _points(self, move: Move, constraint: str) -> list[Point] | None:
        if not isinstance(move.path, list | tuple) or not move.path:
            self._hold("figure_malformed", constraint)
            return None
        if len(move.path) > _MOST_PARTS:
            self._hold("action_too_large", constraint, float(len(move.path)), _MOST_PARTS)
            return None
        try:
            return [read_point(each, unit=move.unit) for each in move.path]
        except FigureRefused as error:
            self._hold(error.code, constraint)
        except Exception:  # noqa: BLE001 - as above
            self._hold("figure_malformed", constraint)
        return None

    def _check_reach(self, space: Workspace, point: Point, constraint: str) -> None:
        distance, inner = math.dist(point, space.origin), space.shell[0]
        outer = self._model.reach_of(space)
        if outer is None and not space.assume_reachable:
            self._hold("reach_unknown", constraint, distance)
        elif outer is not None and beyond(distance, outer):
            self._hold_bounds("unreachable", space, constraint, distance, outer)
        elif beyond(inner, distance):
            self._hold_bounds("unreachable", space, constraint, distance, inner)

    def _check_volumes(self, space: Workspace, points: list[Point], behind: list[Point]) -> None:
        """Hold a path against the volumes; `behind` is the way that the tool may still be on, from its last place."""
        legs = [(start, points[0]) for start in behind] + list(pairwise(points)) or [(points[0], points[0])]
        for volume in self._model.keep_out:
            entries = (volume.entry(*leg, space.margin) for leg in legs)
            at = next((at for at in entries if at is not None), None)
            if at is None:
                sweeps = (swept(volume, leg, points[0], space.margin) for leg in pairwise(behind))
                at = next((at for at in sweeps if at is not None), None)
            if at is not None:
                self.violations.append(
                    Violation(
                        code="keep_out",
                        constraint=f"keep_out:{volume.name}",
                        value=at,
                        on_violation=volume.on_violation,
                    )
                )

    def _total_energy(self, action: PhysicalAction) -> None:
        found = [] if self.energy is None else [self.energy]
        for figure in (action.energy, action.least_energy):
            value = None if figure is None else self._figure("energy", figure, "", "energy")
            if value is not None and value < 0.0:
                self._hold("energy_invalid", "energy", value, 0.0)
            elif value is not None:
                found.append(value)
        if self._power is not None and self._duration is not None:
            found.append(self._power * self._duration)
        elif self._power:
            found = []  # a power without an end: whatever else is said of its energy is not all of it
        self.energy = max(found, default=None)


def _hashed(value: object) -> str:
    """Return what stands for a name from outside: it may be anybody's."""
    return ref_of("", value if isinstance(value, str) else type(value).__name__)
