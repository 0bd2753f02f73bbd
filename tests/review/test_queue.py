"""HumanReviewQueue: what each method does, on every database."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from review_cases import ORIGINAL, REASON, TEXT, Clock, all_rows, approved, check_trail, proposal, put_in, released

from director_ai import GroundTruthStore, HumanReviewQueue, ProductionGuard
from director_ai.errors import (
    AlreadyReleased,
    CaseClaimed,
    CaseDecided,
    CaseExpired,
    ConfigError,
    NotAllowed,
    NotApproved,
    Refused,
    ReviewerRefused,
    TextChanged,
)


def test_a_text_goes_from_the_inbox_through_one_approval_out(queue: HumanReviewQueue) -> None:
    case = put_in(queue, evidence_refs=["kb://1", "kb://1", "kb://2"], request_id="r1", reason="clause_redact")
    assert (case.state, case.evidence_refs, case.kind) == ("open", ("kb://1", "kb://2"), "text")
    decision = queue.decide(case.case_id, reviewer_id="ann", action="approve", reason=REASON)
    assert (decision.state, decision.reason, decision.digest) == ("approved", REASON, case.digest)
    assert queue.release(case.case_id, reviewer_id="bob", release_id="one") == TEXT
    seen = queue.get_case(case.case_id)
    assert (seen.state, seen.release_id, seen.released_by, seen.approvals) == ("released", "one", "bob", 1)
    assert queue.decisions(case.case_id) == [decision]
    assert [row.kind for row in all_rows(queue, "acme")] == ["case.opened", "case.decided", "case.released"]
    check_trail(queue)


def test_a_correction_that_was_allowed_goes_the_same_way(queue: HumanReviewQueue) -> None:
    case = queue.enqueue_correction_proposal(proposal(), tenant_id="acme", metadata={"ticket": 7})
    assert (case.kind, case.policy_id, case.metadata) == ("correction", "policy.correction", {"ticket": 7})
    queue.decide(case.case_id, reviewer_id="ann", action="approve")
    assert queue.release(case.case_id, reviewer_id="ann", release_id="one") == TEXT


def test_what_was_put_in_is_there_after_the_queue_was_opened_again(shared_place: str) -> None:
    with HumanReviewQueue(shared_place) as queue:
        cases = [approved(queue, request_id=f"r{number}") for number in range(3)]
        queue.release(cases[0].case_id, reviewer_id="ann", release_id="one")
    with HumanReviewQueue(shared_place) as queue:
        assert [case.state for case in queue.list_cases()] == ["released", "approved", "approved"]
        assert queue.release(cases[0].case_id, reviewer_id="ann", release_id="one") == TEXT
        assert queue.release(cases[1].case_id, reviewer_id="ann", release_id="two") == TEXT
        check_trail(queue)


# --- said again ---------------------------------------------------------------------------------------------------


def test_the_same_request_is_one_case_and_another_one_is_not(queue: HumanReviewQueue) -> None:
    first = put_in(queue, request_id="r1")
    again = put_in(queue, request_id="r1", reason="another", metadata={"a": 1}, required_approvals=2)
    assert again == first, "what was said the first time holds"
    others = [
        put_in(queue, request_id="r2"),
        put_in(queue, request_id="r1", tenant_id="other"),
        put_in(queue, request_id="r1", candidate_text="Something else."),
        put_in(queue, request_id="r1", retry_of=first.case_id),
        put_in(queue),
        put_in(queue),
    ]
    assert len({first.case_id, *(case.case_id for case in others)}) == 7


def test_the_same_decision_and_the_same_release_can_be_asked_for_again(queue: HumanReviewQueue) -> None:
    case = put_in(queue)
    decision = queue.decide(case.case_id, reviewer_id="Ann", action="approve", reason="first")
    assert queue.decide(case.case_id, reviewer_id="ann", action="approve", reason="second") == decision
    for _ in range(3):
        assert queue.release(case.case_id, reviewer_id="ann", release_id="one") == TEXT
    assert queue.decide(case.case_id, reviewer_id="ann", action="approve") == decision
    assert len(all_rows(queue, "acme")) == 3


def test_ids_tell_nothing_of_a_text_without_the_key(queue: HumanReviewQueue) -> None:
    case = put_in(queue, request_id="r1")
    with HumanReviewQueue() as other:
        assert put_in(other, request_id="r1").case_id != case.case_id
    body = queue.trail.rows("acme")[0].body or ""
    assert hashlib.sha256(TEXT.encode()).hexdigest() not in body


# --- n of m -------------------------------------------------------------------------------------------------------


def test_a_reviewer_counts_once_however_the_name_is_written(queue: HumanReviewQueue) -> None:
    case = put_in(queue, required_approvals=2)
    for name in ("ann", "ANN", "Ann"):
        assert queue.decide(case.case_id, reviewer_id=name, action="approve").state == "open"
    with pytest.raises(NotApproved, match="1 of 2"):
        queue.release(case.case_id, reviewer_id="ann", release_id="one")
    assert queue.decide(case.case_id, reviewer_id="bob", action="approve").state == "approved"
    assert queue.release(case.case_id, reviewer_id="ann", release_id="one") == TEXT


def test_only_those_named_may_decide_or_hold(queue: HumanReviewQueue) -> None:
    case = put_in(queue, required_approvals=2, reviewers=["Ann", "bob", "ann"])
    assert case.reviewers == ("ann", "bob")
    for ask in (
        lambda: queue.decide(case.case_id, reviewer_id="eve", action="approve"),
        lambda: queue.decide(case.case_id, reviewer_id="eve", action="reject"),
        lambda: queue.claim(case.case_id, reviewer_id="eve"),
    ):
        with pytest.raises(ReviewerRefused):
            ask()
    assert queue.claim_next(reviewer_id="eve", tenant_id="acme") is None
    for name in ("ANN", "bob"):
        queue.decide(case.case_id, reviewer_id=name, action="approve")
    assert queue.get_case(case.case_id).state == "approved"


def test_the_queue_says_how_many_approvals_are_needed_where_the_case_does_not(place: str) -> None:
    with HumanReviewQueue(place, required_approvals=2) as queue:
        assert put_in(queue).required_approvals == 2
        assert put_in(queue, required_approvals=1).required_approvals == 1


def test_one_rejection_outweighs_all_approvals(queue: HumanReviewQueue) -> None:
    case = put_in(queue, required_approvals=3)
    queue.decide(case.case_id, reviewer_id="ann", action="approve")
    queue.decide(case.case_id, reviewer_id="bob", action="approve")
    queue.decide(case.case_id, reviewer_id="cid", action="reject")
    with pytest.raises(CaseDecided):
        queue.decide(case.case_id, reviewer_id="dee", action="approve")
    with pytest.raises(NotApproved):
        queue.release(case.case_id, reviewer_id="ann", release_id="one")


def test_an_approval_can_be_taken_back_until_the_release(queue: HumanReviewQueue) -> None:
    case = approved(queue)
    queue.decide(case.case_id, reviewer_id="ann", action="reject")
    with pytest.raises(NotApproved):
        queue.release(case.case_id, reviewer_id="ann", release_id="one")
    gone = released(queue)
    with pytest.raises(AlreadyReleased):
        queue.decide(gone.case_id, reviewer_id="ann", action="reject")


# --- claims -------------------------------------------------------------------------------------------------------


def test_who_holds_a_case_decides_it_alone_until_the_lease_ends(queue: HumanReviewQueue, clock: Clock) -> None:
    case = put_in(queue)
    held = queue.claim(case.case_id, reviewer_id="ann", lease=60)
    assert (held.claimed_by, held.claimed_until) == ("ann", held.created_at + timedelta(seconds=60))
    with pytest.raises(CaseClaimed, match="60 more seconds"):
        queue.decide(case.case_id, reviewer_id="bob", action="approve")
    with pytest.raises(CaseClaimed):
        queue.claim(case.case_id, reviewer_id="bob")
    clock.advance(59)
    assert queue.claim(case.case_id, reviewer_id="ANN", lease=60).claimed_by == "ANN"
    clock.advance(60)
    assert queue.get_case(case.case_id).claimed_by == ""
    assert queue.claim(case.case_id, reviewer_id="bob").claimed_by == "bob"
    with pytest.raises(CaseClaimed):
        queue.decide(case.case_id, reviewer_id="ann", action="approve")
    queue.unclaim(case.case_id, reviewer_id="ann")
    assert queue.get_case(case.case_id).claimed_by == "bob"
    queue.unclaim(case.case_id, reviewer_id="bob")
    assert queue.decide(case.case_id, reviewer_id="ann", action="approve").state == "approved"


def test_a_clock_set_back_makes_no_lease_longer_than_it_was(queue: HumanReviewQueue, clock: Clock) -> None:
    case = put_in(queue)
    queue.claim(case.case_id, reviewer_id="ann", lease=60)
    clock.advance(-100_000)
    with pytest.raises(CaseClaimed, match="60 more seconds"):
        queue.decide(case.case_id, reviewer_id="bob", action="approve")


def test_the_oldest_case_is_handed_out_first_and_each_once(queue: HumanReviewQueue, clock: Clock) -> None:
    cases = []
    for _ in range(3):
        cases.append(put_in(queue).case_id)
        clock.advance(1)
    put_in(queue, tenant_id="other")
    handed = [queue.claim_next(reviewer_id=name, tenant_id="acme") for name in ("ann", "ann", "bob", "cid")]
    assert [case.case_id if case else None for case in handed] == [*cases, None]


def test_threads_are_handed_each_case_once(place: str) -> None:
    with HumanReviewQueue(place) as queue:
        cases = {put_in(queue).case_id for _ in range(40)}
        handed: list[str] = []

        def take(name: str) -> None:
            while (case := queue.claim_next(reviewer_id=name, tenant_id="acme")) is not None:
                handed.append(case.case_id)

        threads = [threading.Thread(target=take, args=(f"w{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(handed) == sorted(cases)


def test_threads_that_race_release_once(place: str) -> None:
    with HumanReviewQueue(place) as queue:
        cases = [approved(queue).case_id for _ in range(10)]
        got: list[tuple[str, str]] = []

        def take(name: str) -> None:
            for case_id in cases:
                try:
                    queue.release(case_id, reviewer_id=name, release_id=f"{name}.{case_id}")
                except AlreadyReleased:
                    continue
                got.append((case_id, name))

        threads = [threading.Thread(target=take, args=(f"w{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(case_id for case_id, _ in got) == sorted(cases)
        check_trail(queue)


# --- the end of its time ------------------------------------------------------------------------------------------


def test_a_case_that_nobody_decides_expires(queue: HumanReviewQueue, clock: Clock) -> None:
    case = put_in(queue, expires_after=100)
    clock.advance(100)
    assert queue.get_case(case.case_id).state == "expired"
    for ask in (
        lambda: queue.decide(case.case_id, reviewer_id="ann", action="approve"),
        lambda: queue.release(case.case_id, reviewer_id="ann", release_id="one"),
    ):
        with pytest.raises(CaseExpired, match=r"nobody decided in time.*retry_of"):
            ask()
    clock.advance(-1_000)  # what was recorded stays
    assert queue.get_case(case.case_id).state == "expired"
    again = put_in(queue, retry_of=case.case_id)
    assert queue.decide(again.case_id, reviewer_id="ann", action="approve").state == "approved"


def test_an_approval_that_is_not_used_expires(place: str, clock: Clock) -> None:
    with HumanReviewQueue(place, clock=clock, approval_expires_after=50) as queue:
        case = approved(queue)
        clock.advance(50)
        with pytest.raises(CaseExpired, match="approval was not used in time"):
            queue.release(case.case_id, reviewer_id="ann", release_id="one")
        with pytest.raises(CaseExpired):
            queue.release(case.case_id, reviewer_id="ann", release_id="one")
        assert [row.kind for row in all_rows(queue, "acme")][-1] == "case.expired"


def test_a_release_that_was_made_does_not_expire(queue: HumanReviewQueue, clock: Clock) -> None:
    case = approved(queue)
    queue.release(case.case_id, reviewer_id="ann", release_id="one")
    clock.advance(10_000_000)
    assert queue.release(case.case_id, reviewer_id="ann", release_id="one") == TEXT


def test_due_cases_are_recorded_as_expired_together(queue: HumanReviewQueue, clock: Clock) -> None:
    for tenant in ("acme", "acme", "other"):
        put_in(queue, tenant_id=tenant, expires_after=10)
    stays = put_in(queue, expires_after=1_000)
    clock.advance(10)
    assert (queue.expire_due(2), queue.expire_due(), queue.expire_due()) == (2, 1, 0)
    assert len(queue.list_cases(state="expired")) == 3
    assert queue.list_cases(state="open") == [queue.get_case(stays.case_id)]


def test_queues_whose_clocks_are_hours_apart_agree_on_what_was_recorded(shared_place: str) -> None:
    fast, slow = Clock(1_000_000), Clock(1_000_000 - 9 * 3_600)
    options = {"expires_after": 3_600, "approval_expires_after": 3_600}
    with (
        HumanReviewQueue(shared_place, clock=fast, **options) as ahead,  # type: ignore[arg-type]
        HumanReviewQueue(shared_place, clock=slow, **options) as behind,  # type: ignore[arg-type]
    ):
        case = put_in(ahead)
        assert behind.decide(case.case_id, reviewer_id="ann", action="approve").at == case.created_at
        fast.advance(3_600)
        with pytest.raises(CaseExpired):
            ahead.release(case.case_id, reviewer_id="ann", release_id="one")
        with pytest.raises(CaseExpired):  # its own clock still says that there is time
            behind.release(case.case_id, reviewer_id="ann", release_id="one")
        check_trail(behind)


# --- lists --------------------------------------------------------------------------------------------------------


def test_lists_come_in_pages_without_a_gap_or_a_repetition(queue: HumanReviewQueue, clock: Clock) -> None:
    made = []
    for number in range(10):
        made.append(put_in(queue, tenant_id=("acme", "other")[number % 2]).case_id)
        clock.advance(number % 3)
    for tenant in (None, "acme"):
        seen: list[str] = []
        while page := queue.list_cases(tenant_id=tenant, after=seen[-1] if seen else "", limit=3):
            seen += [case.case_id for case in page]
        assert sorted(seen) == sorted(made[::1] if tenant is None else made[::2])
        assert len(seen) == len(set(seen))


def test_lists_by_state_are_what_the_states_are(queue: HumanReviewQueue) -> None:
    opened, ready, gone = put_in(queue), approved(queue), released(queue)
    back = put_in(queue)
    queue.decide(back.case_id, reviewer_id="ann", action="request_retry")
    for state, case in (("open", opened), ("approved", ready), ("released", gone), ("retry_requested", back)):
        assert [each.case_id for each in queue.list_cases(state=state, tenant_id="acme")] == [case.case_id]  # type: ignore[arg-type]
    assert queue.list_cases(state="rejected") == []


# --- tries again --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("cite the source of the period", True),
        ("wrong: " + TEXT, False),
        ("It says “the refund takes FOURTEEN   days”, which is wrong", False),
        ("not " + ORIGINAL[4:40], False),
        ("", True),
    ],
    ids=["words of one's own", "the whole text", "a part of it", "what it corrects", "none"],
)
def test_a_retry_payload_says_why_and_never_what_was_written(queue: HumanReviewQueue, reason: str, kept: bool) -> None:
    case = put_in(queue, original_text=ORIGINAL, evidence_refs=["kb://1"], request_id="r1", metadata={"text": TEXT})
    with pytest.raises(Refused, match="no retry was requested"):
        queue.retry_payload(case.case_id)
    decision = queue.decide(case.case_id, reviewer_id="ann", action="request_retry", reason=reason)
    payload = queue.retry_payload(case.case_id)
    assert payload["review_reason"] == (reason if kept else "")
    assert (payload["retry_of"], payload["decision_id"]) == (case.case_id, decision.decision_id)
    assert payload["evidence_refs"] == ["kb://1"]
    said = json.dumps(payload).lower()
    assert not any(part in said for part in ("fourteen days", "two hours", "clause nine"))


def test_a_short_text_is_not_in_the_payload_either(queue: HumanReviewQueue) -> None:
    case = put_in(queue, candidate_text="Paris.")
    queue.decide(case.case_id, reviewer_id="ann", action="request_retry", reason="It is not Paris, it is Rome")
    assert queue.retry_payload(case.case_id)["review_reason"] == ""


def test_the_next_try_is_a_case_of_its_own(queue: HumanReviewQueue) -> None:
    case = put_in(queue, request_id="r1")
    queue.decide(case.case_id, reviewer_id="ann", action="request_retry")
    again = put_in(queue, request_id="r1", retry_of=case.case_id, candidate_text="The refund takes ten days.")
    assert (again.retry_of, again.state) == (case.case_id, "open")
    queue.decide(again.case_id, reviewer_id="ann", action="approve")
    assert queue.release(again.case_id, reviewer_id="ann", release_id="one") == "The refund takes ten days."
    assert queue.get_case(case.case_id).state == "retry_requested"


# --- halted corrections -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("verdict", "score"), [("contradiction", 0.7), ("supported", 0.5), ("blocked", 0.95)])
def test_no_approval_stands_in_for_a_consensus_that_did_not_allow(
    queue: HumanReviewQueue, verdict: str, score: float
) -> None:
    case = queue.enqueue_correction_proposal(proposal(verdict, score), tenant_id="acme")
    with pytest.raises(NotAllowed, match="not 'allow'"):
        queue.decide(case.case_id, reviewer_id="ann", action="approve")
    with pytest.raises(NotAllowed):
        queue.release(case.case_id, reviewer_id="ann", release_id="one")
    queue.decide(case.case_id, reviewer_id="ann", action="request_retry")
    same = queue.enqueue_correction_proposal(proposal(verdict, score), tenant_id="acme", retry_of=case.case_id)
    with pytest.raises(NotAllowed):
        queue.decide(same.case_id, reviewer_id="ann", action="approve")


def test_a_proposal_whose_text_was_exchanged_does_not_come_in(queue: HumanReviewQueue) -> None:
    with pytest.raises(TextChanged, match="propose the changed text anew"):
        queue.enqueue_correction_proposal(dataclasses.replace(proposal(), candidate_text="Something else."))
    assert queue.list_cases() == []


@pytest.fixture(scope="module")
def guard() -> ProductionGuard:
    made = ProductionGuard()
    made.load_facts({"shipping": "Shipping costs 5 EUR."}, tenant_id="acme")
    return made


# --- using it again -----------------------------------------------------------------------------------------------


def test_a_reviewed_error_is_corrected_without_a_review_the_next_time(
    queue: HumanReviewQueue, guard: ProductionGuard
) -> None:
    wrong, right = "Shipping costs 7 EUR.", "Shipping costs 5 EUR."
    case = released(queue, candidate_text=right, original_text=wrong)
    asked: list[str] = []

    def otherwise(clause: str, evidence: list[str]) -> str:
        asked.append(clause)
        return evidence[0]

    rewrite = queue.rewriter(tenant_id="acme", otherwise=otherwise)
    assert guard.repair_stream("", wrong, rewrite_fn=rewrite, tenant_id="acme").repaired_text == right
    assert len(asked) == 1
    queue.remember(case.case_id, reviewer_id="ann")
    assert guard.repair_stream("", wrong, rewrite_fn=rewrite, tenant_id="acme").repaired_text == right
    assert len(asked) == 1
    known = queue.known_correction("shipping  COSTS 7 eur.", tenant_id="acme")
    assert known is not None
    assert (known.text, known.case_id) == (right, case.case_id)
    assert queue.known_correction(wrong, tenant_id="other") is None
    assert queue.known_correction("Shipping costs 8 EUR.", tenant_id="acme") is None


def test_a_correction_that_the_facts_do_not_bear_out_is_not_used(
    queue: HumanReviewQueue, guard: ProductionGuard
) -> None:
    case = released(queue, candidate_text="Shipping costs 9 EUR.", original_text="Shipping costs 7 EUR.")
    queue.remember(case.case_id, reviewer_id="ann")
    repaired = guard.repair_stream(
        "", "Shipping costs 7 EUR.", rewrite_fn=queue.rewriter(tenant_id="acme"), tenant_id="acme"
    )
    assert "9 EUR" not in repaired.repaired_text
    assert "7 EUR" not in repaired.repaired_text


def test_the_last_correction_of_a_claim_is_the_one_that_is_used(queue: HumanReviewQueue) -> None:
    for text in ("It takes ten days.", "It takes twelve days."):
        case = released(queue, candidate_text=text, original_text=ORIGINAL)
        queue.remember(case.case_id, reviewer_id="ann")
        queue.remember(case.case_id, reviewer_id="ann")
        known = queue.known_correction(ORIGINAL, tenant_id="acme")
        assert known is not None
        assert known.text == text


def test_a_released_text_becomes_a_fact(queue: HumanReviewQueue) -> None:
    store = GroundTruthStore()
    case = released(queue)
    queue.remember(case.case_id, reviewer_id="ann", store=store, key="refund")
    assert [fact.text for fact in store.facts(tenant_id="acme")] == [TEXT]
    row = all_rows(queue, "acme")[-1]
    assert (row.kind, row.content["as"]) == ("case.remembered", "fact")
    assert "refund" not in (row.body or "")


# --- letting go ---------------------------------------------------------------------------------------------------


def test_texts_that_were_let_go_are_gone_and_what_was_decided_is_not(queue: HumanReviewQueue, clock: Clock) -> None:
    gone, kept = released(queue, original_text=ORIGINAL, metadata={"a": 1}), approved(queue)
    queue.remember(gone.case_id, reviewer_id="ann")
    before = kept.created_at + timedelta(seconds=1)
    with pytest.raises(ConfigError, match="future"):
        queue.forget_texts(before=before, by="dpo", tenant_id="acme")
    clock.advance(2)
    assert queue.forget_texts(before=before, by="dpo", tenant_id="acme") == 1
    seen = queue.get_case(gone.case_id)
    assert (seen.candidate_text, seen.original_text, seen.metadata, seen.state) == (None, None, {}, "released")
    assert [each.reason for each in queue.decisions(gone.case_id)] == [None]
    assert queue.known_correction(ORIGINAL, tenant_id="acme") is None
    with pytest.raises(CaseExpired, match="let go"):
        queue.release(gone.case_id, reviewer_id="ann", release_id=gone.release_id)
    assert queue.release(kept.case_id, reviewer_id="ann", release_id="one") == TEXT
    assert queue.replay(gone.case_id).identical
    check_trail(queue)


# --- the end ------------------------------------------------------------------------------------------------------


def test_checkpoints_and_the_key_are_beside_the_file(tmp_path: Path) -> None:
    with HumanReviewQueue(tmp_path / "reviews.db") as queue:
        put_in(queue)
    assert {path.name for path in tmp_path.iterdir()} >= {"reviews.db", "reviews.db.checkpoints", "reviews.db.key"}
