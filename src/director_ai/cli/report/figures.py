"""What a repair comes to in figures, and the words for them."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from director_ai.core.showing.words import why

if TYPE_CHECKING:
    from director_ai.core.repair.record import ClauseAction, RepairResult

__all__ = ["Figures", "milliseconds", "why_of"]

_WHY_NOT: Final = {
    "rewrite_blank": "nothing in it could be corrected",
    "rewrite_unsupported": "no correction held up",
    "no_rewriter": "nobody was there to correct it",
    "no_evidence": "nothing to correct it by",
    "unsafe_rewrite": "the correction was not safe",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts, and times in seconds; a time is None where nothing was timed."""

    clauses: int
    kept: int
    rewritten: int
    redacted: int
    events: int
    held_median: float | None = None
    held_worst: float | None = None
    scoring_median: float | None = None
    """Of the clauses that were to be judged."""
    scoring_worst: float | None = None

    @classmethod
    def of(cls, result: RepairResult) -> Self:
        """Count what became of the clauses of a result."""
        counts = Counter(action.action for action in result.actions)
        held = [action.held_seconds for action in result.actions if action.held_seconds is not None]
        scoring = [action.scoring_seconds for action in result.actions if action.support is not None]
        return cls(
            clauses=len(result.actions),
            kept=counts["keep"],
            rewritten=counts["rewrite"],
            redacted=counts["redact"],
            events=len(result.events),
            held_median=statistics.median(held) if held else None,
            held_worst=max(held, default=None),
            scoring_median=statistics.median(scoring) if scoring else None,
            scoring_worst=max(scoring, default=None),
        )


def milliseconds(seconds: float | None) -> str:
    """Return a time as people read it."""
    if seconds is None:
        return "not timed"
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.0995 else f"{seconds * 1e3:.0f} ms"


def why_of(action: ClauseAction) -> str:
    """Return in a sentence why a clause was kept or not."""
    swaps = [
        f"“{each.claim.text}” should be “{each.evidence.text}”"
        for each in action.differences
        if each.evidence is not None
    ]
    if action.action == "rewrite" and swaps:
        return ", ".join(swaps[:3])
    told = why(action.reason)
    why_not = _WHY_NOT.get(action.detail) or action.detail.replace("_", " ")
    return f"{told}; {why_not}" if why_not else told
