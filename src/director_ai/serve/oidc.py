"""Bearer tokens of an identity provider: checked against its keys, and read for a tenant and scopes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError, MissingExtra
from director_ai.serve.callers import SCOPES, Caller, NotAuthenticated
from director_ai.serve.upstream import HttpUpstream, UpstreamUnreachable

try:
    import jwt
except ImportError:
    raise MissingExtra("signing in by OpenID Connect", extra="oidc") from None

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.serve.sections import OidcSettings

__all__ = ["OidcTokens"]

KEYS_LAST: Final = 300.0
"""Seconds after which the provider's keys are asked for again."""
ASKED_AGAIN: Final = 10.0
"""Seconds before the provider may be asked again: neither a stranger's tokens nor its own trouble make us press it."""
MOST_KEYS_BYTES: Final = 1_000_000
MOST_TOKEN: Final = 16_384


class OidcTokens:
    """Reads tokens of one issuer."""

    def __init__(self, settings: OidcSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._keys: dict[str, Any] = {}
        self._read_at = self._asked_at = -KEYS_LAST
        self._reading = asyncio.Lock()

    async def read(self, token: str) -> tuple[Caller, float]:
        """Return who a token is of, and until when, or refuse it."""
        key = await self._key_of(token)
        try:
            claims = jwt.decode(
                token,
                key=key,
                algorithms=list(self._settings.algorithms),
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=self._settings.leeway,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.ExpiredSignatureError:
            raise NotAuthenticated("the token has come to its end; get a new one") from None
        except (jwt.PyJWTError, ValueError, TypeError):
            raise NotAuthenticated("the token is not valid here") from None
        return self._caller(claims), float(claims["exp"]) + self._settings.leeway

    def _caller(self, claims: dict[str, Any]) -> Caller:
        """Return who claims say it is; a tenant must be named, and only scopes that we know count."""
        try:
            tenant = check_identifier("tenant", claims.get(self._settings.tenant_claim))
        except ConfigError:
            tenant = ""
        if not tenant:
            raise NotAuthenticated("the token names no tenant", status=403)
        given = claims.get(self._settings.scopes_claim, ())
        words = given.split() if isinstance(given, str) else given if isinstance(given, list) else []
        prefix = self._settings.scope_prefix
        scopes = {word.removeprefix(prefix) for word in words if isinstance(word, str) and word.startswith(prefix)}
        return Caller(caller_id=_named(claims["sub"]), tenant_id=tenant, scopes=frozenset(scopes & set(SCOPES)))

    async def _key_of(self, token: str) -> Any:
        try:
            header = jwt.get_unverified_header(token) if len(token) <= MOST_TOKEN else {}
        except (jwt.PyJWTError, ValueError):
            header = {}
        name = header.get("kid")
        if header.get("alg") not in self._settings.algorithms or not isinstance(name, str):
            raise NotAuthenticated("the token is not valid here")
        async with self._reading:
            now = self._clock()
            is_old = now - self._read_at >= KEYS_LAST
            if (is_old or name not in self._keys) and now - self._asked_at >= ASKED_AGAIN:
                self._asked_at = now
                self._keys = await self._read_keys()
                self._read_at, is_old = now, False
        if is_old:
            raise UpstreamUnreachable("the keys of the identity provider could not be read; come again")
        if name not in self._keys:
            raise NotAuthenticated("the token is not valid here")
        return self._keys[name]

    async def _read_keys(self) -> dict[str, Any]:
        place = self._settings.jwks
        data = await _fetched(place) if "://" in place else await asyncio.to_thread(_of_file, place)
        try:
            found = jwt.PyJWKSet.from_dict(json.loads(data))
        except (jwt.PyJWTError, ValueError, AttributeError, TypeError):
            raise UpstreamUnreachable("the keys of the identity provider cannot be read") from None
        return {key.key_id: key for key in found.keys if key.key_id}


async def _fetched(url: str) -> bytes:
    provider = HttpUpstream(url, headers={}, timeout=10.0, connections=1)
    try:
        answer = await provider.send("GET", "", {}, b"")
        data = b""
        async for chunk in answer.chunks:
            data += chunk
            if len(data) > MOST_KEYS_BYTES:
                break
        if answer.status != 200 or len(data) > MOST_KEYS_BYTES:
            raise UpstreamUnreachable("the identity provider does not give its keys")
        return data
    finally:
        await provider.aclose()


def _of_file(place: str) -> bytes:
    try:
        return Path(place).read_bytes()
    except OSError as error:
        raise UpstreamUnreachable(
            f"the file of the identity provider's keys cannot be read ({error.strerror})"
        ) from None


def _named(subject: object) -> str:
    """Return a subject as an id that may stand in records."""
    try:
        return f"oidc:{check_identifier('sub', subject)}" if subject and len(str(subject)) < 120 else _hashed(subject)
    except ConfigError:
        return _hashed(subject)


def _hashed(subject: object) -> str:
    return f"oidc:{hashlib.sha256(str(subject).encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
