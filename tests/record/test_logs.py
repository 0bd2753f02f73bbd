"""Logs as JSON: ids and kinds, and no text, whoever writes them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from director_ai.record.logs import JsonFormatter, log_as_json
from director_ai.record.tracing import answering, current_answer

CANARY = "canary-7f3a"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    access = logging.getLogger("uvicorn.access")
    before = access.handlers[:], access.propagate, access.level, access.disabled
    access.handlers, access.propagate, access.disabled = [], True, False  # a server of another test may have set it up
    access.setLevel(logging.NOTSET)
    stream = io.StringIO()
    log_as_json(stream)
    yield stream
    access.handlers, access.propagate, _, access.disabled = before
    access.setLevel(before[2])
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_an_object_with_time_level_and_ids(written: io.StringIO) -> None:
    with answering(request_id="req-1", tenant_id="acme"):
        logging.getLogger("director_ai.serve").warning("a stream ended by %s", "shutdown", extra={"case_id": "case-1"})
    (line,) = lines(written)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "director_ai.serve",
        "message": "a stream ended by shutdown",
        "tenant_id": "acme",
        "request_id": "req-1",
        "case_id": "case-1",
    }


def _raise(text: str) -> None:
    raise ValueError(text)


@pytest.mark.parametrize(
    "write",
    [
        lambda log: log.error("failed: %s", CANARY),
        lambda log: log.error(f"failed: {CANARY}"),  # noqa: G004 - as others do
        lambda log: log.error({"text": CANARY}),
        lambda log: log.info("x", extra={"prompt": CANARY}),
        lambda log: log.info("a", stack_info=True, extra={"answer": CANARY}),
    ],
    ids=["an argument", "a text put together", "an object", "an extra", "a stack"],
)
def test_what_other_libraries_say_loses_its_text(written: io.StringIO, write: Any) -> None:
    write(logging.getLogger("some.library"))
    assert CANARY not in written.getvalue()
    (line,) = lines(written)
    assert line["logger"] == "some.library"


@pytest.mark.parametrize("name", ["director_ai.guard", "asyncio"])
def test_of_an_error_its_kind_is_kept(written: io.StringIO, name: str) -> None:
    try:
        _raise(CANARY)
    except ValueError:
        logging.getLogger(name).exception("it failed")
    assert CANARY not in written.getvalue()
    assert lines(written)[0]["error"] == "ValueError"


def test_requests_are_told_without_their_query(written: io.StringIO) -> None:
    logging.getLogger("uvicorn.access").info(
        '%s - "%s %s HTTP/%s" %d', "1.2.3.4:5", "GET", f"/a?key={CANARY}", "1.1", 200
    )
    (line,) = lines(written)
    assert (line["method"], line["path"], line["status"]) == ("GET", "/a", 200)
    assert CANARY not in written.getvalue()


def test_a_line_stays_one_line() -> None:
    record = logging.LogRecord("director_ai", logging.INFO, "", 1, "two\nlines\u2028or three", None, None)
    assert "\n" not in JsonFormatter().format(record)


def test_what_an_answer_is_about_ends_with_it() -> None:
    with answering(model="m-1"), answering(request_id="req-1"):
        assert (current_answer().model, current_answer().request_id) == ("m-1", "req-1")
    assert current_answer().model == ""


@pytest.mark.parametrize("name", ["director_ai", "some.library"])
def test_arguments_that_do_not_fit_are_left_out(name: str) -> None:
    record = logging.LogRecord(name, logging.INFO, "", 1, "%s and %s", (CANARY,), None)
    assert json.loads(JsonFormatter().format(record))["message"] == "%s and %s"
