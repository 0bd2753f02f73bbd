"""Responses: items, parts and numbers stay in order, whatever is withheld, repaired or missing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from taps import Tap, tapped, whole
from upstreams import RIGHT, Case, response_events

from director_ai import ProductionGuard

PATH = "/v1/responses"
ASKED: dict[str, Any] = {"model": "m", "input": "Refund?", "instructions": "Be kind to everybody."}
Guard = ProductionGuard
CREATED = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "model": "m"}}
COMPLETED = {"type": "response.completed", "response": {"id": "resp_1", "usage": {"total_tokens": 3}}}


def run(guard: Guard, *events: dict[str, Any], request: dict[str, Any] | None = None, **options: Any) -> Tap:
    data = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events]
    return asyncio.run(tapped(guard, PATH, ASKED | (request or {}), data, **options))


def message(*texts: str, index: int = 0, annotations: Any = ()) -> list[dict[str, Any]]:
    """Return the events of a message with one part."""
    place = {"output_index": index, "content_index": 0, "item_id": f"msg_{index}"}
    part = {"type": "output_text", "text": "".join(texts), "annotations": list(annotations)}
    item = {"id": f"msg_{index}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    notes = [{"type": "response.output_text.annotation.added", "annotation": each, "annotation_index": at, **place}
             for at, each in enumerate(annotations)]  # fmt: skip
    return [
        {
            "type": "response.output_item.added",
            "output_index": index,
            "item": item | {"content": [], "status": "in_progress"},
        },
        {"type": "response.content_part.added", "part": {"type": "output_text", "text": ""}, **place},
        *({"type": "response.output_text.delta", "delta": text, **place} for text in texts),
        *notes,
        {"type": "response.output_text.done", "text": "".join(texts), **place},
        {"type": "response.content_part.done", "part": part, **place},
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def item(kind: str, index: int = 0, **fields: Any) -> list[dict[str, Any]]:
    whole_item = {"id": f"it_{index}", "type": kind, "status": "completed", **fields}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": whole_item | {"status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": index, "item": whole_item},
    ]


def output(tap: Tap) -> list[dict[str, Any]]:
    return tap.events[-1]["response"]["output"]


def in_order(tap: Tap) -> bool:
    return [event["sequence_number"] for event in tap.events] == list(range(len(tap.events)))


def cited(start: int, end: int) -> dict[str, Any]:
    return {
        "type": "url_citation",
        "url": "https://example.com/x",
        "title": "The zorblatt page",
        "start_index": start,
        "end_index": end,
    }


def test_annotations_move_with_their_text_or_go(heuristic_guard: Guard) -> None:
    text = "Hello! Refunds are available within 9000 days. The CEO is Jane Doe."
    place = text.index("The CEO")
    notes = [cited(0, 6), cited(36, 40), cited(place, len(text)), cited(5, 10**6), cited(-3, 2)]
    tap = run(heuristic_guard, CREATED, *message(text, annotations=notes), COMPLETED)
    shown = output(tap)[0]["content"][0]
    assert "within 30 days" in shown["text"]
    found = [shown["text"][each["start_index"] : each["end_index"]] for each in shown["annotations"]]
    assert found == ["Hello!", "The CEO is Jane Doe."]
    told = [event["annotation"] for event in tap.events if event["type"].endswith("annotation.added")]
    assert told == shown["annotations"]
    assert b"zorblatt" not in tap.sent
    assert in_order(tap)


def test_all_four_repetitions_of_a_text_are_repaired(heuristic_guard: Guard) -> None:
    tap = run(heuristic_guard, CREATED, *message("Refunds are avail", "able within 90 days."), COMPLETED)
    assert tap.sent.count(b"within 30 days.") == 5  # the delta, and four times the whole
    assert b"90" not in tap.sent
    assert tap.events[-1]["response"]["guard"]["actions"][0]["action"] == "rewrite"


def test_a_text_that_comes_only_with_its_end_is_judged(heuristic_guard: Guard) -> None:
    events = [each for each in message("Refunds are available within 90 days.") if not each["type"].endswith("delta")]
    for left_out in ([], ["response.output_text.done"], ["response.output_text.done", "response.content_part.done"]):
        tap = run(heuristic_guard, CREATED, *(each for each in events if each["type"] not in left_out), COMPLETED)
        assert output(tap)[0]["content"][0]["text"] == "Refunds are available within 30 days."
        assert [each["type"] for each in tap.events if each["type"].endswith("done")] == [
            "response.output_text.done", "response.content_part.done", "response.output_item.done",
        ]  # fmt: skip


def test_a_text_whose_end_differs_is_shown_as_it_was_judged(heuristic_guard: Guard) -> None:
    events = message("Hello!")
    events[-1]["item"]["content"][0]["text"] = events[-3]["text"] = "The zorblatt costs 77 crowns."
    tap = run(heuristic_guard, CREATED, *events, COMPLETED)
    assert b"The zorblatt" not in tap.sent


@pytest.mark.parametrize("shows", [False, True])
def test_reasoning_leaves_its_place_and_nothing_else(shows: bool, heuristic_guard: Guard) -> None:
    case = Case(reasoning="The zorblatt thinks.")
    tap = asyncio.run(tapped(heuristic_guard, PATH, ASKED, response_events(case), shows_reasoning=shows))
    assert (b"zorblatt" in tap.sent) == shows
    assert (b"c2VjcmV0" in tap.sent) == shows
    assert [each["type"] for each in output(tap)] == ["reasoning", "message"]
    assert output(tap)[1]["content"][0]["text"] == RIGHT
    assert in_order(tap)


def test_items_of_unknown_types_leave_no_gap(heuristic_guard: Guard) -> None:
    tap = run(heuristic_guard, CREATED, *item("poem", 0, text="The zorblatt."), *message("Hello!", index=1), COMPLETED)
    assert b"zorblatt" not in tap.sent
    assert {event["output_index"] for event in tap.events if "output_index" in event} == {0}
    assert output(tap)[0]["id"] == "msg_1"


def test_items_that_come_whole_are_judged(heuristic_guard: Guard) -> None:
    action = {"type": "search", "query": "Refunds are available within 90 days."}
    tap = run(
        heuristic_guard, CREATED, *item("web_search_call", action=action),
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "it_0", "query": "The zorblatt."},
        *item("image_generation_call", 1, result="iVBORw0KGgo="), COMPLETED,
    )  # fmt: skip
    assert output(tap)[0]["action"] == {"type": "search", "query": "Refunds are available within 30 days."}
    assert "result" not in output(tap)[1]
    assert b"zorblatt" not in tap.sent
    assert any(event["type"] == "response.web_search_call.searching" for event in tap.events)


def test_items_of_a_whole_response_are_judged(heuristic_guard: Guard) -> None:
    call = item(
        "mcp_call", name="ask", server_label="s", output="Refunds are available within 90 days.", arguments="{}"
    )[1]
    shown = asyncio.run(
        whole(heuristic_guard, PATH, ASKED, {"output": [call["item"], {"type": "poem", "text": "x y"}]})
    )
    (made,) = shown["output"]
    assert made["output"] == "Refunds are available within 30 days."
    assert (made["arguments"], made["name"]) == ("{}", "ask")


def test_tool_inputs_are_guarded(heuristic_guard: Guard) -> None:
    place = {"output_index": 0, "item_id": "it_0"}
    text = "Refunds are available within 90 days."
    added, done = item("custom_tool_call", call_id="call_1", name="note", input=text)
    added["item"] = added["item"] | {"input": ""}
    deltas = [
        {"type": "response.custom_tool_call_input.delta", "delta": each, **place} for each in (text[:9], text[9:])
    ]
    ended = {"type": "response.custom_tool_call_input.done", "input": text, **place}
    tap = run(heuristic_guard, CREATED, added, *deltas, ended, done, COMPLETED)
    assert output(tap)[0]["input"] == text.replace("90", "30")
    assert (output(tap)[0]["call_id"], output(tap)[0]["name"]) == ("call_1", "note")


def test_a_halted_call_is_no_call(heuristic_guard: Guard) -> None:
    arguments = json.dumps({"text": "Refunds are available within 90 days."})
    call = item("function_call", 1, call_id="call_1", name="send", arguments=arguments)
    tap = run(heuristic_guard, CREATED, *message("Hello!"), *call, COMPLETED, mode="halt")
    assert tap.events[-1]["type"] == "response.incomplete"
    assert [each["type"] for each in output(tap)] == ["message"]
    assert not any(event["type"] == "response.function_call_arguments.done" for event in tap.events)
    shown = asyncio.run(
        whole(
            heuristic_guard,
            PATH,
            ASKED,
            {"output": [each["item"] for each in (message("Hello!")[-1], call[-1])]},
            mode="halt",
        )
    )
    assert [each["type"] for each in shown["output"]] == ["message"]
    assert shown["incomplete_details"] == {"reason": "content_filter"}


def test_what_the_client_said_is_repeated_and_other_texts_are_not(heuristic_guard: Guard) -> None:
    said = CREATED["response"] | {"instructions": ASKED["instructions"], "metadata": {"note": "The zorblatt."}}  # type: ignore[operator]
    tap = run(heuristic_guard, {"type": "response.created", "response": said}, *message("Hello!"), COMPLETED)
    assert tap.events[0]["response"]["instructions"] == "Be kind to everybody."
    assert b"zorblatt" not in tap.sent


@pytest.mark.parametrize("kind", ["response.failed", "response.incomplete"])
def test_other_ends_keep_their_name(kind: str, heuristic_guard: Guard) -> None:
    error = {"code": "server_error", "message": "The zorblatt broke."}
    end = {"type": kind, "response": {"error": error, "incomplete_details": {"reason": "max_output_tokens"}}}
    begun = message("Hello! Refunds are")[:3]
    tap = run(heuristic_guard, CREATED, *begun, end)
    last = tap.events[-1]
    assert (last["type"], last["response"]["status"]) == (kind, kind.removeprefix("response."))
    assert (last["response"]["error"] is not None) == (kind == "response.failed")
    assert last["response"]["output"][0]["status"] == "incomplete"
    assert b"zorblatt" not in tap.sent


def test_an_error_event_is_raised_by_its_kind_alone(heuristic_guard: Guard) -> None:
    tap = run(heuristic_guard, CREATED, {"type": "error", "code": "boom", "message": "The zorblatt.", "param": None})
    assert tap.events[-1]["error"]["message"] == "the upstream ended with an error (boom)"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.output_text.delta", "output_index": "0", "delta": "x"},
        {"type": "response.output_text.delta", "output_index": 0, "delta": {"text": "x"}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": [], "delta": "x"},
        {"type": "response.output_item.added", "output_index": 3, "item": None},
        {"type": "response.output_item.added", "output_index": 3, "item": {"type": ["message"]}},
        {"type": "response.output_item.done", "output_index": 3, "item": {"type": "message", "content": "x"}},
        {"type": "response.content_part.added", "output_index": 0, "part": "x"},
        {"type": "response.content_part.done", "output_index": 0, "content_index": 0, "part": {"type": {}}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "x"},
        {"type": "response.output_text.annotation.added", "output_index": 0, "annotation": [1]},
        {"type": "response.in_progress", "response": "x"},
        {"type": ["response.created"]},
    ],
)
def test_odd_events_are_passed_over(event: dict[str, Any], heuristic_guard: Guard) -> None:
    events = message("Hello! ", "Bye!")
    tap = asyncio.run(
        tapped(
            heuristic_guard, PATH, ASKED,
            [f"data: {json.dumps(each)}\n\n".encode() for each in (CREATED, *events[:3], event, *events[3:], COMPLETED)],
        )
    )  # fmt: skip
    assert tap.events[-1]["type"] == "response.completed"
    assert output(tap)[0]["content"][0]["text"] == "Hello! Bye!"
    assert in_order(tap)
