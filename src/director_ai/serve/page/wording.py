"""Times, states and reasons in the words of the page."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from director_ai.core.tenant_safety import is_machine_reason
from director_ai.review.cases import moment

__all__ = [
    "ACTIONS",
    "SAID",
    "STATES",
    "age_of",
    "counted",
    "percent",
    "seconds",
    "state_name",
    "title_of",
    "when",
]

STATES: Final = {
    "open": "Open",
    "approved": "Approved",
    "released": "Released",
    "rejected": "Rejected",
    "retry_requested": "Sent back",
    "expired": "Expired",
}
ACTIONS: Final = {"approve": "Approve", "reject": "Reject", "request_retry": "Send back"}
SAID: Final = {
    "approve": "Your approval is recorded.",
    "approved": "Your approval is recorded, and the case has all it needs. It can be released now.",
    "reject": "The case is rejected.",
    "request_retry": "The case is sent back: a new text is asked for.",
    "claim": "You hold this case; nobody else can decide it meanwhile.",
    "unclaim": "You let go of the case.",
    "release": "The text is released. This happens once.",
    "remember": "The correction will be used again for the same claim.",
    "edit": "Your text is a case of its own now. Somebody else has to approve it.",
    "signed_out": "You are signed out.",
}
"""What a page says after something was done, by a word in its address."""
_REASONS: Final = {
    "clause_redacted": "A clause was redacted",
    "unsupported_clause": "A clause is not supported",
    "within_limits": "A correction within the limits of risk",
    "risk_limit": "A correction beyond the limit of risk",
    "too_much_redacted": "Too much had to be redacted",
    "hard_limit": "A score below the hard limit",
    "kill_switch": "Ended by the kill switch",
}


def title_of(reason: str) -> str:
    """Return why a case came in: a machine's word in plain ones, the words of people as they are."""
    word, _, figures = reason.partition(" ")
    if not reason:
        return "No reason given"
    if not is_machine_reason(reason):
        return reason
    told = _REASONS.get(word) or word.replace("_", " ").capitalize()
    shown = re.sub(r"(\d\.\d\d)\d+", r"\1", figures.replace("=", " "))
    return f"{told} · {shown}" if figures else told


def counted(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def state_name(state: str) -> str:
    """Return a state as people say it."""
    return STATES.get(state, state)


def age_of(time: datetime | None, now: datetime | None = None) -> str:
    """Return how long ago something was, or how long it is until then, in one unit."""
    if time is None:
        return ""
    return seconds(abs(((now or datetime.now(UTC)) - time).total_seconds()))


def seconds(span: float) -> str:
    """Return a time span in one unit."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if span >= size:
            return f"{span / size:.0f} {unit}"
    return f"{span:.0f} s"


def when(time: datetime | int | None) -> str:
    """Return a time as people read it; a whole number is microseconds since 1970."""
    if time is None:
        return ""
    shown = moment(time) if isinstance(time, int) else time
    return f"{shown:%Y-%m-%d %H:%M:%S}"


def percent(value: float) -> str:
    """Return a share as a place on a scale from 0 to 100, for drawings."""
    return f"{min(1.0, max(0.0, value)) * 100:.2f}"
