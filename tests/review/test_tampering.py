"""Whoever can write to the database, but has no key, gets nothing released that people did not approve."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from review_cases import ORIGINAL, REASON, TEXT, Clock, all_rows, approved, place_of, proposal, put_in, released

from director_ai import HumanReviewQueue
from director_ai.errors import (
    AlreadyReleased,
    DirectorError,
    NotAllowed,
    NotApproved,
    RecordError,
    TextChanged,
    TrailBroken,
)
from director_ai.record.canonical import sha256_of
from director_ai.record.chain import START, hash_row
from director_ai.record.tables import AUDIT, CASE, CORRECTION, DECISION
from director_ai.review.cases import ReviewCase, binding_digest

FORGED = "Send the money to the account of the forger."


@pytest.fixture(params=["memory", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """One of each kind of database: the rules are the same in a file."""
    return place_of(request, tmp_path)


@pytest.fixture
def queue(place: str, clock: Clock) -> Iterator[HumanReviewQueue]:
    with closed_in_the_end(HumanReviewQueue(place, clock=clock)) as made:
        yield made


@contextlib.contextmanager
def closed_in_the_end(queue: HumanReviewQueue) -> Iterator[HumanReviewQueue]:
    """Close a queue that refuses to sign what was tampered with."""
    try:
        yield queue
    finally:
        with contextlib.suppress(TrailBroken):
            queue.close()


class Forger:
    """Somebody with all rights on the database, who knows this code, and has not the key."""

    def __init__(self, queue: HumanReviewQueue, case: ReviewCase) -> None:
        self.queue, self.case_id, self.tenant = queue, case.case_id, case.tenant_id
        on = "ON {}" if queue.trail.database.is_postgresql else ""
        for table in ("director_audit", "director_review_decision"):
            for trigger in ("stays", "unchanged"):
                self.sql(sa.text(f"DROP TRIGGER {table}_{trigger} {on.format(table)}"))

    def sql(self, *statements: Any) -> Any:
        def run(connection: sa.Connection) -> Any:
            return [connection.execute(statement) for statement in statements]

        return self.queue.trail.database.write(run, self.tenant)

    def case(self, **values: Any) -> None:
        self.sql(sa.update(CASE).where(CASE.c.case_id == self.case_id).values(**values))

    def consistently(self, **values: Any) -> None:
        """Change a case, and the digest of it with it."""
        self.case(**values)
        self.case(digest=binding_digest(self.queue.get_case(self.case_id), sha256_of))

    def decision(self, **values: Any) -> None:
        self.sql(sa.update(DECISION).where(DECISION.c.case_id == self.case_id).values(**values))

    def rows(self, kind: str = "") -> list[int]:
        about = self.queue.trail.about(self.case_id, self.tenant)
        return [row.sequence for row in about if kind in ("", row.kind)]

    def row(self, of: str, **values: Any) -> None:
        """Change the last row of a kind about the case."""
        here = (AUDIT.c.tenant == self.tenant) & (AUDIT.c.sequence == self.rows(of)[-1])
        self.sql(sa.update(AUDIT).where(here).values(**values))

    def body(self, of: str, **changes: Any) -> None:
        """Change what a row says, and hash all the rows anew."""
        found = next(row for row in self.queue.trail.about(self.case_id, self.tenant)[::-1] if row.kind == of)
        text = json.dumps(found.content | changes, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        self.row(of, body=text, body_hash=sha256_of(text))
        self.rehash()

    def cut(self, kind: str) -> None:
        """Remove the last row of a kind about the case, and leave a gap."""
        here = (AUDIT.c.tenant == self.tenant) & (AUDIT.c.sequence == self.rows(kind)[-1])
        self.sql(sa.delete(AUDIT).where(here))

    def copy(self, number: int, **changes: Any) -> None:
        """Add a row like another one behind the last."""
        rows = all_rows(self.queue, self.tenant)
        like = next(row for row in rows if row.sequence == number)
        values = {
            "tenant": self.tenant,
            "sequence": rows[-1].sequence + 1,
            "at": rows[-1].at,
            "kind": like.kind,
            "subject": like.subject,
            "body": like.body,
            "body_hash": like.body_hash,
            "key": like.key_id,
            "hash": like.hash,
            "seal": like.seal,
        } | changes
        self.sql(sa.insert(AUDIT).values(**values))

    def rehash(self) -> None:
        """Let every row follow from the one before it again; the seals cannot be made."""
        previous = START
        for row in all_rows(self.queue, self.tenant):
            new = hash_row(
                row.tenant_id, row.sequence, row.at, row.kind, row.subject, row.body_hash, row.key_id, previous
            )
            here = (AUDIT.c.tenant == self.tenant) & (AUDIT.c.sequence == row.sequence)
            self.sql(sa.update(AUDIT).where(here).values(hash=new))
            previous = new

    def renumber(self) -> None:
        """Close the gaps, and hash the rows anew."""
        for number, row in enumerate(all_rows(self.queue, self.tenant), 1):
            here = (AUDIT.c.tenant == self.tenant) & (AUDIT.c.sequence == row.sequence)
            self.sql(sa.update(AUDIT).where(here).values(sequence=number))
        self.rehash()

    def say_approved(self) -> None:
        """Make the inbox look as if the case was approved and not released."""
        rows = [row for row in self.queue.trail.about(self.case_id, self.tenant) if row.kind == "case.decided"]
        expires = rows[-1].content["expires_at"] if rows else self.expires_at() + 1
        gone = {"release_id": None, "released_by": "", "released_at": None}
        self.case(state="approved", approvals=1, expires_at=expires, **gone)

    def expires_at(self) -> int:
        query = sa.select(CASE.c.expires_at).where(CASE.c.case_id == self.case_id)
        return int(self.queue.trail.database.read(lambda c: c.scalar(query)))

    def forged_decision(self, **changes: Any) -> None:
        values = {
            "decision_id": f"decision-{sha256_of(f'{self.case_id} eve approve')[:32]}",
            "case_id": self.case_id,
            "tenant": self.tenant,
            "reviewer_id": "eve",
            "action": "approve",
            "reason": "",
            "digest": self.queue.get_case(self.case_id).digest,
            "at": 1_000_000_000_000,
            "audit_sequence": all_rows(self.queue, self.tenant)[-1].sequence + 1,
        } | changes
        self.sql(sa.insert(DECISION).values(**values))


def removed_rejection(forger: Forger) -> None:
    forger.queue.decide(forger.case_id, reviewer_id="bob", action="reject")
    put_in(forger.queue)
    forger.cut("case.decided")
    forger.sql(sa.delete(DECISION).where(DECISION.c.case_id == forger.case_id, DECISION.c.action == "reject"))
    forger.say_approved()


def covered_rejection(forger: Forger) -> None:
    """The rejection is made a row about something else, so that no number is missing."""
    forger.queue.decide(forger.case_id, reviewer_id="bob", action="reject")
    put_in(forger.queue)
    forger.row("case.decided", subject="case-of-another")
    forger.sql(sa.delete(DECISION).where(DECISION.c.case_id == forger.case_id, DECISION.c.action == "reject"))
    forger.say_approved()


def swapped_everywhere(forger: Forger) -> None:
    forger.consistently(candidate_text=FORGED)
    digest = forger.queue.get_case(forger.case_id).digest
    forger.decision(digest=digest)
    for kind in ("case.opened", "case.decided"):
        forger.body(kind, digest=digest, text=sha256_of(FORGED))


def refs(*names: str) -> str:
    return json.dumps(list(names))


DETAILS = '{"metadata":{},"reviewers":[]}'

OF_AN_APPROVED_CASE: dict[str, Callable[[Forger], None]] = {
    "text": lambda forger: forger.case(candidate_text=FORGED),
    "text and digest": lambda forger: forger.consistently(candidate_text=FORGED),
    "text, digest, decisions and rows": swapped_everywhere,
    "what it corrects": lambda forger: forger.case(original_text=None),
    "digest": lambda forger: forger.case(digest="0" * 64),
    "evidence": lambda forger: forger.consistently(evidence_refs=refs("kb://forged")),
    "evidence that is no JSON": lambda forger: forger.case(evidence_refs="kb://forged"),
    "policy": lambda forger: forger.consistently(policy_id="policy.none"),
    "request": lambda forger: forger.consistently(request_id="another"),
    "proposer": lambda forger: forger.consistently(proposer_id=""),
    "required approvals": lambda forger: forger.consistently(required_approvals=7),
    "reviewers": lambda forger: forger.case(details='{"metadata":{"a":1},"reviewers":["eve"]}'),
    "metadata": lambda forger: forger.case(details=DETAILS),
    "details that are no JSON": lambda forger: forger.case(details="{"),
    "details that are a list": lambda forger: forger.case(details="[]"),
    "reason": lambda forger: forger.case(reason="looks good"),
    "retry_of": lambda forger: forger.case(retry_of="case-0"),
    "tenant": lambda forger: forger.case(tenant="other"),
    "state": lambda forger: forger.case(state="open"),
    "state of another release": lambda forger: forger.case(state="released", release_id="x", released_by="eve"),
    "approvals": lambda forger: forger.case(approvals=5),
    "a later end": lambda forger: forger.case(expires_at=forger.expires_at() + 1),
    "an earlier end": lambda forger: forger.case(expires_at=1),
    "a decision removed": lambda forger: forger.sql(sa.delete(DECISION)),
    "a decision added": lambda forger: forger.forged_decision(),
    "a decision's reviewer": lambda forger: forger.decision(reviewer_id="eve"),
    "a decision's reason": lambda forger: forger.decision(reason="another"),
    "a decision's time": lambda forger: forger.decision(at=1),
    "a decision's row": lambda forger: forger.decision(audit_sequence=1),
    "a decision's digest": lambda forger: forger.decision(digest="0" * 64),
    "a decision's tenant": lambda forger: forger.decision(tenant="other"),
    "a decision's id": lambda forger: forger.decision(decision_id="decision-0"),
    "the approval's row removed": lambda forger: forger.cut("case.decided"),
    "the approval's row removed, the rest renumbered": lambda forger: (forger.cut("case.decided"), forger.renumber()),  # type: ignore[dict-item, return-value]
    "the first row removed": lambda forger: forger.cut("case.opened"),
    "the approval's row emptied": lambda forger: forger.row("case.decided", body=None),
    "the first row emptied": lambda forger: forger.row("case.opened", body=None),
    "a row's time": lambda forger: forger.row("case.decided", at=1),
    "a row's kind": lambda forger: forger.row("case.decided", kind="case.remembered"),
    "a row's subject": lambda forger: forger.row("case.decided", subject="case-0"),
    "a row's seal": lambda forger: forger.row("case.decided", seal="0" * 64),
    "a row's key": lambda forger: forger.row("case.decided", key="0" * 16),
    "a row's body": lambda forger: forger.row("case.decided", body="{}"),
    "a row's body and hashes": lambda forger: forger.body("case.decided", expires_at=forger.expires_at() + 10**12),
    "the first row's body and hashes": lambda forger: forger.body("case.opened", required=1, reviewers=["eve"]),
    "the approval twice": lambda forger: forger.copy(forger.rows("case.decided")[0]),
    "the approval twice, hashed": lambda forger: (forger.copy(forger.rows("case.decided")[0]), forger.rehash()),  # type: ignore[dict-item, return-value]
    "a rejection removed": removed_rejection,
    "a rejection covered up": covered_rejection,
}  # fmt: skip


@pytest.fixture
def approved_case(queue: HumanReviewQueue) -> ReviewCase:
    """An approved case, with rows of others before and behind its own."""
    put_in(queue)
    options = {"evidence_refs": ["kb://1"], "proposer_id": "bob", "metadata": {"a": 1}, "reason": "halt"}
    case = approved(queue, request_id="r1", original_text=ORIGINAL, policy_id="policy.one", **options)
    approved(queue)
    return case


@pytest.mark.parametrize("tamper", OF_AN_APPROVED_CASE.values(), ids=OF_AN_APPROVED_CASE.keys())
def test_an_approved_case_that_was_tampered_with_is_not_released(
    queue: HumanReviewQueue, approved_case: ReviewCase, tamper: Callable[[Forger], None]
) -> None:
    tamper(Forger(queue, approved_case))
    with pytest.raises((TextChanged, TrailBroken, NotApproved)) as caught:
        queue.release(approved_case.case_id, reviewer_id="eve", release_id="one")
    assert_says_no_text(caught.value)
    rows = queue.trail.database.read(lambda c: c.execute(sa.select(AUDIT.c.kind)).scalars().all())
    assert "case.released" not in rows


def assert_says_no_text(error: BaseException) -> None:
    said = f"{error!s} {error!r}"
    assert not any(text in said for text in (TEXT, ORIGINAL, REASON, FORGED, "forger"))


def forge_approval(forger: Forger) -> None:
    """Add an approval with everything right that can be made without the key."""
    forger.forged_decision()
    number = forger.rows("case.opened")[0]
    digest = forger.queue.get_case(forger.case_id).digest
    body = {
        "step": 2,
        "decision": f"decision-{sha256_of(f'{forger.case_id} eve approve')[:32]}",
        "reviewer": "eve",
        "action": "approve",
        "reason": "",
        "digest": digest,
        "state": "approved",
        "expires_at": forger.expires_at() + 1,
    }
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    forger.copy(number, kind="case.decided", body=text, body_hash=sha256_of(text))
    forger.rehash()
    forger.say_approved()


def borrow_approval(forger: Forger) -> None:
    """Give the case the approval that was another one's."""
    other = approved(forger.queue, request_id="another")
    rows = forger.queue.trail.about(other.case_id, forger.tenant)
    here = (AUDIT.c.tenant == forger.tenant) & (AUDIT.c.sequence == rows[-1].sequence)
    forger.sql(sa.update(AUDIT).where(here).values(subject=forger.case_id))
    forger.sql(sa.update(DECISION).where(DECISION.c.case_id == other.case_id).values(case_id=forger.case_id))
    forger.say_approved()


@pytest.mark.parametrize(
    "tamper",
    [Forger.say_approved, forge_approval, borrow_approval],
    ids=["the inbox says so", "an approval without the key", "another's approval"],
)
def test_a_case_that_nobody_approved_is_not_released(queue: HumanReviewQueue, tamper: Callable[[Forger], None]) -> None:
    case = put_in(queue, request_id="r1")
    put_in(queue)
    tamper(Forger(queue, case))
    with pytest.raises((TrailBroken, NotApproved)):
        queue.release(case.case_id, reviewer_id="eve", release_id="one")


def hide_release(forger: Forger) -> None:
    forger.cut("case.released")
    forger.say_approved()


def cover_release(forger: Forger) -> None:
    forger.row("case.released", subject="case-of-another")
    forger.say_approved()


def replace_release(forger: Forger) -> None:
    """In the place of the release, put a copy of a row that has nothing to do with it."""
    number = forger.rows("case.released")[-1]
    forger.cut("case.released")
    forger.copy(1, sequence=number)
    forger.say_approved()


@pytest.mark.parametrize(
    "tamper",
    [Forger.say_approved, hide_release, cover_release, replace_release],
    ids=["the inbox says so", "its row removed", "its row made another's", "its row replaced"],
)
@pytest.mark.parametrize("reopened", [False, True], ids=["the same queue", "opened again"])
def test_a_released_case_is_not_released_again(
    shared_place: str, tamper: Callable[[Forger], None], reopened: bool
) -> None:
    with contextlib.ExitStack() as queues:
        queue = queues.enter_context(closed_in_the_end(HumanReviewQueue(shared_place)))
        put_in(queue)
        case = released(queue)
        approved(queue)
        forger = Forger(queue, case)
        tamper(forger)
        releases = len(forger.rows("case.released"))
        if reopened:
            queues.close()
            queue = forger.queue = queues.enter_context(closed_in_the_end(HumanReviewQueue(shared_place)))
        with pytest.raises((TrailBroken, AlreadyReleased)):
            queue.release(case.case_id, reviewer_id="eve", release_id="two")
        assert len(forger.rows("case.released")) == releases


def allow(forger: Forger) -> None:
    decision = json.dumps(proposal().guard_decision.to_dict())
    forger.case(decision=decision)


@pytest.mark.parametrize(
    "tamper",
    [
        allow,
        lambda forger: forger.consistently(decision=json.dumps(proposal().guard_decision.to_dict())),
        lambda forger: forger.consistently(kind="text", decision=None),
        lambda forger: (forger.consistently(kind="text"), forger.body("case.opened", kind="text")),
        Forger.say_approved,
        forge_approval,
    ],
    ids=["decision", "decision and digest", "kind", "kind and rows", "the inbox says approved", "a forged approval"],
)
def test_a_halted_correction_is_neither_approved_nor_released_by_tampering(
    queue: HumanReviewQueue, tamper: Callable[[Forger], None]
) -> None:
    case = queue.enqueue_correction_proposal(proposal("contradiction", 0.8), tenant_id="acme")
    put_in(queue)
    tamper(Forger(queue, case))
    with pytest.raises((TextChanged, TrailBroken, NotAllowed)):
        queue.decide(case.case_id, reviewer_id="eve", action="approve")
    with pytest.raises((TextChanged, TrailBroken, NotAllowed, NotApproved)):
        queue.release(case.case_id, reviewer_id="eve", release_id="one")


def test_the_tables_refuse_a_plain_change(queue: HumanReviewQueue, approved_case: ReviewCase) -> None:
    for statement in (
        sa.update(AUDIT).values(subject="x"),
        sa.delete(AUDIT),
        sa.update(DECISION).values(reviewer_id="eve"),
        sa.delete(DECISION),
    ):
        with pytest.raises(RecordError, match="cannot be changed or removed"):
            queue.trail.database.write(lambda c, what=statement: c.execute(what), "acme")  # type: ignore[misc]
    assert queue.release(approved_case.case_id, reviewer_id="ann", release_id="one") == TEXT


@pytest.mark.parametrize("table", ["candidate_text", "original_text", "correction"])
def test_a_correction_that_was_tampered_with_is_not_used(queue: HumanReviewQueue, table: str) -> None:
    claims = ("The fee is 5 EUR.", "The fee is 6 EUR.")
    cases = [released(queue, candidate_text=f"Corrected {claim}", original_text=claim) for claim in claims]
    queue.remember(cases[0].case_id, reviewer_id="ann")
    forger = Forger(queue, cases[0])
    if table == "correction":
        forger.sql(sa.update(CORRECTION).values(case_id=cases[1].case_id))
    else:
        forger.case(**{table: FORGED})
    rewrite = queue.rewriter(tenant_id="acme", otherwise=lambda clause, evidence: "otherwise")
    for claim in (claims[0], FORGED):
        try:
            said = rewrite(claim, [])
        except DirectorError as error:
            assert_says_no_text(error)
            said = "refused"
        assert said in ("otherwise", "refused")


def test_a_correction_that_nobody_asked_to_be_remembered_is_not_used(queue: HumanReviewQueue) -> None:
    case = released(queue, original_text=ORIGINAL)
    forger, claim = Forger(queue, case), sha256_of(" ".join(ORIGINAL.casefold().split()))
    forger.sql(sa.insert(CORRECTION).values(tenant="acme", claim=claim, case_id=case.case_id))
    assert queue.known_correction(ORIGINAL, tenant_id="acme") is None
    queue.remember(case.case_id, reviewer_id="ann")
    assert queue.known_correction(ORIGINAL, tenant_id="acme") is not None


def test_a_case_that_was_tampered_with_keeps_no_other_from_expiring(queue: HumanReviewQueue, clock: Clock) -> None:
    cases = [put_in(queue, tenant_id=tenant, expires_after=10) for tenant in ("acme", "b", "c")]
    Forger(queue, cases[1]).case(candidate_text=FORGED)
    clock.advance(10)
    with pytest.raises(TextChanged):
        queue.expire_due()
    for tenant in ("acme", "c"):
        assert [row.kind for row in all_rows(queue, tenant)] == ["case.opened", "case.expired"]


def test_a_request_that_is_named_like_a_case_does_the_case_no_harm(queue: HumanReviewQueue) -> None:
    case = approved(queue)
    queue.trail.append("note", case.case_id, {"x": 1}, tenant_id="acme")
    assert queue.release(case.case_id, reviewer_id="ann", release_id="one") == TEXT
