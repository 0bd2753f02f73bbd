"""Hooks on the proxy: a call that one of them refuses never reaches the client, and whoever asks may say who it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from servers import KINDS, Served, served, server_of, settings_of
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from upstreams import ARGUMENTS, PROTOCOLS, Case, FakeUpstream, running

from director_ai.core.safety_event import SafetyEvent
from director_ai.errors import ConfigError
from director_ai.hooks.protocol import Occasion, event_of
from director_ai.serve.server import Server
from director_ai.serve.sse import ServerSentEvent
from director_ai.serve.tenancy import Source
from director_ai.serve.upstream import HttpUpstream
from director_ai.serve.wire.chat import ChatWire
from director_ai.serve.wire.items import Pass, Say

FORBIDDEN = '{"text": "Refunds are available within 30 days.", "copies": 7770000007}'
UNREADABLE = '{"text": "Refunds are available within 30 days.", "copies": '


@dataclass(frozen=True)
class Said:
    safety_event: SafetyEvent


@dataclass
class Counting:
    """Refuses more than a hundred copies, and whoever has the wrong papers."""

    moments: tuple[str, ...] = ("request", "action")
    hook_id: str = "agent.counting"
    hook_scope: str = "agent"
    asked: list[Occasion] = field(default_factory=list)

    def examine(self, occasion: Occasion) -> Said:
        self.asked.append(occasion)
        copies = occasion.action.arguments.get("copies", 0) if occasion.action else 0
        is_fine = copies <= 100 and occasion.passport != "forged"
        return Said(event_of(self, occasion, "allow" if is_fine else "block", "no_go_risk"))


@dataclass(frozen=True)
class Hooked:
    served: Served
    upstream: FakeUpstream
    hook: Counting

    def ask(self, path: str, case: Case, *, stream: bool, **headers: str) -> httpx2.Response:
        self.hook.asked.clear()
        self.upstream.cases["m"] = case
        client = self.served.client(self.served.key(), **headers)
        said = [{"role": "user", "content": "What is the refund window?"}]
        body: dict[str, Any] = {"model": "m", "stream": stream}
        body |= {"input": said} if path == "/v1/responses" else {"messages": said, "max_tokens": 100}
        return client.post(path, json=body)


@pytest.fixture(scope="module")
def hooked() -> Iterator[Hooked]:
    upstream, hook = FakeUpstream(), Counting()
    with running(upstream.app()) as url:
        sources = {"main": Source(KINDS, HttpUpstream(url + "/v1", headers={}, timeout=20.0))}
        server = Server(settings_of(), sources=sources, hooks=[hook])
        server.store.add("refund", "Refunds are available within 30 days.")
        server.store.add("ceo", "The CEO is Jane Doe.")
        with served(server) as told:
            yield Hooked(told, upstream, hook)


grid = pytest.mark.parametrize(
    ("path", "stream"), [(path, stream) for path in PROTOCOLS for stream in (True, False)], ids=str
)


@grid
def test_a_call_that_is_allowed_leaves_as_it_came(hooked: Hooked, path: str, stream: bool) -> None:
    got = hooked.ask(path, Case(texts=("",), arguments=ARGUMENTS), stream=stream)
    assert got.status_code == 200
    assert "content_filter" not in got.text
    assert "refusal" not in got.text.replace('"refusal":null', "")
    (asked,) = [each for each in hooked.hook.asked if each.action]
    assert asked.action is not None
    assert (asked.action.name, dict(asked.action.arguments)) == ("send", json.loads(ARGUMENTS))
    assert asked.tenant_id == "acme"
    assert asked.prompt == "What is the refund window?"


@grid
def test_a_call_that_a_hook_refuses_never_reaches_the_client(hooked: Hooked, path: str, stream: bool) -> None:
    got = hooked.ask(path, Case(texts=("",), arguments=FORBIDDEN), stream=stream)
    assert got.status_code == 200
    assert "7770000007" not in got.text
    assert "hook_refused" in got.text
    ended = {"/v1/messages": "refusal"}.get(path, "content_filter")
    assert ended in got.text
    rows = hooked.served.server.queue.trail.rows("acme")
    assert any(row.content.get("hook_id") == "agent.counting" for row in rows)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_call_that_cannot_be_read_is_refused(hooked: Hooked, path: str, stream: bool) -> None:
    got = hooked.ask(path, Case(texts=("",), arguments=UNREADABLE), stream=stream)
    assert "copies" not in got.text
    assert "action_unreadable" in got.text


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_without_arguments_is_examined_too(hooked: Hooked, stream: bool) -> None:
    hooked.ask("/v1/messages", Case(texts=("",), arguments="{}", size=0x1000), stream=stream)
    (asked,) = [each.action for each in hooked.hook.asked if each.action]
    assert (asked.name, dict(asked.arguments)) == ("send", {})


@grid
def test_who_asks_may_say_who_it_is(hooked: Hooked, path: str, stream: bool) -> None:
    who = {"x-director-passport": "signed", "x-director-sender": "planner", "x-director-receiver": "teller"}
    got = hooked.ask(path, Case(), stream=stream, **who)
    assert "Jane Doe" in got.text
    asked = {(each.passport, each.sender, each.receiver) for each in hooked.hook.asked}
    assert asked == {("signed", "planner", "teller")}
    assert not any(name.startswith("x-director") for name in hooked.upstream.headers[-1])


@grid
def test_whose_papers_are_wrong_is_told_nothing(hooked: Hooked, path: str, stream: bool) -> None:
    got = hooked.ask(path, Case(), stream=stream, **{"x-director-passport": "forged"})
    assert not any(word in got.text for word in ("Hello", "Refunds", "Jane", "Goodbye"))
    assert "content_filter" in got.text or "refusal" in got.text


@pytest.mark.parametrize("header", ["x-director-sender", "x-director-receiver"])
def test_a_name_that_is_none_is_the_clients_mistake(hooked: Hooked, header: str) -> None:
    got = hooked.ask("/v1/chat/completions", Case(), stream=True, **{header: "../x"})
    assert got.status_code == 400
    assert "x-director" in got.text


def made() -> list[Counting]:
    return [Counting()]


def broken() -> list[Counting]:
    raise OSError("no such file")


def test_a_file_of_settings_names_the_function_that_makes_hooks() -> None:
    settings = settings_of({"server": {"hooks": f"{__name__}:made"}})
    with server_of(settings=settings) as server:
        assert server.guards.get(settings.usual.guard).examines_actions
    with server_of() as server:
        assert not server.guards.get(server.settings.usual.guard).examines_actions


@pytest.mark.parametrize(
    "place", ["made", f"{__name__}:broken", f"{__name__}:missing", "no.such.module:made", ":", "a:"]
)
def test_a_server_without_its_hooks_does_not_start(place: str) -> None:
    with pytest.raises(ConfigError, match="hooks"):
        server_of(settings=settings_of({"server": {"hooks": place}}))


def whole_chat(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": "tool_calls"}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def whole_response(*items: dict[str, Any]) -> dict[str, Any]:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "error": None}
    return {**head, "output": list(items)}


def whole_message(*blocks: dict[str, Any]) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use"}
    return {**head, "content": list(blocks), "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 11}}


SHELL = {"type": "local_shell_call", "id": "i1", "call_id": "c1", "status": "completed", "action": {"command": ["rm"]}}
ODD_CALLS = {
    "chat, arguments as an object": (
        "/v1/chat/completions",
        whole_chat(
            {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "wipe", "arguments": {"a": 1}}}]}
        ),
    ),
    "chat, arguments as a list": (
        "/v1/chat/completions",
        whole_chat({"tool_calls": [{"id": "c", "type": "function", "function": {"name": "wipe", "arguments": ["x"]}}]}),
    ),
    "chat, no arguments": (
        "/v1/chat/completions",
        whole_chat({"tool_calls": [{"id": "c", "type": "function", "function": {"name": "wipe"}}]}),
    ),
    "chat, legacy": ("/v1/chat/completions", whole_chat({"function_call": {"name": "wipe", "arguments": {"a": 1}}})),
    "responses, arguments as an object": (
        "/v1/responses",
        whole_response({"type": "function_call", "id": "f", "call_id": "c", "name": "wipe", "arguments": {"a": 1}}),
    ),
    "responses, a shell": ("/v1/responses", whole_response(SHELL)),
    "responses, an approval": (
        "/v1/responses",
        whole_response({"type": "mcp_approval_request", "id": "m", "name": "wipe", "arguments": "{}"}),
    ),
    "messages, no input": ("/v1/messages", whole_message({"type": "tool_use", "id": "t", "name": "wipe"})),
    "messages, input as text": (
        "/v1/messages",
        whole_message({"type": "tool_use", "id": "t", "name": "wipe", "input": "all"}),
    ),
}


@dataclass
class Refusing(Counting):
    """Lets nothing be done."""

    moments: tuple[str, ...] = ("action",)

    def examine(self, occasion: Occasion) -> Said:
        self.asked.append(occasion)
        return Said(event_of(self, occasion, "block", "no_go_risk"))


@pytest.mark.parametrize("name", ODD_CALLS)
def test_no_call_is_odd_enough_to_escape(name: str) -> None:
    path, body = ODD_CALLS[name]

    async def answer(_: Request) -> JSONResponse:
        return JSONResponse(body)

    hook = Refusing()
    with running(Starlette(routes=[Route(path, answer, methods=["POST"])])) as url:
        sources = {"main": Source(KINDS, HttpUpstream(url + "/v1", headers={}, timeout=20.0))}
        with served(Server(settings_of(), sources=sources, hooks=[hook])) as told:
            got = told.client(told.key()).post(path, json={"model": "m", "input": "x", "messages": []})
    assert got.status_code == 200
    assert len(hook.asked) == 1
    assert "wipe" not in got.text
    assert '"rm"' not in got.text
    assert "hook_refused" in got.text


@grid
def test_of_a_call_that_is_refused_not_even_the_name_leaves(hooked: Hooked, path: str, stream: bool) -> None:
    got = hooked.ask(path, Case(texts=("",), arguments=FORBIDDEN), stream=stream)
    assert '"send"' not in got.text


def test_legacy_calls_have_one_name_and_no_second(hooked: Hooked) -> None:
    wire = ChatWire({"model": "m", "stream": True})

    def delta(**call: str) -> list[Any]:
        chunk = {"id": "c", "choices": [{"index": 0, "delta": {"function_call": call}, "finish_reason": None}]}
        return list(wire.read(ServerSentEvent(json.dumps(chunk))))

    said = [item for call in ({"arguments": "{"}, {"name": "search"}, {"name": "wipe"}) for item in delta(**call)]
    tools = [item.tool for item in said if isinstance(item, Say) and item.tool is not None]
    assert tools == [""]
    written = b"".join(item.data for item in said if isinstance(item, Pass))
    assert b"wipe" not in written
    assert b"search" not in written


def test_each_kind_of_call_is_a_call_of_its_own() -> None:
    wire = ChatWire({"model": "m", "stream": True})

    def delta(call: dict[str, Any]) -> list[Any]:
        chunk = {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}
        return list(wire.read(ServerSentEvent(json.dumps(chunk))))

    said = delta({"index": 0, "id": "a", "function": {"name": "search", "arguments": "{}"}})
    said += delta({"index": 0, "custom": {"name": "bash", "input": "rm -rf /"}})
    assert [item.tool for item in said if isinstance(item, Say) and item.tool is not None] == ["search", "bash"]


@pytest.mark.parametrize("header", ["x-director-passport", "x-director-sender"])
def test_two_headers_that_may_disagree_are_refused(hooked: Hooked, header: str) -> None:
    with httpx2.Client(trust_env=False) as client:
        given = [("authorization", f"Bearer {hooked.served.key()}"), (header, "one"), (header, "two")]
        body = {"model": "m", "messages": []}
        got = client.post(f"{hooked.served.url}/v1/chat/completions", json=body, headers=given)
    assert got.status_code == 400


def test_a_client_cannot_choose_what_a_replay_is_told_by(hooked: Hooked) -> None:
    exchanges = set()
    for _ in range(2):
        hooked.ask("/v1/chat/completions", Case(), stream=True, **{"x-request-id": "fixed"})
        assert {each.request_id for each in hooked.hook.asked} == {"fixed"}
        exchanges |= {each.exchange_id for each in hooked.hook.asked}
    assert len(exchanges) == 2
    assert "" not in exchanges


def leaving() -> list[Counting]:
    raise SystemExit(0)


def one() -> Counting:
    return Counting()


def secretive() -> list[Counting]:
    raise RuntimeError("sk-12345")


@pytest.mark.parametrize("function", ["leaving", "one", "secretive"])
def test_a_function_that_makes_no_hooks_says_so_and_tells_no_secret(function: str) -> None:
    with pytest.raises(ConfigError, match="hooks") as refused:
        server_of(settings=settings_of({"server": {"hooks": f"{__name__}:{function}"}}))
    assert "sk-12345" not in str(refused.value)
