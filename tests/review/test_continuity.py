"""The rows behind a case are looked at once, and again where that is in doubt."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from review_cases import approved, put_in

from director_ai import HumanReviewQueue
from director_ai.record.chain import Writer
from director_ai.review import continuity
from director_ai.review.gate import Gate


class Watched:
    """Counts the rows that are fetched behind cases."""

    def __init__(self, queue: HumanReviewQueue, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows = 0
        original = continuity._rows

        def counted(connection: sa.Connection, tenant: str, after: int):  # type: ignore[no-untyped-def]
            for row in original(connection, tenant, after):
                self.rows += 1
                yield row

        monkeypatch.setattr(continuity, "_rows", counted)


def test_a_backlog_is_read_once_however_many_cases_are_decided(
    queue: HumanReviewQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [put_in(queue).case_id for _ in range(50)]
    watched = Watched(queue, monkeypatch)
    for case_id in cases:
        queue.decide(case_id, reviewer_id="ann", action="approve")
    for case_id in cases:
        queue.release(case_id, reviewer_id="ann", release_id=case_id)
    assert watched.rows < 150  # there are 150, of which the first and the last have nobody to be read for


def test_also_from_the_newest_to_the_oldest(queue: HumanReviewQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [put_in(queue).case_id for _ in range(50)]
    watched = Watched(queue, monkeypatch)
    for case_id in reversed(cases):
        queue.decide(case_id, reviewer_id="ann", action="approve")
    assert watched.rows < 150


@pytest.mark.parametrize(("tenants", "moves"), [(2, 100), (100, 2)], ids=["many tenants", "many decisions"])
def test_what_is_remembered_stays_within_limits(
    queue: HumanReviewQueue, monkeypatch: pytest.MonkeyPatch, tenants: int, moves: int
) -> None:
    monkeypatch.setattr(continuity, "MOST_TENANTS", tenants)
    monkeypatch.setattr(continuity, "MOST_MOVES", moves)
    for number in range(30):
        case = approved(queue, tenant_id=f"t{number % 5}")
        queue.release(case.case_id, reviewer_id="ann", release_id=case.case_id)
    known = queue._gate._continuity._known
    assert len(known) <= tenants
    assert all(len(stretch.moves) <= moves for stretch in known.values())


def test_rows_that_were_never_kept_do_a_case_no_harm(queue: HumanReviewQueue) -> None:
    first, second = put_in(queue, required_approvals=2).case_id, put_in(queue).case_id
    gate: Gate = queue._gate

    def undone(writer: Writer) -> None:
        gate.decide(writer, first, reviewer="ann", action="approve", reason="")
        gate.decide(writer, second, reviewer="ann", action="approve", reason="")
        gate.decide(writer, first, reviewer="bob", action="approve", reason="")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        queue.trail.write(undone, "acme")
    for _ in range(3):
        put_in(queue)
    for reviewer in ("cid", "dee"):
        queue.decide(first, reviewer_id=reviewer, action="approve")
    queue.release(first, reviewer_id="ann", release_id="one")
    assert queue.decide(second, reviewer_id="ann", action="approve").state == "approved"
