"""A running repair in a reader's hands: what comes out of it may be shown, and leaving it closes its source."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.repair.record import ClauseAction, RepairResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from director_ai.core.checks.runner import AsyncCheckedStream, CheckedStream
    from director_ai.core.repair.follower import RepairRecord
    from director_ai.core.repair.performing import AsyncPerformer, SyncPerformer

__all__ = ["AsyncRepairStream", "RepairPiece", "RepairStream"]


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
        first = self._told
        actions = self._record.actions
        while self._told < len(actions) and actions[self._told].end <= until:
            held = now - self._record.arrived[self._told]
            actions[self._told] = dataclasses.replace(actions[self._told], held_seconds=held)
            self._told += 1
        told = tuple(actions[first : self._told])
        for action in told if self._on_action else ():
            self._on_action(action)  # type: ignore[misc]  # not None, by the line above
        return RepairPiece(text, told)

    @property
    def result(self) -> RepairResult:
        """What came of it so far."""
        checked, until = self._pieces.result, self._pieces.seen
        released = [place for place, action in enumerate(self._record.actions) if action.end <= until]
        events = [event for place in released if (event := self._record.events[place])]
        halted = self._record.halt_event if checked.ended_by == "halt" else None
        return RepairResult(
            repaired_text=checked.text,
            actions=tuple(self._record.actions[place] for place in released),
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

    def _run(self) -> Iterator[RepairPiece]:
        try:
            for piece in self._pieces:
                yield self._told.piece(piece.text)
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

    async def _run(self) -> AsyncIterator[RepairPiece]:
        try:
            async for piece in self._pieces:
                yield self._told.piece(piece.text)
        finally:
            await self._performer.leave()

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
        await self._pieces.aclose()
        await self._performer.leave()

    async def __aenter__(self) -> AsyncRepairStream:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
