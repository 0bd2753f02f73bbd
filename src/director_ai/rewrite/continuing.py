"""Continuations: an endpoint's model goes on from a corrected prefix, token by token.

A continuation belongs to one request: it is made with that request's messages, and called with what was released so
far. What it yields follows the prefix, and is judged like everything else.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio

from director_ai.core.ranges import check_count, check_number
from director_ai.core.runtime.drive import SyncCalls
from director_ai.core.runtime.plan import Late
from director_ai.errors import ConfigError
from director_ai.generators import (
    LONGEST_SECONDS,
    EndpointError,
    checked_key,
    checked_options,
    checked_text,
    checked_url,
    endpoint_problems,
    load_http,
)
from director_ai.rewrite.event_stream import EventStream
from director_ai.rewrite.wire import AnthropicReply, OpenAIReply

if TYPE_CHECKING:
    from director_ai.rewrite.wire import Reply

__all__ = ["AnthropicContinuation", "OpenAIContinuation"]

Style = Literal["continue", "prefix"]
_STYLES: Final = ("continue", "prefix")
_ROLES: Final = frozenset({"system", "user", "assistant", "developer", "tool"})


class _Intake:
    """Turns bytes into tokens, up to a size and a time."""

    def __init__(self, reply: Reply, most: int, end: float) -> None:
        self._reply, self._most, self._end = reply, most, end
        self._events = EventStream()

    def take(self, part: bytes) -> list[str]:
        self._most -= len(part)
        if self._most < 0:
            raise EndpointError("too_large")
        if time.monotonic() > self._end:
            raise EndpointError("timeout")
        try:
            return [token for data in self._events.feed(part) if (token := self._reply.take(data))]
        except UnicodeDecodeError:
            raise EndpointError("malformed") from None

    def finish(self) -> list[str]:
        try:
            tokens = [token for data in self._events.finish() if (token := self._reply.take(data))]
        except UnicodeDecodeError:
            raise EndpointError("unreachable") from None
        self._reply.finish()
        return tokens


class _Continuation:
    """One streamed request for each call; a dropped connection raises, a finished answer ends."""

    _extra: str
    _path: str
    _reserved: frozenset[str]

    def __init__(
        self,
        base_url: str,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        timeout: float,
        total_timeout: float,
        max_bytes: int,
        options: Mapping[str, Any] | None,
    ) -> None:
        self._url = checked_url(base_url) + self._path
        if not checked_text("model", model).strip():
            raise ConfigError("model must name a model, got a blank text")
        self._messages = _checked_messages(messages)
        self._body: dict[str, Any] = {"model": str(model), **checked_options(options, self._reserved), "stream": True}
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
        }
        self._timeout = check_number("timeout", timeout, 0.001, LONGEST_SECONDS)
        self._total = check_number("total_timeout", total_timeout, 0.001, LONGEST_SECONDS)
        self._max_bytes = check_count("max_bytes", max_bytes, 1, 1_000_000_000)
        self._http = load_http(self._extra, "a continuation at an endpoint")
        self._client = {"verify": self._http.create_ssl_context(), "timeout": self._timeout, "follow_redirects": False}

    def __call__(self, prefix: str, failure: object = None) -> Generator[str]:  # noqa: ARG002 - part of the protocol
        """Yield the tokens that follow the prefix; what went wrong before is not told to the model."""
        calls = SyncCalls(each=self._timeout, total=self._total, clock=time.monotonic)
        tokens = self._stream(prefix)
        take = calls.bind("token", lambda: next(tokens, None))
        try:  # on a helper thread: the client's own limits are per read, and a slow sender passes each of them
            while (token := take()) is not None:
                yield token
        except Late:
            raise EndpointError("timeout") from None
        finally:
            calls.close(lambda: tokens)

    def _stream(self, prefix: str) -> Generator[str]:
        content, intake = self._begin(prefix)
        with (
            endpoint_problems(self._http),
            self._http.Client(**self._client) as client,
            client.stream("POST", self._url, content=content, headers=self._headers) as response,
        ):
            _check_status(response)
            for part in response.iter_raw():
                yield from intake.take(part)
            yield from intake.finish()

    async def acall(self, prefix: str, failure: object = None) -> AsyncGenerator[str]:  # noqa: ARG002 - as above
        """Yield the same without blocking the event loop, on asyncio and trio."""
        content, intake = self._begin(prefix)
        with endpoint_problems(self._http):
            async with contextlib.AsyncExitStack() as stack:
                client = await stack.enter_async_context(self._http.AsyncClient(**self._client))
                with anyio.fail_after(min(self._timeout, self._total)):
                    sent = client.stream("POST", self._url, content=content, headers=self._headers)
                    response = await stack.enter_async_context(sent)
                _check_status(response)
                parts = response.aiter_raw()
                stack.push_async_callback(_leave, parts)
                while True:
                    with anyio.fail_after(self._timeout):
                        part = await anext(parts, None)
                    for token in intake.finish() if part is None else intake.take(part):
                        yield token
                    if part is None:
                        return

    def _begin(self, prefix: str) -> tuple[bytes, _Intake]:
        request, reply = self._request(checked_text("prefix", prefix))
        intake = _Intake(reply, self._max_bytes, time.monotonic() + self._total)
        return json.dumps({**self._body, **request}).encode(), intake

    def _request(self, prefix: str) -> tuple[dict[str, Any], Reply]:
        raise NotImplementedError


class OpenAIContinuation(_Continuation):
    """Goes on at an endpoint that speaks OpenAI's chat completions and accepts an assistant's beginning.

    Args:
        base_url: Up to and including the version.
        model: As the endpoint names it.
        messages: The conversation, up to the user's last message.
        api_key: Sent as a bearer token; None where none is needed.
        style: How the endpoint is told: "continue" for vLLM and SGLang, "prefix" for Mistral and DeepSeek.
        timeout: Seconds to wait for the next part.
        total_timeout: Seconds for the whole continuation.
        max_bytes: The largest reply that is read.
        options: Further fields of the request, for example `{"max_tokens": 800}`.
    """

    _extra = "openai"
    _path = "/chat/completions"
    _reserved = frozenset({"model", "messages", "stream", "n", "continue_final_message", "add_generation_prompt"})

    def __init__(  # noqa: PLR0913 - a documented constructor
        self,
        base_url: str,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        api_key: str | None = None,
        *,
        style: Style = "continue",
        timeout: float = 30.0,
        total_timeout: float = 600.0,
        max_bytes: int = 16_000_000,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if style not in _STYLES:
            raise ConfigError(f"style must be one of {', '.join(_STYLES)}")
        super().__init__(
            base_url,
            model,
            messages,
            timeout=timeout,
            total_timeout=total_timeout,
            max_bytes=max_bytes,
            options=options,
        )
        self._style = style
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {checked_key(api_key)}"

    def _request(self, prefix: str) -> tuple[dict[str, Any], Reply]:
        if not prefix:
            return {"messages": self._messages}, OpenAIReply()
        begun: dict[str, Any] = {"role": "assistant", "content": prefix}
        if self._style == "prefix":
            return {"messages": [*self._messages, {**begun, "prefix": True}]}, OpenAIReply()
        flags = {"continue_final_message": True, "add_generation_prompt": False}
        return {"messages": [*self._messages, begun], **flags}, OpenAIReply()


class AnthropicContinuation(_Continuation):
    """Goes on at an endpoint that speaks Anthropic's messages, from a prefilled assistant message.

    Args:
        model: As the endpoint names it; one that accepts a prefilled message.
        messages: The conversation, up to the user's last message; those of the system go where the API wants them.
        api_key: Sent as `x-api-key`.
        base_url: Up to, and without, the version.
        max_tokens: The longest continuation.
        timeout: Seconds to wait for the next part.
        total_timeout: Seconds for the whole continuation.
        max_bytes: The largest reply that is read.
        options: Further fields of the request.
    """

    _extra = "anthropic"
    _path = "/v1/messages"
    _reserved = frozenset({"model", "messages", "stream", "system", "max_tokens"})

    def __init__(  # noqa: PLR0913 - as above
        self,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        api_key: str | None = None,
        base_url: str = "https://api.anthropic.com",
        *,
        max_tokens: int = 1024,
        timeout: float = 30.0,
        total_timeout: float = 600.0,
        max_bytes: int = 16_000_000,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            base_url,
            model,
            messages,
            timeout=timeout,
            total_timeout=total_timeout,
            max_bytes=max_bytes,
            options=options,
        )
        self._headers["anthropic-version"] = "2023-06-01"
        if api_key is not None:
            self._headers["x-api-key"] = checked_key(api_key)
        self._body["max_tokens"] = check_count("max_tokens", max_tokens, 1)
        system = [message["content"] for message in self._messages if message["role"] in {"system", "developer"}]
        if system:
            self._body["system"] = "\n\n".join(checked_text("the system message", part) for part in system)
        self._messages = [message for message in self._messages if message["role"] not in {"system", "developer"}]

    def _request(self, prefix: str) -> tuple[dict[str, Any], Reply]:
        begun = prefix.rstrip()  # the API refuses white space at the end
        messages = [*self._messages, {"role": "assistant", "content": begun}] if begun else self._messages
        return {"messages": messages}, AnthropicReply(prefix[len(begun) :])


async def _leave(parts: AsyncIterator[bytes]) -> None:
    """Leave by cancelling: the client's inner iterators would not be closed at once otherwise, and trio says so."""
    with anyio.CancelScope() as reading:
        reading.cancel()
        async for _ in parts:
            pass


def _check_status(response: Any) -> None:
    if response.status_code != 200:
        raise EndpointError("status", status=response.status_code)


def _checked_messages(messages: object) -> list[dict[str, Any]]:
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes) or not messages:
        raise ConfigError(f"messages must be a list of at least one message, got a {type(messages).__name__}")
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES or "content" not in message:
            raise ConfigError(f"messages[{place}] must have a role and content")
    try:
        copied: list[dict[str, Any]] = json.loads(json.dumps([dict(message) for message in messages], allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ConfigError("messages must hold JSON values") from None
    return copied
