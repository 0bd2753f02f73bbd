"""Anthropic Messages: named events of content blocks, each a text, a tool's input, or something that comes whole."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.sse import write_object
from director_ai.serve.wire.envelope import Envelope, as_identifier, as_index
from director_ai.serve.wire.items import End, Finish, Item, Pass, Say
from director_ai.serve.wire.messages_blocks import JUDGED, PLAIN, THINKING, TOOLS, Block
from director_ai.serve.wire.messages_whole import HALTED, MESSAGE, texts_of, with_texts_of
from director_ai.serve.wire.reading import UpstreamSaid, last_user_text, mapping_of, read_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from director_ai.core.repair.streams import RepairPiece
    from director_ai.core.streaming_repair import Shape
    from director_ai.serve.sse import ServerSentEvent
    from director_ai.serve.wire.items import Channel, Outcome

__all__ = ["MessagesWire"]

DELTAS: Final = {"text_delta": ("text", "text"), "input_json_delta": ("input", "partial_json")}
"""Kinds of channels, and where their text stands."""


class MessagesWire:
    """One message."""

    answers = "text"

    def __init__(self, request: Mapping[str, Any], *, shows_reasoning: bool = False) -> None:
        self.prompt = last_user_text(request.get("messages"))
        self._shows_reasoning = shows_reasoning
        self._kept = Envelope(request)
        output = mapping_of(request.get("output_config"))
        wanted = str(mapping_of(output.get("format") or request.get("output_format")).get("type"))
        self._shape: Shape = "json" if wanted.startswith("json") else "text"
        self._message: dict[str, Any] = {"id": "msg_guard", "type": "message", "role": "assistant", "model": ""}
        self._message |= self._kept.pick(request, ("model",))
        self._blocks: dict[int, Block] = {}
        """By the upstream's numbers; the client's have no gaps where a block is withheld."""
        self._shown: list[Block] = []
        self._usage: dict[str, Any] = {"input_tokens": 0, "output_tokens": 0}
        self._begun = False
        self._over = False

    # --- from the upstream ------------------------------------------------------------------------------------

    def read(self, event: ServerSentEvent) -> Iterable[Item]:
        """Return what an event means; one of a type that is not known could carry text, and means nothing."""
        said = read_object(event.data)
        kind = as_identifier(said.get("type"), event.event)
        match kind:
            case "error":
                raise UpstreamSaid.of(said.get("error"))
            case "ping":
                return [Pass(_event("ping", {}))]
            case "message_start":
                return [Pass(self._start(mapping_of(said.get("message"))))]
            case "message_delta":
                return [Finish(self._open_channels(), ("delta", said))]
            case "message_stop":
                return [End()]
        index = as_index(said.get("index"))
        return [] if index is None else list(self._read_inside(kind, index, said))

    def _read_inside(self, kind: str, index: int, said: Mapping[str, Any]) -> Iterator[Item]:
        """Read an event of a block."""
        block = self._blocks.get(index)
        if kind == "content_block_start" and block is None:
            yield from self._begin(index, mapping_of(said.get("content_block")))
        elif block is None or not block.is_shown or not block.is_open:
            return
        elif kind == "content_block_delta":
            yield from self._read_delta(block, mapping_of(said.get("delta")))
        elif kind == "content_block_stop":
            if not block.heard:
                yield from self._say(block, block.early)
            yield Finish((block.channel,), ("stop", block))

    def _begin(self, index: int, said: dict[str, Any]) -> Iterator[Item]:
        kind = as_identifier(said.get("type"))
        known = kind in {"text", *TOOLS, *JUDGED, *PLAIN} or (kind in THINKING and self._shows_reasoning)
        block = self._blocks[index] = Block(kind=kind, place=len(self._shown), is_shown=known)
        if not known:
            return
        self._shown.append(block)
        if kind in THINKING:
            block.head = said
        else:
            block.head = block.head_of(said, self._kept)
        if kind in JUDGED:
            yield from block.say_whole(said, self._kept)
            return
        if kind not in TOOLS:
            yield Finish((), ("start", block))
        else:
            block.is_started = False
            opening = functools.partial(self._open_call, block)
            yield Say(block.channel, "", "json", as_identifier(said.get("name")), opening=opening)
            if said.get("input") and isinstance(said["input"], dict):
                block.early = json.dumps(said["input"], ensure_ascii=False)
        if kind == "text":
            yield from self._say(block, said.get("text"))

    def _open_call(self, block: Block) -> bytes:
        block.is_started = True
        return self.write_finish(Finish((), ("start", block)))

    def _read_delta(self, block: Block, delta: Mapping[str, Any]) -> Iterator[Item]:
        kind = as_identifier(delta.get("type"))
        if kind in DELTAS and DELTAS[kind][0] == block.channel[0]:
            yield from self._say(block, delta.get(DELTAS[kind][1]))
        elif kind == "citations_delta" and block.kind == "text":
            block.cite(delta.get("citation"), self._kept)
        elif kind in ("thinking_delta", "signature_delta") and block.kind in THINKING:
            yield Finish((), ("raw", block, dict(delta)))

    def _say(self, block: Block, text: Any) -> Iterator[Item]:
        if isinstance(text, str) and text:
            block.hear(text)
            yield Say(block.channel, text, self._shape if block.kind == "text" else "json")

    def _open_channels(self) -> tuple[Channel, ...]:
        return tuple(block.channel for block in self._shown if block.is_open)

    # --- to the client ----------------------------------------------------------------------------------------

    def write_text(self, channel: Channel, piece: RepairPiece, guard: Mapping[str, Any] | None) -> bytes:
        """Return an event with text of a block, or of a tool's input; blocks that come whole leave with their end."""
        block = self._shown[channel[1]]
        if channel[0] == "block":
            block.texts.append(piece.text)
            return b""
        block.track.show(piece)
        kind = "text_delta" if channel[0] == "text" else "input_json_delta"
        return self._write_delta(block, {"type": kind, DELTAS[kind][1]: piece.text}, guard)

    def write_plain(self, channel: Channel, text: str, guard: Mapping[str, Any] | None = None) -> bytes:
        """Return an event with text of a block."""
        return self._write_delta(self._shown[channel[1]], {"type": "text_delta", "text": text}, guard)

    def settle(self, channel: Channel, piece: RepairPiece, guard: Mapping[str, Any] | None) -> None:  # noqa: ARG002
        """Take text by which the block's citations are judged."""
        self._shown[channel[1]].track.show(piece)

    def write_finish(self, finish: Finish) -> bytes:
        """Return an event that had to wait for texts."""
        if self._over:
            return b""
        match finish.payload:
            case "start", block:
                return _event("content_block_start", {"index": block.place, "content_block": block.head})
            case "raw", block, delta:
                return self._write_delta(block, delta, None)
            case "stop", block:
                return self._stop(block)
            case "delta", said:
                return self._write_message_delta(said)
        return b""

    def _start(self, said: Mapping[str, Any]) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        self._message |= self._kept.pick(said, MESSAGE)
        self._usage |= mapping_of(self._message.get("usage"))
        empty: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": self._usage}
        return _event("message_start", {"message": self._message | empty})

    def _write_delta(self, block: Block, delta: Mapping[str, Any], guard: Mapping[str, Any] | None) -> bytes:
        more = {} if guard is None else {"guard": guard}
        return _event("content_block_delta", {"index": block.place, "delta": delta} | more)

    def _stop(self, block: Block) -> bytes:
        """Return the end of a block, once, behind its citations."""
        if not block.is_open:
            return b""
        block.is_open = False
        if not block.is_started:
            return b""
        if block.channel[0] == "block":
            start = _event("content_block_start", {"index": block.place, "content_block": block.whole(self._kept)})
        else:
            told = [] if block.is_changed else block.citations
            start = b"".join(
                self._write_delta(block, {"type": "citations_delta", "citation": each}, None) for each in told
            )
        return start + _event("content_block_stop", {"index": block.place})

    def _write_message_delta(self, said: Mapping[str, Any]) -> bytes:
        delta = self._kept.pick(
            mapping_of(said.get("delta")), ("stop_reason", "stop_sequence", "stop_details", "container")
        )
        self._usage |= mapping_of(self._kept.keep(said.get("usage")))
        closed = b"".join(self._stop(block) for block in self._shown)
        return closed + _event("message_delta", {"delta": delta, "usage": self._usage})

    def write_halt(self, channel: Channel | None, guard: Mapping[str, Any]) -> bytes:  # noqa: ARG002 - all of it ends
        """Return the end of the message; blocks that were to come whole are not shown."""
        if self._over:
            return b""
        begin = self._start({})
        closed = b"".join(self._stop(block) for block in self._shown if block.channel[0] != "block")
        self._over = True
        return begin + closed + _event("message_delta", {"delta": HALTED, "usage": self._usage, "guard": guard})

    def shares_end(self, channel: Channel, other: Channel) -> bool:  # noqa: ARG002 - all of it ends
        """A halt ends the message."""
        return True

    def is_halted(self, channel: Channel) -> bool:  # noqa: ARG002 - all of it is
        """Whether the message was halted."""
        return self._over

    @property
    def is_over(self) -> bool:
        """Whether the message was halted."""
        return self._over

    @property
    def is_complete(self) -> bool:
        """A message says itself how it ends."""
        return False

    def write_end(self, end: End | None) -> bytes:
        """Return the last event."""
        if end is None and not self._over:
            return b""
        closed = b"" if self._over else b"".join(self._stop(block) for block in self._shown)
        return closed + _event("message_stop", {})

    def write_error(self, code: str, message: str) -> bytes:
        """Return an error event."""
        return _event("error", {"error": {"type": code, "message": message}})

    # --- answers that come whole ------------------------------------------------------------------------------

    def texts(self, body: dict[str, Any]) -> list[Say]:
        """Return every text of the content."""
        return texts_of(body, self._shape, self._kept)

    def with_texts(self, body: dict[str, Any], outcomes: Mapping[Channel, Outcome]) -> dict[str, Any]:
        """Return the message with what may be shown; one with a halted text is a refusal."""
        return with_texts_of(body, outcomes, self._kept, shows_reasoning=self._shows_reasoning)


def _event(kind: str, fields: Mapping[str, Any]) -> bytes:
    return write_object({"type": kind, **fields}, kind)
