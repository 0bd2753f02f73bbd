"""The streams that are open now: counted, and ended at once where an operator or a revoked key says so."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Set

    from director_ai.serve.callers import Caller
    from director_ai.serve.exchange import Exchange

__all__ = ["OpenStreams"]


class OpenStreams:
    """A register; it belongs to one event loop."""

    def __init__(self) -> None:
        self._open: dict[Exchange, Caller] = {}
        self._killed: set[str] = set()
        """Tenants whose switch is off; `*` is everybody."""
        self._closed = ""
        """Why no stream may begin any more."""

    def __len__(self) -> int:
        return len(self._open)

    @contextlib.contextmanager
    def entered(self, exchange: Exchange, caller: Caller) -> Iterator[None]:
        """Register a stream while it runs; one that was let in before a switch was turned ends at once."""
        self._open[exchange] = caller
        if self._closed or self.is_killed(caller.tenant_id):
            exchange.stop(self._closed or "kill_switch")
        try:
            yield
        finally:
            self._open.pop(exchange, None)

    def kill(self, tenant_id: str = "*") -> int:
        """End the streams of a tenant, or all, and let no new ones begin; return how many were ended."""
        self._killed.add(tenant_id)
        return self.stop("kill_switch", lambda caller: tenant_id in {"*", caller.tenant_id})

    def revive(self, tenant_id: str = "*") -> None:
        """Let streams begin again."""
        self._killed.discard(tenant_id)

    def follow(self, killed: Set[str]) -> int:
        """Turn the switches as they stand elsewhere; return how many streams were ended."""
        ended = sum(self.kill(tenant_id) for tenant_id in killed - self._killed)
        self._killed = set(killed)
        return ended

    def is_killed(self, tenant_id: str) -> bool:
        """Whether no stream of a tenant may begin."""
        return "*" in self._killed or tenant_id in self._killed

    def killed(self) -> list[str]:
        """Return whose switch is off."""
        return sorted(self._killed)

    def callers(self) -> list[Caller]:
        """Return whose streams are open, each once."""
        return list({caller.caller_id: caller for caller in self._open.values()}.values())

    def count_by_tenant(self) -> dict[str, int]:
        """Return how many streams of each tenant are open."""
        counted: dict[str, int] = {}
        for caller in self._open.values():
            counted[caller.tenant_id] = counted.get(caller.tenant_id, 0) + 1
        return counted

    def close(self, reason: str) -> int:
        """End all streams and let none begin, for good; return how many were ended."""
        self._closed = reason
        return self.stop(reason)

    def stop(self, reason: str, whose: Callable[[Caller], bool] | None = None) -> int:
        """End streams as halted, and return how many."""
        ended = [exchange for exchange, caller in self._open.items() if whose is None or whose(caller)]
        for exchange in ended:
            exchange.stop(reason)
        return len(ended)
