"""One decision out of what several verifiers say.

Every rule that applies is found, and the worst of them decides:

    block   the envelope is a no-go; a verdict of `blocked`; risk at or above the no-go threshold
    halt    a confident contradiction or unsafe verdict; risk at or above the calibrated threshold;
            a required verifier is missing or failed, where the envelope is critical
    warn    the same verdicts without confidence; `unsupported`, `uncertain`; a verifier that failed; a required one
            missing elsewhere; an interval too wide where the envelope is critical; risk at or above the warn
            threshold; no signals
    allow   none of these
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from director_ai.core.guard_control import (
    GuardDecision,
    RiskEnvelope,
    VerifierSignal,
    check_choice,
    check_refs,
    check_signals,
)
from director_ai.core.ranges import check_number
from director_ai.core.safety_event import POLICY_DECISIONS
from director_ai.errors import ConfigError, PayloadError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from director_ai.core.safety_event import PolicyDecision

__all__ = ["ConsensusMode", "CrossVerifierConsensus", "redecide"]

ConsensusMode = Literal["conservative", "weighted"]

SURE_WIDTH: Final = 0.3
"""An interval this narrow is a confident one."""
_BAD: Final = ("contradiction", "unsafe", "blocked")
_DOUBTFUL: Final = ("unsupported", "uncertain")
_NOT_A_FIGURE: Final = re.compile(r"[^A-Za-z0-9_.+-]")


class _Finding(NamedTuple):
    """A rule that applies, and what it asks for."""

    decision: PolicyDecision
    reason: str


class CrossVerifierConsensus:
    """Turns signals into a decision; holds settings alone, so one may serve any number of callers.

    `conservative` takes the worst score. `weighted` takes the weighted mean (a verifier without a weight has 1), in
    which a bad verdict counts with the worst score present: a low figure beside it does not soften the outcome.
    `warn_threshold` is half the envelope's calibrated threshold unless given. `max_interval_width` applies to critical
    envelopes.
    """

    __slots__ = ("_max_interval_width", "_mode", "_required", "_warn_threshold", "_weights")

    def __init__(
        self,
        mode: ConsensusMode = "conservative",
        weights: Mapping[str, float] | None = None,
        warn_threshold: float | None = None,
        required: Sequence[str] = (),
        max_interval_width: float | None = None,
    ) -> None:
        self._mode = check_choice("consensus mode", mode, get_args(ConsensusMode))
        self._weights = _checked_weights({} if weights is None else weights)
        self._required = tuple(sorted(set(check_refs("required", required))))
        self._warn_threshold = None if warn_threshold is None else check_number("warn_threshold", warn_threshold) + 0.0
        width = max_interval_width
        self._max_interval_width = None if width is None else check_number("max_interval_width", width) + 0.0

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"CrossVerifierConsensus({given})"

    def settings(self) -> dict[str, Any]:
        """Return what the consensus was made with, as plain values that make the same one again."""
        return {
            "mode": self._mode,
            "weights": dict(self._weights),
            "warn_threshold": self._warn_threshold,
            "required": list(self._required),
            "max_interval_width": self._max_interval_width,
        }

    def warn_threshold_for(self, envelope: RiskEnvelope) -> float:
        """Return the risk from which on an envelope is warned about; refuse one above its calibrated threshold."""
        if type(envelope) is not RiskEnvelope:
            raise ConfigError(f"envelope must be a RiskEnvelope, got a {type(envelope).__name__}")
        if self._warn_threshold is None:
            return envelope.calibrated_threshold / 2
        if self._warn_threshold > envelope.calibrated_threshold:
            raise ConfigError(
                f"warn_threshold must be at most the envelope's calibrated_threshold, "
                f"got {self._warn_threshold:g} and {envelope.calibrated_threshold:g}"
            )
        return self._warn_threshold

    def decide(
        self, signals: Sequence[VerifierSignal], envelope: RiskEnvelope, *, policy_id: str = ""
    ) -> GuardDecision:
        """Return the worst of what the rules ask for, with all it was made of; the order of signals is no matter."""
        ordered = tuple(sorted(check_signals(signals), key=_order))
        warn_at = self.warn_threshold_for(envelope)
        risk = self._risk([signal for signal in ordered if not signal.failure_mode])
        findings = [
            *_envelope_findings(envelope),
            *(_verdict_finding(signal, envelope) for signal in ordered if signal.verdict != "supported"),
            *_risk_findings(risk, envelope, warn_at),
            *self._required_findings(ordered, envelope),
            *_failure_findings(ordered),
            *self._width_findings(ordered, envelope),
        ]
        if not ordered:
            findings.append(_Finding("warn", "no_signals"))
        allow = _Finding("allow", _reason("within_limits", risk=risk, threshold=warn_at))
        worst = max([*findings, allow], key=lambda finding: POLICY_DECISIONS.index(finding.decision))
        return GuardDecision(worst.decision, worst.reason, risk, envelope, ordered, policy_id, self.settings())

    def _risk(self, working: list[VerifierSignal]) -> float | None:
        """The worst score or the weighted mean; exact in between, so that equal scores have themselves as mean."""
        if not working:
            return None
        worst = max(signal.score for signal in working)
        if self._mode == "conservative":
            return worst
        total = weight_sum = Fraction(0)
        for signal in working:
            weight = Fraction(self._weights.get(signal.verifier, 1.0))
            total += weight * Fraction(worst if signal.verdict in _BAD else signal.score)
            weight_sum += weight
        return float(total / weight_sum)

    def _required_findings(self, signals: tuple[VerifierSignal, ...], envelope: RiskEnvelope) -> Iterator[_Finding]:
        """A required verifier that has any failed signal counts as failed: another try does not undo it."""
        failed = {signal.verifier for signal in signals if signal.failure_mode}
        working = {signal.verifier for signal in signals} - failed
        lacking = [name for name in self._required if name not in working]
        if lacking:
            reason = _reason("required_verifier", verifier=lacking[0], lacking=len(lacking), of=len(self._required))
            yield _Finding("halt" if envelope.is_critical else "warn", reason)

    def _width_findings(self, signals: tuple[VerifierSignal, ...], envelope: RiskEnvelope) -> Iterator[_Finding]:
        limit = self._max_interval_width
        if limit is None or not envelope.is_critical:
            return
        for signal in signals:
            if (width := _width(signal)) > limit:
                yield _Finding("warn", _reason("wide_interval", verifier=signal.verifier, width=width, limit=limit))


def redecide(decision: GuardDecision) -> GuardDecision:
    """Decide again from what a decision says it was made of; one that differs from the outcome was forged."""
    if type(decision) is not GuardDecision:
        raise ConfigError(f"only a GuardDecision can be decided again, got a {type(decision).__name__}")
    names = set(CrossVerifierConsensus().settings())
    if set(decision.settings) != names:
        missing = ", ".join(sorted(names - set(decision.settings))) or "none"
        raise PayloadError(f"the settings of a decision must be those of a consensus; missing: {missing}")
    try:
        consensus = CrossVerifierConsensus(**decision.settings)
        return consensus.decide(decision.signals, decision.envelope, policy_id=decision.policy_id)
    except ConfigError as error:
        raise PayloadError(f"the settings of a decision must be those of a consensus: {error}") from None


def _envelope_findings(envelope: RiskEnvelope) -> Iterator[_Finding]:
    if envelope.is_no_go and envelope.no_go_rule:
        figures = {
            "category": envelope.action_category,
            "domain": envelope.domain,
            "reversibility": envelope.reversibility,
        }
        yield _Finding("block", _reason("no_go_envelope", **figures))


def _verdict_finding(signal: VerifierSignal, envelope: RiskEnvelope) -> _Finding:
    """What a verdict other than `supported` asks for; that its verifier failed makes it no milder."""
    figures: dict[str, float | str] = {"verifier": signal.verifier, "score": signal.score}
    if signal.verdict == "blocked":
        return _Finding("block", _reason("blocked_verdict", **figures))
    if signal.verdict in _DOUBTFUL:
        return _Finding("warn", _reason(f"{signal.verdict}_verdict", **figures))
    if _is_confident(signal, envelope):
        return _Finding("halt", _reason(f"{signal.verdict}_verdict", **figures))
    return _Finding("warn", _reason(f"unsure_{signal.verdict}", **figures, width=_width(signal)))


def _risk_findings(risk: float | None, envelope: RiskEnvelope, warn_at: float) -> Iterator[_Finding]:
    if risk is None:
        return
    if risk >= envelope.no_go_threshold:
        yield _Finding("block", _reason("no_go_risk", risk=risk, threshold=envelope.no_go_threshold))
    elif risk >= envelope.calibrated_threshold:
        yield _Finding("halt", _reason("risk_limit", risk=risk, threshold=envelope.calibrated_threshold))
    elif risk >= warn_at:
        yield _Finding("warn", _reason("raised_risk", risk=risk, threshold=warn_at))


def _failure_findings(signals: tuple[VerifierSignal, ...]) -> Iterator[_Finding]:
    failed = [signal for signal in signals if signal.failure_mode]
    if failed:
        figures = {"verifier": failed[0].verifier, "mode": failed[0].failure_mode}
        yield _Finding("warn", _reason("verifier_failed", **figures, failed=len(failed), of=len(signals)))


def _is_confident(signal: VerifierSignal, envelope: RiskEnvelope) -> bool:
    """Without an interval a verifier is taken to be sure: its bad verdict then halts."""
    low = signal.confidence_low
    return low is None or _width(signal) <= SURE_WIDTH or low >= envelope.calibrated_threshold


def _width(signal: VerifierSignal) -> float:
    if signal.confidence_low is None or signal.confidence_high is None:
        return 1.0
    return round(signal.confidence_high - signal.confidence_low, 9)  # 0.8 - 0.5 is a hair more than 0.3


def _order(signal: VerifierSignal) -> tuple[object, ...]:
    low, high = signal.confidence_low, signal.confidence_high
    interval = (-1.0, -1.0) if low is None or high is None else (low, high)
    words = (signal.verifier, signal.modality, signal.verdict, signal.failure_mode)
    return (-signal.score, *words, *interval, signal.evidence_refs)


def _reason(code: str, **figures: float | str | None) -> str:
    """Write a machine-readable reason; figures that are not there are left out."""
    shown = [f"{name}={_figure(value)}" for name, value in figures.items() if value is not None]
    return " ".join([code, *shown])


def _figure(value: float | str) -> str:
    if isinstance(value, str):
        return _NOT_A_FIGURE.sub("_", value)[:64]
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def _checked_weights(weights: object) -> dict[str, float]:
    if not isinstance(weights, Mapping):
        raise ConfigError(f"weights must map verifiers to numbers above 0, got a {type(weights).__name__}")
    pairs = list(weights.items())
    names = check_refs("weights", [name for name, _ in pairs])
    checked = {}
    for name, (_, weight) in zip(names, pairs, strict=True):
        checked[name] = check_number("a weight", weight, 0.0, float("inf"))
        if checked[name] == 0.0:
            raise ConfigError("a weight must be above 0; leave a verifier's signals out if it is not to count")
    return dict(sorted(checked.items()))
