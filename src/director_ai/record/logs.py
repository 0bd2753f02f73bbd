"""Logs as JSON, one object a line: ids, kinds and figures, never a text that somebody wrote or a model said."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from director_ai.record.tracing import current_answer

__all__ = ["JsonFormatter", "log_as_json"]

FIELDS: Final = ("tenant_id", "request_id", "response_id", "model", "caller_id", "case_id", "method", "path", "status")
"""What a record may bring along by `extra`; whatever else it brings is left out."""
_OURS: Final = "director_ai"
_LONGEST: Final = 200


class JsonFormatter(logging.Formatter):
    """Formats records of our own in full, and of others only what cannot hold a text.

    Our messages never hold text. One of another library may have been put together from anything: its template is
    kept, where it has one, and what was put into that is not. Of an error, its kind alone is kept.

    With `names_process` each row says which process wrote it.
    """

    def __init__(self, *, names_process: bool = False) -> None:
        super().__init__()
        self._names_process = names_process

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        made: dict[str, Any] = {"time": at, "level": record.levelname.lower(), "logger": record.name}
        if self._names_process:
            made["process"] = record.process
        message = _message_of(record)
        made |= {"message": message} if message else {"at": f"{record.module}:{record.lineno}"}
        made |= _access_of(record) | _ids_of(record)
        if record.exc_info and record.exc_info[0] is not None:
            made["error"] = record.exc_info[0].__name__
        return json.dumps(made)


def _message_of(record: logging.LogRecord) -> str:
    if record.name == _OURS or record.name.startswith(f"{_OURS}."):
        try:
            return record.getMessage()
        except (TypeError, ValueError):  # arguments that do not fit the template: a slip, and no reason to fail
            return str(record.msg)
    if record.name == "uvicorn.access":
        return "request"
    return record.msg if isinstance(record.msg, str) and record.args else ""


def _access_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return what the web server says of a request, without what stands behind the `?` of its path."""
    if record.name != "uvicorn.access" or not isinstance(record.args, tuple) or len(record.args) != 5:
        return {}
    _, method, path, _, status = record.args
    return {"method": method, "path": str(path).partition("?")[0][:_LONGEST], "status": status}


def _ids_of(record: logging.LogRecord) -> dict[str, Any]:
    answer = current_answer()
    found = {name: getattr(record, name, None) or getattr(answer, name, None) for name in FIELDS}
    return {
        name: value[:_LONGEST] if isinstance(value, str) else value
        for name, value in found.items()
        if value and isinstance(value, str | int)
    }


def log_as_json(
    stream: TextIO | None = None, level: int = logging.INFO, *, names_process: bool = False
) -> logging.Handler:
    """Send every log of this process to a stream, by default the standard error, as JSON; return what does it."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter(names_process=names_process))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.access", "uvicorn.error"):  # they bring handlers of their own
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # how it starts and ends is told in our own words
    return handler
