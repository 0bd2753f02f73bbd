"""The catalogue of bad input for approvals: each refusal has its type, says what is missing, and repeats no text."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from review_cases import (
    LONG,
    NEEDLES,
    REASON,
    TEXT,
    Clock,
    Hostile,
    all_rows,
    approved,
    forged,
    place_of,
    proposal,
    put_in,
    refused,
    released,
)

from director_ai import HumanReviewQueue
from director_ai.core.runtime.correction import CorrectionProposal
from director_ai.errors import (
    AlreadyReleased,
    ApprovalReused,
    CaseClaimed,
    CaseDecided,
    CaseExpired,
    ConfigError,
    DirectorError,
    NotAllowed,
    NotApproved,
    RecordError,
    Refused,
    ReviewerRefused,
    SelfApproval,
    TextChanged,
    UnknownCase,
    UnknownOption,
)

Ask = Callable[[HumanReviewQueue], Any]


@pytest.fixture(params=["memory", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """One of each kind of database: the rules are the same in a file."""
    return place_of(request, tmp_path)


# --- the gate -----------------------------------------------------------------------------------------------------


def of_another_tenant(queue: HumanReviewQueue) -> Any:
    case = approved(queue)
    return queue.release(case.case_id, reviewer_id="ann", release_id="one", tenant_id="other")


def reused_release(queue: HumanReviewQueue) -> Any:
    queue.release(approved(queue).case_id, reviewer_id="ann", release_id="one")
    return queue.release(approved(queue).case_id, reviewer_id="ann", release_id="one")


def held(queue: HumanReviewQueue) -> Any:
    case = put_in(queue)
    queue.claim(case.case_id, reviewer_id="bob")
    return queue.decide(case.case_id, reviewer_id="ann", action="approve", reason=REASON)


def rejected_then(action: str) -> Ask:
    def ask(queue: HumanReviewQueue) -> Any:
        case = put_in(queue)
        queue.decide(case.case_id, reviewer_id="ann", action="reject")
        if action == "release":
            return queue.release(case.case_id, reviewer_id="ann", release_id="one")
        return queue.decide(case.case_id, reviewer_id="ann", action=action, reason=REASON)  # type: ignore[arg-type]

    return ask


def decide(queue: HumanReviewQueue, reviewer: str, action: Any = "approve", **options: Any) -> Any:
    return queue.decide(put_in(queue, **options).case_id, reviewer_id=reviewer, action=action, reason=REASON)


def halted(queue: HumanReviewQueue) -> str:
    return queue.enqueue_correction_proposal(proposal("contradiction", 0.8), tenant_id="acme").case_id


GATE: dict[str, tuple[Ask, type[DirectorError], str]] = {
    "release before approve": (
        lambda q: q.release(put_in(q).case_id, reviewer_id="ann", release_id="one"), NotApproved, "is open: it has 0 of 1",
    ),
    "release twice": (
        lambda q: q.release(released(q).case_id, reviewer_id="ann", release_id="two"), AlreadyReleased, "each approval releases once",
    ),
    "release by another under the same id": (
        lambda q: q.release(released(q).case_id, reviewer_id="bob", release_id="two"), AlreadyReleased, "released already",
    ),
    "a release id used for another case": (reused_release, ApprovalReused, "every release needs its own"),
    "release in another tenant": (of_another_tenant, UnknownCase, "no such case in this tenant"),
    "release of no case": (lambda q: q.release("case-0", reviewer_id="ann", release_id="one"), UnknownCase, "there is no such case"),
    "release after reject": (rejected_then("release"), NotApproved, "is rejected"),
    "approve after reject": (rejected_then("approve"), CaseDecided, "is rejected already; put a new text in"),
    "send back after reject": (rejected_then("request_retry"), CaseDecided, "is rejected already"),
    "approve what is approved": (
        lambda q: q.decide(approved(q).case_id, reviewer_id="bob", action="approve"), CaseDecided, "release it",
    ),
    "decide what is released": (
        lambda q: q.decide(released(q).case_id, reviewer_id="bob", action="approve"), AlreadyReleased, "can no longer be decided",
    ),
    "the proposer approves": (lambda q: decide(q, "bob", proposer_id="bob"), SelfApproval, "another reviewer must"),
    "the proposer in capitals": (lambda q: decide(q, "BOB", proposer_id="bob"), SelfApproval, "another reviewer must"),
    "the proposer in small letters": (lambda q: decide(q, "bob", proposer_id="Bob"), SelfApproval, "another reviewer must"),
    "a reviewer who is not named": (lambda q: decide(q, "eve", reviewers=["ann"]), ReviewerRefused, "not among those who may decide"),
    "a case that another holds": (held, CaseClaimed, "another reviewer holds the case for 900 more seconds"),
    "an action that does not exist": (lambda q: decide(q, "ann", "aprove"), UnknownOption, "did you mean 'approve'"),
    "an action that is text": (lambda q: decide(q, "ann", TEXT), UnknownOption, "a str that is no name"),
    "no action": (lambda q: decide(q, "ann", None), UnknownOption, "a NoneType that is no name"),
    "an action in a list": (lambda q: decide(q, "ann", ["approve"]), UnknownOption, "a list that is no name"),
    "a reason with NUL": (
        lambda q: q.decide(put_in(q).case_id, reviewer_id="ann", action="approve", reason=REASON + "\0"), ConfigError, "without NUL",
    ),
    "a reason of 10 KB": (
        lambda q: q.decide(put_in(q).case_id, reviewer_id="ann", action="approve", reason=LONG), ConfigError, "at most 4000",
    ),
    "a halted correction approved": (
        lambda q: q.decide(halted(q), reviewer_id="ann", action="approve"), NotAllowed, "decided 'halt', not 'allow'",
    ),
    "a halted correction released": (
        lambda q: q.release(halted(q), reviewer_id="ann", release_id="one"), NotAllowed, "request a retry",
    ),
    "claim of what is approved": (
        lambda q: q.claim(approved(q).case_id, reviewer_id="ann"), CaseDecided, "only an open case can be claimed; it is approved",
    ),
    "a lease without an end": (
        lambda q: q.claim(put_in(q).case_id, reviewer_id="ann", lease=math.inf), ConfigError, "lease must be a number",
    ),
    "remember what is not released": (
        lambda q: q.remember(approved(q).case_id, reviewer_id="ann"), Refused, "only a released text is used again; the case is approved",
    ),
    "remember what corrects nothing": (
        lambda q: q.remember(released(q).case_id, reviewer_id="ann"), Refused, "enqueue it with original_text",
    ),
    "remember in what is no store": (
        lambda q: q.remember(released(q).case_id, reviewer_id="ann", store=[]), ConfigError, "knowledge base with an add method",
    ),
    "a retry that nobody asked for": (lambda q: q.retry_payload(put_in(q).case_id), Refused, "no retry was requested: the case is open"),
    "a claim that is blank": (lambda q: q.known_correction(" "), ConfigError, "claim must not be blank"),
    "a list of an unknown state": (lambda q: q.list_cases(state="aproved"), UnknownOption, "did you mean 'approved'"),  # type: ignore[arg-type]
    "a list of no cases": (lambda q: q.list_cases(limit=0), ConfigError, "limit must be at least 1"),
    "a list of a million cases": (lambda q: q.list_cases(limit=10**6), ConfigError, "limit must be at most 10000"),
    "a list after no case": (lambda q: q.list_cases(after="case-0"), UnknownCase, "`after` names no case"),
    "a list after another tenant's case": (
        lambda q: q.list_cases(after=put_in(q).case_id, tenant_id="other"), UnknownCase, "`after` names no case of this tenant",
    ),
    "a proposal that is a dict": (lambda q: q.enqueue_correction_proposal(proposal().to_dict()), ConfigError, "CorrectionProposal, got a dict"),  # type: ignore[arg-type]
    "a forged decision": (lambda q: q.enqueue_correction_proposal(forged()), TextChanged, "its signals lead to 'halt'; propose"),
    "a proposal with another text": (
        lambda q: q.enqueue_correction_proposal(dataclasses.replace(proposal(), candidate_text="Other.")), TextChanged, "propose the changed text anew",
    ),
    "a proposal with an unknown option": (
        lambda q: q.enqueue_correction_proposal(proposal(), reviewer=["ann"]), UnknownOption, "did you mean 'reviewers'",  # type: ignore[call-arg]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("ask", "error", "says"), GATE.values(), ids=GATE.keys())
def test_the_gate_says_why_it_stays_shut(
    queue: HumanReviewQueue, ask: Ask, error: type[DirectorError], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        ask(queue)
    assert type(caught.value) is error
    assert not any(needle in f"{caught.value!s} {caught.value!r}" for needle in NEEDLES)


def test_a_proposal_of_a_kind_of_ones_own_is_refused(memory_queue: HumanReviewQueue) -> None:
    class Own(CorrectionProposal):
        __slots__ = ()

    given = proposal()
    own = Own(given.proposal_id, given.candidate_text, given.evidence_refs, given.guard_decision)
    refused(memory_queue, lambda queue: queue.enqueue_correction_proposal(own), ConfigError, "got a Own")
    assert memory_queue.list_cases() == []


# --- strings that lie ---------------------------------------------------------------------------------------------


def test_strings_that_lie_get_nothing_approved(queue: HumanReviewQueue) -> None:
    case = put_in(queue, proposer_id=Hostile("bob"), tenant_id=Hostile("acme"), candidate_text=Hostile(TEXT))
    assert (type(case.candidate_text), case.proposer_id, case.tenant_id) == (str, "bob", "acme")
    asks: list[tuple[type[DirectorError], Callable[[], Any]]] = [
        (UnknownOption, lambda: queue.decide(case.case_id, reviewer_id="bob", action=Hostile("approved"))),  # type: ignore[arg-type]
        (SelfApproval, lambda: queue.decide(case.case_id, reviewer_id="bob", action=Hostile("approve"))),  # type: ignore[arg-type]
        (SelfApproval, lambda: queue.decide(case.case_id, reviewer_id=Hostile("bob"), action="approve")),
        (UnknownCase, lambda: queue.get_case(case.case_id, tenant_id=Hostile("other"))),
        (
            UnknownCase,
            lambda: queue.decide(case.case_id, reviewer_id="ann", action="approve", tenant_id=Hostile("other")),
        ),
        (UnknownOption, lambda: queue.list_cases(state=Hostile("x"))),  # type: ignore[arg-type]
    ]
    for error, ask in asks:
        with pytest.raises(error):
            ask()
    assert queue.list_cases(tenant_id=Hostile("other")) == []
    assert queue.claim_next(reviewer_id="ann", tenant_id=Hostile("other")) is None
    assert (
        queue.decide(Hostile(case.case_id), reviewer_id=Hostile("ann"), action=Hostile("approve")).reviewer_id == "ann"
    )  # type: ignore[arg-type]
    assert queue.release(Hostile(case.case_id), reviewer_id="ann", release_id=Hostile("one")) == TEXT
    assert queue.get_case(case.case_id).release_id == "one"


def test_what_is_changed_after_the_call_changes_nothing(queue: HumanReviewQueue) -> None:
    refs, metadata, reviewers = ["kb://1"], {"a": {"b": [1]}}, ["ann"]
    case = put_in(queue, evidence_refs=refs, metadata=metadata, reviewers=reviewers)
    refs.append("kb://2")
    metadata["a"]["b"].append(2)
    reviewers.append("eve")
    case.metadata["a"] = "changed"
    seen = queue.get_case(case.case_id)
    assert (seen.evidence_refs, seen.metadata, seen.reviewers) == (("kb://1",), {"a": {"b": [1]}}, ("ann",))
    assert queue.decide(case.case_id, reviewer_id="ann", action="approve").state == "approved"


# --- who may ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [False, None, 1, "yes", [True]], ids=repr)
def test_only_true_lets_a_reviewer_act(place: str, answer: Any) -> None:
    asked: list[tuple[str, str, str]] = []

    def authorize(*who: str) -> Any:
        asked.append(who)  # type: ignore[arg-type]
        return answer

    with HumanReviewQueue(place, authorize=authorize) as queue:
        case_id = put_in(queue).case_id
        for ask in (
            lambda: queue.decide(case_id, reviewer_id="ann", action="approve"),
            lambda: queue.decide(case_id, reviewer_id="ann", action="reject"),
            lambda: queue.release(case_id, reviewer_id="ann", release_id="one"),
            lambda: queue.claim(case_id, reviewer_id="ann"),
            lambda: queue.claim_next(reviewer_id="ann", tenant_id="acme"),
            lambda: queue.remember(case_id, reviewer_id="ann"),
        ):
            with pytest.raises(ReviewerRefused, match="may not"):
                ask()
        assert queue.get_case(case_id).state == "open"
    assert [each[2] for each in asked] == ["approve", "reject", "release", "claim", "claim", "remember"]
    assert {each[:2] for each in asked} == {("ann", "acme")}


def test_a_function_that_fails_lets_nobody_act_and_its_words_are_not_repeated(memory_queue: HumanReviewQueue) -> None:
    def authorize(*who: str) -> bool:
        raise RuntimeError(TEXT)

    with HumanReviewQueue(authorize=authorize) as queue:
        case = put_in(queue)
        with pytest.raises(
            ReviewerRefused, match="authorize failed with RuntimeError, so nobody may approve"
        ) as caught:
            queue.decide(case.case_id, reviewer_id="ann", action="approve")
        assert caught.value.__cause__ is None


def test_a_function_that_asks_the_queue_gets_an_answer(place: str) -> None:
    queues: list[HumanReviewQueue] = []

    def authorize(reviewer: str, tenant: str, action: str) -> bool:
        put_in(queues[0], tenant_id=tenant, request_id="asked")
        return len(queues[0].list_cases(tenant_id=tenant)) == 2

    with HumanReviewQueue(place, authorize=authorize) as queue:
        queues.append(queue)
        case = put_in(queue)
        assert queue.decide(case.case_id, reviewer_id="ann", action="approve").state == "approved"


# --- settings and clocks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"required_approvals": 0}, "required_approvals must be at least 1, got 0"),
        ({"required_approvals": None}, "required_approvals must be a whole number"),
        ({"expires_after": None}, "expires_after must be a number"),
        ({"approval_expires_after": math.inf}, "approval_expires_after must be a number"),
        ({"approval_expires_after": -1}, "approval_expires_after must be a number"),
        ({"lease": "900"}, "lease must be a number"),
        ({"authorize": "ann"}, "authorize must be a function, got a str"),
        ({"clock": 7}, "clock must be a function, got a int"),
    ],
    ids=lambda value: re.sub(r"[^a-z_]+", " ", str(value)) if isinstance(value, dict) else "",
)
def test_a_queue_that_cannot_be_right_is_not_made(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        HumanReviewQueue(**options)


@pytest.mark.parametrize("now", [math.nan, math.inf, -1.0, 1e15, "now", None, True], ids=repr)
def test_a_clock_that_tells_no_time_gets_nothing_recorded(
    memory_queue: HumanReviewQueue, clock: Clock, now: Any
) -> None:
    case = approved(memory_queue)
    clock.now = now
    with pytest.raises(ConfigError, match="what the clock says must be a number"):
        memory_queue.release(case.case_id, reviewer_id="ann", release_id="one")
    clock.now = 1_000_000.0
    assert memory_queue.release(case.case_id, reviewer_id="ann", release_id="one") == TEXT


def test_a_clock_far_ahead_ends_what_was_open_and_does_no_other_harm(queue: HumanReviewQueue, clock: Clock) -> None:
    case = put_in(queue)
    clock.now = 190_000_000_000.0
    with pytest.raises(CaseExpired):
        queue.decide(case.case_id, reviewer_id="ann", action="approve")
    late = approved(queue)
    clock.now = 1_000_000.0  # what was recorded is not undone by a clock that goes back
    assert queue.release(late.case_id, reviewer_id="ann", release_id="one") == TEXT
    assert [row.at for row in all_rows(queue, "acme")] == sorted(row.at for row in all_rows(queue, "acme"))


def test_a_closed_queue_says_so(place: str) -> None:
    queue = HumanReviewQueue(place)
    queue.close()
    queue.close()
    with pytest.raises(RecordError, match="closed"):
        put_in(queue)
