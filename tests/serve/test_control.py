"""The control plane: who may use which route, and what each does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from servers import ROLES, SayingUpstream, Served, served, server_of
from starlette.routing import Mount

from director_ai.serve.app import create_app

SCOPES = {
    ("POST", "/v1/chat/completions"): "proxy",
    ("POST", "/v1/responses"): "proxy",
    ("POST", "/v1/messages"): "proxy",
    ("GET", "/v1/models"): "proxy",
    ("GET", "/healthz"): "",
    ("GET", "/readyz"): "",
    ("GET", "/metrics"): "admin",
    ("GET", "/openapi.json"): "admin",
    ("GET", "/admin/streams"): "admin",
    ("POST", "/admin/kill"): "admin",
    ("DELETE", "/admin/kill"): "admin",
    ("GET", "/admin/keys"): "admin",
    ("POST", "/admin/keys"): "admin",
    ("POST", "/admin/keys/{prefix}/rotate"): "admin",
    ("DELETE", "/admin/keys/{prefix}"): "admin",
    ("GET", "/admin/facts"): "admin",
    ("GET", "/admin/facts/search"): "admin",
    ("POST", "/admin/facts"): "admin",
    ("DELETE", "/admin/facts"): "admin",
    ("GET", "/api/reviews"): "reviewer",
    ("GET", "/api/reviews/{case_id}"): "reviewer",
    ("POST", "/api/reviews/{case_id}/claim"): "reviewer",
    ("DELETE", "/api/reviews/{case_id}/claim"): "reviewer",
    ("POST", "/api/reviews/{case_id}/decision"): "reviewer",
    ("POST", "/api/reviews/{case_id}/release"): "reviewer",
    ("GET", "/api/reviews/{case_id}/retry"): "reviewer",
}
"""Every route and the scope that it asks for; an empty one is open to all."""


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served(server_of(SayingUpstream("Refunds are available within 30 days."))) as told:
        yield told


def routes_of(server: object) -> set[tuple[str, str]]:
    """Return what the application answers to, wherever its routes come from; the page has tests of its own."""
    found, waiting = set(), list(create_app(server).routes)
    while waiting:
        route = waiting.pop()
        if isinstance(route, Mount):
            assert route.path == "/review"
            continue
        inner = getattr(route, "original_router", None) or getattr(route, "router", None)
        if not hasattr(route, "methods"):
            assert inner is not None, f"a route of an unknown kind: {route!r}"
            waiting.extend(inner.routes)
            continue
        found |= {(method, route.path) for method in route.methods - {"HEAD"}}
    return found


def test_every_route_of_the_application_is_in_the_grid() -> None:
    with server_of() as server:
        assert routes_of(server) == SCOPES.keys()


@pytest.mark.parametrize("role", ["nobody", "a stranger", "a revoked key", *ROLES])
def test_a_route_is_for_its_scope_alone(running: Served, role: str) -> None:
    key = {"nobody": "", "a stranger": "dai_aaaaaaaa_" + "x" * 43}.get(role)
    if key is None:
        key = running.key(role if role in ROLES else "admin")
    if role == "a revoked key":
        running.server.keys.revoke(key[:12])
    client, wrong = running.client(key), []
    for (method, path), scope in SCOPES.items():
        answer = client.request(method, path.format(prefix="dai_bbbbbbbb", case_id="case-1"), content=b"{}")
        expected = {"": "open", role: "open"}.get(scope, 403 if role in ROLES else 401)
        came = answer.status_code if answer.status_code in {401, 403} else "open"
        if (came, answer.status_code >= 500) != (expected, False):
            wrong.append((method, path, answer.status_code))
        if answer.status_code == 401:
            assert answer.headers["www-authenticate"] == "Bearer"
    assert wrong == []


def test_who_comes_is_asked_before_a_body_is_read(running: Served) -> None:
    for path in ("/admin/keys", "/admin/kill", "/v1/chat/completions"):
        assert running.client().post(path, content=b"no json").status_code == 401


BAD_BODIES = {
    "no JSON": (b"{", 400),
    "a list": (b"[]", 400),
    "a name twice": (b'{"tenant_id": "a", "tenant_id": "b"}', 400),
    "NaN": (b'{"tenant_id": NaN}', 400),
    "too deep": (b'{"tenant_id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
    "no UTF-8": (b'{"tenant_id": "\xff"}', 400),
    "too long": (b'{"tenant_id": "' + b"a" * 300_000 + b'"}', 413),
    "a wrong type": (b'{"tenant_id": 7}', 400),
    "an unknown name": (b'{"tenant": "a"}', 400),
    "a tenant that is none": (b'{"tenant_id": "../x"}', 400),
    "nothing": (b"", 400),
}


@pytest.mark.parametrize(("body", "status"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_bad_body_is_refused_with_a_sentence(running: Served, body: bytes, status: int) -> None:
    client = running.client(running.key("admin"), **{"content-type": "application/json"})
    answer = client.post("/admin/kill", content=body)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert running.server.streams.killed() == []


def test_an_operator_names_a_tenant_that_can_be_one(running: Served) -> None:
    client = running.client(running.key("admin", tenant=""))
    for name in (" ", "../x", "a/b", "%", "x" * 129):
        assert client.post("/admin/kill", json={"tenant_id": name}).status_code == 400


# --- keys ---------------------------------------------------------------------------------------------------------


def test_keys_are_made_listed_rotated_and_revoked(running: Served) -> None:
    admin = running.client(running.key("admin", tenant="keys"))
    made = admin.post("/admin/keys", json={"scopes": ["proxy"], "label": "the shop", "expires_after": 3600})
    assert made.status_code == 201
    secret, prefix = made.json()["secret"], made.json()["prefix"]
    assert made.json()["tenant_id"] == "keys"
    assert running.client(secret).get("/v1/models").status_code == 200
    assert secret not in admin.get("/admin/keys").text
    assert "digest" not in admin.get("/admin/keys").text
    fresh = admin.post(f"/admin/keys/{prefix}/rotate").json()
    assert fresh["label"] == "the shop"
    assert running.client(secret).get("/v1/models").status_code == 401
    assert running.client(fresh["secret"]).get("/v1/models").status_code == 200
    assert admin.delete(f"/admin/keys/{fresh['prefix']}").json()["revoked_at"]
    assert running.client(fresh["secret"]).get("/v1/models").status_code == 401
    kinds = [row.kind for row in running.server.queue.trail.rows("keys")]
    assert kinds == ["key.created", "key.created", "key.revoked", "key.rotated", "key.revoked"]


def test_an_admin_of_a_tenant_sees_and_makes_keys_of_that_one_alone(running: Served) -> None:
    theirs = running.key("proxy", tenant="globex")
    admin = running.client(running.key("admin", tenant="acme"))
    assert {key["tenant_id"] for key in admin.get("/admin/keys").json()} == {"acme"}
    assert admin.get("/admin/keys", params={"tenant_id": "globex"}).status_code == 403
    assert admin.post("/admin/keys", json={"scopes": ["admin"], "tenant_id": "globex"}).status_code == 403
    assert admin.post("/admin/keys", json={"scopes": ["admin"], "tenant_id": ""}).status_code == 403
    assert admin.delete(f"/admin/keys/{theirs[:12]}").status_code == 404
    assert admin.post(f"/admin/keys/{theirs[:12]}/rotate").status_code == 404
    assert running.client(theirs).get("/v1/models").status_code == 200
    operator = running.client(running.key("admin", tenant=""))
    assert {"acme", "globex"} <= {key["tenant_id"] for key in operator.get("/admin/keys").json()}


BAD_KEYS = {
    "no scope": {"scopes": []},
    "an unknown scope": {"scopes": ["root"]},
    "a scope that is no list": {"scopes": "admin"},
    "an end in the past": {"scopes": ["proxy"], "expires_after": -1},
    "an end that never comes": {"scopes": ["proxy"], "expires_after": 1e18},
    "a label of lines": {"scopes": ["proxy"], "label": "a\nb"},
    "a flag that is a number": {"scopes": ["proxy"], "shows_evidence": 1},
}


@pytest.mark.parametrize("body", BAD_KEYS.values(), ids=BAD_KEYS)
def test_a_key_that_cannot_be_is_not_made(running: Served, body: dict[str, object]) -> None:
    admin = running.client(running.key("admin", tenant="bad"))
    assert admin.post("/admin/keys", json=body).status_code == 400


# --- facts --------------------------------------------------------------------------------------------------------


def test_facts_are_added_found_replaced_and_removed(running: Served) -> None:
    admin = running.client(running.key("admin", tenant="facts"))
    fact = {"key": "hours", "text": "The shop opens at nine."}
    assert admin.post("/admin/facts", json=fact).json()["added"] == 1
    assert admin.post("/admin/facts", json={**fact, "text": "The shop opens at ten."}).status_code == 409
    assert (
        admin.post("/admin/facts", json={**fact, "text": "The shop opens at ten.", "replace": True}).json()["updated"]
        == 1
    )
    (listed,) = admin.get("/admin/facts").json()["facts"]
    assert (listed["text"], listed["version"], listed["tenant_id"]) == ("The shop opens at ten.", 2, "facts")
    assert listed["added_by"].startswith("dai_")
    found = admin.get("/admin/facts/search", params={"q": "when does the shop open?"}).json()
    assert found[0]["key"] == "hours"
    assert admin.delete("/admin/facts", params={"key": "hours"}).json()["removed"] == 1
    assert admin.get("/admin/facts").json() == {"facts": [], "next": None}


def test_facts_of_others_and_shared_ones_are_not_a_tenants_to_change(running: Served) -> None:
    admin = running.client(running.key("admin", tenant="facts"))
    for tenant in ("", "globex"):
        fact = {"key": "x", "text": "Anything goes here.", "tenant_id": tenant}
        assert admin.post("/admin/facts", json=fact).status_code == 403
        assert admin.delete("/admin/facts", params={"key": "refund", "tenant_id": tenant}).status_code == 403
        assert admin.get("/admin/facts", params={"tenant_id": tenant}).status_code == 403
    operator = running.client(running.key("admin", tenant=""))
    assert [fact["key"] for fact in operator.get("/admin/facts").json()["facts"]] == ["refund", "ceo"]


def test_long_lists_come_in_pages(running: Served) -> None:
    running.server.store.add_many({f"k{number}": f"Room {number} is free." for number in range(5)}, "pages")
    admin, seen, after = running.client(running.key("admin", tenant="pages")), [], 0
    while after is not None:
        page = admin.get("/admin/facts", params={"limit": 2, "after": after}).json()
        seen += [fact["key"] for fact in page["facts"]]
        after = page["next"]
    assert seen == ["k0", "k1", "k2", "k3", "k4"]
    assert admin.get("/admin/facts", params={"limit": 10**9}).status_code == 400


# --- reviews ------------------------------------------------------------------------------------------------------


def test_a_case_is_shown_claimed_decided_and_released_once(running: Served) -> None:
    case = running.server.queue.enqueue_case(candidate_text="As in the terms.", tenant_id="acme", request_id="r1")
    reviewer = running.client(running.key("reviewer"))
    place = f"/api/reviews/{case.case_id}"
    (listed,) = reviewer.get("/api/reviews", params={"state": "open"}).json()
    assert (listed["case_id"], listed["candidate_text"]) == (case.case_id, None)
    assert reviewer.get(place).json()["case"]["candidate_text"] == "As in the terms."
    assert reviewer.post(f"{place}/claim").json()["claimed_by"].startswith("dai_")
    other = running.client(running.key("reviewer"))
    assert other.post(f"{place}/decision", json={"action": "approve"}).status_code == 409
    assert reviewer.delete(f"{place}/claim").json()["claimed_by"] == ""
    assert other.post(f"{place}/decision", json={"action": "approve", "reason": "fine"}).json()["state"] == "approved"
    released = other.post(f"{place}/release", json={"release_id": "rel-1"})
    assert released.json()["text"] == "As in the terms."
    assert other.post(f"{place}/release", json={"release_id": "rel-2"}).status_code == 409
    shown = reviewer.get(place).json()
    assert shown["borne_out"] is True
    assert [each["action"] for each in shown["decisions"]] == ["approve"]


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "not allowed"])
def test_the_text_of_evidence_is_shown_where_the_key_allows_it(running: Served, allowed: bool) -> None:
    told = {"evidence": [{"id": "e", "text": "CANARY"}], "actions": [{"action": "redact", "evidence": ["CANARY"]}]}
    case = running.server.queue.enqueue_case(candidate_text="A text.", tenant_id="acme", request_id="r5", metadata=told)
    shown = running.client(running.key("reviewer", shows_evidence=allowed)).get(f"/api/reviews/{case.case_id}")
    assert ("CANARY" in shown.text) is allowed
    assert shown.json()["case"]["metadata"]["actions"][0]["action"] == "redact"


def test_a_case_that_was_sent_back_tells_what_to_try(running: Served) -> None:
    case = running.server.queue.enqueue_case(candidate_text="Not so good.", tenant_id="acme", request_id="r2")
    reviewer = running.client(running.key("reviewer"))
    reviewer.post(f"/api/reviews/{case.case_id}/decision", json={"action": "request_retry", "reason": "say when"})
    assert "Not so good." not in reviewer.get(f"/api/reviews/{case.case_id}/retry").text
    assert reviewer.get(f"/api/reviews/{case.case_id}/retry").status_code == 200


def test_cases_of_another_tenant_are_not_there(running: Served) -> None:
    case = running.server.queue.enqueue_case(candidate_text="A secret.", tenant_id="globex", request_id="r3")
    reviewer, place = running.client(running.key("reviewer")), f"/api/reviews/{case.case_id}"
    answers = [
        reviewer.get(place),
        reviewer.get(f"{place}/retry"),
        reviewer.post(f"{place}/claim"),
        reviewer.delete(f"{place}/claim"),
        reviewer.post(f"{place}/decision", json={"action": "approve"}),
        reviewer.post(f"{place}/release", json={"release_id": "rel-9"}),
    ]
    assert [answer.status_code for answer in answers] == [404] * 6
    assert case.case_id not in reviewer.get("/api/reviews").text
    assert "secret" not in str([answer.text for answer in answers])


# --- health -------------------------------------------------------------------------------------------------------


def test_health_readiness_and_figures(running: Served) -> None:
    client = running.client()
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"ready": True, "model": True, "database": True, "upstream": True}
    figures = running.client(running.key("admin")).get("/metrics")
    assert "streaming_repair_clauses_total" in figures.text
    assert figures.headers["content-type"].startswith("text/plain")


def test_the_interface_describes_itself_to_admins(running: Served) -> None:
    described = running.client(running.key("admin")).get("/openapi.json").json()
    assert "/admin/keys" in described["paths"]
    assert "HTTPBearer" in described["components"]["securitySchemes"]


def test_a_path_that_is_not_there_is_a_sentence(running: Served) -> None:
    answer = running.client().get("/nothing")
    assert (answer.status_code, answer.json()["error"]["message"]) == (404, "not found")
    assert running.client().get("/admin/kill").status_code == 405
