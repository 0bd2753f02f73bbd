"""Hooks are asked one by one; whoever fails to answer blocks, and the strictest decision counts."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.core.safety_event import POLICY_DECISIONS, SafetyEvent, validate_safety_event
from director_ai.errors import ConfigError
from director_ai.hooks.protocol import (
    Occasion,
    ProposedAction,
    Unanswered,
    consult,
    event_of,
    may_go_on,
    worst_decision,
)

CANARY = "zorblatt"


@dataclass(frozen=True)
class Said:
    safety_event: SafetyEvent


@dataclass
class Saying:
    """A hook that says what it is told to."""

    decision: str = "allow"
    reason: str = "no_go_risk"
    hook_id: str = "agent.test"
    hook_scope: str = "agent"
    asked: list[Occasion] = field(default_factory=list)

    def examine(self, occasion: Occasion) -> Said:
        self.asked.append(occasion)
        return Said(event_of(self, occasion, self.decision, self.reason))


class Failing(Saying):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def examine(self, occasion: Occasion) -> Any:
        self.asked.append(occasion)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def event(**changes: Any) -> Said:
    made = {"hook_id": "agent.test", "hook_scope": "agent", "halt_reason": "no_go_risk"} | changes
    return Said(SafetyEvent.from_policy_decision(made.pop("decision", "allow"), **made))


@pytest.mark.parametrize("decision", POLICY_DECISIONS)
def test_a_verdict_is_handed_on_as_it_is(decision: str) -> None:
    occasion = Occasion(text="Hello.", tenant_id="acme", request_id="r1")
    (verdict,) = consult([Saying(decision)], occasion)
    assert verdict.safety_event.policy_decision == decision
    assert (verdict.safety_event.tenant_id, verdict.safety_event.request_id) == ("acme", "r1")
    assert may_go_on([verdict]) == (decision in {"allow", "warn"})


def test_whose_business_it_is_not_says_nothing() -> None:
    assert consult([Failing(None)], Occasion(text="Hello.")) == ()
    assert may_go_on(())
    assert worst_decision(()) == "allow"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ValueError(CANARY), "hook_error"),
        (BaseException(CANARY), "hook_error"),
        (GeneratorExit(CANARY), "hook_error"),
        (SystemExit(0), "hook_error"),
        ("allow", "hook_error"),
        (True, "hook_error"),
        (1.0, "hook_error"),
        (float("nan"), "hook_error"),
        ({}, "hook_error"),
        (Said("allow"), "hook_invalid"),  # type: ignore[arg-type]
        (event(hook_id="agent.other"), "hook_invalid"),
        (event(hook_scope="swarm"), "hook_invalid"),
        (event(tenant_safe_explanation=f"The {CANARY} is closed."), "hook_error"),
        (event(halt_reason="The text said so!"), "hook_error"),
        (event(attributes={"said": f"the {CANARY} is closed"}), "hook_error"),
    ],
)
def test_who_fails_to_answer_blocks(answer: object, reason: str) -> None:
    (verdict,) = consult([Failing(answer)], Occasion(text=CANARY, tenant_id="acme"))
    assert isinstance(verdict, Unanswered)
    assert (verdict.safety_event.policy_decision, verdict.safety_event.halt_reason) == ("block", reason)
    assert CANARY not in validate_safety_event(verdict.safety_event.to_dict()).to_json()


def test_who_presses_ctrl_c_is_heard() -> None:
    with pytest.raises(KeyboardInterrupt):
        consult([Failing(KeyboardInterrupt())], Occasion(text="Hello."))


def test_who_hangs_blocks_and_the_others_are_asked_all_the_same() -> None:
    let_go = threading.Event()

    class Hanging(Saying):
        def examine(self, occasion: Occasion) -> Said:
            let_go.wait(60)
            return super().examine(occasion)

    other = Saying("warn")
    try:
        found = consult([Hanging(), other], Occasion(text="Hello."), deadline=0.5)
    finally:
        let_go.set()
    assert [each.safety_event.halt_reason for each in found] == ["hook_timeout", "no_go_risk"]
    assert worst_decision(found) == "block"


@settings(max_examples=100, derandomize=True)
@given(st.lists(st.sampled_from(POLICY_DECISIONS), max_size=6), st.sampled_from(POLICY_DECISIONS))
def test_another_verdict_never_makes_the_decision_milder(decisions: list[str], another: str) -> None:
    def rank(of: list[str]) -> int:
        return POLICY_DECISIONS.index(worst_decision([event(decision=each) for each in of]))

    assert rank([*decisions, another]) >= rank(decisions)
    assert {rank(list(order)) for order in itertools.islice(itertools.permutations(decisions), 20)} == {rank(decisions)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": None},
        {"text": b"Hello."},
        {"prompt": 3},
        {"passport": ["a"]},
        {"tenant_id": "../x"},
        {"sender": " "},
        {"receiver": "a" * 300},
        {"request_id": None},
        {"action": "delete"},
        {"action": {"name": "delete"}},
    ],
)
def test_what_is_no_occasion_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Occasion(**wrong)


def test_an_action_cannot_be_changed_afterwards() -> None:
    given_arguments = {"joint": "elbow"}
    action = ProposedAction(name="move", arguments=given_arguments)
    given_arguments["joint"] = "wrist"
    assert action.arguments["joint"] == "elbow"
    with pytest.raises(TypeError):
        action.arguments["joint"] = "wrist"  # type: ignore[index]
    for wrong in ({"name": " "}, {"name": 1}, {"name": "move", "arguments": [1]}):
        with pytest.raises(ConfigError):
            ProposedAction(**wrong)
