"""An upstream that follows a script: everything can be tried with no model and no account."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.sse import write_event
from director_ai.serve.upstream import Answer
from director_ai.serve.wire.reading import last_user_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

__all__ = ["ScriptedUpstream"]

_MOST_CHOICES: Final = 8
_PIECE: Final = re.compile(r"\s*\w{1,5}|\s*[^\w\s]|\s+")


class ScriptedUpstream:
    """Answers in every protocol of the proxy with what a function says to the last words of the user."""

    def __init__(self, say: Callable[[str], str], *, delay: float = 0.02) -> None:
        self._say, self._delay = say, delay
        self._numbers = itertools.count(1)

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:  # noqa: ARG002
        """Answer a request."""
        if path == "/models":
            return _whole({"object": "list", "data": [{"id": "demo", "object": "model", "owned_by": "director-ai"}]})
        request = json.loads(body)
        asked = last_user_text(request.get("messages", request.get("input")))
        number, text = next(self._numbers), self._say(asked)
        whole, streamed = _PROTOCOLS[path]
        if not request.get("stream"):
            return _whole(whole(number, text, request))
        return Answer(
            status=200,
            headers={"content-type": "text/event-stream", "x-request-id": f"demo-{number}"},
            chunks=self._paced(streamed(number, _PIECE.findall(text), request)),
        )

    async def aclose(self) -> None:
        """There is nothing to let go of."""

    async def _paced(self, events: Iterator[bytes]) -> AsyncIterator[bytes]:
        for event in events:
            yield event
            await asyncio.sleep(self._delay)


def _whole(body: dict[str, Any]) -> Answer:
    async def chunks() -> AsyncIterator[bytes]:
        yield json.dumps(body).encode()

    return Answer(status=200, headers={"content-type": "application/json"}, chunks=chunks())


# --- Chat Completions ---------------------------------------------------------------------------------------------


def _choices(request: Mapping[str, Any]) -> range:
    wanted = request.get("n")
    return range(min(wanted, _MOST_CHOICES) if isinstance(wanted, int) and wanted > 0 else 1)


def _chat(number: int, text: str, request: Mapping[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choices = [{"index": at, "message": message, "finish_reason": "stop"} for at in _choices(request)]
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "demo",
        "choices": choices,
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _chat_events(number: int, pieces: list[str], request: Mapping[str, Any]) -> Iterator[bytes]:
    base = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "demo"}

    def chunks(delta: dict[str, Any], reason: str | None = None) -> Iterator[bytes]:
        for at in _choices(request):
            yield write_event(json.dumps(base | {"choices": [{"index": at, "delta": delta, "finish_reason": reason}]}))

    yield from chunks({"role": "assistant", "content": ""})
    for piece in pieces:
        yield from chunks({"content": piece})
    yield from chunks({}, "stop")
    if (request.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 1, "completion_tokens": len(pieces), "total_tokens": len(pieces) + 1}
        yield write_event(json.dumps(base | {"choices": [], "usage": usage}))
    yield write_event("[DONE]")


# --- Responses ----------------------------------------------------------------------------------------------------


def _response(number: int, text: str, _request: Mapping[str, Any]) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant", "content": [part]}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "model": "demo",
        "error": None,
        "incomplete_details": None,
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    }


def _response_events(number: int, pieces: list[str], request: Mapping[str, Any]) -> Iterator[bytes]:
    whole = _response(number, "".join(pieces), request)
    (item,) = whole["output"]
    (part,) = item["content"]
    numbers = itertools.count()

    def event(kind: str, **fields: Any) -> bytes:
        return write_event(json.dumps({"type": kind, "sequence_number": next(numbers), **fields}), kind)

    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    started = item | {"status": "in_progress", "content": []}
    yield event("response.output_item.added", output_index=0, item=started)
    yield event("response.content_part.added", **place, part=part | {"text": ""})
    for piece in pieces:
        yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
    yield event("response.output_text.done", **place, text=part["text"], logprobs=[])
    yield event("response.content_part.done", **place, part=part)
    yield event("response.output_item.done", output_index=0, item=item)
    yield event("response.completed", response=whole)


# --- Messages -----------------------------------------------------------------------------------------------------


def _message(number: int, text: str, _request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "demo",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _message_events(number: int, pieces: list[str], request: Mapping[str, Any]) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return write_event(json.dumps({"type": kind, **fields}), kind)

    yield event("message_start", message=_message(number, "", request) | {"content": [], "stop_reason": None})
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for piece in pieces:
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    yield event("content_block_stop", index=0)
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": len(pieces)})
    yield event("message_stop")


_PROTOCOLS: Final[dict[str, tuple[Callable[..., dict[str, Any]], Callable[..., Iterator[bytes]]]]] = {
    "/chat/completions": (_chat, _chat_events),
    "/messages": (_message, _message_events),
    "/responses": (_response, _response_events),
}
