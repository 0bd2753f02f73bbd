"""Hooks on the proxy: a call that one of them refuses never reaches the client, and whoever asks may say who it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from servers import KINDS, Served, served, server_of, settings_of
from upstreams import ARGUMENTS, PROTOCOLS, Case, FakeUpstream, running

from director_ai.core.safety_event import SafetyEvent
from director_ai.errors import ConfigError
from director_ai.hooks.protocol import Occasion, event_of
from director_ai.serve.server import Server
from director_ai.serve.tenancy import Source
from director_ai.serve.upstream import HttpUpstream

FORBIDDEN = '{"text": "Refunds are available within 30 days.", "copies": 666}'
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
    assert "666" not in got.text
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
