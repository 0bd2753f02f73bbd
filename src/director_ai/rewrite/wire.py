"""What the events of a streamed answer say, in the words of each API."""

from __future__ import annotations

import json
from typing import Any, Protocol

from director_ai.generators import EndpointError

__all__ = ["AnthropicReply", "OpenAIReply", "Reply"]


class Reply(Protocol):
    """A streamed answer."""

    def take(self, data: str) -> str:
        """Return the text of one event; "" where it has none."""

    def finish(self) -> None:
        """Raise where the answer is not whole."""


class _Reply:
    """Keeps whether an answer has ended; what its API does not document is malformed."""

    def __init__(self) -> None:
        self._has_begun = self._has_ended = False

    def take(self, data: str) -> str:
        self._has_begun = True
        try:
            text = self._read(data)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise EndpointError("malformed") from None
        if type(text) is not str:
            raise EndpointError("malformed")
        return text

    def finish(self) -> None:
        if not self._has_ended:  # it broke off, or never was a stream of events
            raise EndpointError("unreachable" if self._has_begun else "malformed")

    def _read(self, data: str) -> Any:
        raise NotImplementedError


class OpenAIReply(_Reply):
    """Chat completion chunks."""

    def _read(self, data: str) -> Any:
        if data.strip() == "[DONE]":
            self._has_ended = True
            return ""
        payload = json.loads(data)
        if payload.get("error"):
            raise EndpointError("unreachable")
        choice = next((choice for choice in payload["choices"] if choice.get("index", 0) == 0), None)
        if choice is None:
            return ""
        delta, finish = choice.get("delta") or {}, choice.get("finish_reason")
        if finish == "length":
            raise EndpointError("truncated")
        if finish == "content_filter" or delta.get("refusal"):
            raise EndpointError("refused")
        self._has_ended = self._has_ended or finish is not None
        content = delta.get("content")
        return "" if content is None else content


class AnthropicReply(_Reply):
    """Message events; white space that had to be cut off the prefix is not said twice."""

    def __init__(self, cut: str = "") -> None:
        super().__init__()
        self._cut = cut

    def _read(self, data: str) -> Any:
        payload = json.loads(data)
        kind = payload["type"]
        if kind == "error":
            raise EndpointError("unreachable")
        if kind == "message_stop":
            self._has_ended = True
        if kind == "message_delta":
            stop = payload["delta"].get("stop_reason")
            if stop in {"max_tokens", "model_context_window_exceeded", "pause_turn"}:
                raise EndpointError("truncated")
            if stop == "refusal":
                raise EndpointError("refused")
        if kind == "content_block_delta" and payload["delta"]["type"] == "text_delta":
            return self._after_cut(payload["delta"]["text"])
        return ""

    def _after_cut(self, text: str) -> str:
        """The text without the white space that the prefix already ends with."""
        while self._cut and text:
            if text[0] != self._cut[0]:
                self._cut = ""
                break
            text, self._cut = text[1:], self._cut[1:]
        return text
