"""Where a case stands by its sealed rows in the trail: they decide, the tables are only the inbox."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import TrailBroken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.record.chain import AuditRow
    from director_ai.review.cases import State

__all__ = ["DECIDED", "EXPIRED", "OPENED", "RELEASED", "REMEMBERED", "Standing", "standing_of"]

OPENED: Final = "case.opened"
DECIDED: Final = "case.decided"
RELEASED: Final = "case.released"
EXPIRED: Final = "case.expired"
REMEMBERED: Final = "case.remembered"
_KINDS: Final = frozenset({OPENED, DECIDED, RELEASED, EXPIRED, REMEMBERED})


@dataclass(slots=True, kw_only=True)
class Standing:
    """What the trail says of a case."""

    digest: str
    required: int
    proposer: str
    reviewers: frozenset[str]
    expires_at: int
    opened: dict[str, Any]
    state: State = "open"
    approvals: dict[str, str] = field(default_factory=dict)
    """Who approved, in lower case, and the id of that decision."""
    decided: dict[str, AuditRow] = field(default_factory=dict)
    """The row of each decision, by its id."""
    release_id: str = ""
    released_by: str = ""
    is_correction: bool = False
    """Whether a reviewer said that the text is to be used again for the claim it corrects."""
    steps: int = 1
    last: AuditRow
    """The last row about the case."""

    def is_over(self, now: int) -> bool:
        """Whether its time, or that of its approval, has come to an end."""
        return self.state == "expired" or (self.state in {"open", "approved"} and now >= self.expires_at)


def standing_of(rows: Iterable[AuditRow]) -> Standing | None:
    """Return where a case stands after its rows, which were checked; None where there are none."""
    try:
        return _folded(rows)
    except (KeyError, TypeError, AttributeError):
        raise TrailBroken("the rows of the case are not what the queue writes") from None


def _folded(rows: Iterable[AuditRow]) -> Standing | None:
    standing: Standing | None = None
    for row in rows:
        if row.kind not in _KINDS:
            continue  # whoever keeps a trail may name a request like a case
        body = row.content
        if not body:
            raise TrailBroken(f"the body of row {row.sequence} was let go; the case can no longer be decided")
        if row.kind == OPENED and standing is None:
            standing = Standing(
                digest=body["digest"],
                required=body["required"],
                proposer=body["proposer"].lower(),
                reviewers=frozenset(reviewer.lower() for reviewer in body["reviewers"]),
                expires_at=body["expires_at"],
                opened=body,
                last=row,
            )
        elif standing is None or body["step"] != standing.steps + 1:
            raise TrailBroken(f"a row before row {row.sequence} is gone; run `director-ai audit verify`")
        else:
            _take(standing, row, body)
            standing.steps, standing.last = body["step"], row
    return standing


def _take(standing: Standing, row: AuditRow, body: dict[str, Any]) -> None:
    if row.kind == DECIDED:
        if body["action"] == "approve" and body["digest"] == standing.digest:
            standing.approvals[body["reviewer"].lower()] = body["decision"]
        standing.decided[body["decision"]] = row
        standing.state, standing.expires_at = body["state"], body["expires_at"]
    elif row.kind == RELEASED:
        standing.state, standing.release_id, standing.released_by = "released", body["release"], body["reviewer"]
    elif row.kind == EXPIRED:
        standing.state = "expired"
    elif row.kind == REMEMBERED:
        standing.is_correction = standing.is_correction or body["as"] == "correction"
