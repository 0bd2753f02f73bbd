"""Anchors: who did not sign one, whose it is not and when it is over, each with its reason; one run, one nonce."""

from __future__ import annotations

import base64
import dataclasses
import json
import threading
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.errors import ConfigError, PayloadError
from director_ai.hooks.containment import ContainmentHook, HostRules, Nonces
from director_ai.hooks.containment.anchors import Anchor, AnchorKey, AnchorReader, issue_anchor
from director_ai.hooks.protocol import Occasion
from director_ai.hooks.statements import StatementRefused, decode_segment, encode_segment, read_object
from director_ai.record.canonical import canonical
from director_ai.testing import ManualClock

NOW = 1_800_000_000
SECRET = AnchorKey.from_secret(bytes(range(32)))
OTHER = AnchorKey.from_secret(bytes(range(1, 33)))
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SIGNING = AnchorKey.from_ed25519(PRIVATE)
CHECKING = AnchorKey.from_ed25519(PRIVATE.public_key())
ISSUED = issue_anchor(SECRET, subject="agent-7", scope="sandbox", now=NOW, lifetime=600)


def contained(token: Any, **more: Any) -> ContainmentHook:
    made = {"keys": [SECRET, CHECKING], "rules": {"sandbox": HostRules()}, "clock": ManualClock(NOW)} | more
    return ContainmentHook(lambda _: token, **made)


def reasons(token: Any, occasion: Occasion | None = None, **more: Any) -> tuple[str, ...]:
    verdict = contained(token, **more).examine(occasion or Occasion(text="Hello."))
    assert verdict.allowed == (not verdict.reasons)
    assert (verdict.anchor is None) == bool(verdict.reasons)
    return verdict.reasons


def signed(payload: bytes, key: AnchorKey = SECRET) -> str:
    return f"anchor1.{key.key_id}.{encode_segment(payload)}.{encode_segment(key.sign(payload))}"


def claims(**changes: Any) -> dict[str, Any]:
    return read_object(decode_segment(ISSUED.split(".")[2])) | changes


def with_part(at: int, value: str) -> str:
    parts = ISSUED.split(".")
    parts[at] = value
    return ".".join(parts)


@pytest.mark.parametrize(("signer", "checker"), [(SECRET, SECRET), (SIGNING, CHECKING), (SIGNING, SIGNING)])
def test_an_anchor_says_what_it_was_issued_for(signer: AnchorKey, checker: AnchorKey) -> None:
    token = issue_anchor(
        signer, subject="agent-7", scope="shadow", tenant_id="acme", run_id="run-1", now=NOW, lifetime=60, nonce="n1"
    )
    read = AnchorReader([checker]).read(token)
    assert (read.subject, read.scope, read.tenant_id, read.run_id, read.nonce) == (
        "agent-7",
        "shadow",
        "acme",
        "run-1",
        "n1",
    )
    assert (read.issued_at, read.expires_at) == (NOW, NOW + 60)
    assert AnchorReader([checker]).read(token) == read


FLIPPED = claims(scope="production")
FORGED: dict[str, tuple[Any, str]] = {
    "nothing": ("", "anchor.missing"),
    "a word": ("anchor", "anchor.malformed"),
    "another version": (with_part(0, "anchor2"), "anchor.malformed"),
    "a part too many": (ISSUED + ".x", "anchor.malformed"),
    "a part too few": (ISSUED.rpartition(".")[0], "anchor.malformed"),
    "a key nobody knows": (
        issue_anchor(OTHER, subject="agent-7", scope="sandbox", now=NOW),
        "anchor.unknown_key",
    ),
    "another key under a known name": (
        signed(canonical(claims()).encode(), OTHER).replace(OTHER.key_id, SECRET.key_id),
        "anchor.forged",
    ),
    "a changed scope": (with_part(2, encode_segment(canonical(FLIPPED).encode())), "anchor.forged"),
    "a changed signature": (with_part(3, encode_segment(bytes(32))), "anchor.forged"),
    "half a signature": (with_part(3, ISSUED.split(".")[3][:20]), "anchor.forged"),
    "no signature": (with_part(3, ""), "anchor.malformed"),
    "the public key as a secret": (
        with_part(1, CHECKING.key_id),
        "anchor.forged",
    ),
    "padding": (ISSUED + "=", "anchor.malformed"),
    "a second spelling of the signature": (
        # 32 bytes leave 2 bits of the last character unused
        ISSUED[:-1] + chr(ord(ISSUED[-1]) + 1),
        "anchor.malformed",
    ),
    "letters of another alphabet": (with_part(2, "аб"), "anchor.malformed"),
    "a line end": (ISSUED + "\n", "anchor.malformed"),
    "too long": ("anchor1." + "A" * 5_000, "anchor.too_large"),
    "signed: not canonical": (signed(json.dumps(claims()).encode()), "anchor.malformed"),
    "signed: a key twice": (
        signed(canonical(claims()).replace("{", '{"scope":"production",', 1).encode()),
        "anchor.malformed",
    ),
    "signed: NaN": (signed(json.dumps(claims(expires_at=float("nan"))).encode()), "anchor.malformed"),
    "signed: endless": (signed(canonical(claims()).replace(str(NOW), "1e999").encode()), "anchor.malformed"),
    "signed: a time with a fraction": (signed(canonical(claims(expires_at=NOW + 1.5)).encode()), "anchor.malformed"),
    "signed: a time that is True": (signed(canonical(claims(issued_at=True)).encode()), "anchor.malformed"),
    "signed: a time in words": (signed(canonical(claims(issued_at=str(NOW))).encode()), "anchor.malformed"),
    "signed: an end before its beginning": (signed(canonical(claims(expires_at=NOW - 1)).encode()), "anchor.malformed"),
    "signed: a life of years": (signed(canonical(claims(expires_at=NOW + 10**9)).encode()), "anchor.malformed"),
    "signed: another scope": (signed(canonical(claims(scope="staging")).encode()), "anchor.malformed"),
    "signed: no agent": (signed(canonical(claims(subject="")).encode()), "anchor.malformed"),
    "signed: an agent that is a list": (signed(canonical(claims(subject=["a"])).encode()), "anchor.malformed"),
    "signed: more than it may hold": (signed(canonical(claims(admin=True)).encode()), "anchor.malformed"),
    "signed: less than it must hold": (signed(canonical({"scope": "sandbox"}).encode()), "anchor.malformed"),
    "signed: a list": (signed(b"[]"), "anchor.malformed"),
    "signed: no JSON": (signed(b"scope=sandbox"), "anchor.malformed"),
    "signed: no UTF-8": (signed(b"\xff\xfe"), "anchor.malformed"),
    "signed: nested without end": (signed(b"[" * 2_000), "anchor.malformed"),
}


@pytest.mark.parametrize(("token", "reason"), FORGED.values(), ids=FORGED.keys())
def test_forged_and_malformed_anchors_block_with_their_reason(token: str, reason: str) -> None:
    verdict = contained(token).examine(Occasion(text="Hello."))
    assert (verdict.decision, verdict.reasons, verdict.anchor) == ("block", (reason,), None)


TIMES: dict[str, tuple[float, tuple[str, ...]]] = {
    "at its beginning": (NOW, ()),
    "a little early, within the skew": (NOW - 30, ()),
    "too early": (NOW - 31, ("anchor.not_yet_valid",)),
    "at its end, within the skew": (NOW + 629, ()),
    "too late": (NOW + 630, ("anchor.expired",)),
    "years later": (NOW + 1e9, ("anchor.expired",)),
}


@pytest.mark.parametrize(("now", "expected"), TIMES.values(), ids=TIMES.keys())
def test_an_anchor_counts_from_its_beginning_to_its_end_give_or_take_the_skew(
    now: float, expected: tuple[str, ...]
) -> None:
    assert reasons(ISSUED, clock=ManualClock(now), skew=30) == expected


def test_an_anchor_that_counted_once_does_not_count_for_ever() -> None:
    clock = ManualClock(NOW)
    hook = contained(ISSUED, clock=clock)
    assert hook.examine(Occasion(text="Hello.")).allowed
    clock.advance(10_000)
    assert hook.examine(Occasion(text="Hello.")).reasons == ("anchor.expired",)


def test_an_anchor_of_somebody_else_is_refused_and_all_of_it_is_said() -> None:
    token = issue_anchor(SIGNING, subject="agent-7", scope="shadow", tenant_id="acme", run_id="run-1", now=NOW)
    found = reasons(
        token, Occasion(text="Hello.", tenant_id="globex", sender="agent-8"), run_id="run-2", clock=ManualClock(0)
    )
    assert set(found) == {
        "anchor.not_yet_valid",
        "anchor.other_tenant",
        "anchor.other_agent",
        "anchor.other_run",
        "anchor.scope_without_rules",
    }
    inside = {"shadow": HostRules()}
    assert reasons(token, Occasion(tenant_id="acme", sender="agent-7"), run_id="run-1", rules=inside) == ()
    assert reasons(token, Occasion(tenant_id="acme"), run_id="run-1", rules=inside, subject="agent-9") == (
        "anchor.other_agent",
    )
    assert "anchor.other_tenant" in reasons(ISSUED, Occasion(tenant_id="acme")), "an anchor of no tenant is not for all"


def test_an_anchor_that_was_shown_by_one_run_is_refused_to_the_next() -> None:
    nonces = Nonces()
    first = contained(ISSUED, nonces=nonces, run_id="run-1")
    for _ in range(3):
        assert first.examine(Occasion(text="Hello.")).allowed
    assert reasons(ISSUED, nonces=nonces, run_id="run-2") == ("anchor.replayed",)
    assert reasons(ISSUED, nonces=nonces) == ("anchor.replayed",), "a run without a name is a run of its own"
    assert reasons(ISSUED, nonces=nonces, run_id="run-1") == ()


def test_a_refused_anchor_takes_no_nonce() -> None:
    nonces = Nonces()
    assert reasons(ISSUED, Occasion(tenant_id="acme"), nonces=nonces) == ("anchor.other_tenant",)
    assert len(nonces) == 0


def test_a_full_store_refuses_rather_than_forgets() -> None:
    clock = ManualClock(NOW)
    nonces = Nonces(size=2)
    tokens = [issue_anchor(SECRET, subject="a", scope="sandbox", now=NOW, lifetime=100) for _ in range(3)]
    assert [reasons(token, nonces=nonces, clock=clock) for token in tokens] == [(), (), ("anchor.store_failed",)]
    clock.advance(131)
    late = issue_anchor(SECRET, subject="a", scope="sandbox", now=NOW + 131)
    assert reasons(late, nonces=nonces, clock=clock) == ()
    assert len(nonces) == 1


def test_a_clock_that_goes_back_does_not_bring_a_forgotten_nonce_back() -> None:
    nonces = Nonces()
    assert nonces.claim("n1", "run-1", 100, 0)
    assert nonces.claim("n2", "run-1", 300, 200), "n1 is forgotten now"
    assert not nonces.claim("n1", "run-2", 100, 0)
    with pytest.raises(ConfigError):
        Nonces(size=0)


def test_of_many_runs_that_show_one_anchor_at_once_one_goes_on() -> None:
    nonces, allowed, gate = Nonces(), [], threading.Barrier(8)

    def run(name: str) -> None:
        hook = contained(ISSUED, nonces=nonces, run_id=name)
        gate.wait(10)
        allowed.append(hook.examine(Occasion()).allowed)

    threads = [threading.Thread(target=run, args=(f"run-{at}",)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(allowed) == [False] * 7 + [True]


@settings(max_examples=150)
@given(st.integers(0, len(ISSUED) - 1), st.sampled_from("Aa0_-.~="))
def test_no_single_change_of_an_anchor_goes_unnoticed(at: int, sign: str) -> None:
    token = ISSUED[:at] + sign + ISSUED[at + 1 :]
    assert bool(reasons(token)) == (token != ISSUED)


BAD_KEYS: dict[str, Any] = {
    "a short secret": lambda: AnchorKey.from_secret(b"short"),
    "a secret in letters": lambda: AnchorKey.from_secret("k" * 32),  # type: ignore[arg-type]
    "a long secret": lambda: AnchorKey.from_secret(b"k" * 5_000),
    "no key": lambda: AnchorKey.from_ed25519(b"k" * 32),  # type: ignore[arg-type]
    "a public key that signs": lambda: issue_anchor(CHECKING, subject="a", scope="sandbox"),
    "no such scope": lambda: issue_anchor(SECRET, subject="a", scope="staging"),  # type: ignore[arg-type]
    "no agent": lambda: issue_anchor(SECRET, subject="", scope="sandbox"),
    "no time to live": lambda: issue_anchor(SECRET, subject="a", scope="sandbox", lifetime=0),
    "a life of NaN": lambda: issue_anchor(SECRET, subject="a", scope="sandbox", lifetime=float("nan")),
    "another part": lambda: issue_anchor(SECRET, subject="a", scope="sandbox", admin=True),
}


@pytest.mark.parametrize("make", BAD_KEYS.values(), ids=BAD_KEYS.keys())
def test_keys_and_anchors_that_cannot_be_right_are_refused(make: Any) -> None:
    with pytest.raises(ConfigError):
        make()


def test_keys_do_not_show_themselves() -> None:
    assert base64.b16encode(bytes(range(32))).decode().lower() not in repr(SECRET)
    assert repr(SECRET) == f"AnchorKey(hmac-sha256, {SECRET.key_id})"
    assert "private" not in repr(SIGNING).lower()
    assert SIGNING.key_id == CHECKING.key_id != SECRET.key_id


def test_a_refusal_says_its_reason_and_no_more() -> None:
    with pytest.raises(StatementRefused) as refused:
        AnchorReader([SECRET]).read(with_part(3, encode_segment(bytes(32))))
    assert refused.value.reason == "forged"
    assert isinstance(refused.value, PayloadError)
    assert "agent-7" not in str(refused.value)


def test_a_reader_remembers_no_more_than_it_may() -> None:
    reader = AnchorReader([SECRET])
    tokens = [issue_anchor(SECRET, subject="a", scope="sandbox", now=NOW) for _ in range(300)]
    for token in [*tokens, *tokens]:
        assert isinstance(reader.read(token), Anchor)
    assert len(reader._read) == 256


def test_anchors_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        AnchorReader([SECRET]).read(ISSUED).scope = "production"  # type: ignore[misc]
