"""An upstream that says scripted answers token by token, on an absolute schedule, in a process of its own.

Used by `serve.py`. Of each stream it keeps when each token was sent; `GET /times` tells and forgets that, with the
processor time that the process has used. It speaks as much HTTP as a proxy needs of it, and no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

try:
    from uvloop import run
except ImportError:
    from asyncio import run

PACE = 50.0
"""Tokens a second."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def events_of(tokens: list[str]) -> list[tuple[bytes, bytes]]:
    """The events of an answer, each cut where the number of its stream belongs."""

    def event(delta: dict[str, Any], reason: str | None) -> tuple[bytes, bytes]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        body = {"id": "#", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}
        before, _, behind = json.dumps(body).partition("#")
        return f"data: {before}s".encode(), f"{behind}\n\n".encode()

    said = [event({"content": token}, None) for token in tokens]
    return [event({"role": "assistant", "content": ""}, None), *said, event({}, "stop"), (b"data: [DONE]\n\n", b"")]


class Sources:
    """What can be said, and when each stream said what."""

    def __init__(self, answers: list[list[str]], pace: float = PACE) -> None:
        self.events = [events_of(tokens) for tokens in answers]
        self.step = 1 / pace
        self.numbers = itertools.count()
        self.times: dict[str, list[float]] = {}
        """For each stream, when the events behind the first one were sent."""

    def told(self) -> bytes:
        """Everything since the last time."""
        told = {"cpu": time.process_time(), "times": self.times}
        self.times = {}
        return json.dumps(told).encode()


class Connection(asyncio.Protocol):
    """One connection of a proxy, kept for one request after the other."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._got = b""
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - part of the protocol
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, body = self._got.partition(b"\r\n\r\n")
        if not found:
            return
        sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        size = int(sizes[0].partition(b":")[2]) if sizes else 0
        if len(body) < size:
            return
        self._got = body[size:]
        if head.startswith(b"GET"):
            told = self._sources.told()
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(told), told))
        else:
            self._begin(int(json.loads(body[:size])["model"].removeprefix("answer-")))

    def _begin(self, answer: int) -> None:
        number = next(self._sources.numbers)
        self._name, self._times = str(number).encode(), []
        self._sources.times[f"s{number}"] = self._times
        self._events = self._sources.events[answer]
        self._at, self._started = 0, self._loop.time()
        self._transport.write(HEAD)
        self._say()

    def _say(self) -> None:
        """Send what is due, and come again when the next event is."""
        before, behind = self._events[self._at]
        data = before + self._name + behind if behind else before
        if self._at:
            self._times.append(time.monotonic())
        self._transport.write(b"%x\r\n%s\r\n" % (len(data), data))
        self._at += 1
        if self._at < len(self._events):
            self._timer = self._loop.call_at(self._started + self._at * self._sources.step, self._say)
        else:
            self._transport.write(b"0\r\n\r\n")


async def serve(answers: list[list[str]], pace: float) -> None:
    """Listen on a free port, print it, and go on until the process is ended."""
    sources = Sources(answers, pace)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(sources), "127.0.0.1", 0, backlog=2_048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        run(serve(json.loads(Path(sys.argv[1]).read_text("utf-8")), float(sys.argv[2])))
