"""The plan of a checked stream: read, ask the checks, release; stage by stage, and once more where a check asks for it.

A plan asks and never acts: the drivers of `core.runtime.drive` carry it out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final, Literal

from director_ai.core.checks.rules import CheckedText, Failure
from director_ai.core.merge import Conflict, Edit, OffsetMap
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.plan import Late
from director_ai.core.runtime.release import type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from director_ai.core.checks.gate import CheckGate
    from director_ai.core.checks.rules import Stop

__all__ = ["Ask", "CheckSession", "check_plan"]

Ask = tuple[Literal["open", "token", "check", "reask", "release"], tuple[Any, ...]]
"""What is wanted, and what it takes.

    open    ()                  the token source, ready to be read
    token   ()                  the next token; StopIteration or StopAsyncIteration where there is none
    check   (stage, calls)      an `Outcome` for each (number of the rule, text), or (FOLLOWER, what it asks)
    reask   (prefix, failure)   another token source, that goes on from the prefix
    release (text,)             this may be shown
"""
Plan = Generator[Ask, Any, None]
_ASK_TOKEN: Final[Ask] = ("token", ())
_CONTEXT: Final = 512
"""Characters before a new beginning that the checks see again, unless one of them must read all of them."""


class CheckSession:
    """One stream through one or more stages: what a stage releases is what the next one reads."""

    def __init__(
        self, stages: Sequence[Callable[..., CheckGate]], most_reasks: int, *, reads_all: bool = False
    ) -> None:
        self._stages, self._most_reasks, self._reads_all = stages, most_reasks, reads_all
        self.gates = [make() for make in stages]
        self.reasks = 0
        self._before = 0  # what was shown and is not in the context of the present gates
        self._earlier: list[CheckedText] = []

    @property
    def stop(self) -> Stop | None:
        """Where the stream ended before its end, and why."""
        return next((gate.stop for gate in self.gates if gate.closed and gate.stop), None)

    @property
    def may_reask(self) -> bool:
        return self.stop is not None and self.stop.action == "reask" and self.reasks < self._most_reasks

    @property
    def prefix(self) -> str:
        """All that was released, and what was still held before the stop."""
        return "".join(part.text for part in self._earlier) + self.gates[-1].shown + self._held

    @property
    def seen(self) -> int:
        """How far into what the last stage reads everything was released; behind a new beginning, into all of it."""
        return self._before + self.gates[-1].released

    @property
    def _held(self) -> str:
        return next((gate.rest_before_stop for gate in self.gates if gate.closed and gate.stop), "")

    def fail(self, reason: str, detail: str) -> None:
        """The stream that stopped cannot go on."""
        next(gate for gate in self.gates if gate.closed and gate.stop).fail(reason, detail)

    def go_on(self) -> None:
        """Begin anew behind what was released; what was held before the stop is checked with what follows it."""
        held, stopped = self._held, next(at for at, gate in enumerate(self.gates) if gate.closed and gate.stop)
        self._earlier.append(self._present())
        self.reasks += 1
        shown = "".join(part.text for part in self._earlier)
        context = shown if self._reads_all else shown[-_CONTEXT:]
        for gate in self.gates:
            gate.leave()
        self.gates = [make(context=context, shown=len(shown)) for make in self._stages]
        self._before = len(shown) - len(context)
        self.gates[stopped].accept(held)

    def _present(self) -> CheckedText:
        """What came of the stages, with places in the text that came in."""
        results = [gate.result() for gate in self.gates]
        maps = [gate.offsets for gate in self.gates]
        base = sum(len(part.text) for part in self._earlier)
        applied: list[Edit] = []
        conflicts: list[Conflict] = []
        failures: list[Failure] = []
        for stage, result in enumerate(results):

            def place(at: int, before: Sequence[OffsetMap] = maps[:stage]) -> int:
                for offsets in reversed(before):
                    at = offsets.to_source(at)
                return at + base

            def put(edit: Edit, place: Callable[[int], int] = place) -> Edit:
                start = place(edit.start)
                return dataclasses.replace(edit, start=start, end=max(start, place(edit.end)))

            applied += map(put, result.applied)
            conflicts += [
                Conflict(lost=put(each.lost), won=put(each.won), outcome=each.outcome) for each in result.conflicts
            ]
            failures += [dataclasses.replace(f, start=place(f.start), end=place(f.end)) for f in result.failures]
        return CheckedText(
            text=results[-1].text,
            applied=tuple(applied),
            conflicts=tuple(conflicts),
            failures=tuple(failures),
            ended_by=next(filter(None, sorted((result.ended_by for result in results), key="left".__eq__)), ""),
            flags=results[0].flags,
        )

    def result(self) -> CheckedText:
        """Return what came of the whole stream."""
        parts = [*self._earlier, self._present()]
        return CheckedText(
            text="".join(part.text for part in parts),
            applied=tuple(edit for part in parts for edit in part.applied),
            conflicts=tuple(each for part in parts for each in part.conflicts),
            failures=tuple(each for part in parts for each in part.failures),
            ended_by=parts[-1].ended_by,
            reasks=self.reasks,
            flags=tuple(dict.fromkeys(flag for part in parts for flag in part.flags)),
        )


def check_plan(session: CheckSession) -> Plan:
    """Read, ask the checks and release until the source ends or a gate closes; begin anew where a check asks for it."""
    try:
        yield "open", ()
    except BaseException as error:  # noqa: BLE001 - fail closed, whatever it is
        _source_failed(session.gates[0], error)
    while True:
        yield from _until_closed(session)
        if not session.may_reask:
            return
        assert session.stop is not None  # noqa: S101 - it asked again
        prefix, failure = session.prefix, session.stop.failure
        try:
            yield "reask", (prefix, failure)
        except BaseException as error:  # noqa: BLE001 - as above
            session.fail(*_fault("continuation_error", error))
            return
        session.go_on()


def _until_closed(session: CheckSession) -> Plan:
    first = session.gates[0]
    while not first.closed:
        try:
            token = yield _ASK_TOKEN
        except (StopIteration, StopAsyncIteration):
            first.end()
        except BaseException as error:  # noqa: BLE001 - as above
            _source_failed(first, error)
        else:
            if not first.accept(token):
                continue
        if first.ready:
            yield from _through(session.gates)
            if any(gate.closed for gate in session.gates[1:]):
                return
        yield from _prepare(session.gates)


def _through(gates: Sequence[CheckGate]) -> Plan:
    """Carry what came in through all stages, as far as it may go."""
    for stage, gate in enumerate(gates):
        while calls := gate.asks():
            gate.answer((yield "check", (stage, calls)))
        text = gate.release()
        last = stage + 1 == len(gates)
        if text and last:
            yield "release", (text,)
        elif not last and not gates[stage + 1].closed:
            if text:
                gates[stage + 1].accept(text)
            if gate.failed:
                gates[stage + 1].abandon()
            elif gate.closed:
                gates[stage + 1].end()


def _prepare(gates: Sequence[CheckGate]) -> Plan:
    """Use the time until the next token: ask about text that seems to be complete."""
    for stage, gate in enumerate(gates):
        while calls := gate.ask_early():
            gate.answer((yield "check", (stage, calls)))


def _source_failed(gate: CheckGate, error: BaseException) -> None:
    gate.fail(*_fault("source_error", error))


def _fault(reason: str, error: BaseException) -> tuple[str, str]:
    """Return what a failure is called, and of what type it was; interrupts and cancellation are raised again."""
    if must_pass(error):
        raise error
    if isinstance(error, Late):
        return "timeout", f"waited_for={error.waited_for} limit_s={error.limit:g}"
    return reason, f"type={type_name(error)}"
