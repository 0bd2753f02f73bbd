"""A model's endpoint on this machine, whose answers a test sets."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Upstream"]


class Upstream:
    """A server whose answer is set by the test; `seen` holds (path, headers, body) of each request."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str], Any]] = []
        self.reply: Callable[[BaseHTTPRequestHandler], None] = lambda handler: None
        self.release = threading.Event()
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                upstream.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(body)))
                self.close_connection = True
                with contextlib.suppress(OSError):  # the client left
                    upstream.reply(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def answer(self, payload: Any, status: int = 200, **headers: str) -> None:
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()

        def reply(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(body)

        self.reply = reply

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
