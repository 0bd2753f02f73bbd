"""What goes into a trail: identifiers and figures, in order, in time, each tenant's for itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from forgery import fill

import director_ai.record as package
from director_ai.core.safety_event import SafetyEvent
from director_ai.errors import ConfigError, PayloadError
from director_ai.record import AuditTrail


def test_a_safety_event_is_recorded_about_its_request(trail: AuditTrail) -> None:
    event = SafetyEvent.from_policy_decision(
        "halt", hook_id="guard", hook_scope="agent", halt_reason="hard_limit", tenant_id="acme", request_id="r-1"
    )
    row = trail.record(event)
    assert (row.kind, row.subject, row.tenant_id) == ("safety_event", "r-1", "acme")
    assert SafetyEvent.from_dict(trail.rows("acme")[0].content) == event
    alone = SafetyEvent.from_policy_decision("allow", hook_id="guard", hook_scope="agent")
    assert trail.record(alone).subject == alone.event_id


def test_what_is_no_safety_event_is_refused(trail: AuditTrail) -> None:
    with pytest.raises(ConfigError, match="SafetyEvent is recorded, got a dict"):
        trail.record({})  # type: ignore[arg-type]


def test_rows_of_a_tenant_are_read_in_order_and_by_subject(trail: AuditTrail) -> None:
    fill(trail, "acme", 25)
    fill(trail, "zeta", 5)
    assert [row.sequence for row in trail.rows("acme", after=3, limit=4)] == [4, 5, 6, 7]
    assert [row.sequence for row in trail.about("case-7", "acme")] == [8]
    assert trail.about("case-20", "zeta") == []
    assert trail.rows("nobody") == []


def test_a_clock_that_runs_backwards_does_not_turn_the_trail_around(place: str) -> None:
    times = iter([100.0, 50.0, 60.0, 200.0])
    with AuditTrail(place, clock=lambda: next(times, 300.0)) as trail:
        for number in range(4):
            trail.append("note", f"n-{number}", {})
        assert [row.at for row in trail.rows()] == [100_000_000, 100_000_000, 100_000_000, 200_000_000]
        assert trail.verify().ok


BAD: dict[str, dict[str, Any]] = {
    "a kind with blanks": {"kind": "a b"},
    "no kind": {"kind": ""},
    "a subject of text": {"subject": "what the user said"},
    "a long subject": {"subject": "x" * 201},
    "a quotation mark": {"subject": 'a"b'},
    "NaN": {"body": {"x": float("nan")}},
    "an object": {"body": {"x": object()}},
    "half a character": {"body": {"x": "\ud800"}},
    "bytes": {"body": {"x": b""}},
    "too much": {"body": {"x": "y" * 1_000_001}},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_what_cannot_be_a_row_is_refused_and_nothing_is_kept(change: dict[str, Any]) -> None:
    given = {"kind": "note", "subject": "n-1", "body": {}, **change}
    with AuditTrail() as trail:
        with pytest.raises(PayloadError):
            trail.append(given["kind"], given["subject"], given["body"])
        assert trail.rows() == []
        assert trail.append("note", "n-1", {}).sequence == 1


@pytest.mark.parametrize("tenant", [" ", "../x", "a/b", "*", "%", "x" * 300, "é", 5, None])
def test_a_tenant_that_there_cannot_be_is_refused(tenant: Any) -> None:
    with AuditTrail() as trail, pytest.raises(ConfigError, match="tenant_id"):
        trail.append("note", "n-1", {}, tenant_id=tenant)


def test_text_of_any_script_and_control_characters_are_kept_as_they_are(trail: AuditTrail) -> None:
    body = {"x": "é \u202e \U0001f600 \x00 \x7f \u2028 'quotes' \"more\"", "y": [1, None, True, 1.5]}
    trail.append("note", "n-1", body)
    assert trail.rows()[0].content == body
    assert trail.verify().ok


def test_the_package_gives_these_names() -> None:
    assert package.__all__ == ["AuditTrail", "Problem", "Verification"]
    assert all(getattr(package, name).__name__ == name for name in package.__all__)


def test_trails_in_memory_have_nothing_to_do_with_one_another(tmp_path: Path) -> None:
    with AuditTrail() as one, AuditTrail() as other:
        fill(one, "acme", 3)
        assert (one.verify().rows, other.verify().rows) == (3, 0)
        assert one.key.key_id != other.key.key_id
