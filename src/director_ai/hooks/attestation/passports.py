"""Passports: signed statements of what an agent may do, as JSON Web Tokens signed with Ed25519 and nothing else."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from director_ai.core.identifiers import check_identifier, is_ref
from director_ai.core.ranges import check_number
from director_ai.errors import ConfigError, MissingExtra, PayloadError
from director_ai.hooks.attestation.capabilities import Grants, checked_capabilities
from director_ai.hooks.statements import LATEST, StatementRefused, decode_segment, encode_segment, read_object
from director_ai.record.canonical import canonical

try:
    import jwt
except ImportError:
    raise MissingExtra("reading agent passports", extra="hooks") from None

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.hooks.attestation.issuers import Issuer, IssuerKey, IssuerRegistry

__all__ = ["Passport", "PassportReader", "delegate_passport", "holder_of", "issue_passport"]

ALGORITHM: Final = "EdDSA"
TOKEN_TYPE: Final = "agent-passport+jwt"  # noqa: S105 - a media type
MOST_TOKEN: Final = 16_384
"""Characters, with the passports that it was derived from."""
MOST_CHAIN: Final = 3
"""A passport, one derived from it, and one derived from that."""
LONGEST_LIFE: Final = 366 * 86_400
_REMEMBERED: Final = 1_024
_HEADER: Final = frozenset({"alg", "kid", "typ"})
_NEEDED: Final = frozenset({"iss", "sub", "aud", "jti", "iat", "exp", "cap"})
_KNOWN: Final = _NEEDED | {"nbf", "tenant", "holder", "parent"}
_SIGNATURES: Final = jwt.PyJWS(algorithms=[ALGORITHM])


@dataclass(frozen=True, slots=True, kw_only=True)
class Passport:
    """What a passport says, once its signature was found to count."""

    passport_id: str
    issuer: str
    kid: str
    subject: str
    audience: tuple[str, ...]
    capabilities: tuple[str, ...]
    tenant_id: str = ""
    """Empty: for any tenant."""
    issued_at: int
    not_before: int
    expires_at: int
    holder: str = ""
    """The public key by which its subject may derive narrower ones; empty: it may not."""
    parent: Passport | None = None
    grants: Grants = field(repr=False, compare=False)

    def chain(self) -> tuple[Passport, ...]:
        """Return this passport and those that it was derived from."""
        return (self, *(self.parent.chain() if self.parent is not None else ()))


def holder_of(key: Ed25519PublicKey) -> str:
    """Return a public key as it stands in a passport."""
    return encode_segment(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


def issue_passport(
    key: Ed25519PrivateKey,
    *,
    issuer: str,
    kid: str,
    subject: str,
    audience: str | Iterable[str],
    capabilities: Iterable[str],
    lifetime: float = 3_600.0,
    now: float | None = None,
    **more: Any,
) -> str:
    """Return a signed passport; `more` sets `jti`, `nbf`, `tenant` and `holder`, the key that may derive others."""
    start = int(check_number("now", time.time() if now is None else now, 0, LATEST))
    claims = {
        "iss": issuer,
        "sub": subject,
        "aud": [audience] if isinstance(audience, str) else list(audience),
        "jti": secrets.token_hex(16),
        "iat": start,
        "exp": start + int(check_number("lifetime", lifetime, 1, LONGEST_LIFE)),
        "cap": list(capabilities),
    } | more
    if isinstance(more.get("holder"), Ed25519PublicKey):
        claims["holder"] = holder_of(more["holder"])
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"a passport is signed by an Ed25519 private key, got a {type(key).__name__}")
    try:
        _passport(claims, kid, None)
    except (PayloadError, ConfigError) as error:
        raise ConfigError(f"this passport would be refused: {error}") from None
    headers = {"kid": kid, "typ": TOKEN_TYPE}
    return _SIGNATURES.encode(canonical(claims).encode(), key, algorithm=ALGORITHM, headers=headers)


def delegate_passport(parent: str, key: Ed25519PrivateKey, *, issuer: str, **more: Any) -> str:
    """Return a narrower passport, derived from one whose holder has the key; `issuer` is the parent's subject."""
    public = holder_of(key.public_key())
    return issue_passport(key, issuer=issuer, kid=_kid_of(public), parent=parent, **more)


class PassportReader:
    """Reads passports of registered issuers; times, audience and revocation are for the caller, at each use."""

    def __init__(self, registry: IssuerRegistry) -> None:
        self._registry = registry
        self._read: OrderedDict[str, tuple[Passport, Issuer, IssuerKey]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, token: object) -> tuple[Passport, Issuer, IssuerKey]:
        """Return a passport with the issuer and the key at its root, or refuse it with a reason."""
        if type(token) is not str:
            raise StatementRefused("malformed")
        if not token:
            raise StatementRefused("missing")
        if len(token) > MOST_TOKEN:
            raise StatementRefused("too_large")
        with self._lock:
            known = self._read.get(token)
            if known is not None:
                self._read.move_to_end(token)
        if known is not None:
            root = known[0].chain()[-1]
            issuer, key = self._registry.find(root.issuer, root.kid)
            if issuer is known[1] and key is known[2]:
                return known
        found = self._checked(token, 1)
        with self._lock:
            self._read[token] = found
            if len(self._read) > _REMEMBERED:
                self._read.popitem(last=False)
        return found

    def _checked(self, token: str, depth: int) -> tuple[Passport, Issuer, IssuerKey]:
        if depth > MOST_CHAIN:
            raise StatementRefused("chain_too_long")
        header, claims = _parts(token)
        _check_header(header)
        kid = header["kid"]
        if "parent" not in claims:
            issuer, key = self._registry.find(_word(claims.get("iss")), kid)
            _verify(token, key.key)
            return _passport(claims, kid, None), issuer, key
        # The key of a derived passport stands in the one above it, which is signed and was checked.
        parent, issuer, key = self._checked(_word(claims["parent"]), depth + 1)
        if not parent.holder or kid != _kid_of(parent.holder):
            raise StatementRefused("delegation_broken")
        _verify(token, Ed25519PublicKey.from_public_bytes(decode_segment(parent.holder)))
        passport = _passport(claims, kid, parent)
        if passport.issuer != parent.subject:
            raise StatementRefused("delegation_broken")
        _check_narrower(passport, parent)
        return passport, issuer, key


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    parts = token.split(".")
    try:
        if len(parts) != 3:
            raise StatementRefused("malformed")
        decode_segment(parts[2])
        return read_object(decode_segment(parts[0])), read_object(decode_segment(parts[1]))
    except PayloadError:
        raise StatementRefused("malformed") from None


def _check_header(header: dict[str, Any]) -> None:
    """Refuse every algorithm but one, and every header that would have us trust or do something else."""
    if header.get("alg") != ALGORITHM:
        raise StatementRefused("algorithm_refused")
    if not set(header) <= _HEADER:
        raise StatementRefused("header_refused")
    if header.get("typ") != TOKEN_TYPE:
        raise StatementRefused("wrong_type")
    if not is_ref(header.get("kid")):
        raise StatementRefused("unknown_key")


def _verify(token: str, key: Ed25519PublicKey) -> None:
    try:
        _SIGNATURES.decode(token, key=key, algorithms=[ALGORITHM])
    except (jwt.PyJWTError, ValueError, TypeError):
        raise StatementRefused("forged") from None


def _passport(claims: dict[str, Any], kid: str, parent: Passport | None) -> Passport:
    """Return what claims say, each of the type that it must have."""
    if not set(claims) >= _NEEDED or not set(claims) <= _KNOWN:
        raise StatementRefused("malformed")
    audience = [claims["aud"]] if isinstance(claims["aud"], str) else claims["aud"]
    times = [claims["iat"], claims.get("nbf", claims["iat"]), claims["exp"]]
    if not isinstance(audience, list) or not 1 <= len(audience) <= 32 or not all(map(is_ref, audience)):
        raise StatementRefused("malformed")
    if not all(type(time) is int and 0 <= time <= LATEST for time in times):
        raise StatementRefused("malformed")
    if not max(times[:2]) < times[2] <= times[0] + LONGEST_LIFE or not isinstance(claims["cap"], list):
        raise StatementRefused("malformed")
    if not is_ref(claims["iss"]) or not claims["sub"] or not claims["jti"]:
        raise StatementRefused("malformed")
    try:
        return Passport(
            passport_id=check_identifier("jti", claims["jti"]),
            issuer=claims["iss"],
            kid=kid,
            subject=check_identifier("sub", claims["sub"]),
            audience=tuple(audience),
            capabilities=checked_capabilities("cap", claims["cap"], is_pattern=True),
            tenant_id=check_identifier("tenant", claims.get("tenant", "")),
            issued_at=times[0],
            not_before=max(times[:2]),
            expires_at=times[2],
            holder=_holder(claims.get("holder", "")),
            parent=parent,
            grants=Grants(claims["cap"]),
        )
    except (ConfigError, PayloadError):
        raise StatementRefused("malformed") from None


def _check_narrower(passport: Passport, parent: Passport) -> None:
    if (
        not all(map(parent.grants.covers, passport.capabilities))
        or passport.expires_at > parent.expires_at
        or passport.not_before < parent.not_before
        or (parent.tenant_id and passport.tenant_id != parent.tenant_id)
        or not set(passport.audience) <= set(parent.audience)
    ):
        raise StatementRefused("delegation_widened")


def _holder(text: object) -> str:
    if not isinstance(text, str) or (text and len(decode_segment(text)) != 32):
        raise PayloadError("holder must be an Ed25519 public key in base64url")
    return text


def _kid_of(holder: str) -> str:
    return hashlib.sha256(decode_segment(holder)).hexdigest()[:16]


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise StatementRefused("malformed")
    return value
