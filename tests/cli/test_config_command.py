"""`director-ai config show`: what holds, and where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import Commands

from director_ai.profiles import PROFILES

GUARD = 'profile = "finance"\ntop_k = 7\nstore = "postgresql://ann:hunter2@db/facts?sslpassword=hunter2"\n'
SERVER = """
[server]
port = 9000
database = "postgresql://ann:hunter2@db/records"
[guard]
profile = "medical"
[upstreams.main]
base_url = "https://models.example/v1"
key_env = "MODEL_KEY"
[tenants.acme]
mode = "halt"
"""


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Commands:
    return Commands(monkeypatch, tmp_path)


def settings(commands: Commands, *arguments: str, env: dict[str, str] | None = None) -> dict[str, tuple[object, str]]:
    ran = commands.run("config", "show", "--json", *arguments, env=env)
    assert ran.code == 0, ran.err
    assert "hunter2" not in ran.out
    return {record["name"]: (record["value"], record["origin"]) for record in ran.records}


def test_defaults_and_what_the_profile_says(commands: Commands) -> None:
    found = settings(commands)
    assert found["profile"] == ("general", "default")
    assert found["policy"] == ("open", "profile general")
    assert found["threshold"] == (0.4, "profile general")


@pytest.mark.parametrize("text", [GUARD, f"[director_ai]\n{GUARD}", f"[tool.director_ai]\n{GUARD}"])
def test_the_later_one_wins_and_is_named(commands: Commands, text: str) -> None:
    (commands.folder / "guard.toml").write_text(text)
    found = settings(commands, "--config", "guard.toml", env={"DIRECTOR_AI_TOP_K": "9"})
    assert found["top_k"] == (9, "DIRECTOR_AI_TOP_K")
    assert found["profile"] == ("finance", "guard.toml")
    assert found["repair_threshold"] == (PROFILES["finance"].repair.threshold, "profile finance")
    assert found["store"] == ("postgresql://ann:***@db/facts?***", "guard.toml")


def test_a_file_of_a_server_is_shown_as_the_server_reads_it(commands: Commands) -> None:
    (commands.folder / "server.toml").write_text(SERVER)
    env = {"DIRECTOR_AI_SERVER_PORT": "9001"}
    found = settings(commands, "--config", "server.toml", env=env)
    assert found["server.port"] == (9001, "DIRECTOR_AI_SERVER_PORT")
    assert found["server.database"] == ("postgresql://ann:***@db/records", "server.toml")
    assert found["guard.profile"] == ("medical", "server.toml")
    assert found["upstreams.main.key_env"] == ("MODEL_KEY", "server.toml")
    assert found["tenants.acme.mode"] == ("halt", "server.toml")


def test_people_get_a_table(commands: Commands) -> None:
    ran = commands.run("config", "show", env={"DIRECTOR_AI_CHECKS": "pii,secrets"})
    assert ran.code == 0
    assert "pii, secrets" in ran.out
    assert "DIRECTOR_AI_CHECKS" in ran.out


@pytest.mark.parametrize(
    ("arguments", "env", "message"),
    [
        (["--config", "missing.toml"], {}, "no file"),
        (["--config", "bad.toml"], {}, "not valid TOML"),
        (["--config", "."], {}, "must end in"),
        ([], {"DIRECTOR_AI_PROFIL": "x"}, "did you mean 'PROFILE'"),
    ],
)
def test_bad_settings_are_a_sentence(
    commands: Commands, arguments: list[str], env: dict[str, str], message: str
) -> None:
    (commands.folder / "bad.toml").write_text("a = = 1")
    ran = commands.run("config", "show", *arguments, env=env)
    assert ran.code == 2
    assert message in ran.err


def test_shells_can_complete_the_command(commands: Commands) -> None:
    env = {"_DIRECTOR_AI_COMPLETE": "complete_bash", "COMP_WORDS": "director-ai rep", "COMP_CWORD": "1"}
    assert commands.run(env=env).out.split() == ["repair"]
