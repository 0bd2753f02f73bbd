"""Optimistic mode on the wire: text is there at once, and after all corrections it is what a strict client gets."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

import pytest
from replays import Replay, others, replayed
from taps import Tap, read_events
from upstreams import ARGUMENTS, PROTOCOLS, RIGHT, WRONG, WRONG_ARGUMENTS, Case
from wire.test_wire_tap import REQUEST as RICH_REQUEST
from wire.test_wire_tap import as_bytes, events_of, kinds_of, with_canaries

from director_ai import ProductionGuard, validators
from director_ai.core.streaming_repair import StreamingRepairer
from director_ai.serve.exchange import Exchange
from director_ai.serve.guarding import Guarding
from director_ai.serve.optimism import MOST_UNCONFIRMED, Optimism
from director_ai.serve.proxy import WIRES
from director_ai.serve.sse import ServerSentEvent
from director_ai.serve.upstream import UpstreamUnreachable

PATHS = sorted(PROTOCOLS)
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Refund?"}], "input": "Refund?"}
HALTS = {"/v1/chat/completions": b"content_filter", "/v1/responses": b"response.incomplete", "/v1/messages": b"refusal"}
TOLD = Guarding(guard=None, prompt="", tenant_id="", request_id="r")  # type: ignore[arg-type]  # only describes
by_path = pytest.mark.parametrize("path", PATHS)
Stream = Callable[[Any, Any], Any]


def exchange_of(
    path: str, stream: Stream, tap: Tap, *, request: dict[str, Any] | None = None, optimistic: bool = True
) -> Exchange:
    wire = WIRES[path](request or REQUEST)

    def guard(first: Any, tokens: Any) -> Any:
        made = stream(first, tokens)
        tap.ledger.append((first, made))
        return made

    optimism = Optimism(wire) if optimistic else None
    return Exchange(wire, guard, describe=TOLD.describe, describe_halt=TOLD.describe_halt, optimism=optimism)


async def sent(path: str, stream: Stream, chunks: Iterable[bytes], **options: Any) -> Tap:
    tap = Tap()
    exchange = exchange_of(path, stream, tap, **options)
    async with asyncio.timeout(20):
        tap.sent = b"".join([piece async for piece in exchange.run(read_events(chunks))])
    assert len(asyncio.all_tasks()) == 1
    return tap


def guarded(guard: ProductionGuard, mode: str = "repair") -> Stream:
    return Guarding(guard=guard, prompt="Refund?", tenant_id="", request_id="r", mode=mode).stream


def stream_of(path: str, case: Case) -> list[bytes]:
    return list(PROTOCOLS[path][1](case))


def answers(tap: Tap) -> dict[Any, str]:
    """Return what the guard let go of the texts that are shown at once."""
    return {place: text for place, text in tap.released.items() if place[0] in ("content", "output_text", "text")}


# --- the law ----------------------------------------------------------------------------------------------------------


WORDS = [
    "Hello! ",
    "All is well. ",
    "It is zorblatt. ",
    "It costs 90 euros a day. ",
    "Dr. Who said 3.5; ",
    "Grüezi 🙂! ",
    "Hid\u200bden, the ﬁne mark. ",
    "\n\n- ",
    "[DONE] ",
    "a@b.example ",
    "word " * 30,
]


def score(clause: str) -> float:
    return 0.0 if "zorblatt" in clause or "90" in clause else 1.0


def rewrite(clause: str, _: Any) -> str:
    return clause.replace("90", "30")


def repairer(draw: random.Random) -> StreamingRepairer:
    """Return a guard that keeps, rewrites, redacts and halts, alone or with other checks before and beside it."""
    return StreamingRepairer(
        score,
        rewrite_fn=draw.choice([None, rewrite]),
        most_redacted=draw.choice([None, None, 0, 1]),
        cap_after=0,
        first=draw.choice([(), (validators.Disguise(),)]),
        checks=draw.choice([(), (validators.PII(),), (validators.Casing(to="lower"),)]),
        placeholder=draw.choice(["[redacted: not supported]", "…"]),
    )


def drawn(draw: random.Random) -> Case:
    texts = tuple("".join(draw.choices(WORDS, k=draw.randint(1, 8))) for _ in range(draw.randint(1, 3)))
    arguments = json.dumps({"text": "".join(draw.choices(WORDS, k=3))}) if draw.random() < 0.4 else ""
    return Case(
        texts=texts, arguments=arguments, reasoning="Hm. " * draw.randint(0, 1), size=draw.randint(1, 40),
        logprobs=draw.random() < 0.3,
    )  # fmt: skip


async def check_law(path: str, seeds: range) -> Replay:
    whole = Replay()
    for seed in seeds:
        draw = random.Random(seed)
        case, guard = drawn(draw), repairer(draw)
        request = REQUEST | {"n": len(case.texts), "logprobs": case.logprobs}
        data = b"".join(stream_of(path, case))
        places = [0, *sorted(draw.sample(range(len(data)), 5)), len(data)]
        chunks = [data[start:end] for start, end in itertools.pairwise(places)]

        def stream(first: Any, tokens: Any, guard: StreamingRepairer = guard) -> Any:
            return guard.astream(tokens, shape=first.shape)

        strict = await sent(path, stream, chunks, request=request, optimistic=False)
        tap = await sent(path, stream, chunks, request=request)
        client, plain = replayed(tap.events), replayed(strict.events)
        held = {place: text for place, text in client.texts.items() if text}
        assert held == plain.texts == {place: text for place, text in answers(tap).items() if text}, seed
        assert client.is_final, seed
        assert others(tap.events) == others(strict.events), seed
        whole.corrections += client.corrections
    return whole


@by_path
def test_after_all_corrections_a_client_holds_what_a_strict_one_gets(path: str) -> None:
    seen = asyncio.run(check_law(path, range(80)))
    assert {each["event"] for each in seen.corrections} == {"confirm", "replace", "retract"}


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@by_path
def test_after_all_corrections_a_client_holds_the_same_in_the_long_run(path: str) -> None:
    asyncio.run(check_law(path, range(80, 10_000)))


@by_path
def test_every_size_of_tokens_gives_the_same_text(path: str, heuristic_guard: ProductionGuard) -> None:
    async def go() -> None:
        for mode, size in itertools.product(("repair", "halt"), (1, 2, 3, 5, 8, 13, 200)):
            case = Case(texts=(WRONG, RIGHT), size=size)
            tap = await sent(path, guarded(heuristic_guard, mode), stream_of(path, case), request=REQUEST | {"n": 2})
            client = replayed(tap.events)
            assert {place: text for place, text in client.texts.items() if text} == answers(tap)
            assert client.is_final
            assert (HALTS[path] in tap.sent) == (mode == "halt")

    asyncio.run(go())


# --- what a client sees -----------------------------------------------------------------------------------------------


@by_path
def test_a_fix_names_its_words_its_grounds_and_its_place(path: str, heuristic_guard: ProductionGuard) -> None:
    tap = asyncio.run(sent(path, guarded(heuristic_guard), stream_of(path, Case(texts=(WRONG,)))))
    (fix,) = [each for each in replayed(tap.events).corrections if each["event"] != "confirm"]
    at = WRONG.index("90")
    assert (fix["event"], fix["start"], fix["end"], fix["text"]) == ("replace", at, at + 2, "30")
    (action,) = fix["actions"]
    assert (action["action"], action["evidence_ids"]) == ("rewrite", ["refund"])
    first = next(event for event in tap.events if "event" in event.get("guard", {}))
    assert first["guard"] == {"event": "confirm", "start": 0, "end": 7, "shown_before_judged": True}


class Source:
    """Events of an upstream that stalls behind them, or fails."""

    def __init__(self, chunks: list[bytes], error: Exception | None = None) -> None:
        self._chunks, self._error = chunks, error
        self.read = asyncio.Event()

    async def events(self) -> AsyncGenerator[ServerSentEvent]:
        async for event in read_events(self._chunks):
            yield event
        self.read.set()
        if self._error is not None:
            raise self._error
        await asyncio.sleep(3_600)


def up_to(path: str, text: bytes, case: Case) -> list[bytes]:
    """Return a stream up to the first event with a text."""
    events = stream_of(path, case)
    return events[: next(at for at, event in enumerate(events) if text in event) + 1]


@by_path
def test_text_is_shown_before_its_clause_is_complete(path: str, heuristic_guard: ProductionGuard) -> None:
    async def go() -> tuple[Replay, bytes]:
        tap, client = Tap(), Replay()
        exchange = exchange_of(path, guarded(heuristic_guard), tap)
        source = Source(up_to(path, b"Refunds", Case(texts=(WRONG,))))
        async for piece in exchange.run(source.events()):
            tap.sent += piece
            client = replayed(tap.events)
            if client.corrections and "Refunds" in "".join(client.texts.values()):
                exchange.stop("kill_switch")
        return client, tap.sent

    client, data = asyncio.run(go())
    assert list(client.texts.values()) == ["Hello! "]
    assert client.is_final
    assert client.corrections[-1]["event"] == "retract"
    assert HALTS[path] in data
    assert data.index(b'"retract"') < data.index(b'"reason":"kill_switch"')
    assert b'"shown_before_judged":true' in data[data.index(b'"reason":"kill_switch"') :]


@by_path
def test_a_halt_takes_back_all_that_is_not_confirmed(path: str, heuristic_guard: ProductionGuard) -> None:
    tap = asyncio.run(sent(path, guarded(heuristic_guard, "halt"), stream_of(path, Case(texts=(WRONG,)))))
    client = replayed(tap.events)
    assert list(client.texts.values()) == ["Hello! "]
    assert tap.sent.index(b'"event":"retract"') < tap.sent.index(HALTS[path])


TWO_TEXTS: dict[str, Callable[[str, str], list[dict[str, Any]]]] = {
    "/v1/chat/completions": lambda one, two: [
        {"choices": [{"index": 0, "delta": {"content": one}}]},
        {"choices": [{"index": 0, "delta": {"refusal": two}}]},
    ],
    "/v1/responses": lambda one, two: [
        {"type": "response.output_text.delta", "output_index": 0, "delta": one},
        {"type": "response.output_text.delta", "output_index": 1, "delta": two},
    ],
    "/v1/messages": lambda one, two: [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": one}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": two}},
    ],
}
"""Streams with two texts that are open at once, and end together."""


@by_path
def test_a_halt_takes_back_the_texts_that_end_with_it(path: str, heuristic_guard: ProductionGuard) -> None:
    async def go() -> bytes:
        exchange = exchange_of(path, guarded(heuristic_guard, "halt"), Tap())
        source = Source([as_bytes(each) for each in TWO_TEXTS[path]("Refunds are avail", WRONG)])
        return b"".join([piece async for piece in exchange.run(source.events())])

    data = asyncio.run(go())
    client = replayed(Tap(sent=data).events)
    assert "".join(client.texts.values()) in ("", "Hello! ")
    assert data.rindex(b'"event":"retract"') < data.index(HALTS[path])
    assert b'"start":0,"end":17' in data


def test_a_halt_of_one_choice_takes_nothing_from_another(heuristic_guard: ProductionGuard) -> None:
    path, case = "/v1/chat/completions", Case(texts=(WRONG, RIGHT + " And so on."))
    tap = asyncio.run(sent(path, guarded(heuristic_guard, "halt"), stream_of(path, case), request=REQUEST | {"n": 2}))
    other = [event for event in tap.events if any(choice["index"] == 1 for choice in event["choices"])]
    assert {each["event"] for each in replayed(other).corrections} == {"confirm"}


@by_path
def test_an_upstream_that_breaks_leaves_nothing_unjudged(path: str, heuristic_guard: ProductionGuard) -> None:
    async def go() -> Tap:
        tap = Tap()
        exchange = exchange_of(path, guarded(heuristic_guard), tap)
        source = Source(
            up_to(path, b"90", Case(texts=(WRONG,), size=60)), UpstreamUnreachable("the upstream broke off")
        )
        tap.sent = b"".join([piece async for piece in exchange.run(source.events())])
        return tap

    tap = asyncio.run(go())
    client = replayed(tap.events)
    assert client.texts == answers(tap)
    assert client.is_final
    assert b"90" not in "".join(client.texts.values()).encode()
    assert b"upstream_error" in tap.sent


@by_path
def test_a_guard_that_fails_takes_back_what_was_shown(path: str) -> None:
    class Failing:
        """A guarded stream that never comes to a verdict."""

        def __init__(self, tokens: Any) -> None:
            self._tokens = tokens

        async def __aiter__(self) -> Any:
            async for token in self._tokens:
                if "90" in token:
                    raise RuntimeError("the secret reason")
            yield

        async def aclose(self) -> None:
            pass

    async def go() -> bytes:
        exchange = exchange_of(path, lambda _, tokens: Failing(tokens), Tap())
        source = Source(stream_of(path, Case(texts=(WRONG,), size=3)))
        return b"".join([piece async for piece in exchange.run(source.events())])

    tap = Tap(sent=asyncio.run(go()))
    client = replayed(tap.events)
    assert list(client.texts.values()) == [""]
    assert [each["event"] for each in client.corrections] == ["retract"]
    assert b"guard_error" in tap.sent
    assert b"secret" not in tap.sent


# --- what stays strict ------------------------------------------------------------------------------------------------


@by_path
@pytest.mark.parametrize("mode", ["repair", "halt"])
def test_arguments_of_tools_stay_held(path: str, mode: str, heuristic_guard: ProductionGuard) -> None:
    async def go() -> tuple[Tap, Tap]:
        chunks = stream_of(path, Case(texts=("",), arguments=WRONG_ARGUMENTS, size=3))
        stream = guarded(heuristic_guard, mode)
        return await sent(path, stream, chunks), await sent(path, stream, chunks, optimistic=False)

    optimistic, strict = asyncio.run(go())
    assert b"90" not in optimistic.sent
    assert optimistic.sent.replace(b',"shown_before_judged":true', b"") == strict.sent


@by_path
def test_no_field_beside_the_answer_carries_text_past_the_guard(path: str, heuristic_guard: ProductionGuard) -> None:
    recorded = events_of(path)

    async def go() -> int:
        tried = 0
        for at, said in kinds_of(recorded):
            for changed in list(with_canaries(said))[at % 3 :: 3]:  # test_wire_tap tries every one
                stream = [as_bytes(changed if number == at else data) for number, (data, _) in enumerate(recorded)]
                tap = await sent(path, guarded(heuristic_guard), stream, request=RICH_REQUEST)
                client = replayed(tap.events)
                held = {place: text for place, text in client.texts.items() if text}
                assert held == {place: text for place, text in answers(tap).items() if text}, changed
                assert client.is_final, changed
                assert "zorblatt" not in json.dumps([others(tap.events), *held.values()]), changed
                tried += 1
        return tried

    assert asyncio.run(go()) > 25


@by_path
def test_text_is_confirmed_before_a_call_begins(path: str, heuristic_guard: ProductionGuard) -> None:
    case = Case(texts=(WRONG,), arguments=ARGUMENTS, size=3)
    tap = asyncio.run(sent(path, guarded(heuristic_guard), stream_of(path, case)))
    call = next(at for at, event in enumerate(tap.events) if '"send"' in json.dumps(event))
    client = replayed(tap.events[:call])
    assert list(client.texts.values()) == [WRONG.replace("90", "30")]
    assert client.is_final


@by_path
def test_json_answers_stay_held(path: str, heuristic_guard: ProductionGuard) -> None:
    wanted = {"type": "json_object"}
    request = REQUEST | {"response_format": wanted, "text": {"format": wanted}, "output_config": {"format": wanted}}
    chunks = stream_of(path, Case(texts=(WRONG_ARGUMENTS,), size=3))
    tap = asyncio.run(sent(path, guarded(heuristic_guard), chunks, request=request))
    assert b"90" not in tap.sent
    assert not replayed(tap.events).corrections


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_refusals_stay_held(path: str, heuristic_guard: ProductionGuard) -> None:
    chunks = stream_of(path, Case(texts=("",), refusal=WRONG, size=3))
    tap = asyncio.run(sent(path, guarded(heuristic_guard), chunks))
    assert b"90" not in tap.sent
    assert not replayed(tap.events).corrections


def test_a_text_that_goes_on_behind_a_call_keeps_its_places(heuristic_guard: ProductionGuard) -> None:
    def event(**delta: Any) -> bytes:
        return as_bytes({"choices": [{"index": 0, "delta": delta}]})

    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "send", "arguments": "{}"}}
    chunks = [event(content="Hello! "), event(tool_calls=[call]), event(content=WRONG), as_bytes("[DONE]")]
    tap = asyncio.run(sent("/v1/chat/completions", guarded(heuristic_guard), chunks))
    client = replayed(tap.events)
    assert list(client.texts.values()) == ["Hello! " + WRONG.replace("90", "30")]
    assert client.is_final


def test_probabilities_are_told_at_the_end_alone(heuristic_guard: ProductionGuard) -> None:
    async def go(path: str) -> Tap:
        chunks = stream_of(path, Case(texts=(WRONG,), logprobs=True))
        return await sent(path, guarded(heuristic_guard), chunks, request=REQUEST | {"logprobs": True})

    assert b"logprob" not in asyncio.run(go("/v1/chat/completions")).sent
    events = asyncio.run(go("/v1/responses")).events
    assert {len(event["logprobs"]) for event in events if event["type"] == "response.output_text.delta"} == {0}
    (done,) = [event for event in events if event["type"] == "response.output_text.done"]
    assert done["logprobs"]


# --- bounds -----------------------------------------------------------------------------------------------------------


LONG = "word " * 12_000


@by_path
@pytest.mark.parametrize("size", [17, 5_000, len(LONG)])
def test_little_is_out_where_the_guard_does_not_answer(path: str, size: int) -> None:
    async def never(_: str) -> float:
        return await asyncio.Event().wait()

    async def go() -> bytes:
        exchange = exchange_of(path, lambda _, tokens: StreamingRepairer(never).astream(tokens), Tap())
        source = Source(stream_of(path, Case(texts=(LONG,), size=size)))
        data = b""
        async for piece in exchange.run(source.events()):
            data += piece
            if len("".join(replayed(Tap(sent=data).events).texts.values())) >= MOST_UNCONFIRMED:
                exchange.stop("kill_switch")
        return data

    client = replayed(Tap(sent=asyncio.run(go())).events)
    assert client.most_open == MOST_UNCONFIRMED
    assert list(client.texts.values()) == [""]


@by_path
@pytest.mark.parametrize("size", [17, 5_000, len(LONG)])
def test_text_that_was_held_back_leaves_as_text(path: str, size: int) -> None:
    async def slowly(_: str) -> float:
        await asyncio.sleep(0.001)
        return 1.0

    chunks = stream_of(path, Case(texts=(LONG,), size=size))
    tap = asyncio.run(sent(path, lambda _, tokens: StreamingRepairer(slowly).astream(tokens), chunks))
    client = replayed(tap.events)
    assert list(client.texts.values()) == [LONG]
    assert client.is_final
    assert {each["event"] for each in client.corrections} == {"confirm"}
