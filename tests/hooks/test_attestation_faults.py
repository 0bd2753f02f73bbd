"""Promise 2 for attestation: whatever a part that was brought along does wrong, nobody acts."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from director_ai.core.safety_event import validate_safety_event
from director_ai.hooks.attestation import AttestationHook, Issuer, IssuerKey, IssuerRegistry, issue_passport
from director_ai.hooks.protocol import Occasion, ProposedAction, consult, may_go_on
from director_ai.testing import FAULTS, ManualClock, make_fault

NOW = 1_800_000_000
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
REGISTRY = IssuerRegistry([Issuer(name="issuer", keys=(IssuerKey(kid="k1", key=KEY.public_key()),))])
TOKEN = issue_passport(
    KEY, issuer="issuer", kid="k1", subject="agent-7", audience="guard", capabilities=["tool:*"], now=NOW
)
OCCASION = Occasion(passport=TOKEN, action=ProposedAction(name="search"), request_id="r1")
PARTS = ("clock", "requires", "revocations", "nonces")
AT_ONCE = tuple(fault for fault in FAULTS if fault not in ("hangs", "slow", "cancelled"))
GOOD_ANSWER = ("nonces", "bool")  # True is what a store answers
CELLS = [cell for cell in itertools.product(PARTS, AT_ONCE) if cell != GOOD_ANSWER]


class Store:
    def __init__(self, answer: Callable[..., Any]) -> None:
        self.claim = self.is_revoked = answer


def hook_with(part: str, fault: Callable[..., Any]) -> AttestationHook:
    parts: dict[str, Any] = {"clock": ManualClock(NOW)}
    parts[part] = Store(fault) if part in ("revocations", "nonces") else fault
    return AttestationHook(REGISTRY, audience="guard", **parts)


def test_without_a_fault_it_goes_on() -> None:
    for part, good in (("clock", NOW), ("requires", ["tool:search"]), ("revocations", False), ("nonces", True)):
        (verdict,) = consult([hook_with(part, lambda *_, good=good: good)], OCCASION)
        assert may_go_on([verdict])


REASONS = {
    "clock": ("passport.clock_failed", "passport.not_yet_valid"),
    "requires": ("capability.check_failed",),
    "revocations": ("passport.revocations_failed", "passport.revoked"),
    "nonces": ("passport.store_failed",),
}


@pytest.mark.parametrize(("part", "fault"), CELLS)
def test_every_fault_of_every_part_blocks_with_a_typed_reason(part: str, fault: str) -> None:
    verdict = hook_with(part, make_fault(fault)).examine(OCCASION)
    assert verdict.decision == "block"
    assert verdict.safety_event.halt_reason.split(" ")[0] in REASONS[part]
    validate_safety_event(verdict.safety_event.to_dict())


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


REQUIREMENTS: dict[str, Any] = {
    "nothing": [],
    "a word": "tool:search",
    "a pattern": ["tool:*"],
    "without end": itertools.repeat("tool:search"),
    "words and numbers": ["tool:search", 5],
    "a generator that breaks off": (1 / at for at in (1, 0)),
    "bytes": b"tool:search",
}


@pytest.mark.parametrize("answer", REQUIREMENTS.values(), ids=REQUIREMENTS.keys())
def test_requirements_that_are_none_block(answer: Any) -> None:
    assert hook_with("requires", lambda _: answer).examine(OCCASION).reasons == ("capability.check_failed",)


def test_messages_of_failing_parts_are_in_no_event() -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("zorblatt")

    for part in PARTS:
        assert "zorblatt" not in hook_with(part, fail).examine(OCCASION).safety_event.to_json()
