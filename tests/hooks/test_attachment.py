"""Hooks that are attached to a guard or an agent: what one of them refuses is never shown, and all of it is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from director_ai import CoherenceAgent, CoherenceScorer, GroundTruthStore, ProductionGuard
from director_ai.core.safety_event import SafetyEvent
from director_ai.errors import ConfigError, UnknownOption
from director_ai.hooks.attachment import AttachedHooks
from director_ai.hooks.protocol import Occasion, ProposedAction, event_of
from director_ai.record.trail import AuditTrail

FACTS = {"refund": "Refunds are available within 30 days.", "hours": "The shop opens at 9 am on Mondays."}
ANSWER = (
    "Refunds are available within 30 days. The shop opens at 9 am on Mondays. Refunds are available within 30 days."
)


@dataclass(frozen=True)
class Said:
    safety_event: SafetyEvent


@dataclass
class Wary:
    """Objects where a word occurs in what it is asked about."""

    word: str = ""
    decision: str = "halt"
    moments: tuple[str, ...] = ("text",)
    hook_id: str = "agent.wary"
    hook_scope: str = "agent"
    asked: list[Occasion] = field(default_factory=list)

    def examine(self, occasion: Occasion) -> Said | None:
        self.asked.append(occasion)
        seen = f"{occasion.text} {occasion.prompt} {occasion.passport} {occasion.action}"
        is_found = self.word != "" and self.word in seen
        return Said(event_of(self, occasion, self.decision if is_found else "allow", "no_go_risk"))


class Broken(Wary):
    def examine(self, occasion: Occasion) -> Any:
        self.asked.append(occasion)
        raise RuntimeError("zorblatt")


def guard_with(*hooks: Any, **options: Any) -> ProductionGuard:
    made = ProductionGuard.from_profile("general", use_nli=False, search="words", hooks=hooks, **options)
    made.load_facts(FACTS)
    return made


def tokens() -> Iterator[str]:
    yield from (ANSWER[at : at + 5] for at in range(0, len(ANSWER), 5))


def streamed(guard: ProductionGuard, **options: Any) -> Any:
    with guard.stream("Tell me.", tokens(), **options) as stream:
        text = "".join(piece.text for piece in stream)
    assert text == stream.result.repaired_text
    return stream.result


def streamed_async(guard: ProductionGuard, **options: Any) -> Any:
    async def source() -> AsyncIterator[str]:
        for token in tokens():
            yield token

    async def run() -> Any:
        async with guard.astream("Tell me.", source(), **options) as stream:
            text = "".join([piece.text async for piece in stream])
        assert text == stream.result.repaired_text
        return stream.result

    return asyncio.run(run())


def whole(guard: ProductionGuard, **options: Any) -> Any:
    return guard.repair_stream("Tell me.", ANSWER, **options)


WAYS: list[Callable[..., Any]] = [streamed, streamed_async, whole]
by_way = pytest.mark.parametrize("way", WAYS)


@by_way
def test_who_objects_to_nothing_changes_nothing(way: Callable[..., Any]) -> None:
    hook = Wary(moments=("request", "text"))
    result = way(guard_with(hook), tenant_id="acme", request_id="r1", sender="planner", passport="p")
    assert result.repaired_text == ANSWER
    assert not result.halted
    assert "".join(each.text for each in hook.asked) == ANSWER
    assert hook.asked[0].text == ""
    about = {(each.tenant_id, each.request_id, each.sender, each.passport, each.prompt) for each in hook.asked}
    assert about == {("acme", "r1", "planner", "p", "Tell me.")}
    assert [event.policy_decision for event in result.events] == ["allow"] * len(hook.asked)


@by_way
@pytest.mark.parametrize("decision", ["halt", "block"])
def test_a_stream_ends_before_what_a_hook_refuses(way: Callable[..., Any], decision: str) -> None:
    result = way(guard_with(Wary("Mondays", decision)), request_id="r1")
    assert result.halted
    assert result.repaired_text.rstrip() == FACTS["refund"]
    assert result.events[-1].policy_decision == decision
    assert result.events[-1].hook_id == "agent.wary"
    assert result.events[-1].request_id == "r1"


@by_way
def test_a_warning_is_told_and_the_text_goes_on(way: Callable[..., Any]) -> None:
    result = way(guard_with(Wary("Mondays", "warn")))
    assert result.repaired_text == ANSWER
    assert "warn" in {event.policy_decision for event in result.events}


@by_way
def test_who_refuses_the_request_lets_nothing_be_said(way: Callable[..., Any]) -> None:
    result = way(guard_with(Wary("Tell me", moments=("request",))))
    assert result.halted
    assert result.repaired_text == ""


@by_way
@pytest.mark.parametrize("deadline", [30.0, "off"])
def test_a_hook_that_fails_ends_the_stream(way: Callable[..., Any], deadline: Any) -> None:
    result = way(guard_with(Broken(), deadline=deadline))
    assert result.halted
    assert result.repaired_text == ""
    assert result.events[-1].halt_reason == "hook_error"
    assert "zorblatt" not in repr(result)


@by_way
def test_every_objection_is_on_record_before_anything_comes_of_it(way: Callable[..., Any], tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "audit.db") as trail:
        way(guard_with(Wary("Mondays"), Wary("Refunds", "warn", hook_id="agent.other"), audit=trail), tenant_id="acme")
        rows = [row.content for row in trail.rows("acme")]
    kept = [(each["hook_id"], each["policy_decision"]) for each in rows if "hook_id" in each]
    assert ("agent.wary", "halt") in kept
    assert ("agent.other", "warn") in kept
    assert "allow" not in {decision for _, decision in kept}


@by_way
def test_what_cannot_be_recorded_is_not_shown(way: Callable[..., Any]) -> None:
    class Full:
        def record(self, event: SafetyEvent) -> None:
            raise OSError("no space left on device")

    result = way(guard_with(Wary("Refunds", "warn"), audit=Full()))
    assert result.repaired_text == ""
    assert result.halted


def test_a_whole_answer_that_a_hook_refuses_is_not_approved() -> None:
    guard = guard_with(Wary("Mondays"))
    assert guard.check("Tell me.", FACTS["refund"])[0]
    for approved, score in (
        guard.check("Tell me.", FACTS["hours"]),
        asyncio.run(guard.acheck("Tell me.", FACTS["hours"])),
    ):
        assert not approved
        assert not score.approved


def test_an_action_is_for_the_hooks_alone() -> None:
    hook = Wary("delete", moments=("action",))
    guard = guard_with(hook, Wary("delete", moments=("text",)))
    allowed, verdicts = guard.check_action(ProposedAction(name="search"), tenant_id="acme")
    assert allowed
    assert [each.safety_event.tenant_id for each in verdicts] == ["acme"]
    allowed, verdicts = guard.check_action(ProposedAction(name="delete_all"))
    assert not allowed
    assert [each.safety_event.hook_id for each in verdicts] == ["agent.wary"]
    assert streamed(guard).repaired_text == ANSWER
    assert len(hook.asked) == 2


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_agent_shows_no_candidate_that_a_hook_refuses(asynchronous: bool) -> None:
    said = iter([FACTS["hours"], FACTS["refund"]])
    hook = Wary("Mondays")
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=GroundTruthStore(facts=FACTS))
    agent = CoherenceAgent(lambda _: next(said), scorer, hooks=[hook])
    result = asyncio.run(agent.aprocess("Tell me.")) if asynchronous else agent.process("Tell me.")
    assert result.output == FACTS["refund"]
    assert not result.halted
    assert [event.policy_decision for event in result.safety_events] == ["halt", "allow"]


def test_where_all_are_refused_the_fallback_shows_nothing_of_them() -> None:
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=GroundTruthStore(facts=FACTS))
    agent = CoherenceAgent(lambda _: FACTS["hours"], scorer, fallback="disclaimer", hooks=[Wary("Mondays")])
    result = agent.process("Tell me.", request_id="r1")
    assert result.halted
    assert "Mondays" not in result.output
    assert result.halt_evidence is not None
    assert result.halt_evidence.reason.startswith("hook_refused")
    assert {event.hook_id for event in result.safety_events} > {"agent.wary"}
    assert {event.request_id for event in result.safety_events} == {"r1"}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (Wary, ConfigError),
        ("containment", ConfigError),
        (None, ConfigError),
        (Wary(hook_id=" "), ConfigError),
        (Wary(hook_scope="elsewhere"), UnknownOption),
        (Wary(moments=("always",)), UnknownOption),
    ],
)
def test_what_is_no_hook_is_refused_at_once(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        AttachedHooks([wrong])


@pytest.mark.parametrize("fallback", ["retrieval", "disclaimer"])
def test_a_fallback_is_shown_to_the_hooks_too(fallback: Any) -> None:
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=GroundTruthStore(facts=FACTS))
    said = "The shop opens at 9 am on Mondays. Refunds are available within 90 days."
    agent = CoherenceAgent(lambda _: said, scorer, fallback=fallback, hooks=[Wary("Mondays")])
    result = agent.process("When does the shop open on Mondays?")
    assert result.halted
    assert "9 am" not in result.output
    assert result.output
    assert "agent.wary" in {event.hook_id for event in result.safety_events}


def test_an_agent_tells_hooks_who_is_speaking() -> None:
    hook = Wary(moments=("request", "text"))
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=GroundTruthStore(facts=FACTS))
    agent = CoherenceAgent(lambda _: FACTS["refund"], scorer, hooks=[hook])
    agent.process("Tell me.", passport="p", sender="planner", receiver="teller")
    assert {(each.passport, each.sender, each.receiver) for each in hook.asked} == {("p", "planner", "teller")}
    assert all(each.exchange_id for each in hook.asked)
    with pytest.raises(UnknownOption, match="passport"):
        agent.process("Tell me.", pasport="p")  # type: ignore[call-arg]
