"""What the protocols have in common: objects from outside, and what was asked."""

from __future__ import annotations

import json
from typing import Any, Self

from director_ai.errors import DirectorError
from director_ai.serve.wire.envelope import as_identifier

__all__ = ["UpstreamSaid", "call_text", "last_user_text", "mapping_of", "objects_of", "read_object", "text_of"]


class UpstreamSaid(DirectorError):
    """The upstream ended its answer with an error of its own."""

    code = "upstream_error"

    @classmethod
    def of(cls, error: Any) -> Self:
        """Return what the error of an upstream says; its message may quote the request, so its kind alone is kept."""
        kind = error.get("type") or error.get("code") if isinstance(error, dict) else ""
        return cls(f"the upstream ended with an error ({as_identifier(kind, 'unnamed')})")


def read_object(data: str) -> dict[str, Any]:
    """Return an object of JSON, or refuse what is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UpstreamSaid("the upstream said something that is no JSON object")
    return value


def text_of(content: Any) -> str:
    """Return the text of a message's content, a string or parts of which some are text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def last_user_text(messages: Any) -> str:
    """Return what the user said last."""
    if isinstance(messages, str):
        return messages
    for message in reversed(messages) if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def mapping_of(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; whatever else stands in it is left out."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def call_text(arguments: Any) -> str:
    """Return the arguments of a call as text; some upstreams send them as what they stand for."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
