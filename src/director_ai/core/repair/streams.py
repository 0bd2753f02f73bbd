"""A running repair in a reader's hands: what comes out of it may be shown, and leaving it closes its source."""

from __future__ import annotations

import dataclasses
import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio.to_thread

from director_ai.core.checks.rules import Failure
from director_ai.core.repair.record import NAME, ClauseAction, RepairResult
from director_ai.core.runtime.interrupts import must_pass

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence

    from director_ai.core.checks.runner import AsyncCheckedStream, CheckedStream
    from director_ai.core.repair.performing import AsyncPerformer, SyncPerformer
    from director_ai.core.repair.record import RepairRecord
    from director_ai.core.safety_event import SafetyEvent

__all__ = ["AsyncRepairStream", "Listeners", "RepairPiece", "RepairStream"]


_log: Final = logging.getLogger(__name__)


class RepairPiece(NamedTuple):
    """Text that may be shown, and what became of the clauses that it completes."""

    text: str
    actions: tuple[ClauseAction, ...] = ()
    end: int = 0
    """How far in the model's text everything was released with this piece."""


class Listeners(NamedTuple):
    """Who hears of a stream while it runs."""

    on_action: Callable[[ClauseAction], None] | None = None
    """Told what became of each clause; if it fails, the stream goes on."""
    record: Callable[[SafetyEvent], Any] | None = None
    """Keeps each event before what it is about is shown; if it fails, that is not shown, and the stream ends."""
    noted: Sequence[SafetyEvent] = ()
    """Events of others about this stream, which its result tells too."""


class _Told:
    """What a stream has released so far, told of once."""

    def __init__(self, pieces: CheckedStream | AsyncCheckedStream, record: RepairRecord, listeners: Listeners) -> None:
        self._pieces, self._record, self._listeners = pieces, record, listeners
        self._told = 0
        self._shown: list[str] = []
        self._unrecorded = ""
        """Why an event could not be kept."""

    @property
    def records(self) -> bool:
        """Whether events are kept."""
        return self._listeners.record is not None

    def events_due(self, *, at_end: bool = False) -> list[SafetyEvent]:
        """Return the events of what is about to be shown, which must be kept before it is."""
        if not self.records:
            return []
        fresh = self._fresh()
        due = [event for event in self._record.events[fresh.start : fresh.stop] if event is not None]
        if at_end and self._record.halt_event is not None and self._ends_in_ruin:
            due.append(self._record.halt_event)
        return due

    def keep(self, events: Sequence[SafetyEvent]) -> bool:
        """Keep events; whether that worked, and so whether what they are about may be shown."""
        try:
            for event in events:
                self._listeners.record(event)  # type: ignore[misc]  # nothing is due where it is None
        except BaseException as error:
            if must_pass(error):
                raise
            self._unrecorded = type(error).__name__
            _log.error("an event could not be recorded (%s); the stream ends before it", self._unrecorded)
        return not self._unrecorded

    def piece(self, text: str) -> RepairPiece:
        """Return a piece with the actions that it completes."""
        now, actions, fresh = self._record.clock(), self._record.actions, self._fresh()
        for place in fresh:
            held = now - self._record.arrived[place]
            actions[place] = dataclasses.replace(actions[place], held_seconds=held)
        self._told = fresh.stop
        told = tuple(actions[fresh.start : fresh.stop])
        for action in told:
            self._tell(action)
        if self.records:
            self._shown.append(text)
        return RepairPiece(text, told, self._pieces.seen)

    def _fresh(self) -> range:
        return range(self._told, max(self._told, self._record.released(self._pieces.seen)))

    @property
    def _ends_in_ruin(self) -> bool:
        failures = self._pieces.result.failures
        return any(failure.check == NAME and failure.action == "halt" for failure in failures)

    def _tell(self, action: ClauseAction) -> None:
        """Tell a listener; one that fails must not take from the reader what was released."""
        try:
            if self._listeners.on_action is not None:
                self._listeners.on_action(action)
        except BaseException as error:
            if must_pass(error):
                raise
            # The type alone: a message may repeat the text.
            _log.error("on_action failed with %s; the stream goes on", type(error).__name__)

    @property
    def result(self) -> RepairResult:
        """What came of it so far."""
        checked, released = self._pieces.result, self._record.released(self._pieces.seen)
        halted = self._record.halt_event if self._ends_in_ruin else None
        if self._unrecorded:
            lost = Failure(
                check="audit", action="halt", reason="record_failed", start=self._pieces.seen, end=self._pieces.seen,
                is_error=True, detail=self._unrecorded,
            )  # fmt: skip
            failures = (*checked.failures, lost)
            checked = dataclasses.replace(
                checked, text="".join(self._shown), ended_by="record_failed", failures=failures
            )
            released, halted = self._told, None
        events = [event for event in self._record.events[:released] if event]
        return RepairResult(
            repaired_text=checked.text,
            actions=tuple(self._record.actions[:released]),
            events=(*events, *((halted,) if halted else ()), *self._listeners.noted),
            checked=checked,
            halt_evidence=self._record.halt_evidence if halted else None,
        )


class RepairStream:
    """The pieces of a running repair; close it, or use `with`, to stop early."""

    def __init__(
        self,
        pieces: CheckedStream,
        record: RepairRecord,
        performer: SyncPerformer,
        listeners: Listeners,
    ) -> None:
        self._pieces, self._performer = pieces, performer
        self._told = _Told(pieces, record, listeners)
        self._open = self._run()

    def _run(self) -> Generator[RepairPiece]:
        try:
            for piece in self._pieces:
                if not self._told.keep(self._told.events_due()):
                    self._pieces.close()
                    return
                yield self._told.piece(piece.text)
            if self._told.keep(self._told.events_due(at_end=True)):
                self._told.piece("")  # of clauses that left nothing to show, because other checks removed them
        finally:
            self._performer.leave()

    @property
    def result(self) -> RepairResult:
        """What came of it so far; complete once the pieces are exhausted."""
        return self._told.result

    def __iter__(self) -> Iterator[RepairPiece]:
        return self._open

    def __next__(self) -> RepairPiece:
        return next(self._open)

    def close(self) -> None:
        """Stop reading, and close the token source."""
        self._open.close()
        self._pieces.close()
        self._performer.leave()

    def __enter__(self) -> RepairStream:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class AsyncRepairStream:
    """The pieces of a running repair; close it, or use `async with`, to stop early."""

    def __init__(
        self,
        pieces: AsyncCheckedStream,
        record: RepairRecord,
        performer: AsyncPerformer,
        listeners: Listeners,
    ) -> None:
        self._pieces, self._performer = pieces, performer
        self._told = _Told(pieces, record, listeners)
        self._open = self._run()

    async def _run(self) -> AsyncGenerator[RepairPiece]:
        try:
            async for piece in self._pieces:
                if not await self._keep_events():
                    await self._pieces.aclose()
                    return
                yield self._told.piece(piece.text)
            if await self._keep_events(at_end=True):
                self._told.piece("")  # as above
        finally:
            self._performer.leave()

    async def _keep_events(self, *, at_end: bool = False) -> bool:
        """Keep what is due in a thread: a disk must not hold up the other streams of the loop."""
        due = self._told.events_due(at_end=at_end)
        return not due or await anyio.to_thread.run_sync(self._told.keep, due)

    @property
    def result(self) -> RepairResult:
        """What came of it so far; complete once the pieces are exhausted."""
        return self._told.result

    def __aiter__(self) -> AsyncIterator[RepairPiece]:
        return self._open

    async def __anext__(self) -> RepairPiece:
        return await anext(self._open)

    async def aclose(self) -> None:
        """Stop reading, and close the token source."""
        await self._open.aclose()
        await self._pieces.aclose()
        self._performer.leave()

    async def __aenter__(self) -> AsyncRepairStream:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
