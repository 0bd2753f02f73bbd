"""The official SDKs, wrapped, against a real HTTP server: what their users get, and what they never get."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import anyio
import openai
import pytest
from asking import CHAT, ENDPOINTS, MESSAGES, QUESTION, RESPONSES, WAYS, Endpoint, Heard, ask, use
from model_server import DROP, STALL, ModelServer, Says, chat_chunk, chat_stream, chat_whole, event, whole

from director_ai import ConfigError, ProductionGuard

RIGHT = ["Hello! Ref", "unds are avail", "able within 30", " days.\r\n\n  The C", "EO is Jane Doe."]
WRONG = ["Hello! Refunds are", " available within 9", "0 days. The CEO", " is Jane Doe."]

Wrapped = Callable[..., Any]

endpoints = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.name)
ways = pytest.mark.parametrize("way", WAYS)


@endpoints
@ways
def test_what_is_supported_comes_out_byte_for_byte(
    guard: ProductionGuard, model: ModelServer, endpoint: Endpoint, way: str
) -> None:
    heard = ask(guard, model, endpoint, way, RIGHT)
    assert heard.text == "Hello! Refunds are available within 30 days.\r\n\n  The CEO is Jane Doe."
    assert heard.end in {"stop", "completed", "end_turn"}


@endpoints
@ways
def test_a_wrong_value_is_patched_and_the_rest_kept(
    guard: ProductionGuard, model: ModelServer, endpoint: Endpoint, way: str
) -> None:
    heard = ask(guard, model, endpoint, way, WRONG)
    assert heard.text == "Hello! Refunds are available within 30 days. The CEO is Jane Doe."
    assert heard.end in {"stop", "completed", "end_turn"}


@endpoints
@ways
def test_a_halt_shows_in_the_words_of_the_protocol_and_never_as_a_stop(
    guard: ProductionGuard, model: ModelServer, endpoint: Endpoint, way: str
) -> None:
    heard = ask(guard, model, endpoint, way, WRONG, mode="halt")
    assert (heard.text, heard.end) == ("Hello! ", endpoint.halted)


@pytest.mark.parametrize("way", ["sync stream", "async stream"])
@endpoints
def test_clauses_come_one_by_one(guard: ProductionGuard, model: ModelServer, endpoint: Endpoint, way: str) -> None:
    assert ask(guard, model, endpoint, way, WRONG).pieces == 3


def test_a_clause_leaves_before_the_model_says_the_next(model: ModelServer, wrapped: Wrapped) -> None:
    """The server waits for a clause to be read before it goes on: a client that buffered would hang."""
    read = threading.Event()

    def chunks() -> Any:
        first, second = (
            chat_stream(["Hello! Refunds are available within 30 days. The"]),
            chat_stream([" CEO is Jane Doe."]),
        )
        yield from first[:2]
        assert read.wait(10)
        yield from second[1:]

    model.says = lambda path, asked: Says(chunks())
    client = wrapped(CHAT)
    heard = ""
    for chunk in client.chat.completions.create(model="m-1", messages=QUESTION, stream=True):
        heard += chunk.choices[0].delta.content or ""
        if heard == "Hello! Refunds are available within 30 days. ":
            read.set()
    assert heard.endswith("The CEO is Jane Doe.")


def test_a_repair_is_visible_to_who_looks(model: ModelServer, wrapped: Wrapped) -> None:
    model.says = lambda path, asked: chat_whole("".join(WRONG))
    answer = wrapped(CHAT).chat.completions.create(model="m-1", messages=QUESTION)
    (action,) = answer.guard["actions"]
    assert (action["action"], action["evidence_ids"]) == ("rewrite", ["refund"])
    assert "evidence" not in action
    shown = wrapped(CHAT, shows_evidence=True).chat.completions.create(model="m-1", messages=QUESTION)
    assert shown.guard["actions"][0]["evidence"]


def test_a_wrapped_client_is_one_of_its_kind_and_leaves_the_other_as_it_was(
    guard: ProductionGuard, model: ModelServer
) -> None:
    model.says = lambda path, asked: chat_whole("".join(WRONG))
    with CHAT.client(model, organization="acme", timeout=7.0) as client:
        wrapped = guard.wrap(client)
        assert type(wrapped) is openai.OpenAI
        assert (wrapped.organization, wrapped.timeout, wrapped.api_key) == ("acme", 7.0, "key")
        assert CHAT.hear(CHAT.create(client)).text == "".join(WRONG)
        copied = wrapped.with_options(timeout=3.0)
        assert "30 days" in CHAT.hear(CHAT.create(copied)).text
        wrapped.close()
        assert client.is_closed()


def test_the_response_of_a_stream_is_there_with_its_headers(model: ModelServer, wrapped: Wrapped) -> None:
    model.says = lambda path, asked: Says(chat_stream(WRONG), headers={"x-ratelimit-remaining-requests": "9"})
    with CHAT.create(wrapped(CHAT), stream=True) as stream:
        assert stream.response.headers["x-ratelimit-remaining-requests"] == "9"
        assert stream.response.headers["x-director-request-id"].startswith("req-")
        assert list(stream)
    assert stream.response.is_closed
    raw = wrapped(CHAT).chat.completions.with_raw_response.create(model="m-1", messages=QUESTION, stream=True)
    assert raw.request_id == "up-1"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in raw.parse()).endswith("Jane Doe.")


def test_the_stream_helpers_of_the_sdks_work(model: ModelServer, wrapped: Wrapped) -> None:
    repaired = "Hello! Refunds are available within 30 days. The CEO is Jane Doe."
    model.says = lambda path, asked: Says(CHAT.stream(WRONG))
    with wrapped(CHAT).chat.completions.stream(model="m-1", messages=QUESTION) as stream:
        assert [each.type for each in stream][-1] == "content.done"
        assert stream.get_final_completion().choices[0].message.content == repaired
    model.says = lambda path, asked: Says(RESPONSES.stream(WRONG))
    with wrapped(RESPONSES).responses.stream(model="m-1", input="What?") as stream:
        assert list(stream)
        assert stream.get_final_response().output_text == repaired
    model.says = lambda path, asked: Says(MESSAGES.stream(WRONG))
    with wrapped(MESSAGES).messages.stream(model="m-1", max_tokens=9, messages=QUESTION) as stream:
        assert "".join(stream.text_stream) == repaired
        assert stream.get_final_text() == repaired


def test_every_choice_has_a_guard_of_its_own(model: ModelServer, wrapped: Wrapped) -> None:
    chunks = [chat_chunk({"role": "assistant", "content": ""}, index=index) for index in (0, 1)]
    for wrong, right in zip(WRONG, ["Refunds are ", "available within ", "30 ", "days."], strict=True):
        chunks += [chat_chunk({"content": wrong}), chat_chunk({"content": right}, index=1)]
    chunks += [chat_chunk({}, index=index, reason="stop") for index in (0, 1)]
    model.says = lambda path, asked: Says([*chunks, event("[DONE]")])
    texts, ends = ["", ""], ["", ""]
    for chunk in CHAT.create(wrapped(CHAT, mode="halt"), n=2, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            ends[choice.index] = choice.finish_reason or ends[choice.index]
    assert texts == ["Hello! ", "Refunds are available within 30 days."]
    assert ends == ["content_filter", "stop"]
    model.says = lambda path, asked: chat_whole("".join(WRONG), "Refunds are available within 30 days.")
    answer = CHAT.create(wrapped(CHAT), n=2)
    assert all("30 days" in choice.message.content for choice in answer.choices)


def test_tool_arguments_are_repaired_and_stay_json(model: ModelServer, wrapped: Wrapped) -> None:
    start = {"index": 0, "id": "call-1", "type": "function", "function": {"name": "send", "arguments": ""}}
    parts = ['{"text":"Refunds are avail', 'able within 90 days."}']
    chunks = [chat_chunk({"role": "assistant", "content": ""}), chat_chunk({"tool_calls": [start]})]
    chunks += [chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}) for part in parts]
    model.says = lambda path, asked: Says([*chunks, chat_chunk({}, reason="tool_calls"), event("[DONE]")])
    arguments, ends = "", []
    for chunk in CHAT.create(wrapped(CHAT), stream=True):
        for call in chunk.choices[0].delta.tool_calls or ():
            arguments += call.function.arguments or ""
        ends += [chunk.choices[0].finish_reason] if chunk.choices[0].finish_reason else []
    assert json.loads(arguments) == {"text": "Refunds are available within 30 days."}
    assert ends == ["tool_calls"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "AuthenticationError"), (404, "NotFoundError"), (429, "RateLimitError"), (500, "InternalServerError")],
)
@endpoints
@ways
def test_errors_of_the_upstream_are_those_of_the_sdk(
    guard: ProductionGuard, model: ModelServer, endpoint: Endpoint, way: str, status: int, kind: str
) -> None:
    sdk: Any = openai if endpoint.sdk == "openai" else anthropic
    body = {"type": "error", "error": {"message": "no", "type": "some_error", "code": "c-1", "param": None}}
    client = guard.wrap(endpoint.client(model, is_async=way.startswith("async")))
    model.says = lambda path, asked: Says([json.dumps(body).encode()], status, "application/json", {"retry-after": "7"})
    with pytest.raises(getattr(sdk, kind)) as raised:
        use(endpoint, client, way)
    assert raised.value.body is not None
    assert raised.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("way", ["sync stream", "async stream"])
@endpoints
def test_an_upstream_that_breaks_off_ends_in_an_error_of_the_sdk(
    guard: ProductionGuard, model: ModelServer, endpoint: Endpoint, way: str
) -> None:
    sdk: Any = openai if endpoint.sdk == "openai" else anthropic
    chunks = endpoint.stream(["Refunds are available within 30 days. The CEO is"])
    text = next(place for place, chunk in enumerate(chunks) if b"The CEO is" in chunk)
    model.says = lambda path, asked: Says([*chunks[: text + 1], DROP])
    client = guard.wrap(endpoint.client(model, is_async=way.startswith("async")))
    with pytest.raises(sdk.APIError, match="broke off"):
        use(endpoint, client, way)


@pytest.mark.parametrize("way", ["sync stream", "async stream"])
@endpoints
def test_leaving_early_closes_the_upstream(
    guard: ProductionGuard, model: ModelServer, endpoint: Endpoint, way: str
) -> None:
    chunks = endpoint.stream(["Hello! Refunds are available within 30 days. The "])
    text = next(place for place, chunk in enumerate(chunks) if b"Hello" in chunk)
    model.says = lambda path, asked: Says([*chunks[: text + 1], STALL])
    client = guard.wrap(endpoint.client(model, is_async=way.startswith("async")))
    assert "30 days" in use(endpoint, client, way, until="30 days").text
    assert model.left.wait(5)


def test_closing_a_stream_from_another_thread_ends_whoever_waits_for_it(model: ModelServer, wrapped: Wrapped) -> None:
    model.says = lambda path, asked: Says([chat_chunk({"role": "assistant", "content": ""}), STALL])
    stream = CHAT.create(wrapped(CHAT), stream=True)
    ended = threading.Event()

    def read() -> None:
        with pytest.raises(StopIteration):
            while True:
                next(stream)
        ended.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    while not model.asked:
        time.sleep(0.01)
    time.sleep(0.2)  # so that it waits; that it does not yet must not matter
    stream.close()
    assert ended.wait(5)
    assert model.left.wait(5)


def test_a_synchronous_client_works_inside_of_an_event_loop(guard: ProductionGuard, model: ModelServer) -> None:
    async def main() -> Heard:
        return ask(guard, model, CHAT, "sync stream", WRONG)

    assert "30 days" in asyncio.run(main()).text


def test_nothing_is_left_running(guard: ProductionGuard, model: ModelServer) -> None:
    before = threading.active_count()
    for _ in range(5):
        ask(guard, model, CHAT, "sync stream", WRONG)
    for thread in threading.enumerate():
        if thread.name.startswith("AnyIO"):
            thread.join(2)
    assert threading.active_count() <= before + 2  # threads of the server that are about to end


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_answer_that_is_no_object_is_refused_without_asking_again(
    guard: ProductionGuard, model: ModelServer, way: str
) -> None:
    model.says = lambda path, asked: Says([b"[1]"], kind="application/json")
    client = guard.wrap(CHAT.client(model, is_async=way == "async", max_retries=2))
    with pytest.raises(openai.InternalServerError, match="no JSON object"):
        use(CHAT, client, way)
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.completions.create(model="m-1", prompt="What?"),
        lambda client: client.chat.completions.list(),
        lambda client: client.beta.threads.messages.list("thread-1"),
    ],
    ids=["legacy completions", "stored completions", "threads"],
)
def test_texts_that_cannot_be_judged_are_not_fetched(model: ModelServer, wrapped: Wrapped, call: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="cannot be guarded"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the SDK's, of an old interface
        call(wrapped(CHAT))
    assert model.asked == []


def test_streams_of_unknown_calls_are_refused(model: ModelServer, wrapped: Wrapped) -> None:
    model.says = lambda path, asked: Says([event({"delta": "90 days"})])
    with pytest.raises(openai.BadRequestError, match="cannot be guarded"):
        wrapped(CHAT).post("/some/thing", cast_to=object, body={}, stream=True)


def test_calls_without_text_of_a_model_pass_as_they_are(model: ModelServer, wrapped: Wrapped) -> None:
    model.says = lambda path, asked: whole(
        {"object": "list", "data": [{"id": "m-1", "object": "model", "created": 1, "owned_by": "x"}]}
    )
    assert [each.id for each in wrapped(CHAT).models.list()] == ["m-1"]


def test_a_stored_response_is_judged_when_it_is_fetched(model: ModelServer, wrapped: Wrapped) -> None:
    model.says = lambda path, asked: RESPONSES.whole("".join(WRONG))
    assert "30 days" in wrapped(RESPONSES).responses.retrieve("resp-1").output_text


def test_web_sockets_lead_nowhere(model: ModelServer, wrapped: Wrapped) -> None:
    assert str(wrapped(CHAT).websocket_base_url).endswith(".invalid")


def test_facts_of_a_tenant_are_read_for_its_client_alone(model: ModelServer) -> None:
    with ProductionGuard.from_profile("finance", use_nli=False, search="words") as guard:
        guard.load_facts({"refund": "Refunds are available within 60 days."}, tenant_id="acme")
        says = ["Refunds are available within 60 days."]
        assert ask(guard, model, CHAT, "sync", says, tenant_id="acme").text == says[0]
        assert ask(guard, model, CHAT, "sync", says, tenant_id="other").text == "[redacted: not supported]"


@pytest.mark.parametrize(
    ("client", "options", "message"),
    [
        (object(), {}, "openai.OpenAI, openai.AsyncOpenAI.*got a object"),
        (None, {}, "got a NoneType"),
        (openai, {}, "got a module"),
        (anthropic.AnthropicBedrock, {}, "got a type"),
        (openai.OpenAI(api_key="k"), {"tenant": "acme"}, "did you mean 'tenant_id'"),
        (openai.OpenAI(api_key="k"), {"mode": "fix"}, "unknown mode"),
        (openai.OpenAI(api_key="k"), {"tenant_id": "../x"}, "tenant_id"),
        (openai.OpenAI(api_key="k"), {"shows_evidence": "yes"}, "must be True or False"),
    ],
    ids=["an object", "nothing", "the module", "a class", "a misspelt option", "a mode", "a tenant", "a flag"],
)
def test_what_cannot_be_wrapped_is_refused_with_a_sentence(
    guard: ProductionGuard, client: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        guard.wrap(client, **options)


def test_a_deployment_of_azure_is_guarded(guard: ProductionGuard, model: ModelServer) -> None:
    model.says = lambda path, asked: chat_whole("".join(WRONG))
    given = openai.AzureOpenAI(azure_endpoint=model.url, api_version="2026-01-01", api_key="key", max_retries=0)
    with guard.wrap(given) as client:
        assert "30 days" in CHAT.hear(CHAT.create(client)).text
    assert model.asked[0][0].startswith("/openai/deployments/m-1/chat/completions")


def test_a_client_of_another_kind_of_server_is_refused(guard: ProductionGuard) -> None:
    with pytest.raises(ConfigError, match="got a AnthropicBedrock"):
        guard.wrap(anthropic.AnthropicBedrock(aws_region="eu-1", aws_access_key="a", aws_secret_key="b"))


def test_on_trio_whole_answers_are_guarded_and_streams_refused(guard: ProductionGuard, model: ModelServer) -> None:
    model.says = lambda path, asked: Says(CHAT.stream(WRONG)) if asked.get("stream") else CHAT.whole("".join(WRONG))

    async def main() -> None:
        async with guard.wrap(CHAT.client(model, is_async=True)) as client:
            assert "30 days" in CHAT.hear(await CHAT.create(client)).text
            with pytest.raises(openai.BadRequestError, match="asyncio"):
                await CHAT.create(client, stream=True)

    anyio.run(main, backend="trio")


def test_streams_of_one_client_in_many_threads_keep_apart(model: ModelServer, wrapped: Wrapped) -> None:
    model.says = lambda path, asked: Says(
        CHAT.stream([f"Refunds {asked['user']}", "? Refunds are available within 90 days."])
    )
    client = wrapped(CHAT)

    def read(number: int) -> str:
        chunks = CHAT.create(client, stream=True, user=f"number-{number}")
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    with ThreadPoolExecutor(16) as pool:
        heard = list(pool.map(read, range(32)))
    assert heard == [f"Refunds number-{number}? Refunds are available within 30 days." for number in range(32)]


def test_wrapping_needs_nothing_of_the_server_but_its_protocols() -> None:
    code = "import sys, director_ai.integrations.openai, director_ai.integrations.anthropic; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"starlette", "fastapi", "uvicorn", "jinja2", "sqlalchemy", "opentelemetry"} & set(loaded)
