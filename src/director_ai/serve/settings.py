"""What a server is set up with: one TOML or YAML file, then the environment, then the options of the command.

    options  >  environment  >  file  >  defaults

Keys of upstreams are never in it: it names the variable or the file that holds each.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from director_ai.core.ranges import check_count, check_number
from director_ai.errors import ConfigError, UnknownOption
from director_ai.serve.sections import OidcSettings, TenantSettings, UpstreamSettings, check_tenant
from director_ai.settings import PREFIX as GUARD_PREFIX
from director_ai.settings import GuardSettings, Source
from director_ai.settings_file import read_figure, read_settings_file

__all__ = ["ServerSettings", "is_loopback"]

PREFIX: Final = f"{GUARD_PREFIX}SERVER_"
"""Of the variables of the server; those of the guard have the shorter one."""
_SECTIONS: Final = ("server", "upstreams", "tenants", "oidc", "guard")
_PLAIN: Final = (
    "host", "port", "database", "checkpoints", "signing_key", "most_streams", "most_delay", "grace", "workers",
    "rate_store", "hooks",
)  # fmt: skip
_FIGURES: Final = ("port", "most_streams", "most_delay", "grace", "workers")
MOST_WORKERS: Final = 64
MEMORY: Final = ":memory:"
_TENANT: Final = ("mode", "upstream", "rate", "review_halts", "review_redactions", "optimistic")
"""In [server]: what tenants get that say nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Every setting of a server, checked."""

    host: str = "127.0.0.1"
    port: int = 8080
    database: str = field(default="director.db", repr=False)
    """Of reviews, records and keys: a path, `:memory:` or a postgresql:// URL; it may hold a password."""
    checkpoints: str = ""
    signing_key: str = ""
    """Paths, see AuditTrail; empty for the usual ones."""
    most_streams: int = 1_000
    most_delay: float = 3.0
    """Seconds that text may usually wait for the guard; while it waits longer, nobody else is let in."""
    hooks: str = ""
    """A function that returns hooks for all tenants, as `package.module:function`; empty: there are none."""
    grace: float = 10.0
    """Seconds that open streams get when the server is told to end."""
    workers: int = 1
    """Processes that serve on one socket; `most_streams` is for all of them."""
    rate_store: str = field(default="memory://", repr=False)
    """Where rates are counted: in each process, or by an address that `limits` knows; it may hold a password."""
    usual: TenantSettings = field(default_factory=TenantSettings)
    """What tenants get for which nothing else is set."""
    tenants: Mapping[str, TenantSettings] = field(default_factory=dict)
    upstreams: Mapping[str, UpstreamSettings] = field(default_factory=dict)
    oidc: OidcSettings | None = None

    def __post_init__(self) -> None:
        for name in ("host", "database", "checkpoints", "signing_key", "rate_store", "hooks"):
            value = getattr(self, name)
            may_be_empty = name in {"checkpoints", "signing_key", "hooks"}
            if not isinstance(value, str) or "\0" in value or not (value.strip() or may_be_empty):
                raise ConfigError(f"{name} of the server must be a text")
        check_count("port of the server", self.port, 0, 65_535)
        check_count("most_streams of the server", self.most_streams, 1, 100_000)
        check_number("grace of the server", self.grace, 0.0, 3_600.0)
        check_number("most_delay of the server", self.most_delay, 0.1, 3_600.0)
        check_count("workers of the server", self.workers, 1, MOST_WORKERS)
        for name, place in (("database", self.database), ("store", self.usual.guard.store)):
            if self.workers > 1 and place == MEMORY:
                raise ConfigError(
                    f"{self.workers} workers cannot share a {name} in memory; give {name} the path of a file or a "
                    "postgresql:// URL, or have one worker"
                )
        for settings in (self.usual, *self.tenants.values()):
            for name in settings.upstream:
                if self.upstreams and name not in self.upstreams:
                    raise UnknownOption("upstream", name, self.upstreams)

    @classmethod
    def load(cls, source: Source = None, *, env: Mapping[str, str] = os.environ, **options: Any) -> Self:
        """Return the settings of a file or a mapping, of the environment and of the call; the later one wins."""
        tables = _tables(source)
        server = dict(tables["server"])
        _check_known("setting of server:", server, (*_PLAIN, *_TENANT))
        _check_known("option", options, _PLAIN)
        own = {name: server[name] for name in _PLAIN if name in server} | _from_environment(env)
        own |= {name: value for name, value in options.items() if value is not None}
        for name in ("database", "checkpoints", "signing_key"):
            if isinstance(own.get(name), os.PathLike):
                own[name] = os.fspath(own[name])
        theirs = {name: value for name, value in env.items() if not name.startswith(PREFIX)}
        guard = GuardSettings.load(tables["guard"], env=theirs)
        shared = {name: server[name] for name in _TENANT if name in server}
        usual = TenantSettings.read("server", shared, TenantSettings(guard=guard))
        return cls(
            **own,
            usual=usual,
            tenants={
                check_tenant(name): TenantSettings.read(f"tenants.{check_tenant(name)}", table, usual)
                for name, table in tables["tenants"].items()
            },
            upstreams={name: UpstreamSettings.read(name, table) for name, table in tables["upstreams"].items()},
            oidc=OidcSettings.read(tables["oidc"]) if tables["oidc"] else None,
        )

    def tenant(self, tenant_id: str) -> TenantSettings:
        """Return what a tenant gets."""
        return self.tenants.get(tenant_id, self.usual)

    def share(self) -> Self:
        """Return the settings of one of the workers: it holds its share of the streams, rounded up."""
        return dataclasses.replace(self, most_streams=-(-self.most_streams // self.workers))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    def show(self) -> dict[str, object]:
        """Return the settings as plain values that a log may hold."""
        return {
            "server": {name: getattr(self, name) for name in _PLAIN}
            | {"database": GuardSettings(store=self.database).show()["store"]}
            | {"rate_store": _shown_store(self.rate_store)}
            | _shown_tenant(self.usual),
            "guard": self.usual.guard.show(),
            "upstreams": {name: dataclasses.asdict(each) for name, each in self.upstreams.items()},
            "tenants": {
                name: _shown_tenant(each) | {"guard": each.guard.show()} for name, each in self.tenants.items()
            },
            "oidc": None if self.oidc is None else dataclasses.asdict(self.oidc),
        }


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _shown_store(address: str) -> str:
    """Return an address without all that may be secret in it."""
    scheme, _, rest = address.partition("://")
    return f"{scheme}://***" if rest else address


def _shown_tenant(settings: TenantSettings) -> dict[str, object]:
    return {name: getattr(settings, name) for name in _TENANT} | {"upstream": list(settings.upstream)}


def _tables(source: Source) -> dict[str, Mapping[str, Any]]:
    """Return each table of a file or a mapping; what stands outside of all is the guard's."""
    data = _read(source)
    tables: dict[str, Mapping[str, Any]] = {}
    for name in _SECTIONS:
        table = data.get(name, {})
        if not isinstance(table, Mapping):
            raise ConfigError(f"{name} must be a table of settings")
        tables[name] = table
    rest = {name: value for name, value in data.items() if name not in _SECTIONS}
    for name, value in rest.items():
        if isinstance(value, Mapping):
            raise UnknownOption("table of settings", name, _SECTIONS)
    if rest and tables["guard"]:
        raise ConfigError("the guard is set up in [guard] and outside of it; keep its settings in one place")
    return tables | {"guard": tables["guard"] or rest}


def _read(source: Source) -> Mapping[str, Any]:
    if source is None:
        return {}
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, str | os.PathLike):
        raise ConfigError(f"source must be a path, a mapping or None, got a {type(source).__name__}")
    path = Path(source)
    data = read_settings_file(path, repr(path.name))
    if not isinstance(data, Mapping):
        raise ConfigError(f"{path.name!r} must hold tables of settings")
    return data


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    """Return what the variables say; an empty one says nothing."""
    found: dict[str, Any] = {}
    for variable, text in env.items():
        if variable.startswith(PREFIX):
            name = variable.removeprefix(PREFIX).lower()
            _check_known(f"{PREFIX} variable", [name], (*_PLAIN, "config"))
            if text and name in _PLAIN:
                found[name] = read_figure(text) if name in _FIGURES else text
    return found


def _check_known(what: str, names: Any, known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            raise UnknownOption(what, name, known)
