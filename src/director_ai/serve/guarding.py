"""What the guard does to one exchange, and what a client may learn of it."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio.to_thread

from director_ai.core.identifiers import ref_of
from director_ai.core.safety_event import SafetyEvent
from director_ai.serve.calls import REFUSED, UNREADABLE, GuardedCall, action_of, refused
from director_ai.serve.optimism import Optimism
from director_ai.serve.wire.items import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable, Mapping

    from director_ai.core.repair.record import ClauseAction, RepairResult
    from director_ai.core.repair.streams import RepairPiece
    from director_ai.guard import ProductionGuard
    from director_ai.serve.calls import GuardedStream
    from director_ai.serve.wire.items import Say, Wire

__all__ = ["AGENTS", "Guarding"]

Tokens: TypeAlias = "AsyncIterable[str] | Iterable[str]"

AGENTS: Final = ("passport", "sender", "receiver")
"""What a client may say of who is speaking to whom, for hooks."""
HOOK: Final = "serve.optimism"
LONG: Final = 2_000
"""Characters beyond which a whole text is judged in a thread: 100 KB take seconds, which the event loop has not."""
_LONG_ANSWERS: Final = anyio.CapacityLimiter(4)
"""Threads that judge take turns of 5 ms with the event loop, so there must be few of them."""
_log: Final = logging.getLogger(__name__)


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
    allows_optimism: bool = False
    """Whether text may be shown before it is judged, where a client asks for it."""
    record: Callable[[SafetyEvent], Any] | None = None
    """Keeps that this was done, before it is."""
    lagged: Callable[[float], None] | None = None
    """Told how long text waited for the guard."""
    exchange_id: str = field(default_factory=lambda: f"exchange-{os.urandom(12).hex()}")
    """For hooks: no client can choose it, other than the id of its request."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """Who is speaking to whom, as the client says: `passport`, `sender` and `receiver`, for hooks."""

    def stream(self, first: Say, tokens: Tokens) -> GuardedStream:
        """Return the guarded stream of a channel."""
        made = self.guard.astream(self.prompt, tokens, **self._about(), shape=first.shape, mode=self.mode)  # type: ignore[arg-type]
        return GuardedCall(made, functools.partial(self._refusal, first)) if self._is_examined(first) else made

    async def whole(self, say: Say) -> Outcome:
        """Return what came of a text that is there as a whole."""
        if len(say.text) > LONG:
            return await anyio.to_thread.run_sync(Guarding.judged, self, say, limiter=_LONG_ANSWERS)
        async with Guarding.stream(self, say, [say.text]) as stream:
            async for _ in stream:
                pass
        return Outcome(text=stream.result.repaired_text, result=stream.result)

    def judged(self, say: Say) -> Outcome:
        """Return the same, where nobody can wait."""
        options: Any = {**self._about(), "shape": say.shape, "mode": self.mode}
        result = self.guard.repair_stream(self.prompt, say.text, **options)
        if self._is_examined(say) and not result.halted and (reason := self._refusal(say, result.repaired_text)):
            result = refused(result, reason)
        return Outcome(text=result.repaired_text, result=result)

    def _is_examined(self, say: Say) -> bool:
        return say.tool is not None and self.guard.examines_actions

    def _refusal(self, call: Say, text: str) -> str:
        """Return why a call may not be made; empty where it may."""
        action = action_of(call, text)
        if action is None:
            return UNREADABLE
        allowed, _ = self.guard.check_action(action, prompt=self.prompt, **self._about())
        return "" if allowed else REFUSED

    def _about(self) -> dict[str, str]:
        ids = {"tenant_id": self.tenant_id, "request_id": self.request_id, "exchange_id": self.exchange_id}
        return {**ids, **self.agents}

    def describe(self, piece: RepairPiece) -> Mapping[str, Any] | None:
        """Return what was done to the clauses that a piece completes; None where nothing was."""
        changed = [self.told(action) for action in piece.actions if action.changed]
        return {"actions": changed} if changed else None

    def told(self, action: ClauseAction) -> dict[str, Any]:
        """Return what a client may learn of an action; the text of evidence only if its key allows it."""
        made: dict[str, Any] = {
            "action": action.action,
            "reason": action.reason,
            "mode": action.mode,
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

    # --- text that is shown before it is judged -----------------------------------------------------------------

    async def begin_optimism(self, wire: Wire) -> Optimism:
        """Return what shows the text of an exchange at once; it stands in the records before anything does."""
        await self._keep("shown_before_judged", {})
        if not self.guard.settings.metrics:
            return Optimism(wire)
        from director_ai.serve.optimism_figures import shared_figures  # noqa: PLC0415 - loads the exporter's library

        figures = shared_figures()
        figures.count_stream()
        return Optimism(wire, told=figures.count)

    async def end_optimism(self, optimism: Optimism) -> None:
        """Keep what became of the text that was shown; the client has it already, so a failure is only logged."""
        told = {name: str(optimism.tally[name]) for name in ("confirm", "replace", "retract", "characters")}
        try:
            await self._keep("shown_before_judged_ended", told)
        except Exception as error:  # noqa: BLE001 - its message may hold what a log must not
            _log.error("the corrections of an exchange could not be recorded (%s)", type(error).__name__)

    async def _keep(self, reason: str, attributes: dict[str, str]) -> None:
        if self.record is None:
            return
        event = SafetyEvent.from_policy_decision(
            "warn" if attributes.get("characters", "0") != "0" else "allow",
            hook_id=HOOK,
            hook_scope="streaming",
            halt_reason=reason,
            request_id=self.request_id,
            tenant_id=self.tenant_id,
            attributes=attributes,
        )
        await asyncio.to_thread(self.record, event)
