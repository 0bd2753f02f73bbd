"""Keys: shown once, kept as hashes, found in no time, and gone when they are revoked."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from director_ai.errors import ConfigError, UnknownOption
from director_ai.record.trail import AuditTrail
from director_ai.serve import keys as keys_module
from director_ai.serve.keys import KeyStore, UnknownKey
from director_ai.serve.switches import EVERYBODY, Switches
from director_ai.testing import ManualClock

START = 1_800_000_000.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def trail(tmp_path: Path, clock: ManualClock) -> Iterator[AuditTrail]:
    with AuditTrail(tmp_path / "director.db", clock=clock) as made:
        yield made


@pytest.fixture
def keys(trail: AuditTrail, clock: ManualClock) -> KeyStore:
    return KeyStore(trail, clock=clock)


def test_a_key_has_a_visible_part_and_a_secret_one(keys: KeyStore) -> None:
    issued = keys.create("acme", ["proxy"], label="the shop", by="rosa")
    assert re.fullmatch(r"dai_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", issued.secret)
    assert issued.key.prefix == issued.secret[:12]
    assert keys.find(issued.secret) == issued.key
    assert issued.secret not in repr(issued)


def test_the_database_and_the_trail_hold_no_key(keys: KeyStore, trail: AuditTrail, tmp_path: Path) -> None:
    secret = keys.create("acme", ["proxy"], label="the shop").secret
    with contextlib.closing(sqlite3.connect(tmp_path / "director.db")) as connection, connection:
        dumped = "\n".join(connection.iterdump())
    connection.close()
    assert secret[:12] in dumped
    assert secret[13:] not in dumped
    (row,) = trail.rows("acme")
    assert (row.kind, row.subject) == ("key.created", secret[:12])
    assert "the shop" not in row.body


def test_the_rights_of_a_key_are_what_it_was_made_with(keys: KeyStore) -> None:
    issued = keys.create("acme", ["admin", "proxy", "admin"], shows_evidence=True)
    caller = keys.find(issued.secret).caller()
    assert (caller.caller_id, caller.tenant_id) == (issued.key.prefix, "acme")
    assert caller.scopes == {"proxy", "admin"}
    assert (caller.shows_evidence, caller.shows_reasoning) == (True, False)


def test_a_key_ends_in_time(keys: KeyStore, clock: ManualClock) -> None:
    secret = keys.create("acme", ["proxy"], expires_after=60.0).secret
    clock.advance(59)
    assert keys.find(secret) is not None
    assert keys.still_valid([secret[:12]]) == {secret[:12]}
    clock.advance(2)
    assert keys.find(secret) is None
    assert keys.still_valid([secret[:12]]) == set()
    assert not keys.has_any()


def test_a_revoked_key_is_refused_at_once_here_and_soon_elsewhere(
    keys: KeyStore, trail: AuditTrail, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, issued = KeyStore(trail, clock=clock), keys.create("acme", ["proxy"])
    assert elsewhere.find(issued.secret) is not None
    keys.revoke(issued.key.prefix, by="rosa")
    assert keys.find(issued.secret) is None
    assert elsewhere.still_valid([issued.key.prefix]) == set()
    assert keys_module.REMEMBERED_SECONDS <= 2.0
    monkeypatch.setattr(keys_module, "REMEMBERED_SECONDS", 0.0)
    assert elsewhere.find(issued.secret) is None


def test_revoking_twice_is_revoking_once(keys: KeyStore, trail: AuditTrail, clock: ManualClock) -> None:
    prefix = keys.create("acme", ["proxy"]).key.prefix
    first = keys.revoke(prefix)
    clock.advance(10)
    assert keys.revoke(prefix) == first
    assert [row.kind for row in trail.rows("acme")] == ["key.created", "key.revoked"]


def test_a_rotated_key_keeps_its_rights_and_its_end(keys: KeyStore, clock: ManualClock) -> None:
    old = keys.create("acme", ["reviewer"], label="desk", expires_after=100.0, shows_reasoning=True)
    clock.advance(40)
    new = keys.rotate(old.key.prefix, by="rosa")
    assert keys.find(old.secret) is None
    assert keys.find(new.secret).label == "desk"
    assert new.key.scopes == ("reviewer",)
    assert new.key.shows_reasoning
    assert new.key.expires_at == old.key.expires_at
    with pytest.raises(ConfigError, match="create a new one"):
        keys.rotate(old.key.prefix)


def test_keys_of_other_tenants_are_not_there(keys: KeyStore) -> None:
    prefix = keys.create("acme", ["proxy"]).key.prefix
    for change in (keys.revoke, keys.rotate, keys.get):
        with pytest.raises(UnknownKey, match="in this tenant"):
            change(prefix, tenant_id="globex")
    assert keys.keys_of("globex") == []
    assert [key.prefix for key in keys.keys_of("acme")] == [prefix]


@pytest.mark.parametrize("prefix", ["", "dai_", "dai_AAAAAAAA", "x" * 1000, "dai_aaaaaaaa'--", None, 7])
def test_what_is_no_key_is_unknown(keys: KeyStore, prefix: object) -> None:
    with pytest.raises(UnknownKey):
        keys.get(prefix)
    assert keys.find(str(prefix)) is None


BAD = {
    "no scope": (("acme", []), {}, ConfigError),
    "an unknown scope": (("acme", ["root"]), {}, UnknownOption),
    "a tenant that cannot be": (("../x", ["proxy"]), {}, ConfigError),
    "a label of two lines": (("acme", ["proxy"]), {"label": "a\nb"}, ConfigError),
    "a long label": (("acme", ["proxy"]), {"label": "x" * 201}, ConfigError),
    "no time at all": (("acme", ["proxy"]), {"expires_after": 0}, ConfigError),
    "no end of time": (("acme", ["proxy"]), {"expires_after": float("inf")}, ConfigError),
    "nobody who can be": (("acme", ["proxy"]), {"by": "a b"}, ConfigError),
}


@pytest.mark.parametrize(("given", "options", "error"), BAD.values(), ids=BAD)
def test_a_key_that_cannot_be_is_not_made(
    keys: KeyStore, given: tuple[str, list[str]], options: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        keys.create(*given, **options)
    assert keys.keys_of() == []


def test_a_flood_of_unknown_keys_does_not_fill_the_memory(keys: KeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "MOST_REMEMBERED", 10)
    for number in range(40):
        assert keys.find(f"dai_{number:08d}_{'x' * 43}") is None
    assert len(keys._remembered) <= 10


def test_keys_and_switches_live_in_postgresql_too(fresh_database: str, tmp_path: Path) -> None:
    with AuditTrail(fresh_database, checkpoints=tmp_path / "notes") as trail:
        keys, switches = KeyStore(trail), Switches(trail)
        issued = keys.create("acme", ["proxy"], expires_after=60.0)
        assert keys.find(issued.secret) == issued.key
        fresh = keys.rotate(issued.key.prefix)
        assert keys.still_valid([issued.key.prefix, fresh.key.prefix]) == {fresh.key.prefix}
        for _ in range(2):
            switches.turn_off("acme", by="rosa")
        switches.turn_off(EVERYBODY)
        assert switches.turned_off() == {"acme", "*"}
        switches.turn_on("acme")
        assert switches.turned_off() == {"*"}
        assert trail.verify().ok
