"""Clients of SDKs, and copies of them that talk through the guard."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from director_ai.errors import ConfigError
from director_ai.integrations.calls import Calls, checked_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from director_ai.guard import ProductionGuard
    from director_ai.integrations.calls import Route

__all__ = ["guarded_copy"]


def guarded_copy(
    guard: ProductionGuard, client: Any, routes: tuple[Route, ...], options: Mapping[str, Any], **more: Any
) -> Any:
    """Return a client as it is, but for what it sends by: that guards what comes back."""
    calls = Calls(guard=guard, options=checked_options(options), routes=routes)
    http = getattr(client, "_client", None)
    if not any(kind.__module__.split(".")[0] == "httpx2" for kind in type(http).__mro__):
        raise ConfigError("the client must send by httpx2; install a newer version of its SDK")
    transport = importlib.import_module("director_ai.integrations.transport")  # needs httpx2, which the SDK brought
    is_async = hasattr(http, "aclose")
    made = (transport.guarded_async_http if is_async else transport.guarded_http)(http, calls)
    return client.copy(http_client=made, **more)
