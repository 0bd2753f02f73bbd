"""What a tenant put in is seen by that tenant alone: not in another's reads, the trail, errors or logs."""

from __future__ import annotations

import contextlib
import logging
from typing import Any

import pytest
import sqlalchemy as sa
from review_cases import Clock

from director_ai import HumanReviewQueue
from director_ai.errors import DirectorError, TrailBroken, UnknownCase
from director_ai.record.tables import AUDIT

TENANTS = [f"tenant-{number}" for number in range(8)]


def canary(tenant: str, where: str) -> str:
    return f"The canary of {tenant} sings in its {where}."


def filled(queue: HumanReviewQueue, tenant: str) -> str:
    """Every text that a tenant can put in, in a case that goes all the way."""
    texts = {name: canary(tenant, name) for name in ("text", "reason", "metadata", "original", "decision")}
    case = queue.enqueue_case(
        candidate_text=texts["text"],
        original_text=texts["original"],
        reason=texts["reason"],
        metadata={"note": texts["metadata"]},
        tenant_id=tenant,
        request_id="same",
    )
    queue.claim(case.case_id, reviewer_id="ann")
    queue.decide(case.case_id, reviewer_id="ann", action="approve", reason=texts["decision"], tenant_id=tenant)
    queue.release(case.case_id, reviewer_id="ann", release_id="same", tenant_id=tenant)
    queue.remember(case.case_id, reviewer_id="ann", tenant_id=tenant)
    back = queue.enqueue_case(candidate_text=texts["text"], tenant_id=tenant, reason=texts["reason"])
    queue.decide(back.case_id, reviewer_id="ann", action="request_retry", reason=texts["decision"])
    return case.case_id


def test_tenants_see_their_own_and_the_trail_sees_none(
    queue: HumanReviewQueue, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    cases = {tenant: filled(queue, tenant) for tenant in TENANTS}
    for tenant in TENANTS:
        others = [other for other in TENANTS if other != tenant]
        listed = queue.list_cases(tenant_id=tenant, limit=1_000)
        seen: list[Any] = [case.to_dict(include_candidate=True) for case in listed]
        seen += [queue.get_case(case.case_id, tenant_id=tenant).to_dict(include_candidate=True) for case in listed]
        seen += [each.to_dict() for case in listed for each in queue.decisions(case.case_id, tenant_id=tenant)]
        seen += [queue.retry_payload(case.case_id) for case in listed if case.state == "retry_requested"]
        seen += [queue.known_correction(canary(other, "original"), tenant_id=tenant) for other in others]
        seen += [errors_of(queue, cases[other], tenant) for other in others]
        said = repr(seen)
        assert len(listed) == 2
        assert f"The canary of {tenant} sings in its text" in said
        assert not any(f"canary of {other} sings" in said for other in others)
        known = queue.known_correction(canary(tenant, "original"), tenant_id=tenant)
        assert known is not None
        assert known.text == canary(tenant, "text")
    rows = queue.trail.database.read(lambda connection: connection.execute(sa.select(AUDIT)).fetchall())
    assert len(rows) == 6 * len(TENANTS)
    assert "sings" not in repr(rows)
    assert "sings" not in caplog.text + "".join(capfd.readouterr())


def errors_of(queue: HumanReviewQueue, case_id: str, tenant: str) -> list[str]:
    """Everything that a tenant can try on another one's case."""
    said = []
    for ask in (
        lambda: queue.get_case(case_id, tenant_id=tenant),
        lambda: queue.decisions(case_id, tenant_id=tenant),
        lambda: queue.retry_payload(case_id, tenant_id=tenant),
        lambda: queue.claim(case_id, reviewer_id="eve", tenant_id=tenant),
        lambda: queue.unclaim(case_id, reviewer_id="eve", tenant_id=tenant),
        lambda: queue.decide(case_id, reviewer_id="eve", action="approve", tenant_id=tenant),
        lambda: queue.release(case_id, reviewer_id="ann", release_id="same", tenant_id=tenant),
        lambda: queue.remember(case_id, reviewer_id="eve", tenant_id=tenant),
        lambda: queue.list_cases(after=case_id, tenant_id=tenant),
        lambda: queue.enqueue_case(candidate_text="next", retry_of=case_id, tenant_id=tenant),
    ):
        with pytest.raises(UnknownCase) as caught:
            ask()
        said.append(f"{caught.value!s} {caught.value!r}")
    return said


def test_the_tenant_without_a_name_is_one_of_its_own(queue: HumanReviewQueue) -> None:
    case = queue.enqueue_case(candidate_text=canary("nobody", "text"))
    with pytest.raises(UnknownCase):
        queue.get_case(case.case_id, tenant_id="acme")
    assert queue.list_cases(tenant_id="") == [queue.get_case(case.case_id)]
    assert queue.list_cases(tenant_id="acme") == []


def test_tenants_have_release_ids_of_their_own(queue: HumanReviewQueue) -> None:
    for tenant in TENANTS[:3]:
        filled(queue, tenant)  # each under the release id "same"
    assert len(queue.list_cases(state="released")) == 3


def test_a_representation_holds_no_text(queue: HumanReviewQueue) -> None:
    case_id = filled(queue, "acme")
    case, decision = queue.get_case(case_id), queue.decisions(case_id)[0]
    for shown in (
        repr(case),
        repr(decision),
        repr(queue.known_correction(canary("acme", "original"), tenant_id="acme")),
    ):
        assert canary("acme", "text") not in shown
        assert canary("acme", "metadata") not in shown
        assert canary("acme", "decision") not in shown
    plain = repr(case.to_dict())
    assert canary("acme", "text") not in plain
    assert canary("acme", "metadata") not in plain


def test_a_tenant_whose_trail_was_broken_does_not_stop_another(place: str, clock: Clock) -> None:
    queue = HumanReviewQueue(place, clock=clock)
    for tenant in ("bad", "good"):
        filled(queue, tenant)
    suffix = " ON director_audit" if queue.trail.database.is_postgresql else ""
    change = sa.update(AUDIT).where(AUDIT.c.tenant == "bad").values(seal="0" * 64)
    queue.trail.database.write(
        lambda c: [c.execute(sa.text(f"DROP TRIGGER director_audit_unchanged{suffix}")), c.execute(change)], "bad"
    )
    with pytest.raises(DirectorError):
        queue.enqueue_case(candidate_text="more", tenant_id="bad")
    for _ in range(130):  # beyond two checkpoints
        queue.enqueue_case(candidate_text="more", tenant_id="good")
    queue.trail.sign_overdue()
    try:
        queue.enqueue_case(candidate_text="more", tenant_id="good")
    finally:
        with contextlib.suppress(TrailBroken):
            queue.close()
