"""Where answers come from: an OpenAI or Anthropic compatible server, or a script for trying things out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from director_ai.errors import DirectorError, MissingExtra

try:
    import httpx2
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
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout, connect=10.0, pool=10.0),
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=100),
            follow_redirects=False,
            trust_env=False,
        )

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a request; redirects are not followed, they would lead to a host that nobody named."""
        kept = {name: value for name, value in headers.items() if name.lower() in KEPT_REQUEST}
        request = self._client.build_request(
            method, self._base + path, headers={**kept, "accept-encoding": "identity", **self._own}, content=body
        )
        try:
            answer = await self._client.send(request, stream=True)
        except httpx2.TimeoutException:
            raise UpstreamUnreachable("the upstream did not answer in time", timed_out=True) from None
        except httpx2.HTTPError as error:
            raise UpstreamUnreachable(f"the upstream cannot be reached ({type(error).__name__})") from None
        return Answer(
            status=answer.status_code, headers=dict(answer.headers), chunks=_chunks(answer), close=answer.aclose
        )

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()


async def _chunks(answer: Any) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_bytes():
            yield chunk
    except httpx2.TimeoutException:
        raise UpstreamUnreachable("the upstream fell silent", timed_out=True) from None
    except httpx2.HTTPError as error:
        raise UpstreamUnreachable(f"the upstream broke off ({type(error).__name__})") from None
    finally:
        await answer.aclose()
