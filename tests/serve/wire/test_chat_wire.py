"""Chat Completions: what a chunk may carry, however an upstream sends it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from taps import Tap, tapped, whole
from upstreams import WRONG, probabilities

from director_ai import ProductionGuard

PATH = "/v1/chat/completions"
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Refund?"}]}
Guard = ProductionGuard


def say(*chunks: Any) -> list[bytes]:
    return [f"data: {each if isinstance(each, str) else json.dumps(each)}\n\n".encode() for each in chunks]


def delta(fields: dict[str, Any], *, index: Any = 0, reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "model": "m", "choices": [{"index": index, "delta": fields, "finish_reason": reason} | more]}


def run(guard: Guard, *chunks: Any, request: dict[str, Any] | None = None, **options: Any) -> Tap:
    return asyncio.run(tapped(guard, PATH, ASKED | (request or {}), say(*chunks), **options))


def deltas(tap: Tap) -> list[dict[str, Any]]:
    return [choice["delta"] for event in tap.events for choice in event.get("choices", ())]


def test_the_head_stands_on_every_chunk_and_padding_on_none(heuristic_guard: Guard) -> None:
    head = {"created": 5, "system_fingerprint": "fp", "service_tier": "flex", "obfuscation": "xxxx"}
    tap = run(heuristic_guard, delta({"content": "Hello!"}) | head, delta({}, reason="stop"), "[DONE]")
    for event in tap.events:
        assert (event["id"], event["created"], event["service_tier"]) == ("c1", 5, "flex")
        assert "obfuscation" not in event


def test_usage_is_null_until_it_is_told(heuristic_guard: Guard) -> None:
    usage = {"total_tokens": 3, "details": {"cached": 1}, "note": "a b"}
    tap = run(
        heuristic_guard, delta({"content": "Hello!"}), delta({}, reason="stop"), {"choices": [], "usage": usage}, "[DONE]",
        request={"stream_options": {"include_usage": True}},
    )  # fmt: skip
    *chunks, last = tap.events
    assert [event["usage"] for event in chunks] == [None] * len(chunks)
    assert last["usage"] == {"total_tokens": 3, "details": {"cached": 1}}


def test_usage_that_comes_with_every_chunk_is_told_once(heuristic_guard: Guard) -> None:
    chunks = [delta({"content": each}) | {"usage": {"total_tokens": at}} for at, each in enumerate(["Hel", "lo!"])]
    tap = run(heuristic_guard, *chunks, delta({}, reason="stop") | {"usage": {"total_tokens": 9}}, "[DONE]")
    assert [event["usage"] for event in tap.events if event["usage"]] == [{"total_tokens": 9}]


def test_a_role_is_told_once_and_choices_come_in_any_order(heuristic_guard: Guard) -> None:
    tap = run(
        heuristic_guard,
        delta({"role": "assistant", "content": "Bye!"}, index=1), delta({"role": "assistant", "content": "Hel"}),
        delta({"role": "assistant"}, index=1, reason="stop"), delta({"role": "assistant", "content": "lo!"}),
        delta({}, reason="length"), "[DONE]", request={"n": 2},
    )  # fmt: skip
    choices = [choice for event in tap.events for choice in event["choices"]]
    assert sorted(choice["index"] for choice in choices if "role" in choice["delta"]) == [0, 1]
    reasons = {choice["index"]: choice["finish_reason"] for choice in choices if choice["finish_reason"]}
    assert reasons == {0: "length", 1: "stop"}
    assert tap.released == {("content", 0, 0): "Hello!", ("content", 1, 0): "Bye!"}


def test_an_empty_content_stays_as_it_was(heuristic_guard: Guard) -> None:
    tap = run(heuristic_guard, delta({"role": "assistant", "content": None}), delta({}, reason="stop"), "[DONE]")
    assert deltas(tap)[0] == {"role": "assistant", "content": None}


def test_functions_of_old_are_guarded(heuristic_guard: Guard) -> None:
    arguments = '{"text": "Refunds are available within 90 days."}'
    tap = run(
        heuristic_guard, delta({"function_call": {"name": "send", "arguments": ""}}),
        delta({"function_call": {"arguments": arguments}}), delta({}, reason="function_call"), "[DONE]",
    )  # fmt: skip
    calls = [each["function_call"] for each in deltas(tap) if "function_call" in each]
    assert calls[0] == {"name": "send", "arguments": ""}
    assert "".join(call["arguments"] for call in calls) == arguments.replace("90", "30")


def test_custom_tools_are_guarded_as_text(heuristic_guard: Guard) -> None:
    first = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "note", "input": "Refunds are available "}}
    rest = {"index": 0, "custom": {"input": "within 90 days."}}
    tap = run(
        heuristic_guard,
        delta({"tool_calls": [first]}),
        delta({"tool_calls": [rest]}),
        delta({}, reason="stop"),
        "[DONE]",
    )
    calls = [call for each in deltas(tap) for call in each.get("tool_calls", ())]
    assert (calls[0]["id"], calls[0]["type"], calls[0]["custom"]) == ("c", "custom", {"name": "note", "input": ""})
    assert "".join(call["custom"]["input"] for call in calls) == "Refunds are available within 30 days."


@pytest.mark.parametrize(
    "numbers",
    [[0, 0, 1, 1], [1, 1, 2, 2], [None, None, None, None]],
    ids=["numbered", "numbered_from_one", "not_numbered"],
)
@pytest.mark.parametrize("repeats", [False, True], ids=["id_once", "id_repeated"])
def test_calls_keep_their_places(numbers: list[Any], repeats: bool, heuristic_guard: Guard) -> None:
    chunks = []
    for at, number in enumerate(numbers):
        call: dict[str, Any] = {"function": {"arguments": '{"a":' if at % 2 == 0 else f"{at}}}"}}
        call |= {} if number is None else {"index": number}
        if at % 2 == 0 or repeats:
            call |= {"id": f"call_{at // 2}", "type": "function"}
            call["function"]["name"] = "send"
        chunks.append(delta({"tool_calls": [call]}))
    tap = run(heuristic_guard, *chunks, delta({}, reason="tool_calls"), "[DONE]")
    made: dict[int, dict[str, str]] = {}
    for each in deltas(tap):
        for call in each.get("tool_calls", ()):
            known = made.setdefault(call["index"], {"id": call.get("id", ""), "arguments": ""})
            known["arguments"] += call["function"]["arguments"]
    assert made == {0: {"id": "call_0", "arguments": '{"a":1}'}, 1: {"id": "call_1", "arguments": '{"a":3}'}}


def test_content_in_json_mode_is_guarded_as_json(heuristic_guard: Guard) -> None:
    text = '{"answer": "Refunds are available within 90 days.", "ok": true}'
    tap = run(
        heuristic_guard, delta({"content": text}), delta({}, reason="stop"), "[DONE]",
        request={"response_format": {"type": "json_schema", "json_schema": {}}},
    )  # fmt: skip
    assert json.loads(tap.released["content", 0, 0]) == {"answer": "Refunds are available within 30 days.", "ok": True}


def test_probabilities_of_changed_text_are_dropped_and_others_kept(heuristic_guard: Guard) -> None:
    tokens = ["Hello", "! ", "Refunds are available within ", "90", " days. ", "Good", "bye!"]
    chunks = [delta({"content": each}, logprobs={"content": probabilities([each])}) for each in tokens]
    tap = run(heuristic_guard, *chunks, delta({}, reason="stop"), "[DONE]", request={"logprobs": True})
    known = [
        entry["token"]
        for event in tap.events
        for choice in event["choices"]
        for entry in (choice.get("logprobs") or {}).get("content", ())
    ]
    assert known == [token for token in tokens if token != "90"]


def test_probabilities_of_another_text_are_dropped(heuristic_guard: Guard) -> None:
    chunk = delta({"content": "Hello!"}, logprobs={"content": probabilities(["zorblatt"])})
    tap = run(heuristic_guard, chunk, delta({}, reason="stop"), "[DONE]", request={"logprobs": True})
    assert b"zorblatt" not in tap.sent


def test_moderation_is_kept_as_figures(heuristic_guard: Guard) -> None:
    moderation = {"output": {"flagged": False, "scores": {"hate": 0.1}, "note": "some words"}}
    tap = run(
        heuristic_guard,
        delta({"content": "Hi!"}),
        delta({}, reason="stop"),
        {"choices": [], "moderation": moderation},
        "[DONE]",
    )
    assert tap.events[-1]["moderation"] == {"output": {"flagged": False, "scores": {"hate": 0.1}}}


@pytest.mark.parametrize(
    "chunk",
    ["no json", "[]", "17", '"text"', "[" * 100_000, '{"choices": ' + "9" * 5_000 + "}", "{"],
    ids=["text", "list", "number", "string", "deep", "long_number", "half"],
)
def test_what_is_no_chunk_ends_in_an_error(chunk: str, heuristic_guard: Guard) -> None:
    tap = run(heuristic_guard, delta({"content": "Hello! "}), chunk, delta({}, reason="stop"), "[DONE]")
    assert tap.events[-1]["error"]["code"] == "upstream_error"
    assert b"[DONE]" not in tap.sent


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": None}, {"choices": {}}, {"choices": [None, 3, "x"]}, delta({"content": 7}), delta({"content": ["x"]}),
        delta({"tool_calls": {"0": {}}}), delta({"tool_calls": [{"index": -1, "function": {"arguments": {"a": 1}}}]}),
        delta({"tool_calls": [{"index": 0, "function": None}]}), delta({"function_call": "x"}), delta({}, index=True),
        delta({"content": "x"}, index=-1), delta({"content": "x"}, index=10**9), {"choices": [{"delta": None}]},
        delta({}, logprobs=[1, 2]), delta({"content": ""}, logprobs={"content": [{"token": 3}]}), {"usage": "none"}, {},
    ],
)  # fmt: skip
def test_odd_chunks_are_passed_over(chunk: dict[str, Any], heuristic_guard: Guard) -> None:
    tap = run(
        heuristic_guard, delta({"content": "Hello! "}), chunk, delta({"content": "Bye!"}), delta({}, reason="stop"), "[DONE]",
        request={"logprobs": True},
    )  # fmt: skip
    assert tap.released["content", 0, 0] == "Hello! Bye!"
    assert tap.sent.endswith(b"data: [DONE]\n\n")


def test_a_lone_surrogate_does_not_break_the_stream(heuristic_guard: Guard) -> None:
    tap = run(
        heuristic_guard,
        '{"id":"\\ud800","choices":[{"delta":{"content":"Hi \\ud800!"}}]}',
        delta({}, reason="stop"),
        "[DONE]",
    )
    assert tap.sent.endswith(b"data: [DONE]\n\n")


def test_line_ends_of_other_alphabets_stay_inside_of_their_line(heuristic_guard: Guard) -> None:
    tap = run(heuristic_guard, delta({"content": "Hello!\u2028Bye!\u0085"}), delta({}, reason="stop"), "[DONE]")
    assert len(tap.sent.decode().splitlines()) == tap.sent.count(b"\n")
    assert tap.released["content", 0, 0] == "Hello!\u2028Bye!\u0085"


def test_nothing_follows_a_halt_of_a_whole_answer(heuristic_guard: Guard) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "send", "arguments": "{}"}}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": WRONG, "tool_calls": [call]},
        "finish_reason": "stop",
    }
    shown = asyncio.run(whole(heuristic_guard, PATH, ASKED, {"choices": [choice]}, mode="halt"))
    (choice,) = shown["choices"]
    assert choice["message"] == {"role": "assistant", "content": "Hello! "}
    assert choice["finish_reason"] == "content_filter"
