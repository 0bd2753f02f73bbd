"""What an upstream says instead of an answer: its status and its error, and nothing that a model may have written."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse

from director_ai.serve.wire.envelope import as_identifier
from director_ai.serve.wire.reading import mapping_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

__all__ = ["refused_response"]

MOST_MESSAGE: Final = 4_000
FIELDS: Final = ("type", "param", "code")
OF_THE_KEY: Final = frozenset({401, 403, 407})
"""What is said with these may be about the server's own key, and repeat it."""
_SECRETIVE: Final = re.compile(r"key|token|secret|credential|bearer|[\w*.-]{16,}", re.IGNORECASE)
"""Words about a key, or what may be one."""


def refused_response(status: int, body: bytes, headers: Mapping[str, str], *, is_anthropic: bool) -> Response:
    """Return the refusal in the words of its protocol; some upstreams put what the model said beside them."""
    try:
        said = mapping_of(json.loads(body))
    except (ValueError, RecursionError):
        said = {}
    error = mapping_of(said.get("error"))
    message = error.get("message")
    if not isinstance(message, str) or len(message) > MOST_MESSAGE or _is_secretive(status, message):
        message = f"the upstream refused the request with status {status}"
    made: dict[str, Any] = {name: _word(error.get(name)) for name in FIELDS} | {"message": message}
    if not is_anthropic:
        return JSONResponse({"error": made}, status, headers=dict(headers))
    inner = {"type": made["type"] or "api_error", "message": message}
    request_id = as_identifier(said.get("request_id")) or None
    return JSONResponse({"type": "error", "error": inner, "request_id": request_id}, status, headers=dict(headers))


def _is_secretive(status: int, message: str) -> bool:
    return status in OF_THE_KEY and _SECRETIVE.search(message) is not None


def _word(value: Any) -> Any:
    return value if type(value) is int else as_identifier(value) or None
