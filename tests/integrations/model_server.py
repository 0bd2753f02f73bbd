"""A model's server that says what a test wants, over real HTTP, in the protocols of both SDKs."""

from __future__ import annotations

import contextlib
import json
import select
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STALL = b"(stall)"
"""In place of a chunk: nothing comes until the client leaves."""
DROP = b"(drop)"
"""In place of a chunk: the connection breaks."""


@dataclass
class Says:
    """What the server answers with."""

    chunks: Iterable[bytes]
    status: int = 200
    kind: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


class ModelServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.says: Callable[[str, dict[str, Any]], Says] = lambda path, asked: Says([], 404)
        self.left = threading.Event()
        """Set when a client left in the middle of an answer."""
        self.asked: list[tuple[str, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, *args: object) -> None:
        pass

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        asked = json.loads(body) if body else {}
        self.server.asked.append((self.path, asked))
        said = self.server.says(self.path, asked)
        self.send_response(said.status)
        self.send_header("content-type", said.kind)
        self.send_header("x-request-id", "up-1")
        for name, value in said.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for chunk in said.chunks:
                if chunk is DROP:
                    self.close_connection = True
                    return
                if chunk is STALL:
                    if select.select([self.connection], [], [], 10)[0]:
                        self.server.left.set()
                    self.close_connection = True
                    return
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.server.left.set()
            self.close_connection = True

    do_POST = do_GET = _answer


@contextlib.contextmanager
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def event(data: Any, name: str = "") -> bytes:
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def whole(body: dict[str, Any]) -> Says:
    return Says([json.dumps(body).encode()], kind="application/json")


# --- Chat Completions ---------------------------------------------------------------------------------------------

CHAT = {"id": "chat-1", "created": 1, "model": "m-1"}


def chat_chunk(delta: dict[str, Any], *, index: int = 0, reason: str | None = None) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": reason}
    return event(CHAT | {"object": "chat.completion.chunk", "choices": [choice]})


def chat_stream(tokens: list[str], *, choices: int = 1) -> list[bytes]:
    made = [chat_chunk({"role": "assistant", "content": ""}, index=index) for index in range(choices)]
    made += [chat_chunk({"content": token}, index=index) for token in tokens for index in range(choices)]
    made += [chat_chunk({}, index=index, reason="stop") for index in range(choices)]
    return [*made, event("[DONE]")]


def chat_whole(*texts: str) -> Says:
    choices = [
        {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return whole(CHAT | {"object": "chat.completion", "choices": choices, "usage": usage})


# --- Responses ----------------------------------------------------------------------------------------------------


def _response(status: str, text: str | None = None) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "msg-1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "resp-1", "object": "response", "created_at": 1, "status": status, "model": "m-1", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [], "output": [] if text is None else [item],
    }  # fmt: skip


def responses_whole(text: str) -> Says:
    return whole(_response("completed", text))


def responses_stream(tokens: list[str]) -> list[bytes]:
    text, place = "".join(tokens), {"item_id": "msg-1", "output_index": 0, "content_index": 0}
    done = _response("completed", text)
    (item,) = done["output"]
    (part,) = item["content"]
    events: list[tuple[str, dict[str, Any]]] = [
        ("created", {"response": _response("in_progress")}),
        ("output_item.added", {"output_index": 0, "item": item | {"status": "in_progress", "content": []}}),
        ("content_part.added", place | {"part": part | {"text": ""}}),
        *(("output_text.delta", place | {"delta": token, "logprobs": []}) for token in tokens),
        ("output_text.done", place | {"text": text, "logprobs": []}),
        ("content_part.done", place | {"part": part}),
        ("output_item.done", {"output_index": 0, "item": item}),
        ("completed", {"response": done}),
    ]
    return [
        event({"type": f"response.{name}", "sequence_number": number, **data}, f"response.{name}")
        for number, (name, data) in enumerate(events)
    ]


# --- Messages -----------------------------------------------------------------------------------------------------


def _message(content: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {
        "id": "msg-1", "type": "message", "role": "assistant", "model": "m-1", "content": content,
        "stop_reason": reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def messages_whole(text: str) -> Says:
    return whole(_message([{"type": "text", "text": text}], "end_turn"))


def messages_stream(tokens: list[str]) -> list[bytes]:
    events = [
        {"type": "message_start", "message": _message([], None)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": token}}
            for token in tokens
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    return [event(each, str(each["type"])) for each in events]
