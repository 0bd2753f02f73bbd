"""A physical action is held against the model and the last known state; every violated constraint is named."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import FAN, GRIP, HEATER, OVEN, PRESS, SPACE, URDF, make_hook

from director_ai.core.safety_event import POLICY_DECISIONS, validate_safety_event
from director_ai.errors import ConfigError, PayloadError
from director_ai.hooks.cyber_physical import (
    Budget,
    CyberPhysicalHook,
    GroundingVerdict,
    Limit,
    Move,
    PhysicalAction,
    PhysicalModel,
    Setpoint,
    Workspace,
    parse_urdf,
)
from director_ai.hooks.protocol import Occasion


def setting(target: Any, kind: str, value: Any, **more: Any) -> PhysicalAction:
    return PhysicalAction(setpoints=(Setpoint(target=target, kind=kind, value=value),), **more)


def going(*path: Any, **more: Any) -> PhysicalAction:
    return PhysicalAction(moves=(Move(target="tool", path=list(path), unit="m"),), **more)


def codes(verdict: GroundingVerdict) -> list[tuple[str, str]]:
    return [(each.constraint, each.code) for each in verdict.violations]


ACTIONS: dict[str, tuple[PhysicalAction, str, list[tuple[str, str]]]] = {
    "within every limit": (setting("oven", "temperature", "101 degC"), "allow", []),
    "on the limit, in another unit": (setting("gripper", "force", "0.04 kN"), "allow", []),
    "above its range": (setting("gripper", "force", "41 N"), "halt", [("limit:gripper.force", "above_range")]),
    "below its range": (setting("gripper", "force", "-1 N"), "halt", [("limit:gripper.force", "below_range")]),
    "a soft limit only warns": (setting("fan", "ratio", 0.9), "warn", [("limit:fan.ratio", "above_range")]),
    "too fast": (setting("oven", "temperature", "103 degC"), "block", [("limit:oven.temperature", "rate_exceeded")]),
    "the same in more time": (setting("oven", "temperature", "103 degC", duration="2 s"), "allow", []),
    "too much at once, however slowly": (
        setting("oven", "temperature", "140 degC", duration="1 h"),
        "block",
        [("limit:oven.temperature", "step_exceeded")],
    ),
    "everything at once": (
        setting("oven", "temperature", "300 degC"),
        "block",
        [
            ("limit:oven.temperature", "above_range"),
            ("limit:oven.temperature", "step_exceeded"),
            ("limit:oven.temperature", "rate_exceeded"),
        ],
    ),
    "no time at all": (
        setting("oven", "temperature", "101 degC", duration="0 s"),
        "block",
        [("duration", "duration_invalid")],
    ),
    "a place in reach": (going((0.2, -0.3, 0.6)), "allow", []),
    "out of reach": (going((0.9, -0.3, 0.5), duration="9 s"), "block", [("workspace:tool", "unreachable")]),
    "too near to the base": (going((0, 0, 0.05), duration="9 s"), "block", [("workspace:tool", "unreachable")]),
    "too fast for the tool": (going((0.2, 0.4, 0.5)), "block", [("workspace:tool", "speed_exceeded")]),
    "inside a box": (going((0.5, 0, 0.5), duration="9 s"), "block", [("keep_out:press", "keep_out")]),
    "through a box on a straight line": (
        going((0.7, 0.3, 0.4), duration="9 s"),
        "block",
        [("keep_out:press", "keep_out")],
    ),
    "around the box": (going((0.1, 0.3, 0.5), (0.7, 0.3, 0.4), duration="9 s"), "allow", []),
    "through a sphere": (
        going((-0.4, -0.4, 0.5), (-0.5, 0.4, 0.5), duration="9 s"),
        "block",
        [("keep_out:head", "keep_out")],
    ),
    "below the floor": (going((0.2, -0.3, -0.1), duration="9 s"), "halt", [("keep_out:floor", "keep_out")]),
    "an unknown thing": (setting("zorblatt", "temperature", "1 K"), "block", []),
    "a quantity nobody limited": (
        setting("oven", "pressure", "1 bar"),
        "block",
        [("limit:oven.pressure", "quantity_unknown")],
    ),
    "a bare number": (setting("gripper", "force", 20), "block", [("limit:gripper.force", "unit_missing")]),
    "the wrong unit": (setting("gripper", "force", "20 kg"), "block", [("limit:gripper.force", "unit_mismatch")]),
    "one thing told twice": (
        PhysicalAction(setpoints=(Setpoint(target="fan", kind="ratio", value=0.1),) * 2),
        "block",
        [("limit:fan.ratio", "target_twice")],
    ),
    "nothing to do": (PhysicalAction(), "allow", []),
}


@pytest.mark.parametrize(("action", "decision", "violated"), ACTIONS.values(), ids=ACTIONS)
def test_what_comes_of_an_action(action: PhysicalAction, decision: str, violated: list[tuple[str, str]]) -> None:
    hook, _ = make_hook()
    verdict = hook.check(action, occasion=Occasion(tenant_id="acme", request_id="r1"))
    assert verdict.decision == decision
    assert verdict.allowed == (decision in {"allow", "warn"})
    if violated:
        assert codes(verdict) == violated
    event = validate_safety_event(verdict.safety_event.to_dict())
    assert (event.hook_id, event.hook_scope, event.policy_decision) == (
        "cyber_physical.grounding",
        "cyber_physical",
        decision,
    )
    assert (event.tenant_id, event.request_id) == ("acme", "r1")
    assert set(event.evidence_refs) == {each.constraint for each in verdict.violations}
    assert event.latency_ms is not None


def test_violations_carry_their_figures() -> None:
    hook, _ = make_hook()
    (found,) = hook.check(setting("gripper", "force", "0.05 kN")).violations
    assert (found.value, found.limit) == (50.0, 40.0)
    verdict = hook.check(going((0.7, 0.3, 0.4), duration="9 s"))
    assert 0.0 < (verdict.violations[0].value or 0.0) < 1.0
    assert hook.check(setting("gripper", "force", "0.05 kN")).reasons == (
        "limit:gripper.force above_range value=50 limit=40",
    )


class TestJoints:
    def hook(self) -> CyberPhysicalHook:
        hook, clock = make_hook(limits=[], keep_out=[], workspaces=[], robot=parse_urdf(URDF))
        for name, value in (("shoulder", "0 rad"), ("slide", "0.15 m"), ("wheel", "0 rad")):
            hook.observe(name, "joint", value, at=100.0)
        clock.advance(0.0)
        return hook

    @pytest.mark.parametrize(
        ("target", "kind", "value", "violated"),
        [
            ("shoulder", "joint", "30 deg", []),
            ("shoulder", "angle", "30 deg", []),
            ("shoulder", "joint", "0.3 m", ["unit_mismatch"]),
            ("shoulder", "joint", "90 deg", ["above_range", "rate_exceeded"]),
            ("shoulder", "joint", "70 deg", ["rate_exceeded"]),
            ("shoulder", "joint_velocity", "30 deg/s", []),
            ("shoulder", "joint_velocity", "-60 deg/s", ["below_range"]),
            ("shoulder", "joint_effort", "60 Nm", ["above_range"]),
            ("shoulder", "joint_effort", "60 J", ["unit_mismatch"]),
            ("shoulder", "joint_acceleration", "1 rad/s^2", ["quantity_unknown"]),
            ("slide", "joint", "18 cm", []),
            ("slide", "joint", "5 cm", ["below_range"]),  # the finger that follows it would be at 15 cm of its 10
            ("slide", "joint_effort", "30 N", ["above_range"]),
            ("slide", "joint_velocity", "0.3 m/s", ["above_range"]),  # more than the finger's own
            ("wheel", "joint", "40 deg", []),
            ("wheel", "joint_velocity", "1 rpm", ["quantity_unknown"]),
            ("finger", "joint", "1 cm", ["joint_mimics"]),
            ("weld", "joint", "1 deg", ["joint_fixed"]),
            ("free", "joint", "1 m", ["joint_unsupported"]),
            ("elbow", "joint", "1 deg", ["target_unknown"]),
            ("Shoulder", "joint", "1 deg", ["target_unknown"]),
            ("ѕhoulder", "joint", "1 deg", ["target_unknown"]),
        ],
    )
    def test_joints_keep_to_their_description(self, target: str, kind: str, value: str, violated: list[str]) -> None:
        assert [each.code for each in self.hook().check(setting(target, kind, value)).violations] == violated

    def test_a_follower_is_named_as_what_is_violated(self) -> None:
        verdict = self.hook().check(setting("slide", "joint", "5 cm"))
        assert codes(verdict) == [("joint:finger", "below_range")]

    def test_limits_of_the_user_hold_beside_those_of_the_description(self) -> None:
        narrow = Limit(target="shoulder", kind="angle", high="10 deg")
        hook, _ = make_hook(limits=[narrow], keep_out=[], workspaces=[], robot=parse_urdf(URDF))
        hook.observe("shoulder", "joint", "0 deg")
        assert codes(hook.check(setting("shoulder", "joint", "20 deg", duration="9 s"))) == [
            ("limit:shoulder.angle", "above_range")
        ]

    def test_an_arm_reaches_no_farther_than_its_links(self) -> None:
        robot = parse_urdf(URDF.replace('type="planar"', 'type="fixed"'))
        assert robot.reach is not None
        for outer, reach in ((None, robot.reach), ("5 m", robot.reach), ("0.5 m", 0.5)):
            hook, _ = make_hook(limits=[], keep_out=[], workspaces=[Workspace(outer=outer)], robot=robot)
            assert hook.check(going((0, 0, reach))).allowed
            assert codes(hook.check(going((0, 0, reach + 0.01)))) == [("workspace:tool", "unreachable")]

    def test_a_follower_with_a_gear_slows_the_one_it_follows(self) -> None:
        robot = parse_urdf(URDF.replace('multiplier="-1"', 'multiplier="-4"'))
        hook, _ = make_hook(limits=[], keep_out=[], workspaces=[], robot=robot)
        assert hook.check(setting("slide", "joint_velocity", "0.05 m/s")).allowed
        assert codes(hook.check(setting("slide", "joint_velocity", "0.06 m/s"))) == [("joint:finger", "above_range")]


def test_a_tool_keeps_its_clearance() -> None:
    near = going((0.35, -0.3, 0.5), (0.35, 0, 0.5), duration="9 s")
    for clearance, violated in (("0 m", []), ("10 cm", [("keep_out:press", "keep_out")])):
        hook, _ = make_hook(workspaces=[Workspace(outer="0.9 m", clearance=clearance)])
        hook.observe_place((0.2, -0.3, 0.5), unit="m")
        assert codes(hook.check(near)) == violated


class TestState:
    def test_what_is_not_known_is_refused(self) -> None:
        hook = CyberPhysicalHook(PhysicalModel(limits=[OVEN], workspaces=[SPACE], keep_out=[PRESS]))
        assert codes(hook.check(setting("oven", "temperature", "20 degC"))) == [
            ("limit:oven.temperature", "state_unknown")
        ]
        assert codes(hook.check(going((0.2, 0.2, 0.2)))) == [("workspace:tool", "state_unknown")]

    def test_a_place_inside_a_volume_is_named_even_where_the_start_is_not_known(self) -> None:
        hook = CyberPhysicalHook(PhysicalModel(workspaces=[SPACE], keep_out=[PRESS]))
        assert ("keep_out:press", "keep_out") in codes(hook.check(going((0.5, 0, 0.5))))

    def test_a_reach_that_nobody_declared_is_refused_unless_asked_for(self) -> None:
        for assume, expected in ((False, [("workspace:tool", "reach_unknown")]), (True, [])):
            hook, _ = make_hook(workspaces=[Workspace(assume_reachable=assume)], keep_out=[])
            assert codes(hook.check(going((5, 5, 5)))) == expected

    @pytest.mark.parametrize("seconds", [5.0, -1.1], ids=["old", "from the future"])
    def test_a_state_that_is_old_or_from_the_future_says_nothing(self, seconds: float) -> None:
        hook, clock = make_hook()
        clock.advance(seconds)
        assert [each.code for each in hook.check(setting("oven", "temperature", "100 degC")).violations] == [
            "state_stale"
        ]

    def test_a_soft_limit_stays_soft_where_nothing_is_known(self) -> None:
        soft = Limit(target="fan", kind="ratio", rate="0.1 1/s", on_violation="warn")
        assert CyberPhysicalHook(PhysicalModel(limits=[soft])).check(setting("fan", "ratio", 0.5)).decision == "warn"

    @pytest.mark.parametrize("wrong", [None, "hot", float("nan"), "20 bar", 20, True])
    def test_an_observation_that_cannot_be_read_leaves_the_state_unknown(self, wrong: Any) -> None:
        hook, _ = make_hook()
        with pytest.raises(PayloadError):
            hook.observe("oven", "temperature", wrong)
        assert [each.code for each in hook.check(setting("oven", "temperature", "100 degC")).violations] == [
            "state_unknown"
        ]

    def test_only_what_the_model_knows_can_be_observed(self) -> None:
        hook, _ = make_hook()
        for target, kind in (("stove", "temperature"), ("oven", "pressure")):
            with pytest.raises(ConfigError):
                hook.observe(target, kind, "1 K")
        with pytest.raises(ConfigError):
            hook.observe_place((0, 0, 0), target="hand", unit="m")

    def test_without_time_to_move_nothing_may_move(self) -> None:
        hook, clock = make_hook()
        clock.advance(-1.0)
        assert [each.code for each in hook.check(setting("oven", "temperature", "101 degC")).violations] == [
            "rate_exceeded"
        ]
        assert hook.check(setting("oven", "temperature", "100 degC")).allowed


class TestBudgets:
    def test_steps_are_counted_and_come_back_with_time(self) -> None:
        hook, clock = make_hook(budgets=[Budget(name="moves", kind="steps", most=2, per="10 s")])
        assert [hook.check(PhysicalAction()).decision for _ in range(3)] == ["allow", "allow", "block"]
        clock.advance(9.9)
        assert codes(hook.check(PhysicalAction())) == [("budget:moves", "budget_spent")]
        clock.advance(0.2)
        assert hook.check(PhysicalAction()).allowed

    def test_a_clock_that_goes_back_gives_nothing_back(self) -> None:
        hook, clock = make_hook(budgets=[Budget(name="moves", kind="steps", most=1, per="10 s")])
        assert hook.check(PhysicalAction()).allowed
        clock.advance(-1000)
        assert not hook.check(PhysicalAction()).allowed

    def test_what_is_spent_after_the_clock_went_back_stays_as_long(self) -> None:
        hook, clock = make_hook(budgets=[Budget(name="moves", kind="steps", most=2, per="10 s")])
        assert hook.check(PhysicalAction()).allowed
        clock.advance(-100)
        assert hook.check(PhysicalAction()).allowed
        clock.advance(50)
        assert not hook.check(PhysicalAction()).allowed

    def test_what_is_refused_spends_nothing(self) -> None:
        hook, _ = make_hook(budgets=[Budget(name="moves", kind="steps", most=1)])
        for _ in range(3):
            assert not hook.check(setting("gripper", "force", "99 N")).allowed
        assert hook.check(PhysicalAction()).allowed
        assert not hook.check(PhysicalAction()).allowed
        hook.refill()
        assert hook.check(PhysicalAction()).allowed

    @pytest.mark.parametrize(
        ("action", "decision"),
        [
            (PhysicalAction(energy="900 J"), "allow"),
            (PhysicalAction(energy="1.1 kJ"), "block"),
            (PhysicalAction(energy="1 J", least_energy="2 kJ"), "block"),
            (setting("heater", "power", "300 W", duration="3 s"), "allow"),
            (setting("heater", "power", "300 W", duration="4 s"), "block"),
            (setting("heater", "power", "300 W", duration="4 s", energy="1 J"), "block"),
            (setting("heater", "power", "300 W", energy="1 J"), "block"),
            (PhysicalAction(), "block"),
            (PhysicalAction(energy="-5 J"), "block"),
            (PhysicalAction(energy="5"), "block"),
        ],
    )
    def test_energy_is_what_is_said_or_what_power_comes_to(self, action: PhysicalAction, decision: str) -> None:
        hook, _ = make_hook(budgets=[Budget(name="day", kind="energy", most="1 kJ")])
        assert hook.check(action).decision == decision

    def test_threads_cannot_spend_more_than_there_is(self) -> None:
        hook, _ = make_hook(budgets=[Budget(name="moves", kind="steps", most=50)])
        allowed: list[bool] = []

        def act() -> None:
            allowed.extend(hook.check(PhysicalAction()).allowed for _ in range(20))

        threads = [threading.Thread(target=act) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(allowed) == 50

    def test_a_million_small_spendings_take_little_memory(self) -> None:
        hook, clock = make_hook(budgets=[Budget(name="day", kind="energy", most="1 GJ", per="100 s")])
        for _ in range(2000):
            clock.advance(0.1)
            assert hook.check(PhysicalAction(energy="1 J")).allowed
        assert len(hook._ledgers[0]._spent) <= 66
        assert hook._ledgers[0].spent(clock()) == pytest.approx(1000, abs=20)


CONSTRAINTS = [OVEN, GRIP, FAN, HEATER]
FIGURES = st.sampled_from(
    ["20 degC", "102 degC", "400 K", "10 N", "50 N", "0.5", "0.9", "1 kW", "9 kW", "x", "3", "nan K"]
)
SETPOINTS = st.builds(
    Setpoint,
    target=st.sampled_from(["oven", "gripper", "fan", "heater", "stove", None, 3]),
    kind=st.sampled_from(["temperature", "force", "ratio", "power", "joint", "pressure"]),
    value=FIGURES,
)
PLACES = st.tuples(*[st.floats(-1, 1)] * 3)
MOVES = st.builds(
    Move, target=st.sampled_from(["tool", "hand"]), path=st.lists(PLACES, max_size=3), unit=st.sampled_from(["m", ""])
)


def severity(verdict: GroundingVerdict) -> int:
    return POLICY_DECISIONS.index(verdict.decision)


@settings(max_examples=150, derandomize=True)
@given(st.lists(SETPOINTS, max_size=4), st.lists(MOVES, max_size=2), SETPOINTS, MOVES)
def test_asking_for_more_never_makes_the_verdict_milder(
    setpoints: list[Setpoint], moves: list[Move], more: Setpoint, further: Move
) -> None:
    less = make_hook()[0].check(PhysicalAction(setpoints=tuple(setpoints), moves=tuple(moves)))
    for action in (
        PhysicalAction(setpoints=(*setpoints, more), moves=tuple(moves)),
        PhysicalAction(setpoints=(more, *setpoints), moves=tuple(moves)),
        PhysicalAction(setpoints=tuple(setpoints), moves=(*moves, further)),
    ):
        verdict = make_hook()[0].check(action)
        assert severity(verdict) >= severity(less)
        assert len(verdict.violations) >= len(less.violations)
        validate_safety_event(verdict.safety_event.to_dict())


@settings(max_examples=100, derandomize=True)
@given(st.lists(SETPOINTS, max_size=4), st.lists(MOVES, max_size=2), st.sets(st.integers(0, 3)))
def test_another_constraint_never_makes_the_verdict_milder(
    setpoints: list[Setpoint], moves: list[Move], kept: set[int]
) -> None:
    action = PhysicalAction(setpoints=tuple(setpoints), moves=tuple(moves))
    narrow = [Limit(target=each.target, kind=each.kind, high=each.low or each.high) for each in CONSTRAINTS]
    fewer = make_hook(keep_out=[PRESS])[0].check(action)
    more = make_hook(limits=[*CONSTRAINTS, *(narrow[i] for i in sorted(kept))])[0].check(action)
    assert severity(more) >= severity(fewer)


def test_a_verdict_cannot_be_changed() -> None:
    verdict = make_hook()[0].check(PhysicalAction())
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.decision = "allow"  # type: ignore[misc]
