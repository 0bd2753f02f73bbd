"""What `serve.py` compares, each in a process of its own: our server, the same with the guard off, a plain proxy.

The guard can be off here alone: no setting of the server does that.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import uvicorn
from repair_delay import WARM_UP, all_facts
from repair_quality import opened_guard
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from director_ai.core.repair.streams import RepairPiece
from director_ai.nli import load_entailer
from director_ai.serve.guarding import Guarding
from director_ai.serve.running import listen, run
from director_ai.serve.server import Server
from director_ai.serve.settings import ServerSettings
from director_ai.serve.workers import run_workers

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from starlette.requests import Request

    from director_ai.serve.turns import Turns
    from director_ai.serve.wire.items import Say

WAYS = ("heuristic", "model", "guard off", "plain proxy")


class _Unjudged:
    """A stream that shows what it hears."""

    class result:  # noqa: N801 - stands for an attribute
        halted = False

    def __init__(self, tokens: AsyncIterator[str]) -> None:
        self._open = self._run(tokens)

    async def _run(self, tokens: AsyncIterator[str]) -> AsyncGenerator[RepairPiece]:
        async for token in tokens:
            yield RepairPiece(token)

    def __aiter__(self) -> AsyncIterator[RepairPiece]:
        return self._open

    async def aclose(self) -> None:
        await self._open.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unguarded(Guarding):
    """The guard of an exchange that judges nothing."""

    def stream(self, first: Say, tokens: AsyncIterator[str]) -> Any:  # noqa: ARG002 - as the real one
        return _Unjudged(tokens)


def settings_of(way: str, upstream: int, options: dict[str, Any]) -> ServerSettings:
    """The settings of our server in front of an upstream; several workers share a knowledge base in a file."""
    is_alone = options.get("workers", 1) == 1
    tables = {
        "server": {"most_streams": 5_000, "rate": "off", **options},
        "guard": {
            "use_nli": way == "model",
            "search": "meaning" if way == "model" else "words",
            "store": ":memory:" if is_alone else str(Path(options["database"]).with_name("facts.db")),
        },
        "upstreams": {"main": {"base_url": f"http://127.0.0.1:{upstream}/v1", "timeout": 120.0}},
    }
    return ServerSettings.load(tables, env={}, port=0)


def furnish(server: Server) -> str:
    """Put the facts in, and return a key."""
    server.store.add_many(all_facts())
    return server.keys.create("bench", ["proxy"]).secret


def our_server(way: str, settings: ServerSettings) -> Server:
    """Our server, with a guard of the benchmark's own."""
    server = Server(settings)
    # Nothing is remembered: the answers are made of the same passages, which would all be known after a second.
    entailer = load_entailer(cache_size=0) if way == "model" else None
    guard = opened_guard(server.store, use_nli=way == "model", entailer=entailer, audit=server.queue.trail)
    guard.repair_stream("", WARM_UP)
    server.guards._made[server.settings.usual.guard] = guard
    if way == "guard off":
        server.tenants.guarding = lambda caller, prompt, request_id: Unguarded(  # type: ignore[method-assign]
            guard=guard, prompt=prompt, tenant_id=caller.tenant_id, request_id=request_id, mode="repair"
        )
    return server


def be_worker(
    way: str, settings: ServerSettings, bound: socket.socket, ready: Callable[[], None], turns: Turns
) -> None:
    """Serve as one of several."""
    server = our_server(way, settings)
    ready()
    run(server, bound, turns)


def plain_proxy(upstream: int) -> Starlette:
    """As little as a reverse proxy can be."""
    client = httpx2.AsyncClient(timeout=120.0, trust_env=False, limits=httpx2.Limits(max_connections=5_000))

    async def answer(request: Request) -> StreamingResponse:
        address = f"http://127.0.0.1:{upstream}{request.url.path}"
        sent = client.build_request("POST", address, content=await request.body())
        came = await client.send(sent, stream=True)

        async def chunks() -> AsyncIterator[bytes]:
            async with contextlib.aclosing(came):
                async for chunk in came.aiter_raw():
                    yield chunk

        return StreamingResponse(chunks(), came.status_code, media_type=came.headers["content-type"])

    return Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])


def main(way: str, upstream: int, options: dict[str, Any]) -> None:
    """Print a port and a key, and serve until the process is ended."""
    bound = listen("127.0.0.1", 0)
    port = bound.getsockname()[1]
    if way == "plain proxy":
        print(port, "none", flush=True)
        config = uvicorn.Config(plain_proxy(upstream), log_config=None, access_log=False)
        uvicorn.Server(config).run(sockets=[bound])
        return
    settings = settings_of(way, upstream, options)
    if settings.workers == 1:
        server = our_server(way, settings)
        print(port, furnish(server), flush=True)
        run(server, bound)
        return
    with Server(settings) as first:
        key = furnish(first)
    run_workers(
        functools.partial(be_worker, way, settings.share()),
        bound,
        settings.workers,
        grace=settings.grace,
        ready=lambda: print(port, key, flush=True),
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
