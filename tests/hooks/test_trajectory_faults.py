"""Promise 2 for simulations: one that fails, hangs or answers nonsense counts as halted, and all of them end in time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from director_ai.core.safety_event import validate_safety_event
from director_ai.hooks.protocol import Occasion, Unanswered, consult, may_go_on
from director_ai.hooks.trajectory import TrajectoryHook
from director_ai.testing import FAULTS, make_fault

CANARY = "zorblatt"
ASKED = Occasion(prompt=f"Close the {CANARY}.", text=CANARY, tenant_id="acme")
SLOW = ("hangs", "slow")


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets go of whatever hangs once a test is over."""
    event = threading.Event()
    yield event
    event.set()


def expected(part: str, fault: str) -> str:
    if fault in SLOW:
        return "actor_timeout"
    if fault in ("raises", "panics", "cancelled"):
        return f"{part}_error"
    return f"{part}_invalid"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("part", ["actor", "scorer"])
def test_a_part_that_fails_halts_with_the_reason(part: str, fault: str, release: threading.Event) -> None:
    fail = make_fault(fault, release=release)
    # A limit that a busy machine could miss by itself is set only where something is meant to miss it.
    limits: dict[str, Any] = {"simulation_timeout": 0.05 if fault in SLOW else 30.0, "deadline": 60.0}
    if part == "actor":
        hook = TrajectoryHook(fail, scorer=make_fault("raises"), simulations=4, **limits)
    else:
        hook = TrajectoryHook(lambda seed, occasion: CANARY, scorer=fail, simulations=4, **limits)
    verdict = hook.examine(ASKED)
    assert verdict is not None
    reason = expected(part, fault)
    if part == "actor" and fault == "wrong_batch":
        assert verdict.faults == {}  # a list of scores is what an actor may answer with
        return
    if part == "actor" and fault == "str":
        reason = "scorer_error"  # a text is, too: the scorer decides
    assert verdict.outcome == "halt"
    assert set(verdict.faults) == {reason}
    assert all(each.halted and each.coherence == 0.0 for each in verdict.rollouts)
    record = validate_safety_event(verdict.safety_event.to_dict())
    assert record.attributes[reason] == str(len(verdict.rollouts))
    assert CANARY not in record.to_json() + repr(verdict)


def test_one_that_hangs_holds_up_nobody_else(release: threading.Event) -> None:
    hook = TrajectoryHook(simulations=40, workers=1, simulation_timeout=0.5, deadline=60.0)

    def actor(seed: int, occasion: Occasion) -> float:
        if seed == hook.seeds[3]:
            release.wait(60)
        return 0.9

    verdict = hook.preflight(actor, ASKED)
    assert [each.fault for each in verdict.rollouts] == ["actor_timeout" if i == 3 else "" for i in range(40)]
    assert (verdict.outcome, verdict.halts) == ("proceed", 1)


def test_time_that_does_not_suffice_is_a_halt_however_well_it_went(release: threading.Event) -> None:
    hook = TrajectoryHook(simulations=30, workers=1, simulation_timeout=30.0, deadline=0.2)

    def actor(seed: int, occasion: Occasion) -> float:
        if seed == hook.seeds[29]:
            release.wait(60)
        return 0.99

    verdict = hook.preflight(actor, ASKED)
    assert verdict.outcome == "halt"
    assert verdict.reasons[0].startswith("preflight_deadline")
    assert validate_safety_event(verdict.safety_event.to_dict()).policy_decision == "halt"


def test_nothing_at_all_in_time_is_a_halt(release: threading.Event) -> None:
    verdict = TrajectoryHook(lambda seed, occasion: release.wait(60), deadline=0.05).examine(ASKED)
    assert verdict is not None
    assert (verdict.outcome, verdict.rollouts, verdict.halt_rate, verdict.mean_coherence) == ("halt", (), 1.0, 0.0)
    validate_safety_event(verdict.safety_event.to_dict())


def test_too_many_that_still_hang_refuse_further_simulations(release: threading.Event) -> None:
    hook = TrajectoryHook(lambda seed, occasion: release.wait(60), workers=3, max_threads=6, deadline=0.02, remember=0)
    found = [verdict for verdict in (hook.examine(ASKED) for _ in range(4)) if verdict]
    for verdict in found:
        validate_safety_event(verdict.safety_event.to_dict())
    assert [verdict.reasons[0].split(" ")[0] for verdict in found] == [
        "preflight_deadline",
        "preflight_deadline",
        "preflight_busy",
        "preflight_busy",
    ]
    release.set()
    for thread in hook._crews._threads:
        thread.join(10)
    assert hook.preflight(lambda seed, occasion: 0.9, ASKED).allowed


def test_a_hook_that_takes_too_long_for_who_asks_is_unanswered(release: threading.Event) -> None:
    (verdict,) = consult([TrajectoryHook(lambda seed, occasion: release.wait(60))], ASKED, deadline=0.05)
    assert isinstance(verdict, Unanswered)
    assert verdict.safety_event.halt_reason == "hook_timeout"
    assert not may_go_on([verdict])


@pytest.mark.parametrize("part", ["actor", "scorer"])
def test_an_interrupt_passes(part: str) -> None:
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    hook = TrajectoryHook(stop if part == "actor" else lambda seed, occasion: "text", scorer=stop)
    with pytest.raises(KeyboardInterrupt):
        hook.examine(ASKED)


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError, GeneratorExit])
@pytest.mark.parametrize("part", ["actor", "scorer"])
def test_whatever_else_is_raised_is_a_failure(part: str, error: type[BaseException]) -> None:
    def stop(*_: Any) -> Any:
        raise error(0)

    hook = TrajectoryHook(stop if part == "actor" else lambda seed, occasion: "text", scorer=stop, simulations=3)
    verdict = hook.examine(ASKED)
    assert verdict is not None
    assert (verdict.outcome, verdict.faults) == ("halt", {f"{part}_error": 1})


def test_an_answer_that_leaves_when_looked_at_counts_as_halted() -> None:
    class Leaving:
        @property
        def halted(self) -> bool:
            raise SystemExit(0)

    verdict = TrajectoryHook(lambda seed, occasion: Leaving(), simulations=2).examine(ASKED)
    assert verdict is not None
    assert verdict.faults == {"actor_invalid": 1}


def test_a_coroutine_in_place_of_an_answer_is_none() -> None:
    async def later() -> float:
        return 0.9

    for hook in (
        TrajectoryHook(lambda seed, occasion: later(), simulations=2),
        TrajectoryHook(lambda seed, occasion: "text", scorer=lambda prompt, text: later(), simulations=2),
    ):
        verdict = hook.examine(ASKED)
        assert verdict is not None
        assert verdict.outcome == "halt"


class Hostile:
    """Raises whenever it is looked at."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(CANARY)


def test_an_answer_that_raises_when_looked_at_counts_as_halted() -> None:
    verdict = TrajectoryHook(lambda seed, occasion: Hostile(), simulations=2).examine(ASKED)
    assert verdict is not None
    assert verdict.faults == {"actor_invalid": 1}


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in SLOW])
def test_a_clock_that_fails_only_costs_the_memory(fault: str) -> None:
    def actor(seed: int, occasion: Occasion) -> float:
        return 0.9

    hook = TrajectoryHook(actor, simulations=20, clock=make_fault(fault))
    found = [hook.examine(ASKED) for _ in range(2)]
    assert all(verdict is not None and verdict.outcome == "proceed" for verdict in found)
