"""Continuations, against a real HTTP server on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import aclosing, closing
from typing import Any

import anyio
import pytest
from upstream_server import Handler, Upstream

from director_ai.errors import ConfigError
from director_ai.generators import EndpointError
from director_ai.rewrite import AnthropicContinuation, OpenAIContinuation

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How long?"}]
PREFIX = "Refunds close after 30 days."

Read = Callable[..., list[str]]


@pytest.fixture(params=["sync", "asyncio", "trio"])
def read(request: pytest.FixtureRequest) -> Read:
    """Return the tokens of a continuation, all or the first few."""
    if request.param == "sync":

        def read_sync(continuation: Any, prefix: str, most: int = 1_000) -> list[str]:
            with closing(continuation(prefix, None)) as tokens:
                return [token for _, token in zip(range(most), tokens, strict=False)]

        return read_sync

    async def read_async(continuation: Any, prefix: str, most: int = 1_000) -> list[str]:
        found: list[str] = []
        async with aclosing(continuation.acall(prefix, None)) as tokens:
            async for token in tokens:
                found.append(token)
                if len(found) == most:
                    break
        return found

    return lambda *args: anyio.run(read_async, *args, backend=request.param)


def chunk(content: Any = None, finish: str | None = None, index: int = 0, **delta: Any) -> bytes:
    choice = {"index": index, "delta": {"content": content, **delta}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}\n\n".encode()


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()


def text(value: Any) -> bytes:
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": value})


DONE = b"data: [DONE]\n\n"
STOP = event("message_delta", delta={"stop_reason": "end_turn"}) + event("message_stop")


def openai(upstream: Upstream, **options: Any) -> OpenAIContinuation:
    return OpenAIContinuation(f"{upstream.url}/v1", "m", ASKED, "key", **options)


def anthropic(upstream: Upstream, **options: Any) -> AnthropicContinuation:
    return AnthropicContinuation("m", ASKED, "key", upstream.url, **options)


# --- the request --------------------------------------------------------------------------------------------------


def test_vllm_is_asked_to_go_on_with_the_last_message(upstream: Upstream, read: Read) -> None:
    upstream.stream(chunk(" The"), chunk(" fee"), chunk(finish="stop"), DONE)
    assert read(openai(upstream, options={"max_tokens": 50}), PREFIX) == [" The", " fee"]
    ((path, headers, body),) = upstream.seen
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer key"
    assert headers["accept-encoding"] == "identity"
    assert body == {
        "model": "m",
        "max_tokens": 50,
        "stream": True,
        "messages": [*ASKED, {"role": "assistant", "content": PREFIX}],
        "continue_final_message": True,
        "add_generation_prompt": False,
    }


def test_mistral_is_told_that_the_last_message_is_a_prefix(upstream: Upstream, read: Read) -> None:
    upstream.stream(chunk(" The"), chunk(finish="stop"), DONE)
    read(openai(upstream, style="prefix"), PREFIX)
    ((_, _, body),) = upstream.seen
    assert body == {
        "model": "m",
        "stream": True,
        "messages": [*ASKED, {"role": "assistant", "content": PREFIX, "prefix": True}],
    }


def test_anthropic_gets_a_message_that_is_begun_without_white_space_at_its_end(upstream: Upstream, read: Read) -> None:
    upstream.stream(event("message_start"), text(" The"), event("ping"), text(" fee"), STOP)
    assert read(anthropic(upstream), f"{PREFIX} ") == ["The", " fee"]
    ((path, headers, body),) = upstream.seen
    assert path == "/v1/messages"
    assert headers["x-api-key"] == "key"
    assert body == {
        "model": "m",
        "max_tokens": 1024,
        "stream": True,
        "system": "Be brief.",
        "messages": [ASKED[1], {"role": "assistant", "content": PREFIX}],
    }


@pytest.mark.parametrize(
    ("end", "tokens", "expected"),
    [
        (" ", [" ", " The"], [" The"]),
        ("\n\n", ["\n", "\nThe"], ["The"]),
        ("\n\n", ["\nThe"], ["The"]),
        (" ", ["The"], ["The"]),
        ("", [" The"], [" The"]),
    ],
    ids=["a space of its own", "two line ends", "one of two line ends", "none in the answer", "none in the prefix"],
)
def test_white_space_is_not_said_twice(
    upstream: Upstream, read: Read, end: str, tokens: list[str], expected: list[str]
) -> None:
    upstream.stream(*map(text, tokens), STOP)
    assert read(anthropic(upstream), PREFIX + end) == expected


@pytest.mark.parametrize("make", [openai, anthropic])
def test_without_a_prefix_the_conversation_is_answered(upstream: Upstream, make: Any, read: Read) -> None:
    upstream.stream(*([chunk("Hi"), DONE] if make is openai else [text("Hi"), STOP]))
    assert read(make(upstream), "") == ["Hi"]
    assert upstream.seen[0][2]["messages"][-1] == ASKED[1]
    assert "continue_final_message" not in upstream.seen[0][2]


# --- the stream ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
def test_bytes_may_be_cut_anywhere(upstream: Upstream, size: int, line_end: bytes) -> None:
    said = ["Größe ", "\U0001f600", " a\u2028b\x85c", "\\n"]
    body = (
        b": a comment"
        + line_end * 2
        + b"".join(map(chunk, said)).replace(b"\n", line_end)
        + b"data:[DONE]"
        + line_end * 2
    )
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    upstream.stream(*parts)
    assert list(openai(upstream)(PREFIX)) == said


@pytest.mark.timeout(60)  # the endpoint writes on after ten minutes
def test_tokens_come_while_the_answer_is_still_being_written(upstream: Upstream, read: Read) -> None:
    upstream.stream(chunk(" The"), chunk(" fee"), DONE, wait=600)
    assert read(openai(upstream), PREFIX, 1) == [" The"]


def test_who_stops_reading_leaves_the_endpoint(upstream: Upstream, read: Read) -> None:
    def endless(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not upstream.release.wait(0.01):
            handler.wfile.write(chunk(" more"))

    upstream.reply = endless
    assert read(openai(upstream), PREFIX, 2) == [" more", " more"]
    assert upstream.left.wait(10)


def test_other_choices_and_thoughts_are_left_out(upstream: Upstream, read: Read) -> None:
    upstream.stream(
        chunk("x", index=1),
        chunk(None, reasoning_content="hm"),
        chunk(" The"),
        chunk("", "stop"),
        b'data: {"choices": []}\n\n',
        DONE,
    )
    assert read(openai(upstream), PREFIX) == [" The"]
    thought = event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"})
    upstream.stream(thought, text(" The"), STOP)
    assert read(anthropic(upstream), PREFIX) == [" The"]


@pytest.mark.parametrize(
    ("make", "parts", "problem"),
    [
        (openai, [chunk(" The")], "unreachable"),
        (openai, [chunk(" The"), b"data: {"], "unreachable"),
        (openai, [chunk(" Gr\u00f6")[:-20]], "malformed"),
        (openai, [b"data: {\n\n"], "malformed"),
        (openai, [b"data: []\n\n"], "malformed"),
        (openai, [b'{"choices": [{"message": {"content": "The"}}]}'], "malformed"),
        (openai, [b"data: \xff\xfe\n\n"], "malformed"),
        (openai, [chunk(7), DONE], "malformed"),
        (openai, [chunk(["x"]), DONE], "malformed"),
        (openai, [chunk(" The", "length"), DONE], "truncated"),
        (openai, [chunk(None, "content_filter"), DONE], "refused"),
        (openai, [b'data: {"error": {"message": "overloaded"}}\n\n'], "unreachable"),
        (anthropic, [text(" The")], "unreachable"),
        (anthropic, [text(" The"), event("error", error={"type": "overloaded_error"})], "unreachable"),
        (anthropic, [text(7), STOP], "malformed"),
        (anthropic, [event("message_delta", delta={"stop_reason": "max_tokens"})], "truncated"),
        (anthropic, [event("message_delta", delta={"stop_reason": "refusal"})], "refused"),
    ],
    ids=[
        "it ends without an end",
        "it is cut inside an event",
        "it is cut inside its first event",
        "no JSON",
        "a list for a chunk",
        "no stream",
        "no UTF-8",
        "a number for text",
        "a list for text",
        "a limit of length",
        "a filter",
        "an error in the stream",
        "messages that end without an end",
        "an error among the messages",
        "a number for a message's text",
        "a limit of tokens",
        "a refusal",
    ],
)
def test_what_is_no_whole_answer_raises(
    upstream: Upstream, read: Read, make: Any, parts: list[bytes], problem: str
) -> None:
    upstream.stream(*parts)
    with pytest.raises(EndpointError) as raised:
        read(make(upstream), PREFIX)
    assert raised.value.problem == problem
    assert "overloaded" not in str(raised.value)


def test_a_dropped_connection_raises_after_what_came(upstream: Upstream) -> None:
    upstream.stream(chunk(" The"), Content_Length="5000")
    tokens = openai(upstream)(PREFIX)
    assert next(tokens) == " The"
    with pytest.raises(EndpointError) as raised:
        next(tokens)
    assert raised.value.problem == "unreachable"


@pytest.mark.parametrize("status", [302, 401, 500])
def test_a_status_other_than_200_raises(upstream: Upstream, read: Read, status: int) -> None:
    upstream.answer({"error": "no"}, status=status)
    with pytest.raises(EndpointError) as raised:
        read(openai(upstream), PREFIX)
    assert (raised.value.problem, raised.value.status) == ("status", status)


def test_no_more_is_read_than_max_bytes(upstream: Upstream, read: Read) -> None:
    upstream.stream(*[chunk("x" * 1_000)] * 50, DONE)
    with pytest.raises(EndpointError) as raised:
        read(openai(upstream, max_bytes=10_000), PREFIX)
    assert raised.value.problem == "too_large"


def never(handler: Handler, upstream: Upstream) -> None:
    upstream.release.wait(60)


def drip_headers(handler: Handler, upstream: Upstream) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not upstream.release.wait(0.05):
        handler.wfile.write(b"x: y\r\n")


def drip_comments(handler: Handler, upstream: Upstream) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not upstream.release.wait(0.05):
        handler.wfile.write(b": hm\n\n")


@pytest.mark.timeout(60)  # it hangs for ever, where the limit is not kept
@pytest.mark.parametrize("way", [never, drip_headers, drip_comments])
def test_a_slow_endpoint_raises(upstream: Upstream, read: Read, way: Any) -> None:
    upstream.reply = lambda handler: way(handler, upstream)
    with pytest.raises(EndpointError) as raised:
        read(openai(upstream, timeout=0.5, total_timeout=0.5), PREFIX)
    assert raised.value.problem == "timeout"


# --- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "messages",
    [
        [],
        "How long?",
        [{"role": "user"}],
        [{"role": "x", "content": ""}],
        ["x"],
        [{"role": "user", "content": {1}}],
        None,
    ],
    ids=repr,
)
def test_messages_that_cannot_be_are_refused(messages: Any) -> None:
    with pytest.raises(ConfigError, match="messages"):
        OpenAIContinuation("http://127.0.0.1:1/v1", "m", messages)


@pytest.mark.parametrize(
    "options",
    [
        {"style": "other"},
        {"timeout": 0},
        {"total_timeout": -1},
        {"max_bytes": 0},
        {"options": {"stream": False}},
        {"api_key": "a b"},
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        OpenAIContinuation("http://127.0.0.1:1/v1", "m", ASKED, **options)
