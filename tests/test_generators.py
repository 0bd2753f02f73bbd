"""Generators that ask an endpoint, against a real HTTP server on this machine."""

from __future__ import annotations

import functools
import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest

from director_ai.agent import CoherenceAgent
from director_ai.errors import ConfigError, DirectorError
from director_ai.generators import AnthropicGenerator, EndpointError, OpenAICompatibleGenerator
from director_ai.knowledge import GroundTruthStore
from director_ai.scorer import CoherenceScorer
from endpoints import Upstream

KEY = "sk-secret-canary"
SECRET = "xylophone"
LIMIT = 0.5


@pytest.fixture(scope="module", autouse=True)
def certificates() -> Iterator[None]:
    """Every generator reads the certificates of the machine; the upstream needs none, and once is enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx2, "create_ssl_context", functools.cache(httpx2.create_ssl_context))
        yield


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Upstream()
    yield server
    server.close()


Make = Callable[..., Any]
Ask = Callable[[Any, str], str]


@pytest.fixture(params=["openai", "anthropic"])
def make(request: pytest.FixtureRequest, upstream: Upstream) -> Make:
    """Make a generator for the upstream."""
    if request.param == "openai":
        return lambda **options: OpenAICompatibleGenerator(f"{upstream.url}/v1", "m", **{"api_key": KEY, **options})
    return lambda **options: AnthropicGenerator("m", **{"api_key": KEY, "base_url": upstream.url, **options})


@pytest.fixture(params=["sync", "asyncio", "trio"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Ask a generator synchronously, or asynchronously on asyncio or trio."""
    if request.param == "sync":
        return lambda generator, prompt: generator(prompt)
    return lambda generator, prompt: anyio.run(generator.acall, prompt, backend=request.param)


def chat(content: Any = "An answer.", finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    return {
        "id": "c1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
    }


def message(*blocks: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {"id": "m1", "type": "message", "role": "assistant", "content": list(blocks), "stop_reason": stop}


def text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value}


# --- the wire ---------------------------------------------------------------------------------------------------


def test_the_request_of_an_openai_compatible_endpoint(upstream: Upstream, ask: Ask) -> None:
    upstream.answer(chat("Nine \u2013 o'clock \U0001f600"))
    options = {"temperature": 0.7, "max_tokens": 50}
    generator = OpenAICompatibleGenerator(f"{upstream.url}/v1/", "m-1", KEY, system="Be brief.", options=options)
    assert ask(generator, "When? \u00e9") == "Nine \u2013 o'clock \U0001f600"
    ((path, headers, body),) = upstream.seen
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert headers["accept-encoding"] == "identity"
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "When? \u00e9"}]
    assert body == {"model": "m-1", "temperature": 0.7, "max_tokens": 50, "messages": messages}


def test_the_request_of_an_anthropic_endpoint(upstream: Upstream, ask: Ask) -> None:
    upstream.answer(message({"type": "thinking", "thinking": "hm", "signature": "s"}, text("At "), text("nine.")))
    generator = AnthropicGenerator("m-2", KEY, upstream.url, max_tokens=50, system="Be brief.")
    assert ask(generator, "When?") == "At nine."
    ((path, headers, body),) = upstream.seen
    assert path == "/v1/messages"
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in headers
    messages = [{"role": "user", "content": "When?"}]
    assert body == {"model": "m-2", "max_tokens": 50, "system": "Be brief.", "messages": messages}


def test_without_a_key_none_is_sent(upstream: Upstream, make: Make) -> None:
    upstream.answer({**chat(), **message(text("An answer."))})
    assert make(api_key=None)("?") == "An answer."
    assert not {"authorization", "x-api-key"} & set(upstream.seen[0][1])


def test_a_generator_may_be_asked_from_many_threads(upstream: Upstream) -> None:
    upstream.answer(chat())
    generator = OpenAICompatibleGenerator(upstream.url, "m")
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(generator("?"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["An answer."] * 8


# --- what is no answer ------------------------------------------------------------------------------------------


def problem_of(ask: Ask, generator: Any) -> EndpointError:
    with pytest.raises(EndpointError) as raised:
        ask(generator, f"What is a {SECRET}?")
    error = raised.value
    assert isinstance(error, DirectorError)
    for told in (str(error), repr(error), repr(vars(error))):
        assert SECRET not in told
        assert KEY not in told
    assert error.__suppress_context__ or error.__context__ is None
    return error


@pytest.mark.parametrize(
    ("status", "hint"),
    [(400, ""), (401, "check api_key"), (404, "check base_url"), (429, "retry later"), (500, ""), (204, "")],
)
def test_a_status_other_than_200_is_an_error_without_the_body(
    upstream: Upstream, make: Make, ask: Ask, status: int, hint: str
) -> None:
    upstream.answer({"error": {"message": f"{SECRET} {KEY}"}} if status != 204 else b"", status)
    error = problem_of(ask, make())
    assert (error.problem, error.status) == ("status", status)
    assert str(status) in str(error)
    assert hint in str(error)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(upstream: Upstream, make: Make, ask: Ask, status: int) -> None:
    upstream.answer(chat(), status, Location=f"{upstream.url}/{SECRET}")
    error = problem_of(ask, make())
    assert (error.problem, error.status) == ("status", status)
    assert "redirects are not followed" in str(error)
    assert len(upstream.seen) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>" + SECRET.encode(),
        b"\xff\xfe",
        b"[" * 100_000,
        b"null",
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": {}, "content": {"type": "text"}, "stop_reason": "end_turn"}',
        b'{"choices": [{"message": {"content": null}}], "content": [{"type": "text"}], "stop_reason": "end_turn"}',
        b'{"choices": [{"message": {"content": ["parts"]}}], "content": [{"type": "text", "text": 7}], "stop_reason": "x"}',
        b'{"choices": [{"message": "text"}], "content": ["text"], "stop_reason": "end_turn"}',
    ],
)
def test_an_answer_of_another_shape_is_malformed(upstream: Upstream, make: Make, ask: Ask, body: bytes) -> None:
    upstream.answer(body)
    assert problem_of(ask, make()).problem == "malformed"


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (chat("Do not take more than", "length"), "truncated"),
        (chat("", "content_filter"), "refused"),
        (chat(None, refusal=f"No {SECRET}."), "refused"),
        (chat(None, "tool_calls", tool_calls=[]), "malformed"),
    ],
    ids=["cut", "filtered", "refused", "a tool call"],
)
def test_an_openai_answer_that_is_not_whole(upstream: Upstream, ask: Ask, payload: Any, problem: str) -> None:
    upstream.answer(payload)
    assert problem_of(ask, OpenAICompatibleGenerator(upstream.url, "m")).problem == problem


@pytest.mark.parametrize(
    ("stop", "problem"), [("max_tokens", "truncated"), ("pause_turn", "truncated"), ("refusal", "refused")]
)
def test_an_anthropic_answer_that_is_not_whole(upstream: Upstream, ask: Ask, stop: str, problem: str) -> None:
    upstream.answer(message(text("Do not take more than"), stop=stop))
    assert problem_of(ask, AnthropicGenerator("m", base_url=upstream.url)).problem == problem


def test_no_more_is_read_than_max_bytes(upstream: Upstream, make: Make, ask: Ask) -> None:
    sent = 0

    def endless(handler: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        while sent < 100_000_000:
            handler.wfile.write(b" " * 65_536)
            sent += 65_536

    upstream.reply = endless
    assert problem_of(ask, make(max_bytes=100_000)).problem == "too_large"
    assert sent < 50_000_000, "the connection is closed, not drained"


def test_an_answer_of_exactly_max_bytes_is_read(upstream: Upstream, ask: Ask) -> None:
    size = len(json.dumps(chat()).encode())
    upstream.answer(chat())
    assert ask(OpenAICompatibleGenerator(upstream.url, "m", max_bytes=size), "?") == "An answer."
    assert problem_of(ask, OpenAICompatibleGenerator(upstream.url, "m", max_bytes=size - 1)).problem == "too_large"


@pytest.fixture(scope="module")
def bomb() -> bytes:
    return gzip.compress(b" " * 50_000_000)


def test_a_compressed_answer_is_not_unpacked(upstream: Upstream, make: Make, ask: Ask, bomb: bytes) -> None:
    upstream.answer(bomb, Content_Encoding="gzip")
    assert problem_of(ask, make()).problem == "malformed"


def test_a_connection_that_breaks_off_is_no_answer(upstream: Upstream, make: Make, ask: Ask) -> None:
    upstream.answer(json.dumps(chat()).encode()[:40], Content_Length="5000")
    assert problem_of(ask, make()).problem == "unreachable"


def test_an_endpoint_that_is_not_there_is_no_answer(upstream: Upstream, make: Make, ask: Ask) -> None:
    generator = make()
    upstream.close()
    assert problem_of(ask, generator).problem == "unreachable"


def never(handler: BaseHTTPRequestHandler, release: threading.Event) -> None:
    release.wait(60)


def drip_body(handler: BaseHTTPRequestHandler, release: threading.Event) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not release.wait(0.05):
        handler.wfile.write(b" ")


def drip_headers(handler: BaseHTTPRequestHandler, release: threading.Event) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not release.wait(0.05):
        handler.wfile.write(b"x: y\r\n")


@pytest.mark.timeout(60)  # it hangs for ever, where the limit is not kept
@pytest.mark.parametrize("way", [never, drip_body, drip_headers])
def test_the_time_limit_is_that_of_the_whole_answer(
    upstream: Upstream, make: Make, ask: Ask, way: Callable[..., None]
) -> None:
    upstream.reply = lambda handler: way(handler, upstream.release)
    assert problem_of(ask, make(timeout=LIMIT)).problem == "timeout"


def test_an_answer_that_nobody_waits_for_is_not_read_on(upstream: Upstream, make: Make, ask: Ask) -> None:
    left = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        try:
            drip_body(handler, upstream.release)
        except OSError:
            left.set()

    upstream.reply = drip
    assert problem_of(ask, make(timeout=LIMIT)).problem == "timeout"
    assert left.wait(10)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancellation_closes_the_connection(upstream: Upstream, make: Make, backend: str) -> None:
    asked, left = threading.Event(), threading.Event()

    def watch(handler: BaseHTTPRequestHandler) -> None:
        asked.set()
        if handler.connection.recv(1) == b"":
            left.set()

    upstream.reply = watch

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(make().acall, "?")
            assert await anyio.to_thread.run_sync(asked.wait, 30)
            group.cancel_scope.cancel()

    anyio.run(main, backend=backend)
    assert left.wait(10)


# --- with an agent ----------------------------------------------------------------------------------------------

FACT = "Refunds are available within 30 days of delivery."


def test_an_agent_answers_from_an_endpoint(upstream: Upstream) -> None:
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=GroundTruthStore(facts={"refunds": FACT}))
    agent = CoherenceAgent(OpenAICompatibleGenerator(upstream.url, "m"), scorer)
    upstream.answer(chat(FACT))
    assert agent.process("How long are refunds available?").output == FACT
    assert anyio.run(agent.aprocess, "How long are refunds available?").output == FACT


def test_an_agent_says_what_was_wrong_with_an_endpoint(upstream: Upstream) -> None:
    agent = CoherenceAgent(OpenAICompatibleGenerator(upstream.url, "m"), CoherenceScorer(use_nli=False))
    upstream.answer({"error": SECRET}, 429)
    result = agent.process("?")
    assert result.halt_evidence is not None
    assert result.halt_evidence.reason == "generator_error type=EndpointError problem=status status=429"
    assert result.safety_events[0].attributes["generator_error"] == "3"


# --- settings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "base_url",
    ["", "localhost:8000", "ftp://host/v1", "http://", "http://host:99999/v1", "http://ho st/v1", "http://h\u00f6st/v1", None,
     "http://user:xylophone@host/v1", "http://host/v1?key=xylophone", "http://host/v1#x", "http://host/\n"],
)  # fmt: skip
def test_addresses_that_cannot_be_right_are_refused_and_not_repeated(base_url: Any) -> None:
    with pytest.raises(ConfigError, match="base_url must") as raised:
        OpenAICompatibleGenerator(base_url, "m")
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model must name a model"),
        ({"model": None}, "model must be a string"),
        ({"api_key": ""}, "api_key must be"),
        ({"api_key": f"{SECRET}\n"}, "api_key must be"),
        ({"api_key": 5}, "api_key must be a string"),
        ({"system": None}, "system must be a string"),
        ({"timeout": 0}, "timeout must be a number"),
        ({"timeout": float("nan")}, "timeout must be a number"),
        ({"timeout": None}, "timeout must be a number"),
        ({"max_bytes": 0}, "max_bytes must be at least 1"),
        ({"options": {"model": "x", "messages": []}}, "options must not set messages, model"),
        ({"options": {"stream": True}}, "options must not set stream"),
        ({"options": {"temperature": float("inf")}}, "options must map names to JSON values"),
        ({"options": {"x": object()}}, "options must map names to JSON values"),
        ({"options": {5: 1}}, "options must map names to JSON values"),
        ({"options": "temperature=1"}, "options must map names to JSON values"),
    ],
)
def test_settings_that_cannot_be_right_are_refused(options: dict[str, Any], message: str) -> None:
    for make_one in (
        lambda **given: OpenAICompatibleGenerator(**{"base_url": "http://127.0.0.1/v1", "model": "m", **given}),
        lambda **given: AnthropicGenerator(**{"model": "m", **given}),
    ):
        with pytest.raises(ConfigError, match=message) as raised:
            make_one(**options)
        assert SECRET not in str(raised.value)


def test_anthropic_wants_a_length() -> None:
    with pytest.raises(ConfigError, match="max_tokens must be at least 1"):
        AnthropicGenerator("m", max_tokens=0)


def test_a_prompt_is_a_text(make: Make, ask: Ask) -> None:
    with pytest.raises(ConfigError, match="prompt must be a string"):
        ask(make(), None)


def test_options_are_copied() -> None:
    options: dict[str, Any] = {"stop": ["x"]}
    generator = OpenAICompatibleGenerator("http://127.0.0.1/v1", "m", options=options)
    options["stop"].append(object())
    assert json.loads(generator._request("?"))["stop"] == ["x"]


@pytest.mark.parametrize(
    ("made", "extra"),
    [("OpenAICompatibleGenerator('http://h/v1', 'm')", "openai"), ("AnthropicGenerator('m')", "anthropic")],
)
def test_a_missing_http_client_names_the_extra(made: str, extra: str) -> None:
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from director_ai.generators import *\n"
        "from director_ai.errors import MissingExtra\n"
        f"try: {made}\n"
        "except MissingExtra as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert f"pip install '.[{extra}]'" in told


def test_an_agent_without_an_endpoint_loads_no_http_client() -> None:
    code = "import sys, director_ai.agent; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"httpx2", "numpy", "onnxruntime"} & set(loaded)
