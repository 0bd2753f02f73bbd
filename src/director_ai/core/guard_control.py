"""What is at risk, what the verifiers say of it, and what was decided: values that are checked where they are made.

Scores are risk: 0 is harmless, 1 is certainly wrong. A decision keeps all that it was made of, so that anybody who
holds it can decide again and compare. Everything in here may stand in a record: words, identifiers and figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from typing import Any, Final, Literal, Self, TypeVar, get_args

from director_ai.core.identifiers import check_identifier, is_ref
from director_ai.core.ranges import check_number
from director_ai.core.safety_event import POLICY_DECISIONS, PolicyDecision, SafetyEvent, validate_safety_event
from director_ai.core.tenant_safety import is_machine_reason
from director_ai.errors import ConfigError, DirectorError, PayloadError, UnknownOption

__all__ = [
    "MOST_REFS",
    "MOST_SIGNALS",
    "ActionCategory",
    "Domain",
    "GuardDecision",
    "Modality",
    "Reversibility",
    "RiskEnvelope",
    "Verdict",
    "VerifierSignal",
    "check_choice",
    "check_refs",
    "check_signals",
    "items_of",
]

ActionCategory = Literal["text", "tool", "code", "data", "transaction", "physical"]
Reversibility = Literal["reversible", "recoverable", "irreversible"]
Domain = Literal["general", "regulated", "medical", "finance", "legal", "creative", "security", "physical"]
Modality = Literal["text", "json", "tool", "image", "audio", "sensor", "action"]
Verdict = Literal["supported", "contradiction", "unsupported", "uncertain", "unsafe", "blocked"]

MOST_SIGNALS: Final = 1_000
MOST_REFS: Final = 20_000
_CRITICAL: Final = frozenset({"regulated", "medical", "finance", "legal", "security"})
_Built = TypeVar("_Built")


@dataclass(frozen=True, slots=True)
class RiskEnvelope:
    """What kind of action is judged, and from which risk on it is halted or blocked."""

    action_category: ActionCategory
    reversibility: Reversibility
    domain: Domain
    calibrated_threshold: float
    """From this risk on: halt."""
    no_go_threshold: float
    """From this risk on: block."""
    no_go_rule: bool = True
    """Block what is physical or cannot be undone, whatever the verifiers say."""

    def __post_init__(self) -> None:
        _settle(
            self, "action_category", check_choice("action_category", self.action_category, get_args(ActionCategory))
        )
        _settle(self, "reversibility", check_choice("reversibility", self.reversibility, get_args(Reversibility)))
        _settle(self, "domain", check_choice("domain", self.domain, get_args(Domain)))
        for name in ("calibrated_threshold", "no_go_threshold"):
            _settle(self, name, _share(name, getattr(self, name)))
        if not 0.0 < self.calibrated_threshold <= self.no_go_threshold:
            raise ConfigError(
                "calibrated_threshold must be above 0 and at most no_go_threshold, "
                f"got {self.calibrated_threshold:g} and {self.no_go_threshold:g}"
            )
        if type(self.no_go_rule) is not bool:
            raise ConfigError(f"no_go_rule must be True or False, got a {type(self.no_go_rule).__name__}")

    @property
    def is_no_go(self) -> bool:
        """Whether the action is physical or cannot be undone."""
        return "physical" in (self.action_category, self.domain) or self.reversibility == "irreversible"

    @property
    def is_critical(self) -> bool:
        """Whether a decision needs all its required verifiers and narrow intervals."""
        return self.is_no_go or self.domain in _CRITICAL

    def to_dict(self) -> dict[str, Any]:
        """Return the envelope as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Self:
        """Rebuild an envelope from `to_dict`."""
        return _build(cls, _read(cls, "a risk envelope", payload))


@dataclass(frozen=True, slots=True)
class VerifierSignal:
    """What one verifier made of a text or an action."""

    verifier: str
    modality: Modality
    score: float
    """Risk, from 0 to 1."""
    verdict: Verdict
    confidence_low: float | None = None
    """The interval of the score; None where the verifier gives none: it then halts as if it were sure, and is taken
    for the widest where width matters."""
    confidence_high: float | None = None
    evidence_refs: tuple[str, ...] = ()
    failure_mode: str = ""
    """One word if the verifier failed; its score then supports nothing."""

    def __post_init__(self) -> None:
        _settle(self, "verifier", _word("verifier", self.verifier))
        _settle(self, "modality", check_choice("modality", self.modality, get_args(Modality)))
        _settle(self, "score", _share("score", self.score))
        _settle(self, "verdict", check_choice("verdict", self.verdict, get_args(Verdict)))
        _settle(self, "evidence_refs", check_refs("evidence_refs", self.evidence_refs))
        _settle(self, "failure_mode", _word("failure_mode", self.failure_mode, empty=True))
        low, high = self.confidence_low, self.confidence_high
        if (low is None) != (high is None):
            raise ConfigError("confidence_low and confidence_high must be given both or not at all")
        if low is None or high is None:
            return
        low, high = _share("confidence_low", low), _share("confidence_high", high)
        if low > high:
            raise ConfigError(f"confidence_low must be at most confidence_high, got {low:g} and {high:g}")
        _settle(self, "confidence_low", low)
        _settle(self, "confidence_high", high)

    def to_dict(self) -> dict[str, Any]:
        """Return the signal as plain JSON values."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"evidence_refs": list(self.evidence_refs)}

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Self:
        """Rebuild a signal from `to_dict`."""
        return _build(cls, _read(cls, "a verifier signal", payload))


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """What was decided, by which rule, and all that it was decided from."""

    decision: PolicyDecision
    reason: str
    """The rule that decided, as a machine-readable word with figures."""
    risk: float | None
    """None where no verifier gave a usable score."""
    envelope: RiskEnvelope
    signals: tuple[VerifierSignal, ...] = ()
    policy_id: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Of the consensus that decided, as plain values; see `consensus.redecide`."""

    def __post_init__(self) -> None:
        _settle(self, "decision", check_choice("decision", self.decision, POLICY_DECISIONS))
        reason = _plain(self.reason)
        if reason is None or not is_machine_reason(reason):
            raise ConfigError("reason must be a machine-readable word with name=value figures")
        _settle(self, "reason", reason)
        if self.risk is not None:
            _settle(self, "risk", _share("risk", self.risk))
        if type(self.envelope) is not RiskEnvelope:
            raise ConfigError(f"envelope must be a RiskEnvelope, got a {type(self.envelope).__name__}")
        _settle(self, "signals", check_signals(self.signals))
        _settle(self, "policy_id", check_identifier("policy_id", self.policy_id))
        _settle(self, "settings", _plain_settings(self.settings))
        if self.envelope.is_no_go and self.envelope.no_go_rule and self.decision != "block":
            raise ConfigError("what is physical or irreversible is decided 'block', unless no_go_rule=False is given")

    @property
    def allowed(self) -> bool:
        """Whether nothing stands against it; a warning does."""
        return self.decision == "allow"

    @property
    def evidence_refs(self) -> tuple[str, ...]:
        """What the verifiers cited, each once."""
        return tuple(dict.fromkeys(ref for signal in self.signals for ref in signal.evidence_refs))

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain JSON values, with all it was made of."""
        return {
            "decision": self.decision,
            "reason": self.reason,
            "risk": self.risk,
            "envelope": self.envelope.to_dict(),
            "signals": [signal.to_dict() for signal in self.signals],
            "policy_id": self.policy_id,
            "settings": _plain_settings(self.settings),
        }

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Self:
        """Rebuild a decision from `to_dict`; whether it is the right one, `consensus.redecide` says."""
        values = _read(cls, "a guard decision", payload)
        signals = items_of(values["signals"], MOST_SIGNALS)
        if signals is None or len(signals) > MOST_SIGNALS:
            raise PayloadError(f"signals must be a list of at most {MOST_SIGNALS} objects")
        values["envelope"] = RiskEnvelope.from_dict(values["envelope"])
        values["signals"] = tuple(VerifierSignal.from_dict(signal) for signal in signals)
        return _build(cls, values)

    def to_safety_event(
        self,
        *,
        hook_id: str,
        hook_scope: str,
        request_id: str = "",
        tenant_id: str = "",
        latency_ms: float | None = None,
    ) -> SafetyEvent:
        """Record the decision; its threshold is the no-go one where it blocked, else the calibrated one."""
        envelope = self.envelope
        attributes = {
            "policy": self.policy_id,
            "mode": str(self.settings.get("mode", "")),
            "action_category": envelope.action_category,
            "reversibility": envelope.reversibility,
            "domain": envelope.domain,
            "signals": str(len(self.signals)),
        }
        event = SafetyEvent.from_policy_decision(
            self.decision,
            hook_id=hook_id,
            hook_scope=hook_scope,
            halt_reason=self.reason,
            request_id=request_id,
            tenant_id=tenant_id,
            latency_ms=latency_ms,
            threshold=envelope.no_go_threshold if self.decision == "block" else envelope.calibrated_threshold,
            observed_score=self.risk,
            evidence_refs=self.evidence_refs,
            attributes={name: value for name, value in attributes.items() if value},
        )
        return validate_safety_event(event.to_dict())


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return one of a closed list of words as a plain string, or refuse it."""
    plain = _plain(value)
    if plain is None or plain not in choices:
        raise UnknownOption(name, plain if isinstance(value, str) else value, choices)
    return plain


def check_refs(name: str, values: object, error: type[DirectorError] = ConfigError) -> tuple[str, ...]:
    """Return identifiers as a tuple of plain strings, or refuse them without repeating them."""
    items = items_of(values, MOST_REFS)
    if items is None:  # a lone string would pass for a list of one-letter identifiers
        raise error(f"{name} must be a list or tuple of identifiers, got a {type(values).__name__}")
    if len(items) > MOST_REFS:
        raise error(f"{name} must hold at most {MOST_REFS} identifiers")
    refs = [ref for ref in map(_plain, items) if ref is not None and is_ref(ref)]
    if len(refs) < len(items):
        wrong = next(place for place, item in enumerate(items) if not is_ref(_plain(item)))
        raise error(f"{name}[{wrong}] must be an identifier of 1 to 200 ASCII characters without spaces, not text")
    return tuple(refs)


def check_signals(signals: object) -> tuple[VerifierSignal, ...]:
    """Return signals as a tuple, or refuse what is none."""
    items = items_of(signals, MOST_SIGNALS)
    if items is None:
        raise ConfigError(f"signals must be a list or tuple of VerifierSignal, got a {type(signals).__name__}")
    if len(items) > MOST_SIGNALS:
        raise ConfigError(f"signals must be at most {MOST_SIGNALS}")
    for place, signal in enumerate(items):
        if type(signal) is not VerifierSignal:  # a subclass may answer differently the next time it is asked
            raise ConfigError(f"signals[{place}] must be a VerifierSignal, got a {type(signal).__name__}")
    return items


def items_of(values: object, most: int) -> tuple[Any, ...] | None:
    """Return a copy of a list or tuple, cut behind one more than `most`, or None for anything else."""
    for kind in (list, tuple):
        if issubclass(type(values), kind):  # read as what it is: a subclass may iterate over anything
            return tuple(islice(kind.__iter__(values), most + 1))  # type: ignore[arg-type]  # the line above checked it
    return None


def _settle(owner: object, name: str, value: object) -> None:
    object.__setattr__(owner, name, value)


def _plain(value: object) -> str | None:
    """A plain copy of a string, or None: a subclass may answer differently the next time it is asked."""
    return str.__str__(value) if issubclass(type(value), str) else None


def _word(name: str, value: object, *, empty: bool = False) -> str:
    plain = _plain(value)
    if plain is None or not (is_ref(plain) or (empty and not plain)):
        raise ConfigError(f"{name} must be one word of 1 to 200 ASCII characters" + (", or empty" if empty else ""))
    return plain


def _share(name: str, value: object) -> float:
    return check_number(name, value) + 0.0  # minus zero would be another figure in a digest


def _plain_settings(settings: object) -> dict[str, Any]:
    """A copy made of plain values that may stand in a record: words, figures, lists and mappings of them."""
    if not isinstance(settings, Mapping):
        raise ConfigError(f"settings must be a mapping, got a {type(settings).__name__}")
    return {_word("a name in settings", name): _plain_setting(value) for name, value in settings.items()}


def _plain_setting(value: object) -> Any:
    if value is None or type(value) is bool:
        return value
    if isinstance(value, list | tuple):
        return list(check_refs("a list in settings", value))
    if isinstance(value, Mapping):
        return {
            _word("a name in settings", name): check_number("a figure in settings", figure, 0.0, float("inf"))
            for name, figure in value.items()
        }
    word = _plain(value)
    return check_number("a figure in settings", value, 0.0, float("inf")) if word is None else _word("a setting", word)


def _read(cls: type, what: str, payload: object) -> dict[str, Any]:
    """Return the values of a record that has the keys of a class, no more and no less."""
    if not isinstance(payload, Mapping):
        raise PayloadError(f"{what} is a JSON object, got a {type(payload).__name__}")
    names = {f.name for f in fields(cls)}
    if set(payload) != names:
        missing = ", ".join(sorted(names - set(payload))) or "none"
        raise PayloadError(
            f"{what} has exactly {len(names)} keys; {len(set(payload) - names)} unknown, missing: {missing}"
        )
    return dict(payload)


def _build(cls: type[_Built], values: dict[str, Any]) -> _Built:
    try:
        return cls(**values)
    except ConfigError as error:
        raise PayloadError(str(error)) from None
