"""A trail goes out as JSON lines and comes back as it was, or not at all."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forgery import HASH_STAYS, KINDS, TENANTS, Forger, fill, rehash

from director_ai.errors import ConfigError, RecordError, TrailBroken
from director_ai.record import AuditTrail
from director_ai.record.export_file import ExportFile, end_line, json_line, verify_export
from director_ai.record.keys import SigningKey, read_key


class Pipe(io.RawIOBase):
    """What cannot be read twice."""

    def __init__(self, data: bytes) -> None:
        self._left = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._left.readinto(buffer)


def exported(trail: AuditTrail, tenant_id: str | None = None) -> bytes:
    stream = io.StringIO()
    trail.export(stream, tenant_id)
    return stream.getvalue().encode("ascii")


def verified(data: bytes, key: Any) -> Any:
    return verify_export(ExportFile(io.BytesIO(data)), key)


def sealed_again(lines: list[bytes]) -> bytes:
    """Return lines with an end that fits them, as a careful forger would write it."""
    import hashlib

    body = b"".join(lines)
    rows = sum(line.startswith(b'{"row":') for line in lines)
    checkpoints = sum(line.startswith(b'{"checkpoint":') for line in lines)
    return body + end_line(rows, checkpoints, hashlib.sha256(body).hexdigest()).encode()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def data(home: Path) -> bytes:
    """The export of a trail of three tenants."""
    with AuditTrail(home / "a.db", signing_key=home / "key") as trail:
        for tenant, count in TENANTS.items():
            fill(trail, tenant, count)
        trail.sign()
        return exported(trail)


@pytest.fixture
def target(place: str, home: Path, tmp_path: Path) -> Any:
    """An empty trail with the same key."""
    with AuditTrail(place, checkpoints=tmp_path / "c", signing_key=home / "key") as trail:
        yield trail


def test_what_comes_back_is_byte_for_byte_what_went_out(data: bytes, target: AuditTrail) -> None:
    told: list[int] = []
    moved = target.import_rows(io.BytesIO(data), progress=told.append)
    assert (moved.rows, moved.tenants) == (180, 3)
    assert exported(target) == data
    found = target.verify()
    assert (found.ok, found.rows, found.unsigned_rows) == (True, 180, 0)
    assert moved.checkpoints == found.checkpoints
    again = target.import_rows(io.BytesIO(data))
    assert (again.rows, again.checkpoints) == (0, 0)
    assert exported(target) == data


def test_rows_go_on_behind_what_was_imported(data: bytes, target: AuditTrail) -> None:
    target.import_rows(io.BytesIO(data))
    fill(target, "acme", 5, begin=500)
    assert target.verify().rows == 185


def test_a_trail_that_is_the_beginning_takes_the_rest(home: Path, target: AuditTrail, tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "source.db", signing_key=home / "key") as source:
        fill(source, "acme", 70)
        source.sign()
        target.import_rows(io.BytesIO(exported(source)))
        fill(source, "acme", 80, begin=70)
        fill(source, "zeta", 3)
        source.sign()
        whole = exported(source)
    assert target.import_rows(io.BytesIO(whole)).rows == 83
    assert exported(target) == whole


def test_one_tenant_alone_can_be_moved(data: bytes, home: Path, target: AuditTrail) -> None:
    with AuditTrail(home / "a.db", signing_key=home / "key") as trail:
        alone = exported(trail, "acme")
    assert verified(alone, trail.key).tenants == 1
    target.import_rows(io.BytesIO(alone))
    assert (target.verify().tenants, target.verify().rows) == (1, TENANTS["acme"])


def test_a_pipe_is_as_good_as_a_file(data: bytes, target: AuditTrail) -> None:
    assert target.import_rows(io.BufferedReader(Pipe(data))).rows == 180
    assert exported(target) == data


@pytest.mark.parametrize("before", [("acme", 3), ("acme", 75), ("zeta", 21)], ids=str)
def test_another_trail_of_the_same_tenant_is_refused_and_stays(
    data: bytes, target: AuditTrail, before: tuple[str, int]
) -> None:
    tenant, count = before
    fill(target, tenant, count, begin=700)
    with pytest.raises(ConfigError, match="not the beginning"):
        target.import_rows(io.BytesIO(data))
    assert target.verify().rows == count
    assert target.verify().tenants == 1, "no other tenant's rows were kept either"


def test_a_trail_that_has_more_than_the_file_is_refused(data: bytes, target: AuditTrail) -> None:
    target.import_rows(io.BytesIO(data))
    fill(target, "acme", 1, begin=900)
    with pytest.raises(ConfigError, match="not the beginning"):
        target.import_rows(io.BytesIO(data))


def test_an_export_sealed_with_another_key_is_refused(data: bytes, tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "b.db") as other:
        with pytest.raises(TrailBroken, match=r"line 2: row 1 was sealed with another key.*nothing was imported"):
            other.import_rows(io.BytesIO(data))
        assert other.verify().rows == 0


# ---- files that are not as they were written


def test_any_changed_byte_is_found_and_refused(data: bytes, home: Path) -> None:
    key = read_key(home / "key")
    rng = random.Random(8)
    lines = data.splitlines(keepends=True)
    with AuditTrail(signing_key=home / "key") as target:
        for place in rng.sample(range(len(lines[0]), len(data)), 150):
            new = rng.choice([c for c in b'0az"{ \n\xff' if c != data[place]])
            edited = data[:place] + bytes([new]) + data[place + 1 :]
            found = verified(edited, key)
            number = data[:place].count(b"\n") + 1
            assert not found.ok, place
            assert f"line {number}" in found.problem.sentence, (place, new, found.problem)
            with pytest.raises(TrailBroken, match="nothing was imported"):
                target.import_rows(io.BytesIO(edited))
        assert target.verify().rows == 0


def test_a_file_cut_anywhere_is_found_and_refused(data: bytes, home: Path) -> None:
    key = read_key(home / "key")
    rng = random.Random(9)
    first = data.index(b"\n") + 1
    ends = [first, len(data) - 1, data.rindex(b"\n", 0, len(data) - 1) + 1]
    for end in [*ends, *rng.sample(range(first, len(data) - 1), 60)]:
        found = verified(data[:end], key)
        assert not found.ok, end
        assert "line" in found.problem.sentence


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "the sequence edited"])
def test_a_careful_forger_of_files_is_found_too(data: bytes, home: Path, kind: str, tmp_path: Path) -> None:
    """Every kind of tampering, in a file whose last line was made to fit, with hashes made to fit."""
    key = read_key(home / "key")
    lines = data.splitlines(keepends=True)
    rows = [json.loads(line)["row"] for line in lines if line.startswith(b'{"row":')]
    rest = [line for line in lines if line.startswith(b'{"checkpoint":')]
    for seed in range(4):
        changed = [dict(row) for row in rows]
        tenant, sequence = KINDS[kind](changed, random.Random(seed))
        if seed % 2:
            rehash(changed, tenant, sequence + (kind in HASH_STAYS))
        changed.sort(key=lambda row: (row["tenant"], row["sequence"]))
        found = verified(sealed_again([lines[0], *(json_line({"row": row}).encode() for row in changed), *rest]), key)
        assert found.problem
        assert (found.problem.tenant_id, found.problem.sequence) == (tenant, sequence), (kind, seed, found.problem)


def test_rows_of_one_tenant_in_two_places_are_found(data: bytes, home: Path) -> None:
    lines = data.splitlines(keepends=True)[:-1]
    moved = [*lines[:91], *lines[161:181], *lines[91:161], *lines[181:]]
    found = verified(sealed_again(moved), read_key(home / "key"))
    assert found.problem
    assert found.problem.kind == "row_extra"


def test_removed_or_forged_checkpoints_of_a_file_are_found(data: bytes, home: Path) -> None:
    key = read_key(home / "key")
    lines = data.splitlines(keepends=True)[:-1]
    without = [line for line in lines if not line.startswith(b'{"checkpoint":')]
    assert verified(sealed_again(without), key).problem.kind == "checkpoints_missing"
    forged = lines[-1].replace(b'"sequence":20', b'"sequence":19')
    assert forged != lines[-1]
    problem = verified(sealed_again([*lines[:-1], forged]), key).problem
    assert problem.kind == "checkpoint_forged"
    assert f"line {len(lines)}" in problem.sentence


RUBBISH = {
    "no JSON": b"x\n",
    "a number": b"5\n",
    "a list": b"[]\n",
    "no row": b'{"row":5}\n',
    "a row without fields": b'{"row":{}}\n',
    "deep": b'{"row":' + b"[" * 100_000 + b"\n",
    "a huge number": b'{"row":' + b"9" * 5_000 + b"}\n",
    "blank": b"\n",
    "not ASCII": '{"row":"é"}\n'.encode(),
    "NUL": b"\x00\n",
    "bytes": b"\xff\xfe\n",
}


@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH.keys())
def test_a_line_of_rubbish_is_named_and_no_crash(data: bytes, home: Path, rubbish: bytes) -> None:
    lines = data.splitlines(keepends=True)[:-1]
    found = verified(sealed_again([*lines[:5], rubbish, *lines[5:]]), read_key(home / "key"))
    assert found.problem
    assert (found.problem.kind, "line 6" in found.problem.sentence) == ("line_malformed", True)


COLUMNS: dict[str, Any] = {
    "a list": [], "an object": {}, "true": True, "nothing": None, "a real number": 1.5, "half a character": "\ud800",
    "a large number": 10**30, "a text": "x",
}  # fmt: skip


@pytest.mark.parametrize("value", COLUMNS.values(), ids=COLUMNS.keys())
def test_a_field_of_rubbish_is_named_and_no_crash(data: bytes, home: Path, value: Any) -> None:
    lines = data.splitlines(keepends=True)[:-1]
    row = json.loads(lines[3])["row"]
    for name in row:
        if name == "body" and value is None:
            continue
        changed = json_line({"row": {**row, name: value}}).encode()
        found = verified(sealed_again([*lines[:3], changed, *lines[4:]]), read_key(home / "key"))
        assert found.problem, name
        assert "line 4" in found.problem.sentence


FIRST_LINES = {
    "empty": (b"", "is empty"),
    "no export": (b"hello\n", "line 1 does not say"),
    "facts": (b'{"director_ai":"facts","format":1}\n', "line 1 does not say"),
    "newer": (b'{"director_ai":"audit","format":2}\n', r"line 1.*format 2.*update director-ai"),
    "no format": (b'{"director_ai":"audit","format":"1"}\n', "whole number"),
    "bytes": (b"\xff\xfe\x00", "line 1 does not say"),
    "a list": (b"[]\n", "line 1 does not say"),
}


@pytest.mark.parametrize(("given", "said"), FIRST_LINES.values(), ids=FIRST_LINES.keys())
def test_what_is_no_export_or_a_newer_one_is_refused(tmp_path: Path, given: bytes, said: str) -> None:
    with AuditTrail(tmp_path / "a.db") as trail, pytest.raises(ConfigError, match=said):
        trail.import_rows(io.BytesIO(given))


def test_a_file_that_changes_while_it_is_read_is_refused(data: bytes, home: Path) -> None:
    class Changing(io.BytesIO):
        seeks = 0

        def seek(self, *place: int) -> int:
            self.seeks += 1
            if self.seeks == 5:  # looked through, checkpoints, rows, the first row: now they are inserted
                self.getbuffer()[data.index(b'"subject":"case-7"') + 16] = ord("8")
            return super().seek(*place)

    with AuditTrail(signing_key=home / "key") as trail:
        with pytest.raises(RecordError, match="changed while it was read"):
            trail.import_rows(Changing(data))
        assert trail.verify().rows == 0


# ---- out


def test_an_export_of_a_cut_trail_proves_the_cut(home: Path, tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "a.db", signing_key=home / "key") as trail:
        fill(trail, "acme", 70)
    forger = Forger(str(tmp_path / "a.db"))
    forger.disarm()
    forger.run("DELETE FROM director_audit WHERE sequence > 60")
    forger.close()
    with AuditTrail(tmp_path / "a.db", signing_key=home / "key") as trail:
        found = verified(exported(trail), trail.key)
        assert (found.problem.kind, found.problem.sequence) == ("tail_cut", 61)
        assert "line 62" in found.problem.sentence


def test_a_row_that_no_export_can_hold_is_refused_without_its_text(tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "a.db") as trail:
        fill(trail, "acme", 5)
    forger = Forger(str(tmp_path / "a.db"))
    forger.disarm()
    forger.run("UPDATE director_audit SET subject = x'63616e617279' WHERE sequence = 3")
    forger.close()
    with AuditTrail(tmp_path / "a.db") as trail, pytest.raises(TrailBroken, match="after row 2") as caught:
        exported(trail)
    assert "canary" not in str(caught.value)


def test_an_export_of_nothing_can_be_imported(tmp_path: Path) -> None:
    with AuditTrail(tmp_path / "a.db") as trail:
        data = exported(trail)
        assert len(data.splitlines()) == 2
        assert trail.import_rows(io.BytesIO(data)).rows == 0


def test_checkpoints_that_were_lost_in_a_crash_after_an_import_come_with_the_next_one(
    data: bytes, target: AuditTrail
) -> None:
    target.import_rows(io.BytesIO(data))
    assert target.checkpoints.path
    target.checkpoints.path.unlink()
    assert target.import_rows(io.BytesIO(data)).checkpoints > 0
    assert exported(target) == data


def test_a_public_key_checks_a_file_but_for_the_seals(data: bytes, home: Path) -> None:
    (home / "public.pem").write_text(read_key(home / "key").pem())
    found = verified(data, read_key(home / "public.pem"))
    assert (found.ok, found.rows, found.seals_checked) == (True, 180, False)
    assert not verified(data, SigningKey.fresh()).ok


def test_memory_does_not_grow_with_the_file(home: Path, tmp_path: Path) -> None:
    script = """
import io, resource, sys
from pathlib import Path
from director_ai.record import AuditTrail
folder, key, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def work(writer):
    for number in range(250):
        writer.append("note", f"n-{number}", {"x": "y" * 2_000})
with AuditTrail(folder / f"a{count}.db", signing_key=key) as trail:
    for _ in range(count):
        trail.write(work, "acme")
    with (folder / f"a{count}.jsonl").open("w") as stream:
        trail.export(stream)
    assert trail.verify().ok
with AuditTrail(folder / f"b{count}.db", signing_key=key) as trail, (folder / f"a{count}.jsonl").open("rb") as stream:
    trail.import_rows(stream)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    used = [
        int(subprocess.run(
            [sys.executable, "-c", script, str(tmp_path), str(home / "key"), str(count)],
            check=True, capture_output=True, text=True,
        ).stdout)
        for count in (6, 24)
    ]  # fmt: skip
    assert used[1] < used[0] + 25_000, "four times the rows (12 MB against 48 MB) in about the same memory"
