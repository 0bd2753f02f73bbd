"""Generators: functions from a prompt to an answer. These two ask an endpoint; your own are as good.

An endpoint is asked by one POST, without an SDK: no redirect is followed, no compressed body taken, no more read than
`max_bytes`, nothing waited for longer than `timeout`. What is no whole answer is an `EndpointError`; it never repeats
what the endpoint sent.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

import anyio

from director_ai.core.ranges import check_count, check_number
from director_ai.core.runtime.drive import SyncCalls
from director_ai.core.runtime.intake import TokenIntake
from director_ai.core.runtime.plan import Late
from director_ai.core.runtime.release import type_name
from director_ai.errors import ConfigError, DirectorError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

__all__ = [
    "LONGEST_SECONDS",
    "AnthropicGenerator",
    "EndpointError",
    "NoAnswer",
    "OpenAICompatibleGenerator",
    "checked_key",
    "checked_options",
    "checked_text",
    "checked_url",
    "endpoint_problems",
    "load_http",
    "read_candidate",
    "whole_characters",
]

Problem = Literal["unreachable", "timeout", "status", "too_large", "malformed", "truncated", "refused"]

_MEANINGS: Final[Mapping[Problem, str]] = {
    "unreachable": "the endpoint could not be reached, or broke off; check base_url and the network",
    "timeout": "the endpoint did not answer within its time limit; retry, or raise timeout",
    "status": "the endpoint answered with an HTTP error",
    "too_large": "the endpoint's answer is larger than max_bytes",
    "malformed": "the endpoint's answer is not what its API documents; check base_url",
    "truncated": "the endpoint cut its answer at a length limit; raise its maximum of tokens",
    "refused": "the endpoint's model declined to answer",
}
_HINTS: Final = {401: "check api_key", 403: "check api_key", 404: "check base_url and model", 429: "retry later"}
LONGEST_SECONDS: Final = 86_400.0
LONGEST_CANDIDATE: Final = 200_000
"""Characters; what is longer is no answer to a prompt."""


class EndpointError(DirectorError):
    """An endpoint gave no usable answer."""

    def __init__(self, problem: Problem, *, status: int | None = None) -> None:
        hint = "redirects are not followed" if 300 <= (status or 0) < 400 else _HINTS.get(status or 0, "")
        detail = f" {status}{hint and '; '}{hint}" if status is not None else ""
        super().__init__(_MEANINGS[problem] + detail)
        self.problem: Problem = problem
        """Why, in one word."""
        self.status = status
        """The HTTP status, where that is the problem."""


class NoAnswer(DirectorError):
    """Somebody was asked and gave no usable answer; `reason` is a word and figures, never text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_candidate(answer: Any) -> str:
    """Return a generator's answer as plain text of whole characters, or refuse it."""
    if not issubclass(type(answer), str):  # by its real type: a mock may claim any other
        raise NoAnswer(f"generator_error expected=str got={type_name(answer)}")
    text = str.__str__(answer)
    if len(text) > LONGEST_CANDIDATE:
        raise NoAnswer(f"generator_error got=too_long limit={LONGEST_CANDIDATE}")
    if not text.strip():
        raise NoAnswer("generator_error got=blank")
    return whole_characters(text)


def whole_characters(text: str) -> str:
    """Return a plain copy of a text; half a character becomes U+FFFD, as in a stream."""
    intake = TokenIntake()
    return intake.take(text) + intake.finish()


class _Body:
    """Gathers what comes, up to a size and a time."""

    def __init__(self, most: int, end: float) -> None:
        self._most, self._end = most, end
        self._parts: list[bytes] = []
        self._size = 0
        self._problem: Problem | None = None

    def take(self, part: bytes) -> bool:
        """Take a part; return whether there may be more."""
        self._size += len(part)
        if self._size > self._most:
            self._problem = "too_large"
        elif time.monotonic() > self._end:  # nobody waits any more
            self._problem = "timeout"
        else:
            self._parts.append(part)
        return self._problem is None

    def whole(self) -> bytes:
        """Return all of it, or say why it is not all."""
        if self._problem is not None:
            raise EndpointError(self._problem)
        return b"".join(self._parts)


class _EndpointGenerator:
    """One request and its answer; any number of threads and tasks may share a generator."""

    _extra: str
    _path: str
    _reserved: frozenset[str]

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None,
        *,
        system: str,
        timeout: float,
        max_bytes: int,
        options: Mapping[str, Any] | None,
    ) -> None:
        self._url = checked_url(base_url) + self._path
        self._system = checked_text("system", system)
        if not checked_text("model", model).strip():
            raise ConfigError("model must name a model, got a blank text")
        self._timeout = check_number("timeout", timeout, 0.001, LONGEST_SECONDS)
        self._max_bytes = check_count("max_bytes", max_bytes, 1, 1_000_000_000)
        self._body: dict[str, Any] = {"model": str(model), **checked_options(options, self._reserved)}
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # what is compressed is not unpacked: it may be a thousand times as large
            **(self._authorization(checked_key(api_key)) if api_key is not None else {}),
        }
        self._http = load_http(self._extra)
        self._client = {"verify": self._http.create_ssl_context(), "timeout": self._timeout, "follow_redirects": False}

    def __call__(self, prompt: str) -> str:
        """Return the endpoint's answer to a prompt."""
        calls = SyncCalls(each=self._timeout, total=None, clock=time.monotonic)
        try:  # on a helper thread: the client's own limits are per read, and a slow sender passes each of them
            return calls.bind("answer", self._ask)(prompt)  # type: ignore[no-any-return]  # what _ask returns
        except Late:
            raise EndpointError("timeout") from None
        finally:
            calls.close(lambda: None)

    async def acall(self, prompt: str) -> str:
        """Return the same without blocking the event loop, on asyncio and trio."""
        content = self._request(prompt)
        with endpoint_problems(self._http), anyio.fail_after(self._timeout):
            async with (
                self._http.AsyncClient(**self._client) as client,
                client.stream("POST", self._url, content=content, headers=self._headers) as response,
            ):
                body = self._begin(response)
                # Left by cancelling: one that is simply left would not be closed at once, and trio says so.
                with anyio.CancelScope() as reading:
                    async for part in response.aiter_raw():
                        if not body.take(part):
                            reading.cancel()
        return self._answer(body.whole())

    def _ask(self, prompt: str) -> str:
        content = self._request(prompt)
        with (
            endpoint_problems(self._http),
            self._http.Client(**self._client) as client,
            client.stream("POST", self._url, content=content, headers=self._headers) as response,
        ):
            body = self._begin(response)
            for part in response.iter_raw():
                if not body.take(part):
                    break
        return self._answer(body.whole())

    def _request(self, prompt: str) -> bytes:
        return json.dumps({**self._body, **self._messages(checked_text("prompt", prompt))}).encode()

    def _begin(self, response: Any) -> _Body:
        """Return what gathers the body of a good response."""
        if response.status_code != 200:
            raise EndpointError("status", status=response.status_code)
        return _Body(self._max_bytes, time.monotonic() + self._timeout)

    def _answer(self, body: bytes) -> str:
        try:
            text = self._read(json.loads(body))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise EndpointError("malformed") from None
        if type(text) is not str:
            raise EndpointError("malformed")
        return text

    def _authorization(self, api_key: str) -> dict[str, str]:
        raise NotImplementedError

    def _messages(self, prompt: str) -> dict[str, Any]:
        raise NotImplementedError

    def _read(self, payload: Any) -> Any:
        """Return the text of an answer; whatever a payload of another shape raises means that it is malformed."""
        raise NotImplementedError


class OpenAICompatibleGenerator(_EndpointGenerator):
    """Asks an endpoint that speaks OpenAI's chat completions, as most model servers do.

    Args:
        base_url: Up to and including the version, for example `http://127.0.0.1:8000/v1`.
        model: As the endpoint names it.
        api_key: Sent as a bearer token; None where none is needed. It is not taken from the environment.
        system: An instruction that goes before every prompt.
        timeout: Seconds for the whole answer.
        max_bytes: The largest answer that is read.
        options: Further fields of the request, for example `{"temperature": 0.7, "max_tokens": 400}`.
    """

    _extra = "openai"
    _path = "/chat/completions"
    _reserved = frozenset({"model", "messages", "stream", "n"})

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        system: str = "",
        timeout: float = 60.0,
        max_bytes: int = 4_000_000,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(base_url, model, api_key, system=system, timeout=timeout, max_bytes=max_bytes, options=options)

    def _authorization(self, api_key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {api_key}"}

    def _messages(self, prompt: str) -> dict[str, Any]:
        system = [{"role": "system", "content": self._system}] if self._system else []
        return {"messages": [*system, {"role": "user", "content": prompt}]}

    def _read(self, payload: Any) -> Any:
        choice = payload["choices"][0]
        message = choice["message"]
        if choice.get("finish_reason") == "length":
            raise EndpointError("truncated")
        if choice.get("finish_reason") == "content_filter" or message.get("refusal"):
            raise EndpointError("refused")
        return message["content"]


class AnthropicGenerator(_EndpointGenerator):
    """Asks an endpoint that speaks Anthropic's messages.

    Args:
        model: As the endpoint names it.
        api_key: Sent as `x-api-key`; it is not taken from the environment.
        base_url: Up to, and without, the version.
        max_tokens: The longest answer, which this API wants to be told.
        system: An instruction that goes with every prompt.
        timeout: Seconds for the whole answer.
        max_bytes: The largest answer that is read.
        options: Further fields of the request, for example `{"temperature": 0.7}`.
    """

    _extra = "anthropic"
    _path = "/v1/messages"
    _reserved = frozenset({"model", "messages", "stream", "system", "max_tokens"})

    def __init__(
        self,
        model: str,
        api_key: str | None = None,
        base_url: str = "https://api.anthropic.com",
        *,
        max_tokens: int = 1024,
        system: str = "",
        timeout: float = 60.0,
        max_bytes: int = 4_000_000,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(base_url, model, api_key, system=system, timeout=timeout, max_bytes=max_bytes, options=options)
        self._headers["anthropic-version"] = "2023-06-01"
        self._body["max_tokens"] = check_count("max_tokens", max_tokens, 1)

    def _authorization(self, api_key: str) -> dict[str, str]:
        return {"x-api-key": api_key}

    def _messages(self, prompt: str) -> dict[str, Any]:
        system = {"system": self._system} if self._system else {}
        return {"messages": [{"role": "user", "content": prompt}], **system}

    def _read(self, payload: Any) -> Any:
        if payload["stop_reason"] in {"max_tokens", "model_context_window_exceeded", "pause_turn"}:
            raise EndpointError("truncated")
        if payload["stop_reason"] == "refusal":
            raise EndpointError("refused")
        # Thinking is not part of the answer.
        return "".join(block["text"] for block in payload["content"] if block["type"] == "text")


@contextlib.contextmanager
def endpoint_problems(http: ModuleType) -> Iterator[None]:
    """Turn what the client raises into our own error; its messages may hold addresses and header values."""
    try:
        yield
    except (http.TimeoutException, TimeoutError):
        raise EndpointError("timeout") from None
    except (http.HTTPError, http.StreamError, http.InvalidURL, OSError):
        raise EndpointError("unreachable") from None


def load_http(extra: str, what: str = "a generator that asks an endpoint") -> ModuleType:
    """Return the HTTP client, or say which extra brings it."""
    try:
        import httpx2  # noqa: PLC0415 - an optional part
    except ImportError:
        raise MissingExtra(what, extra=extra) from None
    return httpx2


def checked_text(name: str, value: object) -> str:
    """Return a plain string, or refuse what is none."""
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a string, got a {type(value).__name__}")
    return str.__str__(value)


def checked_url(value: object) -> str:
    """Return an address without a slash at its end; it is never repeated in an error, since it may hold a password."""
    url = checked_text("base_url", value)
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigError("base_url must be an address such as https://host:port/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError("base_url must have no user, no query and no fragment; give a key as api_key")
    return url.rstrip("/")


def checked_key(value: object) -> str:
    """Return a key that may stand in a header; one that may not is never repeated in an error."""
    key = checked_text("api_key", value)
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("api_key must be printable ASCII without spaces, or None; is there a line end behind it?")
    return key


def checked_options(options: object, reserved: frozenset[str]) -> dict[str, Any]:
    """Return a copy of further request fields; those that the request sets itself are refused."""
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise ConfigError(f"options must map names to JSON values, got a {type(options).__name__}")
    if taken := sorted(reserved & set(options)):
        raise ConfigError(f"options must not set {', '.join(taken)}; the generator does")
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(options), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ConfigError("options must map names to JSON values") from None
    return copied
