"""Anchors: signed statements of who runs where, so that a sandbox cannot call itself production."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from director_ai.core.identifiers import check_identifier
from director_ai.core.ranges import check_number
from director_ai.errors import ConfigError, PayloadError, UnknownOption
from director_ai.hooks.statements import LATEST, StatementRefused, decode_segment, encode_segment, read_object
from director_ai.record.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["RUN_SCOPES", "Anchor", "AnchorKey", "AnchorReader", "RunScope", "issue_anchor"]

RunScope = Literal["sandbox", "simulator", "shadow", "production"]
RUN_SCOPES: Final[tuple[str, ...]] = get_args(RunScope)

LONGEST_LIFE: Final = 31 * 86_400
"""Seconds; an anchor that must last longer is issued again."""
MOST_TOKEN: Final = 4_096
"""Characters of an anchor."""
_PREFIX: Final = "anchor1"
_PURPOSE: Final = b"director-ai: anchor of a run, version 1"
_REMEMBERED: Final = 256
_Asymmetric = Ed25519PrivateKey | Ed25519PublicKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Who runs where, and for how long."""

    anchor_id: str
    subject: str
    """The agent."""
    scope: str
    """One of RUN_SCOPES."""
    tenant_id: str = ""
    """Whose run it is; the empty one anchors only what belongs to no tenant."""
    run_id: str = ""
    """The one run that it is for; empty: any run, or the first one where a store of nonces is kept."""
    nonce: str
    issued_at: int
    """Seconds since 1970."""
    expires_at: int

    def __post_init__(self) -> None:
        for name in ("anchor_id", "subject", "nonce", "tenant_id", "run_id"):
            value = check_identifier(name, getattr(self, name))
            if not value and name in ("anchor_id", "subject", "nonce"):
                raise ConfigError(f"{name} must not be empty")
        if self.scope not in RUN_SCOPES:
            raise UnknownOption("scope of an anchor", self.scope, RUN_SCOPES)
        for name in ("issued_at", "expires_at"):
            if type(getattr(self, name)) is not int or not 0 <= getattr(self, name) <= LATEST:
                raise ConfigError(f"{name} must be whole seconds since 1970")
        if not 0 < self.expires_at - self.issued_at <= LONGEST_LIFE:
            raise ConfigError(f"an anchor must live for 1 to {LONGEST_LIFE} seconds")


_FIELDS: Final = frozenset(field.name for field in fields(Anchor))


class AnchorKey:
    """A key that signs or checks anchors; what kind it is, the key says, never the anchor.

    Made by `from_secret` (HMAC-SHA256) or `from_ed25519`; a public key checks and cannot sign.
    """

    def __init__(self, kind: str, key_id: str, secret: bytes | None, key: _Asymmetric | None) -> None:
        self.kind, self.key_id = kind, key_id
        self._secret, self._key = secret, key
        self._public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key

    def __repr__(self) -> str:
        return f"AnchorKey({self.kind}, {self.key_id})"

    @classmethod
    def from_secret(cls, secret: bytes) -> Self:
        """Return a key that whoever checks anchors shares with whoever issues them."""
        if not isinstance(secret, bytes) or not 32 <= len(secret) <= 4_096:
            raise ConfigError("the secret of an anchor key must be 32 to 4096 random bytes")
        own = bytes(secret)
        return cls("hmac-sha256", hmac.digest(own, _PURPOSE + b": name", "sha256").hex()[:16], own, None)

    @classmethod
    def from_ed25519(cls, key: _Asymmetric) -> Self:
        """Return a key of the `cryptography` package: a private one issues, a public one only checks."""
        if not isinstance(key, _Asymmetric):
            raise ConfigError(f"the key must be an Ed25519 key, got a {type(key).__name__}")
        public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
        raw = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
        return cls("ed25519", hashlib.sha256(raw).hexdigest()[:16], None, key)

    def sign(self, payload: bytes) -> bytes:
        """Return the signature of an anchor's payload."""
        if self._secret is not None:
            return hmac.digest(self._secret, self._message(payload), "sha256")
        if not isinstance(self._key, Ed25519PrivateKey):
            raise ConfigError("a public key checks anchors; to issue them, give the private one")
        return self._key.sign(self._message(payload))

    def has_signed(self, payload: bytes, signature: bytes) -> bool:
        """Whether a signature is this key's; how long it takes says nothing of the right one."""
        if self._secret is not None:
            return hmac.compare_digest(self.sign(payload), signature)
        try:
            assert self._public is not None  # noqa: S101 - one of the two is there
            self._public.verify(signature, self._message(payload))
        except InvalidSignature:
            return False
        return True

    def _message(self, payload: bytes) -> bytes:
        return b"\0".join((_PURPOSE, self.kind.encode(), self.key_id.encode(), payload))


def issue_anchor(
    key: AnchorKey,
    *,
    subject: str,
    scope: RunScope,
    tenant_id: str = "",
    run_id: str = "",
    lifetime: float = 3_600.0,
    now: float | None = None,
    **more: Any,
) -> str:
    """Return a signed anchor; `more` sets `anchor_id` and `nonce`, which are random otherwise."""
    unknown = next((name for name in more if name not in ("anchor_id", "nonce")), None)
    if unknown is not None:
        raise UnknownOption("part of an anchor", unknown, _FIELDS)
    start = int(check_number("now", time.time() if now is None else now, 0, LATEST))
    anchor = Anchor(
        anchor_id=more.get("anchor_id") or f"anc-{secrets.token_hex(8)}",
        subject=subject,
        scope=scope,
        tenant_id=tenant_id,
        run_id=run_id,
        nonce=more.get("nonce") or secrets.token_hex(16),
        issued_at=start,
        expires_at=start + int(check_number("lifetime", lifetime, 1, LONGEST_LIFE)),
    )
    payload = canonical(asdict(anchor)).encode()
    return ".".join((_PREFIX, key.key_id, encode_segment(payload), encode_segment(key.sign(payload))))


class AnchorReader:
    """Reads anchors that one of its keys signed; times are for the caller to judge, at each use."""

    def __init__(self, keys: Iterable[AnchorKey]) -> None:
        given = tuple(keys)
        if not given or not all(isinstance(key, AnchorKey) for key in given):
            raise ConfigError("keys must hold at least one AnchorKey")
        self._keys = {key.key_id: key for key in given}
        self._read: OrderedDict[str, Anchor] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, token: object) -> Anchor:
        """Return what an anchor says, or refuse it with a reason; one that was read before is not checked twice."""
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
                return known
        anchor = self._checked(token)
        with self._lock:
            self._read[token] = anchor
            if len(self._read) > _REMEMBERED:
                self._read.popitem(last=False)
        return anchor

    def _checked(self, token: str) -> Anchor:
        parts = token.split(".")
        if len(parts) != 4 or parts[0] != _PREFIX:
            raise StatementRefused("malformed")
        key = self._keys.get(parts[1])
        if key is None:
            raise StatementRefused("unknown_key")
        try:
            payload, signature = decode_segment(parts[2]), decode_segment(parts[3])
        except PayloadError:
            raise StatementRefused("malformed") from None
        if not key.has_signed(payload, signature):
            raise StatementRefused("forged")
        try:
            found = read_object(payload)
            if set(found) != _FIELDS or canonical(found).encode() != payload:
                raise StatementRefused("malformed")
            return Anchor(**found)
        except (ConfigError, PayloadError):
            raise StatementRefused("malformed") from None
