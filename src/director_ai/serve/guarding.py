"""What the guard does to one exchange, and what a client may learn of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from director_ai.core.identifiers import ref_of
from director_ai.serve.wire.items import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from director_ai.core.repair.record import ClauseAction, RepairResult
    from director_ai.core.repair.streams import AsyncRepairStream, RepairPiece
    from director_ai.core.streaming_repair import Shape
    from director_ai.guard import ProductionGuard
    from director_ai.serve.wire.items import Say

__all__ = ["Guarding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarding:
    """One exchange of one tenant, guarded."""

    guard: ProductionGuard
    prompt: str
    tenant_id: str
    request_id: str
    mode: str = "repair"
    shows_evidence: bool = False
    """Whether the key of the client allows the text of evidence."""

    def stream(self, first: Say, tokens: AsyncIterator[str]) -> AsyncRepairStream:
        """Return the guarded stream of a channel."""
        return self.guard.astream(self.prompt, tokens, **self._options(first.shape))

    async def whole(self, say: Say) -> Outcome:
        """Return what came of a text that is there as a whole."""
        async with self.guard.astream(self.prompt, [say.text], **self._options(say.shape)) as stream:
            async for _ in stream:
                pass
        return Outcome(text=stream.result.repaired_text, result=stream.result)

    def _options(self, shape: Shape) -> dict[str, Any]:
        return {"tenant_id": self.tenant_id, "request_id": self.request_id, "shape": shape, "mode": self.mode}

    def describe(self, piece: RepairPiece) -> Mapping[str, Any] | None:
        """Return what was done to the clauses that a piece completes; None where nothing was."""
        changed = [self.told(action) for action in piece.actions if action.changed]
        return {"actions": changed} if changed else None

    def told(self, action: ClauseAction) -> dict[str, Any]:
        """Return what a client may learn of an action; the text of evidence only if its key allows it."""
        made: dict[str, Any] = {
            "action": action.action,
            "reason": action.reason,
            "span": [action.start, action.end],
            "support": None if action.support is None else round(action.support, 4),
            "evidence_ids": list(action.evidence_ids),
        }
        if self.shows_evidence:
            made["evidence"] = [chunk.text for chunk in action.evidence]
        return made

    def describe_halt(self, result: RepairResult | None, reason: str) -> Mapping[str, Any]:
        """Return why a channel was halted."""
        evidence = result.halt_evidence if result is not None else None
        chunks = evidence.evidence_chunks if evidence is not None else []
        return {
            "halted": True,
            "reason": reason.split(" ", 1)[0],
            "evidence_ids": list(dict.fromkeys(ref_of(chunk.source, chunk.text) for chunk in chunks)),
            "request_id": self.request_id,
        }
