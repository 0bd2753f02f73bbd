"""Content blocks of a message, and what may be shown of each kind."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.wire.items import Say
from director_ai.serve.wire.reading import mapping_of
from director_ai.serve.wire.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from director_ai.serve.wire.envelope import Envelope
    from director_ai.serve.wire.items import Channel

__all__ = ["HEAD", "JUDGED", "PLAIN", "THINKING", "TOOLS", "Block", "citation_of", "rest_of", "value_of"]

TOOLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
THINKING: Final = frozenset({"thinking", "redacted_thinking"})
"""They are signed: all of it or nothing."""
JUDGED: Final = frozenset(
    """bash_code_execution_tool_result code_execution_tool_result mcp_tool_result tool_search_tool_result
    text_editor_code_execution_tool_result web_fetch_tool_result web_search_tool_result""".split()
)
"""Blocks that come whole, and whose prose is judged together."""
PLAIN: Final = frozenset({"container_upload"})
"""Blocks that are nothing but their head."""
HEAD: Final = ("type", "id", "name", "tool_use_id", "caller", "server_name", "toolset_name", "file_id", "is_error")


def citation_of(citation: Any, kept: Envelope) -> dict[str, Any]:
    """Return a citation without texts that the client did not send itself."""
    made = mapping_of(kept.keep(citation))
    return made | {"cited_text": made.get("cited_text", "")} if made.get("type") else {}


def rest_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a block that is judged."""
    return {name: value for name, value in block.items() if name not in HEAD}


def value_of(text: str) -> dict[str, Any] | None:
    """Return the object that a judged text still is; None where it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


@dataclass(slots=True, kw_only=True)
class Block:
    """One block."""

    kind: str
    place: int
    is_shown: bool = True
    is_open: bool = True
    is_started: bool = True
    """Whether its beginning was told; that of a call waits until it may be made."""
    track: Track = field(default_factory=Track)
    heard: int = 0
    early: str = ""
    """A tool's input that came with the block's beginning; deltas say it again."""
    head: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)
    """Of a block that comes whole, as it came."""
    texts: list[str] = field(default_factory=list)
    """Of its prose, what was judged."""
    citations: list[dict[str, Any]] = field(default_factory=list)

    @property
    def channel(self) -> Channel:
        """Of its text."""
        if self.kind in JUDGED:
            return ("block", self.place, 0)
        return ("text" if self.kind == "text" else "input", self.place, 0)

    @property
    def is_changed(self) -> bool:
        """Whether its text is shown otherwise than it came; citations are of the text as it came."""
        return bool(self.heard) and self.track.place_of(0, self.heard) is None

    def hear(self, text: str) -> None:
        """Take text of the model."""
        self.heard += len(text)
        self.track.hear(text)

    def head_of(self, said: Mapping[str, Any], kept: Envelope) -> dict[str, Any]:
        """Return how the block begins, with none of its text."""
        made = kept.pick(said, HEAD)
        if self.kind == "text":
            made["text"] = ""
            if "citations" in said:
                made["citations"] = [] if isinstance(said["citations"], list) else None
        return made | ({"input": {}} if self.kind in TOOLS else {})

    def say_whole(self, said: Mapping[str, Any], kept: Envelope) -> Iterator[Say]:
        """Yield the prose of a block that comes whole."""
        self.rest = rest_of(said)
        text = kept.prose_of(self.rest)
        if text:
            yield Say(self.channel, text, "json")

    def whole(self, kept: Envelope) -> dict[str, Any]:
        """Return a block that comes whole as it may be shown."""
        return self.head | kept.filled(self.rest, "".join(self.texts))

    def cite(self, citation: Any, kept: Envelope) -> None:
        """Take a citation of its text."""
        made = citation_of(citation, kept)
        if made:
            self.citations.append(made)
