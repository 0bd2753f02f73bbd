"""Asking the checks of a stream: in place, or with a deadline on a thread of its own, side by side with the others."""

from __future__ import annotations

import functools
import inspect
import queue
import time
from typing import TYPE_CHECKING, Any

import anyio

from director_ai.core.checks.following import FOLLOWER
from director_ai.core.runtime.drive import HelperThread
from director_ai.core.runtime.plan import Late
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from director_ai.core.checks.answers import Outcome
    from director_ai.core.checks.rules import Rule

__all__ = ["AsyncAsker", "SyncAsker"]


class SyncAsker:
    """Asks the checks of one stream's stage; `perform` does what its follower asks for."""

    def __init__(
        self, rules: Sequence[Rule], perform: Callable[[Any], Outcome] | None = None, *, awaits: bool = False
    ) -> None:
        self._rules, self._perform = rules, perform
        self._read = _found if awaits else _found_at_once
        self._threads: dict[int, HelperThread] = {}

    def __call__(self, wanted: Sequence[tuple[int, Any]]) -> list[Outcome]:
        rows = _rows(wanted, lambda number: self._rules[number].deadline is not None)
        begun = {number: self._begin(number, [wanted[place][1] for place in row]) for number, row in rows.items()}
        outcomes = {
            place: self.ask_in_place(number, text) for place, (number, text) in enumerate(wanted) if number not in rows
        }  # the follower's among them
        for number, row in rows.items():
            texts = [wanted[place][1] for place in row]
            outcomes.update(zip(row, self._collect(number, begun[number], texts), strict=True))
        return [outcomes[place] for place in range(len(wanted))]

    def ask_in_place(self, number: int, text: str) -> Outcome:
        """Ask without a time limit of ours."""
        if number == FOLLOWER and self._perform is not None:
            return self._perform(text)
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


def _rows(wanted: Sequence[tuple[int, Any]], chosen: Callable[[int], bool]) -> dict[int, list[int]]:
    """Return for each chosen rule which questions are for it."""
    rows: dict[int, list[int]] = {}
    for place, (number, _) in enumerate(wanted):
        if number != FOLLOWER and chosen(number):
            rows.setdefault(number, []).append(place)
    return rows


def _found(rule: Rule, text: str) -> Any:
    """What a check finds, or an awaitable of it; read where it is asked for, so that a slow generator is late too."""
    if callable(rule.on_fail) and inspect.iscoroutinefunction(rule.on_fail):
        return _chosen(rule, text, rule.on_fail)
    found = rule.check.find(text)
    return found if _waits(found) else _listed(rule, text, found)


def _waits(found: Any) -> bool:
    """Whether something must be awaited; what checks return most is known at once."""
    return type(found) not in (list, tuple) and inspect.isawaitable(found)


async def _chosen(rule: Rule, text: str, choose: Callable[..., Awaitable[Any]]) -> Any:
    """What an asynchronous function makes of what a check finds."""
    found: Any = rule.check.find(text)
    found = await found if _waits(found) else found
    if isinstance(found, str | bytes | dict):
        return found
    return await choose(text, edits) if (edits := list(found)) else edits


def _found_at_once(rule: Rule, text: str) -> Any:
    found = _found(rule, text)
    if _waits(found):
        _dispose(found)
        raise ConfigError("an asynchronous check needs astream() or arun()")
    return found


def _listed(rule: Rule, text: str, found: Any) -> Any:
    """Return edits as a list, by way of the rule's own function; what is no answer stays what it is."""
    if isinstance(found, str | bytes | dict):
        return found
    edits = list(found)
    if not edits or not callable(rule.on_fail) or inspect.iscoroutinefunction(rule.on_fail):
        return edits
    chosen = rule.on_fail(text, edits)
    return chosen if isinstance(chosen, str | bytes | dict) else list(chosen)


def _dispose(found: Any) -> None:
    """Close a coroutine that nobody will await."""
    if inspect.iscoroutine(found):
        found.close()


class AsyncAsker:
    """The same, awaiting what is asynchronous; checks that wait do so side by side."""

    def __init__(self, rules: Sequence[Rule], perform: Callable[[Any], Awaitable[Outcome]] | None = None) -> None:
        self._rules, self._perform = rules, perform
        self._sync = SyncAsker(rules, awaits=True)

    async def __call__(self, wanted: Sequence[tuple[int, Any]]) -> list[Outcome]:
        if len(wanted) == 1 and wanted[0][0] == FOLLOWER and self._perform is not None:
            return [await self._perform(wanted[0][1])]
        return await self._side_by_side(wanted)

    async def _side_by_side(self, wanted: Sequence[tuple[int, Any]]) -> list[Outcome]:
        outcomes: list[Outcome] = [(False, RuntimeError("not asked"))] * len(wanted)
        rows = _rows(wanted, self._needs_thread)
        for place, call in enumerate(wanted):
            if call[0] not in rows and call[0] != FOLLOWER:
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

        async def follow(place: int) -> None:
            assert self._perform is not None  # noqa: S101 - only a follower asks
            outcomes[place] = await self._perform(wanted[place][1])

        own = [place for place, (number, _) in enumerate(wanted) if number == FOLLOWER]
        if rows or begun or own:
            try:
                async with anyio.create_task_group() as group:
                    for place in begun:
                        group.start_soon(wait, place)
                    for row in rows.values():
                        group.start_soon(ask, row)
                    for place in own:
                        group.start_soon(follow, place)
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
