"""Small quantities have limits too, and what was allowed counts as done until something else is seen."""

from __future__ import annotations

import threading

import pytest

from director_ai.errors import PayloadError
from director_ai.hooks.cyber_physical import (
    Box,
    Budget,
    CyberPhysicalHook,
    HalfSpace,
    Limit,
    Move,
    PhysicalAction,
    PhysicalModel,
    Setpoint,
    Sphere,
    Workspace,
)
from director_ai.hooks.cyber_physical.grounding import Grounding
from director_ai.testing import ManualClock

OVEN = Limit(target="oven", kind="temperature", low="0 degC", high="250 degC", step="100 K")
STAND = Box(name="stand", low=(0.4, -0.2, 0.0), high=(0.8, 0.2, 2.0), unit="m")


def setting(value: str, kind: str, target: str = "it", **more: str) -> PhysicalAction:
    return PhysicalAction(setpoints=(Setpoint(target=target, kind=kind, value=value),), **more)


def going(*path: tuple[float, float, float], **more: str) -> PhysicalAction:
    return PhysicalAction(moves=(Move(target="tool", path=list(path), unit="m"),), **more)


@pytest.mark.parametrize(
    ("kind", "low", "high", "within", "beyond"),
    [
        ("flow", "0 mL/h", "1 mL/h", "0.001 L/h", "4 mL/h"),
        ("volume", "0 uL", "1 uL", "1 mm**3", "2 uL"),
        ("mass", "0 ug", "1 ug", "1000 ng", "2 ug"),
        ("current", "0 nA", "1 nA", "0.001 uA", "1.9 nA"),
        ("length", "0 nm", "1 nm", "1e-6 mm", "1.9 nm"),
        ("length", "0 nm", "1 nm", "0 in", "-1 nm"),
        ("pressure", "0 Pa", "1e-7 mbar", "1e-5 Pa", "2e-7 mbar"),
        ("temperature", "0 degC", "100 degC", "212 degF", "100.001 degC"),
        ("temperature", "0 degC", "100 degC", "32 degF", "-0.001 degC"),
        ("frequency", "0 Hz", "5 GHz", "5e9 Hz", "5.0001 GHz"),
    ],
)
def test_limits_hold_for_small_quantities_as_for_large_ones(
    kind: str, low: str, high: str, within: str, beyond: str
) -> None:
    hook = CyberPhysicalHook(PhysicalModel(limits=[Limit(target="it", kind=kind, low=low, high=high)]))
    assert hook.check(setting(within, kind)).decision == "allow"
    assert hook.check(setting(beyond, kind)).decision == "block"


def test_small_budgets_are_budgets() -> None:
    hook = CyberPhysicalHook(PhysicalModel(budgets=[Budget(name="pulses", kind="energy", most="3 nJ")]))
    assert [hook.check(PhysicalAction(energy="1 nJ")).decision for _ in range(4)] == ["allow"] * 3 + ["block"]


@pytest.mark.parametrize(
    ("step", "start", "within", "beyond"),
    [
        ("1 nm", "1 m", "1.000000001 m", "1.000000002 m"),
        ("0.1 nm", "0.3 m", "0.3000000001 m", "0.3000000002 m"),
        ("0 m", "10 in", "0.254 m", "0.2540001 m"),
    ],
)
def test_a_small_step_from_a_large_figure_is_told_from_rounding(
    step: str, start: str, within: str, beyond: str
) -> None:
    for value, decision in ((within, "allow"), (beyond, "block")):
        hook = CyberPhysicalHook(PhysicalModel(limits=[Limit(target="it", kind="length", step=step)]))
        hook.observe("it", "length", start)
        assert hook.check(setting(value, "length")).decision == decision


def oven(clock: ManualClock | None = None, **limit: str) -> tuple[CyberPhysicalHook, ManualClock]:
    clock = clock or ManualClock(100.0)
    limits = [Limit(target="it", kind="temperature", **limit)] if limit else [OVEN]  # type: ignore[arg-type]
    return CyberPhysicalHook(PhysicalModel(limits=limits), clock=clock, state_valid_for=60.0), clock


class TestFigures:
    def test_a_step_counts_from_what_was_seen_and_from_what_was_allowed(self) -> None:
        hook, clock = oven()
        hook.observe("oven", "temperature", "150 degC")
        asked = ["250 degC", "60 degC", "200 degC", "250 degC", "51 degC", "150 degC"]
        found = [hook.check(setting(value, "temperature", "oven")).decision for value in asked]
        assert found == ["allow", "block", "allow", "allow", "block", "allow"]
        clock.advance(1.0)
        hook.observe("oven", "temperature", "152 degC")
        assert hook.check(setting("60 degC", "temperature", "oven")).allowed

    def test_what_is_refused_changes_nothing(self) -> None:
        hook, _ = oven()
        hook.observe("oven", "temperature", "150 degC")
        assert not hook.check(setting("20 degC", "temperature", "oven")).allowed
        assert hook.check(setting("250 degC", "temperature", "oven")).allowed

    def test_a_rate_counts_from_when_it_was_allowed(self) -> None:
        hook, clock = oven(rate="2 K/s")
        hook.observe("it", "temperature", "100 degC")
        clock.advance(1.0)
        assert hook.check(setting("102 degC", "temperature")).allowed
        clock.advance(1.0)
        assert [each.code for each in hook.check(setting("98 degC", "temperature")).violations] == ["rate_exceeded"]
        assert hook.check(setting("98 degC", "temperature", duration="2 s")).allowed

    def test_small_steps_in_a_row_are_allowed(self) -> None:
        hook, clock = oven(rate="2 K/s", step="30 K")
        hook.observe("it", "temperature", "20 degC")
        for count in range(1, 201):
            clock.advance(0.1)
            assert hook.check(setting(f"{20 + count / 10} degC", "temperature")).allowed

    def test_too_many_without_a_look_are_refused(self) -> None:
        hook, clock = oven(step="30 K")
        hook.observe("it", "temperature", "20 degC")
        found = [hook.check(setting(f"{20 + count / 100} degC", "temperature")) for count in range(300)]
        assert [each.allowed for each in found] == [True] * 257 + [False] * 43
        assert found[-1].violations[0].code == "state_unknown"
        clock.advance(0.1)
        hook.observe("it", "temperature", "20 degC")
        assert hook.check(setting("21 degC", "temperature")).allowed

    def test_the_same_once_more_is_no_more(self) -> None:
        hook, _ = oven(step="30 K")
        hook.observe("it", "temperature", "20 degC")
        assert all(hook.check(setting("30 degC", "temperature")).allowed for _ in range(1000))

    @pytest.mark.parametrize("fails", [False, True], ids=["read", "not read at first"])
    def test_a_look_from_before_does_not_undo_what_was_allowed(self, fails: bool) -> None:
        hook, clock = oven()
        hook.observe("oven", "temperature", "150 degC")
        clock.advance(1.0)
        assert hook.check(setting("250 degC", "temperature", "oven")).allowed
        if fails:
            with pytest.raises(PayloadError):
                hook.observe("oven", "temperature", "hot")
        hook.observe("oven", "temperature", "150 degC", at=100.5)
        assert not hook.check(setting("60 degC", "temperature", "oven")).allowed


def arm(*keep_out: Box | Sphere | HalfSpace, speed: str = "10 m/s") -> tuple[CyberPhysicalHook, ManualClock]:
    clock = ManualClock(100.0)
    space = Workspace(target="tool", outer="3 m", speed=speed)
    hook = CyberPhysicalHook(PhysicalModel(workspaces=[space], keep_out=keep_out or (STAND,)), clock=clock)
    hook.observe_place((0, 0, 0.5), unit="m")
    clock.advance(1.0)
    return hook, clock


HEAD = Sphere(name="head", center=(0.6, 0, 0.5), radius="20 cm", unit="m")
POST = Box(name="post", low=(0.45, 0.3, 0.0), high=(0.5, 0.4, 2.0), unit="m")
BALL = Sphere(name="ball", center=(0.47, 0.35, 0.5), radius="4 cm", unit="m")


class TestPlaces:
    @pytest.mark.parametrize("volume", [STAND, HEAD], ids=["box", "sphere"])
    def test_two_moves_do_not_cross_what_one_may_not(self, volume: Box | Sphere) -> None:
        hook, clock = arm(volume)
        assert hook.check(going((0.6, 1, 0.5), duration="5 s")).allowed
        across = going((0.6, -1, 0.5), duration="5 s")
        assert [each.code for each in hook.check(across).violations] == ["keep_out"]
        clock.advance(1.0)
        hook.observe_place((0, 0.1, 0.5), unit="m")
        assert hook.check(across).allowed

    @pytest.mark.parametrize("volume", [POST, BALL], ids=["box", "sphere"])
    def test_a_tool_that_is_still_on_its_way_misses_the_volume_too(self, volume: Box | Sphere) -> None:
        hook, _ = arm(volume)
        assert hook.check(going((0, 1, 0.5), duration="5 s")).allowed
        # Neither from the start nor from the end, but from between them.
        assert [each.code for each in hook.check(going((1, 0.35, 0.5), duration="5 s")).violations] == ["keep_out"]

    def test_moves_beside_a_volume_go_on(self) -> None:
        hook, _ = arm(STAND, HalfSpace(name="floor", normal=(0, 0, -1), through=(0, 0, 0), unit="m"))
        places = [(0.39, 0.5, 0.5), (0.39, -0.5, 0.5), (0.39, 0.5, 0.002), (0.1, 0.0, 0.001), (0.39, 0.1, 0.5)]
        assert [hook.check(going(place, duration="5 s")).decision for place in places] == ["allow"] * 5

    def test_there_and_back_again_is_allowed(self) -> None:
        hook, _ = arm()
        there = [(0.1, 0.5, 0.5), (0.6, 0.5, 0.5)]
        assert hook.check(going(*there, duration="5 s")).allowed
        assert [each.code for each in hook.check(going((0.6, -0.5, 0.5), duration="5 s")).violations] == ["keep_out"]
        assert hook.check(going((0.0, 0.5, 0.5), (0, 0, 0.5), duration="5 s")).allowed

    def test_a_speed_counts_from_the_farthest_it_may_be(self) -> None:
        hook, _ = arm(speed="0.5 m/s")
        assert hook.check(going((0, 1, 0.5), duration="2 s")).allowed
        assert [each.code for each in hook.check(going((0, -1, 0.5), duration="2 s")).violations] == ["speed_exceeded"]
        assert hook.check(going((0, 0, 0.5), duration="2 s")).allowed


def test_of_two_at_once_the_second_is_judged_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    hook, _ = arm()
    both, judge = threading.Barrier(2), Grounding.check
    met: set[int] = set()

    def check(self: Grounding, action: PhysicalAction) -> None:
        judge(self, action)
        if threading.get_ident() not in met:
            met.add(threading.get_ident())
            both.wait(30)

    monkeypatch.setattr(Grounding, "check", check)
    found: list[str] = []

    def move(side: float) -> None:
        found.append(hook.check(going((0.6, side, 0.5), duration="5 s")).decision)

    threads = [threading.Thread(target=move, args=(side,)) for side in (1.0, -1.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["allow", "block"]


def test_a_state_that_never_rests_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hook, _ = arm()
    judge = Grounding.check

    def check(self: Grounding, action: PhysicalAction) -> None:
        judge(self, action)
        hook.observe_place((0, 0, 0.5), unit="m")

    monkeypatch.setattr(Grounding, "check", check)
    verdict = hook.check(going((0, 0.1, 0.5), duration="5 s"))
    assert (verdict.decision, verdict.violations[-1].code) == ("block", "state_changing")
