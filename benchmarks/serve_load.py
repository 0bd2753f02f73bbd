"""Clients that read many streams at once, in a process of their own, and when they had what.

Used by `serve.py`. While streams run, bytes are only kept with the time at which they came; they are read afterwards,
so that the clients do not hold each other up.
"""

from __future__ import annotations

import asyncio
import bisect
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

try:
    from uvloop import run
except ImportError:
    from asyncio import run

from director_ai.serve.sse import SseReader

MOST_SECONDS = 120.0
PROMPT = "Tell me all."
"""What is asked; claims are judged in its light."""
REFUSED = frozenset({429, 503})


class Client(asyncio.Protocol):
    """Sends one request, and keeps what comes."""

    def __init__(self, request: bytes, answer: int) -> None:
        self._request, self.answer = request, answer
        self.came: list[tuple[float, bytes]] = []
        self.sent = 0.0
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.sent = time.monotonic()
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self.came.append((time.monotonic(), data))
        # Refusals have a length and no last chunk; that the proxy closes behind them is asked for.
        if data.endswith(b"0\r\n\r\n"):
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - part of the protocol
        if not self.ended.done():
            self.ended.set_result(None)


@dataclass(slots=True)
class Heard:
    """What one client got, and when."""

    answer: int
    sent: float
    status: int = 0
    retry_after: str = ""
    name: str = ""
    """Of the upstream's stream."""
    text: str = ""
    finish: str = ""
    is_whole: bool = False
    """Whether the stream came to the end of its protocol."""
    ends: list[int] = field(default_factory=list)
    """How many characters were there at each of the `times`."""
    times: list[float] = field(default_factory=list)

    def when(self, length: int) -> float | None:
        """When so many characters of the text were there."""
        at = bisect.bisect_left(self.ends, length)
        return self.times[at] if at < len(self.times) else None


def read(client: Client) -> Heard:
    """Read what a client kept."""
    heard = Heard(client.answer, client.sent)
    head, body, rest, reader = b"", False, b"", SseReader()
    length = 0
    for at, data in client.came:
        if not body:
            head, found, data = (head + data).partition(b"\r\n\r\n")  # noqa: PLW2901 - what is behind the head
            if not found:
                continue
            body = True
            _read_head(heard, head.decode("latin-1"))
        chunks, rest = unchunked(rest + data)
        for event in reader.feed(chunks) if heard.status == 200 else ():
            length += _take(heard, event.data)
            if length and (not heard.ends or heard.ends[-1] < length):
                heard.ends.append(length)
                heard.times.append(at)
    return heard


def _read_head(heard: Heard, head: str) -> None:
    first, *lines = head.split("\r\n")
    heard.status = int(first.split(" ")[1])
    headers = dict(line.lower().split(": ", 1) for line in lines)
    heard.retry_after = headers.get("retry-after", "")


def _take(heard: Heard, data: str) -> int:
    if data == "[DONE]":
        heard.is_whole = True
        return 0
    chunk = json.loads(data)
    heard.name = chunk.get("id", heard.name)
    said = ""
    for choice in chunk.get("choices", ()):
        said += choice["delta"].get("content") or ""
        heard.finish = choice.get("finish_reason") or heard.finish
    heard.text += said
    return len(said)


def unchunked(data: bytes) -> tuple[bytes, bytes]:
    """The contents of the chunks that are complete, and what is left."""
    parts = []
    while True:
        size, found, behind = data.partition(b"\r\n")
        if not found:
            return b"".join(parts), data
        try:
            length = int(size, 16)
        except ValueError:  # not chunked at all
            return data, b""
        if len(behind) < length + 2:
            return b"".join(parts), data
        parts.append(behind[:length])
        data = behind[length + 2 :]


def request_of(port: int, key: str, answer: int) -> bytes:
    """One request as bytes."""
    asked = {"model": f"answer-{answer}", "stream": True, "messages": [{"role": "user", "content": PROMPT}]}
    body = json.dumps(asked).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


async def load(port: int, key: str, streams: int, ramp: float, answers: range) -> dict[str, Any]:
    """Open streams over some seconds, read them to their ends, and tell what came of each."""
    loop = asyncio.get_running_loop()
    started = time.monotonic()
    clients: list[Client] = []

    async def one(number: int) -> None:
        await asyncio.sleep(ramp * number / streams)
        answer = answers[number % len(answers)]
        client = Client(request_of(port, key, answer), answer)
        clients.append(client)
        await loop.create_connection(lambda: client, "127.0.0.1", port)
        await asyncio.wait([client.ended], timeout=MOST_SECONDS)

    cpu = time.process_time()
    failed = await asyncio.gather(*(one(number) for number in range(streams)), return_exceptions=True)
    cpu, seconds = time.process_time() - cpu, time.monotonic() - started
    heard = [read(client) for client in clients if client.came]
    return {
        "cpu": cpu,
        "seconds": seconds,
        "unconnected": sum(1 for each in failed if each is not None) + sum(1 for each in clients if not each.came),
        "heard": [{name: getattr(each, name) for name in Heard.__slots__} for each in heard],
    }


if __name__ == "__main__":
    port, key, streams, ramp, first, last = sys.argv[1:]
    print(json.dumps(run(load(int(port), key, int(streams), float(ramp), range(int(first), int(last))))))
