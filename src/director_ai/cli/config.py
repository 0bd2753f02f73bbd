"""`director-ai config show`: every setting as it holds here, and where it comes from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from director_ai.cli.facts_show import console, shown, table, write_json
from director_ai.cli.facts_store import AsJson  # noqa: TC001 - typer reads the annotations
from director_ai.cli.guard_options import Config  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from director_ai.settings import GuardSettings

__all__ = ["Setting", "config_app", "resolved"]

config_app = typer.Typer(help="What the guard and the server are set up with.", no_args_is_help=True)

_SERVER: Final = ("server", "upstreams", "tenants", "oidc", "guard")
"""Tables that only a server's file has."""
_GUARD_PREFIX: Final = "DIRECTOR_AI_"
_SERVER_PREFIX: Final = f"{_GUARD_PREFIX}SERVER_"


class Setting(NamedTuple):
    """A setting that holds, without secrets, and the words for where it comes from."""

    name: str
    value: object
    origin: str


@config_app.command("show")
def show_config(config: Config = "", as_json: AsJson = False) -> None:
    """Show the settings of a file, the environment and the defaults: the values that hold, passwords masked.

    For example: director-ai config show --config server.toml
    """
    settings = list(resolved(config))
    if as_json:
        write_json({"name": each.name, "value": each.value, "origin": each.origin} for each in settings)
        return
    rows = table("setting", "value", "from")
    for each in settings:
        value = shown(_words(each.value))
        if each.origin == "default" or each.origin.startswith("profile"):
            value.stylize("dim")
        rows.add_row(shown(each.name), value, shown(each.origin))
    console().print(rows)


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None or value == "" else str(value)


def resolved(config: str) -> Iterator[Setting]:
    """Yield every setting; a file with tables of a server is read as a server reads it."""
    from director_ai.settings import GuardSettings  # noqa: PLC0415 - keeps `--help` quick

    given = _given(config)
    if not given.keys().isdisjoint(_SERVER):
        yield from _of_server(config, given)
        return
    tool = given.get("tool")
    own = given.get("director_ai") or (tool.get("director_ai") if isinstance(tool, dict) else None) or given
    yield from _of_guard(GuardSettings.load(config or None), own, Path(config).name)


def _given(config: str) -> Mapping[str, Any]:
    from director_ai.settings_file import read_settings_file  # noqa: PLC0415 - as above

    data = read_settings_file(Path(config), repr(Path(config).name)) if config else {}
    return data if isinstance(data, dict) else {}


def _of_guard(settings: GuardSettings, own: Mapping[str, Any], file: str, within: str = "") -> Iterator[Setting]:
    for name, value in settings.show().items():
        usual = _of_profile(settings, name) if value is None else None
        origin = _origin(name, f"{_GUARD_PREFIX}{name.upper()}", own, file)
        if value is None and usual is not None:
            yield Setting(within + name, usual, f"profile {settings.profile}")
        else:
            yield Setting(within + name, value, origin)


def _of_profile(settings: GuardSettings, name: str) -> object:
    """Return what the profile says where a setting says nothing."""
    from director_ai.profiles import get_profile  # noqa: PLC0415 - as above

    profile = get_profile(settings.profile)
    return {
        "policy": profile.policy,
        "threshold": profile.rules.hard_limit,
        "repair_threshold": profile.repair.threshold,
        "most_redacted": "off" if profile.repair.most_redacted is None else profile.repair.most_redacted,
        "most_redacted_share": profile.repair.most_redacted_share,
        "cap_after": 8,
    }.get(name)


def _of_server(config: str, given: Mapping[str, Any]) -> Iterator[Setting]:
    from director_ai.serve.settings import ServerSettings  # noqa: PLC0415 - as above

    file, settings = Path(config).name, ServerSettings.load(config)
    told: dict[str, Any] = settings.show()
    for name, value in told.pop("server").items():
        variable = f"{_SERVER_PREFIX}{name.upper()}"
        yield Setting(f"server.{name}", value, _origin(name, variable, given.get("server") or {}, file))
    told.pop("guard")
    yield from _of_guard(settings.usual.guard, given.get("guard") or given, file, "guard.")
    for section in ("upstreams", "tenants"):
        for key, entries in told[section].items():
            own = (given.get(section) or {}).get(key) or {}
            for name, value in _flat(entries):
                origin = _origin(name.removeprefix("guard."), "", own, file)
                yield Setting(f"{section}.{key}.{name}", value, origin)
    for name, value in (told["oidc"] or {}).items():
        yield Setting(f"oidc.{name}", value, _origin(name, "", given.get("oidc") or {}, file))


def _flat(entries: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in entries.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            yield name, value


def _origin(name: str, variable: str, own: Mapping[str, Any], file: str) -> str:
    """Return where a setting was found that was read in this order."""
    if variable and os.environ.get(variable):
        return variable
    return file if name in own else "default"
