"""Where answers come from: an OpenAI or Anthropic compatible server, or a script for trying things out."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from director_ai.errors import DirectorError, MissingExtra

try:
    import aiohttp
    from yarl import URL
except ImportError:
    raise MissingExtra("the proxy", extra="server") from None

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

__all__ = ["Answer", "HttpUpstream", "Upstream", "UpstreamUnreachable"]

KEPT_REQUEST: Final = (
    "accept-language",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "idempotency-key",
    "openai-beta",
    "openai-organization",
    "openai-project",
    "traceparent",
    "tracestate",
    "user-agent",
    "x-request-id",
)
"""Headers of a client that an upstream gets; its key never is one of them."""
KEPT_ANSWER: Final = ("x-request-id", "request-id", "retry-after", "openai-processing-ms", "openai-version")
"""Headers of an upstream that a client gets, beside the rate limits."""
KEPT_PREFIXES: Final = ("x-ratelimit-", "anthropic-ratelimit-")
CONNECT_SECONDS: Final = 10.0
RECEIVE_BUFFER: Final = 128 * 1024
"""Bytes that the system takes from an upstream while nobody reads; left to itself it takes megabytes."""


class UpstreamUnreachable(DirectorError):
    """The upstream did not answer, or not in time."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


async def _nothing() -> None:
    return


@dataclass(slots=True, kw_only=True)
class Answer:
    """What an upstream answers, while it is still coming."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: AsyncIterator[bytes]
    close: Callable[[], Awaitable[None]] = _nothing

    def kept_headers(self) -> dict[str, str]:
        """Return the headers that the client gets."""
        return {
            name: value
            for name, value in ((name.lower(), value) for name, value in self.headers.items())
            if name in KEPT_ANSWER or name.startswith(KEPT_PREFIXES)
        }


class Upstream(Protocol):
    """Answers requests; one object serves any number of them at once."""

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a request, and return once the answer has begun."""
        ...

    async def aclose(self) -> None:
        """Let go of the connections."""
        ...


class HttpUpstream:
    """A compatible server, named by the configuration alone."""

    def __init__(
        self, base_url: str, *, headers: Mapping[str, str], timeout: float = 60.0, connections: int = 1_000
    ) -> None:
        self._base = base_url.rstrip("/")
        self._own = dict(headers)
        self._timeout = aiohttp.ClientTimeout(
            total=None, connect=CONNECT_SECONDS, sock_connect=CONNECT_SECONDS, sock_read=timeout
        )
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    def _opened(self) -> aiohttp.ClientSession:
        """The connections, which belong to the loop that first asks for one."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, socket_factory=_socket),
                cookie_jar=aiohttp.DummyCookieJar(),  # what one answer sets must not go with another tenant's request
                timeout=self._timeout,
                skip_auto_headers=("accept", "content-type", "user-agent"),
            )
        return self._session

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a request; redirects are not followed, they would lead to a host that nobody named."""
        kept = {name: value for name, value in headers.items() if name.lower() in KEPT_REQUEST}
        try:
            answer = await self._opened().request(
                method,
                URL(self._base + path, encoded=True),
                headers={**kept, "accept-encoding": "identity", **self._own},
                data=body,
                allow_redirects=False,
            )
        except TimeoutError:
            raise UpstreamUnreachable("the upstream did not answer in time", timed_out=True) from None
        except (aiohttp.ClientError, ValueError) as error:  # a ValueError is of a header that no request may have
            raise UpstreamUnreachable(f"the upstream cannot be reached ({type(error).__name__})") from None

        async def close() -> None:
            answer.close()

        told = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(status=answer.status, headers=told, chunks=_chunks(answer), close=close)

    async def aclose(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()


def _socket(place: tuple[Any, ...]) -> socket.socket:
    """Return a socket to connect to a place as `getaddrinfo` names it."""
    family, kind, protocol, *_ = place
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    return made


async def _chunks(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.content.iter_any():
            yield chunk
    except TimeoutError:
        raise UpstreamUnreachable("the upstream fell silent", timed_out=True) from None
    except aiohttp.ClientError as error:
        raise UpstreamUnreachable(f"the upstream broke off ({type(error).__name__})") from None
    finally:
        answer.close()
