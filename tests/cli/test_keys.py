"""`director-ai keys`, as an operator runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import run_command
from director_ai.record.trail import AuditTrail
from director_ai.serve.keys import KeyStore


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made(patch: pytest.MonkeyPatch, *options: str) -> str:
    code, out, err = run_command(patch, ["keys", "create", "--tenant", "acme", *options])
    assert (code, out.count("\n")) == (0, 1), err
    return out.strip()


def test_a_key_is_printed_alone_on_the_output_and_works(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = made(monkeypatch, "--scope", "proxy", "--label", "the shop", "--days", "90", "--by", "rosa")
    with AuditTrail("director.db") as trail:
        key = KeyStore(trail).find(secret)
        assert (key.tenant_id, key.scopes, key.label) == ("acme", ("proxy",), "the shop")
        assert key.expires_at is not None
        (row,) = trail.rows("acme")
        assert row.content["by"] == "rosa"


def test_keys_are_listed_without_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = made(monkeypatch, "--scope", "proxy", "--scope", "admin")
    code, out, _ = run_command(monkeypatch, ["keys", "list", "--json"])
    assert code == 0
    (told,) = map(json.loads, out.splitlines())
    assert (told["prefix"], told["scopes"]) == (secret[:12], ["proxy", "admin"])
    code, out, _ = run_command(monkeypatch, ["keys", "list"])
    assert secret[:12] in out
    assert secret not in out
    assert run_command(monkeypatch, ["keys", "list", "--tenant", "globex"])[0] == 1


def test_a_key_is_rotated_and_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    old = made(monkeypatch, "--scope", "reviewer")
    code, out, _ = run_command(monkeypatch, ["keys", "rotate", old[:12], "--json"])
    fresh = json.loads(out)
    assert (code, fresh["scopes"]) == (0, ["reviewer"])
    assert run_command(monkeypatch, ["keys", "revoke", fresh["prefix"]])[0] == 0
    _, out, _ = run_command(monkeypatch, ["keys", "list"])
    assert out.count("revoked") == 2


def test_the_settings_of_the_server_say_where_its_keys_are(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("server.toml").write_text('[server]\ndatabase = "elsewhere.db"\n', "utf-8")
    made(monkeypatch, "--scope", "proxy", "--config", "server.toml")
    assert Path("elsewhere.db").is_file()
    assert not Path("director.db").exists()
    env = {"DIRECTOR_AI_SERVER_DATABASE": "elsewhere.db"}
    assert run_command(monkeypatch, ["keys", "list", "--json"], env=env)[0] == 0


BAD = {
    "an unknown scope": (["create", "--scope", "prox"], 2, "did you mean 'proxy'"),
    "no scope": (["create"], 2, "scope"),
    "a tenant that cannot be": (["create", "--scope", "proxy", "--tenant", "../x"], 2, "--tenant must be"),
    "no database": (["list", "--db", "none.db"], 2, "there is no database"),
    "a database in memory": (["create", "--scope", "proxy", "--db", ":memory:"], 2, "in memory"),
    "a folder": (["create", "--scope", "proxy", "--db", "."], 2, "folder"),
    "no settings": (["list", "--config", "none.toml"], 2, "there is no file"),
    "an unknown key": (["revoke", "dai_aaaaaaaa"], 1, "no such key"),
    "what is no key": (["rotate", "x" * 500], 1, "no such key"),
    "a day of none": (["create", "--scope", "proxy", "--days", "0"], 2, "days"),
}


@pytest.mark.parametrize(("arguments", "status", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_done_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, message: str
) -> None:
    made(monkeypatch, "--scope", "proxy")
    code, out, err = run_command(monkeypatch, ["keys", *arguments])
    assert (code, out) == (status, "")
    assert message in " ".join(err.split())
