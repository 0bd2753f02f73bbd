"""Passports that were forged, bent or put together wrongly: each is refused, for its own reason."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.hooks.attestation import (
    AttestationHook,
    Issuer,
    IssuerKey,
    IssuerRegistry,
    Revocations,
    delegate_passport,
    holder_of,
    issue_passport,
)
from director_ai.hooks.protocol import Occasion, ProposedAction
from director_ai.testing import ManualClock

NOW = 1_800_000_000
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
HOLDER = Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))
LOWER = Ed25519PrivateKey.from_private_bytes(bytes(range(3, 35)))
ISSUER = "https://issuer.example.com"
READ = ProposedAction(name="files/read")
REGISTRY = IssuerRegistry(
    [
        Issuer(name=ISSUER, keys=(IssuerKey(kid="k1", key=KEY.public_key()),)),
        Issuer(name="https://small.example.com", keys=(IssuerKey(kid="s1", key=OTHER.public_key()),)),
    ]
)
CLAIMS = {
    "iss": ISSUER,
    "sub": "agent-7",
    "aud": ["guard.acme"],
    "jti": "p1",
    "iat": NOW,
    "exp": NOW + 600,
    "cap": ["tool:files/*"],
}
HEADER = {"alg": "EdDSA", "kid": "k1", "typ": "agent-passport+jwt"}


def attesting(**more: Any) -> AttestationHook:
    return AttestationHook(REGISTRY, **{"audience": "guard.acme", "clock": ManualClock(NOW)} | more)


HOOK = attesting()


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def written(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


def signed(header: Any = HEADER, claims: Any = CLAIMS, key: Any = KEY) -> str:
    """A token with any header and any claims, signed by an Ed25519 key."""
    body = f"{b64(written(header))}.{b64(written(claims))}"
    return f"{body}.{b64(key.sign(body.encode()))}"


def hmac_signed(secret: bytes, alg: str = "HS256", **header: Any) -> str:
    body = f"{b64(written(HEADER | {'alg': alg} | header))}.{b64(written(CLAIMS))}"
    return f"{body}.{b64(hmac.digest(secret, body.encode(), hashlib.sha256))}"


RAW = KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
JWK = {"kty": "OKP", "crv": "Ed25519", "x": b64(OTHER.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))}
GOOD = signed()
PARTS = GOOD.split(".")
FORGED: dict[str, tuple[str, str]] = {
    "nothing": ("", "missing"),
    "a word": ("passport", "malformed"),
    "two parts": (".".join(PARTS[:2]), "malformed"),
    "four parts": (GOOD + ".x", "malformed"),
    "five parts": (GOOD + ".x.y", "malformed"),
    "empty parts": ("..", "malformed"),
    "a blank before it": (" " + GOOD, "malformed"),
    "a line end behind it": (GOOD + "\n", "malformed"),
    "padding": (GOOD + "==", "malformed"),
    "plain base64": (GOOD.replace(PARTS[0], base64.b64encode(written(HEADER)).decode()) + "+", "malformed"),
    "a Bearer": ("Bearer " + GOOD, "malformed"),
    "too long": ("a" * 20_000, "too_large"),
    "no algorithm": (f"{b64(written(HEADER | {'alg': 'none'}))}.{PARTS[1]}.", "malformed"),
    "no algorithm, some signature": (signed(HEADER | {"alg": "none"}), "algorithm_refused"),
    "no algorithm, in capitals": (signed(HEADER | {"alg": "NONE"}), "algorithm_refused"),
    "no alg at all": (signed({"kid": "k1", "typ": HEADER["typ"]}), "algorithm_refused"),
    "the algorithm in other letters": (signed(HEADER | {"alg": "eddsa"}), "algorithm_refused"),
    "the algorithm in a list": (signed(HEADER | {"alg": ["EdDSA"]}), "algorithm_refused"),
    "the newer name of the algorithm": (signed(HEADER | {"alg": "Ed25519"}), "algorithm_refused"),
    "HMAC by the public key, raw": (hmac_signed(RAW), "algorithm_refused"),
    "HMAC by the public key, in PEM": (hmac_signed(PEM), "algorithm_refused"),
    "HMAC that says EdDSA": (hmac_signed(RAW, "EdDSA"), "forged"),
    "ES256": (
        jwt.encode(CLAIMS, ec.generate_private_key(ec.SECP256R1()), "ES256", headers={"kid": "k1"}),
        "algorithm_refused",
    ),
    "Ed448": (
        jwt.encode(CLAIMS, Ed448PrivateKey.generate(), "EdDSA", headers={"kid": "k1", "typ": HEADER["typ"]}),
        "forged",
    ),
    "another type": (signed(HEADER | {"typ": "JWT"}), "wrong_type"),
    "no type": (signed({"alg": "EdDSA", "kid": "k1"}), "wrong_type"),
    "a key of its own": (signed(HEADER | {"jwk": JWK}, key=OTHER), "header_refused"),
    "a place where its key is": (signed(HEADER | {"jku": "https://evil.org/keys"}, key=OTHER), "header_refused"),
    "a certificate elsewhere": (signed(HEADER | {"x5u": "https://evil.org/cert"}), "header_refused"),
    "a certificate": (signed(HEADER | {"x5c": ["MII"]}), "header_refused"),
    "a critical header": (signed(HEADER | {"crit": ["exp"]}), "header_refused"),
    "a critical header that is empty": (signed(HEADER | {"crit": []}), "header_refused"),
    "a payload that is not encoded": (signed(HEADER | {"b64": False, "crit": ["b64"]}), "header_refused"),
    "compressed": (signed(HEADER | {"zip": "DEF"}), "header_refused"),
    "a content type": (signed(HEADER | {"cty": "JWT"}), "header_refused"),
    "no key named": (signed({"alg": "EdDSA", "typ": HEADER["typ"]}), "unknown_key"),
    "a key nobody knows": (signed(HEADER | {"kid": "k9"}), "unknown_key"),
    "a key by a path": (signed(HEADER | {"kid": "../../k1"}), "unknown_key"),
    "a key by SQL": (signed(HEADER | {"kid": "' OR 1=1"}), "unknown_key"),
    "a key that is a number": (signed(HEADER | {"kid": 1}), "unknown_key"),
    "a key that is a list": (signed(HEADER | {"kid": ["k1"]}), "unknown_key"),
    "another issuer's key": (signed(HEADER | {"kid": "s1"}, key=OTHER), "unknown_key"),
    "another issuer": (signed(claims=CLAIMS | {"iss": "https://small.example.com"}), "unknown_key"),
    "an issuer nobody knows": (signed(claims=CLAIMS | {"iss": "https://evil.org"}), "unknown_issuer"),
    "an issuer in other letters": (signed(claims=CLAIMS | {"iss": ISSUER.upper()}), "unknown_issuer"),
    "an issuer with a slash more": (signed(claims=CLAIMS | {"iss": ISSUER + "/"}), "unknown_issuer"),
    "issuers in a list": (signed(claims=CLAIMS | {"iss": [ISSUER]}), "malformed"),
    "signed by somebody else": (signed(key=OTHER), "forged"),
    "a changed claim": (f"{PARTS[0]}.{b64(written(CLAIMS | {'cap': ['tool:*']}))}.{PARTS[2]}", "forged"),
    "a changed header": (f"{b64(written(dict(reversed(HEADER.items()))))}.{PARTS[1]}.{PARTS[2]}", "forged"),
    "half a signature": (f"{PARTS[0]}.{PARTS[1]}.{PARTS[2][:60]}", "forged"),
    "a signature of zeros": (f"{PARTS[0]}.{PARTS[1]}.{b64(bytes(64))}", "forged"),
    "signed: an issuer twice": (signed(claims=b'{"iss":"https://evil.org",' + written(CLAIMS)[1:]), "malformed"),
    "signed: an algorithm twice": (signed(b'{"alg":"none",' + written(HEADER)[1:]), "malformed"),
    "signed: a list": (signed(claims=[CLAIMS]), "malformed"),
    "signed: no JSON": (signed(claims=b"iss"), "malformed"),
    "signed: no UTF-8": (signed(claims=b'{"iss":"\xff"}'), "malformed"),
    "signed: nested without end": (signed(claims=b"[" * 9_000), "malformed"),
    "signed: an end that is NaN": (
        signed(claims=written(CLAIMS).replace(b'"exp":1800000600', b'"exp":NaN')),
        "malformed",
    ),
    "signed: an endless end": (
        signed(claims=written(CLAIMS).replace(b'"exp":1800000600', b'"exp":1e999')),
        "malformed",
    ),
    "signed: an end with a fraction": (signed(claims=CLAIMS | {"exp": NOW + 0.5}), "malformed"),
    "signed: an end in words": (signed(claims=CLAIMS | {"exp": str(NOW + 600)}), "malformed"),
    "signed: an end that is True": (signed(claims=CLAIMS | {"exp": True}), "malformed"),
    "signed: an end before time": (signed(claims=CLAIMS | {"exp": -5}), "malformed"),
    "signed: an end behind time": (signed(claims=CLAIMS | {"exp": 10**15}), "malformed"),
    "signed: a life of centuries": (signed(claims=CLAIMS | {"exp": NOW + 10**10}), "malformed"),
    "signed: no end": (signed(claims={name: value for name, value in CLAIMS.items() if name != "exp"}), "malformed"),
    "signed: no name": (signed(claims=CLAIMS | {"jti": ""}), "malformed"),
    "signed: no agent": (signed(claims=CLAIMS | {"sub": None}), "malformed"),
    "signed: no audience": (signed(claims=CLAIMS | {"aud": []}), "malformed"),
    "signed: any audience": (signed(claims=CLAIMS | {"aud": {"guard.acme": 1}}), "malformed"),
    "signed: capabilities in a word": (signed(claims=CLAIMS | {"cap": "tool:*"}), "malformed"),
    "signed: every capability": (signed(claims=CLAIMS | {"cap": ["*"]}), "malformed"),
    "signed: a way around": (signed(claims=CLAIMS | {"cap": ["tool:a/../b"]}), "malformed"),
    "signed: a tenant that is none": (signed(claims=CLAIMS | {"tenant": "../x"}), "malformed"),
    "signed: another claim": (signed(claims=CLAIMS | {"admin": True}), "malformed"),
    "signed: a holder that is none": (signed(claims=CLAIMS | {"holder": "AA"}), "malformed"),
    "signed: a parent that is none": (signed(claims=CLAIMS | {"parent": 5}), "malformed"),
    "signed: an empty parent": (signed(claims=CLAIMS | {"parent": ""}), "malformed"),
    "signed: itself as parent": (signed(claims=CLAIMS | {"parent": GOOD}), "delegation_broken"),
}


def test_the_table_begins_with_one_that_counts() -> None:
    assert HOOK.judge(GOOD, action=READ).allowed
    assert HOOK.judge(signed(claims=CLAIMS | {"aud": "guard.acme"})).allowed, "an audience may stand alone"


@pytest.mark.parametrize(("token", "reason"), FORGED.values(), ids=FORGED.keys())
def test_each_forgery_is_blocked_with_its_reason(token: str, reason: str) -> None:
    verdict = HOOK.judge(token)
    assert (verdict.decision, verdict.reasons, verdict.passport) == ("block", (f"passport.{reason}",), None)
    acting = HOOK.examine(Occasion(passport=token, action=READ))
    assert acting.decision == "block"
    assert acting.reasons == (f"passport.{reason}", "capability.missing")


@settings(max_examples=150)
@given(st.integers(0, len(GOOD) - 1), st.sampled_from("Aa0_-.~="))
def test_no_single_change_of_a_passport_goes_unnoticed(at: int, sign: str) -> None:
    token = GOOD[:at] + sign + GOOD[at + 1 :]
    assert HOOK.judge(token).allowed == (token == GOOD)


@settings(max_examples=100)
@given(st.text(max_size=40) | st.binary(max_size=60).map(lambda data: f"{b64(data)}.{b64(data)}.{b64(data)}"))
def test_any_text_gets_a_verdict(text: str) -> None:
    assert HOOK.judge(text).decision == "block"


# What is derived from a passport.

ROOT = issue_passport(
    KEY,
    issuer=ISSUER,
    kid="k1",
    subject="agent-7",
    audience=["guard.acme", "guard.other"],
    capabilities=["tool:files/*", "tool:search"],
    now=NOW,
    lifetime=600,
    jti="root",
    holder=HOLDER.public_key(),
)


def derived(parent: str = ROOT, key: Any = HOLDER, **more: Any) -> str:
    made: dict[str, Any] = {
        "issuer": "agent-7",
        "subject": "agent-8",
        "audience": "guard.acme",
        "capabilities": ["tool:files/read"],
        "now": NOW,
        "lifetime": 300,
        "jti": "derived",
    }
    return delegate_passport(parent, key, **made | more)


def test_a_derived_passport_grants_what_it_names_and_no_more() -> None:
    verdict = HOOK.judge(derived(), action=READ, sender="agent-8")
    assert verdict.allowed
    assert [each.subject for each in verdict.passport.chain()] == ["agent-8", "agent-7"]
    assert verdict.safety_event.attributes["chain"] == "2"
    assert HOOK.judge(derived(), action=ProposedAction(name="search")).reasons == ("capability.missing",)
    assert HOOK.judge(derived(), sender="agent-7").reasons == ("passport.other_agent",)


def test_a_chain_has_three_passports_at_most() -> None:
    second = derived(holder=LOWER.public_key())
    third = derived(second, LOWER, issuer="agent-8", subject="agent-9", holder=LOWER.public_key())
    fourth = derived(third, LOWER, issuer="agent-9", subject="agent-10")
    assert HOOK.judge(third, action=READ).allowed
    assert HOOK.judge(fourth, action=READ).reasons == ("passport.chain_too_long", "capability.missing")


BROKEN: dict[str, tuple[str, str]] = {
    "more capabilities": (derived(capabilities=["tool:mail"]), "delegation_widened"),
    "a wider pattern": (derived(capabilities=["tool:*"]), "delegation_widened"),
    "one capability too many": (derived(capabilities=["tool:files/read", "tool:rm"]), "delegation_widened"),
    "a longer life": (derived(lifetime=900), "delegation_widened"),
    "an earlier beginning": (derived(now=NOW - 10, lifetime=100), "delegation_widened"),
    "another audience": (derived(audience=["guard.acme", "guard.third"]), "delegation_widened"),
    "in another's name": (derived(issuer="agent-9"), "delegation_broken"),
    "in the issuer's name": (derived(issuer=ISSUER), "delegation_broken"),
    "by another key": (derived(key=LOWER), "delegation_broken"),
    "by another key under the right name": (
        signed(
            HEADER | {"kid": hashlib.sha256(HOLDER.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]},
            CLAIMS | {"iss": "agent-7", "parent": ROOT},
            LOWER,
        ),
        "forged",
    ),
    "from one that may not be derived from": (derived(GOOD), "delegation_broken"),
    "from a forged one": (derived(signed(claims=CLAIMS | {"holder": holder_of(HOLDER.public_key())}, key=OTHER)), "forged"),
    "from nothing": (derived("x.y.z"), "malformed"),
}  # fmt: skip


@pytest.mark.parametrize(("token", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_derived_can_only_be_narrower(token: str, reason: str) -> None:
    assert HOOK.judge(token).reasons == (f"passport.{reason}",)


def test_what_ends_or_is_taken_back_above_ends_below() -> None:
    revoked = Revocations()
    hook = attesting(revocations=revoked)
    assert hook.judge(derived()).allowed
    revoked.revoke("root", issuer=ISSUER)
    assert hook.judge(derived()).reasons == ("passport.revoked",)
    of_agent = Revocations()
    of_agent.revoke_subject("agent-7", until=NOW)
    assert attesting(revocations=of_agent).judge(derived()).reasons == ("passport.revoked",)
    assert attesting(audience="guard.third").judge(derived()).reasons == ("passport.other_audience",)
    assert attesting(clock=ManualClock(NOW + 400)).judge(derived()).reasons == ("passport.expired",)


def test_a_tenant_is_kept_by_what_is_derived() -> None:
    root = signed(claims=CLAIMS | {"tenant": "acme", "holder": holder_of(HOLDER.public_key())})
    assert HOOK.judge(derived(root, tenant="acme"), tenant_id="acme").allowed
    assert HOOK.judge(derived(root), tenant_id="acme").reasons == ("passport.delegation_widened",)
    assert HOOK.judge(derived(root, tenant="globex"), tenant_id="globex").reasons == ("passport.delegation_widened",)
