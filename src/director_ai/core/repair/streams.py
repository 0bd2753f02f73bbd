"""A running repair in a reader's hands: what comes out of it may be shown, and leaving it closes its source."""

from __future__ import annotations

import dataclasses
import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from director_ai.core.repair.record import NAME, ClauseAction, RepairResult
from director_ai.core.runtime.interrupts import must_pass

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator

    from director_ai.core.checks.runner import AsyncCheckedStream, CheckedStream
    from director_ai.core.repair.performing import AsyncPerformer, SyncPerformer
    from director_ai.core.repair.record import RepairRecord

__all__ = ["AsyncRepairStream", "RepairPiece", "RepairStream"]


_log: Final = logging.getLogger(__name__)


class RepairPiece(NamedTuple):
    """Text that may be shown, and what became of the clauses that it completes."""

    text: str
    actions: tuple[ClauseAction, ...] = ()


class _Told:
    """What a stream has released so far, told of once."""

    def __init__(
        self,
        pieces: CheckedStream | AsyncCheckedStream,
        record: RepairRecord,
        on_action: Callable[[ClauseAction], None] | None,
    ) -> None:
        self._pieces, self._record, self._on_action = pieces, record, on_action
        self._told = 0

    def piece(self, text: str) -> RepairPiece:
        """Return a piece with the actions that it completes."""
        now, until = self._record.clock(), self._pieces.seen
        actions = self._record.actions
        fresh = range(self._told, max(self._told, self._record.released(until)))
        for place in fresh:
            held = now - self._record.arrived[place]
            actions[place] = dataclasses.replace(actions[place], held_seconds=held)
        self._told = fresh.stop
        told = tuple(actions[fresh.start : fresh.stop])
        for action in told:
            self._tell(action)
        return RepairPiece(text, told)

    def _tell(self, action: ClauseAction) -> None:
        """Tell a listener; one that fails must not take from the reader what was released."""
        try:
            if self._on_action is not None:
                self._on_action(action)
        except BaseException as error:
            if must_pass(error):
                raise
            # The type alone: a message may repeat the text.
            _log.error("on_action failed with %s; the stream goes on", type(error).__name__)

    @property
    def result(self) -> RepairResult:
        """What came of it so far."""
        checked, until = self._pieces.result, self._pieces.seen
        released = self._record.released(until)
        events = [event for event in self._record.events[:released] if event]
        is_ruin = any(failure.check == NAME and failure.action == "halt" for failure in checked.failures)
        halted = self._record.halt_event if is_ruin else None
        return RepairResult(
            repaired_text=checked.text,
            actions=tuple(self._record.actions[:released]),
            events=tuple(events) + ((halted,) if halted else ()),
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
        on_action: Callable[[ClauseAction], None] | None,
    ) -> None:
        self._pieces, self._performer = pieces, performer
        self._told = _Told(pieces, record, on_action)
        self._open = self._run()

    def _run(self) -> Generator[RepairPiece]:
        try:
            for piece in self._pieces:
                yield self._told.piece(piece.text)
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
        on_action: Callable[[ClauseAction], None] | None,
    ) -> None:
        self._pieces, self._performer = pieces, performer
        self._told = _Told(pieces, record, on_action)
        self._open = self._run()

    async def _run(self) -> AsyncGenerator[RepairPiece]:
        try:
            async for piece in self._pieces:
                yield self._told.piece(piece.text)
            self._told.piece("")  # as above
        finally:
            self._performer.leave()

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
