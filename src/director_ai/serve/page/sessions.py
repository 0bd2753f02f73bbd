"""Who is signed in: a cookie holds a signed reference, the server what it stands for, and nobody the key."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.serve.callers import Caller

__all__ = ["Sessions"]

LONGEST: Final = 12 * 3600.0
IDLE: Final = 2 * 3600.0
MOST: Final = 10_000


@dataclass(slots=True, kw_only=True)
class _Session:
    caller: Caller
    began: float
    seen: float


class Sessions:
    """Sessions of one process; they end with it, when somebody signs out, after two idle hours, and after twelve."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._open: dict[str, _Session] = {}

    def open(self, caller: Caller) -> str:
        """Begin a session and return what its cookie holds."""
        if len(self._open) >= MOST:
            del self._open[min(self._open, key=lambda name: self._open[name].seen)]
        name, now = secrets.token_urlsafe(24), self._clock()
        self._open[name] = _Session(caller=caller, began=now, seen=now)
        return f"{name}.{self._signature('session', name)}"

    def find(self, cookie: str) -> Caller | None:
        """Return who a cookie stands for; None where it stands for nobody, or no longer."""
        name = self._named(cookie)
        session = self._open.get(name)
        if session is None:
            return None
        now = self._clock()
        if now - session.began > LONGEST or now - session.seen > IDLE:
            del self._open[name]
            return None
        session.seen = now
        return session.caller

    def close(self, cookie: str) -> None:
        """End a session."""
        self._open.pop(self._named(cookie), None)

    def token(self, nonce: str, cookie: str) -> str:
        """Return what a form must hold: it belongs to one browser and one session."""
        return self._signature("form", f"{nonce} {cookie}")

    def is_token(self, given: str, nonce: str, cookie: str) -> bool:
        """Whether a form came from a page of ours in the same browser."""
        return bool(nonce) and hmac.compare_digest(given.encode(), self.token(nonce, cookie).encode())

    def _named(self, cookie: str) -> str:
        """Return the name in a cookie; empty where the signature is not ours."""
        name, _, signature = cookie.partition(".")
        good = hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature("session", name).encode())
        return name if good else ""

    def _signature(self, use: str, text: str) -> str:
        return hmac.new(self._secret, f"{use} {text}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()
