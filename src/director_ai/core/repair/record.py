"""What was done to each clause of a stream, and the events that tell of it."""

from __future__ import annotations

import bisect
import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from director_ai.core.identifiers import ref_of
from director_ai.core.repair.setting import unsure_of
from director_ai.core.safety_event import SafetyEvent
from director_ai.core.scoring.claims import body_of
from director_ai.core.scoring.judging import REMEMBERED, remember
from director_ai.core.types import HaltEvidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.core.checks.rules import CheckedText
    from director_ai.core.merge import Edit
    from director_ai.core.scoring.coherence import JudgeMode, Verdict
    from director_ai.core.scoring.slots import SlotDifference
    from director_ai.core.types import EvidenceChunk

__all__ = ["NAME", "REDACTED_CLAUSE", "Action", "ClauseAction", "RedactionCap", "RepairRecord", "RepairResult"]

Action = Literal["keep", "rewrite", "redact"]
HOOK: Final = "streaming.repair"
NAME: Final = "repair"
"""Of the check, in its edits."""
REDACTED_CLAUSE: Final = "[redacted: not supported]"
_RECENT: Final = 64
"""Clauses among which those are sought that the next one may refer to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseAction:
    """What became of one clause, and on what grounds."""

    action: Action
    clause: str
    """As the model said it."""
    text: str
    """As it is shown."""
    start: int
    """Where in the text its words begin; behind a place where generation was resumed, in the corrected text."""
    end: int
    verdict: Verdict
    """On the clause as the model said it."""
    reason: str
    """Why it was kept, or why it could not be."""
    detail: str = ""
    """Of what was redacted: why it was not rewritten."""
    mode: JudgeMode = "heuristic"
    """What decided: a model, or words and values alone."""
    support: float | None = None
    """Of the clause as the model said it; None where nothing was to be judged, or nobody could."""
    rewritten_support: float | None = None
    evidence: tuple[EvidenceChunk, ...] = field(default=(), repr=False)
    differences: tuple[SlotDifference, ...] = field(default=(), repr=False)
    escalated: bool | None = None
    """Whether a judge decided; False if it was asked and gave no answer, None if it was not asked."""
    edits: tuple[Edit, ...] = field(default=(), repr=False)
    """With places in the stream."""
    scoring_seconds: float = field(default=0.0, compare=False)
    held_seconds: float | None = field(default=None, compare=False)
    """From when the clause was known to be complete until it was released."""

    @property
    def evidence_ids(self) -> tuple[str, ...]:
        """Identifiers of the evidence, the most relevant first."""
        return tuple(dict.fromkeys(ref_of(chunk.source, chunk.text) for chunk in self.evidence))

    @property
    def changed(self) -> bool:
        """Whether the clause is shown otherwise than the model said it."""
        return self.action != "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairResult:
    """What came of a text or a stream."""

    repaired_text: str
    """What was released."""
    actions: tuple[ClauseAction, ...] = ()
    """One for each clause that was released, in order."""
    events: tuple[SafetyEvent, ...] = ()
    """One for each fix, and one for a halt: identifiers and figures, no text."""
    checked: CheckedText
    """The same as the checks beside the repair see it: every edit that was applied, conflicts, failures."""
    halt_evidence: HaltEvidence | None = None
    """Where too much had to be redacted: what the last clause was judged by."""

    @property
    def repaired(self) -> bool:
        """Whether any clause was changed."""
        return any(action.changed for action in self.actions)

    @property
    def halted(self) -> bool:
        """Whether text was held back at the end."""
        return self.checked.halted

    @property
    def halt_reason(self) -> str:
        """Why, as a machine-readable word with figures; empty where everything was released."""
        if not self.checked.halted:
            return ""
        told = [each.reason for each in self.checked.failures if each.action in {"halt", "refrain", "exception"}]
        return told[-1] if told and told[-1] else self.checked.ended_by

    @property
    def applied(self) -> tuple[Edit, ...]:
        """Every edit, with places in the model's text."""
        return self.checked.applied


def _event_of(action: ClauseAction, *, threshold: float, request_id: str, tenant_id: str, index: int) -> SafetyEvent:
    """Return the event of one fix."""
    return SafetyEvent.from_policy_decision(
        "warn",
        hook_id=HOOK,
        hook_scope="streaming",
        halt_reason=f"clause_{action.action} why={action.reason}"
        + (f" detail={action.detail}" if action.detail else ""),
        threshold=threshold,
        observed_score=action.support,
        evidence_refs=action.evidence_ids,
        request_id=request_id,
        tenant_id=tenant_id,
        attributes={
            "action": action.action,
            "mode": action.mode,
            "clause": str(index),
            "start": str(action.start),
            "end": str(action.end),
        },
    )


def _halt_event(reason: str, action: ClauseAction, *, threshold: float, request_id: str, tenant_id: str) -> SafetyEvent:
    """Return the event of a halt because too much had to be redacted."""
    return SafetyEvent.from_policy_decision(
        "halt",
        hook_id=HOOK,
        hook_scope="streaming",
        halt_reason=reason,
        threshold=threshold,
        observed_score=action.support,
        evidence_refs=action.evidence_ids,
        request_id=request_id,
        tenant_id=tenant_id,
        attributes={"mode": action.mode},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionCap:
    """How much may be redacted before the stream halts instead of showing a ruin."""

    count: int | None = None
    share: float | None = None
    """Of the clauses that were judged."""
    after: int = 8
    """Clauses that must have been judged before any of it counts."""

    def is_exceeded(self, redacted: int, judged: int) -> bool:
        """Whether so many redactions are too many."""
        if judged < self.after:
            return False
        return (self.count is not None and redacted > self.count) or (
            self.share is not None and redacted > self.share * judged
        )


@dataclass(slots=True, kw_only=True)
class RepairRecord:
    """What is known of one stream, across the places where it was resumed."""

    threshold: float
    tenant_id: str = ""
    request_id: str = ""
    placeholder: str = REDACTED_CLAUSE
    cap: RedactionCap = field(default_factory=RedactionCap)
    continuations: int = 0
    """How often generation may still be resumed behind a rewrite."""
    early: bool = True
    clock: Callable[[], float]
    said: list[str] = field(default_factory=list)
    """What the next clause may refer to."""
    actions: list[ClauseAction] = field(default_factory=list)
    events: list[SafetyEvent | None] = field(default_factory=list)
    """For each of the actions."""
    judged: int = 0
    redacted: int = 0
    arrived: list[float] = field(default_factory=list)
    """When each of them was known to be complete."""
    claims: list[str] = field(default_factory=list)
    """What each of them says, as it is shown; empty where it claims nothing."""
    settled: int = 0
    """How many of the actions are of text that was released before generation was resumed the last time."""
    halt_evidence: HaltEvidence | None = None
    halt_event: SafetyEvent | None = None

    @property
    def unsure(self) -> list[str]:
        """The last clauses, empty where one was supported or is not shown as it was."""
        return [unsure_of(each.action, each.verdict, each.clause) for each in self.actions[-REMEMBERED:]]

    def add(self, action: ClauseAction, arrived: float, claim: str) -> None:
        """Record what becomes of the next clause, and what it says."""
        self.claims.append(claim)
        remember(self.said, claim)
        self.events.append(self._event(action, len(self.actions)) if action.changed else None)
        self.actions.append(action)
        self.arrived.append(arrived)

    def resume(self, seen: int) -> None:
        """Begin anew behind what was released; clauses that were judged and not shown will be judged again."""
        self.settled = self.released(seen)
        unseen = self.actions[self.settled :]
        self.judged -= len(unseen)
        self.redacted -= sum(action.action == "redact" for action in unseen)
        for kept in (self.actions, self.events, self.arrived, self.claims):
            del kept[self.settled :]
        self.said.clear()
        for claim in self.claims[-_RECENT:]:
            remember(self.said, claim)

    def released(self, seen: int) -> int:
        """Return how many of the actions are of text that was released, where that reaches up to a place."""
        return bisect.bisect_right(self.actions, seen, lo=self.settled, key=lambda action: action.end)

    def overrule(self, removal: Edit) -> None:
        """Record that a clause is redacted rather than rewritten."""
        place = bisect.bisect_left(self.actions, removal.start, lo=self.settled, key=lambda action: action.start)
        action = self.actions[place]
        start, end = body_of(action.clause)
        self.actions[place] = dataclasses.replace(
            action,
            action="redact",
            text=action.clause[:start] + self.placeholder + action.clause[end:],
            detail="unsafe_rewrite" if action.action == "rewrite" else action.detail,
            rewritten_support=None,
            edits=(removal,),
        )
        self.events[place] = self._event(self.actions[place], place)

    def _event(self, action: ClauseAction, index: int) -> SafetyEvent:
        return _event_of(
            action, threshold=self.threshold, index=index, request_id=self.request_id, tenant_id=self.tenant_id
        )

    def halt(self, reason: str, action: ClauseAction) -> None:
        """Record that the stream ends before a clause."""
        ids = {"request_id": self.request_id, "tenant_id": self.tenant_id}
        self.halt_event = _halt_event(reason, action, threshold=self.threshold, **ids)
        self.halt_evidence = HaltEvidence(
            reason, action.support or 0.0, list(action.evidence), suggested_action="review the answer"
        )
