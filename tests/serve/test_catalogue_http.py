"""What clients get wrong: every mistake gets an answer of the 4xx kind with a sentence, and the server goes on."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from servers import CHAT, SayingUpstream, Served, served, server_of

SECONDS = 20.0
"""Against hanging alone."""
PROXY = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
MARKS = ("Traceback", 'File "', "site-packages", "director_ai.", "Error:")
"""What stands in a trace of Python, and in no sentence of ours."""
_MESSAGES = CHAT["messages"]


class Lenient(SayingUpstream):
    """Takes what the proxy lets through, whatever it is."""


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served(server_of(Lenient("Refunds are available within 30 days."))) as told:
        told.server.queue.enqueue_case(candidate_text="A text.", tenant_id="acme", request_id="r1")
        yield told


@pytest.fixture(scope="module")
def client(running: Served) -> httpx2.Client:
    return running.client(running.key("proxy", "reviewer", "admin"))


def assert_told(answer: httpx2.Response, allowed: Any = range(400, 500)) -> None:
    assert answer.status_code in allowed, (answer.status_code, answer.text[:300])
    assert not any(mark in answer.text for mark in MARKS), answer.text[:300]
    if answer.status_code >= 400:
        assert answer.json()["error"]["message"]


# --- bodies -------------------------------------------------------------------------------------------------------

NO_OBJECTS = {
    "nothing": b"",
    "a blank": b" ",
    "no JSON": b"hello",
    "half an object": b'{"model": "m", "messages": [',
    "a list": b"[]",
    "null": b"null",
    "a number": b"1e999",
    "a text": b'"hello"',
    "NaN": b'{"model": "m", "temperature": NaN}',
    "Infinity": b'{"model": "m", "temperature": -Infinity}',
    "a name twice": b'{"model": "m", "model": "n"}',
    "a name twice inside": b'{"model": "m", "messages": [{"role": "user", "role": "system"}]}',
    "100,000 lists": b"[" * 100_000,
    "100,000 objects": b'{"a":' * 100_000,
    "deep but closed": b'{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "no UTF-8": b'{"model": "\xff\xfe"}',
    "UTF-16": json.dumps(CHAT).encode("utf-16"),
    "a mark before it": b"\xef\xbb\xbf" + json.dumps(CHAT).encode(),
    "NUL behind it": json.dumps(CHAT).encode() + b"\0",
    "two objects": json.dumps(CHAT).encode() * 2,
    "a comment": b'{/* hello */ "model": "m"}',
    "single quotes": b"{'model': 'm'}",
    "a digit too many": b'{"n": ' + b"9" * 5_000 + b"}",
    "an integer without end": b'{"seed": ' + b"9" * 100_000 + b"}",
    "9 MB": b'{"model": "' + b"m" * 9_000_000 + b'"}',
}


@pytest.mark.parametrize("path", PROXY)
@pytest.mark.parametrize("name", NO_OBJECTS)
def test_a_body_that_is_no_request_is_refused(path: str, name: str, client: httpx2.Client) -> None:
    headers = {"content-type": "application/json"}
    assert_told(client.post(path, content=NO_OBJECTS[name], headers=headers, timeout=SECONDS))


NUMBERS = (0, -1, 17, 10**9, 10**30, 1.5, True, "2", [], {})
COUNTS = {
    **{f"{name} is {value!r}": {name: value} for name in ("n", "max_tokens") for value in NUMBERS if (name, value) != ("max_tokens", 17)},
    **{f"stream is {value!r}": {"stream": value} for value in (1, 0, "true", "", [], {}, 2.5)},
    "10,001 messages": {"messages": [{"role": "user", "content": "x"}] * 10_001},
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_a_figure_that_cannot_be_is_refused(name: str, client: httpx2.Client) -> None:
    assert_told(client.post("/v1/chat/completions", json={**CHAT, **COUNTS[name]}, timeout=SECONDS))


ODD = (None, 0, -1, 1.5, True, "", "text", [], {}, [None], [1], [[]], {"role": 1}, "\0", "\ud800", "x" * 100_000)
FIELDS = (
    "model",
    "messages",
    "input",
    "tools",
    "tool_choice",
    "response_format",
    "stream_options",
    "logprobs",
    "metadata",
)


@pytest.mark.parametrize("path", PROXY)
@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_the_wrong_type_breaks_nothing(path: str, field: str, client: httpx2.Client) -> None:
    for value in ODD:
        body = {**CHAT, "max_tokens": 5, "input": "hello", "stream": False, field: value}
        # The upstream knows its own fields better; what the proxy reads of them must not break it.
        assert_told(client.post(path, content=json.dumps(body).encode(), timeout=SECONDS), {200, 400, 502})


@pytest.mark.parametrize("content", [None, 5, {}, [None], [5], [{"type": "text"}], [{"type": "text", "text": 5}], [[]]])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_contents_of_messages_of_any_type_break_nothing(content: object, stream: bool, client: httpx2.Client) -> None:
    body = {**CHAT, "stream": stream, "messages": [*_MESSAGES, {"role": "user", "content": content}, 7, None]}
    assert_told(client.post("/v1/chat/completions", json=body, timeout=SECONDS), {200, 400})


# --- heads --------------------------------------------------------------------------------------------------------

HEADERS = {
    "gzip": ({"content-encoding": "gzip"}, gzip.compress(json.dumps(CHAT).encode())),
    "a gzip bomb": ({"content-encoding": "gzip"}, gzip.compress(b"\0" * 10_000_000)),
    "br": ({"content-encoding": "br"}, b"\x0b\x02\x80"),
    "an unknown encoding": ({"content-encoding": "x, gzip"}, b"{}"),
}


@pytest.mark.parametrize("path", [*PROXY, "/admin/kill", "/admin/facts"])
@pytest.mark.parametrize("name", HEADERS)
def test_what_is_compressed_is_refused(path: str, name: str, client: httpx2.Client) -> None:
    headers, body = HEADERS[name]
    assert_told(client.post(path, content=body, headers=headers, timeout=SECONDS))


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data", "application/json; charset=utf-16", ""]
)
def test_another_content_type_breaks_nothing(kind: str, client: httpx2.Client) -> None:
    headers = {"content-type": kind}
    assert_told(client.post("/v1/chat/completions", content=json.dumps(CHAT), headers=headers), {200, 400, 415})
    assert_told(client.post("/admin/kill", content=b'{"tenant_id": 5}', headers=headers))


@pytest.mark.parametrize("value", ["a b", "\xe4", "x" * 300, "../x", "%00", "'; DROP TABLE", "<script>", "*"])
def test_a_request_id_that_is_none_is_replaced(value: str, client: httpx2.Client) -> None:
    answer = client.post("/v1/chat/completions", json=CHAT, headers={"x-request-id": value.encode("latin-1")})
    assert answer.status_code == 200
    assert answer.headers["x-director-request-id"].startswith("req-")


RAW = {
    "no HTTP": b"hello\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "a version to come": b"GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n",
    "an unknown method": b"BREW /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
    "a blank in a name": b"GET /healthz HTTP/1.1\r\nho st: x\r\n\r\n",
    "a head of 1 MB": b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 1_000_000 + b"\r\n\r\n",
    "10,000 headers": b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * 10_000 + b"\r\n",
    "a path of 1 MB": b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
    "a negative length": b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
    "a length in words": b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: five\r\n\r\n",
    "two lengths": b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
    "a chunk that is none": b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n\r\n",
    "TLS": bytes.fromhex("160301020001000001fc0303") + b"\0" * 64,
    "NULs": b"\0" * 4096,
    "a proxy's request": b"CONNECT example.org:443 HTTP/1.1\r\nhost: example.org\r\n\r\n",
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_no_http_is_refused_or_dropped(name: str, running: Served) -> None:
    with socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2])), SECONDS) as connection:
        got = b""
        try:
            connection.sendall(RAW[name])
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(65_536):
                got += data
        except ConnectionError:
            pass  # dropped while we were still speaking
    assert got == b"" or got.startswith((b"HTTP/1.1 4", b"HTTP/1.1 200")), got[:100]
    assert not any(mark.encode() in got for mark in MARKS)


# --- the control plane --------------------------------------------------------------------------------------------

IDS = (" ", "..", "%2e%2e%2f", "a%2fb", "*", "%25", "x" * 300, "%00", "%ff", "İ", "'", "<b>", "1e9", "-1", "nan")
ROUTES = (
    ("GET", "/api/reviews/{}"), ("POST", "/api/reviews/{}/claim"), ("POST", "/api/reviews/{}/release"),
    ("POST", "/api/reviews/{}/decide"), ("DELETE", "/admin/keys/{}"), ("POST", "/admin/keys/{}/rotate"),
    ("DELETE", "/admin/facts/{}"), ("GET", "/admin/facts?limit={}"), ("GET", "/admin/facts?tenant_id={}"),
    ("GET", "/api/reviews?limit={}"), ("GET", "/api/reviews?state={}"), ("DELETE", "/admin/kill?tenant_id={}"),
    ("GET", "/review/cases/{}"), ("GET", "/review/?state={}"), ("GET", "/review/static/{}"),
)  # fmt: skip


@pytest.mark.parametrize(("method", "route"), ROUTES, ids=[f"{method} {route}" for method, route in ROUTES])
def test_names_that_cannot_be_are_refused_or_unknown(method: str, route: str, client: httpx2.Client) -> None:
    for name in IDS:
        answer = client.request(method, route.format(name), timeout=SECONDS)
        assert answer.status_code < 500, (name, answer.status_code, answer.text[:200])
        assert not any(mark in answer.text for mark in MARKS), (name, answer.text[:200])


@pytest.mark.parametrize(
    "path",
    ["/", "/v1", "/v1/", "/v1/embeddings", "/v2/chat/completions", "/v1/chat/completions/", "//", "/%00", "/.env"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_what_is_not_there_is_a_sentence(path: str, method: str, client: httpx2.Client) -> None:
    answer = client.request(method, path, timeout=SECONDS)
    assert answer.status_code in {307, 401, 404, 405}, answer.text[:200]
    assert not any(mark in answer.text for mark in MARKS)


def test_after_all_that_the_server_answers_as_before(client: httpx2.Client, running: Served) -> None:
    assert client.get("/healthz").status_code == 200
    answer = client.post("/v1/chat/completions", json={**CHAT, "stream": False})
    assert answer.json()["choices"][0]["message"]["content"] == "Refunds are available within 30 days."
    assert len(running.server.streams) == 0
