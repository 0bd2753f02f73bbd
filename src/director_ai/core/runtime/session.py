"""What a kernel reports: one event per token, and the session they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from director_ai.core.runtime.structured_recovery import StructuredRecoveryResult
    from director_ai.core.safety_event import SafetyEvent
    from director_ai.core.types import HaltEvidence

__all__ = ["StreamSession", "TokenEvent"]


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """One token and what was made of it."""

    token: str
    index: int
    coherence: float
    """The score of the call that judged this token; 0 where it could not be judged."""
    warning: bool = False
    """Released, but below the soft limit."""
    released: bool = True
    """Whether the token is part of `StreamSession.output`."""
    halted: bool = False
    """Whether the halt fell at this token."""
    debug_info: dict[str, Any] | None = None
    halt_evidence: HaltEvidence | None = None
    safety_event: SafetyEvent | None = None


class StreamSession:
    """The full trace of one stream; complete once the stream has ended.

    Tokens and scores are kept as columns, and events are made when they are looked at: a million small objects would
    cost more than everything else a kernel does.
    """

    def __init__(self) -> None:
        self.tokens: list[str] = []
        """The released tokens."""
        self.withheld: list[str] = []
        """The tokens that were read and not released, the halting one among them."""
        self.scores: list[float] = []
        """One per token that was read: the released ones, then the withheld ones."""
        self.warned = bytearray()
        """One per token that was read: 1 where it lies below the soft limit."""
        self.halted = False
        self.halt_index = -1
        """Index of the first token of the text whose score met the halt condition; -1 without a halt.

        Without a soft halt, exactly the tokens before it were released. Where the source failed, it is the index of the
        token that never came, and there is no such event.
        """
        self.halt_reason = ""
        """A machine-readable word, then the figures: `hard_limit score=0.3100 limit=0.4000`."""
        self.avg_coherence = 0.0
        """Mean over all tokens that were judged, the halting one included; 0 where there were none."""
        self.min_coherence = 0.0
        """Lowest score of them all."""
        self.duration_ms = 0.0
        self.debug_log: list[dict[str, Any]] = []
        """Diagnostic snapshots, one per token that was judged; only with `streaming_debug=True`."""
        self.halt_evidence_structured: HaltEvidence | None = None
        self.safety_events: tuple[SafetyEvent, ...] = ()
        self.structured_recovery: StructuredRecoveryResult | None = None
        self.flags: dict[str, int] = {}
        """What was mended on the way in, with counts: `lone_surrogate`."""
        self._events: list[TokenEvent] = []

    @property
    def output(self) -> str:
        """The safe text: everything that was judged and released."""
        return "".join(self.tokens)

    @property
    def warning_count(self) -> int:
        """How many tokens lay below the soft limit while the stream went on."""
        return sum(self.warned)

    @property
    def events(self) -> list[TokenEvent]:
        """Every token that was read, the halting one included."""
        made = self._events
        made += (self._event(index) for index in range(len(made), len(self.tokens) + len(self.withheld)))
        return made

    def forget_events(self, start: int) -> None:
        """Make the events from `start` anew when they are next looked at: more is known about them."""
        del self._events[max(start, 0) :]

    def split_after(self, index: int) -> None:
        """A token was cut in two, one part released and one withheld: both keep its figures."""
        self.scores.insert(index + 1, self.scores[index])
        self.warned.insert(index + 1, 0)  # one warning for one token
        if self.debug_log:
            self.debug_log.insert(index + 1, dict(self.debug_log[index]))
            for place, snapshot in enumerate(self.debug_log[index + 1 :], index + 1):
                snapshot["index"], snapshot["accumulated_tokens"] = place, place + 1

    def released_events(self, start: int, stop: int) -> list[TokenEvent]:
        """The events of some of the released tokens."""
        return [self._event(index) for index in range(start, stop)]

    def _event(self, index: int) -> TokenEvent:
        released = index < len(self.tokens)
        token = self.tokens[index] if released else self.withheld[index - len(self.tokens)]
        plain = TokenEvent(token, index, self.scores[index], bool(self.warned[index]), released)
        if index != self.halt_index and not self.debug_log:
            return plain
        halted = index == self.halt_index
        return TokenEvent(
            token,
            index,
            plain.coherence,
            plain.warning,
            released,
            halted,
            self.debug_log[index] if index < len(self.debug_log) else None,
            self.halt_evidence_structured if halted else None,
            self.safety_events[0] if halted and self.safety_events else None,
        )

    def __repr__(self) -> str:
        ended = f"halted at {self.halt_index}: {self.halt_reason}" if self.halted else "not halted"
        return f"<StreamSession {len(self.tokens)} tokens released, {len(self.withheld)} withheld, {ended}>"
