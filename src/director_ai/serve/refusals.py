"""What an upstream says instead of an answer: its status and its error, and nothing that a model may have written."""

from __future__ import annotations

import json
import logging
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
OF_THE_KEY: Final = {
    401: "the upstream refused the server's key (401); check key_env or key_file in the settings of the upstream",
    403: "the upstream does not allow the server's key to do this (403); check its rights at the upstream",
    407: "a proxy before the upstream refused the server (407); check base_url in the settings of the upstream",
}
"""Said of the server's own key: a client would take the status for its key, and the message may repeat the server's."""
BAD_GATEWAY: Final = 502
KEY_REFUSED: Final = "upstream_refused_the_key"
_KEY_LIKE: Final = re.compile(r"\bsk-|\bbearer\s|\*{3}", re.IGNORECASE)
"""A key, or what is left of one where it is masked."""
_log: Final = logging.getLogger(__name__)


def refused_response(status: int, body: bytes, headers: Mapping[str, str], *, is_anthropic: bool) -> Response:
    """Return the refusal in the words of its protocol; some upstreams put what the model said beside them."""
    if status in OF_THE_KEY:
        return _key_refused(status, headers, is_anthropic=is_anthropic)
    try:
        said = mapping_of(json.loads(body))
    except (ValueError, RecursionError):
        said = {}
    error = mapping_of(said.get("error"))
    message = error.get("message")
    if not isinstance(message, str) or len(message) > MOST_MESSAGE or _KEY_LIKE.search(message):
        message = f"the upstream refused the request with status {status}"
    made: dict[str, Any] = {name: _word(error.get(name)) for name in FIELDS} | {"message": message}
    if not is_anthropic:
        return JSONResponse({"error": made}, status, headers=dict(headers))
    inner = {"type": made["type"] or "api_error", "message": message}
    request_id = as_identifier(said.get("request_id")) or None
    return JSONResponse({"type": "error", "error": inner, "request_id": request_id}, status, headers=dict(headers))


def _key_refused(status: int, headers: Mapping[str, str], *, is_anthropic: bool) -> Response:
    """Return an error of the server, not of the client: nothing that the upstream said, and no reason to try again."""
    message = OF_THE_KEY[status]
    _log.error("%s", message)
    error: dict[str, Any] = {"type": "upstream_error", "message": message}
    shown = (
        {"type": "error", "error": error} if is_anthropic else {"error": error | {"param": None, "code": KEY_REFUSED}}
    )
    return JSONResponse(shown, BAD_GATEWAY, headers={**headers, "x-should-retry": "false"})


def _word(value: Any) -> Any:
    return value if type(value) is int else as_identifier(value) or None
