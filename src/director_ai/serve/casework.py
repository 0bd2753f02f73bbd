"""What the guard held back is put before people: halted answers, and redacted ones where a tenant wants that."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.guard_control import RiskEnvelope
from director_ai.core.identifiers import is_ref
from director_ai.core.runtime.correction import CorrectionLoop
from director_ai.core.scoring.consensus import CrossVerifierConsensus
from director_ai.errors import ConfigError, DirectorError, PayloadError, Refused
from director_ai.serve.guarding import Guarding, Tokens

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from director_ai.core.repair.record import ClauseAction, RepairResult
    from director_ai.core.repair.streams import RepairPiece
    from director_ai.review.queue import HumanReviewQueue
    from director_ai.serve.calls import GuardedStream
    from director_ai.serve.wire.items import Outcome, Say

__all__ = ["CaseWork", "WatchedGuarding"]

PROPOSER: Final = "director-ai"
MOST_SAID: Final = 200_000
"""Characters of an answer that a case holds."""
MOST_DETAIL: Final = 60_000
"""Characters of clauses and evidence that a case holds."""
MOST_WAITING: Final = 1_000
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer, or a part of one, and what came of it."""

    text: str
    """As the model said it."""
    result: RepairResult
    guarding: Guarding
    shape: str


class CaseWork:
    """Opens cases beside the streams, which do not wait for it."""

    def __init__(self, queue: HumanReviewQueue) -> None:
        self._queue = queue
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(2)

    @property
    def is_behind(self) -> bool:
        """Whether so much waits that no more should come in."""
        return len(self._tasks) >= MOST_WAITING

    def take(self, said: Said) -> None:
        """Open a case soon."""
        task = asyncio.create_task(self._work(said))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Wait until all that was taken is in the queue."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, said: Said) -> None:
        async with self._turns:
            try:
                await asyncio.to_thread(self.open_case, said)
            except DirectorError as error:  # the trail holds the halt all the same
                _log.error("a case could not be opened: %s", error)
            except Exception as error:  # noqa: BLE001 - one case must not end the others; its text stays out of logs
                _log.error("a case could not be opened: %s", type(error).__name__)

    def open_case(self, said: Said) -> None:
        """Put an answer before people: the guard's correction of it where it has one, else the text as it was said."""
        text = said.text.replace("\0", "\N{REPLACEMENT CHARACTER}")
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")[:MOST_SAID]
        if not text.strip():
            return
        result, guarding = said.result, said.guarding
        common: dict[str, Any] = {
            "tenant_id": guarding.tenant_id,
            "request_id": guarding.request_id,
            "proposer_id": PROPOSER,
            "metadata": details_of(said),
        }
        if result.halted and result.halt_evidence is not None and said.shape == "text":
            with contextlib.suppress(Refused, ConfigError, PayloadError):  # then people see it as it was said
                proposal = _loop(guarding.guard.profile.name).propose_from_halt(
                    halt_evidence=result.halt_evidence,
                    continuation_builder=guarding.guard.correction_builder(
                        guarding.prompt, text, tenant_id=guarding.tenant_id
                    ),
                )
                self._queue.enqueue_correction_proposal(proposal, reason=_reason(result), original_text=text, **common)
                return
        refs = [ref for action in result.actions if action.action == "redact" for ref in action.evidence_ids]
        if result.halt_evidence is not None:
            refs += [chunk.source for chunk in result.halt_evidence.evidence_chunks if is_ref(chunk.source)]
        shown = _plain(result.repaired_text[:MOST_SAID])
        self._queue.enqueue_case(
            # Whoever approves what was repaired approves what was shown; whoever wants more of it edits it.
            candidate_text=text if result.halted or not shown.strip() else shown,
            original_text=text,
            evidence_refs=list(dict.fromkeys(refs))[:100],
            reason=_reason(result),
            **common,
        )


def _loop(profile: Any) -> CorrectionLoop:
    return CorrectionLoop(
        consensus=CrossVerifierConsensus(),
        risk_envelope=RiskEnvelope("text", "reversible", profile, calibrated_threshold=0.65, no_go_threshold=0.9),
        policy_id=f"policy.{profile}",
    )


def _reason(result: RepairResult) -> str:
    return result.halt_reason.split(" ", 1)[0] if result.halted else "clause_redacted"


def details_of(said: Said) -> dict[str, Any]:
    """Return what reviewers see of an answer: what was asked, what was shown, and what became of each clause."""
    result, left = said.result, MOST_DETAIL
    actions: list[dict[str, Any]] = []
    for action in result.actions:
        told = _told(action)
        left -= sum(len(str(value)) for value in told.values()) + 200
        if left < 0:
            break
        actions.append(told)
    halt = result.halt_evidence
    return {
        "prompt": _plain(said.guarding.prompt[-4_000:]),
        "shown": _plain(result.repaired_text[:10_000]),
        "halted": result.halted,
        "shape": said.shape,
        "actions": actions,
        "actions_left_out": len(result.actions) - len(actions),
        "evidence": [
            {"id": chunk.source, "text": _plain(chunk.text[:2_000])}
            for chunk in (halt.evidence_chunks if halt else [])[:5]
        ],
    }


def _told(action: ClauseAction) -> dict[str, Any]:
    return {
        "action": action.action,
        "clause": _plain(action.clause),
        "text": _plain(action.text),
        "verdict": action.verdict,
        "reason": action.reason,
        "mode": action.mode,
        "span": [action.start, action.end],
        "support": None if action.support is None else round(action.support, 4),
        "evidence_ids": list(action.evidence_ids),
        "evidence": [_plain(chunk.text[:1_000]) for chunk in action.evidence[:3]] if action.changed else [],
    }


def _plain(text: str) -> str:
    """Return a text as JSON and every database can hold it."""
    shown = text.encode("utf-8", "replace").decode("utf-8")
    return shown.replace("\0", "\N{REPLACEMENT CHARACTER}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedGuarding(Guarding):
    """The guard of an exchange that tells what it held back."""

    work: CaseWork
    review_halts: bool = True
    review_redactions: bool = False

    def stream(self, first: Say, tokens: Tokens) -> Any:
        """Return the guarded stream of a channel; where it ends, a case may begin."""
        heard: list[str] = []
        made = Guarding.stream(self, first, _heard(tokens, heard))  # `super()` does not know a class with slots
        return _WatchedStream(made, lambda result: self.tell("".join(heard), result, first.shape))

    async def whole(self, say: Say) -> Outcome:
        """Return what came of a text that is there as a whole."""
        outcome = await Guarding.whole(self, say)
        self.tell(say.text, outcome.result, say.shape)
        return outcome

    def tell(self, text: str, result: RepairResult, shape: str) -> None:
        """Put an answer before people, if it is one of those that they want to see."""
        redacted = any(action.action == "redact" for action in result.actions)
        if (result.halted and self.review_halts) or (redacted and self.review_redactions):
            self.work.take(Said(text=text, result=result, guarding=self, shape=shape))


async def _heard(tokens: Tokens, heard: list[str]) -> AsyncGenerator[str]:
    size = 0
    async for token in tokens:  # type: ignore[union-attr]
        if size < MOST_SAID:
            heard.append(token)
            size += len(token)
        yield token


class _WatchedStream:
    """A guarded stream; at its end somebody is told what came of it."""

    def __init__(self, stream: GuardedStream, at_end: Any) -> None:
        self._stream, self._at_end = stream, at_end
        self._told = False

    @property
    def result(self) -> RepairResult:
        """What came of it so far."""
        return self._stream.result

    def __aiter__(self) -> _WatchedStream:
        return self

    async def __anext__(self) -> RepairPiece:
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            if not self._told:
                self._told = True
                self._at_end(self._stream.result)
            raise

    async def aclose(self) -> None:
        """Stop reading."""
        await self._stream.aclose()

    async def __aenter__(self) -> _WatchedStream:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
