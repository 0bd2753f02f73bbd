"""The tables of a server's settings, each checked: where answers come from, what tenants get, who signs tokens."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args
from urllib.parse import urlsplit

from director_ai.core.identifiers import check_identifier
from director_ai.core.ranges import check_number
from director_ai.errors import ConfigError, UnknownOption
from director_ai.guard import MODES
from director_ai.settings import GuardSettings

__all__ = ["OidcSettings", "TenantSettings", "UpstreamKind", "UpstreamSettings", "check_name", "read_rate"]

UpstreamKind = Literal["openai", "anthropic"]
KINDS: Final[tuple[str, ...]] = get_args(UpstreamKind)
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Those with a public half alone: with a shared secret, whoever can check a token can make one."""
_SHARED: Final = frozenset({"store", "search", "metrics"})
"""Settings of the guard that a tenant cannot have for itself: there is one knowledge base."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_RATE: Final = re.compile(r"([0-9]{1,7})\s*/\s*(second|minute|hour|day)")


def check_name(what: str, name: object) -> str:
    """Return the name of an upstream, or refuse it."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(f"{what} must be named by letters, digits and . _ -")
    return name


def read_rate(where: str, value: object) -> tuple[int, str] | None:
    """Return how often something may happen, and in what time; None where the setting is off."""
    if value == "off":
        return None
    found = _RATE.fullmatch(value.strip().lower()) if isinstance(value, str) else None
    if found is None or int(found[1]) == 0:
        raise ConfigError(f"{where} must be a number a second, minute, hour or day, such as '600/minute', or 'off'")
    return int(found[1]), found[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSettings:
    """A server that answers, and where its key is found; the key itself is in no setting."""

    base_url: str
    kind: UpstreamKind = "openai"
    key_env: str = ""
    """The name of an environment variable."""
    key_file: str = ""
    timeout: float = 60.0
    """Seconds in which it must go on."""

    @classmethod
    def read(cls, name: str, table: object) -> Self:
        """Return the settings of a table, or refuse it by its name."""
        where = f"upstreams.{check_name('an upstream', name)}"
        given = _known(where, table, [each.name for each in fields(cls)])
        url = _checked_url(where, given.get("base_url"))
        if given.get("kind", "openai") not in KINDS:
            raise UnknownOption(f"kind of {where}", given["kind"], KINDS)
        for each in ("key_env", "key_file"):
            if not isinstance(given.get(each, ""), str):
                raise ConfigError(f"{each} of {where} must be a text")
        if given.get("key_env") and given.get("key_file"):
            raise ConfigError(f"{where} has a key_env and a key_file; keep one")
        timeout = check_number(f"timeout of {where}", given.get("timeout", 60.0), 0.1, 3_600.0)
        return cls(**{**given, "base_url": url, "timeout": timeout})

    def headers(self, name: str, env: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the headers with its key; none where it needs none."""
        key = self.key(name, env)
        if not key:
            return {}
        return {"x-api-key": key} if self.kind == "anthropic" else {"authorization": f"Bearer {key}"}

    def key(self, name: str, env: Mapping[str, str] = os.environ) -> str:
        """Return the key; "" if none is needed."""
        if self.key_file:
            try:
                key = Path(self.key_file).read_text("utf-8").strip()
            except (OSError, ValueError):
                raise ConfigError(f"the key_file of upstreams.{name} cannot be read") from None
        elif self.key_env:
            key = env.get(self.key_env, "").strip()
        else:
            return ""
        if not key or not key.isascii() or not key.isprintable():
            source = "key_file" if self.key_file else f"variable {self.key_env}"
            raise ConfigError(f"the {source} of upstreams.{name} holds no key")
        return key


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSettings:
    """What a tenant gets."""

    guard: GuardSettings = field(default_factory=GuardSettings)
    mode: str = "repair"
    upstream: tuple[str, ...] = ()
    """Names of upstreams; empty for all that are there."""
    rate: str = "600/minute"
    review_halts: bool = True
    """Whether an answer that was halted is put before people."""
    review_redactions: bool = False
    """Whether one of which something was redacted is, too."""
    optimistic: bool = False
    """Whether clients may ask for text before it is judged; what is wrong in it is corrected behind it."""

    @classmethod
    def read(cls, where: str, table: object, usual: TenantSettings) -> TenantSettings:
        """Return the settings of a table over the usual ones; beside its own, it holds those of a guard."""
        own = [each.name for each in fields(cls) if each.name != "guard"]
        guards = [each.name for each in fields(GuardSettings) if each.name not in _SHARED]
        given = _known(where, table, [*own, *guards])
        over = {name: value for name, value in given.items() if name in guards}
        base = {each.name: getattr(usual.guard, each.name) for each in fields(GuardSettings)}
        try:
            guard = GuardSettings.load({**base, **over}, env={}) if over else usual.guard
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None
        kept = {name: getattr(usual, name) for name in own} | {name: given[name] for name in own if name in given}
        if kept["mode"] not in MODES:
            raise UnknownOption(f"mode of {where}", kept["mode"], MODES)
        for name in ("review_halts", "review_redactions", "optimistic"):
            if not isinstance(kept[name], bool):
                raise ConfigError(f"{name} of {where} must be true or false")
        read_rate(f"rate of {where}", kept["rate"])
        return cls(guard=guard, **{**kept, "upstream": _names(where, kept["upstream"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """Whose tokens are taken, and what in them says who asks."""

    issuer: str
    audience: str
    jwks: str
    """The path of a file or an https:// URL."""
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    leeway: float = 30.0
    """Seconds by which clocks may differ."""
    tenant_claim: str = "tenant"
    scopes_claim: str = "scope"
    """A text of words or a list of them."""
    scope_prefix: str = ""
    """What stands before our scopes there, such as `director:`."""

    @classmethod
    def read(cls, table: object) -> Self:
        """Return the settings of the table, or refuse it."""
        given = _known("oidc", table, [each.name for each in fields(cls)])
        for name in ("issuer", "audience", "jwks"):
            if not isinstance(given.get(name), str) or not given[name].strip():
                raise ConfigError(f"{name} of oidc must be a text")
        for name in ("tenant_claim", "scopes_claim", "scope_prefix"):
            if not isinstance(given.get(name, ""), str):
                raise ConfigError(f"{name} of oidc must be a text")
        if "://" in given["jwks"]:
            _checked_url("jwks of oidc", given["jwks"], secure=True)
        algorithms = given.get("algorithms", ["RS256", "ES256"])
        if not isinstance(algorithms, list) or not algorithms:
            raise ConfigError(f"algorithms of oidc must be a list out of {', '.join(ALGORITHMS)}")
        for each in algorithms:
            if each not in ALGORITHMS:
                raise UnknownOption("algorithm of oidc", each, ALGORITHMS)
        leeway = check_number("leeway of oidc", given.get("leeway", 30.0), 0.0, 600.0)
        return cls(**{**given, "algorithms": tuple(algorithms), "leeway": leeway})


def _known(where: str, table: object, names: list[str]) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where} must be a table of settings")
    for name in table:
        if name not in names:
            raise UnknownOption(f"setting of {where}:", name, names)
    return dict(table)


def _names(where: str, value: object) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple):
        raise ConfigError(f"upstream of {where} must be a name or a list of names")
    return tuple(check_name(f"upstream of {where}", each) for each in given)


def _checked_url(where: str, value: object, *, secure: bool = False) -> str:
    """Return an address without anything secret in it."""
    wanted = "an https:// address" if secure else "an http:// or https:// address"
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    schemes = ("https",) if secure and host not in {"127.0.0.1", "localhost", "::1"} else ("http", "https")
    if not isinstance(value, str) or not host or parts.scheme not in schemes or any(sign <= " " for sign in value):
        raise ConfigError(f"{where} must have {wanted}" if not secure else f"{where} must be {wanted}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(f"the address of {where} must hold no user, password or options")
    return value.rstrip("/")


def check_tenant(name: object) -> str:
    """Return the id of a tenant, or refuse it."""
    return check_identifier("a tenant's id", name)
