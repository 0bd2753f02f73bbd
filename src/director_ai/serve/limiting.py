"""How much a tenant may ask: so many requests in a moving window."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from director_ai.errors import MissingExtra
from director_ai.serve.proxy import Overloaded
from director_ai.serve.sections import read_rate

try:
    from limits import RateLimitItem, parse
    from limits.storage import MemoryStorage
    from limits.strategies import MovingWindowRateLimiter
except ImportError:
    raise MissingExtra("the server", extra="server") from None

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TenantRates"]


class TenantRates:
    """Counts the requests of each tenant in this process."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._items: dict[str, RateLimitItem] = {}
        self._clock = clock

    def take(self, tenant_id: str, rate: str) -> None:
        """Count a request, or refuse it and say when to come again."""
        read = read_rate("rate", rate)
        if read is None:
            return
        item = self._items.setdefault(rate, parse(f"{read[0]}/{read[1]}"))
        if not self._limiter.hit(item, tenant_id):
            free_at = self._limiter.get_window_stats(item, tenant_id).reset_time
            raise Overloaded(
                f"more than {read[0]} requests a {read[1]}; come again later",
                status=429,
                retry_after=max(0.0, free_at - self._clock()),
            )
