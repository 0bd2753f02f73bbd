"""Checks: several checks on one text or stream, their edits merged, released as soon as all of them agree."""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
from collections.abc import AsyncIterable, Callable, Iterable
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Protocol

from director_ai.core.checks.asking import AsyncAsker, SyncAsker
from director_ai.core.checks.following import FOLLOWER
from director_ai.core.checks.gate import MOST_HELD, CheckGate
from director_ai.core.checks.plan import CheckSession, check_plan
from director_ai.core.checks.rules import CheckedText, Failure, Rule, rule_of
from director_ai.core.merge import MergePolicy
from director_ai.core.ranges import check_count, check_seconds
from director_ai.core.runtime.drive import CLOSING_SECONDS, AsyncCalls, SyncCalls, adrive, drive
from director_ai.core.runtime.live import TokenSource
from director_ai.core.runtime.read_ahead import AsyncReadAhead, ReadAhead
from director_ai.errors import ConfigError, DirectorError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterator, Sequence

    from director_ai.core.checks.answers import Outcome
    from director_ai.core.checks.following import Follow

__all__ = ["AsyncCheckedStream", "CheckFailed", "CheckedStream", "Checks", "Continuation", "Following", "Piece"]

MOST_REASKS: Final = 2


class CheckFailed(DirectorError):
    """A check whose rule says `exception` found something; `result` holds what was released before it."""

    def __init__(self, failure: Failure, result: CheckedText) -> None:
        super().__init__(f"the check {failure.check} found something ({failure.reason or 'no reason given'})")
        self.failure, self.result = failure, result


class Continuation(Protocol):
    """Whatever goes on with an answer; an asynchronous stream prefers its method `acall`, where it has one."""

    def __call__(self, prefix: str, failure: Failure, /) -> Any:
        """Return the tokens that follow the text so far, in which what was found is corrected or left out."""
        ...


class Piece(NamedTuple):
    """Text that may be shown."""

    text: str


class Following(NamedTuple):
    """A check that follows one stream beside the others, and what carries out what it asks for."""

    follow: Follow
    perform: Callable[[Any], Outcome]
    aperform: Callable[[Any], Awaitable[Outcome]]
    slow: frozenset[str] = frozenset()
    """Kinds of questions during which the stream is read on."""
    read_ahead: int = 256
    """Tokens."""
    continuation: Continuation | None = None
    is_json: bool = False
    """Checks read what its strings say, and their edits leave it JSON."""


class Conversation(Protocol):
    """Numbers the placeholders of a conversation."""

    def label(self, kind: str, text: str, /) -> str:
        """Return the placeholder of a text that was removed."""
        ...


class Checks:
    """Runs any number of checks on any number of texts and streams at once; it keeps nothing between them.

    Args:
        checks: Checks, or `Rule`s that say what follows from what they find.
        first: Checks that the others see the outcome of, such as `Disguise`.
        priority: Names of checks; where two rewrites overlap, the one named first wins.
        continuation: For `on_fail="reask"`: (text so far, failure) -> the tokens that follow it.
        most_reasks: How often one stream may be asked again; after that it halts.
        token_timeout: Seconds to wait for a token.
    """

    def __init__(
        self,
        checks: Iterable[Any],
        *,
        first: Iterable[Any] = (),
        priority: Sequence[str] = (),
        continuation: Continuation | None = None,
        most_reasks: int = MOST_REASKS,
        token_timeout: float | None = None,
        **unknown: NoReturn,
    ) -> None:
        for name in unknown:
            raise UnknownOption("Checks option", name, _OPTIONS)
        if isinstance(priority, str):
            raise ConfigError("priority must be a list of names of checks, got one text")
        self._policy = MergePolicy(priority=tuple(priority))
        self._first, self._rules = _rules(first), _rules(checks)
        if continuation is not None and not callable(continuation):
            raise ConfigError(f"continuation must be callable or None, got a {type(continuation).__name__}")
        if continuation is None and any(rule.on_fail == "reask" for rule in self.rules):
            raise ConfigError("on_fail='reask' needs a continuation: a function (text so far, failure) -> tokens")
        self._continuation = continuation
        self._most_reasks = check_count("most_reasks", most_reasks, 0, 100)
        self._timeout = check_seconds("token_timeout", token_timeout)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All of them, in the order in which they were given."""
        return (*self._first, *self._rules)

    def _stages(self, following: Following | None) -> list[list[Rule]]:
        """What a stream goes through; a follower belongs to the last of them."""
        if following is not None:
            return [self._first, self._rules] if self._first else [self._rules]
        return [stage for stage in (self._first, self._rules) if stage] or [[]]

    # --- finished text ----------------------------------------------------------------------------------------

    def run(
        self, text: str, *, conversation: Conversation | None = None, following: Following | None = None
    ) -> CheckedText:
        """Check a finished text; the outcome is that of a stream of the same text."""
        return self._finished(text, conversation, self._stages(following), following)

    async def arun(
        self, text: str, *, conversation: Conversation | None = None, following: Following | None = None
    ) -> CheckedText:
        """Return the same where checks are asynchronous."""
        async with self._astart([_text(text)], conversation, following, most_held=inf) as stream:
            async for _ in stream:
                pass
        return _refrained(stream.result)

    def pipe(self, text: str, *, conversation: Conversation | None = None) -> CheckedText:
        """Run the checks one after another, each on what the one before it made of a finished text."""
        return self._finished(text, conversation, [[rule] for rule in self.rules] or [[]])

    def _finished(
        self,
        text: str,
        conversation: Conversation | None,
        stages: list[list[Rule]],
        following: Following | None = None,
    ) -> CheckedText:
        stream = self._start([_text(text)], conversation, stages, following, most_held=inf)
        for _ in stream:
            pass
        return _refrained(stream.result)

    # --- streams ----------------------------------------------------------------------------------------------

    def stream(
        self,
        tokens: Iterable[str],
        *,
        conversation: Conversation | None = None,
        following: Following | None = None,
    ) -> CheckedStream:
        """Yield pieces with a `.text` as soon as they may be shown; `.result` tells the rest."""
        return self._start(tokens, conversation, self._stages(following), following)

    def astream(
        self,
        tokens: AsyncIterable[str] | Iterable[str],
        *,
        conversation: Conversation | None = None,
        following: Following | None = None,
    ) -> AsyncCheckedStream:
        """Yield the same of an asynchronous stream; tokens and checks may be either."""
        if not isinstance(tokens, AsyncIterable | Iterable):
            raise ConfigError(f"tokens must be an iterable of strings, got a {type(tokens).__name__}")
        return self._astart(tokens, conversation, following)

    def _astart(
        self,
        tokens: Any,
        conversation: Conversation | None,
        following: Following | None,
        *,
        most_held: float = MOST_HELD,
    ) -> AsyncCheckedStream:
        stages = self._stages(following)
        session = self._session(conversation, stages, most_held, following)
        source = TokenSource(tokens)
        return AsyncCheckedStream(session, self._arun(session, source, stages, following), source)

    def _start(
        self,
        tokens: Iterable[str],
        conversation: Conversation | None,
        stages: list[list[Rule]],
        following: Following | None = None,
        *,
        most_held: float = MOST_HELD,
    ) -> CheckedStream:
        if not isinstance(tokens, Iterable):
            raise ConfigError(
                f"tokens must be an iterable of strings, got a {type(tokens).__name__}; "
                "give an asynchronous stream to astream()"
            )
        session = self._session(conversation, stages, most_held, following)
        source = TokenSource(tokens)
        return CheckedStream(session, self._run(session, source, stages, following), source)

    def _session(
        self,
        conversation: Conversation | None,
        stages: list[list[Rule]],
        most_held: float,
        following: Following | None,
    ) -> CheckSession:
        label = None if conversation is None else getattr(conversation, "label", conversation)
        if label is not None and not callable(label):
            raise ConfigError(f"conversation must be a Conversation, got a {type(conversation).__name__}")
        is_json = following is not None and following.is_json
        makers = [
            functools.partial(CheckGate, rules, self._policy, label=label, most_held=most_held, is_json=is_json)
            for rules in stages
        ]
        if following is not None:
            makers[-1] = functools.partial(makers[-1], follow=following.follow)
        return CheckSession(makers, self._most_reasks, reads_all=is_json)  # what resumes JSON must be read behind all

    def _run(
        self, session: CheckSession, source: TokenSource, stages: list[list[Rule]], following: Following | None
    ) -> Generator[Piece]:
        calls = SyncCalls(each=self._timeout, total=None, clock=time.monotonic)
        asked = [SyncAsker(rules, following.perform if following else None) for rules in stages]
        ahead: ReadAhead | None = None

        def open_source(tokens: Any) -> None:
            nonlocal ahead
            source.opened = iter(tokens)
            actions["token"] = calls.bind("token", source.opened.__next__)
            if following is not None and following.slow:
                actions["token"] = ahead = ReadAhead(actions["token"], following.read_ahead)

        def close() -> None:
            if ahead is not None:
                ahead.settle(CLOSING_SECONDS)
            calls.close(source.take)

        def reask(prefix: str, failure: Failure) -> None:
            close()
            source.tokens = calls.bind("continuation", self._continue(following))(prefix, failure)
            actions["open"]()

        def check(stage: int, wanted: list[tuple[int, Any]]) -> list[Outcome]:
            if ahead is not None and following is not None and _is_slow(wanted, following):
                with ahead.meanwhile():
                    return asked[stage](wanted)
            return asked[stage](wanted)

        actions: dict[str, Callable[..., Any]] = {
            "open": calls.bind("token", lambda: open_source(source.tokens)),
            "check": check,
            "reask": reask,
        }
        try:
            yield from drive(check_plan(session), actions, _pieces)  # type: ignore[arg-type,misc]  # pieces, not tokens
        finally:
            close()
            for each in asked:
                each.leave()
        _raise_if_asked(session)

    def _continue(self, following: Following | None) -> Continuation:
        chosen = (following.continuation if following else None) or self._continuation
        assert chosen is not None  # noqa: S101 - who asks again without one is refused at construction
        return chosen

    async def _arun(
        self, session: CheckSession, source: TokenSource, stages: list[list[Rule]], following: Following | None
    ) -> AsyncGenerator[Piece]:
        calls = AsyncCalls(each=self._timeout, total=None, clock=time.monotonic)
        asked = [AsyncAsker(rules, following.aperform if following else None) for rules in stages]
        ahead: AsyncReadAhead | None = None

        async def open_source() -> None:
            nonlocal ahead
            tokens = source.tokens
            if isinstance(tokens, AsyncIterable):
                source.opened = aiter(tokens)
                actions["token"] = calls.bind("token", source.opened.__anext__, awaitable=True, answers=False)
            else:
                await calls.bind("token", source.open, awaitable=False, answers=False)()
                step = calls.bind("token", functools.partial(next, source.opened, _END), awaitable=False, answers=False)
                actions["token"] = functools.partial(_pull, step)
            if following is not None and following.slow:
                actions["token"] = ahead = AsyncReadAhead(actions["token"], following.read_ahead)

        async def reask(prefix: str, failure: Failure) -> None:
            taken = source.take()
            await calls.close(lambda: taken, awaits=isinstance(taken, AsyncIterable))
            go_on = self._continue(following)
            source.tokens = await calls.bind("continuation", getattr(go_on, "acall", go_on))(prefix, failure)
            await open_source()

        async def check(stage: int, wanted: list[tuple[int, Any]]) -> list[Outcome]:
            if ahead is not None and following is not None and _is_slow(wanted, following):
                async with ahead.meanwhile():
                    return await asked[stage](wanted)
            return await asked[stage](wanted)

        actions: dict[str, Callable[..., Awaitable[Any]]] = {"open": open_source, "check": check, "reask": reask}
        try:
            async with contextlib.aclosing(adrive(check_plan(session), actions, _pieces)) as pieces:  # type: ignore[arg-type]
                async for piece in pieces:
                    yield piece  # type: ignore[misc]  # pieces, not tokens
        finally:
            taken = source.take()
            await calls.close(lambda: taken, awaits=isinstance(taken, AsyncIterable))
            for each in asked:
                each.leave()
        _raise_if_asked(session)


class _Running:
    """What can be told of a stream on its way."""

    _session: CheckSession

    @property
    def result(self) -> CheckedText:
        """What came of it so far; complete once the pieces are exhausted."""
        return self._session.result()

    @property
    def seen(self) -> int:
        """How far into the text everything was released."""
        return self._session.seen


class CheckedStream(_Running):
    """The pieces of a running stream; close it, or use `with`, to stop early."""

    def __init__(self, session: CheckSession, pieces: Generator[Piece], source: TokenSource) -> None:
        self._session, self._pieces, self._source = session, pieces, source

    def __iter__(self) -> Iterator[Piece]:
        return self._pieces

    def __next__(self) -> Piece:
        return next(self._pieces)

    def close(self) -> None:
        """Stop reading, and close the token source."""
        self._pieces.close()
        SyncCalls(each=None, total=None, clock=time.monotonic).close(self._source.take)

    def __enter__(self) -> CheckedStream:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class AsyncCheckedStream(_Running):
    """The pieces of a running stream; close it, or use `async with`, to stop early."""

    def __init__(self, session: CheckSession, pieces: AsyncGenerator[Piece], source: TokenSource) -> None:
        self._session, self._pieces, self._source = session, pieces, source

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self._pieces

    async def __anext__(self) -> Piece:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        """Stop reading, and close the token source."""
        await self._pieces.aclose()
        taken = self._source.take()
        closing = AsyncCalls(each=None, total=None, clock=time.monotonic)
        await closing.close(lambda: taken, awaits=isinstance(taken, AsyncIterable))

    async def __aenter__(self) -> AsyncCheckedStream:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()


_END: Final = object()


async def _pull(step: Callable[[], Awaitable[Any]]) -> Any:
    token = await step()
    if token is _END:
        raise StopAsyncIteration
    return token


def _is_slow(wanted: Sequence[tuple[int, Any]], following: Following) -> bool:
    return any(number == FOLLOWER and ask[0] in following.slow for number, ask in wanted)


def _pieces(text: str) -> Iterable[Piece]:
    return (Piece(text),)


def _raise_if_asked(session: CheckSession) -> None:
    if session.stop is not None and session.stop.action == "exception":
        raise CheckFailed(session.stop.failure, session.result())


def _refrained(result: CheckedText) -> CheckedText:
    """Of a finished text nothing is shown where a check refrains; in a stream, what was shown stays."""
    if result.ended_by != "refrain":
        return result
    return CheckedText(text="", failures=result.failures, ended_by="refrain", reasks=result.reasks, flags=result.flags)


def _rules(checks: Iterable[Any]) -> list[Rule]:
    if isinstance(checks, str) or not isinstance(checks, Iterable):
        raise ConfigError(f"checks must be a list of checks, got a {type(checks).__name__}")
    rules = [rule_of(check) for check in checks]
    names = [rule.check.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two checks are named {name!r}; give one of them another name")
    return rules


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise ConfigError(f"text must be a string, got a {type(text).__name__}")
    return text


_OPTIONS: Final = tuple(name for name in inspect.signature(Checks).parameters if name != "unknown")
