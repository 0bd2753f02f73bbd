"""Hosts and networks that a run may reach: names with wildcards, addresses with their networks."""

from __future__ import annotations

import functools
import ipaddress
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from director_ai.errors import ConfigError
from director_ai.hooks.containment.numerals import IpAddress, addresses_of
from director_ai.hooks.containment.spelling import ascii_name, host_spellings

__all__ = ["HostList", "HostRules"]

MOST_PATTERNS: Final = 10_000
_LABEL: Final = r"[a-z0-9_*](?:[a-z0-9_*-]{0,61}[a-z0-9_*])?"
_PATTERN: Final = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL}){{0,30}}|\*")
_WILD_DNS: Final = re.compile(
    r"(?:^|[.-])(?:(?P<dotted>\d{1,3}(?:[.-]\d{1,3}){3})|(?P<hex>[0-9a-f]{8})|(?P<six>[0-9a-f]{0,4}(?:-[0-9a-f]{0,4}){2,7}))"
    r"\.(?:nip\.io|sslip\.io|xip\.io)\Z"
)
"""Public names that lead to whatever address stands in them."""
_LOOPBACK: Final[tuple[IpAddress, ...]] = (IPv4Address("127.0.0.1"), IPv6Address("::1"))


@dataclass(frozen=True, slots=True)
class HostList:
    """Names and networks in the form in which they are compared."""

    names: frozenset[str] = frozenset()
    below: frozenset[str] = frozenset()
    """`example.com` for the pattern `*.example.com`."""
    globs: re.Pattern[str] | None = None
    networks: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict, hash=False)
    """By version and length of the prefix."""
    is_everything: bool = False
    words: re.Pattern[str] | None = None
    """Names of one label, which no shape tells from other words."""
    word_hints: tuple[str, ...] = ()
    """Parts of those names, of which one must be there."""

    @classmethod
    def of(cls, what: str, patterns: Iterable[str]) -> HostList:
        """Return the list of patterns: `db.example.com`, `*.example.com`, `prod-*.example.com`, `10.0.0.0/8`, `*`."""
        names: set[str] = set()
        globs: set[str] = set()
        networks: dict[tuple[int, int], set[int]] = {}
        for pattern in _checked(what, patterns):
            network = _network(what, pattern)
            if network is not None:
                key = (network.version, network.prefixlen)
                networks.setdefault(key, set()).add(int(network.network_address))
                continue
            name = ascii_name(pattern, keep="*")
            if not name or not _PATTERN.fullmatch(name):
                raise ConfigError(
                    f"{what} holds something that is neither a host, such as db.example.com or *.example.com, "
                    "nor a network, such as 10.0.0.0/8; leave out scheme, port and path"
                )
            (globs if "*" in name else names).add(name)
        below = {glob[2:] for glob in globs if glob.startswith("*.") and "*" not in glob[2:]}
        odd = sorted(glob for glob in globs if glob != "*" and glob.removeprefix("*.") not in below)
        single = [name for name in (*sorted(names), *odd) if "." not in name]
        return cls(
            frozenset(names),
            frozenset(below),
            re.compile("|".join(_glob(each) for each in odd)) if odd else None,
            {key: frozenset(starts) for key, starts in networks.items()},
            "*" in globs,
            re.compile(rf"(?<![\w.-])(?:{'|'.join(map(_glob, single))})(?![\w-]|\.\w)") if single else None,
            tuple({max(name.split("*"), key=len) for name in single}),
        )

    def has_name(self, name: str) -> bool:
        """Whether a name is on the list, `*` aside."""
        if name in self.names:
            return True
        if self.below:
            dot = name.find(".")
            while dot >= 0:
                if name[dot + 1 :] in self.below:
                    return True
                dot = name.find(".", dot + 1)
        return self.globs is not None and self.globs.fullmatch(name) is not None

    def has_address(self, address: IpAddress) -> bool:
        """Whether an address lies in one of the networks, `*` aside."""
        number, bits = int(address), address.max_prefixlen
        return any(
            version == address.version and number >> (bits - length) << (bits - length) in starts
            for (version, length), starts in self.networks.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    """Which hosts one scope may reach; what is denied stays denied, even where it is allowed as well."""

    allow: tuple[str, ...] | None = None
    """Where this is given, nothing else may be reached."""
    deny: tuple[str, ...] = ()
    allowed: HostList | None = field(init=False, repr=False, compare=False)
    denied: HostList = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.allow is not None:
            object.__setattr__(self, "allow", _checked("allow", self.allow))
        object.__setattr__(self, "deny", _checked("deny", self.deny))
        object.__setattr__(self, "allowed", None if self.allow is None else HostList.of("allow", self.allow))
        object.__setattr__(self, "denied", HostList.of("deny", self.deny))

    def judge(self, host: str, *, is_sure: bool = True) -> str:
        """Return `host_denied`, `host_outside` or `host_unreadable`; nothing where a host may be reached.

        What only might be a host, a word with a dot in a sentence, is compared with what is denied and no further; a
        price or a version is then no address.
        """
        name, twins = host_spellings(host)
        addresses, is_number = addresses_of(name or host) if is_sure or ":" in host else ((), False)
        names = [*((name,) if name else ()), *twins]
        hidden = _hidden_addresses(name)
        if any(map(self.denied.has_name, names)) or any(map(self.denied.has_address, (*addresses, *hidden))):
            return "host_denied"
        if not is_sure:
            return ""
        if self.denied.is_everything:
            return "host_denied"
        if not addresses and (is_number or not name):
            return "host_unreadable"
        if self.allowed is None or self.allowed.is_everything or self._is_allowed(name, addresses, hidden):
            return ""
        return "host_outside"

    def _is_allowed(self, name: str, addresses: tuple[IpAddress, ...], hidden: tuple[IpAddress, ...]) -> bool:
        allowed = self.allowed
        assert allowed is not None  # noqa: S101 - the caller asked
        if addresses:  # one that may be read in two ways must be allowed in both
            return all(map(allowed.has_address, addresses))
        return allowed.has_name(name) or (hidden is _LOOPBACK and all(map(allowed.has_address, hidden)))


def _hidden_addresses(name: str) -> tuple[IpAddress, ...]:
    """Return the addresses that a name leads to by what it says itself."""
    if name == "localhost" or name.endswith(".localhost"):
        return _LOOPBACK
    found = _WILD_DNS.search(name) if name.endswith(".io") else None
    if found is None:
        return ()
    if found["hex"]:
        return (IPv4Address(int(found["hex"], 16)),)
    text = found["dotted"].replace("-", ".") if found["dotted"] else found["six"].replace("-", ":")
    return addresses_of(text)[0]


def _checked(what: str, patterns: Iterable[str]) -> tuple[str, ...]:
    if isinstance(patterns, str | bytes) or not isinstance(patterns, Iterable):
        raise ConfigError(f"{what} must be several hosts or networks, got a {type(patterns).__name__}")
    found = tuple(itertools.islice(patterns, MOST_PATTERNS + 1))
    if len(found) > MOST_PATTERNS:
        raise ConfigError(f"{what} must hold at most {MOST_PATTERNS} hosts and networks")
    if not all(isinstance(pattern, str) for pattern in found):
        raise ConfigError(f"{what} must hold strings only")
    return found


def _network(what: str, pattern: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    if not re.fullmatch(r"[0-9.]+(?:/\d+)?|\[?[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\]?(?:/\d+)?", pattern):
        return None
    try:
        return ipaddress.ip_network(pattern.replace("[", "").replace("]", ""))
    except ValueError:
        raise ConfigError(
            f"{what} holds a network that does not exist; write the first address and the length, as in 10.20.0.0/16"
        ) from None


@functools.cache
def _glob(pattern: str) -> str:
    head, rest = ("(?:[a-z0-9_-]+\\.)+", pattern[2:]) if pattern.startswith("*.") else ("", pattern)
    return head + "[a-z0-9_-]*".join(map(re.escape, rest.split("*")))
