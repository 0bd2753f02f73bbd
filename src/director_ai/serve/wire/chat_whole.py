"""Chat completions that come whole: their texts, and the same object with what may be shown of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.wire.envelope import as_identifier
from director_ai.serve.wire.items import Say
from director_ai.serve.wire.reading import call_text, mapping_of, objects_of, text_of
from director_ai.serve.wire.tracks import entries_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from director_ai.core.streaming_repair import Shape
    from director_ai.serve.wire.envelope import Envelope
    from director_ai.serve.wire.items import Channel, Outcome

__all__ = ["CALLS", "ENVELOPE", "HALTED", "texts_of", "with_texts_of"]

ENVELOPE: Final = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
HALTED: Final = "content_filter"
CALLS: Final[tuple[tuple[str, str, Shape], ...]] = (("function", "arguments", "json"), ("custom", "input", "text"))
"""Kinds of calls: where their arguments stand, and what those are."""


def texts_of(body: Mapping[str, Any], shape: Shape) -> list[Say]:
    """Return the texts and tool calls of every choice; choices go by their place, whatever number they give."""
    found = []
    for index, choice in enumerate(objects_of(body.get("choices"))):
        message = mapping_of(choice.get("message"))
        found.append(Say(("content", index, 0), text_of(message.get("content")), shape))
        found.append(Say(("refusal", index, 0), message.get("refusal") or ""))
        for place, call in enumerate(objects_of(message.get("tool_calls"))):
            for kind, field, call_shape in CALLS:
                if isinstance(part := call.get(kind), dict):
                    found.append(_call((kind, index, place), part, field, call_shape))
        if isinstance(called := message.get("function_call"), dict):
            found.append(_call(("function_call", index, 0), called, "arguments", "json"))
    return [say for say in found if isinstance(say.text, str) and (say.text or say.tool is not None)]


def _call(channel: Channel, call: Mapping[str, Any], field: str, shape: Shape) -> Say:
    return Say(channel, call_text(call.get(field)), shape, as_identifier(call.get("name")))


def with_texts_of(
    body: Mapping[str, Any], outcomes: Mapping[Channel, Outcome], kept: Envelope, reasoning: tuple[str, ...]
) -> dict[str, Any]:
    """Return the completion with what may be shown, and nothing that is not documented."""
    choices = [
        _shown(choice, {(kind, place): each for (kind, at, place), each in outcomes.items() if at == index}, kept)
        | {"index": index}
        for index, choice in enumerate(objects_of(body.get("choices")))
    ]
    for shown, choice in zip(choices, objects_of(body.get("choices")), strict=True):
        thought = mapping_of(choice.get("message"))
        shown["message"] |= {name: thought[name] for name in reasoning if isinstance(thought.get(name), str)}
    return kept.pick(body, (*ENVELOPE, "usage", "moderation")) | {"choices": choices}


def _shown(choice: Mapping[str, Any], own: Mapping[tuple[str, int], Outcome], kept: Envelope) -> dict[str, Any]:
    message = mapping_of(choice.get("message"))
    shown: dict[str, Any] = {"role": as_identifier(message.get("role"), "assistant")}
    for name in ("content", "refusal"):
        if name in message:
            empty = "" if message[name] == "" else None
            shown[name] = own[name, 0].text if (name, 0) in own else empty
    spoken = not any(_is_halted(own.get((name, 0))) for name in ("content", "refusal"))
    calls = list(_shown_calls(message, own)) if spoken else []
    if calls:
        shown["tool_calls"] = calls
    called = mapping_of(message.get("function_call"))
    if called and spoken and not _is_halted(own.get(("function_call", 0))):
        told = own.get(("function_call", 0))
        arguments = told.text if told else ""
        shown["function_call"] = {"name": as_identifier(called.get("name")), "arguments": arguments}
    halted = any(map(_is_halted, own.values()))
    changed = halted or any(outcome.result.applied for outcome in own.values())
    if "annotations" in message:
        shown["annotations"] = [] if changed else kept.keep(message["annotations"])
    made = {"message": shown, "finish_reason": HALTED if halted else as_identifier(choice.get("finish_reason")) or None}
    if "logprobs" in choice:
        made["logprobs"] = None if changed else _logprobs(mapping_of(choice["logprobs"]), own)
    return made


def _shown_calls(message: Mapping[str, Any], own: Mapping[tuple[str, int], Outcome]) -> Iterator[dict[str, Any]]:
    """Yield the tool calls up to one that was halted, which is no call any more."""
    for place, call in enumerate(objects_of(message.get("tool_calls"))):
        for kind, field, _ in CALLS:
            part, told = call.get(kind), own.get((kind, place))
            if _is_halted(told):
                return
            if isinstance(part, dict):
                named = {"name": as_identifier(part.get("name")), field: told.text if told else ""}
                yield {"id": as_identifier(call.get("id")), "type": kind, kind: named}


def _logprobs(logprobs: Mapping[str, Any], own: Mapping[tuple[str, int], Outcome]) -> dict[str, Any] | None:
    told = {name: own[name, 0].text for name in ("content", "refusal") if (name, 0) in own}
    return {name: entries_of(logprobs.get(name), text) or None for name, text in told.items()} or None


def _is_halted(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.result.halted
