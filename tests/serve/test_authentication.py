"""Who asks: keys and tokens, in one header or the other, and everything that is neither."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from servers import CHAT, Served, served, server_of, settings_of
from starlette.requests import HTTPConnection

from director_ai.record.trail import AuditTrail
from director_ai.serve.authentication import Authentication
from director_ai.serve.demo import demo_server
from director_ai.serve.keys import KeyStore
from director_ai.serve.oidc import OidcTokens
from director_ai.serve.sections import OidcSettings
from director_ai.testing import ManualClock

PROVIDER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def jwks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keys = []
    for name, key, kind in (("rsa", PROVIDER, jwt.algorithms.RSAAlgorithm), ("ec", CURVE, jwt.algorithms.ECAlgorithm)):
        keys.append({**json.loads(kind.to_jwk(key.public_key())), "kid": name, "use": "sig"})
    place = tmp_path_factory.mktemp("oidc") / "jwks.json"
    place.write_text(json.dumps({"keys": keys}), "utf-8")
    return place


@pytest.fixture(scope="module")
def running(jwks: Path) -> Iterator[Served]:
    oidc = {"issuer": "https://id.example", "audience": "director", "jwks": str(jwks), "scope_prefix": "director:"}
    with served(server_of(settings=settings_of({"oidc": oidc}))) as told:
        yield told


def token(key: Any = PROVIDER, algorithm: str = "RS256", kid: str | None = "rsa", **changes: Any) -> str:
    now = int(time.time())
    claims = {
        "iss": "https://id.example", "aud": "director", "sub": "rosa", "iat": now, "exp": now + 600,
        "tenant": "acme", "scope": "openid director:proxy director:reviewer", **changes,
    }  # fmt: skip
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key, algorithm, headers={"kid": kid} if kid else {})


def status(running: Served, *headers: tuple[str, str], path: str = "/v1/models") -> int:
    return running.client().get(path, headers=list(headers)).status_code


def test_a_key_may_come_in_either_header_or_the_same_in_both(running: Served) -> None:
    key = running.key()
    bearer, plain = ("Authorization", f"Bearer {key}"), ("x-api-key", key)
    assert [status(running, bearer), status(running, plain), status(running, bearer, plain)] == [200] * 3
    assert status(running, ("authorization", f"bearer   {key}")) == 200


REFUSED = {
    "nothing": [],
    "another scheme": [("Authorization", "Basic {key}")],
    "no scheme": [("Authorization", "{key}")],
    "a scheme without a key": [("Authorization", "Bearer")],
    "an empty key": [("x-api-key", "")],
    "two headers that disagree": [("Authorization", "Bearer {key}"), ("x-api-key", "{other}")],
    "two Authorization headers": [("Authorization", "Bearer {key}"), ("Authorization", "Bearer {key}")],
    "two x-api-key headers": [("x-api-key", "{key}"), ("x-api-key", "{key}")],
    "a key cut short": [("x-api-key", "{cut}")],
    "a key with a wrong end": [("x-api-key", "{wrong}")],
    "a prefix alone": [("x-api-key", "{prefix}")],
    "a key of 10,000 characters": [("x-api-key", "dai_" + "a" * 10_000)],
    "the key of the demo": [("x-api-key", "demo")],
    "what looks like a token": [("Authorization", "Bearer a.b.c")],
}


@pytest.mark.parametrize("headers", REFUSED.values(), ids=REFUSED)
def test_anything_else_is_refused_before_anything_is_done(running: Served, headers: list[tuple[str, str]]) -> None:
    key, other = running.key(), running.key()
    wrong = key[:-1] + ("A" if key[-1] != "A" else "B")
    told = {"key": key, "other": other, "cut": key[:-1], "wrong": wrong, "prefix": key[:12]}
    made = [(name, value.format(**told) if "{" in value else value) for name, value in headers]
    answer = running.client().get("/v1/models", headers=made)
    assert answer.status_code == 401
    assert not any(secret in answer.text for secret in told.values())


def test_a_key_that_came_to_its_end_is_refused(running: Served) -> None:
    key = running.key(expires_after=1.0)
    assert status(running, ("x-api-key", key)) == 200
    time.sleep(1.1)
    assert status(running, ("x-api-key", key)) == 401


# --- tokens -------------------------------------------------------------------------------------------------------


def test_a_token_says_who_asks_for_which_tenant_and_what_for(running: Served) -> None:
    bearer = ("Authorization", f"Bearer {token()}")
    assert status(running, bearer) == 200
    assert status(running, bearer, path="/api/reviews") == 200
    assert status(running, bearer, path="/admin/keys") == 403
    assert status(running, ("Authorization", f"Bearer {token(CURVE, 'ES256', 'ec')}")) == 200
    listed = token(scope=["director:proxy", 7, "director:root"])
    assert status(running, ("Authorization", f"Bearer {listed}")) == 200


def test_a_reviewer_with_a_token_sees_the_cases_of_its_tenant_alone(running: Served) -> None:
    ours = running.server.queue.enqueue_case(candidate_text="Ours.", tenant_id="acme", request_id="t1")
    running.server.queue.enqueue_case(candidate_text="Theirs.", tenant_id="globex", request_id="t2")
    client = running.client(token())
    assert [case["case_id"] for case in client.get("/api/reviews").json()] == [ours.case_id]
    decided = client.post(f"/api/reviews/{ours.case_id}/decision", json={"action": "approve"}).json()
    assert decided["reviewer_id"] == "oidc:rosa"


def _unsigned() -> str:
    return jwt.encode({"sub": "rosa", "tenant": "acme"}, "", "none", headers={"kid": "rsa"})


def _shared_secret() -> str:
    """Return a token signed with the provider's public key as if it were a secret."""
    return token("a secret that everybody can read, long enough for it", "HS256")


BAD_TOKENS = {
    "of a stranger": (lambda: token(STRANGER), 401),
    "of an unknown key": (lambda: token(kid="other"), 401),
    "without the key's name": (lambda: token(kid=None), 401),
    "unsigned": (_unsigned, 401),
    "with a shared secret": (_shared_secret, 401),
    "for another audience": (lambda: token(aud="other"), 401),
    "of another issuer": (lambda: token(iss="https://evil.example"), 401),
    "that ended": (lambda: token(exp=int(time.time()) - 60), 401),
    "that does not end": (lambda: token(exp=None), 401),
    "from the future": (lambda: token(iat=int(time.time()) + 600), 401),
    "that is not valid yet": (lambda: token(nbf=int(time.time()) + 600), 401),
    "without a subject": (lambda: token(sub=None), 401),
    "without a tenant": (lambda: token(tenant=None), 403),
    "of no tenant": (lambda: token(tenant=""), 403),
    "of a tenant that cannot be": (lambda: token(tenant="../x"), 403),
    "without scopes": (lambda: token(scope=None), 403),
    "with scopes of others": (lambda: token(scope="proxy"), 403),
    "too long": (lambda: token(filler="x" * 20_000), 401),
    "changed": (lambda: token()[:-8] + "AAAAAAAA", 401),
}


@pytest.mark.parametrize(("made", "expected"), BAD_TOKENS.values(), ids=BAD_TOKENS)
def test_a_bad_token_is_refused(running: Served, made: Any, expected: int) -> None:
    assert status(running, ("Authorization", f"Bearer {made()}")) == expected


def test_clocks_may_differ_by_the_leeway(running: Served) -> None:
    late = token(exp=int(time.time()) - 10)
    assert status(running, ("Authorization", f"Bearer {late}")) == 200


def test_a_subject_that_is_no_identifier_is_hashed(jwks: Path) -> None:
    settings = OidcSettings(issuer="https://id.example", audience="director", jwks=str(jwks))
    caller, until = asyncio.run(OidcTokens(settings).read(token(sub="rosa lux <x>")))
    assert caller.caller_id.startswith("oidc:")
    assert len(caller.caller_id) == 37
    assert until > time.time()


def test_tokens_of_unknown_keys_do_not_make_us_ask_the_provider_again(jwks: Path, tmp_path: Path) -> None:
    place = tmp_path / "jwks.json"
    place.write_text(json.dumps({"keys": json.loads(jwks.read_text("utf-8"))["keys"][1:]}), "utf-8")
    now = [0.0]
    tokens = OidcTokens(
        OidcSettings(issuer="https://id.example", audience="director", jwks=str(place)), clock=lambda: now[0]
    )

    async def is_refused() -> bool:
        try:
            await tokens.read(token())
        except Exception as error:
            return "not valid here" in str(error)
        return False

    async def main() -> list[bool]:
        outcomes = [await is_refused()]
        place.write_text(jwks.read_text("utf-8"), "utf-8")
        now[0] = 9.0
        outcomes.append(await is_refused())
        now[0] = 10.0
        return [*outcomes, await is_refused()]

    assert asyncio.run(main()) == [True, True, False]


def test_keys_of_the_provider_that_cannot_be_read_let_nobody_in(tmp_path: Path) -> None:
    oidc = {"issuer": "https://id.example", "audience": "director", "jwks": str(tmp_path / "none.json")}
    with served(server_of(settings=settings_of({"oidc": oidc}))) as told:
        answers = [told.client(token()).get("/v1/models") for _ in range(2)]
        assert [answer.status_code for answer in answers] == [502, 502]
        assert "cannot be read" in answers[0].json()["error"]["message"]
        assert "come again" in answers[1].json()["error"]["message"]


def test_a_caller_is_valid_until_its_token_ends(jwks: Path, tmp_path: Path) -> None:
    settings = OidcSettings(issuer="https://id.example", audience="director", jwks=str(jwks), leeway=0.0)
    clock = ManualClock(time.time())
    with AuditTrail(tmp_path / "director.db") as trail:
        authenticate = Authentication(KeyStore(trail), tokens=OidcTokens(settings), clock=clock)

        async def main() -> list[bool]:
            headers = [(b"authorization", f"Bearer {token(scope='proxy')}".encode())]
            caller = await authenticate(HTTPConnection({"type": "http", "headers": headers}), "proxy")
            before = await authenticate.still_valid(caller)
            clock.advance(601)
            return [before, await authenticate.still_valid(caller)]

        assert asyncio.run(main()) == [True, False]


# --- the demo -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo() -> Iterator[Served]:
    with served(demo_server(port=0, model=False)) as told:
        yield told


OPEN_IN_DEMO = {
    "/healthz": 200,
    "/metrics": 200,
    "/api/reviews": 200,
    "/v1/models": 401,
    "/admin/keys": 401,
    "/openapi.json": 401,
}


@pytest.mark.parametrize(("path", "expected"), OPEN_IN_DEMO.items(), ids=OPEN_IN_DEMO)
def test_a_demo_opens_health_figures_and_reviews_and_nothing_else(demo: Served, path: str, expected: int) -> None:
    assert demo.client().get(path).status_code == expected
    assert demo.client("demo").get(path).status_code == 200
    assert demo.client("dem0").get(path).status_code == (200 if path == "/healthz" else 401)


FOREIGN = {
    "by another name": {"host": "evil.example"},
    "from another site": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
    "of another origin": {"origin": "https://evil.example"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_other_web_sites_do_not_get_into_a_demo_through_its_users_browser(
    demo: Served, headers: dict[str, str]
) -> None:
    assert demo.client(**headers).get("/api/reviews").status_code == 401
    assert demo.client(**headers).get("/metrics").status_code == 401


def test_a_demo_guards_an_answer(demo: Served) -> None:
    answer = demo.client("demo").post("/v1/chat/completions", json={**CHAT, "stream": False}).json()
    assert "2.1 %" in answer["choices"][0]["message"]["content"]
    assert "3.1 %" not in str(answer)
