"""What was used once already, so that it cannot be used by somebody else."""

from __future__ import annotations

import heapq
import threading
from typing import Protocol, runtime_checkable

from director_ai.core.ranges import check_count
from director_ai.errors import ConfigError

__all__ = ["NonceStore", "Nonces"]


@runtime_checkable
class NonceStore(Protocol):
    """Remembers who used a nonce first; a store that processes share keeps one nonce for one owner in all of them."""

    def claim(self, nonce: str, owner: str, expires_at: float, now: float) -> bool:
        """Return True where the nonce is this owner's from now on, or was before; False where it is another's."""
        ...


class Nonces:
    """Nonces in memory, for one process; those that came to their end are forgotten, others never are.

    Args:
        size: The most it holds. A full store refuses new nonces: to forget one that is valid would let it be replayed.
    """

    def __init__(self, size: int = 10_000) -> None:
        self._size = check_count("size", size, 1)
        self._owners: dict[tuple[str, float], str] = {}
        self._by_end: list[tuple[float, str]] = []
        self._forgotten = 0.0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._owners)

    def claim(self, nonce: str, owner: str, expires_at: float, now: float) -> bool:
        """Return whether the nonce is this owner's; raise ConfigError where the store is full."""
        key = (nonce, expires_at)
        with self._lock:
            if key in self._owners:
                return self._owners[key] == owner
            if expires_at <= self._forgotten:  # the clock went back: this one may have been used and forgotten
                return False
            self._forget(now)
            if len(self._owners) >= self._size:
                raise ConfigError("the store of nonces is full; give it a greater size, or statements a shorter life")
            self._owners[key] = owner
            heapq.heappush(self._by_end, (expires_at, nonce))
            return True

    def _forget(self, now: float) -> None:
        while self._by_end and self._by_end[0][0] <= now:
            end, nonce = heapq.heappop(self._by_end)
            del self._owners[(nonce, end)]
            self._forgotten = max(self._forgotten, end)
