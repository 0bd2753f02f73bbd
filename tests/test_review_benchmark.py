"""The benchmark of reviews: what it fills, counts, races and forges; nothing timed is asserted."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import reporting
import review_growth
import review_peer
import review_speed
from review_speed import Cost, Work, fresh_site, timed

import review
from director_ai.record.checkpoints import EVERY_ROWS

# --- operations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 4])
def test_a_round_takes_every_case_from_the_inbox_to_its_release(tmp_path: Path, threads: int) -> None:
    with fresh_site(tmp_path) as site, site.opened() as queue:
        work = Work(queue, "round", 8)
        for name in review_speed.OPERATIONS:
            timed(work.operation(name), 8, threads)

        assert len(queue.list_cases(state="released")) == 8
        assert queue.trail.verify().rows == 8 * len(review_speed.OPERATIONS)


def test_an_operation_that_fails_in_a_thread_fails_the_measurement() -> None:
    with pytest.raises(ZeroDivisionError):
        timed(lambda at: 1 // at, 8, threads=4)


def test_processes_share_one_file_and_every_operation_is_done(tmp_path: Path) -> None:
    with fresh_site(tmp_path) as site:
        costs = review_speed.by_processes(site, 8, rounds=1)

        assert list(costs) == list(review_speed.OPERATIONS)
        with site.opened() as queue:
            assert len(queue.list_cases(state="released")) == 16
            assert queue.trail.verify().ok


def test_the_time_of_processes_goes_from_the_first_start_to_the_last_end() -> None:
    assert review_speed._shared([(1.0, 3.0, 0.5), (2.0, 5.0, 1.5)], 4) == Cost(1.0, 0.5)


def test_the_middle_of_the_rounds_counts() -> None:
    assert review_speed.median_of([Cost(1.0, 9.0), Cost(5.0, 1.0), Cost(2.0, 2.0)]) == Cost(2.0, 2.0)


# --- growth -----------------------------------------------------------------------------------------------------


def test_a_filled_trail_is_real_and_signed_as_often_as_one_that_grew(tmp_path: Path) -> None:
    rows = 2 * EVERY_ROWS + 5
    with fresh_site(tmp_path) as site:
        review_growth.fill(site, rows, "filling")

        with site.opened() as queue:
            told = queue.trail.verify()
            assert (told.ok, told.rows, told.unsigned_rows) == (True, rows, 0)
            assert told.checkpoints == 3
            assert len(queue.list_cases(state="open", limit=1_000)) == rows


def test_old_cases_are_decided_and_released_and_new_ones_come_in(tmp_path: Path) -> None:
    with fresh_site(tmp_path) as site:
        review_growth.fill(site, 100, "filling")
        with site.opened() as queue:
            cases = review_growth.drawn_cases(queue, 100, 5)
            costs = review_growth.one_round(queue, "round", cases)

            assert set(costs) == {*review_speed.OPERATIONS, *review_growth.LOOKS}
            assert {case.case_id for case in queue.list_cases(state="released")} == set(cases)
            assert len(queue.list_cases(state="open", limit=1_000)) == 100
            assert not any(case.claimed_by for case in queue.list_cases(limit=1_000))


def test_growth_is_told_against_the_fewest_rows(tmp_path: Path) -> None:
    found = review_growth.measure_growth(tmp_path, [""], [64, 128], count=4, rounds=1)

    assert {row["key"] for row in found["verification"]} == {"private", "public"}
    assert all(row["times"] == row["CPU times"] == 1.0 for row in found["operations"] if row["rows"] == 64)
    lines = review_growth.beside(found["operations"], "SQLite")
    assert [line["operation"] for line in lines] == [*review_growth.LOOKS, *review_speed.OPERATIONS]
    assert all("times at 128" in line and "times at 64" not in line for line in lines)


def test_postgresql_gets_rows_that_verify_and_can_be_decided(tmp_path: Path, fresh_database: str) -> None:
    with fresh_site(tmp_path) as source, fresh_site(tmp_path, fresh_database) as target:
        review_growth.fill(source, 100, "filling")
        review_growth.copy_rows(source, target)

        with target.opened() as queue:
            assert queue.trail.verify().rows == 100
            review_growth.one_round(queue, "round", review_growth.drawn_cases(queue, 100, 5))
            assert queue.trail.verify().ok


def test_a_filled_trail_that_was_changed_is_not_measured(tmp_path: Path) -> None:
    with fresh_site(tmp_path) as site:
        review_growth.fill(site, 100, "filling")
        with contextlib.closing(sqlite3.connect(site.place)) as file:
            file.execute("DROP TRIGGER director_audit_unchanged")
            file.execute("UPDATE director_audit SET at = at + 1 WHERE sequence = 7")
            file.commit()

        with pytest.raises(RuntimeError, match="does not verify"):
            review_growth.measure_verification(site, 100)


# --- beside the peer --------------------------------------------------------------------------------------------


def test_two_processes_that_ask_at_once_get_a_text_once(tmp_path: Path) -> None:
    found = review_peer.race(sys.executable, str(tmp_path / "reviews.db"), 10)

    assert (found["twice"], found["once"], found["never"]) == (0, 10, 0)


def test_a_race_counts_who_met_and_who_got_the_text() -> None:
    def asked(answer: str | None, began: float, ended: float) -> dict[str, object]:
        return {"answer": answer, "error": "", "began": began, "ended": ended}

    pairs = [
        (asked("text", 0, 2), asked("text", 1, 3)),
        (asked("text", 0, 1), asked(None, 2, 3)),
        (asked(None, 5, 9), asked(None, 6, 7)),
    ]

    assert review_peer.counted(pairs) == {"at once": 2, "twice": 1, "once": 1, "never": 1}


@pytest.mark.parametrize(
    ("what", "error"),
    [("edited_text", "TextChanged"), ("edited_decision", "TrailBroken"), ("halted_proposal", "NotAllowed")],
)
def test_what_should_never_happen_is_tried_and_refused(tmp_path: Path, what: str, error: str) -> None:
    found = review_peer.probe(sys.executable, what, path=str(tmp_path / "reviews.db"))

    assert (found["done"], found["error"]) == (False, error)


def test_costs_of_both_stand_beside_each_other_as_ratios() -> None:
    rows = review_peer._speed_rows(
        {("decide", 1, "ours"): [[0.002, 0.001]], ("decide", 1, "peer"): [[0.001, 0.0005]]}, ["ours", "peer"]
    )

    assert [(row["who"], row["per second"], row["ms / ours"]) for row in rows] == [
        ("ours", 500.0, 1.0),
        ("peer", 1000.0, 0.5),
    ]


def test_a_package_that_fails_is_told_of_and_does_not_end_the_run(tmp_path: Path) -> None:
    rows = review_peer.measure_both({"peer": "/bin/false"}, tmp_path, 1, 1)

    assert [(row["who"], row["by"]) for row in rows] == [("peer", "1 thread"), ("peer", "8 threads")]
    assert all("speed failed" in row["failed"] for row in rows)


# --- the run ----------------------------------------------------------------------------------------------------


def test_goals_stand_beside_what_was_found() -> None:
    verified = {"database": "SQLite", "key": "public", "rows": 100_000, "rows per second": 90_000.0}
    grown = [
        {"database": "SQLite", "operation": name, "rows": rows, "CPU times": times}
        for name, rows, times in (("decide", 1_000, 1.0), ("decide", 10_000, 1.2), ("list all", 10_000, 9.0))
    ]
    raced = [{"what": f"{review_peer.RACED['twice']}, of 100", "ours": 0, "peer": 98}]
    saved = {
        "growth": {"verification": [verified], "operations": grown},
        "safety": {"safety": raced},
    }

    assert [row["reached"] for row in review.goals(saved)] == ["NO", "yes", "NO", "yes"]
    assert review.goals({}) == []


def test_work_that_a_server_does_counts_as_growth_too() -> None:
    row = {"operation": "list all", "rows": 10, "CPU times": 1.0, "times": 9.0}

    assert review_growth.worst_growth([row | {"database": "PostgreSQL"}], looks=True) == 9.0
    assert review_growth.worst_growth([row | {"database": "SQLite"}], looks=True) == 1.0


@pytest.mark.parametrize(
    "given",
    [["quickly"], ["--count", "10"], ["--rounds", "0"], ["--rows", "100"]],
    ids=["an unknown part", "threads get unequal parts", "no rounds", "too few cases for the rounds"],
)
def test_what_cannot_be_measured_is_refused(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        review.parsed(given)

    assert "error:" in capsys.readouterr().err


def test_a_small_run_prints_its_tables_and_keeps_them_beside_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reporting, "RESULTS", tmp_path)
    monkeypatch.setattr(review, "plot", lambda saved: None)
    (tmp_path / "review.json").write_text(json.dumps({"safety": {"safety": []}}), "utf-8")

    review.main(["growth", "--sqlite", "--rows", "64", "128", "--count", "8", "--rounds", "1", "--save"])

    kept = json.loads((tmp_path / "review.json").read_text("utf-8"))
    assert {"safety", "growth", "goals", "sync ms"} <= set(kept)
    assert "Verification of the trail" in capsys.readouterr().out


@pytest.mark.parametrize(("value", "expected"), [(1_000, "1,000"), (0.123, "0.12"), (4_321.5, "4,322"), ("yes", "yes")])
def test_a_figure_is_shown_with_what_matters_of_it(value: object, expected: str) -> None:
    assert reporting.shown(value) == expected
