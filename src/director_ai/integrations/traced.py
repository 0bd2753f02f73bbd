"""Streams that say when they end, however they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.core.repair.record import RepairResult
    from director_ai.core.repair.streams import AsyncRepairStream, RepairPiece, RepairStream

    Ended = Callable[[RepairResult, BaseException | None], None]

__all__ = ["AsyncTracedStream", "TracedStream"]


class _Once:
    """Tells of an end once."""

    def __init__(self, stream: RepairStream | AsyncRepairStream, ended: Ended) -> None:
        self._stream, self._tell = stream, ended
        self._told = False

    def __call__(self, error: BaseException | None = None) -> None:
        if not self._told:
            self._told = True
            self._tell(self._stream.result, error)


class TracedStream:
    """A running repair, as `RepairStream` is one."""

    def __init__(self, stream: RepairStream, ended: Ended) -> None:
        self._stream, self._ended = stream, _Once(stream, ended)

    @property
    def result(self) -> RepairResult:
        """What came of it so far; complete once the pieces are exhausted."""
        return self._stream.result

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RepairPiece:
        try:
            return next(self._stream)
        except StopIteration:
            self._ended()
            raise
        except BaseException as error:
            self._ended(error)
            raise

    def close(self) -> None:
        """Stop reading, and close the token source."""
        self._stream.close()
        self._ended()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class AsyncTracedStream:
    """A running repair, as `AsyncRepairStream` is one."""

    def __init__(self, stream: AsyncRepairStream, ended: Ended) -> None:
        self._stream, self._ended = stream, _Once(stream, ended)

    @property
    def result(self) -> RepairResult:
        """What came of it so far; complete once the pieces are exhausted."""
        return self._stream.result

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RepairPiece:
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            self._ended()
            raise
        except BaseException as error:
            self._ended(error)
            raise

    async def aclose(self) -> None:
        """Stop reading, and close the token source."""
        await self._stream.aclose()
        self._ended()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
