"""A collector of OpenTelemetry on this machine: it takes OTLP over HTTP as protobuf, and keeps what it was told."""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Collected:
    """What was told, as the path, the headers and the body of each message."""

    url: str = ""
    status: int = 200
    together: threading.Barrier | None = None
    """Where as many messages as it says are answered only once all are here."""
    told: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def resources(self) -> list[Any]:
        spans = [ExportTraceServiceRequest.FromString(body) for path, _, body in self.told if path == "/v1/traces"]
        events = [ExportLogsServiceRequest.FromString(body) for path, _, body in self.told if path == "/v1/logs"]
        return [
            *(one for each in spans for one in each.resource_spans),
            *(one for each in events for one in each.resource_logs),
        ]

    @property
    def spans(self) -> list[Any]:
        return [span for one in self.resources for scope in getattr(one, "scope_spans", ()) for span in scope.spans]

    @property
    def events(self) -> list[Any]:
        return [
            event for one in self.resources for scope in getattr(one, "scope_logs", ()) for event in scope.log_records
        ]

    @property
    def services(self) -> set[str]:
        return {attributes_of(one.resource)["service.name"] for one in self.resources}


def attributes_of(item: Any) -> dict[str, Any]:
    """Return attributes as they were before they were written for the wire."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in item.attributes}


@contextlib.contextmanager
def collecting(status: int = 200, *, together: threading.Barrier | None = None) -> Iterator[Collected]:
    """Run a collector until the block ends."""
    collected = Collected(status=status, together=together)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): text for name, text in self.headers.items()}
            body = self.rfile.read(int(headers["content-length"]))
            packed = headers.get("content-encoding") == "gzip"
            collected.told.append((self.path, headers, gzip.decompress(body) if packed else body))
            if collected.together is not None:
                collected.together.wait(10)
            self.send_response(collected.status)
            self.send_header("location", f"{collected.url}/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collected.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collected
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
