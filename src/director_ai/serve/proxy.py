"""The proxy's routes: a client's request goes to the upstream, and its answer comes back guarded."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any, Final, Protocol

from starlette.responses import JSONResponse, Response

from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError, DirectorError, PayloadError
from director_ai.record.tracing import answering
from director_ai.serve.bodies import parse_object, read_body
from director_ai.serve.callers import NotAuthenticated
from director_ai.serve.delivery import ClientLeft, Delivery, unless_left
from director_ai.serve.exchange import Exchange, UpstreamBroke
from director_ai.serve.guarding import AGENTS, Guarding
from director_ai.serve.refusals import refused_response
from director_ai.serve.sse import SseReader
from director_ai.serve.wire.chat import ChatWire
from director_ai.serve.wire.envelope import Envelope, as_identifier
from director_ai.serve.wire.messages import MessagesWire
from director_ai.serve.wire.responses import ResponsesWire

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from starlette.requests import Request

    from director_ai.serve.callers import Authenticator, Caller
    from director_ai.serve.open_streams import OpenStreams
    from director_ai.serve.sse import ServerSentEvent
    from director_ai.serve.upstream import Answer, Upstream
    from director_ai.serve.wire.items import Wire

__all__ = ["Overloaded", "Proxy", "Tenants"]

WIRES: Final[dict[str, Callable[..., Wire]]] = {
    "/v1/chat/completions": ChatWire,
    "/v1/messages": MessagesWire,
    "/v1/responses": ResponsesWire,
}
"""For each path, how its protocol is read and written: (request, shows_reasoning=...) -> a wire."""
MOST_ANSWER: Final = 32 * 1024 * 1024
"""Bytes of an answer that is not streamed."""
LEFT: Final = 499
"""What stands in the log where nobody was there to answer."""
MODE: Final = "x-director-mode"
"""The header by which a client asks for a mode; the answer says what it got."""
STRICT: Final = "strict"
OPTIMISTIC: Final = "optimistic"
STREAM_HEADERS: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


class Overloaded(DirectorError):
    """More is asked than the server holds; it says when to try again, and skips no check."""

    def __init__(self, message: str, *, status: int, retry_after: float) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after


class Tenants(Protocol):
    """What is set for each tenant."""

    def guarding(self, caller: Caller, prompt: str, request_id: str) -> Guarding:
        """Return the guard of an exchange."""
        ...

    def upstream(self, caller: Caller, path: str) -> Upstream:
        """Return where the tenant's answers come from."""
        ...

    def admit(self, caller: Caller, open_streams: int) -> None:
        """Let a request in, or refuse it as Overloaded: by its tenant's rate, or because the server is full."""
        ...


class Proxy:
    """Handles requests of the protocols in WIRES."""

    def __init__(self, tenants: Tenants, authenticate: Authenticator, streams: OpenStreams) -> None:
        self._tenants, self._authenticate, self._streams = tenants, authenticate, streams

    async def handle(self, request: Request) -> Response:
        """Answer a request of a client; errors that it raises are written by the application."""
        caller = await self._admitted(request)
        body = await read_body(request)
        asked = parse_object(body)
        wire = WIRES[request.url.path](asked, shows_reasoning=caller.shows_reasoning)
        request_id = _request_id(request)
        guarding = self._tenants.guarding(caller, wire.prompt, request_id)
        guarding = dataclasses.replace(guarding, agents=_agents(request))
        optimistic = _wants_optimism(request, guarding)
        upstream = self._tenants.upstream(caller, request.url.path)
        path = request.url.path.removeprefix("/v1")
        about = _about(request, asked, caller, request_id)

        async def answered() -> Response:
            answer = await upstream.send("POST", path, dict(request.headers), body)
            headers = answer.kept_headers() | {"x-director-request-id": request_id}
            if answer.status >= 300:
                return await _refused(answer, headers, request.url.path)
            if not asked.get("stream"):
                return await self._whole(answer, wire, guarding, headers)
            if "json" in answer.headers.get("content-type", ""):
                await answer.close()
                raise UpstreamBroke("the upstream's answer is no stream")
            exchange = await _exchange(answer, wire, guarding, optimistic=optimistic)
            pieces = self._streamed(exchange, answer, caller, about)
            told = STREAM_HEADERS | ({MODE: OPTIMISTIC} if optimistic else {})
            return Delivery(exchange, pieces, headers | told, close=answer.close)

        with self._streams.waiting(caller) as waiting, answering(**about):
            try:
                return await unless_left(request.receive, waiting.unless_ended(answered()))
            except ClientLeft:
                return Response(status_code=LEFT)

    async def models(self, request: Request) -> Response:
        """Hand the upstream's list of models on."""
        caller = await self._admitted(request)
        upstream = self._tenants.upstream(caller, request.url.path)
        answer = await upstream.send("GET", request.url.path.removeprefix("/v1"), dict(request.headers), b"")
        if answer.status >= 300:
            return await _refused(answer, answer.kept_headers(), request.url.path)
        try:
            told = Envelope({}).keep(json.loads(await _all(answer)))  # names and figures: prose would not be judged
        except (ValueError, RecursionError):
            raise UpstreamBroke("the upstream's list of models is not JSON") from None
        return JSONResponse(told, headers=answer.kept_headers())

    async def _admitted(self, request: Request) -> Caller:
        """Return who asks, where an answer may begin at all."""
        caller = await self._authenticate(request, "proxy")
        if self._streams.is_killed(caller.tenant_id):
            raise Overloaded("answers are switched off by the operator", status=503, retry_after=60)
        self._tenants.admit(caller, len(self._streams))
        return caller

    async def _streamed(
        self, exchange: Exchange, answer: Answer, caller: Caller, about: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        """Yield the bytes of a stream; one task iterates and closes it, so that it alone sees what it is about."""
        with self._streams.entered(exchange, caller), answering(**about):
            async with contextlib.aclosing(exchange.run(_events(answer))) as data:
                async for piece in data:
                    yield piece

    async def _whole(self, answer: Answer, wire: Wire, guarding: Guarding, headers: Mapping[str, str]) -> Response:
        """Guard an answer that comes whole: all its texts, then one object."""
        try:
            body = json.loads(await _all(answer))
        except ValueError:
            raise UpstreamBroke("the upstream's answer is not JSON") from None
        if not isinstance(body, dict):
            raise UpstreamBroke("the upstream's answer is no JSON object")
        outcomes = {say.channel: await guarding.whole(say) for say in wire.texts(body)}
        shown = wire.with_texts(body, outcomes)
        told = [guarding.told(action) for each in outcomes.values() for action in each.result.actions if action.changed]
        halts = [
            guarding.describe_halt(each.result, each.result.halt_reason)
            for each in outcomes.values()
            if each.result.halted
        ]
        if told or halts:
            shown["guard"] = {"actions": told} | (dict(halts[0]) if halts else {})
        return JSONResponse(shown, headers=dict(headers))


def _agents(request: Request) -> dict[str, str]:
    """Return who is speaking to whom, as the client says; hooks decide what that is worth."""
    given = {name: request.headers.getlist(f"x-director-{name}") for name in AGENTS}
    if any(len(values) > 1 for values in given.values()):
        raise PayloadError("a header x-director-… stands there twice")
    told = {name: values[0] if values else "" for name, values in given.items()}
    try:
        for name in ("sender", "receiver"):
            check_identifier(name, told[name])
    except ConfigError as error:
        raise PayloadError(f"a header x-director-sender or x-director-receiver is wrong: {error}") from None
    return {name: value for name, value in told.items() if value}


def _wants_optimism(request: Request, guarding: Guarding) -> bool:
    """Whether text is to be shown before it is judged: the client must ask for it, and its tenant be allowed to."""
    mode = request.headers.get(MODE, STRICT).strip().lower()
    if mode not in {STRICT, OPTIMISTIC}:
        raise PayloadError(f"the header {MODE} must be {STRICT!r} or {OPTIMISTIC!r}; without it, it is {STRICT!r}")
    if mode == OPTIMISTIC and not guarding.allows_optimism:
        raise NotAuthenticated(
            f"optimistic mode is off for this tenant; leave out the header {MODE}, "
            "or have an operator set `optimistic = true` for the tenant",
            status=403,
        )
    return mode == OPTIMISTIC


async def _exchange(answer: Answer, wire: Wire, guarding: Guarding, *, optimistic: bool) -> Exchange:
    """Return the exchange of a stream; one whose mode cannot be recorded does not begin."""
    try:
        optimism = await guarding.begin_optimism(wire) if optimistic else None
    except BaseException:
        await answer.close()
        raise
    return Exchange(
        wire,
        guarding.stream,
        describe=guarding.describe,
        describe_halt=guarding.describe_halt,
        optimism=optimism,
        at_end=guarding.end_optimism,
        lagged=guarding.lagged,
    )


async def _events(answer: Answer) -> AsyncGenerator[ServerSentEvent]:
    reader = SseReader()
    try:
        async for chunk in answer.chunks:
            for event in reader.feed(chunk):
                yield event
        for event in reader.finish():
            yield event
    finally:
        await answer.close()


async def _all(answer: Answer) -> bytes:
    chunks, size = [], 0
    try:
        async for chunk in answer.chunks:
            size += len(chunk)
            if size > MOST_ANSWER:
                raise UpstreamBroke(f"the upstream's answer has more than {MOST_ANSWER} bytes")
            chunks.append(chunk)
    finally:
        await answer.close()
    return b"".join(chunks)


async def _refused(answer: Answer, headers: Mapping[str, str], path: str) -> Response:
    """Hand on what the upstream says instead of an answer, with its status; where it points elsewhere, nobody goes."""
    body = await _all(answer)
    if answer.status < 400:
        raise UpstreamBroke("the upstream points to another place")
    return refused_response(answer.status, body, headers, is_anthropic=path == "/v1/messages")


def _about(request: Request, asked: Mapping[str, Any], caller: Caller, request_id: str) -> dict[str, str]:
    """Return what logs and spans may repeat of a request: ids, and no text."""
    return {
        "model": as_identifier(asked.get("model")),
        "request_id": request_id,
        "tenant_id": caller.tenant_id,
        "traceparent": request.headers.get("traceparent", ""),
    }


def _request_id(request: Request) -> str:
    given = request.headers.get("x-request-id", "")
    with contextlib.suppress(ConfigError):
        if check_identifier("x-request-id", given):
            return given
    return f"req-{os.urandom(12).hex()}"
