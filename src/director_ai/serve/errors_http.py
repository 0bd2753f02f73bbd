"""Errors as HTTP: the status, and the body in the words of the protocol that was spoken."""

from __future__ import annotations

import logging
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from director_ai.errors import (
    ConfigError,
    DirectorError,
    MissingExtra,
    PayloadError,
    RecordError,
    Refused,
    UnknownCase,
)
from director_ai.knowledge.tables import DuplicateFact, KnowledgeError
from director_ai.serve.bodies import BodyTooLarge, BodyTooSlow
from director_ai.serve.callers import NotAuthenticated
from director_ai.serve.exchange import UpstreamBroke
from director_ai.serve.keys import UnknownKey
from director_ai.serve.open_streams import AnswerEnded
from director_ai.serve.proxy import Overloaded
from director_ai.serve.tenancy import NoUpstream
from director_ai.serve.upstream import UpstreamUnreachable
from director_ai.serve.wire.reading import UpstreamSaid

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["error_response"]

_log: Final = logging.getLogger(__name__)
_KINDS: Final[tuple[tuple[type[Exception], int, str], ...]] = (
    (BodyTooLarge, 413, "request_too_large"),
    (BodyTooSlow, 408, "invalid_request_error"),
    (PayloadError, 400, "invalid_request_error"),
    (UnknownCase, 404, "not_found_error"),
    (UnknownKey, 404, "not_found_error"),
    (NoUpstream, 404, "not_found_error"),
    (DuplicateFact, 409, "refused"),
    (Refused, 409, "refused"),
    (ConfigError, 400, "invalid_request_error"),
    (RecordError, 503, "record_unavailable"),
    (KnowledgeError, 503, "knowledge_unavailable"),
    (UpstreamBroke, 502, "upstream_error"),
    (UpstreamSaid, 502, "upstream_error"),
    (MissingExtra, 501, "not_installed"),
)
_NAMES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 503: "overloaded_error"}
_WHEN: Final = {"kill_switch": {"retry-after": "60"}, "shutdown": {"retry-after": "5"}}
_FRAME: Final = {400: "invalid_request_error", 404: "not_found_error", 405: "invalid_request_error"}


def error_response(request: Request, error: Exception) -> Response:
    """Return the answer to a request that ended in an error; what nobody expected is logged by its type alone."""
    status, kind, headers = _status_of(error)
    if isinstance(error, DirectorError):
        message = str(error)
    elif isinstance(error, HTTPException):
        message = HTTPStatus(status).phrase.lower()
    else:
        message = "something went wrong in the guard; nothing was shown"
        _log.error("a request to %s ended in %s", request.url.path, type(error).__name__)
    body: dict[str, Any] = {"error": {"message": message, "type": kind, "param": None, "code": kind}}
    if request.url.path == "/v1/messages":
        body = {"type": "error", "error": {"type": kind, "message": message}}
    return JSONResponse(body, status, headers=headers)


def _status_of(error: Exception) -> tuple[int, str, dict[str, str]]:
    if isinstance(error, NotAuthenticated):
        headers = {"www-authenticate": "Bearer"} if error.status == 401 else {}
        return error.status, _NAMES[error.status], headers
    if isinstance(error, Overloaded):
        return error.status, _NAMES[error.status], {"retry-after": str(max(1, math.ceil(error.retry_after)))}
    if isinstance(error, AnswerEnded):
        status = 403 if error.reason == "key_revoked" else 503
        return status, _NAMES[status], _WHEN.get(error.reason, {})
    if isinstance(error, UpstreamUnreachable):
        return (504 if error.timed_out else 502), "upstream_error", {}
    if isinstance(error, HTTPException):
        return error.status_code, _FRAME.get(error.status_code, "refused"), dict(error.headers or {})
    for known, status, kind in _KINDS:
        if isinstance(error, known):
            return status, kind, {}
    return 500, "internal_error", {}
