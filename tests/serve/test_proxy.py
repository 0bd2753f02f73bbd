"""The proxy over real HTTP: peers that vanish, stall or answer oddly harm nobody else."""

from __future__ import annotations

import json
import socket
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from upstreams import PROTOCOLS, Case, Proxied, StubTenants, proxy_app, running, wait_until

from director_ai.serve.open_streams import OpenStreams

PATHS = sorted(PROTOCOLS)
HEADERS = {"authorization": "Bearer repair"}
by_path = pytest.mark.parametrize("path", PATHS)


def asked(model: str, *, stream: bool) -> dict[str, Any]:
    return {"model": model, "stream": stream, "messages": [{"role": "user", "content": "?"}], "input": "?"}


def stalled_client(url: str, path: str, body: dict[str, Any]) -> socket.socket:
    """Return a connection that sent a request, and reads nothing."""
    host, port = url.removeprefix("http://").split(":")
    client = socket.create_connection((host, int(port)))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer repair\r\ncontent-length: {len(data)}\r\n\r\n"
    client.sendall(head.encode() + data)
    return client


@by_path
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_client_that_leaves_closes_the_upstream(path: str, stream: bool, proxied: Proxied) -> None:
    model = proxied.script(Case(fails="stall", after=5))
    client = stalled_client(proxied.url, path, asked(model, stream=stream))
    wait_until(lambda: proxied.upstream.connected == 1)
    client.close()
    wait_until(lambda: len(proxied.streams) == 0)
    wait_until(lambda: proxied.upstream.connected == 0)
    assert (proxied.upstream.connected, len(proxied.streams)) == (0, 0)


@by_path
def test_a_stalled_client_holds_up_neither_memory_nor_a_stop(path: str, proxied: Proxied) -> None:
    model = proxied.script(Case(texts=("Hello! " * 1_500_000,), size=7_000))
    sent = proxied.upstream.sent
    with stalled_client(proxied.url, path, asked(model, stream=True)):
        wait_until(proxied.upstream.is_idle, seconds=60)
        assert proxied.upstream.sent - sent < 9_000_000  # what the sockets in between take; the answer has 10 MB
        assert len(proxied.streams) == 1
        loop = proxied.tenants.loop
        assert loop is not None
        loop.call_soon_threadsafe(proxied.streams.stop, "kill_switch")
        wait_until(lambda: len(proxied.streams) == 0)
        wait_until(lambda: proxied.upstream.connected == 0)


@by_path
@pytest.mark.parametrize("kind", ["json", "redirect", "html", "list"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_what_is_no_answer_is_a_clear_error(path: str, kind: str, stream: bool) -> None:
    async def answer(_: Request) -> Response:
        if kind == "redirect":
            return RedirectResponse("http://example.com/")
        if kind == "html":
            return Response("<p>The zorblatt is closed.</p>", 200 if stream else 503, media_type="text/html")
        return JSONResponse(["zorblatt"] if kind == "list" else {"zorblatt": 1})

    with running(Starlette(routes=[Route(path, answer, methods=["POST"])])) as upstream_url:
        tenants = StubTenants(upstream_url)
        with running(proxy_app(tenants, OpenStreams())) as url:
            got = httpx2.post(url + path, json=asked("m", stream=stream), headers=HEADERS, timeout=20, verify=False)
    assert "zorblatt" not in got.text
    if kind == "json" and not stream:
        assert got.status_code == 200  # an answer without any text is one
    else:
        assert "error" in got.text
        assert got.status_code in ({200} if kind == "html" and stream else {502, 503})


def test_streams_are_not_buffered_on_their_way(proxied: Proxied) -> None:
    body = asked(proxied.script(Case()), stream=True)
    with httpx2.stream("POST", proxied.url + PATHS[0], json=body, headers=HEADERS, verify=False) as got:
        got.read()
    assert got.headers["content-type"].startswith("text/event-stream")
    assert (got.headers["cache-control"], got.headers["x-accel-buffering"]) == ("no-cache", "no")
    assert got.headers["x-director-request-id"].startswith("req-")
