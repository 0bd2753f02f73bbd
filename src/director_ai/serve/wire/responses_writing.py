"""The events of a response as they leave: numbered anew, with all that was shown of its items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from director_ai.serve.sse import write_object
from director_ai.serve.wire.responses_items import CALLS, KINDS
from director_ai.serve.wire.responses_whole import HALTED, RESPONSE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from director_ai.core.repair.streams import RepairPiece
    from director_ai.serve.wire.envelope import Envelope
    from director_ai.serve.wire.responses_items import OutputItem, Part

__all__ = ["ResponseWriter"]


class ResponseWriter:
    """Writes one response; each event gets its number when it leaves."""

    def __init__(self, request: Mapping[str, Any], kept: Envelope) -> None:
        self._kept = kept
        self._response: dict[str, Any] = {"id": "resp_guard", "object": "response", "created_at": 0}
        self._response |= kept.pick(request, ("model",))
        self._items: list[OutputItem] = []
        self._actions: list[Any] = []
        self._number = 0
        self._begun = False

    def write(self, kind: str, fields: Mapping[str, Any]) -> bytes:
        """Return an event."""
        made = {**fields, "type": kind, "sequence_number": self._number}
        self._number += 1
        return write_object(made, kind)

    def write_state(self, kind: str, said: Mapping[str, Any]) -> bytes:
        """Return an event with the response as it begins."""
        known = self._kept.pick(said, RESPONSE)
        if self._begun:
            known.pop("id", None)  # one response has one id
        self._begun = True
        self._response |= known
        return self.write(kind, {"response": self._response | {"error": None, "output": []}})

    def write_added(self, item: OutputItem) -> bytes:
        """Return the beginning of an item."""
        self._items.append(item)
        empty: dict[str, Any] = {"content": []} if item.kind == "message" else {}
        if item.kind in CALLS:
            empty = {KINDS[item.kind].field: ""}
        shown = item.whole if item.whole is not None else item.head | empty
        return self.write("response.output_item.added", {"output_index": item.place, "item": shown})

    def write_part_added(self, part: Part) -> bytes:
        """Return the beginning of a part."""
        return self.write("response.content_part.added", part.place | {"part": part.shown()})

    def write_text(self, part: Part, piece: RepairPiece, guard: Mapping[str, Any] | None) -> bytes:
        """Return text of a part; items that are judged whole are shown with their end."""
        kind = part.channel[0]
        known = self.settle(part, piece, guard)
        if kind == "item":
            return b""
        more: dict[str, Any] = {"delta": piece.text} | ({"logprobs": known} if kind == "output_text" else {})
        if guard is not None:
            more["guard"] = guard
        return self.write(KINDS[kind].delta, part.place | more)

    def settle(self, part: Part, piece: RepairPiece, guard: Mapping[str, Any] | None) -> list[Any]:
        """Take text for the events that say it as a whole, and return the probabilities of its tokens."""
        if guard is not None:
            self._actions += guard.get("actions", ())
        if part.channel[0] != "item":
            return part.show(piece)
        part.texts.append(piece.text)
        return []

    def write_plain(self, part: Part, text: str, guard: Mapping[str, Any] | None) -> bytes:
        """Return text of a part without probabilities, or none with what the guard says."""
        more: dict[str, Any] = {"delta": text, "logprobs": []} | ({} if guard is None else {"guard": guard})
        return self.write(KINDS[part.channel[0]].delta, part.place | more)

    def write_text_done(self, part: Part) -> bytes:
        """Return the end of a text, behind its annotations; only once, whichever event brings it."""
        if not part.is_open:
            return b""
        part.is_open = False
        kind = KINDS[part.channel[0]]
        notes = b"".join(
            self.write(
                "response.output_text.annotation.added", part.place | {"annotation": each, "annotation_index": at}
            )
            for at, each in enumerate(part.placed_annotations())
        )
        more: dict[str, Any] = {kind.field: part.text}
        if part.channel[0] == "output_text":
            more["logprobs"] = part.logprobs
        return notes + self.write(kind.done, part.place | more)

    def write_part_done(self, part: Part) -> bytes:
        """Return the end of a part, once."""
        if part.is_told:
            return b""
        part.is_told = True
        text = self.write_text_done(part)
        return text + self.write("response.content_part.done", part.place | {"part": part.shown()})

    def write_item_done(self, item: OutputItem, head: Mapping[str, Any]) -> bytes:
        """Return the end of an item, once; what it began with stays as it was."""
        if not item.is_open:
            return b""
        item.is_open = False
        item.head = {**head, **item.head} | {name: head[name] for name in ("status",) if name in head}
        item.rest = (
            self._kept.filled(item.rest, "".join(part.text for part in item.parts.values())) if item.rest else {}
        )
        close = self.write_part_done if item.kind == "message" else self.write_text_done
        closed = b"".join(close(part) for part in item.parts.values() if part.channel[0] != "item")
        return closed + self.write("response.output_item.done", {"output_index": item.place, "item": item.shown()})

    def write_halt(self, guard: Mapping[str, Any]) -> bytes:
        """Return the end of a response that was halted; a call that is not complete is none."""
        begin = b"" if self._begun else self.write_state("response.created", {"status": "in_progress"})
        closed = self._close(("message",), {"status": "incomplete"})
        response = self._response | HALTED | {"error": None, "output": self._output(), "guard": guard}
        return begin + closed + self.write("response.incomplete", {"response": response, "guard": guard})

    def write_end(self, kind: str, said: Mapping[str, Any]) -> bytes:
        """Return the last event, with all texts as they were shown."""
        begin = b"" if self._begun else self.write_state("response.created", {**said, "status": "in_progress"})
        whole = kind == "response.completed"
        closed = self._close(("message",), {"status": "completed" if whole else "incomplete"})
        closed += self._close(None, {"status": "completed"}) if whole else b""
        self._response |= self._kept.pick(said, RESPONSE) | {
            "id": self._response["id"],
            "status": kind.removeprefix("response."),
        }
        failed = {"code": "server_error", "message": "the upstream failed"} if kind == "response.failed" else None
        response = self._response | {"error": failed, "output": self._output()}
        if self._actions:
            response["guard"] = {"actions": self._actions}
        return begin + closed + self.write(kind, {"response": response})

    def write_error(self, code: str, message: str) -> bytes:
        """Return an error event; the SDK raises where it finds the inner object."""
        error = {"type": code, "code": code, "message": message, "param": None}
        return self.write("error", {"code": code, "message": message, "param": None, "error": error})

    def _close(self, kinds: tuple[str, ...] | None, head: Mapping[str, Any]) -> bytes:
        left = [item for item in self._items if item.is_open and (kinds is None or item.kind in kinds)]
        return b"".join(self.write_item_done(item, head if "status" in item.head else {}) for item in left)

    def _output(self) -> list[dict[str, Any]]:
        return [item.shown() for item in self._items if not item.is_open]
