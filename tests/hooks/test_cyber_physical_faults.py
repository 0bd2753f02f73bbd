"""Promise 2 for physical actions: whatever an injected part or an argument does, the action is refused with a reason."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from director_ai.core.safety_event import validate_safety_event
from director_ai.errors import ConfigError
from director_ai.hooks.cyber_physical import (
    ActionReader,
    Argument,
    Budget,
    CyberPhysicalHook,
    GroundingVerdict,
    Limit,
    Move,
    PhysicalAction,
    PhysicalModel,
    Setpoint,
    Tool,
    Violation,
    Workspace,
)
from director_ai.hooks.protocol import Occasion, ProposedAction, Unanswered, consult, may_go_on
from director_ai.testing import FAULTS, make_fault

CANARY = "zorblatt"
MODEL = PhysicalModel(
    limits=[Limit(target="oven", kind="temperature", low="0 degC", high="250 degC", rate="5 K/s")],
    workspaces=[Workspace(outer="1 m")],
    budgets=[Budget(name="moves", kind="steps", most=5, per="1 min")],
)
HEAT = ActionReader([Tool(name="heat", arguments={"to": Argument(kind="temperature", target="oven")})])
OCCASION = Occasion(
    action=ProposedAction(name="heat", arguments={"to": "21 degC"}), text=CANARY, prompt=CANARY, tenant_id="acme"
)


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets go of whatever hangs once a test is over."""
    event = threading.Event()
    yield event
    event.set()


def test_without_a_fault_the_action_is_allowed() -> None:
    hook = CyberPhysicalHook(MODEL, reader=HEAT)
    hook.observe("oven", "temperature", "21 degC")
    assert may_go_on(consult([hook], OCCASION, deadline=5.0))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("part", ["reader", "clock"])
def test_a_part_that_fails_refuses_the_action(part: str, fault: str, release: threading.Event) -> None:
    fail = make_fault(fault, release=release)
    if part == "reader":
        hook = CyberPhysicalHook(MODEL, reader=fail)
    else:
        times = iter([10.0])
        hook = CyberPhysicalHook(MODEL, reader=HEAT, clock=lambda: next(times, None) or fail())
        hook.observe("oven", "temperature", "20 degC")
    found = consult([hook], OCCASION, deadline=0.1 if fault in ("hangs", "slow") else 30.0)
    if part == "reader" and fault == "none":
        assert found == ()  # what the reader says is not physical is none of this hook's business
        return
    (verdict,) = found
    assert not may_go_on(found)
    reason = verdict.safety_event.halt_reason.split(" ")[0]
    if fault in ("hangs", "slow"):
        assert isinstance(verdict, Unanswered)
        assert reason == "hook_timeout"
    elif part == "reader":
        assert reason == ("reader_error" if fault in ("raises", "panics", "cancelled") else "reader_invalid")
    else:
        assert reason in {"state_unknown", "state_stale", "rate_exceeded"}
    assert CANARY not in validate_safety_event(verdict.safety_event.to_dict()).to_json()


def test_an_interrupt_passes() -> None:
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    for hook in (CyberPhysicalHook(MODEL, reader=stop), CyberPhysicalHook(MODEL, reader=HEAT, clock=stop)):
        with pytest.raises(KeyboardInterrupt):
            hook.examine(OCCASION)


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, asyncio.CancelledError])
@pytest.mark.parametrize("part", ["reader", "clock", "value"])
def test_whatever_else_a_part_raises_refuses_the_action(part: str, error: type[BaseException]) -> None:
    def stop(*_: Any) -> Any:
        raise error

    class Leaving:
        __class__ = property(stop)  # type: ignore[assignment]

    occasion = OCCASION
    if part == "value":
        occasion = Occasion(action=ProposedAction(name="heat", arguments={"to": Leaving()}))
    hook = CyberPhysicalHook(
        MODEL, reader=stop if part == "reader" else HEAT, **({"clock": stop} if part == "clock" else {})
    )
    verdict = hook.examine(occasion)
    assert verdict is not None
    expected = {"reader": "reader_error", "clock": "state_unknown", "value": "action_malformed"}
    assert (verdict.decision, verdict.violations[0].code) == ("block", expected[part])


class Hostile:
    """Raises whenever it is looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(CANARY)


VALUES: dict[str, tuple[Any, str]] = {
    "None": (None, "argument_malformed"),
    "a bool": (True, "figure_malformed"),
    "a bare number": (21, "unit_missing"),
    "NaN": (float("nan"), "figure_not_finite"),
    "infinity": (float("inf"), "figure_not_finite"),
    "minus infinity": (float("-inf"), "figure_not_finite"),
    "NaN with a unit": ({"value": float("nan"), "unit": "K"}, "figure_not_finite"),
    "NaN in text": ("nan K", "figure_malformed"),
    "two numbers": ([21, 22], "figure_malformed"),
    "text": (f"{CANARY} degrees", "figure_malformed"),
    "a unit nobody knows": (f"21 {CANARY}", "unit_unknown"),
    "another quantity": ("21 bar", "unit_mismatch"),
    "a bomb of powers": ("9 K**9**9**9", "unit_unknown"),
    "a very long number": ("9" * 100_000 + " K", "figure_malformed"),
    "a very large number": (10**5000, "figure_malformed"),
    "a value that raises": (Hostile(), "figure_malformed"),
    "below what is allowed": ("-300 degC", "below_range"),
    "above what is allowed": ("1e300 degC", "above_range"),
}


@pytest.mark.parametrize(("value", "reason"), VALUES.values(), ids=VALUES)
def test_an_argument_that_is_no_figure_is_refused_with_the_reason(value: Any, reason: str) -> None:
    hook = CyberPhysicalHook(MODEL, reader=HEAT)
    hook.observe("oven", "temperature", "21 degC")
    verdict = hook.examine(Occasion(action=ProposedAction(name="heat", arguments={"to": value}), tenant_id="acme"))
    assert verdict is not None
    assert (verdict.decision, verdict.violations[0].code) == ("block", reason)
    assert CANARY not in validate_safety_event(verdict.safety_event.to_dict()).to_json()


MALFORMED: dict[str, Any] = {
    "setpoints that are none": PhysicalAction(setpoints=(None,)),  # type: ignore[arg-type]
    "setpoints that are a number": PhysicalAction(setpoints=3),  # type: ignore[arg-type]
    "a kind that is none": PhysicalAction(setpoints=(Setpoint(target="oven", kind=None, value=1),)),  # type: ignore[arg-type]
    "a kind that cannot be looked up": PhysicalAction(setpoints=(Setpoint(target="oven", kind=[], value=1),)),  # type: ignore[arg-type]
    "a target that cannot be looked up": PhysicalAction(setpoints=(Setpoint(target=[], kind="angle", value=1),)),
    "a path that raises": PhysicalAction(moves=(Move(target="tool", path=[Hostile()]),)),
    "faults that are none": PhysicalAction(faults=None),  # type: ignore[arg-type]
    "faults that are words": PhysicalAction(faults=("above_range",)),  # type: ignore[arg-type]
    "too many parts": PhysicalAction(setpoints=(Setpoint(target="oven", kind="temperature", value="1 K"),) * 300),
}


@pytest.mark.parametrize("action", MALFORMED.values(), ids=MALFORMED)
def test_an_action_of_unexpected_parts_is_refused(action: Any) -> None:
    verdict = CyberPhysicalHook(MODEL, reader=lambda _: action).examine(OCCASION)
    assert isinstance(verdict, GroundingVerdict)
    assert verdict.decision == "block"
    validate_safety_event(verdict.safety_event.to_dict())


@pytest.mark.parametrize("library", ["pint", "defusedxml"])
def test_without_its_libraries_it_says_what_to_install(library: str) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None; import director_ai.hooks.protocol\n"
        "try:\n    import director_ai.hooks.cyber_physical\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingExtra")
    assert "pip install '.[hooks]'" in done.stdout


@pytest.mark.parametrize(
    "code", ["energy_unknown", "budget_spent", "reach_unknown", "state_stale", "keep_out", "tool_unknown"]
)
def test_whatever_the_reason_the_record_is_valid(code: str) -> None:
    fault = Violation(code=code, constraint="limit:oven.temperature", value=float("inf"), limit=-1e300)
    verdict = CyberPhysicalHook(MODEL).check(PhysicalAction(faults=(fault,)))
    event = validate_safety_event(verdict.safety_event.to_dict())
    assert event.halt_reason == f"{code} value=inf limit=-1e+300"


def test_a_violation_is_never_a_leave_to_go_on() -> None:
    with pytest.raises(ConfigError):
        Violation(code="above_range", constraint="limit", on_violation="allow")  # type: ignore[arg-type]


def test_nothing_of_a_call_reaches_the_record() -> None:
    hook = CyberPhysicalHook(
        MODEL,
        reader=ActionReader([Tool(name="heat", arguments={"to": Argument(kind="temperature", target_from="device")})]),
    )
    for arguments in (
        {"to": "21 degC", "device": CANARY},
        {"to": CANARY, "device": "oven"},
        {"to": f"3 {CANARY}", "device": "oven"},
        {CANARY: 1, "to": "21 degC", "device": CANARY},
        {"to": {"value": CANARY, "unit": CANARY}, "device": "oven"},
    ):
        verdict = hook.examine(
            Occasion(
                action=ProposedAction(name="heat", arguments=arguments), text=CANARY, prompt=CANARY, passport=CANARY
            )
        )
        assert verdict is not None
        assert CANARY not in validate_safety_event(verdict.safety_event.to_dict()).to_json()
        assert CANARY not in repr(verdict.violations)
        assert CANARY not in " ".join(verdict.reasons)
