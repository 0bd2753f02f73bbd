"""Server-sent events, read from bytes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from director_ai.rewrite.event_stream import EventStream

BODY = "\ufeffevent: x\ndata: one\ndata: two\n\n: hm\r\n\r\ndata:\rdata:  three\r\rid: 7\ndata: dr\u00e4i\u2028\n\ndata: last\n".encode()


def events(*parts: bytes) -> list[str]:
    stream = EventStream()
    found = [data for part in parts for data in stream.feed(part)]
    return found + stream.finish()


def test_lines_of_an_event_are_joined_and_the_rest_is_left_out() -> None:
    assert events(BODY) == ["one\ntwo", "\n three", "dr\u00e4i\u2028", "last"]


@given(st.lists(st.integers(0, len(BODY)), max_size=12))
def test_where_the_bytes_are_cut_changes_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(BODY)]
    assert events(*[BODY[a:b] for a, b in pairwise(places)]) == events(BODY)


def test_a_line_that_is_cut_is_lost() -> None:
    assert events(b"data: one\n\ndata: tw") == ["one"]


def test_a_line_may_come_byte_by_byte_in_linear_time() -> None:
    stream = EventStream()
    for _ in range(200_000):
        stream.feed(b"x")
    assert stream.feed(b"\n\n") == []
