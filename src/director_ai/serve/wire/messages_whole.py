"""Messages that come whole: their texts, and the same object with what may be shown of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.wire.envelope import as_identifier
from director_ai.serve.wire.items import Say
from director_ai.serve.wire.messages_blocks import (
    JUDGED,
    PLAIN,
    THINKING,
    TOOLS,
    Block,
    citation_of,
    rest_of,
    value_of,
)
from director_ai.serve.wire.reading import objects_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from director_ai.core.streaming_repair import Shape
    from director_ai.serve.wire.envelope import Envelope
    from director_ai.serve.wire.items import Channel, Outcome

__all__ = ["HALTED", "MESSAGE", "texts_of", "with_texts_of"]

MESSAGE: Final = ("id", "type", "role", "model", "stop_reason", "stop_sequence", "stop_details", "container", "usage")
HALTED: Final = {
    "stop_reason": "refusal",
    "stop_sequence": None,
    "stop_details": {"type": "refusal", "category": None, "explanation": "halted by the guard"},
}


def texts_of(body: Mapping[str, Any], shape: Shape, kept: Envelope) -> list[Say]:
    """Return every text of the content, in its order."""
    found = []
    for index, block in enumerate(objects_of(body.get("content"))):
        kind = as_identifier(block.get("type"))
        if kind == "text":
            found.append(Say(("text", index, 0), block.get("text") or "", shape))
        elif kind in TOOLS:
            said, tool = json.dumps(block.get("input") or {}, ensure_ascii=False), as_identifier(block.get("name"))
            found.append(Say(("input", index, 0), said, "json", tool))
        elif kind in JUDGED:
            found.append(Say(("block", index, 0), kept.prose_of(rest_of(block)), "json"))
    return [say for say in found if isinstance(say.text, str) and say.text]


def with_texts_of(
    body: Mapping[str, Any], outcomes: Mapping[Channel, Outcome], kept: Envelope, *, shows_reasoning: bool
) -> dict[str, Any]:
    """Return the message with what may be shown; it ends with the first text that was halted."""
    made, content = kept.pick(body, MESSAGE), []
    told = {index: outcome for (_, index, _), outcome in outcomes.items()}
    for index, block in enumerate(objects_of(body.get("content"))):
        outcome = told.get(index)
        halted = outcome is not None and outcome.result.halted
        shown = _shown(block, outcome, kept, shows_reasoning=shows_reasoning)
        if shown is not None and not (halted and shown["type"] != "text"):
            content.append(shown)
        if halted:
            made |= HALTED
            break
    return made | {"content": content}


def _shown(
    said: dict[str, Any], outcome: Outcome | None, kept: Envelope, *, shows_reasoning: bool
) -> dict[str, Any] | None:
    kind = as_identifier(said.get("type"))
    if kind in THINKING:
        return said if shows_reasoning else None
    if kind not in {"text", *TOOLS, *JUDGED, *PLAIN}:
        return None
    head = Block(kind=kind, place=0).head_of(said, kept)
    text = outcome.text if outcome is not None else ""
    if kind in TOOLS:
        return head | {"input": value_of(text) or {}}
    if kind != "text":
        return head | kept.filled(rest_of(said), text)
    changed = outcome is None or outcome.result.halted or bool(outcome.result.applied)
    cited = [] if changed else [citation_of(each, kept) for each in objects_of(said.get("citations"))]
    return head | {"text": text} | ({"citations": [each for each in cited if each]} if cited else {})
