"""What a protocol is to the guard: texts in channels, and everything else, in the order of the upstream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from director_ai.core.repair.record import RepairResult
    from director_ai.core.repair.streams import RepairPiece
    from director_ai.core.streaming_repair import Shape
    from director_ai.serve.sse import ServerSentEvent

__all__ = ["Channel", "End", "Finish", "Item", "Outcome", "Pass", "Say", "Wire"]


Channel = tuple[str, int, int]
"""Which text it is: its kind, the choice or block that it is of, and its place in it."""


class Say(NamedTuple):
    """Text that must be judged before it leaves."""

    channel: Channel
    text: str
    shape: Shape = "text"
    tool: str | None = None
    """The tool that the text is for, told with the first text of a call, which may be empty; None: it is no call."""
    arguments: Mapping[str, Any] | None = None
    """What a tool is called with, where the text is not all of it."""
    opening: Callable[[], bytes] | None = None
    """Writes how a call begins; it leaves with the first of what may be shown of it, or with its end."""


class Pass(NamedTuple):
    """Something without text of the model, which leaves at once."""

    data: bytes


class Finish(NamedTuple):
    """The end of some channels; it leaves behind all that they say."""

    channels: tuple[Channel, ...]
    payload: Any = None
    """What the wire needs to write it."""


class End(NamedTuple):
    """The end of the exchange; it leaves behind everything."""

    payload: Any = None


Item = Say | Pass | Finish | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of the whole text of a channel, in an answer that is not streamed."""

    text: str
    result: RepairResult


class Wire(Protocol):
    """One exchange in one protocol, without any input or output of its own.

    It reads the events of the upstream and writes those of the client, one exchange only.
    """

    prompt: str
    """What was asked: the context in which claims are judged."""
    answers: str
    """The kind of the channels that hold the answer's own text."""

    def read(self, event: ServerSentEvent) -> Iterable[Item]:
        """Return what an event of the upstream means; one that says nothing to anybody means nothing."""
        ...

    def write_text(self, channel: Channel, piece: RepairPiece, guard: Mapping[str, Any] | None) -> bytes:
        """Return text of a channel that may be shown, with what the guard did to it, if anything."""
        ...

    def write_plain(self, channel: Channel, text: str, guard: Mapping[str, Any] | None = None) -> bytes:
        """Return text of an answer with nothing known of it, or none with what the guard says; see `optimism`."""
        ...

    def settle(self, channel: Channel, piece: RepairPiece, guard: Mapping[str, Any] | None) -> None:
        """Take what the guard let go of a text that was written before."""
        ...

    def write_finish(self, finish: Finish) -> bytes:
        """Return the end of channels that all said what they had to say."""
        ...

    def write_halt(self, channel: Channel | None, guard: Mapping[str, Any]) -> bytes:
        """Return the end of a channel, and of what cannot go on without it, that was halted; never a `stop`.

        None stands for everything that has not come to its end.
        """
        ...

    def shares_end(self, channel: Channel, other: Channel) -> bool:
        """Whether a halt of one channel ends another."""
        ...

    def is_halted(self, channel: Channel) -> bool:
        """Whether nothing of a channel may be shown any more."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether all that was halted leaves nothing to go on with."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the upstream said all that an answer needs, so that it may end without saying so."""
        ...

    def write_end(self, end: End | None) -> bytes:
        """Return the end of the exchange; None where the guard or the operator ended it, not the upstream."""
        ...

    def write_error(self, code: str, message: str) -> bytes:
        """Return an error behind bytes that were sent already."""
        ...

    def texts(self, body: dict[str, Any]) -> list[Say]:
        """Return every text of an answer that came whole."""
        ...

    def with_texts(self, body: dict[str, Any], outcomes: Mapping[Channel, Outcome]) -> dict[str, Any]:
        """Return the answer with what may be shown of its texts, and how each that was halted ends."""
        ...
