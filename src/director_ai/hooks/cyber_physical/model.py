"""A model of the physical world as far as actions must respect it: limits, joints, volumes, workspaces, budgets."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from director_ai.errors import ConfigError
from director_ai.hooks.cyber_physical.budgets import Budget
from director_ai.hooks.cyber_physical.quantities import Figure, check_kind, read_figure, read_rate
from director_ai.hooks.cyber_physical.robot import Joint, Robot
from director_ai.hooks.cyber_physical.volumes import (
    Box,
    HalfSpace,
    KeepOut,
    OnViolation,
    Sphere,
    Workspace,
    check_name,
    check_on_violation,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["JOINT_KINDS", "Bounds", "Limit", "PhysicalModel"]

JOINT_KINDS: Final = {
    "joint": ("angle", "length"),
    "joint_velocity": ("angular_velocity", "velocity"),
    "joint_acceleration": ("angular_acceleration", "acceleration"),
    "joint_effort": ("torque", "force"),
}
"""What is meant of a joint that turns, and of one that slides."""
_MOST_CONSTRAINTS: Final = 2_000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How far one quantity of one thing may go, how fast it may change, and by how much at once."""

    target: str
    kind: str
    low: Figure | None = None
    high: Figure | None = None
    rate: Figure | None = None
    """Most change per second, for example `5 K/min`."""
    step: Figure | None = None
    """Most change in one action."""
    on_violation: OnViolation = "block"
    bounds: Bounds = field(init=False)

    def __post_init__(self) -> None:
        check_name("the target of a limit", self.target)
        check_kind(self.kind)
        check_on_violation(self.on_violation)
        low = -math.inf if self.low is None else read_figure(self.kind, self.low)
        high = math.inf if self.high is None else read_figure(self.kind, self.high)
        rate = math.inf if self.rate is None else read_rate(self.kind, self.rate)
        step = math.inf if self.step is None else read_figure(self.kind, self.step, difference=True)
        if low > high or rate < 0.0 or step < 0.0:
            raise ConfigError("low must not be more than high, and rate and step must not be negative")
        constraint = f"limit:{self.target}.{self.kind}"
        made = Bounds(constraint=constraint, low=low, high=high, rate=rate, step=step, on_violation=self.on_violation)
        object.__setattr__(self, "bounds", made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A limit in the units of its kind; what is not limited is infinite."""

    constraint: str
    low: float = -math.inf
    high: float = math.inf
    rate: float = math.inf
    step: float = math.inf
    on_violation: OnViolation = "block"


class PhysicalModel:
    """Everything that an action is checked against; it does not change once it is made.

    Args:
        limits: Ranges, rates and steps; several of one quantity all hold.
        robot: Joints with their limits, as read from a description.
        keep_out: Volumes that no tool may enter, nor pass on a straight line.
        workspaces: The tools that can be put somewhere, and how far they reach.
        budgets: How many actions and how much energy.
    """

    def __init__(
        self,
        *,
        limits: Iterable[Limit] = (),
        robot: Robot | None = None,
        keep_out: Iterable[KeepOut] = (),
        workspaces: Iterable[Workspace] = (),
        budgets: Iterable[Budget] = (),
    ) -> None:
        self.robot = _of_type("robot", robot, Robot) if robot is not None else None
        self.keep_out = tuple(_of_type("keep_out", each, Box, Sphere, HalfSpace) for each in keep_out)
        self.budgets = tuple(_of_type("budgets", each, Budget) for each in budgets)
        spaces = [_of_type("workspaces", each, Workspace) for each in workspaces]
        self.workspaces = {each.target: each for each in spaces}
        found: defaultdict[tuple[str, str], list[Bounds]] = defaultdict(list)
        for limit in limits:
            found[_of_type("limits", limit, Limit).target, limit.kind].append(limit.bounds)
        for joint in robot.joints.values() if robot is not None else ():
            _add_joint(found, joint, robot.joints if robot is not None else {})
        self.bounds = {key: tuple(each) for key, each in found.items()}
        self.targets = frozenset(target for target, _ in self.bounds)
        names = [each.name for each in (*self.keep_out, *self.budgets)]
        if len(set(names)) != len(names) or len(self.workspaces) != len(spaces):
            raise ConfigError("keep-out volumes, budgets and workspaces need names of their own")
        if len(names) + len(spaces) + sum(map(len, self.bounds.values())) > _MOST_CONSTRAINTS:
            raise ConfigError(f"a model may have at most {_MOST_CONSTRAINTS} constraints")

    def kind_of(self, target: str, kind: str) -> str:
        """Return the kind of quantity meant: of a joint, by how it moves."""
        turning, sliding = JOINT_KINDS.get(kind, (kind, kind))
        joint = self.robot.joints.get(target) if self.robot is not None else None
        return sliding if joint is not None and joint.type == "prismatic" else turning

    def joint_refusal(self, target: str) -> str | None:
        """Return why a joint cannot be told where to go; None where it can, or where it is no joint."""
        joint = self.robot.joints.get(target) if self.robot is not None else None
        if joint is None or joint.is_commanded:
            return None
        if joint.follows is not None:
            return "joint_mimics"
        return "joint_fixed" if joint.type == "fixed" else "joint_unsupported"

    def reach_of(self, space: Workspace) -> float | None:
        """Return how far a tool reaches, in meters; None where nothing says so."""
        outer = space.shell[1]
        arm = self.robot.reach if self.robot is not None else None
        return min((each for each in (outer, arm) if each is not None), default=None)


def _of_type(name: str, value: _T, *types: type) -> _T:
    if not isinstance(value, types):
        raise ConfigError(f"{name} must hold {' or '.join(each.__name__ for each in types)}")
    return value


def _add_joint(found: defaultdict[tuple[str, str], list[Bounds]], joint: Joint, joints: dict[str, Joint]) -> None:
    """Add the limits of a joint; those of one that follows another bind the one it follows."""
    target, multiplier, offset = joint.follows or (joint.name, 1.0, 0.0)
    leader = joints[target]
    if joint.type not in {"revolute", "continuous", "prismatic"} or not leader.is_commanded:
        return
    constraint = f"joint:{joint.name}"
    low = -math.inf if joint.low is None else joint.low
    high = math.inf if joint.high is None else joint.high
    which = 1 if leader.type == "prismatic" else 0
    if multiplier == 0.0:
        if not low <= offset <= high:
            raise ConfigError("a joint that mimics another would always stand outside its own range")
        return
    ends = sorted(((low - offset) / multiplier, (high - offset) / multiplier))
    speed = math.inf if joint.velocity is None else joint.velocity / abs(multiplier)
    found[target, JOINT_KINDS["joint"][which]].append(
        Bounds(constraint=constraint, low=ends[0], high=ends[1], rate=speed)
    )
    # A quantity that nothing limits stays unknown, and is refused.
    if joint.velocity is not None:
        found[target, JOINT_KINDS["joint_velocity"][which]].append(
            Bounds(constraint=constraint, low=-speed, high=speed)
        )
    if joint.effort is not None and joint.follows is None:
        found[target, JOINT_KINDS["joint_effort"][which]].append(
            Bounds(constraint=constraint, low=-joint.effort, high=joint.effort)
        )
