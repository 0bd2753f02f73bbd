"""Ordinary attacks: nobody moves the upstream, smuggles a request, or gets further than their key."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
import schemathesis
from described import SCHEMA, ask_as_described
from hypothesis import HealthCheck, Phase, seed, settings
from servers import CHAT, KINDS, Served, served, server_of, settings_of, wait_until
from upstreams import Case, FakeUpstream
from upstreams import running as run_app

from director_ai.serve.server import Server
from director_ai.serve.tenancy import Source
from director_ai.serve.upstream import KEPT_REQUEST, HttpUpstream


class Trap(ThreadingHTTPServer):
    """A server that nobody should come to."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        trap = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                trap.visits.append("somebody")
                super().handle_one_request()

            def log_message(self, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    with Trap() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join(10)


class Behind:
    """A server of ours in front of an upstream over HTTP."""

    def __init__(self, running: Served, upstream: FakeUpstream) -> None:
        self.running, self.upstream = running, upstream
        self.key = running.key("proxy")
        self.client = running.client(self.key)


@pytest.fixture(scope="module")
def behind() -> Iterator[Behind]:
    upstream = FakeUpstream(cases={"m": Case()})
    with run_app(upstream.app()) as url:
        sources = {"main": Source(KINDS, HttpUpstream(f"{url}/v1", headers={"authorization": "Bearer upstream-key"}))}
        with served(Server(settings_of({"server": {"rate": "off"}}), sources=sources)) as running:
            yield Behind(running, upstream)


# --- the upstream is the configuration's alone ---------------------------------------------------------------------

NAMES = (
    "base_url", "api_base", "api_base_url", "url", "endpoint", "host", "upstream", "proxy", "proxies", "extra_headers",
    "custom_llm_provider", "webhook", "callback_url", "azure_endpoint", "server_url", "redirect", "organization",
)  # fmt: skip
HEADERS = (
    "host", "x-forwarded-host", "x-forwarded-server", "x-original-url", "x-rewrite-url", "x-host", "forwarded",
    "x-upstream", "x-base-url", "x-target-url", "proxy", "via", "referer", "origin", "x-http-host-override", "location",
    "x-forwarded-for", "x-real-ip", "proxy-authorization", "cookie", "x-openai-base-url", "helicone-target-url",
)  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_no_field_of_a_request_moves_the_upstream(path: str, behind: Behind, trap: Trap) -> None:
    for name in NAMES:
        for value in (trap.url, {"url": trap.url}, [trap.url]):
            asked = len(behind.upstream.asked)
            answer = behind.client.post(
                path, json={**CHAT, "input": "x", "max_tokens": 5, "stream": False, name: value}
            )
            assert answer.status_code == 200, answer.text
            assert len(behind.upstream.asked) == asked + 1
    assert trap.visits == []


@pytest.mark.parametrize("name", HEADERS)
def test_no_header_moves_the_upstream_or_gets_there(name: str, behind: Behind, trap: Trap) -> None:
    asked = len(behind.upstream.asked)
    answer = behind.client.post("/v1/chat/completions", json={**CHAT, "stream": False}, headers={name: trap.url})
    assert answer.status_code == 200
    assert len(behind.upstream.asked) == asked + 1
    came = behind.upstream.headers[-1]
    assert trap.url not in came.values()
    own = {"host", "accept", "accept-encoding", "connection", "content-length", "authorization", "user-agent"}
    assert set(came) <= own | set(KEPT_REQUEST)
    assert came["authorization"] == "Bearer upstream-key"
    assert trap.visits == []


def raw(behind: Behind, data: bytes) -> bytes:
    """Send bytes as they are, and return all that comes."""
    with socket.create_connection(("127.0.0.1", int(behind.running.url.rpartition(":")[2])), 20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        got = b""
        try:
            while piece := connection.recv(65_536):
                got += piece
        except ConnectionError:
            pass
    return got


def head(line: str, key: str, *more: str) -> bytes:
    return "\r\n".join([line, "host: x", f"x-api-key: {key}", *more, "", ""]).encode()


TARGETS = (
    "http://{}/v1/chat/completions", "//{}/v1/chat/completions", "/v1/chat/completions@{}", "http:/{}/v1/models",
    "/v1/../{}", "/v1/models/../../{}", "/v1//{}", "/v1/models?base_url=http://{}", "/v1/chat/completions#{}",
    "/v1/%2e%2e/{}", "/v1/models%0d%0ahost:%20{}", "/v1/chat/completions;@{}", "\\\\{}\\v1\\models",
)  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_target_of_a_request_moves_the_upstream(method: str, target: str, behind: Behind, trap: Trap) -> None:
    body = json.dumps({**CHAT, "stream": False}).encode()
    place = trap.url.removeprefix("http://")
    length = f"content-length: {len(body) if method == 'POST' else 0}"
    line = f"{method} {target.format(place)} HTTP/1.1"
    got = raw(behind, head(line, behind.key, length, "connection: close") + (body if method == "POST" else b""))
    assert got[:12] not in {b"HTTP/1.1 500", b"HTTP/1.1 301", b"HTTP/1.1 302"}
    assert trap.visits == []
    assert all(place not in str(headers) for headers in behind.upstream.headers[-1:])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_upstream_that_points_elsewhere_is_not_followed(status: int, trap: Trap) -> None:
    from starlette.applications import Starlette
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    async def point(request: Any) -> RedirectResponse:
        return RedirectResponse(f"{trap.url}/v1/chat/completions", status)

    app = Starlette(routes=[Route("/v1/{rest:path}", point, methods=["GET", "POST"])])
    with run_app(app) as url:
        sources = {"main": Source(KINDS, HttpUpstream(f"{url}/v1", headers={}))}
        with served(Server(settings_of(), sources=sources)) as running:
            client = running.client(running.key())
            for answer in (client.post("/v1/chat/completions", json=CHAT), client.get("/v1/models")):
                assert answer.status_code == 502
                assert trap.url not in answer.text
                assert "location" not in answer.headers
    assert trap.visits == []


def test_addresses_inside_of_messages_are_not_visited(behind: Behind, trap: Trap) -> None:
    parts = [{"type": "image_url", "image_url": {"url": trap.url}}, {"type": "text", "text": f"See {trap.url}"}]
    body = {**CHAT, "stream": False, "messages": [{"role": "user", "content": parts}]}
    assert behind.client.post("/v1/chat/completions", json=body).status_code == 200
    assert trap.visits == []


# --- requests inside of requests ----------------------------------------------------------------------------------

SMUGGLED = b"GET /admin/keys HTTP/1.1\r\nhost: x\r\n\r\n"
SMUGGLES = {
    "both lengths": ("content-length: 5", "transfer-encoding: chunked"),
    "both lengths, turned": ("transfer-encoding: chunked", "content-length: 100"),
    "a hidden encoding": ("content-length: 5", "transfer-encoding: xchunked"),
    "two encodings": ("transfer-encoding: chunked", "transfer-encoding: identity"),
    "a blank before the colon": ("content-length : 5",),
    "two lengths": ("content-length: 0", "content-length: 44"),
    "a sign": ("content-length: +0",),
}


@pytest.mark.parametrize("name", SMUGGLES)
def test_a_request_inside_of_another_is_never_carried_out_with_its_key(name: str, behind: Behind) -> None:
    asked = len(behind.upstream.asked)
    data = head("POST /v1/chat/completions HTTP/1.1", behind.key, *SMUGGLES[name]) + b"0\r\n\r\n" + SMUGGLED
    got = raw(behind, data)
    assert b"HTTP/1.1 200" not in got
    assert b"HTTP/1.1 5" not in got
    assert len(behind.upstream.asked) == asked


# --- the described interface, whoever comes -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served(server_of(settings=settings_of({"server": {"rate": "off"}}))) as told:
        told.server.queue.enqueue_case(candidate_text="A text.", tenant_id="acme", request_id="r1")
        yield told


@pytest.fixture(scope="module")
def secrets(running: Served) -> Mapping[str, str]:
    return {"nobody": "", "proxy": running.key("proxy"), "another": running.key("reviewer", "admin", tenant="globex")}


OPEN = {"/healthz", "/readyz"}


@SCHEMA.parametrize()
@seed(0)
@settings(max_examples=3, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_whoever_has_no_key_for_it_learns_and_changes_nothing(
    case: schemathesis.Case, running: Served, secrets: Mapping[str, str]
) -> None:
    before = state_of(running)
    for who in ("nobody", "proxy"):
        given = {"x-api-key": secrets[who]} if secrets[who] else {}
        answer = case.call(base_url=running.url, headers=given)
        if case.path not in OPEN:
            assert answer.status_code in {400, 401, 403}, (who, case.method, case.path, answer.status_code)
    assert state_of(running) == before


def state_of(running: Served) -> tuple[object, ...]:
    """What somebody could have changed."""
    server = running.server
    cases = [(each.case_id, each.state) for each in server.queue.list_cases(tenant_id="acme")]
    return cases, server.streams.killed(), len(server.keys.keys_of(None)), len(server.queue.trail.rows("acme"))


@pytest.mark.soak
@SCHEMA.parametrize()
@settings(
    max_examples=300, deadline=None, derandomize=False, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
def test_every_answer_is_one_that_was_described_in_a_long_run(
    case: schemathesis.Case, running: Served, secrets: Mapping[str, str]
) -> None:
    status = ask_as_described(case, running, {"x-api-key": secrets["another"]})
    assert status < 500


def test_after_all_that_the_server_answers_as_before(behind: Behind, running: Served) -> None:
    wait_until(lambda: len(behind.running.server.streams) == 0)
    with httpx2.Client(trust_env=False) as client:
        assert client.get(f"{running.url}/healthz").status_code == 200
    answer = behind.client.post("/v1/chat/completions", json={**CHAT, "stream": False})
    assert answer.status_code == 200
