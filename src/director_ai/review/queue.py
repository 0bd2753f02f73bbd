"""HumanReviewQueue: a durable inbox, an append-only trail of decisions, and the one door out of it."""

from __future__ import annotations

import functools
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, Unpack, cast

from director_ai.core.guard_control import check_choice
from director_ai.core.identifiers import check_identifier
from director_ai.core.ranges import check_count
from director_ai.errors import (
    CaseClaimed,
    CaseDecided,
    ConfigError,
    Refused,
    ReviewerRefused,
    TrailBroken,
    UnknownCase,
)
from director_ai.record.trail import AuditTrail
from director_ai.review import corrections, storage
from director_ai.review.cases import ACTIONS, STATES
from director_ai.review.gate import Gate
from director_ai.review.intake import MOST_REASON, checked_clock, checked_seconds, checked_text, named, optional_tenant
from director_ai.review.opening import check_proposal, new_case, open_case
from director_ai.review.replay import replay_case
from director_ai.review.retention import forget_texts
from director_ai.review.retrying import retry_payload

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from director_ai.core.runtime.correction import CorrectionProposal
    from director_ai.record.chain import Writer
    from director_ai.review.cases import Action, ReviewCase, ReviewDecision, State
    from director_ai.review.corrections import Correction
    from director_ai.review.opening import CaseOptions, NewCase
    from director_ai.review.replay import Replay

__all__ = ["HumanReviewQueue"]

T = TypeVar("T")
DAY: Final = 86_400.0
MOST_AT_ONCE: Final = 10_000


class HumanReviewQueue:
    """Texts that wait for people: nothing leaves without the approvals it needs, and nothing leaves twice.

    Any number of threads and processes may use one database. Whatever is decided is written to the audit trail in the
    same transaction; what the trail does not bear out is not released.

    Args:
        path_or_url: The path of an SQLite file, `:memory:`, or a postgresql:// URL.
        required_approvals: How many reviewers must approve a case, where the case does not say; at least one.
        expires_after: Seconds until an undecided case expires.
        approval_expires_after: Seconds until an approval that was not used expires.
        lease: Seconds for which a claim holds.
        authorize: (reviewer_id, tenant_id, action) -> whether this reviewer may; anything but True refuses.
        checkpoints, signing_key: Of the trail, see AuditTrail.
        clock: Seconds since 1970.
    """

    def __init__(  # noqa: PLR0913 - what a deployment decides, once
        self,
        path_or_url: str | os.PathLike[str] = ":memory:",
        *,
        required_approvals: int = 1,
        expires_after: float = 7 * DAY,
        approval_expires_after: float = DAY,
        lease: float = 900.0,
        authorize: Callable[[str, str, str], bool] | None = None,
        checkpoints: str | os.PathLike[str] | None = None,
        signing_key: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._required = check_count("required_approvals", required_approvals, 1, 100)
        self._expires_after = checked_seconds("expires_after", expires_after)
        self._lease = checked_seconds("lease", lease)
        if authorize is not None and not callable(authorize):
            raise ConfigError(f"authorize must be a function, got a {type(authorize).__name__}")
        approval_lasts = checked_seconds("approval_expires_after", approval_expires_after)
        self._clock = checked_clock(clock)
        self.trail = AuditTrail(path_or_url, checkpoints=checkpoints, signing_key=signing_key, clock=self._clock)
        self._gate = Gate(self.trail.key, authorize=authorize, approval_lasts=approval_lasts)

    # --- into the inbox ---------------------------------------------------------------------------------------

    def enqueue_case(
        self,
        *,
        candidate_text: str,
        evidence_refs: Sequence[str] = (),
        tenant_id: str = "",
        request_id: str = "",
        reason: str = "",
        **options: Unpack[CaseOptions],
    ) -> ReviewCase:
        """Put a text before people: one that a halt held back, one that was redacted, or one written anew.

        A request's text is one case, however often it is put in. Further options are `CaseOptions`.
        """
        given = {
            "candidate_text": candidate_text,
            "evidence_refs": evidence_refs,
            "tenant_id": tenant_id,
            "request_id": request_id,
            "reason": reason,
        }
        return self._open(
            new_case(
                "text", given, options, required=self._required, lasts=self._expires_after, digest=self._gate.digest
            )
        )

    def enqueue_correction_proposal(
        self,
        proposal: CorrectionProposal,
        tenant_id: str = "",
        request_id: str = "",
        reason: str = "",
        **options: Unpack[CaseOptions],
    ) -> ReviewCase:
        """Put a correction before people; one that the consensus did not allow can be seen, but never be approved."""
        check_proposal(proposal)
        given = {
            "candidate_text": proposal.candidate_text,
            "evidence_refs": proposal.evidence_refs,
            "tenant_id": tenant_id,
            "request_id": request_id,
            "reason": reason or proposal.guard_decision.reason,
            "policy_id": proposal.guard_decision.policy_id,
            "proposal_id": proposal.proposal_id,
            "guard_decision": proposal.guard_decision,
        }
        return self._open(
            new_case(
                "correction",
                given,
                options,
                required=self._required,
                lasts=self._expires_after,
                digest=self._gate.digest,
            )
        )

    def _open(self, new: NewCase) -> ReviewCase:
        return self.trail.write(functools.partial(open_case, new=new), new.case.tenant_id)

    # --- looking ----------------------------------------------------------------------------------------------

    def get_case(self, case_id: str, *, tenant_id: str | None = None) -> ReviewCase:
        """Return a case as it stands now; with a tenant, only one of that tenant's."""
        case, tenant = named("case_id", case_id), optional_tenant(tenant_id)
        found = self.trail.database.read(lambda connection: storage.find_case(connection, case, self._now()))
        if found is None or tenant not in {None, found.tenant_id}:
            raise UnknownCase("there is no such case" + ("" if tenant is None else " in this tenant"))
        return found

    def list_cases(
        self, *, tenant_id: str | None = None, state: State | None = None, after: str = "", limit: int = 100
    ) -> list[ReviewCase]:
        """Return cases, the oldest first; `after` is the id of the last one seen."""
        in_state = None if state is None else cast("State", check_choice("state", state, STATES))
        tenant, behind = optional_tenant(tenant_id), check_identifier("after", after)
        most = check_count("limit", limit, 1, MOST_AT_ONCE)
        return self.trail.database.read(
            lambda connection: storage.page_of_cases(
                connection, tenant_id=tenant, state=in_state, after=behind, most=most, now=self._now()
            )
        )

    def decisions(self, case_id: str, *, tenant_id: str | None = None) -> list[ReviewDecision]:
        """Return what was decided about a case, in order; decisions that the trail does not bear out are refused."""
        case = self.get_case(case_id, tenant_id=tenant_id)
        return self.trail.database.read(lambda connection: self._gate.decisions(connection, case.case_id))

    def retry_payload(self, case_id: str, *, tenant_id: str | None = None) -> dict[str, Any]:
        """Return what a generator needs that is to try again; the text that was sent back is not in it."""
        case = self.get_case(case_id, tenant_id=tenant_id)
        return retry_payload(case, self.decisions(case_id))

    # --- deciding ---------------------------------------------------------------------------------------------

    def claim(
        self, case_id: str, *, reviewer_id: str, lease: float | None = None, tenant_id: str | None = None
    ) -> ReviewCase:
        """Hold a case for a while, so that nobody else decides it meanwhile; the same reviewer may hold it longer."""
        reviewer, until = named("reviewer_id", reviewer_id), self._until(lease)
        return self._write(
            case_id, tenant_id, lambda writer, case: self._claim(writer, case, reviewer, until), (reviewer, "claim")
        )

    def claim_next(self, *, reviewer_id: str, tenant_id: str = "", lease: float | None = None) -> ReviewCase | None:
        """Hold the oldest open case of a tenant that nobody holds; None where there is none."""
        reviewer, until = named("reviewer_id", reviewer_id), self._until(lease)

        def claim(writer: Writer) -> ReviewCase | None:
            case_id = storage.next_case(writer.connection, writer.tenant_id, reviewer.lower(), writer.now)
            return None if case_id is None else self._claim(writer, case_id, reviewer, until)

        tenant = check_identifier("tenant_id", tenant_id)
        self._gate.check_may(reviewer, "claim", tenant_id=tenant)
        return self.trail.write(claim, tenant)

    def unclaim(self, case_id: str, *, reviewer_id: str, tenant_id: str | None = None) -> None:
        """Let go of a case."""
        reviewer = named("reviewer_id", reviewer_id)

        def let_go(writer: Writer, known: str) -> None:
            case = storage.find_case(writer.connection, known, writer.now)
            if case is not None and case.claimed_by.lower() == reviewer.lower():
                storage.change_case(writer.connection, known, claimed_by="", claimed_until=None)

        self._write(case_id, tenant_id, let_go)

    def decide(
        self,
        case_id: str,
        *,
        reviewer_id: str,
        action: Action,
        reason: str = "",
        tenant_id: str | None = None,
    ) -> ReviewDecision:
        """Approve a case, reject it or send it back; the same decision made again is the same decision."""
        does = cast("Action", check_choice("action", action, ACTIONS))
        reviewer = named("reviewer_id", reviewer_id)
        said = checked_text("reason", reason, most=MOST_REASON, empty=True)
        return self._write(
            case_id,
            tenant_id,
            lambda writer, case: self._gate.decide(writer, case, reviewer=reviewer, action=does, reason=said),
            (reviewer, does),
        )

    def release(self, case_id: str, *, reviewer_id: str, release_id: str, tenant_id: str | None = None) -> str:
        """Return the text of an approved case, once; that it left is recorded and signed before.

        Whoever lost the answer asks again under the same `release_id` and gets the same text; under another one the
        case has been released already.
        """
        reviewer, release = named("reviewer_id", reviewer_id), named("release_id", release_id)
        return self._write(
            case_id,
            tenant_id,
            lambda writer, case: self._gate.release(writer, case, reviewer=reviewer, release_id=release),
            (reviewer, "release"),
            signed=True,
        )

    def expire_due(self, limit: int = 1_000) -> int:
        """Record of cases whose time has come to an end that it has, and return how many there were.

        One that was tampered with keeps no other from being recorded; it is raised in the end.
        """
        most = check_count("limit", limit, 1, MOST_AT_ONCE)
        due = self.trail.database.read(lambda connection: storage.due_cases(connection, self._now(), most))
        ended, broken = 0, None
        for case_id in due:
            try:
                ended += self._write(case_id, None, self._gate.expire)
            except (Refused, TrailBroken) as error:
                broken = broken or error
        if broken is not None:
            raise broken
        return ended

    # --- using it again ---------------------------------------------------------------------------------------

    def remember(
        self, case_id: str, *, reviewer_id: str, store: Any = None, key: str = "", tenant_id: str | None = None
    ) -> None:
        """Use a released text again: as the correction of the same claim, or as a fact of a knowledge base.

        Without a store, the case must say what it corrects (`original_text`); with one, the text becomes the tenant's
        fact under `key`, by default the id of the case.
        """
        reviewer = named("reviewer_id", reviewer_id)
        if store is not None and not callable(getattr(store, "add", None)):
            raise ConfigError(f"store must be a knowledge base with an add method, got a {type(store).__name__}")
        fact_key = None if store is None else checked_text("key", key or case_id, most=200)
        text, tenant = self._write(
            case_id,
            tenant_id,
            lambda writer, case: corrections.remember(self._gate, writer, case, reviewer=reviewer, fact_key=fact_key),
            (reviewer, "remember"),
        )
        if store is not None:
            store.add(fact_key, text, tenant_id=tenant)

    def known_correction(self, claim: str, *, tenant_id: str = "") -> Correction | None:
        """Return what people put in the place of this claim before, if they did."""
        said, tenant = checked_text("claim", claim), check_identifier("tenant_id", tenant_id)
        return self.trail.database.read(
            lambda connection: corrections.find_correction(self._gate, connection, said, tenant, self._now())
        )

    def rewriter(
        self, *, tenant_id: str = "", otherwise: Callable[..., Any] | None = None
    ) -> Callable[[str, list[str]], Any]:
        """Return a rewrite function for repairs: released corrections first, else what another one writes."""
        find = functools.partial(self.known_correction, tenant_id=tenant_id)
        return corrections.rewriter(find, otherwise)

    # --- for auditors -----------------------------------------------------------------------------------------

    def replay(self, case_id: str, *, tenant_id: str | None = None) -> Replay:
        """Decide a case again from its rows in the trail, and say what is otherwise than it was recorded."""
        case = self.get_case(case_id, tenant_id=tenant_id)
        return self.trail.database.read(
            lambda connection: replay_case(self._gate, connection, case, self.trail.key, self._now())
        )

    def replay_all(self, *, tenant_id: str | None = None) -> Iterator[Replay]:
        """Decide every case again, the oldest first."""
        last = ""
        while page := self.list_cases(tenant_id=tenant_id, after=last):
            yield from (self.replay(case.case_id) for case in page)
            last = page[-1].case_id

    def forget_texts(self, *, before: datetime, by: str, tenant_id: str = "") -> int:
        """Let the texts of closed cases go that came in before a time; the trail still proves what was decided.

        Texts, reasons of reviewers and metadata are emptied, corrections of these cases are no longer used again.
        Returns of how many cases.
        """
        if not isinstance(before, datetime) or before.tzinfo is None:
            raise ConfigError("before must be a datetime with a time zone")
        moment, who, count = int(before.timestamp() * 1_000_000), named("by", by), 0
        if moment > self._now():
            raise ConfigError("before must not lie in the future; the texts of all closed cases would be lost")
        work = functools.partial(forget_texts, before=moment, by=who)
        while done := self.trail.write(work, check_identifier("tenant_id", tenant_id)):
            count += done
        return count

    # --- the end ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write the last checkpoints and let go of the database."""
        self.trail.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # --- inside -----------------------------------------------------------------------------------------------

    def _write(
        self,
        case_id: str,
        tenant_id: str | None,
        work: Callable[[Writer, str], T | Refused],
        may: tuple[str, str] | None = None,
        *,
        signed: bool = False,
    ) -> T:
        """Do something to a case in its tenant's transaction; a refusal that was recorded is raised behind it.

        `may` is the reviewer and the action whom the owner's function is asked about, before anything is locked.
        """
        case, tenant = named("case_id", case_id), optional_tenant(tenant_id)
        found = self.trail.database.read(lambda connection: storage.tenant_of(connection, case))
        if found is None or tenant not in {None, found}:
            raise UnknownCase("there is no such case" + ("" if tenant is None else " in this tenant"))
        if may is not None:
            self._gate.check_may(*may, tenant_id=found)
        outcome = self.trail.write(lambda writer: work(writer, case), found, signed=signed)
        if isinstance(outcome, Refused):
            raise outcome
        return outcome

    def _claim(self, writer: Writer, case_id: str, reviewer: str, lease: int) -> ReviewCase:
        case = storage.find_case(writer.connection, case_id, writer.now)
        if case is None or case.state != "open":
            raise CaseDecided("only an open case can be claimed" + (f"; it is {case.state}" if case else ""))
        if case.claimed_by and case.claimed_by.lower() != reviewer.lower():
            raise CaseClaimed("another reviewer holds the case")
        if case.reviewers and reviewer.lower() not in case.reviewers:
            raise ReviewerRefused("this reviewer is not among those who may decide this case")
        storage.change_case(writer.connection, case_id, claimed_by=reviewer, claimed_until=writer.now + lease)
        claimed = storage.find_case(writer.connection, case_id, writer.now)
        assert claimed is not None  # noqa: S101 - it was there a line ago, in the same transaction
        return claimed

    def _until(self, lease: float | None) -> int:
        return int((self._lease if lease is None else checked_seconds("lease", lease)) * 1_000_000)

    def _now(self) -> int:
        return int(self._clock() * 1_000_000)
