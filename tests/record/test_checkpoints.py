"""Checkpoints come every 64 rows, after ten seconds and at the end; where they cannot be written, nothing more is."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from forgery import Forger

from director_ai.errors import ConfigError, RecordError, TrailBroken
from director_ai.record import AuditTrail, checkpoints
from director_ai.record import trail as trail_module


def signed(trail: AuditTrail) -> list[tuple[str, int]]:
    return [(each["tenant"], each["sequence"]) for each in map(json.loads, trail.checkpoints.lines())]


def append(trail: AuditTrail, count: int, tenant: str = "acme") -> None:
    for number in range(count):
        trail.append("note", f"n-{number}", {}, tenant_id=tenant)


def test_every_sixty_fourth_row_of_a_tenant_is_signed_and_the_last_at_the_end(trail: AuditTrail) -> None:
    append(trail, 63)
    assert signed(trail) == []
    append(trail, 70)
    append(trail, 3, "zeta")
    assert signed(trail) == [("acme", 64), ("acme", 128)]
    trail.close()
    assert sorted(signed(trail)) == [("acme", 64), ("acme", 128), ("acme", 133), ("zeta", 3)]


def test_many_rows_in_one_commit_are_signed_with_its_last(trail: AuditTrail) -> None:
    trail.write(lambda writer: [writer.append("note", f"n-{number}", {}) for number in range(100)], "acme")
    assert signed(trail) == [("acme", 100)]
    assert trail.verify().ok


def test_rows_are_signed_after_some_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checkpoints.EVERY_SECONDS == 10
    monkeypatch.setattr(trail_module, "EVERY_SECONDS", 0.01)
    with AuditTrail(tmp_path / "a.db") as trail:
        for count in (1, 2):
            append(trail, 1)
            end = time.monotonic() + 30
            while len(signed(trail)) < count and time.monotonic() < end:
                time.sleep(0.005)
            assert signed(trail)[-1] == ("acme", count)


def test_what_is_due_by_time_is_signed_by_whoever_asks(trail: AuditTrail) -> None:
    append(trail, 2)
    append(trail, 1, "zeta")
    trail.sign_overdue()
    assert sorted(signed(trail)) == [("acme", 2), ("zeta", 1)]
    trail.sign_overdue()
    assert len(signed(trail)) == 2, "once"


def test_a_trail_that_nobody_holds_any_more_stops_its_timer(tmp_path: Path) -> None:
    trail = AuditTrail(tmp_path / "a.db")
    append(trail, 1)
    timer = trail._timer
    assert timer
    trail.close()
    timer.join(10)
    assert not timer.is_alive()


# ---- where they cannot be written


def test_where_checkpoints_cannot_be_written_the_next_write_is_refused_until_they_can(
    place: str, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    trail = AuditTrail(place, checkpoints=folder / "c", signing_key=tmp_path / "key")
    (folder / "c").symlink_to("/dev/full")
    append(trail, 64)
    for _ in range(2):
        with pytest.raises(RecordError, match=r"checkpoints.*cannot be written.*nothing more is recorded"):
            append(trail, 1)
    assert trail.rows("acme")[-1].sequence == 64, "what was acknowledged is there, and no more"
    (folder / "c").unlink()
    append(trail, 1)
    assert signed(trail) == [("acme", 64)]
    trail.close()
    with AuditTrail(place, checkpoints=folder / "c", signing_key=tmp_path / "key") as trail:
        found = trail.verify()
        assert (found.ok, found.rows, found.unsigned_rows) == (True, 65, 0)


def test_a_disk_that_is_full_in_the_middle_of_a_line_is_refused_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    with AuditTrail(tmp_path / "a.db") as trail:
        append(trail, 63)
        monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:40]))
        append(trail, 1)
        with pytest.raises(RecordError, match=os.strerror(errno.ENOSPC)):
            append(trail, 1)
        monkeypatch.setattr(os, "write", write)
        append(trail, 1)
        found = trail.verify()
        assert (found.ok, found.checkpoints, found.unsigned_rows) == (True, 1, 1)


def test_rows_that_are_not_ours_are_never_signed(trail: AuditTrail, forger: Forger) -> None:
    append(trail, 63)
    forger.disarm()
    forger.run("UPDATE director_audit SET body = '{\"forged\":1}' WHERE sequence = 30")
    append(trail, 1)
    assert signed(trail) == []
    with pytest.raises(TrailBroken, match=r"row 30.*audit verify"):
        append(trail, 1)
    forger.run("UPDATE director_audit SET body = '{}' WHERE sequence = 30")
    append(trail, 1)
    assert signed(trail)[0] == ("acme", 64)


def test_what_was_done_to_one_tenants_trail_does_not_hold_up_another(trail: AuditTrail, forger: Forger) -> None:
    append(trail, 63)
    forger.disarm()
    forger.run("UPDATE director_audit SET body = '{\"forged\":1}' WHERE sequence = 30")
    append(trail, 1)
    append(trail, 3, "zeta")
    with pytest.raises(TrailBroken):
        append(trail, 1)
    append(trail, 1, "zeta")
    with pytest.raises(TrailBroken):
        trail.close()
    assert signed(trail) == [("zeta", 4)]


def test_a_tail_that_is_gone_before_it_was_signed_is_noticed_by_who_wrote_it(trail: AuditTrail, forger: Forger) -> None:
    append(trail, 10)
    forger.disarm()
    forger.run("DELETE FROM director_audit WHERE sequence > 5")
    with pytest.raises(TrailBroken, match=r"row 10 is gone"):
        trail.sign()
    with pytest.raises(TrailBroken, match=r"row 10 is gone"):
        append(trail, 5)
    assert len(trail.rows("acme")) == 5, "nothing takes the place of what was lost"
    trail.database.close()


def test_a_missing_folder_of_checkpoints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="folder of the checkpoints does not exist"):
        AuditTrail(tmp_path / "a.db", checkpoints=tmp_path / "no" / "c")


def test_a_server_without_a_path_keeps_its_checkpoints_in_the_users_state_folder(
    fresh_database: str, tmp_path: Path
) -> None:
    with AuditTrail(fresh_database) as trail:
        append(trail, 1)
    (kept,) = (tmp_path / "state" / "director-ai").glob("*.checkpoints")
    assert len(kept.read_text().splitlines()) == 1
    assert kept.with_suffix(".key").exists()


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "a.db") as trail:

        def work(name: str) -> None:
            for _ in range(30):
                append(trail, 1, name)
                trail.sign([name])

        threads = [threading.Thread(target=work, args=[f"t{number}"]) for number in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sorted(signed(trail)) == sorted((f"t{name}", nr) for name in range(6) for nr in range(1, 31))


@pytest.mark.parametrize("line", ["", "x", "[]", "{}", '{"tenant":5}', "[" * 10_000, "9" * 5_000])
def test_what_is_no_checkpoint_is_none(line: str) -> None:
    assert checkpoints.Checkpoint.from_line(line) is None


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "a.db", checkpoints=tmp_path / "c") as trail:
        (tmp_path / "c").mkdir()
        with pytest.raises(RecordError, match="checkpoints of the audit trail cannot be read"):
            trail.verify()
        (tmp_path / "c").rmdir()


def made(**more: Any) -> checkpoints.Checkpoint:
    fields = {"tenant_id": "acme", "sequence": 1, "hash": "0", "at": 1, "key_id": "k", "signature": "s", **more}
    return checkpoints.Checkpoint(**fields)


def test_a_line_says_what_the_checkpoint_is() -> None:
    assert checkpoints.Checkpoint.from_line(made().line()) == made()
    for change in ({"sequence": True}, {"at": 1.0}, {"hash": 5}, {"tenant_id": None}):
        assert checkpoints.Checkpoint.from_line(made(**change).line()) is None
