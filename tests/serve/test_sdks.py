"""The official SDKs as clients over real HTTP: they get what they know, with what the guard let go in it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

from upstreams import ARGUMENTS, RIGHT, WRONG, WRONG_ARGUMENTS, Case, Proxied  # noqa: E402

KEYS = ["repair", "halt"]
SAFE = "Hello! "
"""What stands before the first clause that is wrong."""
TOOL = {"type": "function", "function": {"name": "send", "parameters": {"type": "object"}}}
FLAT_TOOL = {"type": "function", "name": "send", "parameters": {"type": "object"}, "strict": False}
ANTHROPIC_TOOL = {"name": "send", "input_schema": {"type": "object"}}
ASKED: Any = [{"role": "user", "content": "What is the refund window?"}]


class Clients:
    """Both SDKs, synchronous and asynchronous, with one way to ask."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._options = url, {"api_key": key, "max_retries": 0, "timeout": 20}
        plain: Any = {"verify": False}  # there is nothing to verify, and certificates take long to load
        self.openai = openai.OpenAI(
            base_url=url + "/v1", http_client=openai.DefaultHttpxClient(**plain), **self._options
        )
        self.anthropic = anthropic.Anthropic(
            base_url=url, http_client=anthropic.DefaultHttpxClient(**plain), **self._options
        )

    def run(self, sdk: Any, ask: Any) -> Any:
        """Run something with an asynchronous client."""

        async def go() -> Any:
            http_client = sdk.DefaultAsyncHttpxClient(verify=False)
            made, url = (sdk.AsyncOpenAI, self._url + "/v1") if sdk is openai else (sdk.AsyncAnthropic, self._url)
            async with made(base_url=url, http_client=http_client, **self._options) as client:
                return await ask(client)

        return asyncio.run(go())


@pytest.fixture(scope="module", params=KEYS)
def key(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def made_clients(proxied: Proxied) -> Iterator[Callable[[str], Clients]]:
    made: dict[str, Clients] = {}

    def get(key: str) -> Clients:
        if key not in made:
            made[key] = Clients(proxied.url, key)
        return made[key]

    yield get
    for each in made.values():
        each.openai.close()
        each.anthropic.close()


@pytest.fixture(scope="module")
def clients(made_clients: Callable[[str], Clients], key: str) -> Clients:
    return made_clients(key)


def expected(text: str, key: str) -> str:
    if "90" not in text:
        return text
    return SAFE if key == "halt" else text.replace("90", "30")


def was_halted(case: Case, key: str) -> bool:
    return key == "halt" and "90" in "".join(case.texts) + case.arguments


CASES = {
    "right": Case(),
    "right_token_by_token": Case(size=1),
    "wrong": Case(texts=(WRONG,)),
    "call": Case(texts=("",), arguments=ARGUMENTS),
    "text_and_call": Case(arguments=ARGUMENTS),
    "wrong_call": Case(texts=("",), arguments=WRONG_ARGUMENTS),
    "json": Case(texts=(ARGUMENTS,)),
    "reasoning": Case(reasoning="The zorblatt thinks."),
}
by_case = pytest.mark.parametrize("name", CASES)
by_client = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def json_mode(name: str) -> Any:
    return {"response_format": {"type": "json_object"}} if name == "json" else {}


# --- Chat Completions -------------------------------------------------------------------------------------------------


def chat(clients: Clients, is_async: bool, **options: Any) -> tuple[list[Any], Any]:
    """Return the chunks, or one completion."""
    if not is_async:
        got = clients.openai.chat.completions.create(messages=ASKED, **options)
        return (list(got), None) if options.get("stream") else ([], got)

    async def ask(client: Any) -> Any:
        got = await client.chat.completions.create(messages=ASKED, **options)
        return ([chunk async for chunk in got], None) if options.get("stream") else ([], got)

    return clients.run(openai, ask)


@by_case
@by_client
def test_chat_stream(name: str, is_async: bool, clients: Clients, key: str, proxied: Proxied) -> None:
    case = CASES[name]
    more: Any = {"tools": [TOOL]} if case.arguments else {}
    more |= json_mode(name) | {"stream_options": {"include_usage": True}}
    chunks, _ = chat(clients, is_async, model=proxied.script(case), stream=True, **more)
    choices = [choice for chunk in chunks for choice in chunk.choices]
    text = "".join(choice.delta.content or "" for choice in choices)
    calls = [call for choice in choices for call in choice.delta.tool_calls or ()]
    arguments = "".join(call.function.arguments for call in calls)
    halted = was_halted(case, key)
    assert text == expected(case.texts[0], key)
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == [
        "content_filter" if halted else "tool_calls" if case.arguments else "stop"
    ]
    assert [choice.delta.role for choice in choices if choice.delta.role] == ["assistant"]
    assert {(chunk.id, chunk.created, chunk.model, chunk.system_fingerprint) for chunk in chunks} == {
        ("chatcmpl-1", 1, "m", "fp_1")
    }
    if case.arguments and not halted:
        assert json.loads(arguments) == json.loads(ARGUMENTS)
        assert [(call.id, call.function.name) for call in calls if call.id] == [("call_1", "send")]
    if not halted:
        assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == [18]
        assert not chunks[-1].choices
    guards = [chunk.guard for chunk in chunks if getattr(chunk, "guard", None)]
    assert bool(guards) == ("90" in case.texts[0] + case.arguments)
    assert "zorblatt" not in str(chunks)


@by_case
@by_client
def test_chat_whole(name: str, is_async: bool, clients: Clients, key: str, proxied: Proxied) -> None:
    case = CASES[name]
    more: Any = {"tools": [TOOL]} if case.arguments else {}
    _, got = chat(clients, is_async, model=proxied.script(case), **more, **json_mode(name))
    (choice,) = got.choices
    assert (choice.message.content or "") == expected(case.texts[0], key)
    assert got.usage.total_tokens == 18
    assert got.id == "chatcmpl-1"
    if was_halted(case, key):
        assert choice.finish_reason == "content_filter"
        assert not choice.message.tool_calls
        assert got.guard["halted"]
    elif case.arguments:
        (call,) = choice.message.tool_calls
        assert json.loads(call.function.arguments) == json.loads(ARGUMENTS)
    else:
        assert choice.finish_reason == "stop"
    assert "zorblatt" not in str(got)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_choices_are_guarded_each_for_itself(stream: bool, clients: Clients, key: str, proxied: Proxied) -> None:
    case = Case(texts=(RIGHT, WRONG, RIGHT))
    chunks, got = chat(clients, False, model=proxied.script(case), n=3, stream=stream)
    texts, reasons = ["", "", ""], ["", "", ""]
    for choice in got.choices if got else [each for chunk in chunks for each in chunk.choices]:
        texts[choice.index] += (choice.message if got else choice.delta).content or ""
        reasons[choice.index] += choice.finish_reason or ""
    assert texts == [RIGHT, expected(WRONG, key), RIGHT]
    assert reasons == ["stop", "content_filter" if key == "halt" else "stop", "stop"]


@by_client
def test_the_chat_helper_gets_the_same(is_async: bool, clients: Clients, key: str, proxied: Proxied) -> None:
    model = proxied.script(Case(texts=(WRONG,), arguments=ARGUMENTS))

    def sync() -> Any:
        with clients.openai.chat.completions.stream(model=model, messages=ASKED) as stream:
            return stream.get_final_completion()

    async def ask(client: Any) -> Any:
        async with client.chat.completions.stream(model=model, messages=ASKED) as stream:
            return await stream.get_final_completion()

    def run() -> Any:
        return clients.run(openai, ask) if is_async else sync()

    if key == "halt":
        with pytest.raises(openai.ContentFilterFinishReasonError):
            run()
        return
    (choice,) = run().choices
    assert choice.message.content == RIGHT
    assert choice.message.tool_calls[0].function.arguments == ARGUMENTS


def test_probabilities_stay_with_their_tokens_or_go(clients: Clients, key: str, proxied: Proxied) -> None:
    model = proxied.script(Case(texts=(WRONG,), logprobs=True, size=3))
    chunks, _ = chat(clients, False, model=model, stream=True, logprobs=True)
    known = [
        entry.token
        for chunk in chunks
        for choice in chunk.choices
        if choice.logprobs
        for entry in choice.logprobs.content
    ]
    assert known[:2] == ["Hel", "lo!"]
    assert "90" not in "".join(known)
    assert "".join(known).replace(" ", "") in WRONG.replace(" ", "") or key == "repair"


def test_reasoning_is_shown_to_those_who_may_see_it(made_clients: Callable[[str], Clients], proxied: Proxied) -> None:
    model, clients = proxied.script(CASES["reasoning"]), made_clients("reasoning")
    chunks, _ = chat(clients, False, model=model, stream=True)
    thought = [getattr(choice.delta, "reasoning_content", "") or "" for chunk in chunks for choice in chunk.choices]
    assert "".join(thought) == "The zorblatt thinks."
    with clients.anthropic.messages.stream(model=model, max_tokens=9, messages=ASKED) as stream:
        message = stream.get_final_message()
    assert (message.content[0].thinking, message.content[0].signature) == ("The zorblatt thinks.", "c2lnbmVk")
    response = clients.openai.responses.create(model=model, input="?")
    assert response.output[0].summary[0].text == "The zorblatt thinks."


# --- Responses --------------------------------------------------------------------------------------------------------


def respond(clients: Clients, is_async: bool, **options: Any) -> tuple[list[Any], Any]:
    if not is_async:
        got = clients.openai.responses.create(input="What is the refund window?", **options)
        return (list(got), None) if options.get("stream") else ([], got)

    async def ask(client: Any) -> Any:
        got = await client.responses.create(input="What is the refund window?", **options)
        return ([event async for event in got], None) if options.get("stream") else ([], got)

    return clients.run(openai, ask)


def check_response(response: Any, case: Case, key: str) -> None:
    halted = was_halted(case, key)
    assert response.id == "resp_1"
    assert response.status == ("incomplete" if halted else "completed")
    assert response.output_text == expected(case.texts[0], key)
    calls = [item for item in response.output if item.type == "function_call"]
    if halted:
        assert response.incomplete_details.reason == "content_filter"
        assert not calls
        assert response.guard["halted"]
    elif case.arguments:
        assert [json.loads(call.arguments) for call in calls] == [json.loads(ARGUMENTS)]
        assert (calls[0].call_id, calls[0].name) == ("call_1", "send")
    assert "zorblatt" not in str(response)


@by_case
@by_client
def test_response_stream(name: str, is_async: bool, clients: Clients, key: str, proxied: Proxied) -> None:
    case = CASES[name]
    more: Any = {"tools": [FLAT_TOOL]} if case.arguments else {}
    more |= {"text": {"format": {"type": "json_object"}}} if name == "json" else {}
    events, _ = respond(clients, is_async, model=proxied.script(case), stream=True, **more)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert deltas == expected(case.texts[0], key)
    done = [event for event in events if event.type == "response.output_text.done"]
    parts = [event.part.text for event in events if event.type == "response.content_part.done"]
    items = [
        event.item for event in events if event.type == "response.output_item.done" and event.item.type == "message"
    ]
    if case.texts[0]:
        assert [event.text for event in done] == parts == [item.content[0].text for item in items] == [deltas]
    assert events[-1].type == ("response.incomplete" if was_halted(case, key) else "response.completed")
    check_response(events[-1].response, case, key)
    assert "zorblatt" not in str(events)


@by_case
@by_client
def test_response_whole(name: str, is_async: bool, clients: Clients, key: str, proxied: Proxied) -> None:
    case = CASES[name]
    more: Any = {"tools": [FLAT_TOOL]} if case.arguments else {}
    _, got = respond(clients, is_async, model=proxied.script(case), **more)
    check_response(got, case, key)
    assert got.usage.total_tokens == 18


@by_client
@pytest.mark.parametrize("name", ["right", "wrong", "text_and_call", "reasoning"])
def test_the_response_helper_gets_the_same(
    name: str, is_async: bool, clients: Clients, key: str, proxied: Proxied
) -> None:
    case = CASES[name]
    model = proxied.script(case)

    def sync() -> Any:
        with clients.openai.responses.stream(model=model, input="?") as stream:
            return list(stream)

    async def ask(client: Any) -> Any:
        async with client.responses.stream(model=model, input="?") as stream:
            return [event async for event in stream]

    events = clients.run(openai, ask) if is_async else sync()
    check_response(events[-1].response, case, key)


# --- Messages ---------------------------------------------------------------------------------------------------------


def message(clients: Clients, is_async: bool, **options: Any) -> tuple[list[Any], Any]:
    options |= {"messages": ASKED, "max_tokens": 99}
    if not is_async:
        got = clients.anthropic.messages.create(**options)
        return (list(got), None) if options.get("stream") else ([], got)

    async def ask(client: Any) -> Any:
        got = await client.messages.create(**options)
        return ([event async for event in got], None) if options.get("stream") else ([], got)

    return clients.run(anthropic, ask)


def check_message(got: Any, case: Case, key: str) -> None:
    halted = was_halted(case, key)
    assert (got.id, got.role, got.model) == ("msg_1", "assistant", "m")
    assert "".join(block.text for block in got.content if block.type == "text") == expected(case.texts[0], key)
    calls = [block for block in got.content if block.type == "tool_use"]
    if halted:
        assert (got.stop_reason, got.stop_details.type) == ("refusal", "refusal")
    else:
        assert got.stop_reason == ("tool_use" if case.arguments else "end_turn")
        assert got.usage.output_tokens == 11
    if case.arguments and not halted:
        assert [(call.id, call.name, call.input) for call in calls] == [("toolu_1", "send", json.loads(ARGUMENTS))]
    assert "zorblatt" not in str(got)


@by_case
@by_client
def test_message_stream(name: str, is_async: bool, clients: Clients, key: str, proxied: Proxied) -> None:
    case = CASES[name]
    more: Any = {"tools": [ANTHROPIC_TOOL]} if case.arguments else {}
    events, _ = message(clients, is_async, model=proxied.script(case), stream=True, **more)
    deltas = [event.delta for event in events if event.type == "content_block_delta"]
    assert "".join(delta.text for delta in deltas if delta.type == "text_delta") == expected(case.texts[0], key)
    assert [event.type for event in events[-2:]] == ["message_delta", "message_stop"]
    (ended,) = (event for event in events if event.type == "message_delta")
    assert (ended.delta.stop_reason == "refusal") == was_halted(case, key)
    assert (getattr(ended, "guard", None) is not None) == was_halted(case, key)
    starts = [event.index for event in events if event.type == "content_block_start"]
    assert starts == list(range(len(starts)))
    assert "zorblatt" not in str(events)


@by_case
@by_client
def test_message_whole(name: str, is_async: bool, clients: Clients, key: str, proxied: Proxied) -> None:
    case = CASES[name]
    more: Any = {"tools": [ANTHROPIC_TOOL]} if case.arguments else {}
    _, got = message(clients, is_async, model=proxied.script(case), **more)
    check_message(got, case, key)


@by_case
@by_client
def test_the_message_helper_gets_the_same(
    name: str, is_async: bool, clients: Clients, key: str, proxied: Proxied
) -> None:
    case = CASES[name]
    options: Any = {"model": proxied.script(case), "messages": ASKED, "max_tokens": 99}

    def sync() -> Any:
        with clients.anthropic.messages.stream(**options) as stream:
            return stream.get_final_message()

    async def ask(client: Any) -> Any:
        async with client.messages.stream(**options) as stream:
            return await stream.get_final_message()

    check_message(clients.run(anthropic, ask) if is_async else sync(), case, key)


# --- errors of the upstream -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_a_refusal_of_the_upstream_keeps_its_status(
    status: int, stream: bool, made_clients: Callable[[str], Clients], proxied: Proxied
) -> None:
    clients, model = made_clients("repair"), proxied.script(Case(status=status))
    for ask in (chat, respond):
        with pytest.raises(openai.APIStatusError) as told:
            ask(clients, False, model=model, stream=stream)
        assert told.value.status_code == status
        assert (told.value.code, told.value.type) == ("slow_down", "rate_limit_error")
        assert told.value.response.headers["retry-after"] == "3"
        assert told.value.request_id == "up-1"
        assert "90 days" not in str(told.value)
    with pytest.raises(anthropic.APIStatusError) as said:
        message(clients, False, model=model, stream=stream)
    assert said.value.status_code == status
    assert said.value.body["error"]["message"] == "try later"
    assert "90 days" not in str(said.value)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_client_does_not_take_a_refusal_of_the_servers_key_for_one_of_its_own(
    status: int, stream: bool, made_clients: Callable[[str], Clients], proxied: Proxied
) -> None:
    clients, model = made_clients("repair"), proxied.script(Case(status=status))
    for ask in (chat, respond):
        with pytest.raises(openai.InternalServerError, match="server's key") as told:
            ask(clients, False, model=model, stream=stream)
        assert (told.value.status_code, told.value.code) == (502, "upstream_refused_the_key")
        assert told.value.response.headers["x-should-retry"] == "false", "asking again would not help"
        assert "try later" not in str(told.value)
    with pytest.raises(anthropic.InternalServerError, match="server's key") as said:
        message(clients, False, model=model, stream=stream)
    assert said.value.status_code == 502


@pytest.mark.parametrize("fails", ["error", "drop"])
@pytest.mark.parametrize("after", [0, 1, 3, 6])
@by_client
def test_an_upstream_that_breaks_off_raises_and_never_stops(
    fails: Any, after: int, is_async: bool, made_clients: Callable[[str], Clients], proxied: Proxied
) -> None:
    model, clients = proxied.script(Case(fails=fails, after=after)), made_clients("repair")
    for ask, error in ((chat, openai.APIError), (respond, openai.APIError), (message, anthropic.APIError)):
        with pytest.raises(error) as told:
            ask(clients, is_async, model=model, stream=True)
        assert "secret reason" not in str(told.value)


def test_a_wrong_key_is_refused_in_the_words_of_the_protocol(
    made_clients: Callable[[str], Clients], proxied: Proxied
) -> None:
    clients, model = made_clients("nobody"), proxied.script(Case())
    with pytest.raises(openai.AuthenticationError):
        chat(clients, False, model=model, stream=True)
    with pytest.raises(anthropic.AuthenticationError):
        message(clients, False, model=model, stream=True)


def test_a_clients_key_does_not_reach_the_upstream(made_clients: Callable[[str], Clients], proxied: Proxied) -> None:
    clients, model = made_clients("repair"), proxied.script(Case())
    chat(clients, False, model=model, temperature=0.3, seed=7)
    assert proxied.upstream.headers[-1]["authorization"] == "Bearer upstream-key"
    assert proxied.upstream.asked[-1] == {"messages": ASKED, "model": model, "temperature": 0.3, "seed": 7}
