"""The plots of training runs, from the logs that a run writes and those that it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

LOG = [{"step": 100 * n, "epoch": 0, "loss": 2.0 / n, "seconds": 1.0} for n in range(1, 9)]


def printed(rows: list[dict[str, Any]]) -> str:
    noise = ["Loading weights: 100%", '{"rows": 5, "steps": 9}', "{not json", '{"steps": 12}', "5"]
    return "\n".join([*noise, *map(json.dumps, rows), "Writing model shards"])


def test_a_log_is_read_as_it_was_written_and_as_it_was_printed(tmp_path: Path) -> None:
    from training.curves import read_log

    (tmp_path / "log.json").write_text(json.dumps(LOG))
    (tmp_path / "run.log").write_text(printed(LOG))
    assert read_log(tmp_path / "log.json") == read_log(tmp_path / "run.log") == LOG


def test_a_smoothed_curve_keeps_a_straight_line_and_calms_a_rough_one() -> None:
    from training.curves import smoothed

    assert smoothed([1.0] * 9) == [1.0] * 9
    assert smoothed([]) == []
    rough = smoothed([0.0, 1.0] * 10)
    assert max(rough) - min(rough) < 0.3


def test_runs_of_one_name_are_told_apart_and_a_log_given_twice_counts_once(tmp_path: Path) -> None:
    from training.curves import runs_of

    paths = []
    for folder, rows in (("1", LOG), ("2", LOG[:4]), ("3", LOG), ("4", [])):
        path = tmp_path / folder / "teacher.log"
        path.parent.mkdir()
        path.write_text(printed(rows))
        paths.append(path)
    assert {name: len(rows) for name, rows in runs_of(paths).items()} == {"1/teacher": 8, "2/teacher": 4}


@pytest.mark.training
def test_the_step_draws_every_run_by_name(step: Any, tmp_path: Path) -> None:
    for name in ("teacher-1", "student"):
        (tmp_path / name).mkdir()
        rows = [{**row, "dev": {"AUC": 0.5 + row["step"] / 2000}} for row in LOG]
        rows[-1]["loss"] = 0.2 if name == "student" else 0.3
        (tmp_path / name / "log.json").write_text(json.dumps(rows))
    said = step("curves", *sorted(tmp_path.glob("*/log.json")), "--out", tmp_path / "curves.svg")
    assert [line.split()[:2] for line in said.splitlines()] == [["student", "800"], ["teacher-1", "800"]]
    drawing = (tmp_path / "curves.svg").read_text()
    for text in ("teacher-1", "student", "AUC on dev rows"):
        assert f"<!-- {text} -->" in drawing


def test_logs_without_a_loss_are_refused(step: Any, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("nothing")
    with pytest.raises(SystemExit):
        step("curves", tmp_path / "x.log")
