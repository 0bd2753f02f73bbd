"""The key of a trail: made once, for its owner alone, and told from whatever else a file may hold."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from director_ai.errors import ConfigError, RecordError
from director_ai.record import AuditTrail
from director_ai.record.keys import SigningKey, VerifyKey, read_key


def test_a_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    made = SigningKey.kept_at(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert SigningKey.kept_at(tmp_path / "key").key_id == made.key_id
    assert [path.name for path in tmp_path.iterdir()] == ["key"], "nothing else is left behind"


def test_processes_that_race_for_a_new_key_get_the_same(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from director_ai.record.keys import SigningKey
print("ready", flush=True)
sys.stdin.readline()
print(SigningKey.kept_at(Path(sys.argv[1])).key_id)
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "key")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout
        process.stdout.readline()
    ids = {process.communicate("go\n")[0] for process in processes}
    assert ids == {f"{SigningKey.kept_at(tmp_path / 'key').key_id}\n"}
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_the_public_half_checks_and_cannot_sign(tmp_path: Path) -> None:
    whole = SigningKey.fresh()
    (tmp_path / "public.pem").write_text(whole.pem())
    public = read_key(tmp_path / "public.pem")
    assert type(public) is VerifyKey
    assert public.key_id == whole.key_id
    signature = whole.sign("x")
    for key in (whole, public):
        assert key.has_signed("x", signature)
        for message, other in (
            ("y", signature), ("x", signature[:-2]), ("x", "zz"), ("x", ""), ("x", signature.upper()), ("\ud800", signature),
        ):  # fmt: skip
            assert not key.has_signed(message, other)
    with pytest.raises(ConfigError, match="must be a private key"):
        SigningKey.kept_at(tmp_path / "public.pem")


def pem(key: Any, encryption: Any = None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


WRONG = {
    "a letter": b"not a key",
    "nothing": b"",
    "a key of another kind": pem(ec.generate_private_key(ec.SECP256R1())),
    "a key with a password": pem(ed25519.Ed25519PrivateKey.generate(), BestAvailableEncryption(b"secret")),
    "half a key": pem(ed25519.Ed25519PrivateKey.generate())[:60],
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG.keys())
def test_a_file_that_holds_no_such_key_is_refused_and_stays(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "key").write_bytes(data)
    with pytest.raises(ConfigError, match="Ed25519 key in PEM form"):
        AuditTrail(tmp_path / "a.db", signing_key=tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == data


def test_a_folder_or_a_missing_folder_is_no_place_for_a_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        SigningKey.kept_at(tmp_path)
    with pytest.raises(ConfigError, match=r"cannot be written.*give signing_key a path"):
        SigningKey.kept_at(tmp_path / "no" / "key")


def test_the_key_is_named_by_the_environment_or_lies_beside_the_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AuditTrail(tmp_path / "a.db") as trail:
        assert read_key(tmp_path / "a.db.key").key_id == trail.key.key_id
    monkeypatch.setenv("DIRECTOR_AI_SIGNING_KEY", str(tmp_path / "elsewhere"))
    with AuditTrail(tmp_path / "b.db") as trail:
        assert read_key(tmp_path / "elsewhere").key_id == trail.key.key_id
    assert not (tmp_path / "b.db.key").exists()


def test_a_trail_is_not_continued_with_another_key(place: str, tmp_path: Path) -> None:
    with AuditTrail(place, checkpoints=tmp_path / "c", signing_key=tmp_path / "one") as trail:
        trail.append("note", "n-1", {})
    with pytest.raises(ConfigError, match=r"not at its place.*put it back"):
        AuditTrail(place, checkpoints=tmp_path / "c", signing_key=tmp_path / "two")
    assert not (tmp_path / "two").exists()
    SigningKey.kept_at(tmp_path / "two")
    with (
        AuditTrail(place, checkpoints=tmp_path / "c", signing_key=tmp_path / "two") as trail,
        pytest.raises(RecordError, match=r"another key.*signing_key that the trail was begun with"),
    ):
        trail.append("note", "n-2", {})


def test_a_seal_needs_the_whole_key_and_is_its_own(tmp_path: Path) -> None:
    one, other = SigningKey.fresh(), SigningKey.fresh()
    assert one.seal("a" * 64) == one.seal("a" * 64)
    assert len({one.seal("a" * 64), one.seal("b" * 64), other.seal("a" * 64)}) == 3
    assert not hasattr(VerifyKey, "seal")
