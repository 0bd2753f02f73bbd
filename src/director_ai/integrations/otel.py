"""OpenTelemetry: a span for each answer that a guard judges, and an event with what came of it; ids, and no text.

The names of GenAI telemetry are still in development and move between packages, so they are written down here.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from director_ai.errors import ConfigError, MissingExtra
from director_ai.guard import ProductionGuard
from director_ai.integrations.traced import AsyncTracedStream, TracedStream
from director_ai.record.tracing import current_answer

try:
    from opentelemetry._logs import SeverityNumber, get_logger
    from opentelemetry.trace import (
        INVALID_SPAN,
        SpanKind,
        Status,
        StatusCode,
        get_current_span,
        get_tracer,
        set_span_in_context,
        use_span,
    )
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    raise MissingExtra("OpenTelemetry", extra="otel") from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry._logs import LoggerProvider
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, TracerProvider

    from director_ai.core.repair.record import RepairResult
    from director_ai.core.types import CoherenceScore

__all__ = ["instrument"]

OPERATION_NAME: Final = "gen_ai.operation.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_ID: Final = "gen_ai.response.id"
EVALUATION_RESULT: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
SCORE_VALUE: Final = "gen_ai.evaluation.score.value"
SCORE_LABEL: Final = "gen_ai.evaluation.score.label"
ERROR_TYPE: Final = "error.type"
OPERATION: Final = "guard"
SUPPORT: Final = "director_ai.support"
"""The evaluation: how far the knowledge base supports the clause that it supports least."""
_MARK: Final = "_director_ai_otel"


def instrument(
    guard: ProductionGuard,
    *,
    tracer_provider: TracerProvider | None = None,
    logger_provider: LoggerProvider | None = None,
) -> None:
    """Let a guard tell OpenTelemetry of every answer from now on; without providers, by those of the process."""
    if not isinstance(guard, ProductionGuard):
        raise ConfigError(f"guard must be a ProductionGuard, got a {type(guard).__name__}")
    if _MARK in vars(guard):
        raise ConfigError("the guard tells OpenTelemetry already; instrument it once")
    told = Telemetry(guard, tracer_provider, logger_provider)
    tracing: dict[str, Callable[..., Any]] = {
        "check": told.check,
        "acheck": told.acheck,
        "stream": told.stream,
        "astream": told.astream,
        "repair_stream": told.repair_stream,
    }
    for name, traced in tracing.items():
        setattr(guard, name, functools.partial(traced, getattr(guard, name)))
    setattr(guard, _MARK, told)


class _Begun(NamedTuple):
    """The span of an answer, and the id that its event repeats."""

    span: Span
    response_id: str


class Telemetry:
    """What a guard tells."""

    def __init__(self, guard: ProductionGuard, spans: TracerProvider | None, events: LoggerProvider | None) -> None:
        self._profile = guard.profile.name
        self._tracer = get_tracer("director_ai", tracer_provider=spans)
        self._logger = get_logger("director_ai", logger_provider=events)

    # --- what is called instead of the guard's own ------------------------------------------------------------

    def check(self, check: Callable[..., Any], prompt: str, response: str, tenant_id: str = "", **options: Any) -> Any:
        """Check an answer within a span."""
        with self._within(tenant_id=tenant_id) as begun:
            approved, score = check(prompt, response, tenant_id, **options)
            self._scored(begun, approved, score)
        return approved, score

    async def acheck(
        self, check: Callable[..., Any], prompt: str, response: str, tenant_id: str = "", **options: Any
    ) -> Any:
        """Check an answer within a span, without blocking."""
        with self._within(tenant_id=tenant_id) as begun:
            approved, score = await check(prompt, response, tenant_id, **options)
            self._scored(begun, approved, score)
        return approved, score

    def stream(self, stream: Callable[..., Any], prompt: str, tokens: Any, **options: Any) -> TracedStream:
        """Guard a stream; its span ends with it."""
        begun = self._begin(**options)
        return TracedStream(
            self._made(begun.span, stream, prompt, tokens, **options), functools.partial(self._end, begun)
        )

    def astream(self, stream: Callable[..., Any], prompt: str, tokens: Any, **options: Any) -> AsyncTracedStream:
        """Guard an asynchronous stream; its span ends with it."""
        begun = self._begin(**options)
        made = self._made(begun.span, stream, prompt, tokens, **options)
        return AsyncTracedStream(made, functools.partial(self._end, begun))

    def repair_stream(self, repair: Callable[..., Any], prompt: str, text_or_tokens: Any, **options: Any) -> Any:
        """Repair a finished text within a span; streams go by `stream` and `astream`."""
        if not isinstance(text_or_tokens, str):
            return repair(prompt, text_or_tokens, **options)
        with self._within(**options) as begun:
            result = repair(prompt, text_or_tokens, **options)
            self._repaired(begun, result)
        return result

    # --- spans ------------------------------------------------------------------------------------------------

    def _begin(self, *, tenant_id: str = "", request_id: str = "", mode: str = "repair", **_: Any) -> _Begun:
        answer = current_answer()
        known = {
            OPERATION_NAME: OPERATION,
            REQUEST_MODEL: answer.model,
            RESPONSE_ID: answer.response_id,
            "director_ai.profile": self._profile,
            "director_ai.mode": mode,
            "director_ai.tenant_id": tenant_id or answer.tenant_id,
            "director_ai.request_id": request_id or answer.request_id,
        }
        attributes = {name: value for name, value in known.items() if value}
        name = f"{OPERATION} {answer.model}".strip()
        span = self._tracer.start_span(
            name, context=_parent(answer.traceparent), kind=SpanKind.INTERNAL, attributes=attributes
        )
        return _Begun(span, answer.response_id)

    @contextlib.contextmanager
    def _within(self, **options: Any) -> Iterator[_Begun]:
        """Lend the span of an answer that is judged at once."""
        begun = self._begin(**options)
        try:
            with use_span(begun.span, record_exception=False, set_status_on_exception=False):
                yield begun
        except BaseException as error:
            _fail(begun.span, error)
            raise
        finally:
            begun.span.end()

    def _made(self, span: Span, stream: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return stream(*arguments, **options)
        except BaseException as error:
            _fail(span, error)
            span.end()
            raise

    def _end(self, begun: _Begun, result: RepairResult, error: BaseException | None) -> None:
        if error is not None:
            _fail(begun.span, error)
        self._repaired(begun, result)
        begun.span.end()

    # --- results ----------------------------------------------------------------------------------------------

    def _scored(self, begun: _Begun, approved: bool, score: CoherenceScore) -> None:
        self._emit(begun, "approved" if approved else "not_approved", score.score)

    def _repaired(self, begun: _Begun, result: RepairResult) -> None:
        counts = {name: sum(each.action == name for each in result.actions) for name in ("rewrite", "redact")}
        begun.span.set_attribute("director_ai.clauses", len(result.actions))
        for name, count in counts.items():
            begun.span.set_attribute(f"director_ai.clauses.{name}", count)
        if result.halted:
            begun.span.set_attribute("director_ai.halt_reason", result.halt_reason.split(" ", 1)[0])
        supports = [action.support for action in result.actions if action.support is not None]
        if result.halt_evidence is not None:
            supports.append(result.halt_evidence.last_score)
        changed = "redacted" if counts["redact"] else "rewritten" if counts["rewrite"] else ""
        ended = {"": "", "left": "left"}.get(result.checked.ended_by, "halted")  # left: the reader did not wait
        label = ended or changed or ("approved" if supports else "no_claim")
        self._emit(begun, label, min(supports, default=None))

    def _emit(self, begun: _Begun, label: str, score: float | None) -> None:
        """Write the event of an answer, under its span."""
        attributes: dict[str, Any] = {EVALUATION_NAME: SUPPORT, SCORE_LABEL: label}
        if score is not None:
            attributes[SCORE_VALUE] = float(score)
        if begun.response_id:
            attributes[RESPONSE_ID] = begun.response_id
        self._logger.emit(
            event_name=EVALUATION_RESULT,
            severity_number=SeverityNumber.INFO,
            attributes=attributes,
            context=set_span_in_context(begun.span),
        )


def _parent(traceparent: str) -> Context | None:
    """Return where a span belongs: under the one at hand, or else under the one that the request names."""
    if not traceparent or get_current_span() is not INVALID_SPAN:
        return None
    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})


def _fail(span: Span, error: BaseException) -> None:
    """Mark a span as failed by the kind of an error: its message may hold text."""
    span.set_attribute(ERROR_TYPE, type(error).__name__)
    span.set_status(Status(StatusCode.ERROR))
