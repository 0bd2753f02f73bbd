"""Checks: several checks on one text or stream, their edits merged, released as soon as all of them agree."""

from __future__ import annotations

import contextlib
import functools
import inspect
import queue
import time
from collections.abc import AsyncIterable, Callable, Iterable
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import anyio

from director_ai.core.check_plan import CheckSession, check_plan
from director_ai.core.checking import MOST_HELD, CheckGate, Outcome
from director_ai.core.checks import CheckedText, Failure, Rule, check_seconds, rule_of
from director_ai.core.merge import MergePolicy
from director_ai.core.ranges import check_count
from director_ai.core.runtime.drive import AsyncCalls, HelperThread, SyncCalls, adrive, drive
from director_ai.core.runtime.live import TokenSource
from director_ai.core.runtime.plan import Late
from director_ai.errors import ConfigError, DirectorError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterator, Sequence

    from director_ai.validators.placeholders import Conversation

__all__ = ["AsyncCheckedStream", "CheckFailed", "CheckedStream", "Checks", "Piece"]

Continuation = Callable[[str, Failure], Any]
"""From the text so far and what was found to the tokens that follow it."""
MOST_REASKS: Final = 2


class CheckFailed(DirectorError):
    """A check whose rule says `exception` found something; `result` holds what was released before it."""

    def __init__(self, failure: Failure, result: CheckedText) -> None:
        super().__init__(f"the check {failure.check} found something ({failure.reason or 'no reason given'})")
        self.failure, self.result = failure, result


class Piece(NamedTuple):
    """Text that may be shown."""

    text: str


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
        self._stages = [stage for stage in (_rules(first), _rules(checks)) if stage] or [[]]
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
        return tuple(rule for stage in self._stages for rule in stage)

    # --- finished text ----------------------------------------------------------------------------------------

    def run(self, text: str, *, conversation: Conversation | None = None) -> CheckedText:
        """Check a finished text; the outcome is that of a stream of the same text."""
        return self._finished(text, conversation, self._stages)

    async def arun(self, text: str, *, conversation: Conversation | None = None) -> CheckedText:
        """Return the same where checks are asynchronous."""
        async with self._astart([_text(text)], conversation, most_held=inf) as stream:
            async for _ in stream:
                pass
        return _refrained(stream.result)

    def pipe(self, text: str, *, conversation: Conversation | None = None) -> CheckedText:
        """Run the checks one after another, each on what the one before it made of a finished text."""
        return self._finished(text, conversation, [[rule] for rule in self.rules] or [[]])

    def _finished(self, text: str, conversation: Conversation | None, stages: list[list[Rule]]) -> CheckedText:
        stream = self._start([_text(text)], conversation, stages, most_held=inf)
        for _ in stream:
            pass
        return _refrained(stream.result)

    # --- streams ----------------------------------------------------------------------------------------------

    def stream(self, tokens: Iterable[str], *, conversation: Conversation | None = None) -> CheckedStream:
        """Yield pieces with a `.text` as soon as they may be shown; `.result` tells the rest."""
        return self._start(tokens, conversation, self._stages)

    def astream(
        self, tokens: AsyncIterable[str] | Iterable[str], *, conversation: Conversation | None = None
    ) -> AsyncCheckedStream:
        """Yield the same of an asynchronous stream; tokens and checks may be either."""
        if not isinstance(tokens, AsyncIterable | Iterable):
            raise ConfigError(f"tokens must be an iterable of strings, got a {type(tokens).__name__}")
        return self._astart(tokens, conversation)

    def _astart(
        self, tokens: Any, conversation: Conversation | None, *, most_held: float = MOST_HELD
    ) -> AsyncCheckedStream:
        session = self._session(conversation, self._stages, most_held)
        source = TokenSource(tokens)
        return AsyncCheckedStream(session, self._arun(session, source, self._stages), source)

    def _start(
        self,
        tokens: Iterable[str],
        conversation: Conversation | None,
        stages: list[list[Rule]],
        *,
        most_held: float = MOST_HELD,
    ) -> CheckedStream:
        if not isinstance(tokens, Iterable):
            raise ConfigError(
                f"tokens must be an iterable of strings, got a {type(tokens).__name__}; "
                "give an asynchronous stream to astream()"
            )
        session = self._session(conversation, stages, most_held)
        source = TokenSource(tokens)
        return CheckedStream(session, self._run(session, source, stages), source)

    def _session(self, conversation: Conversation | None, stages: list[list[Rule]], most_held: float) -> CheckSession:
        label = None if conversation is None else conversation.label
        makers = [
            functools.partial(CheckGate, rules, self._policy, label=label, most_held=most_held) for rules in stages
        ]
        return CheckSession(makers, self._most_reasks)

    def _run(self, session: CheckSession, source: TokenSource, stages: list[list[Rule]]) -> Generator[Piece]:
        calls = SyncCalls(each=self._timeout, total=None, clock=time.monotonic)
        asked = [_SyncAsker(rules) for rules in stages]

        def open_source(tokens: Any) -> None:
            source.opened = iter(tokens)
            actions["token"] = calls.bind("token", source.opened.__next__)

        def reask(prefix: str, failure: Failure) -> None:
            assert self._continuation is not None  # noqa: S101 - refused at construction
            calls.close(source.take)
            source.tokens = self._continuation(prefix, failure)
            open_source(source.tokens)

        actions: dict[str, Callable[..., Any]] = {
            "open": calls.bind("token", lambda: open_source(source.tokens)),
            "check": lambda stage, wanted: asked[stage](wanted),
            "reask": reask,
        }
        try:
            yield from drive(check_plan(session), actions, _pieces)  # type: ignore[arg-type,misc]  # pieces, not tokens
        finally:
            calls.close(source.take)
            for each in asked:
                each.leave()
        _raise_if_asked(session)

    async def _arun(
        self, session: CheckSession, source: TokenSource, stages: list[list[Rule]]
    ) -> AsyncGenerator[Piece]:
        calls = AsyncCalls(each=self._timeout, total=None, clock=time.monotonic)
        asked = [_AsyncAsker(rules) for rules in stages]

        async def open_source() -> None:
            tokens = source.tokens
            if isinstance(tokens, AsyncIterable):
                source.opened = aiter(tokens)
                actions["token"] = calls.bind("token", source.opened.__anext__, awaitable=True, answers=False)
            else:
                await calls.bind("token", source.open, awaitable=False, answers=False)()
                step = calls.bind("token", functools.partial(next, source.opened, _END), awaitable=False, answers=False)
                actions["token"] = functools.partial(_pull, step)

        async def reask(prefix: str, failure: Failure) -> None:
            assert self._continuation is not None  # noqa: S101 - refused at construction
            taken = source.take()
            await calls.close(lambda: taken, awaits=isinstance(taken, AsyncIterable))
            tokens = self._continuation(prefix, failure)
            source.tokens = await tokens if inspect.isawaitable(tokens) else tokens
            await open_source()

        async def check(stage: int, wanted: list[tuple[int, str]]) -> list[Outcome]:
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


class CheckedStream:
    """The pieces of a running stream; close it, or use `with`, to stop early."""

    def __init__(self, session: CheckSession, pieces: Generator[Piece], source: TokenSource) -> None:
        self._session, self._pieces, self._source = session, pieces, source

    @property
    def result(self) -> CheckedText:
        """What came of it so far; complete once the pieces are exhausted."""
        return self._session.result()

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


class AsyncCheckedStream:
    """The pieces of a running stream; close it, or use `async with`, to stop early."""

    def __init__(self, session: CheckSession, pieces: AsyncGenerator[Piece], source: TokenSource) -> None:
        self._session, self._pieces, self._source = session, pieces, source

    @property
    def result(self) -> CheckedText:
        """What came of it so far; complete once the pieces are exhausted."""
        return self._session.result()

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


# Asking. A check without a deadline is called in place; one with a deadline on a thread of its own, side by side with
# the others, one piece of text after another.


class _SyncAsker:
    """Asks the checks of one stream's stage."""

    def __init__(self, rules: Sequence[Rule], *, awaits: bool = False) -> None:
        self._rules = rules
        self._read = _found if awaits else _found_at_once
        self._threads: dict[int, HelperThread] = {}

    def __call__(self, wanted: Sequence[tuple[int, str]]) -> list[Outcome]:
        rows = _rows(wanted, lambda number: self._rules[number].deadline is not None)
        begun = {number: self._begin(number, [wanted[place][1] for place in row]) for number, row in rows.items()}
        outcomes = {
            place: self.ask_in_place(number, text) for place, (number, text) in enumerate(wanted) if number not in rows
        }
        for number, row in rows.items():
            texts = [wanted[place][1] for place in row]
            outcomes.update(zip(row, self._collect(number, begun[number], texts), strict=True))
        return [outcomes[place] for place in range(len(wanted))]

    def ask_in_place(self, number: int, text: str) -> Outcome:
        """Ask without a time limit."""
        try:
            return True, self._read(self._rules[number], text)
        except BaseException as error:  # noqa: BLE001 - what a failure means is for the plan to say
            return False, error

    def _begin(self, number: int, texts: Iterable[str]) -> _Row:
        row = _Row(functools.partial(self._read, self._rules[number]))
        thread = self._threads.setdefault(number, HelperThread())
        for text in texts:
            thread.submit(row.ask, (text,), row.deliver)
        return row

    def _collect(self, number: int, row: _Row, texts: Sequence[str]) -> list[Outcome]:
        rule = self._rules[number]
        late: Outcome = False, Late("check", rule.deadline or 0.0)
        found: list[Outcome] = []
        while len(found) < len(texts):
            outcome = row.next(rule.deadline or 0.0)
            if outcome is not None:
                found.append(outcome)
                continue
            row.left = True
            self._threads.pop(number).leave()  # it hangs there; the next piece gets another thread
            found.append(late)
            if rule.on_error == "halt":
                found += [late] * (len(texts) - len(found))  # nothing of what follows will be released
            else:
                row = self._begin(number, texts[len(found) :])
        return found

    def leave(self) -> None:
        """Let the threads end."""
        for thread in list(self._threads.values()):
            thread.leave()


class _Row:
    """Pieces of text that a check is asked about one after another on a thread, each with its own time."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._read = read
        self._answers: queue.SimpleQueue[tuple[float, Outcome]] = queue.SimpleQueue()
        self._since = time.monotonic()
        self.left = False
        """Nobody waits for the rest of the answers."""

    def ask(self, text: str) -> Any:
        return None if self.left else self._read(text)

    def deliver(self, outcome: Outcome) -> None:
        self._answers.put((time.monotonic(), outcome))

    def next(self, limit: float) -> Outcome | None:
        """Return the next answer, or None where it did not come in time."""
        try:
            at, outcome = self._answers.get(timeout=max(0.0, self._since + limit - time.monotonic()))
        except queue.Empty:
            return None
        since, self._since = self._since, at
        return outcome if at - since <= limit else None


def _rows(wanted: Sequence[tuple[int, str]], chosen: Callable[[int], bool]) -> dict[int, list[int]]:
    """Return for each chosen rule which questions are for it."""
    rows: dict[int, list[int]] = {}
    for place, (number, _) in enumerate(wanted):
        if chosen(number):
            rows.setdefault(number, []).append(place)
    return rows


def _found(rule: Rule, text: str) -> Any:
    """What a check finds, or an awaitable of it; read where it is asked for, so that a slow generator is late too."""
    found = rule.check.find(text)
    return found if inspect.isawaitable(found) else _listed(rule, text, found)


def _found_at_once(rule: Rule, text: str) -> Any:
    found = _found(rule, text)
    if inspect.isawaitable(found):
        _dispose(found)
        raise ConfigError("an asynchronous check needs astream() or arun()")
    return found


def _listed(rule: Rule, text: str, found: Any) -> Any:
    """Return edits as a list, by way of the rule's own function; what is no answer stays what it is."""
    if isinstance(found, str | bytes | dict):
        return found
    edits = list(found)
    if not callable(rule.on_fail) or not edits:
        return edits
    chosen = rule.on_fail(text, edits)
    return chosen if isinstance(chosen, str | bytes | dict) else list(chosen)


def _dispose(found: Any) -> None:
    """Close a coroutine that nobody will await."""
    if inspect.iscoroutine(found):
        found.close()


class _AsyncAsker:
    """The same, awaiting what is asynchronous; checks that wait do so side by side."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._sync = _SyncAsker(rules, awaits=True)

    async def __call__(self, wanted: Sequence[tuple[int, str]]) -> list[Outcome]:
        outcomes: list[Outcome] = [(False, RuntimeError("not asked"))] * len(wanted)
        rows = _rows(wanted, self._needs_thread)
        for place, call in enumerate(wanted):
            if call[0] not in rows:
                outcomes[place] = self._sync.ask_in_place(*call)
        begun = {
            place: found for place, (answered, found) in enumerate(outcomes) if answered and inspect.isawaitable(found)
        }

        async def wait(place: int) -> None:
            outcomes[place] = False, RuntimeError("cancelled")  # unless an answer comes
            outcomes[place] = await self._answer(*wanted[place], begun[place])

        async def ask(row: list[int]) -> None:
            for place, outcome in zip(row, await self._on_thread([wanted[place] for place in row]), strict=True):
                outcomes[place] = outcome

        if rows or begun:
            try:
                async with anyio.create_task_group() as group:
                    for place in begun:
                        group.start_soon(wait, place)
                    for row in rows.values():
                        group.start_soon(ask, row)
            finally:
                for found in begun.values():
                    _dispose(found)
        return outcomes

    def _needs_thread(self, number: int) -> bool:
        rule = self._rules[number]
        return rule.deadline is not None and not inspect.iscoroutinefunction(rule.check.find)

    async def _on_thread(self, calls: list[tuple[int, str]]) -> list[Outcome]:
        outcomes = await anyio.to_thread.run_sync(self._sync, calls, abandon_on_cancel=True)
        return [
            await self._answer(*call, found) if answered and inspect.isawaitable(found) else (answered, found)
            for call, (answered, found) in zip(calls, outcomes, strict=True)
        ]

    async def _answer(self, number: int, text: str, found: Awaitable[Any]) -> Outcome:
        rule = self._rules[number]
        try:
            with anyio.move_on_after(rule.deadline) as scope:
                answer = _listed(rule, text, await found)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            return False, error
        # Also where a check swallowed the cancellation, or blocked the loop so that it never came.
        if scope.cancel_called or anyio.current_time() >= scope.deadline:
            return False, Late("check", rule.deadline or 0.0)
        return True, answer

    def leave(self) -> None:
        """Let the threads end."""
        self._sync.leave()


_END: Final = object()


async def _pull(step: Callable[[], Awaitable[Any]]) -> Any:
    token = await step()
    if token is _END:
        raise StopAsyncIteration
    return token


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
