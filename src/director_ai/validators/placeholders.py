"""Placeholders that stay the same within a conversation: the same address is [EMAIL_1] in every turn of it.

Values are known by a keyed digest alone. With a tenant's own key they are sealed as well, and that key opens them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import threading
from collections.abc import Mapping
from typing import Any, Final

from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError, DirectorError, MissingExtra

__all__ = ["Conversation"]

_PLACEHOLDER = re.compile(r"\[[A-Z][A-Z0-9_]*_[1-9][0-9]*\]")
_EXACT: Final = frozenset({"API_KEY", "PASSWORD", "PRIVATE_KEY", "TOKEN"})
"""Of these, one that differs in case or spacing is another one."""
_SHORTEST_KEY: Final = 16
_NONCE: Final = 12


class Conversation:
    """The placeholders of one conversation; threads and tasks may share it.

    Args:
        key: The tenant's own key, at least 16 bytes. With it values can be revealed again, and the conversation can be
            kept (`state`) and resumed.
        tenant_id: Bound to what is sealed: another tenant's key or name opens nothing.
        state: What `state()` of the same conversation returned.
    """

    def __init__(
        self, *, key: bytes | None = None, tenant_id: str = "", state: Mapping[str, Any] | None = None
    ) -> None:
        if key is not None and (not isinstance(key, bytes) or len(key) < _SHORTEST_KEY):
            raise ConfigError(f"key must be at least {_SHORTEST_KEY} bytes; os.urandom(32) makes a good one")
        self._tenant = check_identifier("tenant_id", tenant_id)
        self._secret = os.urandom(32) if key is None else _derived(key, b"director-ai digests", self._tenant)
        self._cipher = None if key is None else _cipher(key, self._tenant)
        self._state_key = b"" if key is None else _derived(key, b"director-ai state", self._tenant)
        self._labels: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._sealed: dict[str, str] = {}
        self._lock = threading.Lock()
        if state is not None:
            self._resume(state)

    def label(self, kind: str, value: str) -> str:
        """Return the placeholder of a value: the one it had before, or the next of its kind."""
        said = value if kind in _EXACT else "".join(value.split()).casefold()
        digest = hmac.new(self._secret, f"{kind}\0{said}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        with self._lock:
            known = self._labels.get(digest)
            if known is None:
                self._counts[kind] = self._counts.get(kind, 0) + 1
                known = self._labels[digest] = f"[{kind}_{self._counts[kind]}]"
                if self._cipher is not None:
                    nonce = os.urandom(_NONCE)
                    sealed = self._cipher.encrypt(nonce, value.encode("utf-8", "surrogatepass"), known.encode())
                    self._sealed[known] = base64.b64encode(nonce + sealed).decode()
            return known

    def reveal(self, text: str) -> str:
        """Return a text with the values in place of their placeholders; only with the key they were sealed with."""
        if self._cipher is None:
            raise ConfigError("this conversation was made without a key: nothing was kept that could be revealed")
        return _PLACEHOLDER.sub(lambda match: self._opened(match[0]), text)

    def _opened(self, label: str) -> str:
        sealed = self._sealed.get(label)
        if sealed is None or self._cipher is None:
            return label  # not one of ours: the model may write what it likes
        try:
            raw = base64.b64decode(sealed)
            value: bytes = self._cipher.decrypt(raw[:_NONCE], raw[_NONCE:], label.encode())
        except Exception:  # noqa: BLE001 - the library's own error says no more
            raise DirectorError(
                "the placeholders were sealed with another key, for another tenant, or altered"
            ) from None
        return value.decode("utf-8", "surrogatepass")

    def state(self) -> dict[str, Any]:
        """Return what another process needs to go on with this conversation: digests and sealed values, no text."""
        if self._cipher is None:
            raise ConfigError("a conversation without a key cannot be kept; give it a key")
        with self._lock:
            labels, sealed = dict(self._labels), dict(self._sealed)
        return {"labels": labels, "sealed": sealed, "seal": self._seal(labels, sealed)}

    def _seal(self, labels: object, sealed: object) -> str:
        """What only the holder of the key can write under a state: nobody else moves a number to another value."""
        said = json.dumps([labels, sealed], sort_keys=True).encode()
        return hmac.new(self._state_key, said, hashlib.sha256).hexdigest()

    def _resume(self, state: Mapping[str, Any]) -> None:
        known = state if isinstance(state, Mapping) else {}
        labels, sealed, seal = known.get("labels"), known.get("sealed"), known.get("seal")
        if self._cipher is None or not _is_table(labels) or not _is_table(sealed):
            raise ConfigError("state must be what state() of a conversation with the same key returned")
        if not isinstance(seal, str) or not hmac.compare_digest(seal.encode(), self._seal(labels, sealed).encode()):
            raise ConfigError("state was made with another key, for another tenant, or altered")
        self._labels, self._sealed = dict(labels), dict(sealed)  # type: ignore[arg-type]  # tables, by the line above
        for label in self._labels.values():
            if not _PLACEHOLDER.fullmatch(label):
                raise ConfigError("state holds something that is no placeholder")
            kind, _, number = label[1:-1].rpartition("_")
            self._counts[kind] = max(self._counts.get(kind, 0), int(number))


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(k, str) and isinstance(v, str) for k, v in value.items())


def _derived(key: bytes, purpose: bytes, tenant: str) -> bytes:
    return hmac.new(key, purpose + b"\0" + tenant.encode(), hashlib.sha256).digest()


def _cipher(key: bytes, tenant: str) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an optional part
    except ImportError:
        raise MissingExtra("placeholders that can be revealed", extra="pii") from None
    return AESGCM(_derived(key, b"director-ai values", tenant))
