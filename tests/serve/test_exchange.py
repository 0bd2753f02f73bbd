"""One guarded stream from its first byte to each of its ends: none hangs, none leaks, none shows what was not judged."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import pytest
from taps import Tap, new_exchange, read_events, tapped
from upstreams import ARGUMENTS, PROTOCOLS, RIGHT, WRONG, WRONG_ARGUMENTS, Case

from director_ai import ProductionGuard
from director_ai.core.streaming_repair import StreamingRepairer
from director_ai.errors import RecordError
from director_ai.serve.buffers import MOST_UNSENT, MOST_WAITING
from director_ai.serve.exchange import Exchange
from director_ai.serve.guarding import Guarding
from director_ai.serve.proxy import WIRES
from director_ai.serve.sse import ServerSentEvent
from director_ai.serve.upstream import UpstreamUnreachable
from director_ai.serve.wire.items import Say

PATHS = sorted(PROTOCOLS)
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Refund?"}], "input": "Refund?"}
HALTS = {"/v1/chat/completions": b"content_filter", "/v1/responses": b"response.incomplete", "/v1/messages": b"refusal"}
STOPS = (b'"finish_reason":"stop"', b"response.completed", b"end_turn")
SECOND = 30.0  # a limit against hanging alone
by_path = pytest.mark.parametrize("path", PATHS)


def run(work: Any) -> Any:
    """Run something on a loop of its own; the limit is against hanging only, and nothing may be left running."""

    async def limited() -> Any:
        async with asyncio.timeout(20):
            made = await work
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1
        return made

    return asyncio.run(limited())


def stream_of(path: str, case: Case) -> list[bytes]:
    return list(PROTOCOLS[path][1](case))


# --- however it is cut ------------------------------------------------------------------------------------------------


CUT = "Grüezi! Refunds are available within 90 days. Bye 🙂!"
SHORT: dict[str, list[dict[str, Any]]] = {
    "/v1/chat/completions": [
        {"choices": [{"delta": {"content": CUT[:40]}}]},
        {"choices": [{"delta": {"content": CUT[40:]}, "finish_reason": "stop"}]},
    ],
    "/v1/responses": [
        {"type": "response.output_text.delta", "output_index": 0, "delta": CUT[:40]},
        {"type": "response.output_text.delta", "output_index": 0, "delta": CUT[40:]},
        {"type": "response.completed"},
    ],
    "/v1/messages": [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": CUT[:40]}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": CUT[40:]}},
        {"type": "message_stop"},
    ],
}


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.soak)], ids=["every third", "every one"])
@by_path
def test_every_cut_of_the_bytes_gives_the_same_exchange(path: str, step: int, heuristic_guard: ProductionGuard) -> None:
    ends = ("\r\n", "\n", "\r")
    lines = [f"data:{json.dumps(each, ensure_ascii=False)}{ends[at]}{ends[at]}" for at, each in enumerate(SHORT[path])]
    data = "".join(lines).encode()

    async def all_cuts() -> None:
        whole = await tapped(heuristic_guard, path, REQUEST, [data])
        assert "".join(whole.released.values()) == CUT.replace("90", "30")
        for at in range(1, len(data), step):
            cut = await tapped(heuristic_guard, path, REQUEST, [data[:at], data[at:]])
            assert (cut.sent, cut.actions) == (whole.sent, whole.actions), at

    run(all_cuts())


@by_path
def test_every_size_of_tokens_gives_the_same_texts_and_actions(path: str, heuristic_guard: ProductionGuard) -> None:
    async def all_sizes() -> list[Any]:
        made = []
        for size in (1, 2, 3, 5, 8, 13, 200):
            case = Case(texts=(WRONG, RIGHT), arguments=WRONG_ARGUMENTS, size=size)
            tap = await tapped(heuristic_guard, path, REQUEST | {"n": 2}, stream_of(path, case))
            made.append((tap.released, sorted(tap.actions)))
        return made

    first, *others = run(all_sizes())
    assert all(other == first for other in others)


# --- ends -------------------------------------------------------------------------------------------------------------


class Source:
    """Events of an upstream that stalls where it is told to, and knows whether it was closed."""

    def __init__(self, chunks: list[bytes], *, error: Exception | None = None, stalls: bool = True) -> None:
        self._chunks, self._error, self._stalls = chunks, error, stalls
        self.closed = False
        self.read = asyncio.Event()

    async def events(self) -> AsyncGenerator[ServerSentEvent]:
        try:
            async for event in read_events(self._chunks):
                yield event
            self.read.set()
            if self._error is not None:
                raise self._error
            if self._stalls:
                await asyncio.sleep(3_600)
        finally:
            self.closed = True


async def collect(exchange: Exchange, source: Source) -> bytes:
    return b"".join([piece async for piece in exchange.run(source.events())])


def beginning(path: str, case: Case | None = None) -> list[bytes]:
    """Return a stream that breaks off in the middle of a clause."""
    events = stream_of(path, case or Case(texts=(RIGHT,)))
    texts = [at for at, event in enumerate(events) if b"within" in event or b"ithin" in event or b"availab" in event]
    return events[: texts[0] + 1]


@by_path
@pytest.mark.parametrize("when", ["before_it_runs", "before_the_first_byte", "in_a_clause"])
def test_a_stop_ends_the_exchange_as_a_halt(path: str, when: str, heuristic_guard: ProductionGuard) -> None:
    async def go() -> bytes:
        tap, source = Tap(), Source([] if when == "before_the_first_byte" else beginning(path))
        exchange = new_exchange(heuristic_guard, path, REQUEST, tap)
        if when == "before_it_runs":
            exchange.stop("kill_switch")
        running = asyncio.create_task(collect(exchange, source))
        if when != "before_it_runs":
            await source.read.wait()
            await asyncio.sleep(0.01)
            exchange.stop("kill_switch")
            exchange.stop("shutdown")
        sent = await asyncio.wait_for(running, SECOND)
        assert source.closed or when == "before_it_runs"
        return sent

    sent = run(go())
    assert HALTS[path] in sent
    assert b'"reason":"kill_switch"' in sent
    assert b"Refunds" not in sent
    assert not any(stop in sent for stop in STOPS)


def slow_guard(hold: Callable[..., Any], **request: Any) -> Callable[[Say, AsyncIterator[str]], Any]:
    repairer = StreamingRepairer(hold, deadline=30.0)
    return lambda _, tokens: repairer.astream(tokens, **request)


def exchange_with(path: str, guard: Any, **options: Any) -> Exchange:
    told = Guarding(guard=None, prompt="", tenant_id="", request_id="r")  # type: ignore[arg-type]  # only describes
    return Exchange(WIRES[path](REQUEST), guard, describe=told.describe, describe_halt=told.describe_halt, **options)


@pytest.mark.parametrize("leaves", [False, True], ids=["stopped", "left"])
@pytest.mark.parametrize("part", ["scorer", "record"])
@by_path
def test_a_thread_that_hangs_holds_up_no_end(path: str, part: str, leaves: bool) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def hang(*_: Any) -> float:
        asked.set()
        go_on.wait(30)
        return 0.9

    async def go() -> bytes:
        guard = slow_guard(hang) if part == "scorer" else slow_guard(lambda _: 0.0, record=hang)
        exchange, source = exchange_with(path, guard), Source(stream_of(path, Case(texts=(WRONG,))))
        sent: list[bytes] = []

        async def client() -> None:
            async for piece in exchange.run(source.events()):
                sent.append(piece)  # noqa: PERF401 - what came before it was cancelled counts

        running = asyncio.create_task(client())
        await asyncio.to_thread(asked.wait, 10)
        if leaves:
            running.cancel()
        else:
            exchange.stop("kill_switch")
        done, _ = await asyncio.wait([running], timeout=2 * SECOND)
        assert done
        assert source.closed
        go_on.set()
        while len(asyncio.all_tasks()) > 2:  # what was left behind ends with its thread
            await asyncio.sleep(0.01)
        return b"".join(sent)

    sent = run(go())
    assert leaves or HALTS[path] in sent
    assert b"days" not in sent


@by_path
def test_a_stalled_client_holds_little_and_can_be_stopped(path: str, heuristic_guard: ProductionGuard) -> None:
    read = 0

    async def go() -> None:
        nonlocal read
        begin = beginning(path)

        async def endless() -> AsyncGenerator[ServerSentEvent]:
            nonlocal read
            async for event in read_events(begin):
                yield event
            async for event in read_events([begin[-1]] * 200_000):
                read += len(event.data)
                yield event

        exchange = new_exchange(heuristic_guard, path, REQUEST, Tap())
        taken = exchange.run(endless())
        await anext(taken)
        for _ in range(400):
            before = read
            await asyncio.sleep(0.05)
            if read == before and read:
                break
        assert read < 1024 * 1024
        assert exchange._out._size < MOST_UNSENT + 64 * 1024
        exchange.stop("shutdown")

        async def drain() -> bytes:
            return b"".join([piece async for piece in taken])

        assert HALTS[path] in await asyncio.wait_for(drain(), 2 * SECOND)

    assert MOST_WAITING + MOST_UNSENT < 1024 * 1024
    run(go())


@by_path
def test_a_client_that_leaves_closes_the_upstream(path: str, heuristic_guard: ProductionGuard) -> None:
    async def go() -> None:
        source = Source(beginning(path))
        exchange = new_exchange(heuristic_guard, path, REQUEST, Tap())
        taken = exchange.run(source.events())
        await anext(taken)
        await source.read.wait()
        await asyncio.wait_for(taken.aclose(), SECOND)
        assert source.closed

    run(go())


@by_path
@pytest.mark.parametrize(
    "error",
    [UpstreamUnreachable("the upstream broke off"), None, RuntimeError("the secret reason")],
    ids=["broke_off", "ended", "unexpected"],
)
def test_an_upstream_that_drops_ends_in_an_error(
    path: str, error: Exception | None, heuristic_guard: ProductionGuard
) -> None:
    async def go() -> bytes:
        source = Source(beginning(path), error=error, stalls=False)
        return await collect(new_exchange(heuristic_guard, path, REQUEST, Tap()), source)

    sent = run(go())
    assert b'"error":{' in sent
    assert b"secret" not in sent
    assert not any(stop in sent for stop in (*STOPS, b"[DONE]", b"message_stop", HALTS[path]))


@by_path
def test_an_upstream_that_drops_anywhere_never_stops(path: str, heuristic_guard: ProductionGuard) -> None:
    data = b"".join(stream_of(path, Case(texts=("Hello! Goodbye!",), size=40)))
    last = {"/v1/chat/completions": b'"stop"', "/v1/responses": b"response.completed", "/v1/messages": b"message_stop"}
    complete = data.rindex(last[path])

    async def go() -> None:
        for at in range(0, complete, 7):
            tap = await tapped(heuristic_guard, path, REQUEST, [data[:at]])
            assert b'"error":{' in tap.sent, at
            assert not any(
                stop in tap.sent for stop in (b'"finish_reason":"stop"', b"response.completed", b"message_stop")
            )

    run(go())


@by_path
def test_a_guard_that_fails_ends_the_stream_closed(path: str) -> None:
    def fail(*_: Any) -> Any:
        raise RecordError("the disk with the secret name is full")

    class Broken:
        """A guarded stream that raises after its first piece."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[Any]:
            async for piece in self._stream:
                yield piece
                fail()

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def go() -> bytes:
        repairer = StreamingRepairer(lambda _: 1.0)
        source = Source(stream_of(path, Case(texts=(RIGHT,))))  # it stalls: the failure must end it
        return await collect(exchange_with(path, lambda _, tokens: Broken(repairer.astream(tokens))), source)

    sent = run(go())
    assert b"guard_error" in sent
    assert b"secret" not in sent
    assert not any(stop in sent for stop in (*STOPS, b"[DONE]", b"message_stop"))


@by_path
def test_events_that_cannot_be_recorded_are_not_shown(path: str) -> None:
    def fail(_: Any) -> None:
        raise RecordError("the disk is full")

    async def go() -> bytes:
        guard = slow_guard(lambda _: 0.0, record=fail)
        return await collect(exchange_with(path, guard), Source(stream_of(path, Case(texts=(WRONG,))), stalls=False))

    sent = run(go())
    assert HALTS[path] in sent
    assert b"redacted" not in sent
    assert b'"reason":"record_failed"' in sent


@by_path
def test_somebody_is_there_while_a_clause_is_held(path: str, heuristic_guard: ProductionGuard) -> None:
    async def go() -> bytes:
        source = Source(beginning(path))
        exchange = new_exchange(heuristic_guard, path, REQUEST, Tap(), keep_alive=0.01)
        sent = b""
        async for piece in exchange.run(source.events()):
            sent += piece
            if sent.count(b": keep-alive\n\n") == 3:
                exchange.stop("shutdown")
        return sent

    assert run(go()).count(b": keep-alive\n\n") >= 3


@by_path
@pytest.mark.parametrize("mode", ["repair", "halt"])
def test_a_halt_closes_the_upstream(path: str, mode: str, heuristic_guard: ProductionGuard) -> None:
    async def go() -> bytes:
        case = Case(texts=(WRONG,), arguments=ARGUMENTS)
        source = Source(stream_of(path, case)[:-1])
        exchange = new_exchange(heuristic_guard, path, REQUEST, Tap(), mode=mode)
        running = asyncio.create_task(collect(exchange, source))
        if mode == "repair":
            await source.read.wait()
            exchange.stop("shutdown")
        sent = await asyncio.wait_for(running, 60)
        assert source.closed
        return sent

    sent = run(go())
    assert (b'"reason":"unsupported_clause"' in sent) == (mode == "halt")


@by_path
def test_many_texts_at_once_are_refused(path: str, heuristic_guard: ProductionGuard) -> None:
    def event(at: int) -> bytes:
        said = {
            "/v1/chat/completions": {"choices": [{"index": at, "delta": {"content": "Hello "}}]},
            "/v1/responses": {"type": "response.output_text.delta", "output_index": at, "delta": "Hello "},
            "/v1/messages": {
                "type": "content_block_start",
                "index": at,
                "content_block": {"type": "text", "text": "Hello "},
            },
        }[path]
        return f"data: {json.dumps(said)}\n\n".encode()

    tap = run(tapped(heuristic_guard, path, REQUEST, [event(at) for at in range(700)]))
    assert b"upstream_error" in tap.sent


def test_an_answer_without_its_last_line_is_complete_where_every_choice_is(heuristic_guard: ProductionGuard) -> None:
    path = "/v1/chat/completions"
    events = [event for event in stream_of(path, Case()) if b"[DONE]" not in event]
    tap = run(tapped(heuristic_guard, path, REQUEST, events))
    assert tap.sent.endswith(b"data: [DONE]\n\n")
    assert b'"finish_reason":"stop"' in tap.sent
