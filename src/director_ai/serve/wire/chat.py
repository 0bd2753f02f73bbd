"""OpenAI Chat Completions: chunks with choices, each a text of its own beside its tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.sse import write_event, write_object
from director_ai.serve.wire.chat_whole import CALLS, ENVELOPE, HALTED, texts_of, with_texts_of
from director_ai.serve.wire.envelope import Envelope, as_identifier, as_index
from director_ai.serve.wire.items import End, Finish, Item, Pass, Say
from director_ai.serve.wire.reading import UpstreamSaid, last_user_text, mapping_of, objects_of, read_object, text_of
from director_ai.serve.wire.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from director_ai.core.repair.streams import RepairPiece
    from director_ai.core.streaming_repair import Shape
    from director_ai.serve.sse import ServerSentEvent
    from director_ai.serve.wire.items import Channel, Outcome

__all__ = ["ChatWire"]

REASONING: Final = ("reasoning_content", "reasoning")
"""Names under which upstreams send what a model thinks; none of them is documented."""


class ChatWire:
    """One chat completion."""

    answers = "content"

    def __init__(self, request: Mapping[str, Any], *, shows_reasoning: bool = False) -> None:
        self.prompt = last_user_text(request.get("messages"))
        self._shows_reasoning = shows_reasoning
        self._kept = Envelope(request)
        wanted = str(mapping_of(request.get("response_format")).get("type"))
        self._shape: Shape = "json" if wanted.startswith("json") else "text"
        choices = request.get("n")
        self._choices = choices if isinstance(choices, int) and choices > 0 else 1
        self._head: dict[str, Any] = {"object": "chat.completion.chunk"}
        """What every chunk repeats."""
        self._head |= self._kept.pick(request, ("model",))
        if mapping_of(request.get("stream_options")).get("include_usage") is True:
            self._head["usage"] = None
        self._tracks: dict[Channel, Track] | None = {} if request.get("logprobs") else None
        self._open: dict[int, dict[Channel, None]] = {}
        self._calls: dict[int, dict[tuple[int | str, str], int]] = {}
        """The places of the tool calls of each choice that have begun, by the upstream's numbers or ids."""
        self._seen: set[int] = set()
        self._ended: set[int] = set()
        """Choices that have a finish reason."""
        self._halted: set[int] = set()

    # --- from the upstream ------------------------------------------------------------------------------------

    def read(self, event: ServerSentEvent) -> Iterable[Item]:
        """Return the texts, role and tool calls of a chunk, each where it belongs."""
        if event.data.strip() == "[DONE]":
            return [End()]
        chunk = read_object(event.data)
        if chunk.get("error"):
            raise UpstreamSaid.of(chunk["error"])
        self._head |= self._kept.pick(chunk, ENVELOPE)
        usage = self._kept.keep(chunk.get("usage"))
        if "usage" in chunk:
            self._head["usage"] = None
        choices = objects_of(chunk.get("choices"))
        if not choices:
            more = {"usage": usage} if usage else {}
            more |= self._kept.pick(chunk, ("moderation",))
            return [Pass(self._chunk([], **more))] if more else []
        return [item for choice in choices for item in self._read_choice(choice, usage)]

    def _read_choice(self, choice: Mapping[str, Any], usage: Any) -> Iterator[Item]:
        index, delta = as_index(choice.get("index", 0)), mapping_of(choice.get("delta"))
        if index is None or index in self._ended:
            return
        if index not in self._seen:
            self._seen.add(index)
            yield Pass(self._chunk([_choice(index, _opening(delta))]))
        yield from self._read_reasoning(index, delta)
        logprobs = mapping_of(choice.get("logprobs"))
        for name in ("content", "refusal"):
            yield from self._say((name, index, 0), _said(delta.get(name)), self._shape_of(name), logprobs.get(name))
        for call in objects_of(delta.get("tool_calls")):
            yield from self._read_call(index, call)
        yield from self._read_function(index, mapping_of(delta.get("function_call")))
        reason = as_identifier(choice.get("finish_reason"))
        if reason:
            channels = tuple(self._open.pop(index, ()))
            yield Finish((*channels, ("finish", index, 0)), (index, reason, usage))

    def _read_reasoning(self, index: int, delta: Mapping[str, Any]) -> Iterator[Item]:
        shown = {name: delta[name] for name in REASONING if isinstance(delta.get(name), str)}
        if shown and self._shows_reasoning:
            yield Pass(self._chunk([_choice(index, shown)]))

    def _read_call(self, index: int, call: Mapping[str, Any]) -> Iterator[Item]:
        begun, name = self._calls.setdefault(index, {}), as_identifier(call.get("id"))
        number = as_index(call.get("index"))
        # Upstreams that send whole calls leave the number out; one without an id, too, goes on with the last.
        last = next(reversed(begun), ("", ""))[0]
        key = number if number is not None else name or last
        for kind, field, shape in CALLS:
            part = call.get(kind)
            if not isinstance(part, dict):
                continue
            if (key, kind) not in begun:
                place = begun[key, kind] = len(begun)
                yield self._flushed(index)
                head = {"tool_calls": [_call(place, name, kind, part, field)]}
                yield self._call((kind, index, place), as_identifier(part.get("name")), shape, head)
            yield from self._say((kind, index, begun[key, kind]), part.get(field), shape)

    def _read_function(self, index: int, call: Mapping[str, Any]) -> Iterator[Item]:
        channel = ("function_call", index, 0)
        if call and channel not in self._open.get(index, {}):  # one name: a second would be another call's
            name = as_identifier(call.get("name"))
            yield self._flushed(index)
            yield self._call(channel, name, "json", {"function_call": {"name": name, "arguments": ""}})
        yield from self._say(channel, call.get("arguments"), "json")

    def _call(self, channel: Channel, tool: str, shape: Shape, head: dict[str, Any]) -> Say:
        """Open the channel of a call, which may have no arguments."""
        if self._tracks is not None:
            self._tracks[channel] = Track()
        self._open.setdefault(channel[1], {})[channel] = None
        index = channel[1]
        return Say(channel, "", shape, tool, opening=lambda: self._chunk([_choice(index, head)]))

    def _flushed(self, index: int) -> Finish:
        """Let a choice's text leave before its tool calls begin."""
        channel = ("content", index, 0)
        self._open.get(index, {}).pop(channel, None)
        return Finish((channel,))

    def _shape_of(self, name: str) -> Shape:
        return self._shape if name == "content" else "text"

    def _say(self, channel: Channel, text: Any, shape: Shape, logprobs: Any = None) -> Iterator[Say]:
        if not isinstance(text, str) or not text:
            return
        opened = self._open.setdefault(channel[1], {})
        if self._tracks is not None:
            track = self._tracks[channel] = self._tracks[channel] if channel in opened else Track()
            track.hear(text, logprobs)
        opened[channel] = None
        yield Say(channel, text, shape)

    # --- to the client ----------------------------------------------------------------------------------------

    def write_text(self, channel: Channel, piece: RepairPiece, guard: Mapping[str, Any] | None) -> bytes:
        """Return a chunk with text of a choice or of a tool call."""
        kind, index, place = channel
        if kind in {"content", "refusal"}:
            delta: dict[str, Any] = {kind: piece.text}
        elif kind == "function_call":
            delta = {"function_call": {"arguments": piece.text}}
        else:
            field = "arguments" if kind == "function" else "input"
            delta = {"tool_calls": [{"index": place, kind: {field: piece.text}}]}
        known = self._tracks[channel].show(piece) if self._tracks is not None else []
        return self._chunk([_choice(index, delta, {kind: known} if known else None)], guard=guard)

    def write_plain(self, channel: Channel, text: str, guard: Mapping[str, Any] | None = None) -> bytes:
        """Return a chunk with text of a choice; without the probabilities of its tokens."""
        return self._chunk([_choice(channel[1], {"content": text} if text else {})], guard=guard)

    def settle(self, channel: Channel, piece: RepairPiece, guard: Mapping[str, Any] | None) -> None:  # noqa: ARG002
        """Forget what was known of text that was shown without it."""
        if self._tracks is not None:
            self._tracks[channel].show(piece)

    def write_finish(self, finish: Finish) -> bytes:
        """Return the finish reason of a choice."""
        if finish.payload is None:
            return b""
        index, reason, usage = finish.payload
        self._ended.add(index)
        more = {"usage": usage} if usage else {}
        return self._chunk([_choice(index, {}, finish_reason=reason)], **more)

    def write_halt(self, channel: Channel | None, guard: Mapping[str, Any]) -> bytes:
        """Return the end of a choice, or of all that have none yet."""
        if channel is None:
            halted = [index for index in sorted(self._seen or {0}) if index not in self._ended]
        else:
            halted = [channel[1]]
        self._halted.update(halted)
        self._ended.update(halted)
        chunks = (self._chunk([_choice(index, {}, finish_reason=HALTED)], guard=guard) for index in halted)
        return b"".join(chunks)

    def shares_end(self, channel: Channel, other: Channel) -> bool:
        """Whether two channels are of one choice."""
        return channel[1] == other[1]

    def is_halted(self, channel: Channel) -> bool:
        """Whether a choice was halted."""
        return channel[1] in self._halted

    @property
    def is_over(self) -> bool:
        """Whether every choice was halted or finished, and one was halted."""
        return bool(self._halted) and len(self._ended) >= max(self._choices, len(self._seen))

    @property
    def is_complete(self) -> bool:
        """Whether every choice has its finish reason."""
        return bool(self._seen) and self._ended >= self._seen

    def write_end(self, end: End | None) -> bytes:  # noqa: ARG002 - part of the protocol
        """Return the last line of every stream."""
        return write_event("[DONE]")

    def write_error(self, code: str, message: str) -> bytes:
        """Return an error as the SDKs read it."""
        return write_object({"error": {"message": message, "type": code, "param": None, "code": code}})

    def _chunk(self, choices: list[dict[str, Any]], *, guard: Mapping[str, Any] | None = None, **more: Any) -> bytes:
        chunk = {**self._head, "choices": choices, **more}
        if guard is not None:
            chunk["guard"] = guard
        return write_object(chunk)

    # --- answers that come whole ------------------------------------------------------------------------------

    def texts(self, body: dict[str, Any]) -> list[Say]:
        """Return the texts and tool calls of every choice."""
        return texts_of(body, self._shape)

    def with_texts(self, body: dict[str, Any], outcomes: Mapping[Channel, Outcome]) -> dict[str, Any]:
        """Return the completion with what may be shown; a choice with a halted text ends in `content_filter`."""
        reasoning = REASONING if self._shows_reasoning else ()
        return with_texts_of(body, outcomes, self._kept, reasoning)


def _opening(delta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first delta of a choice; a field that is there holds nothing yet."""
    made: dict[str, Any] = {"role": as_identifier(delta.get("role"), "assistant")}
    if "content" in delta:
        made["content"] = "" if isinstance(delta["content"], str) else None
    if "refusal" in delta:
        made["refusal"] = None
    return made


def _call(place: int, name: str, kind: str, part: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return the beginning of a tool call."""
    named = {"name": as_identifier(part.get("name")), field: ""}
    return {"index": place, "id": name or None, "type": kind, kind: named}


def _choice(
    index: int, delta: dict[str, Any], logprobs: Any = None, *, finish_reason: str | None = None
) -> dict[str, Any]:
    made = {"index": index, "delta": delta, "finish_reason": finish_reason}
    return made if logprobs is None else made | {"logprobs": logprobs}


def _said(content: Any) -> Any:
    """Return the text of a content; some upstreams send it in parts."""
    return text_of(content) if isinstance(content, list) else content
