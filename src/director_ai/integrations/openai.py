"""The OpenAI SDK: chat completions and responses, stream and not, `.stream()` and `.parse()` included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from director_ai.integrations.calls import Route
from director_ai.integrations.clients import guarded_copy
from director_ai.serve.wire.chat import ChatWire
from director_ai.serve.wire.responses import ResponsesWire

if TYPE_CHECKING:
    from director_ai.guard import ProductionGuard

__all__ = ["wrap"]

ROUTES: Final = (
    Route(re.compile(r"POST .*/chat/completions|(GET|POST) .*/chat/completions/[^/]+"), ChatWire),
    Route(re.compile(r"POST .*/responses(/[^/]+/cancel)?|GET .*/responses/[^/]+"), ResponsesWire),
    # Answers that hold text of a model in forms that are not read here.
    Route(
        re.compile(r"GET .*/chat/completions|POST .*/completions|\w+ .*/threads/.*|GET .*/conversations/[^/]+/items.*"),
        None,
    ),
)
_NO_SOCKETS: Final = "wss://websockets-are-not-guarded.invalid"


def wrap(guard: ProductionGuard, client: Any, **options: Any) -> Any:
    """Return a client of the same kind, all of whose answers are guarded; its web sockets lead nowhere."""
    return guarded_copy(guard, client, ROUTES, options, websocket_base_url=_NO_SOCKETS)
