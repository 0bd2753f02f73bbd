"""Judges messages between agents by their context and by the sender's record, and keeps the untrustworthy apart.

hook = SwarmHook(scorer=my_scorer)
hook.register("planner", tenant_id="acme")
result = hook.check("planner", "writer", text, context=evidence, tenant_id="acme")
result.allowed, result.reasons, result.safety_event
"""

from __future__ import annotations

import inspect
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from director_ai.core.checks.rules import Frontier, check_frontier
from director_ai.core.identifiers import check_identifier, ref_of
from director_ai.core.ranges import as_score, check_count
from director_ai.errors import ConfigError
from director_ai.hooks.protocol import Occasion, event_of
from director_ai.hooks.swarm.handoff_policy import SwarmPolicy
from director_ai.hooks.swarm.handoff_result import EXPLANATIONS, Ground, HandoffResult, Settled, result_of
from director_ai.hooks.swarm.handoffs import AgentRecord, Roster, agent_ref
from director_ai.hooks.swarm.word_support import word_support

if TYPE_CHECKING:
    from director_ai.core.safety_event import SafetyEvent
    from director_ai.hooks.swarm.handoffs import Standing

__all__ = ["HandoffResult", "HandoffScorer", "SwarmHook", "SwarmPolicy"]

_log: Final = logging.getLogger(__name__)

HandoffScorer = Callable[[str, str], float]
"""Says from 0 to 1 how far a context, the second argument, bears out a message, the first."""

_LONGEST_REASON: Final = 500


class SwarmHook:
    """Keeps a record of each registered agent, by tenant; one object serves any number of threads."""

    hook_id: Final = "swarm.handoff"
    hook_scope: Final = "swarm"

    def __init__(
        self,
        policy: SwarmPolicy | None = None,
        *,
        scorer: HandoffScorer | None = None,
        clock: Callable[[], float] = time.monotonic,
        max_tenants: int = 1_000,
        max_agents: int = 1_000,
        max_handoffs: int = 10_000,
        max_characters: int = 200_000,
        frontier: Frontier = "sentence",
    ) -> None:
        """`max_agents` and `max_handoffs` are per tenant; `max_characters` is of a message, and of its context.

        `frontier`: how much of a stream is one message; "text" waits for the end of it.
        """
        if policy is not None and not isinstance(policy, SwarmPolicy):
            raise ConfigError(f"policy must be a SwarmPolicy, got a {type(policy).__name__}")
        if not (scorer is None or callable(scorer)) or not callable(clock):
            raise ConfigError("scorer and clock must be functions")
        self.policy = policy or SwarmPolicy()
        self.frontier = check_frontier(frontier)
        self.is_quick = scorer is None and clock is time.monotonic
        self._scorer = scorer
        self._clock = clock
        self._max_tenants = check_count("max_tenants", max_tenants, 1)
        self._max_agents = check_count("max_agents", max_agents, 1)
        self._max_handoffs = check_count("max_handoffs", max_handoffs, 1)
        self._max_characters = check_count("max_characters", max_characters, 1, 10_000_000)
        self._rosters: dict[str, Roster] = {}
        self._lock = threading.Lock()

    def register(self, agent: str, *, tenant_id: str = "") -> None:
        """Make an agent known to its tenant; one that is known already keeps its record."""
        name, tenant = _agent(agent), check_identifier("tenant_id", tenant_id)
        with self._lock:
            if tenant not in self._rosters and len(self._rosters) >= self._max_tenants:
                raise ConfigError(
                    f"there are {self._max_tenants} tenants already; forget the agents of one, or raise max_tenants"
                )
            roster = self._rosters.get(tenant) or Roster(
                max_agents=self._max_agents, max_handoffs=self._max_handoffs, window=self.policy.window
            )
            roster.add(name, AgentRecord(ref=agent_ref(tenant, name), record=self.policy.initial_record))
            self._rosters[tenant] = roster

    def forget(self, agent: str, *, tenant_id: str = "") -> None:
        """Make an agent unknown; the room of a tenant without agents is given back."""
        name, tenant = _agent(agent), check_identifier("tenant_id", tenant_id)
        with self._lock:
            roster = self._rosters.get(tenant)
            if roster is not None and roster.forget(name) and not len(roster):
                del self._rosters[tenant]

    def standing(self, agent: str, *, tenant_id: str = "") -> Standing | None:
        """Return how an agent stands; None where it is not registered."""
        with self._lock:
            record = self._record(check_identifier("tenant_id", tenant_id), _agent(agent))
            return record.standing if record else None

    def release(self, agent: str, *, operator: str, reason: str, tenant_id: str = "") -> SafetyEvent:
        """Trust an agent again, by an operator's word; neither name nor reason is recorded, only their hashes."""
        return self._operate(agent, operator, reason, Occasion(tenant_id=tenant_id), "operator_release")

    def quarantine(self, agent: str, *, operator: str, reason: str, tenant_id: str = "") -> SafetyEvent:
        """Put an agent into quarantine, by an operator's word, and with it who heard from it."""
        return self._operate(agent, operator, reason, Occasion(tenant_id=tenant_id), "operator_quarantine")

    def check(
        self,
        sender: str,
        receiver: str,
        text: str,
        *,
        context: str = "",
        tenant_id: str = "",
        request_id: str = "",
    ) -> HandoffResult:
        """Judge a message before it is handed on; an empty receiver means that it is for people."""
        return self._judge(
            Occasion(
                text=text, prompt=context, sender=sender, receiver=receiver, tenant_id=tenant_id, request_id=request_id
            )
        )

    def examine(self, occasion: Occasion) -> HandoffResult | None:
        """Judge what an agent says; None where no agent is named."""
        return self._judge(occasion) if occasion.sender else None

    def _judge(self, occasion: Occasion) -> HandoffResult:
        started = time.perf_counter()
        now = self._now()
        grounds: list[Ground] = []
        score: float | None = None
        if max(len(occasion.text), len(occasion.prompt)) > self._max_characters:
            grounds.append(("block", "too_long"))
        elif now is None:
            grounds.append(("block", "clock_error"))
        elif self.policy.unknown == "warn" or self._is_known(occasion):
            # The scorer is called without the lock: one that hangs holds up nobody else.
            score, grounds = self._scored(occasion)
        else:
            # Said now: who registers meanwhile must not have an unscored message let through.
            grounds.append((self.policy.unknown, "unknown_sender"))
        with self._lock:
            settled = self._settle(occasion, now, score, grounds)
        return result_of(self, occasion, settled, threshold=self.policy.threshold, started=started)

    def _scored(self, occasion: Occasion) -> tuple[float | None, list[Ground]]:
        """Return a message's score and what it leads to; None where it says nothing, or nothing can be said of it."""
        if not occasion.text.strip():
            return None, []
        if self._scorer is None and not occasion.prompt.strip():
            return None, [(self.policy.without_context, "no_context")]
        try:
            answer: object = (self._scorer or word_support)(occasion.text, occasion.prompt)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a failure, whatever it is: an exit must not end the process
            # The type alone: a message may repeat what was scored.
            _log.error("the scorer of hand-offs failed with %s", type(error).__name__)
            return None, [("block", "scorer_error")]
        if answer is None and self._scorer is None:
            return None, []
        score = as_score(answer)
        if score is None:
            if inspect.iscoroutine(answer):
                answer.close()
            return None, [("block", "invalid_score")]
        figures = f"score={score:.4f}"
        if score < self.policy.threshold:
            return score, [("halt", f"low_score {figures} limit={self.policy.threshold:.4f}")]
        if score < self.policy.warn_below:
            return score, [("warn", f"weak_score {figures} limit={self.policy.warn_below:.4f}")]
        return score, []

    def _settle(self, occasion: Occasion, now: float | None, score: float | None, grounds: list[Ground]) -> Settled:
        """Put together what speaks against a message, and bring the sender's record up to date."""
        roster = self._rosters.get(occasion.tenant_id)
        sender = roster.find(occasion.sender) if roster else None
        grounds = list(dict.fromkeys(grounds + self._standings(occasion, roster, sender)))
        settled = Settled(grounds=grounds, score=score)
        if roster is None or sender is None or now is None:
            return settled
        if score is not None and sender.count(occasion.text, score, self.policy):
            limit = self.policy.quarantine_below
            settled.grounds.append(("block", f"quarantine_begun record={sender.record:.4f} limit={limit:.4f}"))
            settled.quarantined, settled.suspected = roster.spread(occasion.sender, now, self.policy)
        settled.record, settled.standing = sender.record, sender.standing
        passes = all(decision == "warn" for decision, _ in settled.grounds)
        if passes and occasion.text.strip() and occasion.receiver not in ("", occasion.sender):
            roster.note(occasion.sender, occasion.receiver, now)
        return settled

    def _standings(self, occasion: Occasion, roster: Roster | None, sender: AgentRecord | None) -> list[Ground]:
        grounds: list[Ground] = []
        if sender is None:
            grounds.append((self.policy.unknown, "unknown_sender"))
        elif sender.standing != "trusted":
            quarantined = sender.standing == "quarantined"
            grounds.append(("block", "quarantined_sender") if quarantined else ("warn", "suspect_sender"))
        if occasion.receiver:
            receiver = roster.find(occasion.receiver) if roster else None
            if receiver is None:
                grounds.append((self.policy.unknown, "unknown_receiver"))
            elif receiver.standing == "quarantined":
                grounds.append(("warn", "quarantined_receiver"))
        return grounds

    def _operate(self, agent: str, operator: str, reason: str, occasion: Occasion, what: str) -> SafetyEvent:
        name, who, tenant = _agent(agent), check_identifier("operator", operator), occasion.tenant_id
        if not who or not isinstance(reason, str) or not 0 < len(reason.strip()) <= _LONGEST_REASON:
            raise ConfigError(
                f"operator must be named, and reason must be a text of at most {_LONGEST_REASON} characters"
            )
        now = self._now()
        quarantined: tuple[str, ...] = ()
        suspected: tuple[str, ...] = ()
        with self._lock:
            record = self._record(tenant, name)
            if record is None or now is None:
                raise ConfigError(
                    "the agent is not registered with this tenant, or the clock failed; nothing was changed"
                )
            if what == "operator_release":
                record.standing, record.record = "trusted", max(record.record, self.policy.initial_record)
                record.good_in_a_row = 0
            else:
                record.demote("quarantined")
                quarantined, suspected = self._rosters[tenant].spread(name, now, self.policy)
        attributes = {
            "agent": record.ref,
            "operator": agent_ref(tenant, who),
            "reason": ref_of("", reason),
            "quarantined": str(len(quarantined)),
            "suspected": str(len(suspected)),
        }
        decision = "allow" if what == "operator_release" else "block"
        return event_of(
            self, occasion, decision, what, tenant_safe_explanation=EXPLANATIONS[what], attributes=attributes
        )

    def _is_known(self, occasion: Occasion) -> bool:
        with self._lock:
            return self._record(occasion.tenant_id, occasion.sender) is not None

    def _record(self, tenant: str, agent: str) -> AgentRecord | None:
        roster = self._rosters.get(tenant)
        return roster.find(agent) if roster else None

    def _now(self) -> float | None:
        try:
            now = self._clock()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a clock that fails must not open the door
            _log.error("the clock of the swarm failed with %s", type(error).__name__)
            return None
        return now if type(now) in (int, float) and math.isfinite(now) else None


def _agent(name: object) -> str:
    agent = check_identifier("agent", name)
    if not agent:
        raise ConfigError("agent must not be empty")
    return agent
