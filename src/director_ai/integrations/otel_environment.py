"""Telling OpenTelemetry as the environment says it: by the standard variables, and only where one of them asks for it.

    OTEL_SDK_DISABLED       true: nothing is told, whatever else is set
    OTEL_TRACES_EXPORTER    otlp, console or none, for spans; otlp where an address is set
    OTEL_LOGS_EXPORTER      the same for events

OTEL_EXPORTER_OTLP_* are read by OpenTelemetry's exporters, and all others by its SDK. What they would log, and with it
the content of a header, or answer with a traceback is refused here.
"""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import unquote, urlsplit

from director_ai.core.ranges import check_number
from director_ai.errors import ConfigError, MissingExtra, UnknownOption
from director_ai.settings_file import read_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk.trace import TracerProvider

    from director_ai.guard import ProductionGuard

__all__ = ["is_asked_for", "tell_as_environment_says"]

Signal = Literal["traces", "logs"]
EXPORTERS: Final = ("otlp", "console", "none")
COMPRESSIONS: Final = ("none", "deflate", "gzip")
SERVICE: Final = "director-ai"
LONGEST: Final = 60.0
"""Seconds for a message to be taken; what is above was meant as milliseconds, as other languages read it."""
_HEADER: Final = re.compile(r"[\w.!#$&'*+^`|~-]+[ \t]*=[ !#-+\--:<-\[\]-~]*", re.ASCII)


def is_asked_for() -> bool:
    """Whether a variable says that something is to be told."""
    return bool(_exporter("traces") or _exporter("logs"))


def tell_as_environment_says(guards: Iterable[ProductionGuard]) -> Callable[[], None]:
    """Let guards tell OpenTelemetry from now on; return what sends the rest and ends it."""
    try:
        tracing, logging = _providers(_exporter("traces"), _exporter("logs"))
    except ImportError:
        raise MissingExtra("OpenTelemetry", extra="otel") from None
    except ConfigError:
        raise
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f"OpenTelemetry does not take one of its variables, OTEL_*: {error}") from None
    from director_ai.integrations.otel import instrument  # noqa: PLC0415 - an extra

    for guard in guards:
        instrument(guard, tracer_provider=tracing, logger_provider=logging)

    def end() -> None:
        # At the same time: a collector that does not answer takes each of them as long as it may.
        threads = [threading.Thread(target=each.shutdown, daemon=True) for each in (tracing, logging)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return end


def _providers(spans: str, events: str) -> tuple[TracerProvider, LoggerProvider]:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter  # noqa: PLC0415 - an extra
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk._logs import LoggerProvider  # noqa: PLC0415
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, ConsoleLogRecordExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter  # noqa: PLC0415

    if spans == "otlp":
        _check_settings("traces")
    if events == "otlp":
        _check_settings("logs")
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if named else {"service.name": SERVICE})
    tracing = TracerProvider(resource=resource, shutdown_on_exit=False)
    logging = LoggerProvider(resource=resource, shutdown_on_exit=False)
    if spans:
        tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter() if spans == "otlp" else ConsoleSpanExporter()))
    if events:
        told = OTLPLogExporter() if events == "otlp" else ConsoleLogRecordExporter()
        logging.add_log_record_processor(BatchLogRecordProcessor(told))
    return tracing, logging


def _exporter(signal: Signal) -> str:
    """Return how a signal is sent; empty where it is not."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ""
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    name = os.environ.get(variable, "").strip().lower()
    if name and name not in EXPORTERS:
        raise UnknownOption(variable, name, EXPORTERS)
    if not name and _setting(signal, "ENDPOINT")[1]:
        name = "otlp"
    return "" if name == "none" else name


def _setting(signal: Signal, name: str) -> tuple[str, str]:
    """Return the variable of a signal's own, or else that of all, and what it says."""
    own, shared = f"OTEL_EXPORTER_OTLP_{signal.upper()}_{name}", f"OTEL_EXPORTER_OTLP_{name}"
    variable = own if os.environ.get(own) else shared
    return variable, os.environ.get(variable, "")


def _check_settings(signal: Signal) -> None:
    """Refuse what cannot be meant, without a word of what it was: it may hold a key."""
    variable, protocol = _setting(signal, "PROTOCOL")
    if protocol not in {"", "http/protobuf"}:
        raise ConfigError(f"{variable} must be http/protobuf, at port 4318 of most collectors; no other is spoken")
    variable, address = _setting(signal, "ENDPOINT")
    if address and not _is_address(address):
        raise ConfigError(f"{variable} must be an http:// or https:// address without a password")
    variable, seconds = _setting(signal, "TIMEOUT")
    if seconds:
        check_number(f"{variable}, in seconds,", read_figure(seconds), 0.001, LONGEST)
    variable, compression = _setting(signal, "COMPRESSION")
    if compression and compression.strip().lower() not in COMPRESSIONS:
        raise UnknownOption(variable, compression, COMPRESSIONS)
    variable, headers = _setting(signal, "HEADERS")
    for header in filter(None, map(str.strip, headers.split(","))):
        if not (_HEADER.fullmatch(header) and unquote(header).isascii() and unquote(header).isprintable()):
            raise ConfigError(f"{variable} must be a list such as `name=value,other=value`, its values URL-encoded")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return usable and parts.scheme in {"http", "https"} and "@" not in parts.netloc and not re.search(r"\s", url)
