"""A fake upstream over real HTTP, what it says in each protocol, and our proxy in front of it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from director_ai import ProductionGuard
from director_ai.errors import DirectorError
from director_ai.serve.callers import Caller, NotAuthenticated
from director_ai.serve.errors_http import error_response
from director_ai.serve.guarding import Guarding
from director_ai.serve.open_streams import OpenStreams
from director_ai.serve.proxy import WIRES, Proxy
from director_ai.serve.sse import write_event
from director_ai.serve.upstream import HttpUpstream

FACTS = {"refund": "Refunds are available within 30 days.", "ceo": "The CEO is Jane Doe."}
RIGHT = "Hello! Refunds are available within 30 days. The CEO is Jane Doe. Goodbye!"
WRONG = "Hello! Refunds are available within 90 days. The CEO is Jane Doe. Goodbye!"
ARGUMENTS = '{"text": "Refunds are available within 30 days.", "copies": 2}'
WRONG_ARGUMENTS = ARGUMENTS.replace("30", "90")
USAGE = {"prompt_tokens": 7, "completion_tokens": 11, "total_tokens": 18}


def new_guard(**options: Any) -> ProductionGuard:
    guard = ProductionGuard.from_profile("finance", use_nli=False, **options)
    guard.load_facts(FACTS)
    return guard


def cut(text: str, size: int = 7) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the upstream says, and how it fails."""

    texts: tuple[str, ...] = (RIGHT,)
    """One for each choice."""
    arguments: str = ""
    refusal: str = ""
    reasoning: str = ""
    logprobs: bool = False
    size: int = 7
    """Characters of a token."""
    status: int = 200
    fails: Literal["", "error", "drop", "stall"] = ""
    after: int = 4
    """Events before it fails."""


# --- Chat Completions -------------------------------------------------------------------------------------------------


def chat_whole(case: Case) -> dict[str, Any]:
    choices = []
    for index, text in enumerate(case.texts):
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": case.refusal or None}
        if case.arguments:
            call = {"id": "call_1", "type": "function", "function": {"name": "send", "arguments": case.arguments}}
            message["tool_calls"] = [call]
        if case.reasoning:
            message["reasoning_content"] = case.reasoning
        reason = "tool_calls" if case.arguments else "stop"
        choice = {"index": index, "message": message, "finish_reason": reason}
        choices.append(choice | ({"logprobs": {"content": probabilities([text])}} if case.logprobs else {}))
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "system_fingerprint": "fp_1"}
    return {**head, "service_tier": "default", "choices": choices, "usage": USAGE}


def probabilities(tokens: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "token": token,
            "logprob": -0.5,
            "bytes": list(token.encode()),
            "top_logprobs": [{"token": token, "logprob": -0.5, "bytes": None}],
        }
        for token in tokens
    ]


def chat_events(case: Case) -> Iterator[bytes]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    head |= {"system_fingerprint": "fp_1", "service_tier": "default", "usage": None, "obfuscation": "xyzzy plugh"}

    def chunk(index: int, delta: dict[str, Any], reason: str | None = None, logprobs: Any = None) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
        return write_event(json.dumps(head | {"choices": [choice]}))

    numbers = range(len(case.texts))
    for index in numbers:
        yield chunk(index, {"role": "assistant", "content": "", "refusal": None})
    for token in cut(case.reasoning, case.size):
        yield chunk(0, {"reasoning_content": token})
    for tokens in itertools.zip_longest(*(cut(text, case.size) for text in case.texts)):
        for index, token in enumerate(tokens):
            if token is not None:
                known = {"content": probabilities([token])} if case.logprobs else None
                yield chunk(index, {"content": token}, logprobs=known)
    for token in cut(case.refusal, case.size):
        yield chunk(0, {"refusal": token})
    if case.arguments:
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "send", "arguments": ""}}
        for index in numbers:
            yield chunk(index, {"tool_calls": [call]})
        for token in cut(case.arguments, case.size):
            for index in numbers:
                yield chunk(index, {"tool_calls": [{"index": 0, "function": {"arguments": token}}]})
    for index in numbers:
        yield chunk(index, {}, "tool_calls" if case.arguments else "stop")
    yield write_event(json.dumps(head | {"choices": [], "usage": USAGE}))
    yield write_event("[DONE]")


# --- Responses --------------------------------------------------------------------------------------------------------


def response_whole(case: Case) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if case.reasoning:
        thought = {"type": "summary_text", "text": case.reasoning}
        output.append({"id": "rs_1", "type": "reasoning", "summary": [thought], "encrypted_content": "c2VjcmV0"})
    parts: list[dict[str, Any]] = [
        {
            "type": "output_text",
            "text": text,
            "annotations": [],
            "logprobs": probabilities([text]) if case.logprobs else [],
        }
        for text in case.texts
        if text
    ]
    parts += [{"type": "refusal", "refusal": case.refusal}] if case.refusal else []
    if parts:
        output.append({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": parts})
    if case.arguments:
        call = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "send"}
        output.append(call | {"arguments": case.arguments})
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "error": None}
    head |= {"incomplete_details": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**head, "output": output, "usage": {"input_tokens": 7, "output_tokens": 11, "total_tokens": 18}}


def response_events(case: Case) -> Iterator[bytes]:
    whole, numbers = response_whole(case), itertools.count()

    def event(kind: str, **fields: Any) -> bytes:
        made = {"type": kind, "sequence_number": next(numbers), "obfuscation": "xyzzy plugh", **fields}
        return write_event(json.dumps(made), kind)

    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        yield event("response.output_item.added", output_index=index, item=_begun(item))
        yield from _item_events(case, index, item, event)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=whole)


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty = {"message": {"content": []}, "reasoning": {"summary": []}, "function_call": {"arguments": ""}}
    return item | empty[item["type"]] | ({"status": "in_progress"} if "status" in item else {})


def _item_events(case: Case, index: int, item: dict[str, Any], event: Callable[..., bytes]) -> Iterator[bytes]:
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "reasoning":
        for token in cut(case.reasoning, case.size):
            yield event("response.reasoning_summary_text.delta", **place, summary_index=0, delta=token)
    if item["type"] == "function_call":
        for token in cut(case.arguments, case.size):
            yield event("response.function_call_arguments.delta", **place, delta=token)
        yield event("response.function_call_arguments.done", **place, arguments=case.arguments, name="send")
    for at, part in enumerate(item.get("content", ())):
        name = "text" if part["type"] == "output_text" else "refusal"
        kind, here = part["type"], place | {"content_index": at}
        more = {"annotations": [], "logprobs": []} if name == "text" else {}
        yield event("response.content_part.added", **here, part={"type": kind, name: "", **more})
        for token in cut(part[name], case.size):
            known = {"logprobs": probabilities([token]) if case.logprobs else []} if name == "text" else {}
            yield event(f"response.{kind}.delta", **here, delta=token, **known)
        known = {"logprobs": part["logprobs"]} if name == "text" else {}
        yield event(f"response.{kind}.done", **here, **{name: part[name]}, **known)
        yield event("response.content_part.done", **here, part=part)


# --- Messages ---------------------------------------------------------------------------------------------------------


def message_whole(case: Case) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if case.reasoning:
        content.append({"type": "thinking", "thinking": case.reasoning, "signature": "c2lnbmVk"})
    content += [{"type": "text", "text": text} for text in case.texts if text]
    if case.arguments:
        content.append({"type": "tool_use", "id": "toolu_1", "name": "send", "input": json.loads(case.arguments)})
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    reason = "tool_use" if case.arguments else "end_turn"
    return head | {"stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 11}}


def message_events(case: Case) -> Iterator[bytes]:
    whole = message_whole(case)

    def event(kind: str, **fields: Any) -> bytes:
        return write_event(json.dumps({"type": kind, **fields}), kind)

    yield event("message_start", message=whole | {"content": [], "stop_reason": None})
    yield event("ping")
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}[kind]
        yield event("content_block_start", index=index, content_block=block | empty)
        said = case.arguments if kind == "tool_use" else block[kind]
        name, text = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}.get(
            kind, ("input_json_delta", "partial_json")
        )
        for token in cut(said, case.size):
            yield event("content_block_delta", index=index, delta={"type": name, text: token})
        if kind == "thinking":
            signed = {"type": "signature_delta", "signature": block["signature"]}
            yield event("content_block_delta", index=index, delta=signed)
        yield event("content_block_stop", index=index)
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": 11})
    yield event("message_stop")


PROTOCOLS: dict[str, tuple[Callable[[Case], dict[str, Any]], Callable[[Case], Iterator[bytes]]]] = {
    "/v1/chat/completions": (chat_whole, chat_events),
    "/v1/responses": (response_whole, response_events),
    "/v1/messages": (message_whole, message_events),
}
IN_STREAM_ERROR = {"type": "error", "error": {"type": "server_error", "message": "the secret reason", "code": "boom"}}


# --- servers ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class FakeUpstream:
    """Answers as the case says that a request's model names; it counts who is connected."""

    cases: dict[str, Case] = field(default_factory=dict)
    connected: int = 0
    sent: int = 0
    last_sent: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(routes=[Route(path, self._answer, methods=["POST"]) for path in PROTOCOLS])

    def is_idle(self) -> bool:
        """Whether nobody took anything for a while."""
        return self.connected > 0 and time.monotonic() - self.last_sent > 0.5

    async def _answer(self, request: Request) -> Response:
        asked = json.loads(await request.body())
        self.asked.append(asked)
        self.headers.append(dict(request.headers))
        case = self.cases[asked["model"]]
        whole, events = PROTOCOLS[request.url.path]
        if case.status != 200:
            error = {"message": "try later", "type": "rate_limit_error", "param": None, "code": "slow_down"}
            body = {"type": "error", "error": error | {"failed_generation": WRONG}, "request_id": "up-1"}
            headers = {"retry-after": "3", "x-request-id": "up-1", "x-ratelimit-remaining-requests": "0"}
            return JSONResponse(body, case.status, headers=headers)
        if not asked.get("stream"):
            if case.fails == "stall":
                await self._stall(request)
            return JSONResponse(whole(case), headers={"x-request-id": "up-1"})
        return StreamingResponse(self._stream(case, events(case)), media_type="text/event-stream")

    async def _stall(self, request: Request) -> None:
        self.connected += 1
        try:
            while not await request.is_disconnected():
                await asyncio.sleep(0.02)
        finally:
            self.connected -= 1

    async def _stream(self, case: Case, events: Iterator[bytes]) -> AsyncIterator[bytes]:
        self.connected += 1
        try:
            for number, event in enumerate(events):
                if case.fails and number == case.after:
                    if case.fails == "error":
                        yield write_event(json.dumps(IN_STREAM_ERROR), "error")
                        return
                    if case.fails == "drop":
                        raise ConnectionResetError
                    await asyncio.sleep(60)
                yield event
                self.sent += len(event)
                self.last_sent = time.monotonic()
        finally:
            self.connected -= 1


class StubTenants:
    """One guard for everybody; a key says how it guards."""

    def __init__(self, upstream_url: str) -> None:
        self.guard = new_guard()
        self._upstream_url = upstream_url
        self._upstream: HttpUpstream | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        """The proxy's, for who acts on it from another thread."""

    async def __call__(self, connection: HTTPConnection, scope: str) -> Caller:
        bearer = connection.headers.get("authorization", "").removeprefix("Bearer ")
        key = connection.headers.get("x-api-key", bearer)
        if key not in {"repair", "halt", "reasoning"}:
            raise NotAuthenticated("this key is not known")
        return Caller(caller_id=key, tenant_id="", scopes=frozenset({scope}), shows_reasoning=key == "reasoning")

    async def still_valid(self, caller: Caller) -> bool:
        return True

    def guarding(self, caller: Caller, prompt: str, request_id: str) -> Guarding:
        self.loop = asyncio.get_running_loop()
        mode = "halt" if caller.caller_id == "halt" else "repair"
        return Guarding(guard=self.guard, prompt=prompt, tenant_id="", request_id=request_id, mode=mode)

    def upstream(self, caller: Caller, path: str) -> HttpUpstream:
        if self._upstream is None:
            headers = {"authorization": "Bearer upstream-key"}
            self._upstream = HttpUpstream(self._upstream_url + "/v1", headers=headers, timeout=5)
        return self._upstream

    def admit(self, caller: Caller, open_streams: int) -> None:
        return

    async def aclose(self) -> None:
        if self._upstream is not None:
            await self._upstream.aclose()


@dataclass(frozen=True)
class Proxied:
    """A proxy that runs, and the upstream behind it."""

    url: str
    upstream: FakeUpstream
    tenants: StubTenants
    streams: OpenStreams

    def script(self, case: Case) -> str:
        """Return the name of a model that says what a case says."""
        name = f"model-{len(self.upstream.cases)}"
        self.upstream.cases[name] = case
        return name


def proxy_app(tenants: StubTenants, streams: OpenStreams) -> Starlette:
    proxy = Proxy(tenants, tenants, streams)

    async def answer_error(request: Request, error: Exception) -> Response:
        return error_response(request, error)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await tenants.aclose()

    routes = [Route(path, proxy.handle, methods=["POST"]) for path in WIRES]
    return Starlette(routes=routes, exception_handlers={DirectorError: answer_error}, lifespan=lifespan)


@contextlib.contextmanager
def running(app: Any) -> Iterator[str]:
    """Run an application by uvicorn on a free port, and give its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)


def wait_until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something; the limit is against hanging alone."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)
