"""Attestation: an agent shows a passport, and may do what it grants."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from director_ai.core.identifiers import is_ref, ref_of
from director_ai.core.ranges import check_number
from director_ai.errors import ConfigError
from director_ai.hooks.answers import answer_of
from director_ai.hooks.attestation.capabilities import capability_of_tool, checked_capabilities
from director_ai.hooks.attestation.issuers import Issuer, IssuerKey, IssuerRegistry, RevocationList, Revocations
from director_ai.hooks.attestation.passports import (
    Passport,
    PassportReader,
    delegate_passport,
    holder_of,
    issue_passport,
)
from director_ai.hooks.findings import Finding, count_reasons, reasons_of, refs_of, worst_finding
from director_ai.hooks.nonces import Nonces, NonceStore
from director_ai.hooks.protocol import Occasion, ProposedAction, event_of
from director_ai.hooks.statements import StatementRefused, read_time, validity_problem

if TYPE_CHECKING:
    from director_ai.core.safety_event import SafetyEvent
    from director_ai.hooks.protocol import Moment

__all__ = [
    "REASONS",
    "AttestationHook",
    "Issuer",
    "IssuerKey",
    "IssuerRegistry",
    "NonceStore",
    "Nonces",
    "Passport",
    "PassportVerdict",
    "RevocationList",
    "Revocations",
    "delegate_passport",
    "holder_of",
    "issue_passport",
]

_PASSPORT_REASONS: Final = tuple(
    f"passport.{word}"
    for word in (
        "missing malformed too_large algorithm_refused header_refused wrong_type unknown_issuer unknown_key forged "
        "chain_too_long delegation_broken delegation_widened key_not_yet_valid key_expired not_yet_valid expired "
        "revoked other_audience other_tenant other_agent exceeds_issuer without_request replayed clock_failed "
        "store_failed revocations_failed"
    ).split()
)
REASONS: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(_PASSPORT_REASONS, "block")
    | dict.fromkeys(("capability.missing", "capability.unnamed", "capability.check_failed"), "block")
    | {"passport.expires_soon": "warn"}
)
"""Every reason that a verdict may have, and the decision it leads to."""
_EXPLANATIONS: Final = {
    "attested": "The passport was checked, and each capability that the action required was found.",
    "passport": "The passport of the agent was missing, expired, revoked or refused.",
    "capability": "A capability that the action required was not in the passport.",
    "passport.expires_soon": "The passport was accepted, but its time will have passed before a limit.",
}
_Asked = Callable[[ProposedAction], Iterable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassportVerdict:
    """Whether whoever acts may do so."""

    decision: str
    findings: tuple[Finding, ...]
    passport: Passport | None
    """None where it was refused."""
    missing: tuple[str, ...]
    """Capabilities that the action needs and the passport does not grant."""
    safety_event: SafetyEvent

    @property
    def allowed(self) -> bool:
        """Whether it may go on."""
        return self.decision in ("allow", "warn")

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason once."""
        return reasons_of(self.findings)


class AttestationHook:
    """Asks for a passport before anything is done, and holds the action to what it grants.

    Args:
        registry: Whose passports count.
        audience: Who we are: a passport for somebody else is refused.
        requires: The capabilities that tools need, by their names, or a function of the action. A tool that is not
            named needs `tool:` and its name.
        revocations: What was taken back.
        nonces: Where given, a passport and all that is derived from it serve one request, and no other.
        is_required: Whether saying something needs a passport as well as doing something.
        warn_before: Seconds before its end from which on a passport leads to a warning.
        skew: By how many seconds clocks may differ.
        clock: Seconds since 1970.
    """

    hook_id: Final = "attestation.passport"
    hook_scope: Final = "attestation"
    moments: Final[tuple[Moment, ...]] = ("request", "action")

    def __init__(  # noqa: PLR0913 - each is documented, and has a default where there is a safe one
        self,
        registry: IssuerRegistry,
        *,
        audience: str,
        requires: _Asked | Mapping[str, Iterable[str]] | None = None,
        revocations: RevocationList | None = None,
        nonces: NonceStore | None = None,
        is_required: bool = False,
        warn_before: float = 0.0,
        skew: float = 30.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(registry, IssuerRegistry):
            raise ConfigError(f"registry must be an IssuerRegistry, got a {type(registry).__name__}")
        if not is_ref(audience):
            raise ConfigError("audience must be one word of at most 200 ASCII characters that names this deployment")
        for name, given, kind in (("revocations", revocations, RevocationList), ("nonces", nonces, NonceStore)):
            if given is not None and not isinstance(given, kind):
                raise ConfigError(f"{name} must be a {kind.__name__}, got a {type(given).__name__}")
        if not callable(clock) or type(is_required) is not bool:
            raise ConfigError("clock must be a function, and is_required True or False")
        self._reader, self._audience, self._clock = PassportReader(registry), audience, clock
        self._requires = _checked_requires(requires)
        self._revocations, self._nonces = revocations, nonces
        self._is_required = is_required
        self._warn_before = check_number("warn_before", warn_before, 0.0, 1e9)
        self._skew = check_number("skew", skew, 0.0, 3_600.0)
        self.is_quick = (
            clock is time.time
            and not callable(requires)
            and type(revocations) in (type(None), Revocations)
            and type(nonces) in (type(None), Nonces)
        )
        """Whether it asks nobody, so that no thread need wait for it."""

    def examine(self, occasion: Occasion) -> PassportVerdict | None:
        """Return whether the passport of an occasion covers its action; None where it has neither."""
        if not self._is_required and not occasion.passport and occasion.action is None:
            return None
        started = time.perf_counter()
        findings, passport = self._of_passport(occasion)
        missing: tuple[str, ...] = ()
        if occasion.action is not None:
            word, missing = self._of_action(occasion.action, passport)
            findings += [_finding(word)] if word else []
            findings += [_finding("capability.missing", ref_of("", each)) for each in missing]
        if passport is not None and self._nonces is not None and all(each.decision == "warn" for each in findings):
            findings += self._used(passport, occasion)
        return self._verdict(findings, passport, missing, occasion, started)

    def judge(
        self,
        passport: str,
        *,
        action: ProposedAction | None = None,
        sender: str = "",
        tenant_id: str = "",
        request_id: str = "",
    ) -> PassportVerdict:
        """Judge a passport, and whether it covers an action."""
        occasion = Occasion(passport=passport, action=action, sender=sender, tenant_id=tenant_id, request_id=request_id)
        started = time.perf_counter()
        found = self.examine(occasion)
        return found or self._verdict([_finding("passport.missing")], None, (), occasion, started)

    def _of_passport(self, occasion: Occasion) -> tuple[list[Finding], Passport | None]:
        """Return all that speaks against a passport, and what it says where its signature counts."""
        try:
            passport, issuer, key = self._reader.read(occasion.passport)
        except StatementRefused as refused:
            return [_finding(f"passport.{refused.reason}")], None
        words = []
        now = read_time(self._clock)
        chain = passport.chain()
        if now is None:
            words.append("clock_failed")
        else:
            words += [validity_problem(now, each.not_before, each.expires_at, self._skew) for each in chain]
            of_key = validity_problem(now, key.not_before, key.expires_at, self._skew)
            words.append(of_key and f"key_{of_key}")
            words.append(self._revoked(chain, now))
            if self._warn_before and passport.expires_at - now < self._warn_before:
                words.append("expires_soon")
        if any(self._audience not in each.audience for each in chain):
            words.append("other_audience")
        if any(each.tenant_id not in ("", occasion.tenant_id) for each in chain):
            words.append("other_tenant")
        if occasion.sender and occasion.sender != passport.subject:
            words.append("other_agent")
        if not all(map(issuer.grants.covers, chain[-1].capabilities)):
            words.append("exceeds_issuer")
        return [_finding(f"passport.{word}") for word in dict.fromkeys(words) if word], passport

    def _revoked(self, chain: tuple[Passport, ...], now: float) -> str:
        if self._revocations is None:
            return ""
        answers = [answer_of(self._revocations.is_revoked, each, now) for each in chain]
        if any(type(answer) is not bool for answer in answers):
            return "revocations_failed"
        return "revoked" if any(answers) else ""

    def _of_action(self, action: ProposedAction, passport: Passport | None) -> tuple[str, tuple[str, ...]]:
        """Return what is wrong with an action's requirements, and those that are not granted."""
        requires = self._requires
        needed: tuple[str, ...]
        if isinstance(requires, Mapping):
            name = str.__str__(action.name)
            needed = requires.get(name, (capability_of_tool(name),))
            if not all(needed):
                return "capability.unnamed", ()
        else:
            answer = answer_of(lambda: checked_capabilities("requires", requires(action), is_pattern=False))
            if not isinstance(answer, tuple) or not answer:
                return "capability.check_failed", ()
            needed = answer
        return "", tuple(each for each in needed if passport is None or not passport.grants.covers(each))

    def _used(self, passport: Passport, occasion: Occasion) -> list[Finding]:
        """Return why a passport that serves one request cannot serve this one."""
        request = occasion.exchange_id or occasion.request_id
        if not request:
            return [_finding("passport.without_request")]
        assert self._nonces is not None  # noqa: S101 - the caller asked
        now = read_time(self._clock)
        if now is None:
            return [_finding("passport.clock_failed")]
        owner, nonce = f"{occasion.tenant_id} {request}", ""
        for each in reversed(passport.chain()):  # whoever shows a derived one shows those above it, too
            nonce = f"{nonce} {each.issuer} {each.passport_id}".lstrip()
            answer = answer_of(self._nonces.claim, nonce, owner, each.expires_at + self._skew, now)
            if answer is not True:
                return [_finding("passport.replayed" if answer is False else "passport.store_failed")]
        return []

    def _verdict(
        self,
        findings: list[Finding],
        passport: Passport | None,
        missing: tuple[str, ...],
        occasion: Occasion,
        started: float,
    ) -> PassportVerdict:
        worst = worst_finding(findings)
        decision, reason = (worst.decision, worst.reason) if worst else ("allow", "attested")
        attributes = count_reasons(findings)
        if passport is not None:
            attributes |= {
                "passport": ref_of("", passport.passport_id),
                "issuer": ref_of("", passport.issuer),
                "subject": ref_of("", passport.subject),
                "chain": str(len(passport.chain())),
            }
        event = event_of(
            self,
            occasion,
            decision,
            f"{reason} findings={len(findings)}" if worst else reason,
            started=started,
            evidence_refs=refs_of(findings),
            tenant_safe_explanation=_EXPLANATIONS.get(reason) or _EXPLANATIONS[reason.partition(".")[0]],
            attributes=attributes,
        )
        is_refused = any(each.reason.startswith("passport.") and each.decision == "block" for each in findings)
        return PassportVerdict(
            decision=decision,
            findings=tuple(findings),
            passport=None if is_refused else passport,
            missing=missing,
            safety_event=event,
        )


def _finding(reason: str, ref: str = "") -> Finding:
    return Finding(reason=reason, decision=REASONS[reason], ref=ref)


def _checked_requires(
    requires: _Asked | Mapping[str, Iterable[str]] | None,
) -> _Asked | Mapping[str, tuple[str, ...]]:
    if requires is None:
        return {}
    if callable(requires):
        return requires
    if not isinstance(requires, Mapping):
        raise ConfigError(f"requires must be a mapping or a function, got a {type(requires).__name__}")
    return {name: checked_capabilities("requires", needed, is_pattern=False) for name, needed in requires.items()}
