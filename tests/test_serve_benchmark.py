"""The benchmark of the server: what it says, hears and counts; nothing timed is asserted."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import serve_load
from serve_load import Heard
from serve_upstream import events_of

import serve


@pytest.fixture(scope="module")
def answers() -> list[serve.Answer]:
    return serve.answers_of(2, 2.0, "heuristic")[0]


def heard_of(*pieces: bytes) -> Heard:
    kept = types.SimpleNamespace(answer=3, sent=0.5, came=[(float(at), data) for at, data in enumerate(pieces, 1)])
    return serve_load.read(kept)


def test_an_answer_knows_with_which_token_each_clause_is_complete(answers: list[serve.Answer]) -> None:
    for answer in answers:
        assert len(answer.tokens) == 100
        assert len(answer.known) == len(answer.shown) > 2
        assert answer.known == sorted(answer.known)
        assert answer.shown == sorted(answer.shown)
        assert answer.shown[-1] <= len(answer.text)
        assert all(heard >= 1 for heard in answer.heard)


def test_what_came_in_pieces_is_read_with_the_time_of_each() -> None:
    said = [before + b"7" + behind if behind else before for before, behind in events_of(["Hello", " there."])]
    chunks = [b"%x\r\n%s\r\n" % (len(data), data) for data in said]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    heard = heard_of(head[:20], head[20:] + chunks[0], chunks[1], chunks[2][:30], chunks[2][30:], chunks[3] + chunks[4])
    assert (heard.status, heard.name, heard.text) == (200, "s7", "Hello there.")
    assert (heard.finish, heard.is_whole) == ("stop", True)
    assert [heard.when(length) for length in (1, 5, 6, 12, 13)] == [3.0, 3.0, 5.0, 5.0, None]


def test_a_refusal_is_read_with_when_to_come_again() -> None:
    heard = heard_of(b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\ncontent-length: 2\r\n\r\n{}")
    assert (heard.status, heard.retry_after, heard.text) == (503, "7", "")


def test_what_is_neither_guarded_nor_refused_in_order_is_counted() -> None:
    row = {"limit": "most_streams 1", "without Retry-After": 1, "other": 2, "not as guarded": 3}
    (goal,) = serve.goals({"overload": {"rows": [row]}})
    assert (goal["found"], goal["reached"]) == (6, "NO")


def test_streams_that_were_never_all_open_at_once_have_no_figure_and_miss_the_goal(answers: list[serve.Answer]) -> None:
    late = answers[0].known[-1] + 1000.0
    times = {"s1": [float(at) for at in range(100)], "s2": [late + at for at in range(100)]}
    heard = [
        {"status": 200, "name": name, "answer": 0, "text": "", "is_whole": True, "sent": 0.0, "ends": [], "times": []}
        for name in times
    ]
    told = {"times": times, "cpu": 0.0}
    watch = types.SimpleNamespace(between=lambda start, end: (0.0, 0.0))
    row = serve.figures("heuristic", 200, answers, {"heard": heard, "cpu": 0.0, "seconds": 1.0}, told, watch)
    assert (row["clauses"], row["added p50, ms"]) == (0, None)
    assert [goal["reached"] for goal in serve.goals({"delay": {"rows": [row]}})] == ["NO", "NO"]


def test_a_run_gives_the_text_of_the_guard_and_refuses_who_is_too_many(
    tmp_path: Path, answers: list[serve.Answer]
) -> None:
    with serve.site("heuristic", [each.tokens for each in answers], tmp_path, most_streams=2) as place:
        came, told, watch = place.load(2, 0.1)
        row = serve.figures("heuristic", 2, answers, came, told, watch)
        crowd = place.load(6, 0.0)[0]["heard"]
    assert (row["errors"], row["wrong texts"]) == (0, 0)
    assert json.dumps(row)
    assert {each["status"] for each in crowd} == {200, 503}
    assert all(each["retry_after"] == "1" for each in crowd if each["status"] == 503)
    assert all(each["text"] == answers[each["answer"]].text for each in crowd if each["status"] == 200)
