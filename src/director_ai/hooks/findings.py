"""What a hook objects to, and the decision that follows from all of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from director_ai.core.safety_event import POLICY_DECISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Finding", "count_reasons", "reasons_of", "refs_of", "worst_finding"]

MOST_REFS: Final = 16
"""What an event names by its hash; the figures count all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong."""

    reason: str
    """A machine-readable word."""
    decision: str = "block"
    """What this alone would lead to."""
    ref: str = ""
    """A hash of what was found, where there is something to be found again."""
    place: str = field(default="", repr=False)
    """Where it stands; it may hold names of arguments and stays out of records."""


def worst_finding(findings: Sequence[Finding]) -> Finding | None:
    """Return the first of the strictest findings; None where there are none."""
    return max(findings, key=lambda finding: POLICY_DECISIONS.index(finding.decision), default=None)


def reasons_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return each reason once, in the order in which they were found."""
    return tuple(dict.fromkeys(finding.reason for finding in findings))


def refs_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the hashes of what was found, as many as an event may name."""
    return tuple(dict.fromkeys(finding.ref for finding in findings if finding.ref))[:MOST_REFS]


def count_reasons(findings: Iterable[Finding]) -> dict[str, str]:
    """Return how often each reason applies, for the attributes of an event."""
    return {reason: str(count) for reason, count in Counter(finding.reason for finding in findings).items()}
