"""API keys: shown once, kept as hashes, bound to a tenant; revoking one takes effect within seconds."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from director_ai.core.identifiers import check_identifier
from director_ai.core.ranges import check_number
from director_ai.errors import ConfigError, DirectorError, UnknownOption
from director_ai.record.tables import API_KEY
from director_ai.review.cases import moment
from director_ai.serve.callers import SCOPES, Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping

    from director_ai.record.chain import Writer
    from director_ai.record.trail import AuditTrail

__all__ = ["ApiKey", "IssuedKey", "KeyStore", "UnknownKey"]

REMEMBERED_SECONDS: Final = 2.0
"""For how long a key is not looked up again."""
MOST_REMEMBERED: Final = 10_000
MOST_LABEL: Final = 200
LONGEST: Final = 10 * 365 * 86_400.0
"""Seconds for which a key can be made."""
_MICROSECONDS: Final = 1_000_000
_KEY: Final = re.compile(r"(dai_[a-z0-9]{8})_[A-Za-z0-9_-]{43}")
_PREFIX: Final = re.compile(r"dai_[a-z0-9]{8}")
_NO_LINE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SIGNS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


class UnknownKey(DirectorError, LookupError):
    """There is no such key in this tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """What is known of a key; the key itself is not."""

    prefix: str
    """Its visible part, which stands in records."""
    tenant_id: str
    scopes: tuple[str, ...]
    label: str = ""
    shows_evidence: bool = False
    shows_reasoning: bool = False
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    digest: str = field(default="", repr=False)

    def caller(self) -> Caller:
        """Return who asks with it."""
        return Caller(
            caller_id=self.prefix,
            tenant_id=self.tenant_id,
            scopes=frozenset(self.scopes),
            shows_evidence=self.shows_evidence,
            shows_reasoning=self.shows_reasoning,
        )

    def is_valid(self, now: float) -> bool:
        """Whether it was neither revoked nor has come to its end."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at.timestamp() > now)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, without the hash."""
        return {
            "prefix": self.prefix,
            "tenant_id": self.tenant_id,
            "scopes": list(self.scopes),
            "label": self.label,
            "shows_evidence": self.shows_evidence,
            "shows_reasoning": self.shows_reasoning,
            "created_at": _shown(self.created_at),
            "expires_at": _shown(self.expires_at),
            "revoked_at": _shown(self.revoked_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A new key, in the only moment in which it can be read."""

    secret: str = field(repr=False)
    key: ApiKey


class KeyStore:
    """The keys of a database; every change of one stands in its tenant's trail."""

    def __init__(self, trail: AuditTrail, *, clock: Callable[[], float] = time.time) -> None:
        self._trail, self._clock = trail, clock
        self._remembered: dict[str, tuple[float, ApiKey | None]] = {}

    # --- changing -----------------------------------------------------------------------------------------------

    def create(
        self,
        tenant_id: str,
        scopes: Iterable[str],
        *,
        label: str = "",
        expires_after: float | None = None,
        shows_evidence: bool = False,
        shows_reasoning: bool = False,
        by: str = "",
    ) -> IssuedKey:
        """Make a key; the secret is in what is returned, and nowhere else."""
        tenant, allowed = check_identifier("tenant_id", tenant_id), _checked_scopes(scopes)
        named = _checked_label(label)
        lasts = None if expires_after is None else check_number("expires_after", expires_after, 1.0, LONGEST)
        secret, prefix = _new_secret()
        values = {
            "prefix": prefix,
            "digest": _digest(secret),
            "tenant": tenant,
            "scopes": " ".join(allowed),
            "label": named,
            "shows_evidence": int(bool(shows_evidence)),
            "shows_reasoning": int(bool(shows_reasoning)),
        }
        made = self._trail.write(lambda writer: _insert(writer, values, lasts, by, "key.created"), tenant)
        return IssuedKey(secret=secret, key=made)

    def revoke(self, prefix: str, *, tenant_id: str | None = None, by: str = "") -> ApiKey:
        """End a key; one that was revoked before stays as it was. With a tenant, only one of that tenant's."""
        known = self.get(prefix, tenant_id=tenant_id)
        revoked = self._trail.write(lambda writer: _revoke(writer, known.prefix, by), known.tenant_id)
        self._remembered.pop(known.prefix, None)
        return revoked

    def rotate(self, prefix: str, *, tenant_id: str | None = None, by: str = "") -> IssuedKey:
        """Revoke a key and make one with the same rights in its place, in one stroke."""
        known = self.get(prefix, tenant_id=tenant_id)
        secret, fresh = _new_secret()

        def replace(writer: Writer) -> ApiKey:
            old = _find(writer.connection, known.prefix)
            if old is None or not old.is_valid(writer.now / _MICROSECONDS):
                raise ConfigError("the key was revoked or has come to its end; create a new one")
            _revoke(writer, known.prefix, by)
            row = _row(writer.connection, known.prefix)
            values = {**row, "prefix": fresh, "digest": _digest(secret), "revoked_at": None}
            lasts = None if old.expires_at is None else old.expires_at.timestamp() - writer.now / _MICROSECONDS
            return _insert(writer, values, lasts, by, "key.rotated")

        made = self._trail.write(replace, known.tenant_id)
        self._remembered.pop(known.prefix, None)
        return IssuedKey(secret=secret, key=made)

    # --- looking ------------------------------------------------------------------------------------------------

    def get(self, prefix: str, *, tenant_id: str | None = None) -> ApiKey:
        """Return a key by its visible part."""
        named = isinstance(prefix, str) and _PREFIX.fullmatch(prefix)
        found = self._trail.database.read(lambda connection: _find(connection, prefix)) if named else None
        if found is None or tenant_id not in {None, found.tenant_id}:
            raise UnknownKey("there is no such key" + ("" if tenant_id is None else " in this tenant"))
        return found

    def keys_of(self, tenant_id: str | None = None) -> list[ApiKey]:
        """Return the keys of a tenant, or all, the oldest first."""
        wanted = sa.select(API_KEY).order_by(API_KEY.c.created_at, API_KEY.c.prefix)
        if tenant_id is not None:
            wanted = wanted.where(API_KEY.c.tenant == check_identifier("tenant_id", tenant_id))
        return self._trail.database.read(
            lambda connection: [_key(row) for row in connection.execute(wanted).mappings()]
        )

    def has_any(self) -> bool:
        """Whether anybody could come in."""
        return any(key.is_valid(self._clock()) for key in self.keys_of())

    # --- who asks -----------------------------------------------------------------------------------------------

    def is_remembered(self, secret: str) -> bool:
        """Whether a key can be checked without asking the database."""
        found = _KEY.fullmatch(secret)
        return found is None or self._recall(found[1]) is not None

    def find(self, secret: str) -> ApiKey | None:
        """Return the key that a secret is of, if it is valid now."""
        found = _KEY.fullmatch(secret)
        if found is None:
            return None
        known = self._recall(found[1])
        if known is None:
            key = self._trail.database.read(lambda connection: _find(connection, found[1]))
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            known = self._remembered[found[1]] = (time.monotonic(), key)
        key = known[1]
        # A key that is not there is compared too, so that the time tells nothing.
        same = hmac.compare_digest(_digest(secret), key.digest if key is not None else "0" * 64)
        return key if key is not None and same and key.is_valid(self._clock()) else None

    def still_valid(self, prefixes: Iterable[str]) -> set[str]:
        """Return which of some keys are valid now, as the database has them."""
        wanted = sa.select(API_KEY).where(API_KEY.c.prefix.in_(list(prefixes)))
        found = self._trail.database.read(
            lambda connection: [_key(row) for row in connection.execute(wanted).mappings()]
        )
        return {key.prefix for key in found if key.is_valid(self._clock())}

    def _recall(self, prefix: str) -> tuple[float, ApiKey | None] | None:
        known = self._remembered.get(prefix)
        return known if known is not None and time.monotonic() - known[0] < REMEMBERED_SECONDS else None


def _new_secret() -> tuple[str, str]:
    prefix = "dai_" + "".join(secrets.choice(_SIGNS) for _ in range(8))
    return f"{prefix}_{secrets.token_urlsafe(32)}", prefix


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _checked_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    given = [scopes] if isinstance(scopes, str) else list(scopes)
    for scope in given:
        if scope not in SCOPES:
            raise UnknownOption("scope", scope, SCOPES)
    if not given:
        raise ConfigError(f"a key needs at least one scope out of {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in given)


def _checked_label(label: object) -> str:
    if not isinstance(label, str) or len(label) > MOST_LABEL or _NO_LINE.search(label):
        raise ConfigError(f"a label is one line of at most {MOST_LABEL} characters")
    return label


def _insert(writer: Writer, values: dict[str, Any], lasts: float | None, by: str, kind: str) -> ApiKey:
    expires = None if lasts is None else writer.now + int(lasts * _MICROSECONDS)
    writer.connection.execute(
        sa.insert(API_KEY), {"revoked_at": None, **values, "created_at": writer.now, "expires_at": expires}
    )
    body = {
        "by": check_identifier("by", by),
        "scopes": values["scopes"].split(),
        "expires_at": expires or 0,
        "shows_evidence": bool(values["shows_evidence"]),
        "shows_reasoning": bool(values["shows_reasoning"]),
    }
    writer.append(kind, values["prefix"], body)
    return _key(_row(writer.connection, values["prefix"]))


def _revoke(writer: Writer, prefix: str, by: str) -> ApiKey:
    known = _find(writer.connection, prefix)
    if known is not None and known.revoked_at is None:
        revoking = sa.update(API_KEY).where(API_KEY.c.prefix == prefix).values(revoked_at=writer.now)
        writer.connection.execute(revoking)
        writer.append("key.revoked", prefix, {"by": check_identifier("by", by)})
    return _key(_row(writer.connection, prefix))


def _row(connection: Connection, prefix: str) -> RowMapping:
    return connection.execute(sa.select(API_KEY).where(API_KEY.c.prefix == prefix)).mappings().one()


def _find(connection: Connection, prefix: str) -> ApiKey | None:
    found = connection.execute(sa.select(API_KEY).where(API_KEY.c.prefix == prefix)).mappings().first()
    return None if found is None else _key(found)


def _key(row: RowMapping) -> ApiKey:
    return ApiKey(
        prefix=row["prefix"],
        tenant_id=row["tenant"],
        scopes=tuple(row["scopes"].split()),
        label=row["label"],
        shows_evidence=bool(row["shows_evidence"]),
        shows_reasoning=bool(row["shows_reasoning"]),
        created_at=moment(row["created_at"]),
        expires_at=None if row["expires_at"] is None else moment(row["expires_at"]),
        revoked_at=None if row["revoked_at"] is None else moment(row["revoked_at"]),
        digest=row["digest"],
    )


def _shown(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds").replace("+00:00", "Z")
