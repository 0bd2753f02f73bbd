"""The audit proof of a case: its rows in the trail, the checkpoints that cover them, and the case decided again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from director_ai.errors import DirectorError
from director_ai.record.checkpoints import Checkpoint

if TYPE_CHECKING:
    from director_ai.record.chain import AuditRow
    from director_ai.record.trail import AuditTrail
    from director_ai.review.cases import ReviewCase, ReviewDecision
    from director_ai.review.queue import HumanReviewQueue
    from director_ai.review.replay import Replay

__all__ = ["Proof", "ProvenRow", "prove"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenRow:
    """One row of the trail, in the words of the page."""

    row: AuditRow
    by: str
    says: str
    covered_by: Checkpoint | None
    """The first signed checkpoint at or behind the row; None where it is not signed yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What bears a case out."""

    replay: Replay
    decisions: tuple[ReviewDecision, ...]
    """Empty where the trail does not bear them out; the replay then says so."""
    rows: tuple[ProvenRow, ...]

    @property
    def signed(self) -> int:
        """How many of the rows a checkpoint covers."""
        return sum(row.covered_by is not None for row in self.rows)


def prove(queue: HumanReviewQueue, case: ReviewCase) -> Proof:
    """Return the proof of a case as it stands now."""
    replay = queue.replay(case.case_id, tenant_id=case.tenant_id)
    try:
        decisions = tuple(queue.decisions(case.case_id, tenant_id=case.tenant_id))
    except DirectorError:  # the replay tells why
        decisions = ()
    rows = queue.trail.about(case.case_id, case.tenant_id)
    points = _covering(queue.trail, case.tenant_id, [row.sequence for row in rows])
    proven = (ProvenRow(row=row, by=_by(row), says=_says(row), covered_by=points.get(row.sequence)) for row in rows)
    return Proof(replay=replay, decisions=decisions, rows=tuple(proven))


def _covering(trail: AuditTrail, tenant_id: str, sequences: list[int]) -> dict[int, Checkpoint]:
    """Return for each row the first checkpoint at or behind it whose signature is the trail's own."""
    marked = f'"tenant":"{tenant_id}"'  # most lines are of others; a look is cheaper than reading them
    given = (Checkpoint.from_line(line) for line in trail.checkpoints.lines() if marked in line)
    points = sorted(
        (point for point in given if point is not None and point.tenant_id == tenant_id), key=lambda each: each.sequence
    )
    found: dict[int, Checkpoint] = {}
    for sequence in sequences:
        nearest = next((point for point in points if point.sequence >= sequence), None)
        if nearest is not None and trail.key.has_signed(nearest.message(), nearest.signature):
            found[sequence] = nearest
    return found


def _by(row: AuditRow) -> str:
    body = row.content
    return str(body.get("reviewer") or body.get("proposer") or body.get("by") or "")


def _says(row: AuditRow) -> str:
    body = row.content
    if row.body is None:
        return "let go at the end of its time"
    if "action" in body:
        return f"{str(body['action']).replace('_', ' ')} → {body.get('state', '')}"
    for name, word in (("release", "under"), ("as", "as"), ("was", "was")):
        if body.get(name):
            return f"{word} {body[name]}"
    return f"digest {str(body.get('digest', ''))[:12]}"
