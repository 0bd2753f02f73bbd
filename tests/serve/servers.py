"""Servers of ours on a free port, with upstreams that do what a test says, and clients over real HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import httpx2
from upstreams import wait_until

from director_ai.serve.running import Running, listen
from director_ai.serve.server import Server
from director_ai.serve.settings import ServerSettings
from director_ai.serve.sse import write_event
from director_ai.serve.tenancy import Source
from director_ai.serve.upstream import Answer

KINDS = frozenset({"openai", "anthropic"})
FACTS = {"refund": "Refunds are available within 30 days.", "ceo": "The CEO is Jane Doe."}
GREETING = "Hello! Thanks for asking. "
UNJUDGED = "Refunds are avail"
ROLES = ("proxy", "reviewer", "admin")


def chunk(content: str = "", finish: str | None = None, **delta: Any) -> bytes:
    """Return one event of a chat stream."""
    told = {"content": content, **delta} if content or delta else {}
    choice = {"index": 0, "delta": told, "finish_reason": finish}
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return write_event(json.dumps({**base, "choices": [choice]}))


class StallingUpstream:
    """Says a greeting and half a clause, and then nothing more until it is closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if method == "GET":
            return Answer(status=200, headers={"content-type": "application/json"}, chunks=_once(b"{}"))
        return Answer(status=200, headers={"content-type": "text/event-stream"}, chunks=self._chunks())

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            for data in (chunk(role="assistant"), chunk(GREETING), chunk(UNJUDGED)):
                yield data
            await asyncio.Event().wait()
        finally:
            self.closed.set()

    async def aclose(self) -> None:
        pass


class HoldingUpstream:
    """Does not begin to answer before it is let go."""

    def __init__(self) -> None:
        self.asked = 0
        self.go = threading.Event()

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        self.asked += 1
        while not self.go.is_set():
            await asyncio.sleep(0.01)
        return await SayingUpstream("Hello!").send(method, path, headers, body)

    async def aclose(self) -> None:
        pass


class SayingUpstream:
    """Says one text, in a stream or whole, and keeps what it was asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        asked = json.loads(body) if body else {}
        self.asked.append(asked)
        self.headers.append(headers)
        if asked.get("stream"):
            return Answer(status=200, headers={"content-type": "text/event-stream"}, chunks=self._chunks())
        message = {"role": "assistant", "content": self.text}
        whole = {
            "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }  # fmt: skip
        return Answer(
            status=200, headers={"content-type": "application/json"}, chunks=_once(json.dumps(whole).encode())
        )

    async def _chunks(self) -> AsyncIterator[bytes]:
        for data in (chunk(role="assistant"), chunk(self.text), chunk(finish="stop"), write_event("[DONE]")):
            yield data

    async def aclose(self) -> None:
        pass


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def settings_of(tables: Mapping[str, Any] | None = None, **options: Any) -> ServerSettings:
    """Return quick settings: no model, everything in memory where nothing else is said."""
    given = dict(tables or {})
    guard = {"profile": "finance", "use_nli": False, "search": "words", **given.pop("guard", {})}
    server = {"database": ":memory:", "grace": 0.2, **given.pop("server", {})}
    return ServerSettings.load({**given, "guard": guard, "server": server}, env={}, port=0, **options)


def server_of(upstream: Any = None, settings: ServerSettings | None = None, **options: Any) -> Server:
    """Return a server that knows some facts."""
    source = Source(KINDS, upstream or SayingUpstream("Refunds are available within 30 days."))
    server = Server(settings or settings_of(), sources={"main": source}, **options)
    server.store.add_many(FACTS)
    return server


class Served:
    """A server that runs in a thread."""

    def __init__(self, server: Server, url: str, running: Running) -> None:
        self.server, self.url, self.running = server, url, running
        self.clients = contextlib.ExitStack()

    def key(self, *scopes: str, tenant: str = "acme", **options: Any) -> str:
        return self.server.keys.create(tenant, scopes or ("proxy",), **options).secret

    def client(self, key: str = "", **headers: str) -> httpx2.Client:
        given = {"authorization": f"Bearer {key}"} if key else {}
        made = httpx2.Client(base_url=self.url, headers={**given, **headers}, timeout=20.0, trust_env=False)
        return self.clients.enter_context(made)


@contextlib.contextmanager
def served(server: Server) -> Iterator[Served]:
    """Run a server until the block ends."""
    bound = listen("127.0.0.1", 0)
    running = Running(server)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        wait_until(lambda: running.started)
        told = Served(server, f"http://127.0.0.1:{bound.getsockname()[1]}", running)
        with told.clients:
            yield told
    finally:
        running.should_exit = True
        thread.join(20)
        bound.close()
        assert not thread.is_alive(), "the server did not end"


CHAT = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "What is the refund window?"}]}


class OpenChat:
    """A chat stream that was opened and has shown its first text."""

    def __init__(self, answer: httpx2.Response) -> None:
        self._lines = answer.iter_lines()
        self.seen: list[dict[str, Any]] = []
        self.text = ""

    def read_until_text(self) -> None:
        while not self.text:
            self._take(next(self._lines))

    def read_to_end(self) -> None:
        for line in self._lines:
            self._take(line)

    def _take(self, line: str) -> None:
        if not line.startswith("data: ") or line == "data: [DONE]":
            return
        event = json.loads(line.removeprefix("data: "))
        self.seen.append(event)
        for choice in event.get("choices", []):
            self.text += choice["delta"].get("content") or ""

    @property
    def finish(self) -> list[str]:
        return [
            choice["finish_reason"]
            for event in self.seen
            for choice in event.get("choices", [])
            if choice["finish_reason"]
        ]

    @property
    def guard(self) -> dict[str, Any]:
        return next((event["guard"] for event in reversed(self.seen) if "guard" in event), {})


@contextlib.contextmanager
def open_chat(client: httpx2.Client) -> Iterator[OpenChat]:
    """Open a stream and read it up to its first text."""
    with client.stream("POST", "/v1/chat/completions", json=CHAT) as answer:
        assert answer.status_code == 200, answer.read()
        chat = OpenChat(answer)
        chat.read_until_text()
        yield chat
