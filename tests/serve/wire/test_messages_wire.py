"""Messages: blocks stay in order and without gaps, whatever is withheld, repaired or halted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from taps import Tap, tapped, whole

from director_ai import ProductionGuard

PATH = "/v1/messages"
ASKED: dict[str, Any] = {
    "model": "m", "max_tokens": 9, "stop_sequences": ["the very end"],
    "messages": [{"role": "user", "content": "You said: refunds take 30 days."}],
}  # fmt: skip
Guard = ProductionGuard
START = {
    "type": "message_start",
    "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 5, "output_tokens": 1}},
}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 8}}
STOP = {"type": "message_stop"}


def run(guard: Guard, *events: Any, **options: Any) -> Tap:
    data = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events]
    return asyncio.run(tapped(guard, PATH, ASKED, data, **options))


def block(index: int, head: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": head},
        *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *texts: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": each} for each in texts))


def of_kind(tap: Tap, kind: str) -> list[dict[str, Any]]:
    return [event for event in tap.events if event["type"] == kind]


THOUGHT = block(
    0, {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "The zorblatt thinks."}, {"type": "signature_delta", "signature": "c2ln" * 200},
)  # fmt: skip


def test_thinking_is_withheld_and_leaves_no_gap(heuristic_guard: Guard) -> None:
    hidden = block(1, {"type": "redacted_thinking", "data": "The zorblatt."})
    tap = run(heuristic_guard, START, *THOUGHT, *hidden, *text(2, "Hello!"), END, STOP)
    assert b"zorblatt" not in tap.sent
    assert [event["index"] for event in tap.events if "index" in event] == [0, 0, 0]


def test_thinking_is_passed_untouched_where_it_may_be_seen(heuristic_guard: Guard) -> None:
    tap = run(heuristic_guard, START, *THOUGHT, *text(1, "Hello!"), END, STOP, shows_reasoning=True)
    assert tap.events[1:5] == THOUGHT


def test_citations_stay_with_text_that_is_as_it_came(heuristic_guard: Guard) -> None:
    citation = {"type": "char_location", "cited_text": ASKED["messages"][0]["content"], "document_index": 0}
    other = {
        "type": "web_search_result_location",
        "cited_text": "The zorblatt.",
        "url": "https://example.com",
        "title": "A zorblatt",
    }
    cites = [{"type": "citations_delta", "citation": each} for each in (citation, other)]
    for said, count in (("Refunds are available within 30 days.", 2), ("Refunds are available within 90 days.", 0)):
        head = {"type": "text", "text": "", "citations": []}
        tap = run(heuristic_guard, START, *block(0, head, {"type": "text_delta", "text": said}, *cites), END, STOP)
        told = [
            event["delta"]["citation"] for event in of_kind(tap, "content_block_delta") if "citation" in event["delta"]
        ]
        assert len(told) == count
        assert told[:1] == [citation][:count]
        assert b"zorblatt" not in tap.sent


def test_inputs_of_tools_are_guarded_as_json(heuristic_guard: Guard) -> None:
    wrong = json.dumps({"text": "Refunds are available within 90 days."})
    head = {"type": "tool_use", "id": "toolu_1", "name": "send", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": each} for each in ("", wrong[:12], wrong[12:])]
    early = block(1, head | {"id": "toolu_2", "input": json.loads(wrong)})
    tap = run(heuristic_guard, START, *block(0, head, *deltas), *early, END, STOP)
    for index in (0, 1):
        told = [
            event["delta"]["partial_json"] for event in of_kind(tap, "content_block_delta") if event["index"] == index
        ]
        assert json.loads("".join(told)) == {"text": "Refunds are available within 30 days."}
    assert [event["content_block"]["input"] for event in of_kind(tap, "content_block_start")] == [{}, {}]


def test_results_of_tools_are_judged(heuristic_guard: Guard) -> None:
    found = [
        {"type": "web_search_result", "title": "Refunds are available within 90 days.", "url": "https://example.com"}
    ]
    result = block(0, {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": found})
    tap = run(heuristic_guard, START, *result, *text(1, "Hello!"), END, STOP)
    shown = of_kind(tap, "content_block_start")[0]["content_block"]
    assert shown == {
        "type": "web_search_tool_result", "tool_use_id": "srv_1",
        "content": [found[0] | {"title": "Refunds are available within 30 days."}],
    }  # fmt: skip


def test_blocks_of_unknown_types_leave_no_gap(heuristic_guard: Guard) -> None:
    odd = block(0, {"type": "poem", "text": "The zorblatt."}, {"type": "text_delta", "text": "The zorblatt."})
    tap = run(heuristic_guard, START, *odd, *text(1, "Hello!"), END, STOP)
    assert b"zorblatt" not in tap.sent
    assert {event["index"] for event in tap.events if "index" in event} == {0}


def test_usage_is_cumulative_and_pings_pass(heuristic_guard: Guard) -> None:
    ended = {
        "type": "message_delta",
        "delta": {"stop_reason": "stop_sequence", "stop_sequence": "the very end"},
        "usage": {"output_tokens": 8},
    }
    tap = run(heuristic_guard, START, {"type": "ping"}, *text(0, "Hello!"), ended, STOP)
    assert of_kind(tap, "ping")
    assert of_kind(tap, "message_start")[0]["message"]["usage"] == {"input_tokens": 5, "output_tokens": 1}
    (told,) = of_kind(tap, "message_delta")
    assert told["usage"] == {"input_tokens": 5, "output_tokens": 8}
    assert told["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": "the very end"}


def test_a_halt_is_a_refusal_and_ends_what_is_open(heuristic_guard: Guard) -> None:
    tap = run(
        heuristic_guard, START, *text(0, "Hello! Refunds are available within 90 days. Bye!"), END, STOP, mode="halt"
    )
    assert [event["type"] for event in tap.events[-3:]] == ["content_block_stop", "message_delta", "message_stop"]
    assert tap.events[-2]["delta"]["stop_reason"] == "refusal"
    assert tap.events[-2]["guard"]["halted"]
    assert len(of_kind(tap, "message_delta")) == 1


def test_an_error_of_the_upstream_is_told_by_its_kind(heuristic_guard: Guard) -> None:
    tap = run(
        heuristic_guard,
        START,
        *text(0, "Hello!"),
        {"type": "error", "error": {"type": "overloaded_error", "message": "The zorblatt."}},
    )
    assert tap.events[-1]["type"] == "error"
    assert "overloaded_error" in tap.events[-1]["error"]["message"]
    assert b"zorblatt" not in tap.sent


def test_whole_messages_are_guarded_block_by_block(heuristic_guard: Guard) -> None:
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": None,
        "content": [
            {"type": "thinking", "thinking": "The zorblatt.", "signature": "x"}, {"type": "text", "text": "Hello!"},
            {"type": "tool_use", "id": "t", "name": "send", "input": {"text": "Refunds are available within 90 days."}},
            {"type": "text", "text": "Bye!"},
        ],
    }  # fmt: skip
    shown = asyncio.run(whole(heuristic_guard, PATH, ASKED, body))
    assert [each["type"] for each in shown["content"]] == ["text", "tool_use", "text"]
    assert shown["content"][1]["input"] == {"text": "Refunds are available within 30 days."}
    halted = asyncio.run(whole(heuristic_guard, PATH, ASKED, body, mode="halt"))
    assert [each["type"] for each in halted["content"]] == ["text"]
    assert (halted["stop_reason"], halted["stop_details"]["type"]) == ("refusal", "refusal")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content_block_start", "index": None, "content_block": {"type": "text", "text": "x"}},
        {"type": "content_block_start", "index": 5, "content_block": "x"},
        {"type": "content_block_start", "index": 5, "content_block": {"type": ["text"]}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x"}},
        {"type": "content_block_delta", "index": 0, "delta": "x"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ["x"]}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "x"}},
        {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_stop", "index": 9},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": "x"}},
        {"type": "message_start", "message": "x"},
    ],
)
def test_odd_events_are_passed_over(event: dict[str, Any], heuristic_guard: Guard) -> None:
    begin, *rest = text(0, "Hello! ", "Bye!")
    tap = run(heuristic_guard, START, begin, rest[0], event, *rest[1:], END, STOP)
    assert tap.released["text", 0, 0] == "Hello! Bye!"
    assert tap.events[-1]["type"] == "message_stop"
