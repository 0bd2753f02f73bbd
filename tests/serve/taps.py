"""A tap on the wire: one exchange over bytes, what was sent, and what the guard let go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

from director_ai import ProductionGuard
from director_ai.core.repair.streams import AsyncRepairStream
from director_ai.serve.exchange import Exchange
from director_ai.serve.guarding import Guarding
from director_ai.serve.proxy import WIRES
from director_ai.serve.sse import ServerSentEvent, SseReader
from director_ai.serve.wire.items import Say


@dataclass(slots=True)
class Tap:
    """What came of one exchange."""

    sent: bytes = b""
    ledger: list[tuple[Say, AsyncRepairStream]] = field(default_factory=list)
    """Each channel's stream: its result is what the guard let go."""
    tasks_left: int = 0

    @property
    def events(self) -> list[dict[str, Any]]:
        """The objects that were sent."""
        reader = SseReader()
        found = [event.data for event in reader.feed(self.sent)]
        return [json.loads(data) for data in found if data != "[DONE]"]

    @property
    def released(self) -> dict[tuple[str, int, int], str]:
        """What the guard let go, by channel."""
        made: dict[tuple[str, int, int], str] = {}
        for say, stream in self.ledger:
            made[say.channel] = made.get(say.channel, "") + stream.result.repaired_text
        return made

    @property
    def actions(self) -> list[tuple[str, int, int]]:
        """What was done, in the order of the channels."""
        return [
            (action.action, action.start, action.end) for _, stream in self.ledger for action in stream.result.actions
        ]


def new_exchange(
    guard: ProductionGuard, path: str, request: dict[str, Any], tap: Tap, *, mode: str = "repair", **options: Any
) -> Exchange:
    """Return an exchange that writes its ledger."""
    reasoning = options.pop("shows_reasoning", False)
    wire = WIRES[path](request, shows_reasoning=reasoning)
    guarding = Guarding(guard=guard, prompt=wire.prompt, tenant_id="", request_id="r", mode=mode)

    def stream(first: Say, tokens: AsyncIterator[str]) -> AsyncRepairStream:
        made = guarding.stream(first, tokens)
        tap.ledger.append((first, made))
        return made

    return Exchange(wire, stream, describe=guarding.describe, describe_halt=guarding.describe_halt, **options)


async def read_events(chunks: Iterable[bytes]) -> AsyncGenerator[ServerSentEvent]:
    reader = SseReader()
    for chunk in chunks:
        for event in reader.feed(chunk):
            yield event
    for event in reader.finish():
        yield event


async def tapped(
    guard: ProductionGuard, path: str, request: dict[str, Any], chunks: Iterable[bytes], **options: Any
) -> Tap:
    """Run an exchange to its end."""
    tap = Tap()
    exchange = new_exchange(guard, path, request, tap, **options)
    async with asyncio.timeout(20):
        tap.sent = b"".join([piece async for piece in exchange.run(read_events(chunks))])
    tap.tasks_left = len(asyncio.all_tasks()) - 1
    return tap


async def whole(
    guard: ProductionGuard, path: str, request: dict[str, Any], body: dict[str, Any], **options: Any
) -> dict[str, Any]:
    """Return what is shown of an answer that came whole."""
    wire = WIRES[path](request, shows_reasoning=options.pop("shows_reasoning", False))
    guarding = Guarding(guard=guard, prompt=wire.prompt, tenant_id="", request_id="r", **options)
    outcomes = {say.channel: await guarding.whole(say) for say in wire.texts(body)}
    return wire.with_texts(body, outcomes)


def texts_sent(path: str, tap: Tap) -> dict[tuple[str, int], str]:
    """Join the deltas that a client sees, by kind and choice, item or block."""
    made: dict[tuple[str, int], str] = {}

    def add(kind: str, at: int, text: Any) -> None:
        if text:
            made[kind, at] = made.get((kind, at), "") + text

    for event in tap.events:
        for choice in event.get("choices", ()):
            delta, index = choice["delta"], choice["index"]
            add("content", index, delta.get("content"))
            add("refusal", index, delta.get("refusal"))
            for call in delta.get("tool_calls", ()):
                add("function", index, call["function"]["arguments"])
        kind = event.get("type", "")
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            add(kind.split(".")[1], event["content_index"], event["delta"])
        elif kind == "response.function_call_arguments.delta":
            add("function_call", event["output_index"], event["delta"])
        elif kind == "content_block_delta":
            delta = event["delta"]
            add(
                "input" if "partial_json" in delta else "text",
                event["index"],
                delta.get("text") or delta.get("partial_json"),
            )
    return made


def ledger(path: str, tap: Tap) -> dict[tuple[str, int], str]:
    """Return the same of what the guard let go."""
    return {
        (kind, place if kind in ("output_text", "refusal") and path == "/v1/responses" else at): text
        for (kind, at, place), text in tap.released.items()
        if text
    }
