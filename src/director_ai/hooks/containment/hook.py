"""Containment: a signed anchor says where an agent runs, and what reaches out of there is stopped."""

from __future__ import annotations

import functools
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from director_ai.core.identifiers import check_identifier, ref_of
from director_ai.core.ranges import check_number
from director_ai.core.safety_event import POLICY_DECISIONS
from director_ai.errors import ConfigError, UnknownOption
from director_ai.hooks.answers import answer_of
from director_ai.hooks.containment.anchors import RUN_SCOPES, Anchor, AnchorKey, AnchorReader, RunScope, issue_anchor
from director_ai.hooks.containment.networks import HostRules
from director_ai.hooks.containment.reach import OUTREACH_REASONS, Outreach
from director_ai.hooks.findings import Finding, count_reasons, reasons_of, refs_of, worst_finding
from director_ai.hooks.nonces import Nonces, NonceStore
from director_ai.hooks.protocol import Occasion, ProposedAction, event_of
from director_ai.hooks.statements import StatementRefused, read_time, validity_problem

if TYPE_CHECKING:
    from director_ai.core.safety_event import SafetyEvent

__all__ = [
    "REASONS",
    "Anchor",
    "AnchorKey",
    "ContainmentHook",
    "ContainmentVerdict",
    "HostRules",
    "NonceStore",
    "Nonces",
    "RunScope",
    "issue_anchor",
]

_ANCHOR_REASONS: Final = tuple(
    f"anchor.{word}"
    for word in (
        "missing malformed too_large unknown_key forged not_yet_valid expired other_tenant other_agent other_run "
        "replayed scope_without_rules source_failed store_failed clock_failed"
    ).split()
)
REASONS: Final[Mapping[str, str]] = MappingProxyType(dict.fromkeys(_ANCHOR_REASONS, "block") | OUTREACH_REASONS)
"""Every reason that a verdict may have, and the decision it leads to."""
_STRICTER: Final = tuple(decision for decision in POLICY_DECISIONS if decision != "allow")
_EXPLANATIONS: Final = {
    "contained": "The anchor was checked, and no action or text outside its scope was found.",
    "anchor": "The signed anchor was missing, expired or refused, so the scope of the run is unknown.",
    "text": "The text was outside the scope of the anchor.",
    "action": "The action was outside the scope of the anchor.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainmentVerdict:
    """Whether something stays where its anchor says that it runs."""

    decision: str
    findings: tuple[Finding, ...]
    anchor: Anchor | None
    """What counts of the anchor; None where it was refused."""
    safety_event: SafetyEvent

    @property
    def allowed(self) -> bool:
        """Whether it may go on."""
        return self.decision in ("allow", "warn")

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason once."""
        return reasons_of(self.findings)


class ContainmentHook:
    """Holds an agent to the scope that a signed anchor gives it.

    Args:
        anchor: The anchor, or a function that returns the one for an occasion, for example by its tenant.
        keys: Who may sign anchors.
        rules: For each scope, which hosts it may reach; a scope without rules is refused.
        subject: The agent that the anchor must be for; empty: any.
        run_id: The run that this is; an anchor for another run is refused. Empty: a random one.
        nonces: Where given, an anchor serves the first run that shows it, and no other.
        skew: By how many seconds clocks may differ.
        decisions: Other decisions for some of the reasons of REASONS, a warning at least; those about the anchor
            always block.
        finds_secret: Says whether a text carries a secret, in place of the small set that is built in.
        clock: Seconds since 1970.
    """

    hook_id: Final = "containment.scope"
    hook_scope: Final = "containment"

    def __init__(  # noqa: PLR0913 - each is documented, and has a default where there is a safe one
        self,
        anchor: str | Callable[[Occasion], str],
        *,
        keys: Iterable[AnchorKey],
        rules: Mapping[str, HostRules],
        subject: str = "",
        run_id: str = "",
        nonces: NonceStore | None = None,
        skew: float = 30.0,
        decisions: Mapping[str, str] | None = None,
        finds_secret: Callable[[str], bool] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._reader = AnchorReader(keys)
        self._decisions = _checked_decisions(decisions or {})
        self._scopes = {
            scope: Outreach(scope, rules[scope], self._decisions, finds_secret) for scope in _checked_rules(rules)
        }
        self._subject = check_identifier("subject", subject)
        self._run_id = check_identifier("run_id", run_id) or f"run-{secrets.token_hex(8)}"
        self._nonces = _checked_nonces(nonces)
        self._skew = check_number("skew", skew, 0.0, 3_600.0)
        for name, given in (("clock", clock), ("finds_secret", finds_secret)):
            if given is not None and not callable(given):
                raise ConfigError(f"{name} must be a function, got a {type(given).__name__}")
        self._clock = clock
        self._anchor = anchor
        if not callable(anchor):
            self._reader.read(anchor)
        self.is_quick = (
            not callable(anchor)
            and finds_secret is None
            and clock is time.time
            and type(nonces) in (type(None), Nonces)
        )
        """Whether it asks nobody, so that no thread need wait for it."""

    def examine(self, occasion: Occasion) -> ContainmentVerdict:
        """Return whether what an occasion says and does stays within the scope; the prompt is not examined."""
        started = time.perf_counter()
        token: object = self._anchor
        if callable(token):
            token = answer_of(token, occasion)
            if type(token) is not str:
                return self._verdict([self._refused("source_failed")], None, occasion, started)
        anchor, findings = self._holds(token, occasion)
        outreach = self._scopes.get(anchor.scope) if anchor is not None else None
        if outreach is not None:
            findings += outreach.of_text(occasion.text)
            if occasion.action is not None:
                findings += outreach.of_action(occasion.action)
        return self._verdict(findings, anchor, occasion, started)

    def judge_text(self, text: str, *, tenant_id: str = "", request_id: str = "") -> ContainmentVerdict:
        """Judge what an agent says."""
        return self.examine(Occasion(text=text, tenant_id=tenant_id, request_id=request_id))

    def judge_action(
        self, action: ProposedAction, *, text: str = "", tenant_id: str = "", request_id: str = ""
    ) -> ContainmentVerdict:
        """Judge what an agent is about to do, and what it says about it."""
        return self.examine(Occasion(text=text, action=action, tenant_id=tenant_id, request_id=request_id))

    def _holds(self, token: object, occasion: Occasion) -> tuple[Anchor | None, list[Finding]]:
        """Return the anchor where its signature counts, and all that speaks against it."""
        try:
            anchor = self._reader.read(token)
        except StatementRefused as refused:
            return None, [self._refused(refused.reason)]
        words = []
        now = read_time(self._clock)
        if now is None:
            words.append("clock_failed")
        else:
            words.append(validity_problem(now, anchor.issued_at, anchor.expires_at, self._skew))
        if anchor.tenant_id != occasion.tenant_id:
            words.append("other_tenant")
        if (self._subject and anchor.subject != self._subject) or (
            occasion.sender and anchor.subject != occasion.sender
        ):
            words.append("other_agent")
        if anchor.run_id and anchor.run_id != self._run_id:
            words.append("other_run")
        if anchor.scope not in self._scopes:
            words.append("scope_without_rules")
        if now is not None and not any(words):  # what is refused anyway must not take a nonce
            words.append(self._claim(anchor, now))
        return anchor, [self._refused(word) for word in words if word]

    def _claim(self, anchor: Anchor, now: float) -> str:
        if self._nonces is None:
            return ""
        answer = answer_of(self._nonces.claim, anchor.nonce, self._run_id, anchor.expires_at + self._skew, now)
        if answer is True:
            return ""
        return "replayed" if answer is False else "store_failed"

    def _refused(self, word: str) -> Finding:
        return Finding(reason=f"anchor.{word}")

    def _verdict(
        self, findings: list[Finding], anchor: Anchor | None, occasion: Occasion, started: float
    ) -> ContainmentVerdict:
        worst = worst_finding(findings)
        decision, reason = (worst.decision, worst.reason) if worst else ("allow", "contained")
        attributes = count_reasons(findings)
        if anchor is not None:
            attributes |= {"anchor": _hash_of(anchor.anchor_id), "subject": _hash_of(anchor.subject)}
            attributes["scope"] = anchor.scope
        event = event_of(
            self,
            occasion,
            decision,
            f"{reason} findings={len(findings)}" if worst else reason,
            started=started,
            evidence_refs=refs_of(findings),
            tenant_safe_explanation=_EXPLANATIONS[reason.partition(".")[0]],
            attributes=attributes,
        )
        is_refused = any(finding.reason.startswith("anchor.") for finding in findings)
        return ContainmentVerdict(
            decision=decision, findings=tuple(findings), anchor=None if is_refused else anchor, safety_event=event
        )


@functools.lru_cache(maxsize=256)
def _hash_of(identifier: str) -> str:
    return ref_of("", identifier)


def _checked_rules(rules: Mapping[str, HostRules]) -> tuple[str, ...]:
    if not isinstance(rules, Mapping) or not rules:
        raise ConfigError("rules must say for at least one scope which hosts it may reach")
    for scope, rule in rules.items():
        if scope not in RUN_SCOPES:
            raise UnknownOption("scope of an anchor", scope, RUN_SCOPES)
        if not isinstance(rule, HostRules):
            raise ConfigError(f"the rules of a scope must be HostRules, got a {type(rule).__name__}")
    return tuple(rules)


def _checked_decisions(decisions: Mapping[str, str]) -> dict[str, str]:
    for reason, decision in decisions.items():
        if reason not in OUTREACH_REASONS:
            raise UnknownOption("reason of containment", reason, OUTREACH_REASONS)
        if decision not in _STRICTER:
            raise UnknownOption("decision about something that is wrong", decision, _STRICTER)
    return OUTREACH_REASONS | dict(decisions)


def _checked_nonces(nonces: NonceStore | None) -> NonceStore | None:
    if nonces is not None and not isinstance(nonces, NonceStore):
        raise ConfigError(f"nonces must have a method claim, got a {type(nonces).__name__}")
    return nonces
