"""One question through each endpoint of each SDK, synchronous or not, as a stream or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
from model_server import (
    ModelServer,
    Says,
    chat_stream,
    chat_whole,
    messages_stream,
    messages_whole,
    responses_stream,
    responses_whole,
)

from director_ai import ProductionGuard

QUESTION = [{"role": "user", "content": "What is the refund window?"}]


@dataclass
class Heard:
    """What a user of the SDK gets."""

    text: str
    end: str
    """The finish reason, the stop reason, or the status."""
    pieces: int = 0


@dataclass(frozen=True)
class Endpoint:
    name: str
    sdk: str
    stream: Callable[[list[str]], list[bytes]]
    whole: Callable[[str], Says]
    halted: str

    def client(self, server: ModelServer, *, is_async: bool = False, **more: Any) -> Any:
        given = {"api_key": "key", "max_retries": 0, **more}
        if self.sdk == "anthropic":
            return (anthropic.AsyncAnthropic if is_async else anthropic.Anthropic)(base_url=server.url, **given)
        return (openai.AsyncOpenAI if is_async else openai.OpenAI)(base_url=f"{server.url}/v1", **given)

    def create(self, client: Any, **more: Any) -> Any:
        if self.name == "chat":
            return client.chat.completions.create(model="m-1", messages=QUESTION, **more)
        if self.name == "responses":
            return client.responses.create(model="m-1", input="What is the refund window?", **more)
        return client.messages.create(model="m-1", max_tokens=99, messages=QUESTION, **more)

    def hear(self, answer: Any) -> Heard:
        """Return what a whole answer says."""
        if self.name == "chat":
            return Heard(answer.choices[0].message.content or "", answer.choices[0].finish_reason)
        if self.name == "responses":
            return Heard(answer.output_text, answer.status)
        return Heard("".join(block.text for block in answer.content), answer.stop_reason)

    def hear_event(self, heard: Heard, event: Any) -> None:
        """Add what an event of a stream says."""
        text, end = self._of_event(event)
        heard.text += text
        heard.pieces += bool(text)
        heard.end = end or heard.end

    def _of_event(self, event: Any) -> tuple[str, str | None]:
        if self.name == "chat":
            choice = event.choices[0] if event.choices else None
            return (choice.delta.content or "", choice.finish_reason) if choice else ("", None)
        if self.name == "responses":
            if event.type in {"response.completed", "response.incomplete"}:
                assert event.response.status != "completed" or event.response.output_text is not None
                return "", event.response.status
            return (event.delta if event.type == "response.output_text.delta" else ""), None
        if event.type == "content_block_delta":
            return event.delta.text, None
        return "", event.delta.stop_reason if event.type == "message_delta" else None


CHAT = Endpoint("chat", "openai", chat_stream, chat_whole, "content_filter")
RESPONSES = Endpoint("responses", "openai", responses_stream, responses_whole, "incomplete")
MESSAGES = Endpoint("messages", "anthropic", messages_stream, messages_whole, "refusal")
ENDPOINTS = (CHAT, RESPONSES, MESSAGES)
WAYS = ("sync", "async", "sync stream", "async stream")


def use(endpoint: Endpoint, client: Any, way: str, *, until: str = "") -> Heard:
    """Ask a client once, read its answer up to its end or to some words, and close it."""
    heard = Heard("", "")
    return (
        asyncio.run(_ause(endpoint, client, way, until, heard))
        if way.startswith("async")
        else _use(endpoint, client, way, until, heard)
    )


def _use(endpoint: Endpoint, client: Any, way: str, until: str, heard: Heard) -> Heard:
    with client:
        if not way.endswith("stream"):
            return endpoint.hear(endpoint.create(client))
        with endpoint.create(client, stream=True) as stream:
            for event in stream:
                endpoint.hear_event(heard, event)
                if until and until in heard.text:
                    break
        return heard


async def _ause(endpoint: Endpoint, client: Any, way: str, until: str, heard: Heard) -> Heard:
    async with client:
        if not way.endswith("stream"):
            return endpoint.hear(await endpoint.create(client))
        async with await endpoint.create(client, stream=True) as stream:
            async for event in stream:
                endpoint.hear_event(heard, event)
                if until and until in heard.text:
                    break
        return heard


def ask(
    guard: ProductionGuard, server: ModelServer, endpoint: Endpoint, way: str, tokens: list[str], **wrap: Any
) -> Heard:
    """Let the server say something, and return what comes out of a guarded client."""
    streams = way.endswith("stream")
    server.says = lambda path, asked: Says(endpoint.stream(tokens)) if streams else endpoint.whole("".join(tokens))
    client = guard.wrap(endpoint.client(server, is_async=way.startswith("async")), **wrap)
    return use(endpoint, client, way)
