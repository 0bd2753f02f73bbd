"""A client that knows corrections: it applies every event, and holds each to the rules that clients rely on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Place = tuple[str, int, int]


@dataclass(slots=True)
class Replay:
    """The texts that a client holds."""

    texts: dict[Place, str] = field(default_factory=dict)
    final: dict[Place, int] = field(default_factory=dict)
    """How many characters of each are confirmed."""
    corrections: list[dict[str, Any]] = field(default_factory=list)
    most_open: int = 0
    """The most characters that were shown and not confirmed."""

    def take(self, event: dict[str, Any]) -> None:
        """Take an event of any protocol."""
        for place, text in texts_of(event):
            self.texts[place] = self.texts.get(place, "") + text
            if "event" in event.get("guard", {}):
                assert not text
                self._correct(place, event["guard"])
            self.most_open = max(self.most_open, len(self.texts[place]) - self.final.get(place, 0))

    def _correct(self, place: Place, guard: dict[str, Any]) -> None:
        text, final = self.texts[place], self.final.get(place, 0)
        start, end = guard["start"], guard["end"]
        assert final <= start <= end <= len(text)
        assert guard["shown_before_judged"] is True
        assert ("text" in guard) == (guard["event"] == "replace")
        self.corrections.append(guard)
        if guard["event"] == "confirm":
            assert start == final < end
            self.final[place] = end
        else:
            assert guard["event"] == "replace" or start < end
            self.texts[place] = text[:start] + guard.get("text", "") + text[end:]

    @property
    def is_final(self) -> bool:
        """Whether everything that is held is confirmed."""
        return all(len(text) == self.final.get(place, 0) for place, text in self.texts.items())


def texts_of(event: dict[str, Any]) -> list[tuple[Place, str]]:
    """Return the answer's text in an event; an empty one stands where a correction is about it."""
    if event.get("type") == "response.output_text.delta":
        return [(("output_text", event["output_index"], event["content_index"]), event["delta"])]
    if event.get("type") == "content_block_delta" and event["delta"]["type"] == "text_delta":
        return [(("text", event["index"], 0), event["delta"]["text"])]
    corrects = "event" in event.get("guard", {})
    return [
        (("content", choice["index"], 0), choice["delta"].get("content") or "")
        for choice in event.get("choices", ())
        if choice["delta"].get("content") or corrects
    ]


def replayed(events: list[dict[str, Any]]) -> Replay:
    """Return what a client holds at the end."""
    made = Replay()
    for event in events:
        made.take(event)
    return made


def others(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events beside texts and corrections, without their numbers."""
    kept = []
    for event in events:
        if texts_of(event):
            continue
        made = {name: value for name, value in event.items() if name != "sequence_number"}
        for guarded in (made, made.get("response", {})):
            if "guard" in guarded:
                guarded["guard"] = {
                    name: value for name, value in guarded["guard"].items() if name != "shown_before_judged"
                }
        kept.append(made)
    return kept
