"""StreamingKernel and AsyncStreamingKernel: two thin drivers over one decision core.

A driver reads tokens, calls the callback and the scorer, and closes what it opened. What all of it means is decided by
`core.runtime.release.TokenGate`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import time
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Protocol, Self, TypedDict, TypeVar, Unpack

from director_ai.core.identifiers import check_identifier
from director_ai.core.ranges import check_count, check_seconds
from director_ai.core.runtime.drive import AsyncCalls, SyncCalls, adrive, drive
from director_ai.core.runtime.halt_report import read_review
from director_ai.core.runtime.halting import HaltRules
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.live import AsyncLiveStream, LiveStream, TokenSource
from director_ai.core.runtime.plan import stream_plan
from director_ai.core.runtime.release import GateSettings, StreamContext, TokenGate, type_name
from director_ai.core.runtime.structured_recovery import StructuredRecoveryConfig, recovery_config
from director_ai.errors import ConfigError, UnknownOption
from director_ai.profiles import get_profile

if TYPE_CHECKING:
    from director_ai.core.runtime.plan import Plan
    from director_ai.core.runtime.session import StreamSession, TokenEvent

__all__ = ["AsyncLiveStream", "AsyncStreamingKernel", "LiveStream", "Reviewer", "StreamingKernel"]

_log = logging.getLogger(__name__)

_Calls = TypeVar("_Calls", SyncCalls, AsyncCalls)


class Reviewer(Protocol):
    """What a kernel needs of a scorer to say why it halted."""

    def review(self, prompt: str, text: str, /) -> Any:
        """Return `(approved, CoherenceScore)`, or an awaitable of it for the asynchronous kernel."""


class StreamOptions(TypedDict, total=False):
    """What a caller may say about one stream."""

    scorer: Reviewer | None
    """Asked once, at a halt, for the evidence."""
    top_k: int
    """How many pieces of evidence to keep; 3 by default."""
    prompt: str
    """Handed to the scorer."""
    tenant_id: str
    request_id: str
    structured_recovery: StructuredRecoveryConfig | str | None
    """`json`, `tool_call` or `reasoning`, or a StructuredRecoveryConfig: what to make of a halted payload."""


class _Kernel:
    """The settings of a kernel, checked at construction. A kernel holds no stream: any number may run at once."""

    _awaits = False

    def __init__(  # noqa: PLR0913, PLR0917 - the documented constructor
        self,
        hard_limit: float = 0.5,
        window_size: int = 10,
        window_threshold: float = 0.55,
        trend_window: int = 5,
        trend_threshold: float = 0.15,
        soft_limit: float | None = 0.6,
        on_halt: Callable[[StreamSession], object] | None = None,
        score_every_n: int = 1,
        adaptive: bool = False,
        streaming_debug: bool = False,
        halt_mode: Literal["hard", "soft"] = "hard",
        *,
        max_cadence: int = 8,
        token_timeout: float | None = None,
        total_timeout: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        **unknown: NoReturn,
    ) -> None:
        for name in unknown:
            raise UnknownOption(f"{type(self).__name__} option", name, _OPTIONS)
        self._settings = GateSettings(
            rules=HaltRules(
                hard_limit=hard_limit,
                window_size=window_size,
                window_threshold=window_threshold,
                trend_window=trend_window,
                trend_threshold=trend_threshold,
                soft_limit=soft_limit,
            ),
            score_every_n=score_every_n,
            adaptive=adaptive,
            max_cadence=max_cadence,
            streaming_debug=streaming_debug,
            halt_mode=halt_mode,
        )
        if on_halt is not None and not callable(on_halt):
            raise ConfigError(f"on_halt must be callable or None, got a {type(on_halt).__name__}")
        if inspect.iscoroutinefunction(on_halt) and not self._awaits:
            raise ConfigError(
                "on_halt is asynchronous, and a StreamingKernel cannot await it: use AsyncStreamingKernel"
            )
        if not callable(clock):
            raise ConfigError(f"clock must be a function that returns seconds, got a {type(clock).__name__}")
        self._on_halt = on_halt
        self._token_timeout = check_seconds("token_timeout", token_timeout)
        self._total_timeout = check_seconds("total_timeout", total_timeout)
        self._clock = clock

    @classmethod
    def for_domain(cls, name: str, **overrides: Any) -> Self:
        """Return a kernel with the limits of a domain: general, medical, finance, legal or creative."""
        rules = get_profile(name).rules
        limits: dict[str, Any] = {field: getattr(rules, field) for field in rules.__slots__}
        return cls(**limits | overrides)

    @property
    def rules(self) -> HaltRules:
        """The limits that this kernel holds a stream to."""
        return self._settings.rules

    def _open(
        self,
        callback: object,
        watched: bool,
        *,
        scorer: Reviewer | None = None,
        top_k: int = 3,
        prompt: str = "",
        tenant_id: str = "",
        request_id: str = "",
        structured_recovery: StructuredRecoveryConfig | str | None = None,
        **unknown: NoReturn,
    ) -> tuple[TokenGate, Plan, Callable[[str, str], Any]]:
        """Check what a caller gave for one stream, before any token is read; plan it, and find whom to ask."""
        for name in unknown:
            raise UnknownOption("option", name, StreamOptions.__annotations__)
        if not callable(callback):
            raise ConfigError(f"the coherence callback must be callable, got a {type(callback).__name__}")
        review = getattr(scorer, "review", None)
        if scorer is not None and not callable(review):
            raise ConfigError(f"scorer must have a method review(prompt, text), got a {type(scorer).__name__}")
        if not isinstance(prompt, str):
            raise ConfigError(f"prompt must be a string, got a {type(prompt).__name__}")
        context = StreamContext(
            tenant_id=check_identifier("tenant_id", tenant_id),
            request_id=check_identifier("request_id", request_id),
            top_k=check_count("top_k", top_k, 1),
            recovery=recovery_config(structured_recovery),
            clock=self._clock,
        )
        gate = TokenGate(self._settings, context)
        scorer_path = None if scorer is None else f"{type_name(scorer)}.review"
        plan = stream_plan(gate, prompt=prompt, scorer_path=scorer_path, watched=watched)
        return gate, plan, _reading(review, scorer_path or "")

    def _calls(self, kind: type[_Calls]) -> _Calls:
        return kind(each=self._token_timeout, total=self._total_timeout, clock=self._clock)


_OPTIONS = tuple(name for name in inspect.signature(_Kernel).parameters if name != "unknown")


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _shows_options(method: _Method) -> _Method:
    """Let `help` and editors show the options of a stream by name, with their defaults."""
    shown = inspect.signature(method)
    options = [p for p in inspect.signature(_Kernel._open).parameters.values() if p.kind is p.KEYWORD_ONLY]
    named = [p for p in shown.parameters.values() if p.kind is not p.VAR_KEYWORD]
    method.__signature__ = shown.replace(parameters=[*named, *options])  # type: ignore[attr-defined]  # read by inspect
    return method


class StreamingKernel(_Kernel):
    """Watches a token stream and halts it when coherence falls.

    `coherence_callback(token) -> float` scores; the kernel decides. With `token_timeout` or `total_timeout` the source
    and the callbacks run on a helper thread, so that one that hangs cannot hold the stream.
    """

    @_shows_options
    def stream_tokens(
        self, tokens: Iterable[str], coherence_callback: Callable[[str], float], **options: Unpack[StreamOptions]
    ) -> StreamSession:
        """Run a stream to its end or to its halt, and return the session."""
        live = self._start(tokens, coherence_callback, options, watched=False)
        deque(live, maxlen=0)
        return live.session

    @_shows_options
    def stream(
        self, tokens: Iterable[str], coherence_callback: Callable[[str], float], **options: Unpack[StreamOptions]
    ) -> LiveStream:
        """Yield each token's event as soon as it may be shown; `.session` tells the rest."""
        return self._start(tokens, coherence_callback, options, watched=True)

    def _start(
        self, tokens: Iterable[str], callback: Callable[[str], float], options: StreamOptions, *, watched: bool
    ) -> LiveStream:
        gate, plan, review = self._open(callback, watched, **options)
        if not isinstance(tokens, Iterable):
            raise ConfigError(
                f"tokens must be an iterable of strings, got a {type(tokens).__name__}; "
                "call a generator function first, and give an asynchronous stream to AsyncStreamingKernel"
            )
        source = TokenSource(tokens)
        events = self._run(gate, plan, source, callback, review)
        return LiveStream(gate.session, events, lambda: self._calls(SyncCalls).close(source.take))

    def _run(
        self,
        gate: TokenGate,
        plan: Plan,
        source: TokenSource,
        callback: Callable[[str], float],
        review: Callable[[str, str], Any],
    ) -> Generator[TokenEvent]:
        """Carry out the plan, then put everything back in its place, whichever way the stream ended."""
        gate.begin()
        calls = self._calls(SyncCalls)

        def open_source() -> None:
            source.opened = iter(source.tokens)
            actions["token"] = calls.bind("token", source.opened.__next__)

        actions = {
            "open": calls.bind("token", open_source),
            "score": calls.bind("score", callback),
            "review": calls.bind("review", review),
        }
        try:
            yield from drive(plan, actions, gate.session.released_events)
        finally:
            try:
                calls.close(source.take)
            finally:
                gate.conclude()
        if gate.halt is not None and self._on_halt is not None:
            try:
                self._on_halt(gate.session)
            except BaseException as error:  # noqa: BLE001 - a listener's failure never masks the halt
                _log_listener_failure(error)


class AsyncStreamingKernel(_Kernel):
    """The same for asynchronous streams, on asyncio and trio.

    The token source, the callback, the scorer and `on_halt` may each be synchronous or asynchronous. Without a time
    limit a synchronous callback runs in place: make one that takes long asynchronous, or set `token_timeout`.
    """

    _awaits = True

    @_shows_options
    async def stream_to_session(
        self,
        tokens: AsyncIterable[str] | Iterable[str],
        coherence_fn: Callable[[str], float | Awaitable[float]],
        **options: Unpack[StreamOptions],
    ) -> StreamSession:
        """Run a stream to its end or to its halt, and return the session."""
        async with self._start(tokens, coherence_fn, options, watched=False) as live:
            async for _ in live:
                pass
        return live.session

    @_shows_options
    def stream(
        self,
        tokens: AsyncIterable[str] | Iterable[str],
        coherence_fn: Callable[[str], float | Awaitable[float]],
        **options: Unpack[StreamOptions],
    ) -> AsyncLiveStream:
        """Yield each token's event as soon as it may be shown; `.session` tells the rest."""
        return self._start(tokens, coherence_fn, options, watched=True)

    def _start(
        self,
        tokens: AsyncIterable[str] | Iterable[str],
        callback: Callable[[str], Any],
        options: StreamOptions,
        *,
        watched: bool,
    ) -> AsyncLiveStream:
        gate, plan, review = self._open(callback, watched, **options)
        if not isinstance(tokens, AsyncIterable | Iterable):
            raise ConfigError(
                f"tokens must be a synchronous or asynchronous iterable of strings, got a {type(tokens).__name__}; "
                "call a generator function first"
            )
        source, awaits = TokenSource(tokens), isinstance(tokens, AsyncIterable)
        events = self._run(gate, plan, source, callback, review)
        calls = self._calls(AsyncCalls)
        return AsyncLiveStream(gate.session, events, lambda: calls.close(source.take, awaits=awaits))

    async def _run(
        self,
        gate: TokenGate,
        plan: Plan,
        source: TokenSource,
        callback: Callable[[str], Any],
        review: Callable[[str, str], Any],
    ) -> AsyncGenerator[TokenEvent]:
        """Carry out the plan, then put everything back in its place, whichever way the stream ended."""
        gate.begin()
        calls = self._calls(AsyncCalls)
        awaits = isinstance(source.tokens, AsyncIterable)

        def open_source() -> None:
            source.opened = iter(source.tokens)
            actions["token"] = _bind_stepwise(source.opened, calls)

        async def open_in_place() -> None:  # an asynchronous source belongs to the loop
            source.opened = source.tokens.__aiter__()
            actions["token"] = calls.bind("token", source.opened.__anext__, awaitable=True, answers=False)

        actions: dict[str, Callable[..., Awaitable[Any]]] = {
            "open": calls.bind("token", open_in_place if awaits else open_source),
            "score": calls.bind("score", callback),
            "review": calls.bind("review", review),
        }
        try:
            async with contextlib.aclosing(adrive(plan, actions, gate.session.released_events)) as events:
                async for event in events:
                    yield event
        finally:
            try:
                await calls.close(source.take, awaits=awaits)
            finally:
                gate.conclude()
        if gate.halt is not None and self._on_halt is not None:
            try:
                answer = self._on_halt(gate.session)
                if inspect.isawaitable(answer):
                    await answer
            except BaseException as error:  # noqa: BLE001 - a listener's failure never masks the halt
                _log_listener_failure(error)


_END: Final = object()


def _bind_stepwise(source: Iterator[str], calls: AsyncCalls) -> Callable[[], Awaitable[str]]:
    """Return a function that awaits the next token of a synchronous source."""
    step = calls.bind("token", functools.partial(next, source, _END), awaitable=False, answers=False)

    async def pull() -> str:
        token = await step()
        if token is _END:
            raise StopAsyncIteration
        return token  # type: ignore[no-any-return]  # the gate checks what a source yields

    return pull


def _reading(review: Callable[[str, str], Any] | None, path: str) -> Callable[[str, str], Any]:
    """A review that is read where it is asked for, so that reading it falls under its time limit, too."""
    if review is None:
        return lambda prompt, text: None  # noqa: ARG005 - a plan without a scorer never asks
    if inspect.iscoroutinefunction(review):
        return review

    def ask(prompt: str, text: str) -> Any:
        answer = review(prompt, text)
        return answer if inspect.isawaitable(answer) else read_review(answer, path=path)

    return ask


def _log_listener_failure(error: BaseException) -> None:
    if must_pass(error):
        raise error
    # The type alone: a message may repeat the text that was being guarded.
    _log.error("on_halt failed with %s; the halt stands", type(error).__name__)
