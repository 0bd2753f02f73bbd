"""Optimistic mode through the official SDKs: plain iteration goes on as ever, and corrections can be read."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

from replays import Replay, replayed  # noqa: E402
from upstreams import (  # noqa: E402
    ARGUMENTS,
    RIGHT,
    WRONG,
    Case,
    FakeUpstream,
    Proxied,
    StubTenants,
    proxy_app,
    running,
    wait_until,
)

from director_ai.errors import RecordError  # noqa: E402
from director_ai.serve.callers import Caller  # noqa: E402
from director_ai.serve.guarding import Guarding  # noqa: E402
from director_ai.serve.open_streams import OpenStreams  # noqa: E402

HEADERS = {"x-director-mode": "optimistic"}
ASKED: Any = [{"role": "user", "content": "What is the refund window?"}]
FIXED = WRONG.replace("90", "30")
CASES = {
    "right": (Case(), "repair", RIGHT),
    "wrong": (Case(texts=(WRONG,)), "repair", FIXED),
    "wrong_token_by_token": (Case(texts=(WRONG,), size=1), "repair", FIXED),
    "call": (Case(texts=(WRONG,), arguments=ARGUMENTS), "repair", FIXED),
    "halted": (Case(texts=(WRONG,)), "halt", "Hello! "),
}
by_case = pytest.mark.parametrize("name", CASES)


class OptimisticTenants(StubTenants):
    """All of them may ask for text before it is judged; what cannot be recorded is not begun."""

    disk_is_full = False

    def guarding(self, caller: Caller, prompt: str, request_id: str) -> Guarding:
        made = super().guarding(caller, prompt, request_id)
        return dataclasses.replace(made, allows_optimism=True, record=self.record)

    def record(self, _: Any) -> None:
        if self.disk_is_full:
            raise RecordError("the record cannot be written")


@pytest.fixture(scope="module")
def proxied() -> Iterator[Proxied]:
    upstream, streams = FakeUpstream(), OpenStreams()
    with running(upstream.app()) as upstream_url:
        tenants = OptimisticTenants(upstream_url)
        with running(proxy_app(tenants, streams)) as url:
            yield Proxied(url, upstream, tenants, streams)


@pytest.fixture
def asked(proxied: Proxied, name: str) -> Iterator[tuple[Any, Any, str, str]]:
    """Both clients, the model that says the case, and what is right."""
    case, key, expected = CASES[name]
    options: Any = {"api_key": key, "max_retries": 0, "timeout": 20, "default_headers": HEADERS}
    with (
        openai.OpenAI(
            base_url=proxied.url + "/v1", http_client=openai.DefaultHttpxClient(verify=False), **options
        ) as one,
        anthropic.Anthropic(
            base_url=proxied.url, http_client=anthropic.DefaultHttpxClient(verify=False), **options
        ) as two,
    ):
        yield one, two, proxied.script(case), expected


def as_sent(events: Any) -> list[dict[str, Any]]:
    """Return what an SDK made of the events as objects."""
    return [event.model_dump(exclude_unset=True) for event in events]


def held(client: Replay) -> str:
    assert client.is_final
    assert client.corrections
    (text,) = client.texts.values()
    return text


@by_case
def test_chat_chunks_carry_corrections(asked: Any, name: str) -> None:
    client, _, model, expected = asked
    chunks = list(client.chat.completions.create(model=model, messages=ASKED, stream=True))
    assert held(replayed(as_sent(chunks))) == expected
    reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    assert reasons == [{"call": "tool_calls", "halted": "content_filter"}.get(name, "stop")]


@by_case
def test_the_stream_helper_of_chat_goes_on(asked: Any, name: str) -> None:
    client, _, model, _ = asked
    raised = pytest.raises(openai.ContentFilterFinishReasonError) if name == "halted" else contextlib.nullcontext()
    with raised, client.chat.completions.stream(model=model, messages=ASKED) as stream:
        kinds = {event.type for event in stream}
        assert "content.delta" in kinds
        final = stream.get_final_completion()
        assert final.choices[0].finish_reason == {"call": "tool_calls"}.get(name, "stop")


@by_case
def test_response_events_carry_corrections_and_end_corrected(asked: Any, name: str) -> None:
    client, _, model, expected = asked
    events = list(client.responses.create(model=model, input="What is the refund window?", stream=True))
    assert held(replayed(as_sent(events))) == expected
    assert [event.sequence_number for event in events] == list(range(len(events)))
    (done,) = [event for event in events if event.type == "response.output_text.done"]
    assert done.text == expected
    assert events[-1].response.output_text == expected
    assert events[-1].type == ("response.incomplete" if name == "halted" else "response.completed")


@by_case
def test_the_stream_helper_of_responses_ends_corrected(asked: Any, name: str) -> None:
    client, _, model, expected = asked
    with client.responses.stream(model=model, input="What is the refund window?") as stream:
        events = list(stream)
        if name != "halted":
            assert stream.get_final_response().output_text == expected
    assert events[-1].type == ("response.incomplete" if name == "halted" else "response.completed")


@by_case
def test_message_events_carry_corrections(asked: Any, name: str) -> None:
    _, client, model, expected = asked
    events = list(client.messages.create(model=model, messages=ASKED, max_tokens=100, stream=True))
    assert held(replayed(as_sent(events))) == expected
    (ended,) = [event for event in events if event.type == "message_delta"]
    assert ended.delta.stop_reason == {"call": "tool_use", "halted": "refusal"}.get(name, "end_turn")


@by_case
def test_the_stream_helper_of_messages_goes_on(asked: Any, name: str) -> None:
    _, client, model, _ = asked
    with client.messages.stream(model=model, messages=ASKED, max_tokens=100) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    assert kinds[-1] == "message_stop"
    assert final.stop_reason == {"call": "tool_use", "halted": "refusal"}.get(name, "end_turn")


@by_case
def test_asynchronous_clients_get_the_same(asked: Any, proxied: Proxied, name: str) -> None:
    _, _, model, expected = asked
    options: Any = {"api_key": CASES[name][1], "max_retries": 0, "timeout": 20, "default_headers": HEADERS}

    async def go() -> list[Replay]:
        async with openai.AsyncOpenAI(
            base_url=proxied.url + "/v1", http_client=openai.DefaultAsyncHttpxClient(verify=False), **options
        ) as one:
            chat = await one.chat.completions.create(model=model, messages=ASKED, stream=True)
            made = [replayed(as_sent([chunk async for chunk in chat]))]
        async with anthropic.AsyncAnthropic(
            base_url=proxied.url, http_client=anthropic.DefaultAsyncHttpxClient(verify=False), **options
        ) as two:
            said = await two.messages.create(model=model, messages=ASKED, max_tokens=100, stream=True)
            return [*made, replayed(as_sent([event async for event in said]))]

    assert [held(client) for client in asyncio.run(go())] == [expected, expected]


@pytest.mark.parametrize("name", ["wrong"])
def test_a_stream_whose_mode_cannot_be_recorded_does_not_begin(asked: Any, proxied: Proxied, name: str) -> None:
    client, _, model, _ = asked
    proxied.tenants.disk_is_full = True
    try:
        with pytest.raises(openai.InternalServerError, match="the record cannot be written") as refused:
            client.chat.completions.create(model=model, messages=ASKED, stream=True)
    finally:
        proxied.tenants.disk_is_full = False
    assert refused.value.status_code == 503
    wait_until(lambda: proxied.upstream.connected == 0)
