"""OpenAI Responses: numbered events of items and their parts, in which every text stands four times."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.wire.envelope import Envelope, as_identifier, as_index
from director_ai.serve.wire.items import End, Finish, Item, Say
from director_ai.serve.wire.reading import UpstreamSaid, call_text, last_user_text, mapping_of, read_object
from director_ai.serve.wire.responses_items import (
    CALLS,
    CLIENT_CALLS,
    JUDGED,
    KINDS,
    KNOWN,
    REASONING,
    OutputItem,
    Part,
    head_of,
    rest_of,
    tool_of,
)
from director_ai.serve.wire.responses_whole import texts_of, with_texts_of
from director_ai.serve.wire.responses_writing import ResponseWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from director_ai.core.repair.streams import RepairPiece
    from director_ai.core.streaming_repair import Shape
    from director_ai.serve.sse import ServerSentEvent
    from director_ai.serve.wire.items import Channel, Outcome

__all__ = ["ResponsesWire"]

BEGINNINGS: Final = ("response.created", "response.queued", "response.in_progress")
ENDS: Final = ("response.completed", "response.incomplete", "response.failed")
DELTAS: Final = {kind.delta: name for name, kind in KINDS.items()}
DONES: Final = {kind.done: name for name, kind in KINDS.items()}
STATES: Final = frozenset(
    f"response.{call}.{state}"
    for call, states in {
        "code_interpreter_call": ("in_progress", "interpreting", "completed"),
        "file_search_call": ("in_progress", "searching", "completed"),
        "image_generation_call": ("in_progress", "generating", "completed"),
        "mcp_call": ("in_progress", "completed", "failed"),
        "mcp_list_tools": ("in_progress", "completed", "failed"),
        "web_search_call": ("in_progress", "searching", "completed"),
    }.items()
    for state in states
)
"""Events that say how far a call is, and nothing else."""


class ResponsesWire:
    """One response."""

    answers = "output_text"

    def __init__(self, request: Mapping[str, Any], *, shows_reasoning: bool = False) -> None:
        self.prompt = last_user_text(request.get("input"))
        self._shows_reasoning = shows_reasoning
        self._kept = Envelope(request)
        wanted = str(mapping_of(mapping_of(request.get("text")).get("format")).get("type"))
        self._shape: Shape = "json" if wanted.startswith("json") else "text"
        self._writer = ResponseWriter(request, self._kept)
        self._items: dict[int, OutputItem] = {}
        """By the upstream's numbers."""
        self._parts: dict[Channel, Part] = {}
        self._shown = 0
        self._over = False

    # --- from the upstream ------------------------------------------------------------------------------------

    def read(self, event: ServerSentEvent) -> Iterable[Item]:
        """Return what an event means; one of a type that is not known could carry text, and means nothing."""
        if event.data.strip() == "[DONE]":
            return []
        said = read_object(event.data)
        kind = as_identifier(said.get("type"), event.event)
        if kind == "error" or (said.get("error") and not kind.startswith("response.")):
            raise UpstreamSaid.of(said.get("error") or {"code": said.get("code")})
        if kind in BEGINNINGS:
            return [_later(self._writer.write_state, kind, mapping_of(said.get("response")))]
        if kind in ENDS:
            return [End((kind, mapping_of(said.get("response"))))]
        index = as_index(said.get("output_index"))
        return list(self._read_inside(kind, index, said)) if index is not None else []

    def _read_inside(self, kind: str, index: int, said: Mapping[str, Any]) -> Iterator[Item]:
        """Read an event of an item."""
        if kind == "response.output_item.added":
            yield from self._begin(index, mapping_of(said.get("item")))
        elif kind == "response.output_item.done":
            yield from self._read_item_done(index, mapping_of(said.get("item")))
        elif kind in DELTAS:
            yield from self._read_text(index, DELTAS[kind], said, said.get("delta"))
        elif kind in DONES:
            part = yield from self._read_rest(index, DONES[kind], said, said.get(KINDS[DONES[kind]].field))
            if part is not None:
                yield Finish((part.channel,), functools.partial(self._writer.write_text_done, part))
        elif kind in ("response.content_part.added", "response.content_part.done"):
            yield from self._read_part(index, kind, said)
        elif kind == "response.output_text.annotation.added":
            self._read_annotation(index, said)
        elif index in self._items and self._items[index].is_shown:
            yield from self._read_other(kind, self._items[index], said)

    def _begin(self, index: int, item: Mapping[str, Any]) -> Iterator[Item]:
        if index in self._items:
            return
        kind = as_identifier(item.get("type"))
        made = OutputItem(place=self._shown, head=head_of(item, self._kept), is_shown=kind in KNOWN)
        self._items[index] = made
        if not made.is_shown:
            return
        self._shown += 1
        if kind in REASONING and self._shows_reasoning:
            made.whole = dict(item)
        if kind not in CLIENT_CALLS:  # whose beginning waits until they may be made
            yield _later(self._writer.write_added, made)

    def _part(self, index: int, kind: str, said: Mapping[str, Any]) -> Iterator[Item]:
        """Make the part that an event is about, where it is new, with its item."""
        item_type = kind if kind in CALLS else "message"
        if index not in self._items:
            yield from self._begin(index, {"type": item_type, "id": said.get("item_id"), "status": "in_progress"})
        item, at = self._items[index], as_index(said.get("content_index", 0))
        if not item.is_shown or item.kind != item_type or at is None or at in item.parts or not item.is_open:
            return
        part = Part(item=item, channel=(kind, item.place, len(item.parts)))
        item.parts[at] = self._parts[part.channel] = part
        if item_type == "message":
            yield _later(self._writer.write_part_added, part)
        else:
            opening = functools.partial(self._writer.write_added, item)
            yield Say(part.channel, "", KINDS[kind].shape, as_identifier(item.head.get("name")), opening=opening)

    def _found(self, index: int, kind: str, said: Mapping[str, Any]) -> Part | None:
        item = self._items.get(index)
        at = as_index(said.get("content_index", 0))
        part = item.parts.get(at) if item is not None and at is not None else None
        return part if part is not None and part.channel[0] == kind else None

    def _read_text(self, index: int, kind: str, said: Mapping[str, Any], text: Any) -> Iterator[Item]:
        yield from self._part(index, kind, said)
        part = self._found(index, kind, said)
        if part is not None and part.is_open and isinstance(text, str) and text:
            part.hear(text, said.get("logprobs"))
            shape = self._shape if kind == "output_text" else KINDS[kind].shape
            yield Say(part.channel, text, shape)

    def _read_rest(
        self, index: int, kind: str, said: Mapping[str, Any], text: Any
    ) -> Generator[Item, None, Part | None]:
        """Read a text that stands as a whole behind its deltas; what they left out is judged, too."""
        known = self._found(index, kind, said)
        if isinstance(text, str):
            yield from self._read_text(index, kind, said, text[known.heard if known is not None else 0 :])
        return self._found(index, kind, said)

    def _read_part(self, index: int, event: str, said: Mapping[str, Any]) -> Iterator[Item]:
        part_said = mapping_of(said.get("part"))
        kind = as_identifier(part_said.get("type"))
        if kind not in ("output_text", "refusal"):
            return
        yield from self._part(index, kind, said)
        if event.endswith(".added"):
            yield from self._read_text(index, kind, said, part_said.get(KINDS[kind].field))
            return
        part = yield from self._read_rest(index, kind, said, part_said.get(KINDS[kind].field))
        if part is not None:
            yield Finish((part.channel,), functools.partial(self._writer.write_part_done, part))

    def _read_annotation(self, index: int, said: Mapping[str, Any]) -> None:
        part = self._found(index, "output_text", said)
        annotation = mapping_of(self._kept.keep(said.get("annotation")))
        if part is not None and annotation:
            part.annotations.append(annotation)

    def _read_item_done(self, index: int, said: Mapping[str, Any]) -> Iterator[Item]:
        if index not in self._items:
            yield from self._begin(index, said)
        item = self._items[index]
        if not item.is_shown or not item.is_open:
            return
        if item.whole is not None:
            item.whole = dict(said)
        if item.kind in CALLS:
            yield from self._read_rest(index, item.kind, {}, call_text(said.get(KINDS[item.kind].field)))
        elif item.kind in JUDGED:
            part = item.parts[0] = Part(item=item, channel=("item", item.place, 0))
            self._parts[part.channel] = part
            item.rest = rest_of(said)
            text, tool = self._kept.prose_of(item.rest), tool_of(said)
            if text or tool is not None:
                opening = functools.partial(self._writer.write_added, item) if item.kind in CLIENT_CALLS else None
                yield Say(part.channel, text, "json", tool, item.rest, opening)
        elif item.kind == "message":
            content = said.get("content")
            for at, each in enumerate(content if isinstance(content, list) else ()):
                yield from self._read_part(index, "", {"content_index": at, "part": each})
        head = head_of(said, self._kept)
        yield Finish(item.channels, functools.partial(self._writer.write_item_done, item, head))

    def _read_other(self, kind: str, item: OutputItem, said: Mapping[str, Any]) -> Iterator[Item]:
        if kind in STATES:
            yield _later(self._writer.write, kind, {"item_id": item.head.get("id"), "output_index": item.place})
        elif kind.startswith("response.reasoning_") and self._shows_reasoning:
            yield _later(self._writer.write, kind, {**said, "output_index": item.place})

    # --- to the client ----------------------------------------------------------------------------------------

    def write_text(self, channel: Channel, piece: RepairPiece, guard: Mapping[str, Any] | None) -> bytes:
        """Return an event with text of a part."""
        return self._writer.write_text(self._parts[channel], piece, guard)

    def write_plain(self, channel: Channel, text: str, guard: Mapping[str, Any] | None = None) -> bytes:
        """Return an event with text of a part; the probabilities of its tokens come with its end."""
        return self._writer.write_plain(self._parts[channel], text, guard)

    def settle(self, channel: Channel, piece: RepairPiece, guard: Mapping[str, Any] | None) -> None:
        """Take text for the events that say it as a whole."""
        self._writer.settle(self._parts[channel], piece, guard)

    def write_finish(self, finish: Finish) -> bytes:
        """Return an event that had to wait for texts."""
        if self._over:
            return b""
        written: bytes = finish.payload()
        return written

    def write_halt(self, channel: Channel | None, guard: Mapping[str, Any]) -> bytes:  # noqa: ARG002 - all of it ends
        """Return the end of the response."""
        if self._over:
            return b""
        self._over = True
        return self._writer.write_halt(guard)

    def shares_end(self, channel: Channel, other: Channel) -> bool:  # noqa: ARG002 - all of it ends
        """A halt ends the response."""
        return True

    def is_halted(self, channel: Channel) -> bool:  # noqa: ARG002 - all of it is
        """Whether the response was halted."""
        return self._over

    @property
    def is_over(self) -> bool:
        """Whether the response was halted."""
        return self._over

    @property
    def is_complete(self) -> bool:
        """A response says itself how it ends."""
        return False

    def write_end(self, end: End | None) -> bytes:
        """Return the last event."""
        return b"" if end is None or self._over else self._writer.write_end(*end.payload)

    def write_error(self, code: str, message: str) -> bytes:
        """Return an error event."""
        return self._writer.write_error(code, message)

    # --- answers that come whole ------------------------------------------------------------------------------

    def texts(self, body: dict[str, Any]) -> list[Say]:
        """Return every text of the output."""
        return texts_of(body, self._shape, self._kept)

    def with_texts(self, body: dict[str, Any], outcomes: Mapping[Channel, Outcome]) -> dict[str, Any]:
        """Return the response with what may be shown; one with a halted text is incomplete."""
        return with_texts_of(body, outcomes, self._kept, shows_reasoning=self._shows_reasoning)


def _later(write: Callable[..., bytes], *args: Any) -> Finish:
    """Return something that is written, and so numbered, when it leaves."""
    return Finish((), functools.partial(write, *args))
