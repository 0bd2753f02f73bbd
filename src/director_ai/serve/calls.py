"""Tool calls: nothing of one leaves before the hooks have seen it as it would be made."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio.to_thread

from director_ai.core.checks.rules import Failure
from director_ai.hooks.protocol import ProposedAction

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from director_ai.core.repair.record import RepairResult
    from director_ai.core.repair.streams import AsyncRepairStream, RepairPiece
    from director_ai.serve.wire.items import Say

__all__ = ["GuardedCall", "GuardedStream", "action_of", "refused"]

GuardedStream: TypeAlias = "AsyncRepairStream | GuardedCall"
UNNAMED = "unnamed"
UNREADABLE = "action_unreadable"
REFUSED = "hook_refused"


def action_of(call: Say, text: str) -> ProposedAction | None:
    """Return the call that a client would make with some arguments; None where they cannot be read."""
    tool, shape = call.tool, call.shape
    if call.arguments is not None:
        return ProposedAction(name=tool or UNNAMED, arguments=call.arguments)
    if shape == "text":
        return ProposedAction(name=tool or UNNAMED, arguments={"input": text})
    try:
        said: Any = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return ProposedAction(name=tool or UNNAMED, arguments=said if isinstance(said, dict) else {"values": said})


def refused(result: RepairResult, reason: str) -> RepairResult:
    """Return what came of a call that may not be made: nothing of it was shown."""
    why = Failure(check="hooks", action="halt", reason=reason, start=0, end=0)
    checked = dataclasses.replace(result.checked, text="", ended_by=reason, failures=(*result.checked.failures, why))
    return dataclasses.replace(result, repaired_text="", actions=(), checked=checked)


class GuardedCall:
    """The guarded arguments of a call, held until the call as a whole was examined.

    Args:
        stream: The arguments as the guard lets them go.
        examine: Arguments as text -> why the call may not be made; empty where it may.
    """

    def __init__(self, stream: AsyncRepairStream, examine: Callable[[str], str]) -> None:
        self._stream, self._examine = stream, examine
        self._refused = ""
        self._open = self._run()

    async def _run(self) -> AsyncGenerator[RepairPiece]:
        held = [piece async for piece in self._stream]
        if not self._stream.result.halted:
            self._refused = await anyio.to_thread.run_sync(self._examine, "".join(piece.text for piece in held))
        if not self._refused:
            for piece in held:
                yield piece

    @property
    def result(self) -> RepairResult:
        """What came of it: of a call that was refused nothing was shown."""
        result = self._stream.result
        return refused(result, self._refused) if self._refused else result

    def __aiter__(self) -> AsyncIterator[RepairPiece]:
        return self._open

    async def __anext__(self) -> RepairPiece:
        return await anext(self._open)

    async def aclose(self) -> None:
        """Stop reading, and close the source."""
        await self._open.aclose()
        await self._stream.aclose()

    async def __aenter__(self) -> GuardedCall:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
