"""Responses that come whole: their texts, and the same object with what may be shown of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.wire.envelope import as_identifier
from director_ai.serve.wire.items import Say
from director_ai.serve.wire.reading import call_text, mapping_of, objects_of
from director_ai.serve.wire.responses_items import (
    CALLS,
    HIDDEN,
    JUDGED,
    KINDS,
    REASONING,
    head_of,
    rest_of,
    tool_of,
)
from director_ai.serve.wire.tracks import entries_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from director_ai.core.streaming_repair import Shape
    from director_ai.serve.wire.envelope import Envelope
    from director_ai.serve.wire.items import Channel, Outcome

__all__ = ["HALTED", "RESPONSE", "texts_of", "with_texts_of"]

RESPONSE: Final = (
    "id", "object", "created_at", "completed_at", "status", "model", "incomplete_details", "instructions", "metadata",
    "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "background", "conversation",
    "max_output_tokens", "max_tool_calls", "moderation", "previous_response_id", "prompt", "prompt_cache_key",
    "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "text", "top_logprobs",
    "truncation", "usage", "user",
)  # fmt: skip
"""The documented fields of a response, beside its output and error."""
HALTED: Final = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}


def texts_of(body: Mapping[str, Any], shape: Shape, kept: Envelope) -> list[Say]:
    """Return every text of the output, in its order."""
    found = []
    for index, item in enumerate(objects_of(body.get("output"))):
        kind = as_identifier(item.get("type"))
        if kind == "message":
            for place, part in enumerate(objects_of(item.get("content"))):
                if part.get("type") == "output_text":
                    found.append(Say(("output_text", index, place), part.get("text") or "", shape))
                elif part.get("type") == "refusal":
                    found.append(Say(("refusal", index, place), part.get("refusal") or ""))
        elif kind in CALLS:
            said, tool = call_text(item.get(KINDS[kind].field)), as_identifier(item.get("name"))
            found.append(Say((kind, index, 0), said, KINDS[kind].shape, tool))
        elif kind in JUDGED:
            rest = rest_of(item)
            found.append(Say(("item", index, 0), kept.prose_of(rest), "json", tool_of(item), rest))
    return [say for say in found if isinstance(say.text, str) and (say.text or say.tool is not None)]


def with_texts_of(
    body: Mapping[str, Any], outcomes: Mapping[Channel, Outcome], kept: Envelope, *, shows_reasoning: bool
) -> dict[str, Any]:
    """Return the response with what may be shown; it ends with the first text that was halted."""
    made, output = kept.pick(body, RESPONSE), []
    error = mapping_of(body.get("error"))
    made["error"] = {"code": "server_error", "message": "the upstream failed"} if error else None
    for index, item in enumerate(objects_of(body.get("output"))):
        own = {(kind, place): each for (kind, at, place), each in outcomes.items() if at == index}
        halted = any(each.result.halted for each in own.values())
        shown = _shown(item, own, kept, shows_reasoning=shows_reasoning)
        if shown is not None and not (halted and shown["type"] != "message"):
            output.append(shown | ({"status": "incomplete"} if halted else {}))
        if halted:
            made |= HALTED
            break
    return made | {"output": output}


def _shown(
    item: Mapping[str, Any], own: Mapping[tuple[str, int], Outcome], kept: Envelope, *, shows_reasoning: bool
) -> dict[str, Any] | None:
    kind, head = as_identifier(item.get("type")), head_of(item, kept)
    if kind in REASONING:
        return dict(item) if shows_reasoning else head
    if kind in HIDDEN:
        return head
    if kind == "message":
        return head | {"content": _shown_parts(item, own, kept)}
    if kind in CALLS:
        return head | {KINDS[kind].field: own[kind, 0].text if (kind, 0) in own else ""}
    if kind not in JUDGED:
        return None
    return head | kept.filled(rest_of(item), own["item", 0].text if ("item", 0) in own else "")


def _shown_parts(
    item: Mapping[str, Any], own: Mapping[tuple[str, int], Outcome], kept: Envelope
) -> list[dict[str, Any]]:
    parts = []
    for place, part in enumerate(objects_of(item.get("content"))):
        kind = as_identifier(part.get("type"))
        if kind not in ("output_text", "refusal"):
            continue
        told = own.get((kind, place))
        made: dict[str, Any] = {"type": kind, KINDS[kind].field: told.text if told else ""}
        if kind == "output_text":
            changed = told is None or told.result.halted or bool(told.result.applied)
            made["annotations"] = [] if changed else kept.keep(part.get("annotations")) or []
            made["logprobs"] = [] if changed else entries_of(part.get("logprobs"), made["text"])
        parts.append(made)
        if told is not None and told.result.halted:
            break
    return parts
