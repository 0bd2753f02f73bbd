"""Attestation: an agent may do what its passport grants, here and now; each failure has its reason."""

from __future__ import annotations

import dataclasses
import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.core.safety_event import POLICY_DECISIONS, safety_event_schema, validate_safety_event
from director_ai.errors import ConfigError
from director_ai.hooks.attestation import (
    REASONS,
    AttestationHook,
    Issuer,
    IssuerKey,
    IssuerRegistry,
    Nonces,
    PassportVerdict,
    Revocations,
    delegate_passport,
    issue_passport,
)
from director_ai.hooks.protocol import Hook, Occasion, ProposedAction, consult, is_quick, moments_of
from director_ai.testing import ManualClock

NOW = 1_800_000_000
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
NEXT = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
ISSUER = "https://issuer.example.com"
CANARY = "zorblatt"
SCHEMA = jsonschema.Draft202012Validator(safety_event_schema())
READ = ProposedAction(name="files/read")


def registry(**more: Any) -> IssuerRegistry:
    return IssuerRegistry([Issuer(name=ISSUER, keys=(IssuerKey(kid="k1", key=KEY.public_key()),), **more)])


def passport(**more: Any) -> str:
    made: dict[str, Any] = {
        "issuer": ISSUER,
        "kid": "k1",
        "subject": "agent-7",
        "audience": "guard.acme",
        "capabilities": ["tool:search", "tool:files/*"],
        "now": NOW,
        "lifetime": 600,
    }
    return issue_passport(KEY, **made | more)


def attesting(found: IssuerRegistry | None = None, **more: Any) -> AttestationHook:
    return AttestationHook(found or registry(), **{"audience": "guard.acme", "clock": ManualClock(NOW)} | more)


def test_a_hook_is_what_the_protocol_asks_for() -> None:
    hook = attesting()
    assert isinstance(hook, Hook)
    assert (hook.hook_id, hook.hook_scope) == ("attestation.passport", "attestation")
    assert moments_of(hook) == {"request", "action"}
    assert is_quick(AttestationHook(registry(), audience="a", revocations=Revocations(), nonces=Nonces()))
    assert not is_quick(attesting())


def test_what_a_passport_grants_is_allowed() -> None:
    verdict = attesting().judge(passport(), action=READ, sender="agent-7", tenant_id="acme", request_id="r1")
    assert (verdict.decision, verdict.allowed, verdict.reasons, verdict.missing) == ("allow", True, (), ())
    assert verdict.passport is not None
    assert (verdict.passport.subject, verdict.passport.issuer) == ("agent-7", ISSUER)
    assert verdict.safety_event.halt_reason == "attested"
    assert verdict.safety_event.attributes["chain"] == "1"


@pytest.mark.parametrize(
    ("granted", "tool", "is_allowed"),
    [
        ("tool:search", "search", True),
        ("tool:search", "Search", False),
        ("tool:search", "search2", False),
        ("tool:search", "search/all", False),
        ("tool:files/*", "files/read", True),
        ("tool:files/*", "files/a/b", True),
        ("tool:files/*", "files", False),
        ("tool:files/*", "filesystem", False),
        ("tool:*", "anything.at_all", True),
        ("data:*", "search", False),
    ],
)
def test_a_pattern_grants_what_lies_below_it(granted: str, tool: str, is_allowed: bool) -> None:
    hook = attesting(registry(may_grant=("tool:*", "data:*")))
    verdict = hook.judge(passport(capabilities=[granted]), action=ProposedAction(name=tool))
    assert verdict.allowed == is_allowed
    assert verdict.missing == (() if is_allowed else (f"tool:{tool}",))
    assert verdict.reasons == (() if is_allowed else ("capability.missing",))


@pytest.mark.parametrize(
    "tool",
    ["files/../admin", "files//read", "se arch", "search\n", "search\u200b", "ѕearch", "a" * 300, "*", "files/*", "/x"],
)
def test_a_tool_whose_name_nobody_can_grant_is_blocked(tool: str) -> None:
    verdict = attesting().judge(passport(capabilities=["tool:*"]), action=ProposedAction(name=tool))
    assert (verdict.decision, verdict.reasons) == ("block", ("capability.unnamed",))


def test_tools_may_need_more_than_their_name_or_less() -> None:
    needs = {"transfer": ("tool:transfer", "tool:money/send"), "ping": ()}
    hook = attesting(requires=needs)
    assert hook.judge(passport(capabilities=["tool:transfer"]), action=ProposedAction(name="transfer")).missing == (
        "tool:money/send",
    )
    both = passport(capabilities=["tool:transfer", "tool:money/*"])
    assert hook.judge(both, action=ProposedAction(name="transfer")).allowed
    assert hook.judge(passport(capabilities=[]), action=ProposedAction(name="ping")).allowed
    assert not hook.judge(both, action=ProposedAction(name="search")).allowed


def test_a_function_may_say_what_an_action_needs_by_its_arguments() -> None:
    hook = attesting(requires=lambda action: [f"tool:files/{action.arguments['mode']}"])
    grant = passport(capabilities=["tool:files/read"])
    for mode, is_allowed in (("read", True), ("write", False)):
        action = ProposedAction(name="open", arguments={"mode": mode})
        assert hook.judge(grant, action=action).allowed == is_allowed
    assert hook.judge(grant, action=ProposedAction(name="open")).reasons == ("capability.check_failed",)


def test_it_has_nothing_to_say_where_nobody_acts_and_no_passport_is_shown() -> None:
    assert attesting().examine(Occasion(text="Hello.")) is None
    assert attesting().examine(Occasion(text="Hello.", passport=passport())).decision == "allow"
    assert attesting(is_required=True).examine(Occasion(text="Hello.")).reasons == ("passport.missing",)
    assert attesting().judge("").reasons == ("passport.missing",)
    verdict = attesting().examine(Occasion(action=READ))
    assert verdict.decision == "block"
    assert verdict.reasons == ("passport.missing", "capability.missing")


TIMES: dict[str, tuple[float, tuple[str, ...]]] = {
    "at its beginning": (NOW, ()),
    "a little early, within the skew": (NOW - 30, ()),
    "too early": (NOW - 31, ("passport.not_yet_valid",)),
    "at its end, within the skew": (NOW + 629, ()),
    "too late": (NOW + 630, ("passport.expired",)),
}


@pytest.mark.parametrize(("now", "expected"), TIMES.values(), ids=TIMES.keys())
def test_a_passport_counts_from_its_beginning_to_its_end_give_or_take_the_skew(
    now: float, expected: tuple[str, ...]
) -> None:
    verdict = attesting(clock=ManualClock(now)).judge(passport(), action=READ)
    assert verdict.reasons == expected
    assert (verdict.passport is None) == bool(expected)


def test_a_passport_may_begin_later_than_it_was_issued_and_never_earlier() -> None:
    assert attesting().judge(passport(nbf=NOW + 100)).reasons == ("passport.not_yet_valid",)
    assert attesting().judge(passport(now=NOW + 100, nbf=NOW - 100)).reasons == ("passport.not_yet_valid",)


def test_a_passport_near_its_end_leads_to_a_warning() -> None:
    verdict = attesting(warn_before=900).judge(passport(), action=READ)
    assert (verdict.decision, verdict.allowed, verdict.reasons) == ("warn", True, ("passport.expires_soon",))
    assert verdict.passport is not None


def test_keys_of_an_issuer_count_in_their_time() -> None:
    old = IssuerKey(kid="k1", key=KEY.public_key(), expires_at=NOW - 100)
    new = IssuerKey(kid="k2", key=NEXT.public_key(), not_before=NOW + 100)
    hook = attesting(IssuerRegistry([Issuer(name=ISSUER, keys=(old, new))]))
    assert hook.judge(passport()).reasons == ("passport.key_expired",)
    later = issue_passport(
        NEXT, issuer=ISSUER, kid="k2", subject="a", audience="guard.acme", capabilities=[], now=NOW, lifetime=600
    )
    assert hook.judge(later).reasons == ("passport.key_not_yet_valid",)


def test_a_key_that_was_taken_out_no_longer_counts_even_for_passports_that_were_read_before() -> None:
    found = registry()
    hook = attesting(found)
    token = passport()
    assert hook.judge(token).allowed
    found.register(Issuer(name=ISSUER, keys=(IssuerKey(kid="k1", key=NEXT.public_key()),)))
    assert hook.judge(token).reasons == ("passport.forged",)
    found.register(Issuer(name=ISSUER, keys=(IssuerKey(kid="k2", key=KEY.public_key()),)))
    assert hook.judge(token).reasons == ("passport.unknown_key",)
    found.remove(ISSUER)
    assert hook.judge(token).reasons == ("passport.unknown_issuer",)
    found.register(Issuer(name=ISSUER, keys=(IssuerKey(kid="k1", key=KEY.public_key()),), may_grant=("tool:search",)))
    assert hook.judge(token).reasons == ("passport.exceeds_issuer",)


def test_passports_are_taken_back_one_by_one_or_all_of_an_agent() -> None:
    revoked, clock = Revocations(), ManualClock(NOW)
    hook = attesting(revocations=revoked, clock=clock)
    first, second = passport(jti="p1"), passport(jti="p2", now=NOW + 20)
    assert hook.judge(first).allowed
    revoked.revoke("p1", issuer=ISSUER, since=NOW + 10)
    assert hook.judge(first).allowed, "not yet"
    clock.advance(10)
    assert hook.judge(first).reasons == ("passport.revoked",)
    revoked.revoke("p1", issuer=ISSUER, since=NOW + 1_000)
    assert hook.judge(first).reasons == ("passport.revoked",), "a later time does not bring it back"
    assert hook.judge(second).allowed
    revoked.revoke("p2", issuer="https://other.example.com")
    assert hook.judge(second).allowed, "another issuer's passport of the same name"
    revoked.revoke_subject("agent-7", until=NOW + 20)
    assert hook.judge(second).reasons == ("passport.revoked",)
    clock.advance(20)
    assert hook.judge(passport(now=NOW + 21)).allowed, "issued after that"


def test_a_list_of_revocations_that_is_full_says_so() -> None:
    revoked = Revocations(size=1)
    revoked.revoke("p1", issuer=ISSUER)
    revoked.revoke("p1", issuer=ISSUER, since=5)
    with pytest.raises(ConfigError):
        revoked.revoke("p2", issuer=ISSUER)
    for wrong in (
        lambda: revoked.revoke("", issuer=ISSUER),
        lambda: revoked.revoke(5, issuer=ISSUER),  # type: ignore[arg-type]
        lambda: revoked.revoke("p", issuer=ISSUER, since=float("nan")),
        lambda: Revocations(size=0),
    ):
        with pytest.raises(ConfigError):
            wrong()


def test_a_passport_for_one_request_serves_no_other() -> None:
    hook = attesting(nonces=Nonces())
    token = passport()
    for _ in range(3):
        assert hook.judge(token, action=READ, request_id="r1", tenant_id="acme").allowed
    assert hook.judge(token, action=READ, request_id="r2", tenant_id="acme").reasons == ("passport.replayed",)
    assert hook.judge(token, action=READ, request_id="r1", tenant_id="globex").reasons == ("passport.replayed",)
    assert hook.judge(token, action=READ).reasons == ("passport.without_request",)
    assert hook.judge(passport(), action=READ, request_id="r2").allowed


def test_what_is_derived_from_a_passport_for_one_request_serves_that_request_only() -> None:
    hook, holding = attesting(nonces=Nonces()), Ed25519PrivateKey.generate()
    above = passport(holder=holding.public_key())
    more = {"subject": "helper", "audience": "guard.acme", "capabilities": ["tool:files/*"], "now": NOW, "lifetime": 60}
    below = [delegate_passport(above, holding, issuer="agent-7", **more) for _ in range(2)]
    assert hook.judge(above, action=READ, request_id="r1").allowed
    assert hook.judge(below[0], action=READ, request_id="r2").reasons == ("passport.replayed",)
    assert all(hook.judge(each, action=READ, request_id="r1").allowed for each in below)


def test_a_request_is_known_by_the_exchange_and_not_by_what_a_client_calls_it() -> None:
    hook, token = attesting(nonces=Nonces()), passport()
    words = [
        hook.examine(Occasion(passport=token, action=READ, request_id="r1", exchange_id=each)) for each in ("e1", "e2")
    ]
    assert [verdict is not None and verdict.reasons for verdict in words] == [(), ("passport.replayed",)]


def test_a_passport_is_for_its_agent_its_tenant_and_its_audience() -> None:
    token = passport(tenant="acme", audience=["guard.acme", "guard.other"])
    assert attesting().judge(token, sender="agent-7", tenant_id="acme").allowed
    assert attesting(audience="guard.other").judge(token, tenant_id="acme").allowed
    verdict = attesting(audience="guard.globex").judge(token, sender="agent-8", tenant_id="globex")
    assert set(verdict.reasons) == {"passport.other_audience", "passport.other_agent", "passport.other_tenant"}
    assert attesting().judge(token).reasons == ("passport.other_tenant",)


DEFECTS: dict[str, Callable[[dict[str, Any]], None]] = {
    "late": lambda setting: setting["hook"].update(clock=ManualClock(NOW + 10_000)),
    "near its end": lambda setting: setting["hook"].update(warn_before=10_000),
    "for others": lambda setting: setting["passport"].update(audience="guard.globex"),
    "of a tenant": lambda setting: setting["passport"].update(tenant="globex"),
    "of somebody": lambda setting: setting["judge"].update(sender="agent-8"),
    "revoked": lambda setting: setting["passport"].update(jti="revoked"),
    "beyond its issuer": lambda setting: setting["passport"]["capabilities"].append("data:x"),
    "beyond its grants": lambda setting: setting["judge"].update(action=ProposedAction(name="rm")),
}


def verdict_with(defects: list[str]) -> PassportVerdict:
    setting: dict[str, Any] = {"hook": {}, "passport": {"capabilities": ["tool:files/*"]}, "judge": {"action": READ}}
    for defect in defects:
        DEFECTS[defect](setting)
    revoked = Revocations()
    revoked.revoke("revoked", issuer=ISSUER)
    return attesting(revocations=revoked, **setting["hook"]).judge(passport(**setting["passport"]), **setting["judge"])


@settings(max_examples=100)
@given(st.lists(st.sampled_from(sorted(DEFECTS)), unique=True, max_size=5), st.sampled_from(sorted(DEFECTS)))
def test_another_violation_never_makes_a_verdict_milder(defects: list[str], another: str) -> None:
    before, after = verdict_with(defects), verdict_with(list(dict.fromkeys([*defects, another])))
    assert POLICY_DECISIONS.index(after.decision) >= POLICY_DECISIONS.index(before.decision)
    assert set(after.reasons) >= set(before.reasons)
    assert (after.decision == "allow") == (not after.reasons)


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "allow": ("allow", {}, {}),
    "warn": ("warn", {"warn_before": 900}, {}),
    "block": ("block", {}, {"action": ProposedAction(name="rm")}),
    "refused": ("block", {"audience": "guard.globex"}, {}),
}


@pytest.mark.parametrize(("decision", "hook", "more"), CASES.values(), ids=CASES.keys())
def test_every_decision_makes_an_event_that_validates(
    decision: str, hook: dict[str, Any], more: dict[str, Any]
) -> None:
    (verdict,) = consult([attesting(**hook)], Occasion(passport=passport(), tenant_id="acme", **more))
    event = verdict.safety_event
    assert (event.policy_decision, event.tenant_id) == (decision, "acme")
    assert (event.hook_id, event.hook_scope) == ("attestation.passport", "attestation")
    assert validate_safety_event(event.to_dict()) == event
    SCHEMA.validate(json.loads(event.to_json()))
    assert event.halt_reason.split(" ")[0] in {*REASONS, "attested"}


def test_no_event_says_who_acts_or_what_is_done() -> None:
    found = IssuerRegistry([Issuer(name=f"https://{CANARY}.org", keys=(IssuerKey(kid=CANARY, key=KEY.public_key()),))])
    token = passport(
        issuer=f"https://{CANARY}.org",
        kid=CANARY,
        subject=f"{CANARY}-1",
        jti=f"{CANARY}-2",
        audience=f"{CANARY}-3",
        capabilities=[f"tool:{CANARY}"],
    )
    action = ProposedAction(name=f"{CANARY}-4", arguments={CANARY: CANARY})
    verdict = attesting(found).judge(token, action=action, sender=f"{CANARY}-5")
    assert set(verdict.reasons) == {"passport.other_audience", "passport.other_agent", "capability.missing"}
    assert CANARY not in verdict.safety_event.to_json()
    assert token not in repr(verdict)


def test_verdicts_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        attesting().judge(passport()).decision = "allow"  # type: ignore[misc]


BAD_SETTINGS: dict[str, dict[str, Any]] = {
    "no audience": {"audience": ""},
    "an audience of words": {"audience": "our guard"},
    "requirements that are none": {"requires": ["tool:x"]},
    "requirements that are patterns": {"requires": {"x": ["tool:*"]}},
    "requirements in one word": {"requires": {"x": "tool:x"}},
    "revocations that are none": {"revocations": {"p1"}},
    "nonces that are none": {"nonces": []},
    "a clock that is none": {"clock": 5},
    "a skew that is none": {"skew": float("inf")},
    "a warning before NaN": {"warn_before": float("nan")},
    "required in words": {"is_required": "yes"},
}


@pytest.mark.parametrize("bad", BAD_SETTINGS.values(), ids=BAD_SETTINGS.keys())
def test_settings_that_cannot_be_right_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        attesting(**bad)
    with pytest.raises(ConfigError):
        AttestationHook({ISSUER: KEY}, audience="a")  # type: ignore[arg-type]


GOOD_KEY = IssuerKey(kid="k1", key=KEY.public_key())
BAD_ISSUERS: dict[str, Callable[[], Any]] = {
    "a private key": lambda: IssuerKey(kid="k1", key=KEY),  # type: ignore[arg-type]
    "a key without a name": lambda: IssuerKey(kid="", key=KEY.public_key()),
    "a key that never counts": lambda: IssuerKey(kid="k", key=KEY.public_key(), not_before=5, expires_at=5),
    "a key until NaN": lambda: IssuerKey(kid="k", key=KEY.public_key(), expires_at=float("nan")),
    "no keys": lambda: Issuer(name=ISSUER, keys=()),
    "two keys of one name": lambda: Issuer(name=ISSUER, keys=(GOOD_KEY, GOOD_KEY)),
    "keys that are none": lambda: Issuer(name=ISSUER, keys=("k1",)),  # type: ignore[arg-type]
    "a name of words": lambda: Issuer(name="our issuer", keys=(GOOD_KEY,)),
    "grants that are none": lambda: Issuer(name=ISSUER, keys=(GOOD_KEY,), may_grant=("*",)),
    "no issuer": lambda: IssuerRegistry([ISSUER]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("make", BAD_ISSUERS.values(), ids=BAD_ISSUERS.keys())
def test_issuers_that_cannot_be_right_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigError):
        make()


BAD_PASSPORTS: dict[str, dict[str, Any]] = {
    "no agent": {"subject": ""},
    "an agent of words": {"subject": "agent seven"},
    "no audience": {"audience": []},
    "everything": {"capabilities": ["*"]},
    "a way around": {"capabilities": ["tool:files/../x"]},
    "a star inside": {"capabilities": ["tool:*/read"]},
    "one capability": {"capabilities": "tool:x"},
    "too many": {"capabilities": [f"tool:t{at}" for at in range(257)]},
    "no life": {"lifetime": 0},
    "a life of centuries": {"lifetime": 1e10},
    "another claim": {"admin": True},
    "an end before its beginning": {"nbf": NOW + 10_000},
    "a holder that is none": {"holder": "AAAA"},
}


@pytest.mark.parametrize("bad", BAD_PASSPORTS.values(), ids=BAD_PASSPORTS.keys())
def test_passports_that_would_be_refused_are_not_issued(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        passport(**bad)
    with pytest.raises(ConfigError):
        issue_passport(b"key", issuer=ISSUER, kid="k", subject="a", audience="b", capabilities=[])  # type: ignore[arg-type]


def test_without_its_library_it_says_what_to_install_and_others_do_not_need_it() -> None:
    code = (
        "import sys; sys.modules['jwt'] = None\n"
        "import director_ai.hooks.containment\n"
        "try:\n    import director_ai.hooks.attestation\n"
        "except ImportError as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingExtra")
    assert "pip install '.[hooks]'" in done.stdout


ROOT = Path(__file__).parent.parent.parent


def test_its_page_names_every_reason() -> None:
    page = (ROOT / "docs" / "hooks" / "attestation.md").read_text("utf-8")
    assert [reason for reason in REASONS if f"`{reason}`" not in page] == []


def test_its_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "hooks" / "attestation.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[-1] == "block  helper calls files/read: passport.revoked"
