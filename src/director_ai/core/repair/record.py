"""What was done to each clause of a stream, and the events that tell of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from director_ai.core.identifiers import ref_of
from director_ai.core.safety_event import SafetyEvent

if TYPE_CHECKING:
    from director_ai.core.checks.rules import CheckedText
    from director_ai.core.merge import Edit
    from director_ai.core.scoring.coherence import Verdict
    from director_ai.core.scoring.slots import SlotDifference
    from director_ai.core.types import EvidenceChunk, HaltEvidence

__all__ = ["Action", "ClauseAction", "RepairResult", "event_of", "halt_event"]

Action = Literal["keep", "rewrite", "redact"]
HOOK: Final = "streaming.repair"


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
    support: float | None = None
    """Of the clause as the model said it; None where nothing was to be judged, or nobody could."""
    rewritten_support: float | None = None
    evidence: tuple[EvidenceChunk, ...] = field(default=(), repr=False)
    differences: tuple[SlotDifference, ...] = field(default=(), repr=False)
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


def event_of(action: ClauseAction, *, threshold: float, request_id: str, tenant_id: str, index: int) -> SafetyEvent:
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
            "clause": str(index),
            "start": str(action.start),
            "end": str(action.end),
        },
    )


def halt_event(reason: str, action: ClauseAction, *, threshold: float, request_id: str, tenant_id: str) -> SafetyEvent:
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
    )
