"""What became of a clause, and why, in the words of reports and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from director_ai.core.repair.record import ClauseAction

__all__ = ["OUTCOMES", "figure", "outcome_of", "why"]

OUTCOMES: Final = {"keep": "kept", "rewrite": "rewritten", "redact": "redacted"}
"""In a word what was done."""
_WHY: Final = {
    "contradicted": "the evidence says otherwise",
    "not_entailed": "the evidence does not say so",
    "no_evidence": "nothing is known about it",
    "below_threshold": "its score is too low",
    "entailed": "the evidence says so",
    "not_contradicted": "nothing speaks against it",
    "not_a_claim": "it states nothing",
}


def why(reason: str) -> str:
    """Return in words why a clause was kept or not."""
    return _WHY.get(reason) or reason.replace("_", " ")


def outcome_of(action: ClauseAction) -> str:
    """Return in a word what became of a clause."""
    return "no claim" if action.verdict == "not_a_claim" and not action.changed else OUTCOMES[action.action]


def figure(value: float | None) -> str:
    """Return a score with two decimals."""
    if value is None:
        return "–"
    return "<0.01" if 0 < value < 0.005 else f"{value:.2f}"
