"""Promise 1 on the wire: whatever an upstream puts into whichever field, nothing leaves that the guard did not let go."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from taps import ledger, tapped, texts_sent, whole
from upstreams import ARGUMENTS, PROTOCOLS, RIGHT, WRONG, WRONG_ARGUMENTS, Case

from director_ai import ProductionGuard

CANARY = "The zorblatt costs 77 crowns."
"""Nothing supports it, so the guard redacts it wherever it is asked."""
RICH = Case(texts=("Hello!", "Hi."), arguments='{"text": "Hi"}', refusal="No.", reasoning="Hm.", logprobs=True, size=24)
CALL = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "a b"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "page", "title": "a b"}]}
EXTRA: dict[str, list[dict[str, Any]]] = {
    "/v1/chat/completions": [{"choices": [{"index": 0, "delta": {"function_call": {"name": "f", "arguments": "{}"}}}]}],
    "/v1/responses": [
        {"type": "response.output_item.added", "output_index": 7, "item": CALL},
        {"type": "response.web_search_call.completed", "output_index": 7, "item_id": "ws_1"},
        {"type": "response.output_item.done", "output_index": 7, "item": CALL},
    ],
    "/v1/messages": [
        {"type": "content_block_start", "index": 7, "content_block": FOUND},
        {"type": "content_block_stop", "index": 7},
    ],
}
"""What the others are not: a call of old, and something that comes whole; they stand before the last events."""
REQUEST = {"model": "m", "stream": True, "logprobs": True, "messages": [], "input": "", "n": 2}
PATHS = sorted(PROTOCOLS)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value in an object."""
    if path:
        yield path
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(each, (*path, key))


def with_canaries(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an object with the canary in place of each of its values, and beside them."""
    for path in places(value):
        for kind in ("instead", "inside"):
            made = copy.deepcopy(value)
            parent = made
            for key in path[:-1]:
                parent = parent[key]
            inner = parent[path[-1]]
            if kind == "instead":
                parent[path[-1]] = CANARY
            elif isinstance(inner, dict):
                inner |= {"text": CANARY, "undocumented": CANARY, "content": CANARY}
            elif isinstance(inner, list):
                inner.append(CANARY)
                inner.append({"type": "text", "text": CANARY})
            elif isinstance(inner, str):
                parent[path[-1]] = [{"type": "text", "text": CANARY}]
            else:
                continue
            yield made


def events_of(path: str) -> list[tuple[str, dict[str, Any] | None]]:
    found = []
    for raw in PROTOCOLS[path][1](RICH):
        *_, data = raw.decode().rstrip("\n").split("data: ", 1)
        found.append((data, json.loads(data) if data != "[DONE]" else None))
    found[-4:-4] = [(json.dumps(each), each) for each in EXTRA[path]]
    return found


def whole_of(path: str) -> dict[str, Any]:
    body = PROTOCOLS[path][0](RICH)
    body.get("output", []).append(CALL)
    body.get("content", []).append(FOUND)
    return body


def kinds_of(recorded: list[tuple[str, dict[str, Any] | None]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the first event of each form, with its place."""
    known: set[Any] = set()
    for at, (_, said) in enumerate(recorded):
        form = said and (said.get("type"), tuple(places(said)))
        if said is not None and form not in known:
            known.add(form)
            yield at, said


def as_bytes(said: Any) -> bytes:
    return f"data: {said if isinstance(said, str) else json.dumps(said)}\n\n".encode()


@pytest.mark.parametrize("path", PATHS)
def test_no_field_of_any_event_carries_text_past_the_guard(path: str, heuristic_guard: ProductionGuard) -> None:
    recorded = events_of(path)

    async def run() -> int:
        tried = 0
        for at, said in kinds_of(recorded):
            for changed in with_canaries(said):
                stream = [as_bytes(changed if number == at else data) for number, (data, _) in enumerate(recorded)]
                tap = await tapped(heuristic_guard, path, REQUEST, stream)
                let_go = any("zorblatt" in text for text in tap.released.values())
                assert let_go or b"zorblatt" not in tap.sent, (at, changed)
                assert tap.tasks_left == 0
                tried += 1
        return tried

    assert asyncio.run(run()) > 80


@pytest.mark.parametrize("path", PATHS)
def test_no_field_of_a_whole_answer_carries_text_past_the_guard(path: str, heuristic_guard: ProductionGuard) -> None:
    async def run() -> int:
        tried = 0
        for changed in with_canaries(whole_of(path)):
            shown = await whole(heuristic_guard, path, REQUEST, changed)
            assert "zorblatt" not in json.dumps(shown), changed
            tried += 1
        return tried

    assert asyncio.run(run()) > 40


@pytest.mark.parametrize("path", PATHS)
def test_events_of_unknown_types_are_dropped(path: str, heuristic_guard: ProductionGuard) -> None:
    odd = [
        {"type": "response.steer.delta", "output_index": 0, "delta": CANARY},
        {"type": "response.audio.transcript.delta", "output_index": 0, "delta": CANARY},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "poem_delta", "poem": CANARY}},
        {"type": "content_block_start", "index": 90, "content_block": {"type": "poem", "poem": CANARY}},
        {"type": "response.output_item.added", "output_index": 90, "item": {"type": "poem", "poem": CANARY}},
        {"type": "poem", "text": CANARY},
        {"choices": [{"index": 0, "delta": {"audio": {"transcript": CANARY}, "poem": CANARY}}]},
        {"choices": [{"index": "0", "delta": {"content": CANARY}}, CANARY, [CANARY]]},
    ]
    recorded = [as_bytes(data) for data, _ in events_of(path)]
    for each in odd:
        tap = asyncio.run(tapped(heuristic_guard, path, REQUEST, [*recorded[:6], as_bytes(each), *recorded[6:]]))
        assert b"zorblatt" not in tap.sent, each


@pytest.mark.parametrize("mode", ["repair", "halt"])
@pytest.mark.parametrize("choices", [1, 2, 3])
@pytest.mark.parametrize("arguments", ["", ARGUMENTS, WRONG_ARGUMENTS], ids=["no_call", "call", "wrong_call"])
@pytest.mark.parametrize("path", PATHS)
def test_what_is_sent_is_what_the_guard_let_go(
    path: str, arguments: str, choices: int, mode: str, heuristic_guard: ProductionGuard
) -> None:
    case = Case(texts=(RIGHT, WRONG, RIGHT)[:choices], arguments=arguments)
    tap = asyncio.run(tapped(heuristic_guard, path, REQUEST | {"n": choices}, PROTOCOLS[path][1](case), mode=mode))
    assert texts_sent(path, tap) == ledger(path, tap)
    assert b"90 days" not in tap.sent
    assert tap.tasks_left == 0
    if mode == "halt" and ("90" in arguments or choices > 1):
        assert b'"halted":true' in tap.sent
