"""Every fix is recorded before it is shown, or it is not shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from director_ai.core.safety_event import SafetyEvent
from director_ai.core.streaming_repair import REDACTED_CLAUSE, RepairResult, StreamingRepairer
from director_ai.errors import ConfigError
from director_ai.record import AuditTrail
from director_ai.testing import FAULTS, ScriptedTokens, make_fault
from drivers import Driver

TEXT = "All is well here. This is wrong. The rest is well. That is wrong, too. Good bye."
TOKENS = [f"{word} " for word in TEXT.split()]


RAISING = ("raises", "panics", "cancelled")


def score(clause: str) -> float:
    return 0.1 if "wrong" in clause else 0.9


def run(driver: Driver, record: Any, **options: Any) -> tuple[list[str], RepairResult, ScriptedTokens]:
    """The texts of the pieces as they came, the result, and the source."""
    repairer, source = StreamingRepairer(score, **options), ScriptedTokens(TOKENS)
    if driver.name == "sync":
        stream = repairer.stream(source, record=record, tenant_id="acme", request_id="r1")
        return [piece.text for piece in stream], stream.result, source

    async def main() -> tuple[list[str], RepairResult, ScriptedTokens]:
        alive = repairer.astream(source, record=record, tenant_id="acme", request_id="r1")
        return [piece.text async for piece in alive], alive.result, source

    return anyio.run(main, backend=driver.name)


def test_the_trail_holds_the_events_of_the_result(driver: Driver, tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "a.db") as trail:
        shown, result, _ = run(driver, trail.record)
        rows = trail.rows("acme")

    assert "".join(shown) == result.repaired_text
    assert [SafetyEvent.from_dict(row.content) for row in rows] == list(result.events)
    assert [row.subject for row in rows] == ["r1", "r1"]
    assert "wrong" not in "".join(row.body or "" for row in rows)


def test_an_event_is_kept_before_its_clause_is_shown() -> None:
    order: list[str] = []
    repairer = StreamingRepairer(score)

    for piece in repairer.stream(TOKENS, record=lambda event: order.append("kept")):
        order.extend(["shown"] * piece.text.count(REDACTED_CLAUSE))

    assert order == ["kept", "shown", "kept", "shown"]


def test_what_cannot_be_recorded_is_not_shown(driver: Driver) -> None:
    kept: list[SafetyEvent] = []

    def record(event: SafetyEvent) -> None:
        if kept:
            raise OSError("the disk is full of secrets")
        kept.append(event)

    shown, result, source = run(driver, record)

    assert "".join(shown) == result.repaired_text == f"All is well here. {REDACTED_CLAUSE} The rest is well. "
    assert result.halted
    assert result.halt_reason == "record_failed"
    assert list(result.events) == kept
    assert result.checked.failures[-1].detail == "OSError"
    assert "secrets" not in repr(result)
    assert source.closed


@pytest.mark.parametrize("fault", RAISING)
def test_a_recorder_that_fails_ends_the_stream(driver: Driver, fault: str) -> None:
    shown, result, _ = run(driver, make_fault(fault))

    assert "".join(shown) == result.repaired_text == "All is well here. "
    assert result.halt_reason == "record_failed"
    assert result.events == ()


@pytest.mark.parametrize("answer", [fault for fault in FAULTS if fault not in (*RAISING, "hangs", "slow")])
def test_what_a_recorder_answers_is_of_no_concern(driver: Driver, answer: str) -> None:
    shown, result, _ = run(driver, make_fault(answer))

    assert not result.halted
    assert "wrong" not in "".join(shown)


def test_an_interrupt_passes() -> None:
    def record(event: SafetyEvent) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Driver("sync"), record)


def test_the_halt_of_a_ruin_is_recorded_too(driver: Driver) -> None:
    kept: list[SafetyEvent] = []

    _, result, _ = run(driver, kept.append, most_redacted=0, cap_after=0)

    assert result.halted
    assert [event.policy_decision for event in kept] == ["halt"]
    assert list(result.events) == kept


def test_a_recorder_must_be_a_synchronous_function() -> None:
    async def record(event: SafetyEvent) -> None: ...

    for wrong in (record, "x"):
        with pytest.raises(ConfigError, match="record must be a synchronous function"):
            StreamingRepairer(score).repair(TEXT, record=wrong)  # type: ignore[arg-type]
