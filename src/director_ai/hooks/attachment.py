"""Hooks that are attached to a guard or an agent: who is asked when, and how a stream is held to their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from director_ai.core.checks.rules import Rule, check_frontier
from director_ai.core.merge import Edit
from director_ai.core.safety_event import HOOK_SCOPES
from director_ai.errors import ConfigError, UnknownOption
from director_ai.hooks.protocol import MOMENTS, Hook, consult, is_quick, may_go_on, moments_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from director_ai.core.checks.rules import Frontier
    from director_ai.core.safety_event import SafetyEvent
    from director_ai.hooks.protocol import Moment, Occasion, Verdict

__all__ = ["AttachedHooks"]


class AttachedHooks:
    """Some hooks, asked at their moments; what they object to is recorded before anything comes of it.

    Args:
        hooks: Any number of them.
        deadline: Seconds for one answer of one hook; who takes longer blocks.
        record: Keeps events; where it fails, nothing is shown.
    """

    def __init__(
        self,
        hooks: Iterable[Hook],
        *,
        deadline: float | None = None,
        record: Callable[[SafetyEvent], Any] | None = None,
    ) -> None:
        self._hooks = tuple(_checked(hook) for hook in hooks)
        self._deadline, self._record = deadline, record
        self._shares = list(self._shared())

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def wants(self, moment: Moment) -> bool:
        """Whether any of them wants to be asked at a moment."""
        return any(moment in moments_of(hook) for hook in self._hooks)

    def consult(self, occasion: Occasion, *moments: Moment) -> tuple[Verdict, ...]:
        """Ask those hooks that want to be asked at one of these moments."""
        wanted = [hook for hook in self._hooks if moments_of(hook) & set(moments)]
        found = consult(wanted, occasion, deadline=self._deadline)
        self.keep(found)
        return found

    def keep(self, verdicts: Iterable[Verdict]) -> None:
        """Record what is more than a leave to go on."""
        if self._record is not None:
            for verdict in verdicts:
                if verdict.safety_event.policy_decision != "allow":
                    self._record(verdict.safety_event)

    def rules(self, occasion: Occasion, noted: list[SafetyEvent]) -> list[Rule]:
        """Return the hooks as checks of one stream; `noted` gets the events of all their verdicts."""
        return [
            Rule(check=_HookCheck(hooks, frontier, occasion, self, noted), on_fail="halt", deadline=deadline)
            for hooks, frontier, deadline in self._shares
        ]

    def _shared(self) -> Iterator[tuple[list[Hook], Frontier, float | None]]:
        """Yield who is asked together, about how much text, and in what time.

        Those that only compute share one check for each frontier; the others have each their own, with a deadline.
        """
        wanted = [hook for hook in self._hooks if moments_of(hook) & {"request", "text"}]
        quick: dict[Frontier, list[Hook]] = {}
        for hook in sorted(filter(is_quick, wanted), key=lambda hook: "text" not in moments_of(hook)):
            # Who is asked before the first word alone goes with others who are asked anyway.
            usual: Frontier = "sentence" if "text" in moments_of(hook) else next(iter(quick), "word")
            quick.setdefault(getattr(hook, "frontier", usual), []).append(hook)
        for frontier, hooks in quick.items():
            yield hooks, frontier, None
        for hook in (hook for hook in wanted if not is_quick(hook)):
            usual = "sentence" if "text" in moments_of(hook) else "word"
            yield [hook], getattr(hook, "frontier", usual), self._deadline


class _HookCheck:
    """Hooks, asked about one stream: before its first word, and about each piece of it."""

    def __init__(
        self,
        hooks: list[Hook],
        frontier: Frontier,
        occasion: Occasion,
        attached: AttachedHooks,
        noted: list[SafetyEvent],
    ) -> None:
        self._occasion, self._attached, self._noted = occasion, attached, noted
        self.name = hooks[0].hook_id if len(hooks) == 1 else f"hooks.{frontier}"
        self.frontier: Frontier = frontier
        self._at_first = [hook for hook in hooks if "request" in moments_of(hook)]
        self._of_text = [hook for hook in hooks if "text" in moments_of(hook)]

    def find(self, text: str) -> list[Edit]:
        """Return one edit of the whole piece where a hook halts or blocks."""
        found = consult(self._at_first, self._occasion)
        self._at_first = []
        if self._of_text and text.strip():
            found += consult(self._of_text, self._occasion.saying(text))
        self._attached.keep(found)
        self._noted += [verdict.safety_event for verdict in found]
        if may_go_on(found):
            return []
        reasons = [verdict.safety_event.halt_reason for verdict in found if not may_go_on([verdict])]
        return [Edit(0, len(text), "", "remove", self.name, reasons[0].split(" ")[0])]


def _checked(hook: Hook) -> Hook:
    if isinstance(hook, type) or not callable(getattr(hook, "examine", None)):
        raise ConfigError(f"a hook must be an object with a method examine, got {hook!r:.80}")
    if not isinstance(hook.hook_id, str) or not hook.hook_id.strip():
        raise ConfigError("a hook needs a hook_id that stands in its events")
    if hook.hook_scope not in HOOK_SCOPES:
        raise UnknownOption("hook_scope", hook.hook_scope, HOOK_SCOPES)
    for moment in moments_of(hook):
        if moment not in MOMENTS:
            raise UnknownOption("moment of a hook", moment, MOMENTS)
    check_frontier(getattr(hook, "frontier", "sentence"))
    return hook
