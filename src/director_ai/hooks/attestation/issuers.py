"""Who may issue passports, by which keys, and what was taken back."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from director_ai.core.identifiers import check_identifier, is_ref
from director_ai.core.ranges import check_count, check_number
from director_ai.errors import ConfigError
from director_ai.hooks.attestation.capabilities import Grants, checked_capabilities
from director_ai.hooks.statements import LATEST, StatementRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.hooks.attestation.passports import Passport

__all__ = ["Issuer", "IssuerKey", "IssuerRegistry", "RevocationList", "Revocations"]

MOST_KEYS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerKey:
    """A public key of an issuer, and from when until when it counts."""

    kid: str
    key: Ed25519PublicKey
    not_before: float = 0.0
    """Seconds since 1970."""
    expires_at: float = float(LATEST)

    def __post_init__(self) -> None:
        if not check_identifier("kid", self.kid):
            raise ConfigError("kid must name the key")
        if not isinstance(self.key, Ed25519PublicKey):
            raise ConfigError(f"the key of an issuer must be an Ed25519 public key, got a {type(self.key).__name__}")
        for name in ("not_before", "expires_at"):
            object.__setattr__(self, name, check_number(name, getattr(self, name), 0.0, LATEST))
        if self.not_before >= self.expires_at:
            raise ConfigError("expires_at must lie behind not_before")


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Somebody whose passports count."""

    name: str
    """As it stands in the passport, for example an address."""
    keys: tuple[IssuerKey, ...]
    may_grant: tuple[str, ...] = ("tool:*",)
    """The most that its passports can grant."""
    grants: Grants = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_ref(self.name):
            raise ConfigError("the name of an issuer must be one word of at most 200 ASCII characters")
        keys = tuple(self.keys)
        if not all(isinstance(key, IssuerKey) for key in keys) or not 1 <= len(keys) <= MOST_KEYS:
            raise ConfigError(f"an issuer needs 1 to {MOST_KEYS} keys, each an IssuerKey")
        if len({key.kid for key in keys}) != len(keys):
            raise ConfigError("each key of an issuer needs a kid of its own")
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "may_grant", checked_capabilities("may_grant", self.may_grant, is_pattern=True))
        object.__setattr__(self, "grants", Grants(self.may_grant))


class IssuerRegistry:
    """Issuers by name; it may change while hooks use it, and a key that was taken out no longer counts."""

    def __init__(self, issuers: Iterable[Issuer] = ()) -> None:
        self._found: dict[tuple[str, str], tuple[Issuer, IssuerKey]] = {}
        self._names: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        for issuer in issuers:
            self.register(issuer)

    def register(self, issuer: Issuer) -> None:
        """Add an issuer, or put it in the place of the one of the same name."""
        if not isinstance(issuer, Issuer):
            raise ConfigError(f"an issuer must be an Issuer, got a {type(issuer).__name__}")
        with self._lock:
            self._keep(issuer.name, {(issuer.name, key.kid): (issuer, key) for key in issuer.keys})

    def remove(self, name: str) -> None:
        """Take an issuer out, with all passports that it issued."""
        with self._lock:
            self._keep(name, {})

    def find(self, name: str, kid: str) -> tuple[Issuer, IssuerKey]:
        """Return an issuer and its key; refuse what is not registered."""
        found = self._found.get((name, kid))
        if found is None:
            raise StatementRefused("unknown_key" if name in self._names else "unknown_issuer")
        return found

    def _keep(self, name: str, keys: dict[tuple[str, str], tuple[Issuer, IssuerKey]]) -> None:
        # Put in place as a whole: who reads meanwhile sees all of it or nothing.
        self._found = {place: found for place, found in self._found.items() if place[0] != name} | keys
        self._names = frozenset(place[0] for place in self._found)


@runtime_checkable
class RevocationList(Protocol):
    """Says which passports were taken back."""

    def is_revoked(self, passport: Passport, now: float) -> bool:
        """Whether a passport no longer counts."""
        ...


class Revocations:
    """What was taken back, in memory.

    Args:
        size: The most it holds; a full list raises, for a revocation that is not kept is none.
    """

    def __init__(self, size: int = 100_000) -> None:
        self._size = check_count("size", size, 1)
        self._passports: dict[tuple[str, str], float] = {}
        self._subjects: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def revoke(self, passport_id: str, *, issuer: str, since: float = 0.0) -> None:
        """Take back one passport, from a time on."""
        self._add(self._passports, (issuer, passport_id), -check_number("since", since, 0.0, LATEST))

    def revoke_subject(self, subject: str, *, until: float, issuer: str = "") -> None:
        """Take back whatever was issued to an agent up to a time, by one issuer or by all; later passports count."""
        self._add(self._subjects, (issuer, subject), check_number("until", until, 0.0, LATEST))

    def is_revoked(self, passport: Passport, now: float) -> bool:
        """Whether a passport was taken back."""
        since = self._passports.get((passport.issuer, passport.passport_id))
        if since is not None and now >= -since:
            return True
        places = ((passport.issuer, passport.subject), ("", passport.subject))
        return any(passport.issued_at <= self._subjects.get(place, -1.0) for place in places)

    def _add(self, kept: dict[tuple[str, str], float], place: tuple[str, str], time: float) -> None:
        if not all(isinstance(part, str) for part in place) or not place[1]:
            raise ConfigError("a revocation must name a passport or an agent, and its issuer")
        with self._lock:
            if place not in kept and len(self._passports) + len(self._subjects) >= self._size:
                raise ConfigError("the list of revocations is full; give it a greater size")
            kept[place] = max(time, kept.get(place, time))  # the stricter one of two
