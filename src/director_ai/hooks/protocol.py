"""What all hooks share: what they are asked about, what they answer, and how decisions compare.

A hook examines an occasion and answers with a verdict of its own kind, which always carries a `SafetyEvent`; None where
the occasion is none of its business. `consult` asks several of them, and whoever fails to answer blocks.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args, runtime_checkable

from director_ai.core.identifiers import check_identifier
from director_ai.core.ranges import check_seconds
from director_ai.core.runtime.drive import SyncCalls
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.plan import Late
from director_ai.core.safety_event import POLICY_DECISIONS, SafetyEvent, validate_safety_event
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "MOMENTS",
    "Hook",
    "Moment",
    "Occasion",
    "ProposedAction",
    "Unanswered",
    "Verdict",
    "consult",
    "event_of",
    "is_quick",
    "may_go_on",
    "moments_of",
    "worst_decision",
]

Moment = Literal["request", "text", "action"]
"""When a hook wants to be asked: before anything is said, about what is said, about what is to be done."""
MOMENTS: Final[tuple[Moment, ...]] = get_args(Moment)
_OURS: Final = f"{__package__}."
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedAction:
    """What an agent wants to do: a tool, and what it is to be called with."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ConfigError("name must say which tool is to be called")
        if not isinstance(self.arguments, Mapping):
            raise ConfigError(f"arguments must be a mapping, got a {type(self.arguments).__name__}")
        object.__setattr__(self, "arguments", MappingProxyType(dict(self.arguments)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What a hook is asked about; whatever is empty is not known, or not there."""

    text: str = ""
    """What the model says: an answer, or a clause of it."""
    prompt: str = ""
    action: ProposedAction | None = None
    passport: str = ""
    """A signed statement of who is acting."""
    sender: str = ""
    """The agent that says it."""
    receiver: str = ""
    """The agent that it is for; empty: for people."""
    tenant_id: str = ""
    request_id: str = ""
    exchange_id: str = ""
    """One answer with all that belongs to it; made by whoever asks, never by who is examined."""

    def __post_init__(self) -> None:
        for name in ("text", "prompt", "passport"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} must be a string, got a {type(getattr(self, name)).__name__}")
        for name in ("sender", "receiver", "tenant_id", "request_id", "exchange_id"):
            check_identifier(name, getattr(self, name))
        if self.action is not None and not isinstance(self.action, ProposedAction):
            raise ConfigError(f"action must be a ProposedAction, got a {type(self.action).__name__}")

    def saying(self, text: str) -> Occasion:
        """Return the same occasion with another text; all else was checked when it was made."""
        made, put = object.__new__(Occasion), object.__setattr__
        for name in Occasion.__slots__:
            put(made, name, getattr(self, name))
        put(made, "text", str.__str__(text))
        return made


@runtime_checkable
class Verdict(Protocol):
    """What every verdict has."""

    @property
    def safety_event(self) -> SafetyEvent:
        """What is recorded of it."""
        ...


@runtime_checkable
class Hook(Protocol):
    """Examines occasions; one object serves any number of threads.

    It may say more of itself: `moments`, at which of MOMENTS it wants to be asked (by default at all of them);
    `frontier`, how much of a stream's text it needs at once (by default a sentence); `is_quick`, that it only computes,
    so that no thread need wait for it.
    """

    @property
    def hook_id(self) -> str:
        """Stable: it stands in every event."""
        ...

    @property
    def hook_scope(self) -> str:
        """One of HOOK_SCOPES."""
        ...

    def examine(self, occasion: Occasion) -> Verdict | None:
        """Return a verdict; None where the occasion is none of its business."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """The verdict in place of one that a hook did not give."""

    safety_event: SafetyEvent


def consult(hooks: Iterable[Hook], occasion: Occasion, *, deadline: float | None = None) -> tuple[Verdict, ...]:
    """Ask hooks about an occasion; one that raises, takes too long, or answers with something else, blocks."""
    seconds = check_seconds("deadline", deadline)
    answers = [_ask(hook, occasion, None if is_quick(hook) else seconds) for hook in hooks]
    return tuple(answer for answer in answers if answer is not None)


def _ask(hook: Hook, occasion: Occasion, seconds: float | None) -> Verdict | None:
    started = time.perf_counter()
    try:
        found = hook.examine(occasion) if seconds is None else _within(seconds, hook, occasion)
        if found is None:
            return None
        event = found.safety_event
        if isinstance(event, SafetyEvent) and event.hook_id == hook.hook_id and event.hook_scope == hook.hook_scope:
            if not is_ours(hook):
                validate_safety_event(event.to_dict())
            return found
        reason = "hook_invalid"
    except Late:
        reason = "hook_timeout"
    except BaseException as error:
        if must_pass(error) and not isinstance(error, GeneratorExit | SystemExit):  # a hook must not end the server
            raise
        # The type alone: a message may repeat what was examined.
        _log.error("the hook %s failed with %s", type(hook).__name__, type(error).__name__)
        reason = "hook_error"
    return Unanswered(safety_event=event_of(hook, occasion, "block", reason, started=started))


def _within(seconds: float, hook: Hook, occasion: Occasion) -> Verdict | None:
    calls = SyncCalls(each=seconds, total=None, clock=time.monotonic)
    try:
        found: Verdict | None = calls.bind("check", hook.examine)(occasion)
        return found
    finally:
        calls.leave()


def event_of(
    hook: Hook, occasion: Occasion, decision: str, reason: str, *, started: float | None = None, **more: Any
) -> SafetyEvent:
    """Return the record of a hook's decision; `started` is what `time.perf_counter` said when it began."""
    if started is not None:
        more["latency_ms"] = (time.perf_counter() - started) * 1e3
    more |= {
        "hook_id": hook.hook_id,
        "hook_scope": hook.hook_scope,
        "halt_reason": reason,
        "tenant_id": occasion.tenant_id,
        "request_id": occasion.request_id,
    }
    if decision == "allow" and is_ours(hook):
        return SafetyEvent.from_allowed(**more)
    return SafetyEvent.from_policy_decision(decision, **more)


def is_ours(hook: Hook) -> bool:
    """Whether a hook is of this package: its events are proven in its tests."""
    return _is_of_package(type(hook))


@functools.lru_cache(maxsize=256)
def _is_of_package(kind: type) -> bool:
    return kind.__module__.startswith(_OURS)


def moments_of(hook: Hook) -> frozenset[str]:
    """Return when a hook wants to be asked."""
    return frozenset(getattr(hook, "moments", MOMENTS))


def is_quick(hook: Hook) -> bool:
    """Whether a hook says of itself that it only computes."""
    return getattr(hook, "is_quick", False) is True


def worst_decision(verdicts: Iterable[Verdict]) -> str:
    """Return the strictest decision among verdicts; `allow` where there is none."""
    decisions = [verdict.safety_event.policy_decision for verdict in verdicts]
    return max(decisions, key=POLICY_DECISIONS.index, default="allow")


def may_go_on(verdicts: Iterable[Verdict]) -> bool:
    """Whether nothing among the verdicts halts or blocks."""
    return worst_decision(verdicts) in {"allow", "warn"}
