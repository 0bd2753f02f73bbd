"""Containment: what an anchor allows goes on, whatever reaches out of its scope is stopped, and events say no text."""

from __future__ import annotations

import dataclasses
import json
import runpy
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.core.safety_event import POLICY_DECISIONS, safety_event_schema, validate_safety_event
from director_ai.errors import ConfigError, PayloadError, UnknownOption
from director_ai.hooks.containment import (
    REASONS,
    AnchorKey,
    ContainmentHook,
    ContainmentVerdict,
    HostRules,
    issue_anchor,
)
from director_ai.hooks.protocol import Hook, Occasion, ProposedAction, consult, is_quick, moments_of
from director_ai.testing import ManualClock

NOW = 1_800_000_000.0
KEY = AnchorKey.from_secret(b"k" * 32)
RULES = HostRules(
    allow=("*.sandbox.example.com", "127.0.0.0/8", "localhost"),
    deny=("*.prod.example.com", "10.20.0.0/16", "prod-db"),
)
CANARY = "zorblatt"
SCHEMA = jsonschema.Draft202012Validator(safety_event_schema())


def anchor(**more: Any) -> str:
    return issue_anchor(KEY, **({"subject": "agent-7", "scope": "sandbox", "now": NOW} | more))


def contained(token: Any = None, **more: Any) -> ContainmentHook:
    made = {"keys": [KEY], "rules": {"sandbox": RULES}, "clock": ManualClock(NOW)} | more
    return ContainmentHook(token or anchor(), **made)


def call(**arguments: Any) -> ProposedAction:
    return ProposedAction(name="call", arguments=arguments)


def test_a_hook_is_what_the_protocol_asks_for() -> None:
    hook = contained()
    assert isinstance(hook, Hook)
    assert (hook.hook_id, hook.hook_scope) == ("containment.scope", "containment")
    assert moments_of(hook) == {"request", "text", "action"}


def test_what_stays_inside_is_allowed_and_recorded() -> None:
    action = call(url="https://api.sandbox.example.com/v1", query="refund window", top_k=5)
    verdict = contained().judge_action(action, text="I ask http://127.0.0.1:8080/ about it.", request_id="r1")
    assert (verdict.decision, verdict.allowed, verdict.findings) == ("allow", True, ())
    assert verdict.anchor is not None
    assert verdict.anchor.subject == "agent-7"
    assert verdict.safety_event.halt_reason == "contained"
    assert verdict.safety_event.request_id == "r1"
    assert verdict.safety_event.latency_ms is not None


def test_an_action_that_reaches_out_is_blocked_and_every_violation_is_named() -> None:
    action = call(url="https://db.prod.example.com/", env="prod", password="hunter42x", mirror="https://elsewhere.org")
    verdict = contained().judge_action(action)
    assert (verdict.decision, verdict.allowed) == ("block", False)
    assert set(verdict.reasons) == {
        "action.host_denied",
        "action.other_scope",
        "action.credential",
        "action.host_outside",
    }
    assert {finding.place for finding in verdict.findings} == {
        "arguments.url",
        "arguments.env",
        "arguments.password",
        "arguments.mirror",
    }
    assert verdict.safety_event.attributes["action.host_denied"] == "1"


@pytest.mark.parametrize(
    ("text", "decision", "reason"),
    [
        ("Ask db.prod.example.com about it.", "halt", "text.host_denied"),
        ("The password is hunter42x.", "halt", "text.credential"),
        ("See https://docs.example.org/.", "warn", "text.host_outside"),
        ("This is production.", "warn", "text.other_scope"),
    ],
)
def test_a_text_halts_where_it_names_what_is_denied_and_warns_where_it_only_strays(
    text: str, decision: str, reason: str
) -> None:
    verdict = contained().judge_text(text)
    assert (verdict.decision, verdict.reasons) == (decision, (reason,))
    assert verdict.allowed == (decision == "warn")


def test_the_prompt_is_not_what_the_agent_says() -> None:
    assert contained().examine(Occasion(prompt="Delete db.prod.example.com!")).decision == "allow"


def test_the_same_action_may_be_inside_of_another_scope() -> None:
    action = call(host="db.prod.example.com", env="production")
    rules = {"sandbox": RULES, "production": HostRules(allow=("*.prod.example.com",))}
    assert contained(rules=rules).judge_action(action).decision == "block"
    assert contained(anchor(scope="production"), rules=rules).judge_action(action).decision == "allow"


def test_a_deployment_may_decide_otherwise_but_not_about_the_anchor() -> None:
    hook = contained(decisions={"text.host_outside": "block", "text.credential": "warn"})
    assert hook.judge_text("See https://docs.example.org/.").decision == "block"
    mild = hook.judge_text("The password is hunter42x.")
    assert (mild.decision, mild.reasons) == ("warn", ("text.credential",))
    for wrong in (
        {"anchor.expired": "warn"},
        {"text.nothing": "warn"},
        {"text.credential": "ignore"},
        {"text.host_denied": "allow"},
    ):
        with pytest.raises(UnknownOption):
            contained(decisions=wrong)


def test_a_function_may_look_for_secrets_instead() -> None:
    hook = contained(finds_secret=lambda text: CANARY in text)
    assert hook.judge_text(f"A {CANARY}.").reasons == ("text.credential",)
    assert hook.judge_action(call(note=[{"deep": CANARY}])).reasons == ("action.credential",)
    assert hook.judge_text("The password is hunter42x.").decision == "allow"


def test_anchors_may_come_from_a_function_of_the_occasion() -> None:
    tokens = {"acme": anchor(tenant_id="acme"), "globex": anchor(tenant_id="globex")}
    hook = contained(lambda occasion: tokens[occasion.tenant_id])
    assert hook.judge_text("Hello.", tenant_id="acme").decision == "allow"
    assert hook.judge_text("Hello.", tenant_id="globex").decision == "allow"
    assert hook.judge_text("Hello.", tenant_id="initech").reasons == ("anchor.source_failed",)


def test_it_says_whether_it_asks_nobody() -> None:
    assert is_quick(
        ContainmentHook(issue_anchor(KEY, subject="a", scope="sandbox"), keys=[KEY], rules={"sandbox": RULES})
    )
    assert not is_quick(contained())
    assert not is_quick(contained(lambda _: anchor()))


BAD_SETTINGS: dict[str, dict[str, Any]] = {
    "no keys": {"keys": []},
    "keys that are none": {"keys": [b"k" * 32]},
    "no rules": {"rules": {}},
    "rules for no scope": {"rules": {"staging": RULES}},
    "rules that are none": {"rules": {"sandbox": ("*.example.com",)}},
    "rules that are no mapping": {"rules": [RULES]},
    "a skew that is none": {"skew": float("nan")},
    "a skew of days": {"skew": 1e6},
    "a skew below zero": {"skew": -1},
    "a clock that is none": {"clock": 5.0},
    "a search that is none": {"finds_secret": "yes"},
    "nonces that are none": {"nonces": {}},
    "a run that is none": {"run_id": "../x"},
    "an agent that is none": {"subject": " "},
}


@pytest.mark.parametrize("bad", BAD_SETTINGS.values(), ids=BAD_SETTINGS.keys())
def test_settings_that_cannot_be_right_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        contained(**bad)


@pytest.mark.parametrize("token", ["", "nonsense", 5, None, anchor()[:-2] + "AA"])
def test_an_anchor_that_can_never_count_is_refused_when_the_hook_is_made(token: Any) -> None:
    with pytest.raises(PayloadError):
        ContainmentHook(token, keys=[KEY], rules={"sandbox": RULES})


@pytest.mark.parametrize(
    "patterns",
    [
        "example.com",
        5,
        [5],
        [""],
        ["https://example.com"],
        ["example.com:80"],
        ["example.com/x"],
        ["10.0.0.1/8"],
        ["10.0.0.0/33"],
        ["300.1.1.1"],
        ["a b"],
        ["..example.com"],
        ["a" * 70],
        ["exa[mple.com"],
        ["x.example.com"] * 10_001,
    ],
    ids=lambda value: repr(value)[:30],
)
def test_rules_that_name_no_host_are_refused(patterns: Any) -> None:
    for rules in ({"allow": patterns}, {"deny": patterns}):
        with pytest.raises(ConfigError) as refused:
            HostRules(**rules)
        assert "example" not in str(refused.value).replace("such as db.example.com or *.example.com", "")


PIECES = [
    "Hello, all is well.",
    "Ask db.prod.example.com.",
    "See https://docs.example.org/.",
    "The password is hunter42x.",
    "This is production.",
    "http://%zz/",
]
ARGUMENTS: list[tuple[str, Any]] = [
    ("query", "refunds"),
    ("host", "db.prod.example.com"),
    ("url", "https://docs.example.org/"),
    ("env", "prod"),
    ("token", "abcd1234"),
    ("number", float("nan")),
    ("ip", 169_082_885),
]


def rank(verdict: ContainmentVerdict) -> int:
    return POLICY_DECISIONS.index(verdict.decision)


@settings(max_examples=120)
@given(
    st.lists(st.sampled_from(PIECES), max_size=3),
    st.sampled_from(PIECES),
    st.lists(st.sampled_from(range(len(ARGUMENTS))), unique=True, max_size=4),
    st.sampled_from(range(len(ARGUMENTS))),
    st.booleans(),
)
def test_another_violation_never_makes_a_verdict_milder(
    pieces: list[str], piece: str, chosen: list[int], another: int, is_late: bool
) -> None:
    clock = ManualClock(NOW)
    hook = contained(clock=clock)

    def verdict(said: list[str], given_arguments: list[int]) -> ContainmentVerdict:
        action = ProposedAction(name="call", arguments=dict(ARGUMENTS[at] for at in given_arguments))
        return hook.judge_action(action, text="\n".join(said))

    before = verdict(pieces, chosen)
    for more in (verdict([*pieces, piece], chosen), verdict(pieces, [*chosen, another])):
        assert rank(more) >= rank(before)
        assert set(before.reasons) <= set(more.reasons)
    clock.advance(1e6 if is_late else 0)
    assert rank(verdict(pieces, chosen)) >= rank(before)


CASES: dict[str, tuple[str, Occasion]] = {
    "allow": ("allow", Occasion(text="Hello.")),
    "warn": ("warn", Occasion(text="See https://docs.example.org/.")),
    "halt": ("halt", Occasion(text="Ask db.prod.example.com.")),
    "block": ("block", Occasion(action=call(host="db.prod.example.com"))),
    "refused": ("block", Occasion(text="Hello.", tenant_id="globex")),
}


@pytest.mark.parametrize(("decision", "occasion"), CASES.values(), ids=CASES.keys())
def test_every_decision_makes_an_event_that_validates(decision: str, occasion: Occasion) -> None:
    (verdict,) = consult([contained()], occasion)
    event = verdict.safety_event
    assert event.policy_decision == decision
    assert (event.hook_id, event.hook_scope) == ("containment.scope", "containment")
    assert validate_safety_event(event.to_dict()) == event
    SCHEMA.validate(json.loads(event.to_json()))
    assert event.halt_reason.split(" ")[0] in {*REASONS, "contained"}


def test_no_event_says_what_was_said_or_who_it_was() -> None:
    token = issue_anchor(KEY, subject=f"{CANARY}-1", scope="sandbox", now=NOW, anchor_id=f"{CANARY}-2", nonce=CANARY)
    hook = ContainmentHook(token, keys=[KEY], rules={"sandbox": RULES}, clock=ManualClock(NOW))
    action = ProposedAction(
        name=f"{CANARY}.call",
        arguments={CANARY: [f"https://{CANARY}.prod.example.com", f"https://{CANARY}.org"], "password": f"{CANARY}1"},
    )
    verdict = hook.judge_action(action, text=f"{CANARY}.prod.example.com, this is production {CANARY}.")
    assert verdict.decision == "block"
    assert CANARY not in verdict.safety_event.to_json()
    assert CANARY not in repr(verdict.findings)
    assert all(ref.startswith("sha256:") for ref in verdict.safety_event.evidence_refs)
    assert len(verdict.safety_event.evidence_refs) == 2, "one host, one name"


def test_nothing_is_told_of_a_credential_not_even_its_hash() -> None:
    verdict = contained().judge_action(call(password="hunter42x"))
    assert [finding.ref for finding in verdict.findings] == [""]
    assert verdict.safety_event.evidence_refs == ()


def test_verdicts_cannot_be_changed() -> None:
    verdict = contained().judge_text("Ask db.prod.example.com.")
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.decision = "allow"  # type: ignore[misc]


def test_many_threads_get_the_verdicts_of_their_own_occasions() -> None:
    hook = contained()
    wrong: list[str] = []

    def work(is_bad: bool) -> None:
        text = "Ask db.prod.example.com." if is_bad else "Hello."
        wrong.extend(text for _ in range(50) if hook.judge_text(text).allowed == is_bad)

    threads = [threading.Thread(target=work, args=(at % 2 == 0,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


ROOT = Path(__file__).parent.parent.parent


def test_its_page_names_every_reason() -> None:
    page = (ROOT / "docs" / "hooks" / "containment.md").read_text("utf-8")
    assert [reason for reason in REASONS if f"`{reason}`" not in page] == []


def test_its_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "hooks" / "containment.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[-1] == "warn   says where it is not: text.other_scope"
