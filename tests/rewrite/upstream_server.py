"""A real HTTP server on this machine, whose answers a test sets."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Upstream", "serve"]

Handler = BaseHTTPRequestHandler


class Upstream:
    """`seen` holds (path, headers, body) of each request."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str], Any]] = []
        self.reply: Callable[[Handler], None] = lambda handler: None
        self.release = threading.Event()
        self.left = threading.Event()
        self.url = ""

    def answer(self, payload: Any, status: int = 200) -> None:
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.stream(body, status=status, Content_Length=str(len(body)))

    def stream(self, *parts: bytes, status: int = 200, wait: float = 0.0, **headers: str) -> None:
        """Send parts one by one, and then close the connection."""

        def reply(handler: Handler) -> None:
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            for part in parts:
                handler.wfile.write(part)
                handler.wfile.flush()
                self.release.wait(wait)

        self.reply = reply


@contextlib.contextmanager
def serve() -> Iterator[Upstream]:
    upstream = Upstream()

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            upstream.seen.append((self.path, headers, json.loads(body)))
            self.close_connection = True
            try:
                upstream.reply(self)
            except OSError:
                upstream.left.set()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    upstream.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        upstream.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
