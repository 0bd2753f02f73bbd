"""Promise 2 for containment: whatever a part that was brought along does wrong, nothing goes on."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from director_ai.core.safety_event import validate_safety_event
from director_ai.hooks.containment import AnchorKey, ContainmentHook, HostRules, issue_anchor
from director_ai.hooks.protocol import Occasion, ProposedAction, consult, may_go_on
from director_ai.testing import FAULTS, ManualClock, make_fault

NOW = 1_800_000_000.0
KEY = AnchorKey.from_secret(b"k" * 32)
TOKEN = issue_anchor(KEY, subject="agent-7", scope="sandbox", now=NOW)
OCCASION = Occasion(text="Hello.", action=ProposedAction(name="search", arguments={"query": "refunds"}))
PARTS = ("anchor", "clock", "finds_secret", "nonces")
AT_ONCE = tuple(fault for fault in FAULTS if fault not in ("hangs", "slow", "cancelled"))
GOOD_ANSWER = ("nonces", "bool")  # True is what a store answers
CELLS = [cell for cell in itertools.product(PARTS, AT_ONCE) if cell != GOOD_ANSWER]


class Store:
    def __init__(self, claim: Callable[..., Any]) -> None:
        self.claim = claim


def hook_with(part: str, fault: Callable[..., Any]) -> ContainmentHook:
    parts: dict[str, Any] = {"anchor": TOKEN, "clock": ManualClock(NOW), "finds_secret": None, "nonces": None}
    parts[part] = Store(fault) if part == "nonces" else fault
    return ContainmentHook(parts.pop("anchor"), keys=[KEY], rules={"sandbox": HostRules()}, **parts)


def test_without_a_fault_it_goes_on() -> None:
    for part, good in (("anchor", TOKEN), ("clock", NOW), ("finds_secret", False), ("nonces", True)):
        (verdict,) = consult([hook_with(part, lambda *_, good=good: good)], OCCASION)
        assert may_go_on([verdict])


REASONS = {
    "anchor": ("anchor.source_failed", "anchor.malformed"),
    "clock": ("anchor.clock_failed", "anchor.not_yet_valid"),
    "finds_secret": ("action.secret_check_failed", "action.credential"),
    "nonces": ("anchor.store_failed",),
}


@pytest.mark.parametrize(("part", "fault"), CELLS)
def test_every_fault_of_every_part_stops_with_a_typed_reason(part: str, fault: str) -> None:
    verdict = hook_with(part, make_fault(fault)).examine(OCCASION)
    assert verdict.decision == "block"
    assert verdict.safety_event.halt_reason.split(" ")[0] in REASONS[part]
    validate_safety_event(verdict.safety_event.to_dict())
    assert verdict.reasons


@pytest.mark.parametrize("fault", ["hangs", "slow"])
@pytest.mark.parametrize("part", PARTS)
def test_who_does_not_answer_in_time_blocks(part: str, fault: str) -> None:
    release = threading.Event()
    try:
        (verdict,) = consult([hook_with(part, make_fault(fault, release=release))], OCCASION, deadline=0.05)
    finally:
        release.set()
    assert verdict.safety_event.halt_reason == "hook_timeout"
    assert verdict.safety_event.policy_decision == "block"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyboardInterrupt, SystemExit])
def test_cancellations_and_interrupts_pass(part: str, error: type[BaseException]) -> None:
    def fail(*_: Any) -> Any:
        raise error

    with pytest.raises(error):
        hook_with(part, fail).examine(OCCASION)


def test_a_fault_of_the_search_for_secrets_halts_a_text() -> None:
    for fault in AT_ONCE:
        verdict = hook_with("finds_secret", make_fault(fault)).judge_text("Hello.")
        assert (verdict.decision, verdict.allowed) == ("halt", False)


def test_messages_of_failing_parts_are_in_no_event() -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("zorblatt")

    for part in PARTS:
        assert "zorblatt" not in hook_with(part, fail).examine(OCCASION).safety_event.to_json()
