"""A release outlives the database it is in: a copy that was put back does not release again."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from review_cases import TEXT, Clock, approved, put_in

from director_ai import HumanReviewQueue
from director_ai.errors import RecordError, TrailBroken


def test_a_copy_from_before_a_release_does_not_release_again(tmp_path: Path) -> None:
    place, copy = tmp_path / "reviews.db", tmp_path / "copy.db"
    with HumanReviewQueue(place) as queue:
        case = approved(queue)
    shutil.copy(place, copy)
    with HumanReviewQueue(place) as queue:
        assert queue.release(case.case_id, reviewer_id="ann", release_id="one") == TEXT
    shutil.copy(copy, place)
    with HumanReviewQueue(place) as queue, pytest.raises(TrailBroken, match="put back the newest"):
        queue.release(case.case_id, reviewer_id="ann", release_id="two")


def test_a_release_that_was_cut_off_is_missed_by_everybody(tmp_path: Path) -> None:
    place = tmp_path / "reviews.db"
    first, second = HumanReviewQueue(place), HumanReviewQueue(place)
    case = approved(first)
    first.release(case.case_id, reviewer_id="ann", release_id="one")
    with contextlib.closing(sqlite3.connect(place)) as forger, forger:
        forger.execute("DROP TRIGGER director_audit_stays")
        forger.execute("DELETE FROM director_audit WHERE kind = 'case.released'")
        forger.execute("UPDATE director_review_case SET state = 'approved', release_id = NULL, released_by = ''")
    for queue in (second, first):
        with pytest.raises(TrailBroken):
            queue.release(case.case_id, reviewer_id="bob", release_id="two")
        queue.close()


def test_a_text_is_held_back_while_its_release_cannot_be_signed(tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    with HumanReviewQueue(tmp_path / "reviews.db", checkpoints=checkpoints) as queue:
        case = approved(queue)
        checkpoints.unlink(missing_ok=True)
        checkpoints.symlink_to("/dev/full")
        with pytest.raises(RecordError, match="cannot be written"):
            queue.release(case.case_id, reviewer_id="ann", release_id="one")
        checkpoints.unlink()
        assert queue.release(case.case_id, reviewer_id="ann", release_id="one") == TEXT


def test_a_process_that_ends_without_closing_signs_what_it_wrote(tmp_path: Path) -> None:
    place = tmp_path / "reviews.db"
    code = f"from director_ai import HumanReviewQueue; q = HumanReviewQueue({str(place)!r}); q.enqueue_case(candidate_text='x')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with HumanReviewQueue(place) as queue:
        assert queue.trail.verify().unsigned_rows == 0


def test_a_clock_that_was_far_ahead_once_makes_nothing_last_longer(tmp_path: Path) -> None:
    clock = Clock()
    with HumanReviewQueue(tmp_path / "reviews.db", clock=clock, lease=60, approval_expires_after=60) as queue:
        clock.advance(10_000_000)
        put_in(queue)
        clock.advance(-10_000_000)
        case = approved(queue)
        held = put_in(queue)
        queue.claim(held.case_id, reviewer_id="ann")
        clock.advance(61)
        assert queue.claim(held.case_id, reviewer_id="bob").claimed_by == "bob"
        assert queue.get_case(case.case_id).state == "expired"
