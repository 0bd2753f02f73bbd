"""Settings of a server: one file, the environment, options; what is misspelt is refused with the nearest name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from director_ai.errors import ConfigError, UnknownOption
from director_ai.serve.sections import UpstreamSettings
from director_ai.serve.settings import ServerSettings, is_loopback
from director_ai.settings import OTHER_VARIABLES, GuardSettings

FILE = """
profile = "finance"
use_nli = false

[server]
port = 9000
database = "postgresql://rosa:hunter2@db/director"
rate = "100/minute"

[upstreams.main]
base_url = "https://api.example/v1/"
key_env = "MAIN_KEY"

[upstreams.claude]
base_url = "https://claude.example/v1"
kind = "anthropic"
key_file = "claude.key"
timeout = 30

[tenants.acme]
profile = "medical"
mode = "halt"
upstream = ["main", "claude"]
checks = ["pii"]

[tenants.globex]
rate = "off"
review_redactions = true

[oidc]
issuer = "https://id.example"
audience = "director"
jwks = "https://id.example/jwks"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "server.toml"
    place.write_text(FILE, "utf-8")
    return place


def test_a_file_sets_up_everything(file: Path) -> None:
    settings = ServerSettings.load(file, env={})
    assert (settings.host, settings.port, settings.is_local) == ("127.0.0.1", 9000, True)
    assert settings.usual.guard.profile == "finance"
    acme, globex, others = (settings.tenant(name) for name in ("acme", "globex", "initech"))
    assert (acme.guard.profile, acme.guard.use_nli, acme.guard.checks) == ("medical", False, ("pii",))
    assert (acme.mode, acme.rate, acme.upstream) == ("halt", "100/minute", ("main", "claude"))
    assert (globex.rate, globex.review_redactions, globex.guard) == ("off", True, settings.usual.guard)
    assert others == settings.usual
    assert settings.upstreams["main"].base_url == "https://api.example/v1"
    assert settings.oidc.algorithms == ("RS256", "ES256")


def test_the_file_that_the_documents_show_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text("utf-8")
    place = tmp_path / "server.toml"
    place.write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1], "utf-8")
    settings = ServerSettings.load(place, env={})
    assert settings.tenant("acme").mode == "halt"
    assert settings.oidc.scope_prefix == "director:"


def test_the_environment_wins_over_the_file_and_options_over_both(file: Path) -> None:
    env = {"DIRECTOR_AI_SERVER_PORT": "9001", "DIRECTOR_AI_SERVER_GRACE": "2.5", "DIRECTOR_AI_PROFILE": "legal"}
    assert ServerSettings.load(file, env=env).port == 9001
    settings = ServerSettings.load(file, env=env, port=9002, host=None)
    assert (settings.port, settings.grace, settings.usual.guard.profile) == (9002, 2.5, "legal")


def test_variables_of_the_server_are_no_settings_of_a_guard(file: Path) -> None:
    names = {name for name in OTHER_VARIABLES if name.startswith("DIRECTOR_AI_SERVER_")}
    assert GuardSettings.load(env=dict.fromkeys(names, "1")) == GuardSettings()
    for name in names:
        ServerSettings.load(file, env={name: ""})


def test_what_is_shown_holds_no_secret(file: Path) -> None:
    shown = str(ServerSettings.load(file, env={}).show())
    assert "hunter2" not in shown
    assert "MAIN_KEY" in shown
    assert "hunter2" not in repr(ServerSettings.load(file, env={}))


def test_the_guard_may_have_a_table_of_its_own() -> None:
    settings = ServerSettings.load({"guard": {"profile": "legal"}}, env={})
    assert settings.usual.guard.profile == "legal"
    with pytest.raises(ConfigError, match="in one place"):
        ServerSettings.load({"profile": "legal", "guard": {"profile": "legal"}}, env={})


UPSTREAM = {"main": {"base_url": "https://api.example/v1"}}
BAD: dict[str, tuple[Any, str]] = {
    "a misspelt table": ({"sever": {}}, "did you mean 'server'"),
    "a misspelt setting of the server": ({"server": {"prot": 1}}, "did you mean 'port'"),
    "a misspelt setting of the guard": ({"profil": "finance"}, "did you mean 'profile'"),
    "a misspelt setting of an upstream": ({"upstreams": {"a": {"base_ulr": "x"}}}, "did you mean 'base_url'"),
    "a misspelt setting of a tenant": ({"tenants": {"a": {"mod": "halt"}}}, "did you mean 'mode'"),
    "a misspelt setting of oidc": ({"oidc": {"isuer": "x"}}, "did you mean 'issuer'"),
    "a mode that is none": ({"tenants": {"a": {"mode": "stop"}}}, "unknown mode of tenants.a"),
    "a store of a tenant's own": ({"tenants": {"a": {"store": "x.db"}}}, "unknown setting of tenants.a"),
    "a profile of a tenant that is none": ({"tenants": {"a": {"profile": "finanse"}}}, "tenants.a: profile"),
    "an upstream that is not there": ({"upstreams": UPSTREAM, "server": {"upstream": "mian"}}, "did you mean 'main'"),
    "a tenant that cannot be": ({"tenants": {"../x": {}}}, "a tenant's id must be"),
    "a table that is a text": ({"server": "x"}, "server must be a table"),
    "a tenant that is a text": ({"tenants": {"a": "x"}}, "tenants.a must be a table"),
    "a port that is a text": ({"server": {"port": "x"}}, "port of the server"),
    "a port out of range": ({"server": {"port": 70_000}}, "port of the server"),
    "no stream at all": ({"server": {"most_streams": 0}}, "most_streams of the server"),
    "a grace of NaN": ({"server": {"grace": float("nan")}}, "grace of the server"),
    "a blank host": ({"server": {"host": " "}}, "host of the server"),
    "a rate of words": ({"server": {"rate": "often"}}, "rate of server must be"),
    "a rate of zero": ({"server": {"rate": "0/minute"}}, "rate of server must be"),
    "a rate a fortnight": ({"tenants": {"a": {"rate": "1/fortnight"}}}, "rate of tenants.a must be"),
    "an upstream without an address": ({"upstreams": {"a": {}}}, "upstreams.a must have"),
    "an upstream at a file": ({"upstreams": {"a": {"base_url": "file:///etc/passwd"}}}, "upstreams.a must have"),
    "an upstream with a password": ({"upstreams": {"a": {"base_url": "https://u:p@h/v1"}}}, "no user, password"),
    "an upstream with options": ({"upstreams": {"a": {"base_url": "https://h/v1?key=x"}}}, "no user, password"),
    "an upstream of another kind": (
        {"upstreams": {"a": {"base_url": "https://h/v1", "kind": "openaj"}}},
        "did you mean 'openai'",
    ),
    "two keys of an upstream": (
        {"upstreams": {"a": {"base_url": "https://h/v1", "key_env": "A", "key_file": "b"}}},
        "keep one",
    ),
    "an upstream named oddly": ({"upstreams": {"a b": {"base_url": "https://h/v1"}}}, "must be named"),
    "tokens of nobody": ({"oidc": {"audience": "a", "jwks": "x"}}, "issuer of oidc"),
    "keys of tokens over http": (
        {"oidc": {"issuer": "i", "audience": "a", "jwks": "http://id.example/jwks"}},
        "jwks of oidc must be",
    ),
    "tokens with a shared secret": (
        {"oidc": {"issuer": "i", "audience": "a", "jwks": "x", "algorithms": ["HS256"]}},
        "did you mean",
    ),
    "tokens without algorithms": (
        {"oidc": {"issuer": "i", "audience": "a", "jwks": "x", "algorithms": []}},
        "algorithms of oidc",
    ),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_right_is_refused_by_its_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ServerSettings.load(given, env={})
    assert message in str(refused.value)


def test_a_misspelt_variable_or_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownOption, match="did you mean 'port'"):
        ServerSettings.load(env={"DIRECTOR_AI_SERVER_PROT": "1"})
    with pytest.raises(UnknownOption, match="did you mean 'host'"):
        ServerSettings.load(env={}, hots="x")
    with pytest.raises(ConfigError, match="port of the server"):
        ServerSettings.load(env={"DIRECTOR_AI_SERVER_PORT": "http"})


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no file 'none\.toml'"):
        ServerSettings.load(tmp_path / "none.toml", env={})


def test_the_key_of_an_upstream_is_found_where_it_is_said_to_be(tmp_path: Path) -> None:
    place = tmp_path / "key"
    place.write_text("sk-2\n", "utf-8")
    by_env = UpstreamSettings.read("a", {"base_url": "https://h/v1", "key_env": "A_KEY"})
    by_file = UpstreamSettings.read("b", {"base_url": "https://h/v1", "key_file": str(place), "kind": "anthropic"})
    assert by_env.headers("a", {"A_KEY": "sk-1"}) == {"authorization": "Bearer sk-1"}
    assert by_file.headers("b", {}) == {"x-api-key": "sk-2"}
    assert UpstreamSettings.read("c", {"base_url": "http://127.0.0.1:8000/v1"}).headers("c", {}) == {}
    with pytest.raises(ConfigError, match=r"variable A_KEY of upstreams\.a holds no key"):
        by_env.headers("a", {})
    place.write_text("sk-2\nx: y", "utf-8")
    with pytest.raises(ConfigError, match=r"key_file of upstreams\.b holds no key"):
        by_file.headers("b", {})


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.9.9.9", True), ("0.0.0.0", False),
     ("::", False), ("192.168.1.1", False), ("example.com", False), ("127.0.0.1.example.com", False)],
)  # fmt: skip
def test_only_this_machine_is_local(host: str, local: bool) -> None:
    assert is_loopback(host) is local
