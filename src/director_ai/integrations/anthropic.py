"""The Anthropic SDK: messages, stream and not, `.stream()`, `.parse()` and the beta forms included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from director_ai.integrations.calls import Route
from director_ai.integrations.clients import guarded_copy
from director_ai.serve.wire.messages import MessagesWire

if TYPE_CHECKING:
    from director_ai.guard import ProductionGuard

__all__ = ["wrap"]

ROUTES: Final = (
    Route(re.compile(r"POST .*/messages"), MessagesWire),
    # Answers that hold text of a model in forms that are not read here.
    Route(re.compile(r"POST .*/complete|GET .*/messages/batches/[^/]+/results"), None),
)


def wrap(guard: ProductionGuard, client: Any, **options: Any) -> Any:
    """Return a client of the same kind, all of whose answers are guarded."""
    return guarded_copy(guard, client, ROUTES, options)
