"""The HTTP client under a guarded SDK: what the model says is judged on its way in, so no call can go around it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import httpx2

from director_ai.errors import DirectorError
from director_ai.integrations.live import AsyncGuardedBytes, GuardedBytes

if TYPE_CHECKING:
    from director_ai.integrations.calls import Call, Calls

__all__ = ["guarded_async_http", "guarded_http"]

_OF_THE_BODY: Final = frozenset({"content-length", "content-encoding", "transfer-encoding"})
"""Headers that say how bytes are packed; those of a guarded answer are others."""


def guarded_http(client: httpx2.Client, calls: Calls) -> httpx2.Client:
    """Return an HTTP client that sends by another one, and guards what comes back."""
    return httpx2.Client(
        transport=_GuardedTransport(client, calls), timeout=client.timeout, follow_redirects=client.follow_redirects
    )


def guarded_async_http(client: httpx2.AsyncClient, calls: Calls) -> httpx2.AsyncClient:
    """Return the same of an asynchronous client."""
    return httpx2.AsyncClient(
        transport=_AsyncGuardedTransport(client, calls),
        timeout=client.timeout,
        follow_redirects=client.follow_redirects,
    )


class _GuardedTransport(httpx2.BaseTransport):
    def __init__(self, client: httpx2.Client, calls: Calls) -> None:
        self._client, self._calls = client, calls

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        route = self._calls.route(request.method, request.url.path)
        if route is not None and route.wire is None:
            return _not_guarded(request)
        answer = self._client.send(request, stream=True, follow_redirects=False)
        if not answer.is_success or (route is None and not _is_stream(answer)):
            return _passed(answer)
        if route is None or route.wire is None:
            answer.close()
            return _not_guarded(request)
        call = self._calls.begin(route.wire, request.read())
        if _is_stream(answer):
            return _of(answer, call, stream=GuardedBytes(answer, call))
        try:
            return _of(answer, call, content=call.whole(answer.read()))
        except DirectorError as error:
            return _refused(502, str(error))
        finally:
            answer.close()

    def close(self) -> None:
        self._client.close()


class _AsyncGuardedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, client: httpx2.AsyncClient, calls: Calls) -> None:
        self._client, self._calls = client, calls

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        route = self._calls.route(request.method, request.url.path)
        if route is not None and route.wire is None:
            return _not_guarded(request)
        answer = await self._client.send(request, stream=True, follow_redirects=False)
        if not answer.is_success or (route is None and not _is_stream(answer)):
            return _passed(answer)
        if route is None or route.wire is None:
            await answer.aclose()
            return _not_guarded(request)
        call = self._calls.begin(route.wire, await request.aread())
        if _is_stream(answer) and _on_asyncio():
            return _of(answer, call, stream=AsyncGuardedBytes(answer, call))
        try:
            if _is_stream(answer):
                return _refused(400, "guarded streams run on asyncio; on trio, ask without stream")
            return _of(answer, call, content=await call.awhole(await answer.aread()))
        except DirectorError as error:
            return _refused(502, str(error))
        finally:
            await answer.aclose()

    async def aclose(self) -> None:
        await self._client.aclose()


def _on_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_stream(answer: httpx2.Response) -> bool:
    return "event-stream" in str(answer.headers.get("content-type", ""))


def _passed(answer: httpx2.Response) -> httpx2.Response:
    """Return an answer without text of a model, as it comes."""
    return httpx2.Response(
        answer.status_code, headers=answer.headers, stream=answer.stream, extensions=answer.extensions
    )


def _of(answer: httpx2.Response, call: Call, **body: Any) -> httpx2.Response:
    """Return a guarded answer, with what else the upstream said of it."""
    headers = [(name, value) for name, value in answer.headers.multi_items() if name.lower() not in _OF_THE_BODY]
    headers.append(("x-director-request-id", call.request_id))
    extensions = {name: value for name, value in answer.extensions.items() if name != "network_stream"}
    return httpx2.Response(answer.status_code, headers=headers, extensions=extensions, **body)


def _not_guarded(request: httpx2.Request) -> httpx2.Response:
    what = f"{request.method} {request.url.path}"
    return _refused(400, f"{what} cannot be guarded; use the client that was wrapped, if it need not be")


def _refused(status: int, sentence: str) -> httpx2.Response:
    """Return an error as both SDKs read it; asking again would not help."""
    error = {"message": sentence, "type": "guard_error", "param": None, "code": "guard_error"}
    content = json.dumps({"type": "error", "error": error}).encode()
    headers = {"content-type": "application/json", "x-should-retry": "false"}
    return httpx2.Response(status, headers=headers, content=content)
