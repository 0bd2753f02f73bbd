"""How much a tenant may ask: so many requests in a moving window."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from director_ai.errors import ConfigError, MissingExtra
from director_ai.serve.proxy import Overloaded
from director_ai.serve.sections import read_rate

try:
    from limits import RateLimitItem, parse
    from limits.errors import ConfigurationError
    from limits.storage import MemoryStorage, Storage, storage_from_string
    from limits.strategies import MovingWindowRateLimiter
except ImportError:
    raise MissingExtra("the server", extra="server") from None

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["IN_MEMORY", "TenantRates"]

IN_MEMORY: Final = "memory://"
NAMESPACE: Final = "director-ai"
"""In a store that others use, too."""
WAIT_SECONDS: Final = 0.25
"""For a store to answer: everybody here waits meanwhile."""
RETRY_SECONDS: Final = 5.0
"""Until a store that did not answer is asked again."""
_REDIS: Final = ("redis", "rediss", "valkey", "valkeys")
_log: Final = logging.getLogger(__name__)


class TenantRates:
    """Counts the requests of each tenant: in this process, or in a store that several share.

    While the store does not answer, this process counts alone: tenants may then ask more in all, and nobody is
    turned away because of it.
    """

    def __init__(self, store: str = IN_MEMORY, *, clock: Callable[[], float] = time.time) -> None:
        self._own = MovingWindowRateLimiter(MemoryStorage())
        self._shared = None if store == IN_MEMORY else _shared(store)
        self._asked_again_at = 0.0
        self._items: dict[str, RateLimitItem] = {}
        self._clock = clock

    def take(self, tenant_id: str, rate: str) -> None:
        """Count a request, or refuse it and say when to come again."""
        read = read_rate("rate", rate)
        if read is None:
            return
        item = self._items.setdefault(rate, parse(f"{read[0]}/{read[1]}"))
        free_at = self._count(item, tenant_id)
        if free_at is not None:
            raise Overloaded(
                f"more than {read[0]} requests a {read[1]}; come again later",
                status=429,
                retry_after=max(0.0, free_at - self._clock()),
            )

    def _count(self, item: RateLimitItem, tenant_id: str) -> float | None:
        """Count a request; return when there is room again where there is none now."""
        if self._shared is not None and self._clock() >= self._asked_again_at:
            try:
                return _hit(self._shared, item, tenant_id)
            except Exception as error:  # noqa: BLE001 - every kind of store has errors of its own
                self._asked_again_at = self._clock() + RETRY_SECONDS
                _log.error("the store of rates does not answer (%s); this process counts alone", type(error).__name__)
        return _hit(self._own, item, tenant_id)


def _hit(limiter: MovingWindowRateLimiter, item: RateLimitItem, tenant_id: str) -> float | None:
    if limiter.hit(item, NAMESPACE, tenant_id):
        return None
    return limiter.get_window_stats(item, NAMESPACE, tenant_id).reset_time


def _shared(store: str) -> MovingWindowRateLimiter:
    """Return what counts in a store; the address may hold a password, and is in no message."""
    scheme = store.partition("://")[0].partition("+")[0]
    limits: dict[str, float | str | bool] = (
        {"socket_timeout": WAIT_SECONDS, "socket_connect_timeout": WAIT_SECONDS} if scheme in _REDIS else {}
    )
    try:
        storage = storage_from_string(store, **limits)
    except ConfigurationError:
        raise ConfigError(
            "the rate_store of the server is none that can be used; give it memory:// or an address such as "
            "redis://host:6379, and install what that needs (for Redis: pip install redis)"
        ) from None
    except Exception as error:  # noqa: BLE001 - whatever its client makes of the address
        raise ConfigError(f"the rate_store of the server cannot be used ({type(error).__name__})") from None
    try:
        if isinstance(storage, Storage):
            return MovingWindowRateLimiter(storage)
    except NotImplementedError:
        pass
    raise ConfigError("the rate_store of the server cannot count in a moving window; give it an address of Redis")
