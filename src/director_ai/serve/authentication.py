"""Who asks: the one function that every route goes through."""

from __future__ import annotations

import asyncio
import hmac
import time
from typing import TYPE_CHECKING, Final

from director_ai.serve.callers import SCOPES, Caller, NotAuthenticated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.requests import HTTPConnection

    from director_ai.serve.callers import Scope
    from director_ai.serve.keys import KeyStore
    from director_ai.serve.oidc import OidcTokens

__all__ = ["DEMO_KEY", "DEMO_TENANT", "Authentication"]

DEMO_KEY: Final = "demo"
DEMO_TENANT: Final = "demo"
MOST_TOKENS: Final = 10_000
_LOCAL_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})


class Authentication:
    """Knows callers by an API key or by a token of the identity provider.

    With `is_demo` there is a key `demo`, and what the demo opens needs none; the server sees to it that only this
    machine reaches a demo.
    """

    def __init__(
        self,
        keys: KeyStore,
        *,
        tokens: OidcTokens | None = None,
        is_demo: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys, self._tokens, self._clock = keys, tokens, clock
        self._until: dict[str, float] = {}
        """When the tokens of callers end."""
        self._demo = _demo_caller() if is_demo else None

    async def __call__(self, connection: HTTPConnection, scope: Scope, *, demo_opens: bool = False) -> Caller:
        """Return who sent a request, or refuse it; `demo_opens` says that a demo needs no key here."""
        secret = _secret_of(connection)
        if secret:
            caller = await self._known(secret)
        elif self._demo is not None and (demo_opens or scope == "reviewer") and _is_own_browser(connection):
            return self._demo
        else:
            raise NotAuthenticated("a key is needed: send `Authorization: Bearer …` or `x-api-key: …`")
        if scope not in caller.scopes:
            raise NotAuthenticated(f"this key is not for that; it needs the scope {scope!r}", status=403)
        return caller

    async def still_valid(self, caller: Caller) -> bool:
        """Whether the key or token of a caller holds."""
        return caller.caller_id in await self.valid_among([caller])

    def ends_at(self, caller: Caller) -> float | None:
        """Return when the token of a caller ends that came here with one; None for a key."""
        return self._until.get(caller.caller_id)

    async def valid_among(self, callers: Iterable[Caller]) -> set[str]:
        """Return the ids of those whose key or token holds now, as the database has it."""
        now, ids = self._clock(), {caller.caller_id for caller in callers}
        valid = {name for name in ids if self._demo is not None and name == self._demo.caller_id}
        valid |= {name for name in ids if self._until.get(name, 0.0) > now}
        prefixes = {name for name in ids if name.startswith("dai_")}
        return valid | (await asyncio.to_thread(self._keys.still_valid, prefixes) if prefixes else set())

    async def _known(self, secret: str) -> Caller:
        if self._demo is not None and hmac.compare_digest(secret.encode(), DEMO_KEY.encode()):
            return self._demo
        if self._tokens is not None and secret.count(".") == 2 and not secret.startswith("dai_"):
            caller, until = await self._tokens.read(secret)
            if len(self._until) >= MOST_TOKENS:
                self._until = {name: end for name, end in self._until.items() if end > self._clock()}
            self._until[caller.caller_id] = max(until, self._until.get(caller.caller_id, 0.0))
            return caller
        remembered = self._keys.is_remembered(secret)
        key = self._keys.find(secret) if remembered else await asyncio.to_thread(self._keys.find, secret)
        if key is None:
            raise NotAuthenticated("the key is not valid: it is unknown, was revoked, or has come to its end")
        return key.caller()


def _demo_caller() -> Caller:
    return Caller(
        caller_id=DEMO_KEY,
        tenant_id=DEMO_TENANT,
        scopes=frozenset(SCOPES),
        shows_evidence=True,
        shows_reasoning=True,
    )


def _secret_of(connection: HTTPConnection) -> str:
    """Return the key or token of a request; two that disagree are refused, and so is another scheme."""
    bearers = connection.headers.getlist("authorization")
    keys = connection.headers.getlist("x-api-key")
    if len(bearers) > 1 or len(keys) > 1:
        raise NotAuthenticated("a request has one Authorization and one x-api-key header at most")
    given = {key.strip() for key in keys}
    if bearers:
        scheme, _, token = bearers[0].strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise NotAuthenticated("the Authorization header must say `Bearer` and a key")
        given.add(token.strip())
    if len(given) > 1:
        raise NotAuthenticated("the Authorization and the x-api-key header hold different keys; send one")
    secret = given.pop() if given else ""
    if keys and not secret:
        raise NotAuthenticated("the x-api-key header holds no key")
    return secret


def _is_own_browser(connection: HTTPConnection) -> bool:
    """Whether no other web site is behind a request to a demo: neither by its name nor by a page of its own."""
    host = connection.headers.get("host", "")
    if host.rsplit(":", 1)[0] not in _LOCAL_NAMES and host not in _LOCAL_NAMES:
        return False
    if connection.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        return connection.scope.get("method") == "GET" and connection.headers.get("sec-fetch-mode") == "navigate"
    origin = connection.headers.get("origin", "")
    return origin in {"", "null"} or origin.partition("://")[2] == host
