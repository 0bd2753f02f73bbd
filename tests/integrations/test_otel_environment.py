"""OpenTelemetry as the environment asks for it, against a collector over real HTTP."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.util.re import parse_env_headers

from collecting import attributes_of, collecting
from director_ai import ConfigError, ProductionGuard
from director_ai.integrations.otel_environment import _check_settings, is_asked_for, tell_as_environment_says
from director_ai.record.tracing import answering

RIGHT, WRONG = "Refunds are available within 30 days.", "Refunds are available within 90 days."
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture(autouse=True)
def environ(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Sets variables, where no other of OpenTelemetry is set."""
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def put(variables: dict[str, str]) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return put


def guard_of() -> ProductionGuard:
    guard = ProductionGuard.from_profile("finance", use_nli=False, search="words")
    guard.load_facts({"refund": RIGHT})
    return guard


def test_a_collector_gets_a_span_and_an_event_for_each_answer_and_no_text(environ: Callable[..., None]) -> None:
    guard = guard_of()
    with collecting() as collected:
        environ({"OTEL_EXPORTER_OTLP_ENDPOINT": collected.url, "OTEL_EXPORTER_OTLP_HEADERS": "X-Key=a%20b, other=c"})
        end = tell_as_environment_says([guard])
        with answering(model="small", request_id="req-1"):
            guard.repair_stream("How long?", WRONG)
        end()
    (span,), (event,) = collected.spans, collected.events
    assert (span.name, span.kind, span.status.code) == ("guard small", 1, 0)
    known = attributes_of(span)
    assert (known["director_ai.request_id"], known["director_ai.clauses.rewrite"]) == ("req-1", 1)
    assert span.start_time_unix_nano <= span.end_time_unix_nano
    assert event.event_name == "gen_ai.evaluation.result"
    assert attributes_of(event)["gen_ai.evaluation.score.label"] == "rewritten"
    assert isinstance(attributes_of(event)["gen_ai.evaluation.score.value"], float)
    assert (event.trace_id, event.span_id) == (span.trace_id, span.span_id)
    assert collected.services == {"director-ai"}
    (_, headers, _) = collected.told[0]
    assert (headers["x-key"], headers["other"], headers["content-type"]) == ("a b", "c", "application/x-protobuf")
    sent = b"".join(body for _, _, body in collected.told)
    assert b"guard small" in sent  # protobuf holds strings as they are
    assert not any(word in sent for word in (b"Refunds", b"How long", b"days"))


def test_messages_are_packed_where_it_is_asked_for(environ: Callable[..., None]) -> None:
    guard = guard_of()
    with collecting() as collected:
        environ({"OTEL_EXPORTER_OTLP_ENDPOINT": collected.url, "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"})
        end = tell_as_environment_says([guard])
        guard.check("How long?", RIGHT)
        end()
    assert {headers["content-encoding"] for _, headers, _ in collected.told} == {"gzip"}
    assert len(collected.spans) == len(collected.events) == 1


def test_a_span_belongs_to_the_trace_of_the_request(environ: Callable[..., None]) -> None:
    guard = guard_of()
    with collecting() as collected:
        environ({"OTEL_EXPORTER_OTLP_ENDPOINT": collected.url})
        end = tell_as_environment_says([guard])
        for given in (f"00-{TRACE}-{PARENT}-01", "no such thing", ""):
            with answering(traceparent=given):
                guard.check("How long?", RIGHT)
        end()
    ours, *others = collected.spans
    assert (ours.trace_id.hex(), ours.parent_span_id.hex()) == (TRACE, PARENT)
    assert [span.parent_span_id for span in others] == [b"", b""]


def test_each_signal_may_go_its_own_way(environ: Callable[..., None]) -> None:
    guard = guard_of()
    with collecting() as collected:
        environ(
            {
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collected.url}/v1/traces",
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
                "OTEL_LOGS_EXPORTER": "none",
            }
        )
        end = tell_as_environment_says([guard])
        guard.check("How long?", RIGHT)
        end()
    assert len(collected.spans) == 1
    assert collected.events == []


@pytest.mark.parametrize("status", [503, 400], ids=["busy", "refusing"])
def test_a_collector_that_takes_nothing_is_logged_and_holds_nothing_up(
    environ: Callable[..., None], caplog: pytest.LogCaptureFixture, status: int
) -> None:
    guard = guard_of()
    with collecting(status) as collected:
        environ(
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": collected.url,
                "OTEL_EXPORTER_OTLP_TIMEOUT": "0.5",
                "OTEL_EXPORTER_OTLP_HEADERS": "key=hunter2",
            }
        )
        end = tell_as_environment_says([guard])
        assert guard.check("How long?", RIGHT)[0]
        end()
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert sorted(" ".join(each.split()[:4]) for each in told) == ["Failed to export logs", "Failed to export spans"]
    assert not any("hunter2" in each or "Refunds" in each for each in told)


def test_no_collector_is_followed_to_another_place(environ: Callable[..., None]) -> None:
    guard = guard_of()
    with collecting(307) as collected:
        environ({"OTEL_EXPORTER_OTLP_ENDPOINT": collected.url})
        end = tell_as_environment_says([guard])
        guard.check("How long?", RIGHT)
        end()
    assert {path for path, _, _ in collected.told} == {"/v1/traces", "/v1/logs"}


def test_spans_and_events_end_at_the_same_time(environ: Callable[..., None]) -> None:
    guard = guard_of()
    with collecting(together=threading.Barrier(2)) as collected:
        environ({"OTEL_EXPORTER_OTLP_ENDPOINT": collected.url})
        end = tell_as_environment_says([guard])
        guard.check("How long?", RIGHT)
        end()
    assert sorted(path for path, _, _ in collected.told) == ["/v1/logs", "/v1/traces"]


ASKED = {
    "nothing is set": ({}, False),
    "a service has a name": ({"OTEL_SERVICE_NAME": "x"}, False),
    "an address": ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
    "an address for spans": ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/v1/traces"}, True),
    "an exporter": ({"OTEL_TRACES_EXPORTER": "console"}, True),
    "none": (
        {
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318",
            "OTEL_TRACES_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
        },
        False,
    ),
    "switched off": ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, False),
}


@pytest.mark.parametrize(("env", "asked"), ASKED.values(), ids=ASKED.keys())
def test_nothing_is_told_unless_it_is_asked_for(environ: Callable[..., None], env: dict[str, str], asked: bool) -> None:
    environ(env)
    assert is_asked_for() is asked


AT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}
WRONG_SETTINGS = {
    "an exporter that is none": ({"OTEL_TRACES_EXPORTER": "zipkin"}, "otlp"),
    "gRPC": (AT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTLP_PROTOCOL must be http/protobuf"),
    "JSON for events": (AT | {"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/json"}, "LOGS_PROTOCOL must be http/protobuf"),
    "an address without http": ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, "http:// or https://"),
    "an address of spans without http": ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "c"}, "OTLP_TRACES_ENDPOINT must be"),
    "an address with a space": ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c "}, "http:// or https://"),
    "a port that is none": ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:99999"}, "http:// or https://"),
    "an address with a password": ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:hunter2@c"}, "without a password"),
    "headers that are none": (AT | {"OTEL_EXPORTER_OTLP_HEADERS": "hunter2"}, "name=value"),
    "a header of two lines": (AT | {"OTEL_EXPORTER_OTLP_HEADERS": "key=hunter2%0A"}, "name=value"),
    "a header that HTTP cannot hold": (AT | {"OTEL_EXPORTER_OTLP_HEADERS": "key=hunter2%E2%82%AC"}, "name=value"),
    "a time that is none": (AT | {"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "in seconds, must be a number from"),
    "a time in milliseconds": (AT | {"OTEL_EXPORTER_OTLP_TIMEOUT": "10000"}, "in seconds, must be a number from"),
    "a way to pack that is none": (AT | {"OTEL_EXPORTER_OTLP_COMPRESSION": "zip"}, "gzip"),
    "a queue that holds nothing": (AT | {"OTEL_BSP_MAX_QUEUE_SIZE": "0"}, "max_queue_size"),
    "a limit that is none": (AT | {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "-1"}, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"),
}


@pytest.mark.parametrize(("env", "says"), WRONG_SETTINGS.values(), ids=WRONG_SETTINGS.keys())
def test_what_cannot_be_meant_is_a_sentence(
    environ: Callable[..., None], caplog: pytest.LogCaptureFixture, env: dict[str, str], says: str
) -> None:
    environ(env)
    with pytest.raises(ConfigError, match=says) as told:
        tell_as_environment_says([])
    assert "hunter2" not in str(told.value) + caplog.text


@given(st.text(alphabet='ab,=;%20AE" \t\\:ä-', max_size=12))
def test_headers_that_are_let_through_are_none_that_the_exporter_would_log(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_HEADERS", text)
        try:
            _check_settings("traces")
        except ConfigError:
            return
    read = parse_env_headers(text, liberal=True)
    assert len(read) == len({part.partition("=")[0].strip().lower() for part in text.split(",") if part.strip()})
    assert all(value.isascii() and (value + " ").isprintable() for value in read.values())
