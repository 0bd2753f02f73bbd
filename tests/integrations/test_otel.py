"""Spans and events of OpenTelemetry: one of each for every answer, with ids and without text."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from asking import ENDPOINTS, Endpoint, ask
from model_server import ModelServer
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from director_ai import ConfigError, ProductionGuard
from director_ai.integrations.otel import instrument
from director_ai.record.tracing import answering

RIGHT, WRONG = "Refunds are available within 30 days.", "Refunds are available within 90 days."


@dataclass
class Told:
    guard: ProductionGuard
    spans: InMemorySpanExporter
    records: InMemoryLogRecordExporter

    @property
    def span(self) -> Any:
        (span,) = self.spans.get_finished_spans()
        return span

    @property
    def event(self) -> Any:
        (record,) = self.records.get_finished_logs()
        return record.log_record

    @property
    def label(self) -> str:
        return str(self.event.attributes["gen_ai.evaluation.score.label"])

    @property
    def everything(self) -> str:
        spans = [span.to_json() for span in self.spans.get_finished_spans()]
        return json.dumps(spans + [each.to_json() for each in self.records.get_finished_logs()])


@pytest.fixture
def told() -> Told:
    guard = ProductionGuard.from_profile("finance", use_nli=False, search="words")
    guard.load_facts({"refund": RIGHT})
    spans, records = InMemorySpanExporter(), InMemoryLogRecordExporter()
    tracing, logging = TracerProvider(), LoggerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    logging.add_log_record_processor(SimpleLogRecordProcessor(records))
    instrument(guard, tracer_provider=tracing, logger_provider=logging)
    return Told(guard, spans, records)


def _stream(guard: ProductionGuard, text: str, **options: Any) -> None:
    for _ in guard.stream("", [text], **options):
        pass


async def _drain(guard: ProductionGuard, text: str, **options: Any) -> None:
    async for _ in guard.astream("", [text], **options):
        pass


WAYS = {
    "a finished text": lambda guard, text, **more: guard.repair_stream("", text, **more),
    "a stream": _stream,
    "an asynchronous stream": lambda guard, text, **more: asyncio.run(_drain(guard, text, **more)),
    "tokens to be repaired": lambda guard, text, **more: list(guard.repair_stream("", [text], **more)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("text", "options", "label"),
    [
        (RIGHT, {}, "approved"),
        (WRONG, {}, "rewritten"),
        ("The museum opens at ten.", {}, "redacted"),
        (WRONG, {"mode": "halt"}, "halted"),
        ("Hello!", {}, "no_claim"),
    ],
)
def test_an_answer_has_one_span_and_one_event(
    told: Told, way: str, text: str, options: dict[str, Any], label: str
) -> None:
    WAYS[way](told.guard, text, tenant_id="acme", request_id="req-1", **options)
    assert told.span.name == "guard"
    assert told.span.attributes["gen_ai.operation.name"] == "guard"
    assert told.span.attributes["director_ai.tenant_id"] == "acme"
    assert told.span.attributes["director_ai.request_id"] == "req-1"
    assert (told.label, told.event.event_name) == (label, "gen_ai.evaluation.result")
    assert told.event.span_id == told.span.context.span_id
    assert ("gen_ai.evaluation.score.value" in told.event.attributes) == (label != "no_claim")


def test_no_text_is_told(told: Told) -> None:
    for text in (RIGHT, WRONG, "Late refunds get a canary."):
        told.guard.check("a canary asks", text)
        told.guard.repair_stream("a canary asks", text)
    assert "days" not in told.everything
    assert "canary" not in told.everything
    assert len(told.spans.get_finished_spans()) == 6


@pytest.mark.parametrize(("text", "label"), [(RIGHT, "approved"), (WRONG, "not_approved")])
@pytest.mark.parametrize("way", ["check", "acheck"])
def test_a_check_tells_its_score(told: Told, way: str, text: str, label: str) -> None:
    asked = told.guard.check("", text) if way == "check" else asyncio.run(told.guard.acheck("", text))
    assert told.label == label
    assert told.event.attributes["gen_ai.evaluation.score.value"] == pytest.approx(asked[1].score)


def test_the_model_and_the_answer_are_named_where_they_are_known(told: Told) -> None:
    with answering(model="m-1", response_id="chat-1"):
        stream = told.guard.stream("", [WRONG])
    list(stream)
    assert told.span.name == "guard m-1"
    assert told.span.attributes["gen_ai.request.model"] == "m-1"
    assert told.event.attributes["gen_ai.response.id"] == "chat-1"


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.name)
@pytest.mark.parametrize("way", ["sync", "async", "sync stream", "async stream"])
def test_a_wrapped_client_names_them(told: Told, model: ModelServer, endpoint: Endpoint, way: str) -> None:
    ask(told.guard, model, endpoint, way, [WRONG])
    assert told.span.name == "guard m-1"
    assert told.event.attributes["gen_ai.response.id"] in {"chat-1", "resp-1", "msg-1"}


def test_a_stream_that_is_left_ends_its_span_once(told: Told) -> None:
    with told.guard.stream("", ["Hello! ", RIGHT, " More."]) as stream:
        next(stream)
    stream.close()
    assert told.label == "left"


def test_a_failure_is_told_by_its_kind_alone(told: Told) -> None:
    with pytest.raises(ConfigError):
        told.guard.check("", None)  # type: ignore[arg-type]
    assert told.span.attributes["error.type"] == "ConfigError"
    assert told.span.events == ()
    assert told.span.status.description is None


def test_a_guard_is_instrumented_once(told: Told) -> None:
    with pytest.raises(ConfigError, match="already"):
        instrument(told.guard)
    with pytest.raises(ConfigError, match="must be a ProductionGuard"):
        instrument("guard")  # type: ignore[arg-type]
