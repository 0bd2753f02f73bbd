"""The records of agents that hand work to each other, and who heard from whom: bounded, one roster for each tenant."""

from __future__ import annotations

import functools
import hashlib
import math
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from director_ai.hooks.swarm.handoff_policy import SwarmPolicy

__all__ = ["AgentRecord", "Roster", "Standing", "agent_ref"]

Standing = Literal["trusted", "suspect", "quarantined"]
_REMEMBERED: Final = 32
"""Messages of an agent that are told from repeats."""


@functools.lru_cache(maxsize=1_024)
def agent_ref(tenant_id: str, agent: str) -> str:
    """Return what stands for an agent in events: a hash, since its id may name a person."""
    return "agent:" + hashlib.sha256(f"{tenant_id}\0{agent}".encode()).hexdigest()[:24]


@dataclass(slots=True, kw_only=True)
class AgentRecord:
    """What an agent's messages were like so far."""

    ref: str
    record: float
    """Weighted mean of the scores, the later ones counting more."""
    standing: Standing = "trusted"
    good_in_a_row: int = 0
    seen: deque[int] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def is_repeat(self, text: str) -> bool:
        """Whether a message was sent before; a repeat earns nothing."""
        mark = hash(text)
        if mark in self.seen:
            return True
        self.seen.append(mark)
        return False

    def count(self, text: str, score: float, policy: SwarmPolicy) -> bool:
        """Bring the record up to date with a message; say whether the agent goes into quarantine by it."""
        repeated = self.is_repeat(text)
        if not repeated or score < self.record:
            self.record += policy.weight * (score - self.record)
        if score < policy.threshold:
            self.good_in_a_row = 0
        elif not repeated:
            self.good_in_a_row += 1
        if self.record < policy.quarantine_below:
            return self.demote("quarantined")
        if policy.recovery_messages is not None and self.good_in_a_row >= policy.recovery_messages:
            self.standing = "suspect" if self.standing == "quarantined" else "trusted"
            self.good_in_a_row = 0
        return False

    def demote(self, standing: Standing) -> bool:
        """Make the standing worse, never better; say whether it changed."""
        order = ("trusted", "suspect", "quarantined")
        self.good_in_a_row = 0
        if order.index(standing) <= order.index(self.standing):
            return False
        self.standing = standing
        return True


class Roster:
    """The agents of one tenant and their hand-offs; whoever was heard longest ago is forgotten first."""

    def __init__(self, *, max_agents: int, max_handoffs: int, window: float) -> None:
        self._agents: OrderedDict[str, AgentRecord] = OrderedDict()
        self._handoffs: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()
        self._max_agents = max_agents
        self._max_handoffs = max_handoffs
        self._window = window

    def __len__(self) -> int:
        return len(self._agents)

    def add(self, agent: str, made: AgentRecord) -> AgentRecord:
        """Take in an agent; one that is known keeps its record, and nobody in quarantine is forgotten for it."""
        known = self._agents.get(agent)
        if known is not None:
            return known
        if len(self._agents) >= self._max_agents:
            dropped = next((name for name, each in self._agents.items() if each.standing != "quarantined"), None)
            if dropped is None:
                raise ConfigError(
                    f"all {self._max_agents} agents of this tenant are in quarantine; release or forget some"
                )
            del self._agents[dropped]
        self._agents[agent] = made
        return made

    def find(self, agent: str) -> AgentRecord | None:
        """Return the record of an agent, and remember that it was asked for."""
        found = self._agents.get(agent)
        if found is not None:
            self._agents.move_to_end(agent)
        return found

    def forget(self, agent: str) -> bool:
        """Drop an agent; say whether it was known."""
        return self._agents.pop(agent, None) is not None

    def note(self, sender: str, receiver: str, now: float) -> None:
        """Record that a message was handed on; many between the same two take the room of one."""
        first, last = self._handoffs.pop((sender, receiver), (now, now))
        if last < now - self._window:
            first = now
        self._handoffs[sender, receiver] = (first, max(last, now))
        if len(self._handoffs) > self._max_handoffs:
            self._handoffs.popitem(last=False)

    def reached_from(self, agent: str, now: float, deepest: int) -> dict[str, int]:
        """Return who may hold what an agent said within the window, each with how many hands it went through."""
        since = now - self._window
        onward: defaultdict[str, list[tuple[str, float, float]]] = defaultdict(list)
        for (sender, receiver), (first, last) in self._handoffs.items():
            if last >= since:
                onward[sender].append((receiver, first, last))
        depths: dict[str, int] = {agent: 0}
        heard: dict[str, float] = {agent: since}
        frontier = {agent: since}
        for depth in range(1, deepest + 1):
            following: dict[str, float] = {}
            for sender, known_since in frontier.items():
                for receiver, first, last in onward[sender]:
                    # Of many hand-offs only the first and the last are known: the earliest possible one is assumed.
                    at = max(first, known_since)
                    if last >= known_since and at < heard.get(receiver, math.inf):
                        heard[receiver] = following[receiver] = at
                        depths.setdefault(receiver, depth)
            frontier = following
        del depths[agent]
        return depths

    def spread(self, agent: str, now: float, policy: SwarmPolicy) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Make worse the standing of who heard from an agent; return who is in quarantine and who is suspect by it."""
        changed: tuple[list[str], list[str]] = ([], [])
        for name, depth in sorted(self.reached_from(agent, now, policy.suspect_depth).items()):
            is_far = depth > policy.quarantine_depth
            found = self._agents.get(name)
            if found is not None and found.demote("suspect" if is_far else "quarantined"):
                changed[is_far].append(name)
        return tuple(changed[0]), tuple(changed[1])
