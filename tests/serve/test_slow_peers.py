"""Peers that are slow, gone or broken: each harms its own stream alone, and no answer seems complete that is not."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import struct
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from servers import CHAT, KINDS, Served, chunk, served, server_of, settings_of, wait_until
from upstreams import PROTOCOLS, Case

from director_ai.serve.server import Server
from director_ai.serve.sse import write_event
from director_ai.serve.tenancy import Source
from director_ai.serve.upstream import Answer, HttpUpstream

MIB = 1024 * 1024
ANSWER = 10 * MIB
CLAUSE = "Refunds are available within 30 days. "
THOUGHT = "Let me see. " * 100
FINISHED = {
    "/v1/chat/completions": '"finish_reason": "stop"',
    "/v1/responses": "response.completed",
    "/v1/messages": "end_turn",
}
"""What stands in the last event but one of a whole answer."""
SEEMS_WHOLE = re.compile(r'"finish_reason":"stop"|response\.completed|"end_turn"|message_stop')


def body_for(path: str) -> dict[str, Any]:
    asked = {"model": "m", "stream": True}
    if path == "/v1/responses":
        return asked | {"input": "What is the refund window?"}
    return asked | {"max_tokens": 100, "messages": CHAT["messages"]}


# --- readers that stall -------------------------------------------------------------------------------------------


class LongUpstream:
    """Says 10 MB as fast as it is read, most of it reasoning, which takes no time to judge; counts what was read."""

    def __init__(self) -> None:
        self.said: dict[int, int] = {}
        self.closed = 0

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        number = len(self.said)
        self.said[number] = 0
        size = ANSWER if json.loads(body)["model"] == "long" else 100
        return Answer(status=200, headers={"content-type": "text/event-stream"}, chunks=self._chunks(number, size))

    async def _chunks(self, number: int, size: int) -> AsyncIterator[bytes]:
        try:
            yield chunk(role="assistant")
            yield chunk(CLAUSE)
            while self.said[number] < size:
                data = chunk(reasoning_content=THOUGHT)
                self.said[number] += len(data)
                yield data
            yield chunk(CLAUSE)
            yield chunk(finish="stop")
            yield write_event("[DONE]")
        finally:
            self.closed += 1

    async def aclose(self) -> None:
        pass


def stalled_client(running: Served, key: str, body: Mapping[str, Any]) -> socket.socket:
    """Ask for an answer, and read none of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * 1024)
    client.connect(("127.0.0.1", int(running.url.rpartition(":")[2])))
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\ncontent-length: {len(data)}\r\n\r\n"
    client.sendall(head.encode() + data)
    return client


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def come_to_rest(upstream: LongUpstream) -> int:
    """Wait until nothing more is read of the upstream, and return how much was at most."""
    seen, still = -1, 0
    while still < 10:
        threading.Event().wait(0.1)
        still = still + 1 if seen == sum(upstream.said.values()) else 0
        seen = sum(upstream.said.values())
    return max(upstream.said.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalled:
    """What was seen while readers stalled."""

    most_read: int
    """Bytes of the upstream that was read most."""
    grown: int
    """Bytes of memory for all of them."""
    open_streams: int
    answer: str
    """What somebody else got meanwhile."""
    left_open: int
    """Connections to the upstream after they all left."""


def stall(count: int) -> Stalled:
    upstream = LongUpstream()
    with served(server_of(upstream)) as running, contextlib.ExitStack() as stack:
        key = running.key(shows_reasoning=True)
        quick = running.client(key)
        assert quick.post("/v1/chat/completions", json=CHAT).status_code == 200
        before = resident()
        for _ in range(count):
            stack.enter_context(stalled_client(running, key, {**CHAT, "model": "long"}))
        wait_until(lambda: len(running.server.streams) == count)
        most = come_to_rest(upstream)
        grown = resident() - before
        answer = quick.post("/v1/chat/completions", json=CHAT).text
        wait_until(lambda: len(running.server.streams) <= count)  # that answer's own has ended
        still_open = len(running.server.streams)
        stack.close()  # they all leave
        wait_until(lambda: len(running.server.streams) == 0)
        wait_until(lambda: upstream.closed == len(upstream.said))
        left = len(upstream.said) - upstream.closed
    return Stalled(most_read=most, grown=grown, open_streams=still_open, answer=answer, left_open=left)


@pytest.mark.parametrize("count", [16, pytest.param(200, marks=pytest.mark.soak)])
def test_readers_that_stall_on_10_mb_hold_at_most_a_mebibyte_each_and_nobody_else_up(count: int) -> None:
    seen = stall(count)
    assert seen.most_read <= MIB, "the upstream was read although nobody takes the answer"
    assert seen.grown <= count * MIB, f"{seen.grown / count / MIB:.2f} MiB for each stalled stream"
    assert seen.answer.count(CLAUSE.strip()) == 2
    assert seen.answer.endswith("data: [DONE]\n\n")
    assert (seen.open_streams, seen.left_open) == (count, 0)


# --- clients that leave, upstreams that break ---------------------------------------------------------------------


class CutUpstream:
    """Speaks HTTP by hand, and breaks off after so many bytes of its answer as the model's name says."""

    def __init__(self) -> None:
        self.connected = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> CutUpstream:
        self._thread.start()
        starting = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop)
        self._server = starting.result(10)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    def __exit__(self, *exc_info: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            asked = json.loads(
                await reader.readexactly(int(re.search(r"content-length: (\d+)", head, re.IGNORECASE)[1]))
            )
            path = head.split(" ")[1]
            data = answer_bytes(path)[: int(asked["model"])]
            writer.write(data)
            await writer.drain()
            if asked.get("user") == "stalls":
                await reader.read()  # until the proxy leaves
            else:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
            self.connected -= 1


def answer_bytes(path: str) -> bytes:
    """A short answer as an upstream sends it, head and chunks included."""
    case = Case(texts=("Hello! Refunds are available within 30 days.",), size=24)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in PROTOCOLS[path][1](case))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + chunks + b"0\r\n\r\n"


@pytest.fixture(scope="module")
def cutting() -> Iterator[tuple[Served, CutUpstream]]:
    with CutUpstream() as upstream:
        sources = {"main": Source(KINDS, HttpUpstream(upstream.url, headers={}, timeout=20.0))}
        server = Server(settings_of({"server": {"rate": "off"}}), sources=sources)
        server.store.add("refund", CLAUSE.strip())
        with served(server) as running:
            yield running, upstream


async def cut_at(running: Served, path: str, places: range) -> list[str]:
    """What clients get where the upstream breaks off, for each place."""
    found: list[str] = [""] * len(places)
    numbers, key = iter(range(len(places))), running.key()
    async with httpx2.AsyncClient(base_url=running.url, timeout=30.0, trust_env=False) as client:

        async def work() -> None:
            for number in numbers:
                body = {**body_for(path), "model": str(places[number])}
                answer = await client.post(path, json=body, headers={"x-api-key": key})
                found[number] = f"{answer.status_code} {answer.text}"

        await asyncio.gather(*(work() for _ in range(8)))
    return found


def assert_never_invented(running: Served, path: str, step: int) -> None:
    whole = answer_bytes(path)
    places = range(0, len(whole), step)
    said = whole.index(b"\n\n", whole.index(FINISHED[path].encode())) + 2
    ended = len(whole) - len(b"\r\n0\r\n\r\n")
    for place, got in zip(places, asyncio.run(cut_at(running, path, places)), strict=True):
        where = f"cut at byte {place} of {len(whole)}"
        assert got[:3] in {"200", "502"}, where
        if place < ended:
            assert "error" in got, where
        if place < said:
            assert not SEEMS_WHOLE.search(got), where
    (got,) = asyncio.run(cut_at(running, path, range(len(whole), len(whole) + 1)))
    assert SEEMS_WHOLE.search(got), "an answer that is whole does seem so"
    assert "error" not in got.replace('"error":null', "")


@pytest.mark.parametrize(("path", "step"), [("/v1/chat/completions", 5), ("/v1/responses", 23), ("/v1/messages", 11)])
def test_an_upstream_that_is_reset_at_any_byte_never_seems_to_have_finished(
    path: str, step: int, cutting: tuple[Served, CutUpstream]
) -> None:
    assert_never_invented(cutting[0], path, step)


@pytest.mark.soak
@pytest.mark.parametrize("path", list(PROTOCOLS))
def test_an_upstream_that_is_reset_at_every_byte_never_seems_to_have_finished(
    path: str, cutting: tuple[Served, CutUpstream]
) -> None:
    assert_never_invented(cutting[0], path, 1)


@pytest.mark.parametrize("path", list(PROTOCOLS))
def test_who_leaves_takes_the_upstreams_connection_along(path: str, cutting: tuple[Served, CutUpstream]) -> None:
    running, upstream = cutting
    wait_until(lambda: upstream.connected == 0)
    body = {**body_for(path), "model": str(len(answer_bytes(path)) // 2), "user": "stalls"}
    client = running.client(running.key())
    for _ in range(5):
        with client.stream("POST", path, json=body) as answer:
            pieces = answer.iter_bytes()  # who lets go of it leaves
            first = next(pieces)
            assert upstream.connected == 1, first
        wait_until(lambda: upstream.connected == 0)
    wait_until(lambda: len(running.server.streams) == 0)  # it ends a moment after its connection
    assert upstream.connected == 0
