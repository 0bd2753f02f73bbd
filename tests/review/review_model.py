"""What the gate should do, in a page: a case as people think of it, without a database."""

from __future__ import annotations

from dataclasses import dataclass, field

from director_ai.errors import (
    AlreadyReleased,
    ApprovalReused,
    CaseClaimed,
    CaseDecided,
    CaseExpired,
    NotAllowed,
    NotApproved,
    Refused,
    ReviewerRefused,
    SelfApproval,
)

LASTS, APPROVAL_LASTS, LEASE = 5_000, 3_000, 900
AFTER = {"reject": "rejected", "request_retry": "retry_requested"}


@dataclass
class Case:
    """A case; what is asked of it is answered by the set of refusals of which one must come."""

    case_id: str
    tenant: str
    text: str
    required: int
    reviewers: tuple[str, ...]
    proposer: str
    allowed: bool
    expires: float
    number: int
    """Of the claim that it corrects."""
    state: str = "open"
    approvals: set[str] = field(default_factory=set)
    said: dict[tuple[str, str], str] = field(default_factory=dict)
    holder: tuple[str, float] = ("", 0.0)
    release: tuple[str, str] = ("", "")

    def over(self, now: float) -> bool:
        return self.state == "expired" or (self.state in ("open", "approved") and now >= self.expires)

    def held_by_other(self, who: str, now: float) -> bool:
        return self.holder[0] not in ("", who.lower()) and self.holder[1] > now

    def is_told_again(self, who: str, action: str) -> bool:
        return (who.lower(), action) in self.said and self.state in ("open", "approved", "released", AFTER.get(action))

    def refusals_to_decide(self, who: str, action: str, now: float) -> set[type[Refused]]:
        person = who.lower()
        return _applying(
            {
                CaseExpired: self.over(now),
                ReviewerRefused: bool(self.reviewers) and person not in self.reviewers,
                AlreadyReleased: self.state == "released",
                CaseDecided: self.state in AFTER.values() or (action == "approve" and self.state == "approved"),
                CaseClaimed: self.held_by_other(who, now),
                NotAllowed: action == "approve" and not self.allowed,
                SelfApproval: action == "approve" and person == self.proposer,
            }
        )

    def decide(self, who: str, action: str, decision_id: str, now: float) -> None:
        self.said[who.lower(), action] = decision_id
        self.holder = ("", 0.0)
        if action != "approve":
            self.state = AFTER[action]
            return
        self.approvals.add(who.lower())
        if len(self.approvals) >= self.required:
            self.state, self.expires = "approved", now + APPROVAL_LASTS

    def is_released_again(self, who: str, release_id: str) -> bool:
        return self.state == "released" and self.release == (release_id, who.lower())

    def refusals_to_release(self, who: str, now: float, *, taken: bool) -> set[type[Refused]]:
        return _applying(
            {
                AlreadyReleased: self.state == "released",
                CaseExpired: self.over(now),
                CaseClaimed: self.held_by_other(who, now),
                NotAllowed: not self.allowed,
                NotApproved: self.state != "approved",
                ApprovalReused: taken,
            }
        )

    def refusals_to_claim(self, who: str, now: float) -> set[type[Refused]]:
        return _applying(
            {
                CaseDecided: self.state != "open" or self.over(now),
                CaseClaimed: self.held_by_other(who, now),
                ReviewerRefused: bool(self.reviewers) and who.lower() not in self.reviewers,
            }
        )


def _applying(rules: dict[type[Refused], bool]) -> set[type[Refused]]:
    return {refusal for refusal, applies in rules.items() if applies}
