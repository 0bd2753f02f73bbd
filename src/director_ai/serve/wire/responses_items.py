"""Items of a response and the texts in them, as far as they were shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.wire.envelope import as_identifier
from director_ai.serve.wire.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from director_ai.core.repair.streams import RepairPiece
    from director_ai.core.streaming_repair import Shape
    from director_ai.serve.wire.envelope import Envelope
    from director_ai.serve.wire.items import Channel

__all__ = [
    "CALLS",
    "CLIENT_CALLS",
    "HEAD",
    "HIDDEN",
    "JUDGED",
    "KINDS",
    "KNOWN",
    "REASONING",
    "OutputItem",
    "Part",
    "TextKind",
    "head_of",
    "rest_of",
    "tool_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextKind:
    """How one kind of text is written in events."""

    delta: str
    done: str
    field: str
    """Where the whole text stands."""
    shape: Shape = "text"


KINDS: Final = {
    "output_text": TextKind(delta="response.output_text.delta", done="response.output_text.done", field="text"),
    "refusal": TextKind(delta="response.refusal.delta", done="response.refusal.done", field="refusal"),
    "function_call": TextKind(
        delta="response.function_call_arguments.delta",
        done="response.function_call_arguments.done",
        field="arguments",
        shape="json",
    ),
    "custom_tool_call": TextKind(
        delta="response.custom_tool_call_input.delta", done="response.custom_tool_call_input.done", field="input"
    ),
}
CALLS: Final = ("function_call", "custom_tool_call")
"""Items that are one text each."""
CLIENT_CALLS: Final = frozenset(
    {*CALLS, "apply_patch_call", "computer_call", "local_shell_call", "mcp_approval_request", "shell_call"}
)
"""Items that a client acts on."""
REASONING: Final = frozenset({"reasoning", "compaction"})
HIDDEN: Final = frozenset({"image_generation_call"})
"""Of these only the head is shown: nobody can judge what is in them."""
JUDGED: Final = frozenset(
    """additional_tools apply_patch_call apply_patch_call_output code_interpreter_call computer_call
    custom_tool_call_output file_search_call function_call_output local_shell_call local_shell_call_output
    mcp_approval_request mcp_approval_response mcp_call mcp_list_tools program program_output shell_call
    shell_call_output tool_search_call tool_search_output web_search_call""".split()
)
"""Items that come whole, and whose prose is judged together."""
KNOWN: Final = frozenset({"message", *CALLS, *REASONING, *HIDDEN, *JUDGED})
HEAD: Final = (
    "id", "type", "status", "role", "phase", "call_id", "name", "namespace", "caller", "async", "server_label",
    "execution", "approval_request_id", "created_by",
)  # fmt: skip
"""What is no text of the model."""


def head_of(item: Mapping[str, Any], kept: Envelope) -> dict[str, Any]:
    """Return what may be shown of an item before its texts were judged."""
    made = kept.pick(item, HEAD)
    return made | {"summary": []} if item.get("type") == "reasoning" else made


def tool_of(item: Mapping[str, Any]) -> str | None:
    """Return what an item that comes whole calls; None where it calls nothing."""
    kind = as_identifier(item.get("type"))
    is_call = kind.endswith("_call") or kind == "mcp_approval_request"
    return as_identifier(item.get("name")) or kind if is_call else None


def rest_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an item that is judged."""
    return {name: value for name, value in item.items() if name not in HEAD}


@dataclass(slots=True, kw_only=True)
class Part:
    """A text of an item."""

    item: OutputItem
    channel: Channel
    track: Track = field(default_factory=Track)
    heard: int = 0
    is_open: bool = True
    """Whether the event with its whole text is still to come."""
    is_told: bool = False
    """Whether its end was told."""
    texts: list[str] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    """With places in the model's text."""

    @property
    def text(self) -> str:
        """What was shown."""
        return "".join(self.texts)

    @property
    def place(self) -> dict[str, Any]:
        """Where it is, as events say it."""
        made = {"item_id": self.item.head.get("id"), "output_index": self.item.place}
        return made | ({"content_index": self.channel[2]} if self.item.kind == "message" else {})

    def hear(self, text: str, logprobs: Any = None) -> None:
        """Take text of the model."""
        self.heard += len(text)
        self.track.hear(text, logprobs)

    def show(self, piece: RepairPiece) -> list[Any]:
        """Take what is shown, and return the probabilities of its tokens."""
        self.texts.append(piece.text)
        known = self.track.show(piece)
        self.logprobs += known
        return known

    def placed_annotations(self) -> Iterator[dict[str, Any]]:
        """Yield the annotations whose text is shown as it came, with the places that it has now."""
        for annotation in self.annotations:
            start = annotation.get("start_index", annotation.get("index"))
            end = annotation.get("end_index", start)
            if type(start) is not int or type(end) is not int:
                continue
            place = self.track.place_of(start, end)
            if place is not None:
                names = ("start_index", "end_index") if "start_index" in annotation else ("index",)
                yield annotation | dict(zip(names, place, strict=False))

    def shown(self) -> dict[str, Any]:
        """Return the part as it stands in a message."""
        kind = self.channel[0]
        made: dict[str, Any] = {"type": kind, KINDS[kind].field: self.text}
        if kind == "output_text":
            made |= {"annotations": list(self.placed_annotations()), "logprobs": self.logprobs}
        return made


@dataclass(slots=True, kw_only=True)
class OutputItem:
    """One item of the output, or one that is not shown at all."""

    place: int
    head: dict[str, Any]
    parts: dict[int, Part] = field(default_factory=dict)
    """By the upstream's numbers."""
    is_open: bool = True
    is_shown: bool = True
    rest: dict[str, Any] = field(default_factory=dict)
    """Of an item that is judged whole, once it was."""
    whole: dict[str, Any] | None = None
    """As it is passed where a caller may see reasoning."""

    @property
    def kind(self) -> str:
        """The type of the item."""
        return str(self.head.get("type"))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Of all of its texts."""
        return tuple(part.channel for part in self.parts.values())

    def shown(self) -> dict[str, Any]:
        """Return the item with what was shown of its texts."""
        if self.whole is not None:
            return self.whole
        if self.kind == "message":
            return self.head | {"content": [part.shown() for part in self.parts.values()]}
        text = "".join(part.text for part in self.parts.values())
        if self.kind in CALLS:
            return self.head | {KINDS[self.kind].field: text}
        return self.head | self.rest
