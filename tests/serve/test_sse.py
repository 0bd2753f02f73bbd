"""Events out of bytes and back: however they are cut, and whatever ends their lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.serve import sse
from director_ai.serve.sse import EventTooLong, ServerSentEvent, SseReader, write_comment, write_event, write_object

MIXED = (
    b"\xef\xbb\xbf: hello\r\n\r\nevent: one\rdata: a\xf0\x9f\x99\x82\r\r\ndata:b\ndata: c\r\n\n"
    b"id: 7\nretry: 3\ndata\n\ndata: [DONE]\r\n\r\n"
)
WANTED = [ServerSentEvent("a🙂", "one"), ServerSentEvent("b\nc"), ServerSentEvent(""), ServerSentEvent("[DONE]")]


def read(*chunks: bytes) -> list[ServerSentEvent]:
    reader = SseReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.finish()


def test_every_cut_gives_the_same_events() -> None:
    for first in range(len(MIXED) + 1):
        for second in range(first, len(MIXED) + 1):
            assert read(MIXED[:first], MIXED[first:second], MIXED[second:]) == WANTED, (first, second)
    assert read(*(bytes([each]) for each in MIXED)) == WANTED


@given(st.lists(st.sampled_from(["data: x", "event: y", ": z", "", "data", "datax: 1"])), st.data())
def test_line_ends_are_all_the_same(lines: list[str], data: st.DataObject) -> None:
    ends = [data.draw(st.sampled_from(["\r\n", "\n"])) for _ in lines]
    mixed = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()
    plain = "".join(line + "\n" for line in lines).encode()
    cut = data.draw(st.integers(0, len(mixed)))
    assert read(mixed[:cut], mixed[cut:]) == read(plain)


def test_an_event_without_the_empty_line_behind_it_counts_at_the_end() -> None:
    assert read(b"data: [DONE]") == [ServerSentEvent("[DONE]")]
    assert read(b"data: a\n") == [ServerSentEvent("a")]
    assert read(b"") == read(b": comment") == []


@pytest.mark.parametrize("line", [b"data: xxxxxxxxxx\n", b"x" * 16], ids=["many_lines", "one_line"])
def test_an_event_without_end_is_refused(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MOST_CHARACTERS", 1_000)
    reader = SseReader()
    with pytest.raises(EventTooLong):
        for _ in range(100):
            reader.feed(line)


def test_comments_without_end_are_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MOST_CHARACTERS", 1_000)
    assert read(*[b": keep-alive\n\n"] * 1_000, b"data: x\n\n") == [ServerSentEvent("x")]


@given(st.dictionaries(st.text(), st.text()), st.sampled_from(["", "a.b"]))
def test_objects_come_back_as_they_were(value: dict[str, str], name: str) -> None:
    data = write_object(value, name)
    (event,) = read(data)
    assert (json.loads(event.data), event.event) == (value, name)
    assert len(data.decode().splitlines()) == data.count(b"\n")


def test_what_is_written_is_one_event() -> None:
    assert write_event("x", "y") == b"event: y\ndata: x\n\n"
    assert write_comment("keep-alive") == b": keep-alive\n\n"
    assert write_object({"a": "\ud800"}) == b'data: {"a":"?"}\n\n'
