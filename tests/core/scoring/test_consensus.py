"""Consensus: the worst rule that applies decides, and nothing that makes things worse makes the decision milder."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from typing import Any, get_args

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from director_ai.core.guard_control import MOST_SIGNALS, GuardDecision, RiskEnvelope, Verdict, VerifierSignal
from director_ai.core.safety_event import POLICY_DECISIONS, validate_safety_event
from director_ai.core.scoring.consensus import CrossVerifierConsensus, redecide
from director_ai.core.tenant_safety import explain
from director_ai.errors import ConfigError, PayloadError, UnknownOption

SECRET = "Jane Doe owes 40 000 francs"
GENERAL = RiskEnvelope("text", "reversible", "general", 0.6, 0.9)
CRITICAL = RiskEnvelope("text", "reversible", "finance", 0.6, 0.9)
PHYSICAL = RiskEnvelope("physical", "reversible", "general", 0.6, 0.9)
IRREVERSIBLE = RiskEnvelope("data", "irreversible", "general", 0.6, 0.9)


def heard(score: float = 0.1, verdict: str = "supported", verifier: str = "nli", **more: Any) -> VerifierSignal:
    return VerifierSignal(verifier, "text", score, verdict, **more)  # type: ignore[arg-type]


def between(low: float, high: float) -> dict[str, float]:
    return {"confidence_low": low, "confidence_high": high}


FAILED = {"failure_mode": "timeout"}


@pytest.mark.parametrize(
    ("signals", "envelope", "settings", "expected"),
    [
        pytest.param([heard()], GENERAL, {}, "allow within_limits risk=0.1000 threshold=0.3000", id="low risk"),
        pytest.param([], GENERAL, {}, "warn no_signals", id="nobody said anything"),
        pytest.param([heard(0.3)], GENERAL, {}, "warn raised_risk risk=0.3000 threshold=0.3000", id="at half the threshold"),
        pytest.param([heard(0.29)], GENERAL, {}, "allow within_limits risk=0.2900 threshold=0.3000", id="just below it"),
        pytest.param([heard(0.2)], GENERAL, {"warn_threshold": 0.2}, "warn raised_risk risk=0.2000 threshold=0.2000", id="a warn threshold of one's own"),
        pytest.param([heard(0.59)], GENERAL, {"warn_threshold": 0.6}, "allow within_limits risk=0.5900 threshold=0.6000", id="no band of warnings"),
        pytest.param([heard(0.0)], GENERAL, {"warn_threshold": 0}, "warn raised_risk risk=0.0000 threshold=0.0000", id="always warn"),
        pytest.param([heard(0.6)], GENERAL, {}, "halt risk_limit risk=0.6000 threshold=0.6000", id="at the calibrated threshold"),
        pytest.param([heard(0.9)], GENERAL, {}, "block no_go_risk risk=0.9000 threshold=0.9000", id="at the no-go threshold"),
        pytest.param([heard(0.1, "contradiction")], GENERAL, {}, "halt contradiction_verdict verifier=nli score=0.1000", id="a contradiction without an interval is a sure one"),
        pytest.param([heard(0.1, "unsafe", **between(0.5, 0.8))], GENERAL, {}, "halt unsafe_verdict verifier=nli score=0.1000", id="an interval of 0.3 is narrow"),
        pytest.param([heard(0.1, "unsafe", **between(0.1, 0.5))], GENERAL, {}, "warn unsure_unsafe verifier=nli score=0.1000 width=0.4000", id="unsafe, not sure"),
        pytest.param([heard(0.1, "contradiction", **between(0.0, 1.0))], GENERAL, {}, "warn unsure_contradiction verifier=nli score=0.1000 width=1.0000", id="a contradiction, not sure"),
        pytest.param([heard(0.1, "contradiction", **between(0.6, 1.0))], GENERAL, {}, "halt contradiction_verdict verifier=nli score=0.1000", id="wide, but all of it beyond the threshold"),
        pytest.param([heard(0.0, "blocked", **between(0.0, 1.0))], GENERAL, {}, "block blocked_verdict verifier=nli score=0.0000", id="blocked needs no confidence"),
        pytest.param([heard(0.0, "unsupported")], GENERAL, {}, "warn unsupported_verdict verifier=nli score=0.0000", id="unsupported"),
        pytest.param([heard(0.0, "uncertain")], GENERAL, {}, "warn uncertain_verdict verifier=nli score=0.0000", id="uncertain"),
        pytest.param([heard(0.95, **FAILED)], GENERAL, {}, "warn verifier_failed verifier=nli mode=timeout failed=1 of=1", id="the score of a failed verifier is none"),
        pytest.param([heard(), heard(0.0, verifier="b", **FAILED)], GENERAL, {}, "warn verifier_failed verifier=b mode=timeout failed=1 of=2", id="a failed one beside a working one"),
        pytest.param([heard(0.0, "contradiction", **FAILED)], GENERAL, {}, "halt contradiction_verdict verifier=nli score=0.0000", id="a bad verdict of a failed one counts"),
        pytest.param([heard(0.0, "blocked", **FAILED)], GENERAL, {}, "block blocked_verdict verifier=nli score=0.0000", id="a block of a failed one counts"),
        pytest.param([heard()], GENERAL, {"required": ["judge", "nli"]}, "warn required_verifier verifier=judge lacking=1 of=2", id="a required one is missing"),
        pytest.param([heard()], CRITICAL, {"required": ["judge"]}, "halt required_verifier verifier=judge lacking=1 of=1", id="missing where it is critical"),
        pytest.param([], CRITICAL, {"required": ["judge"]}, "halt required_verifier verifier=judge lacking=1 of=1", id="nobody there where it is critical"),
        pytest.param([heard(**FAILED)], CRITICAL, {"required": ["nli"]}, "halt required_verifier verifier=nli lacking=1 of=1", id="failed where it is critical"),
        pytest.param([heard(), heard(**FAILED)], CRITICAL, {"required": ["nli"]}, "halt required_verifier verifier=nli lacking=1 of=1", id="failed once, then not"),
        pytest.param([heard()], CRITICAL, {"required": ["nli"]}, "allow within_limits risk=0.1000 threshold=0.3000", id="required and there"),
        pytest.param([heard()], CRITICAL, {"max_interval_width": 0.5}, "warn wide_interval verifier=nli width=1.0000 limit=0.5000", id="no interval is the widest"),
        pytest.param([heard(**between(0.1, 0.3))], CRITICAL, {"max_interval_width": 0.2}, "allow within_limits risk=0.1000 threshold=0.3000", id="as wide as the limit"),
        pytest.param([heard(**between(0.1, 0.31))], CRITICAL, {"max_interval_width": 0.2}, "warn wide_interval verifier=nli width=0.2100 limit=0.2000", id="wider than the limit"),
        pytest.param([heard()], GENERAL, {"max_interval_width": 0.1}, "allow within_limits risk=0.1000 threshold=0.3000", id="width matters only where it is critical"),
        pytest.param([heard(0.1), heard(0.7, verifier="b")], GENERAL, {}, "halt risk_limit risk=0.7000 threshold=0.6000", id="conservative takes the worst"),
        pytest.param([heard(0.1), heard(0.7, verifier="b")], GENERAL, {"mode": "weighted"}, "warn raised_risk risk=0.4000 threshold=0.3000", id="weighted takes the mean"),
        pytest.param([heard(0.1), heard(0.7, verifier="b")], GENERAL, {"mode": "weighted", "weights": {"nli": 3, "x": 9}}, "allow within_limits risk=0.2500 threshold=0.3000", id="with weights"),
        pytest.param([heard(0.1), heard(1.0, verifier="b", **FAILED)], GENERAL, {"mode": "weighted"}, "warn verifier_failed verifier=b mode=timeout failed=1 of=2", id="failures have no mean"),
        pytest.param([heard(0.7), heard(0.0, "unsafe", "b", **between(0, 1))], GENERAL, {"mode": "weighted"}, "halt risk_limit risk=0.7000 threshold=0.6000", id="a bad verdict does not pull the mean down"),
        pytest.param([], PHYSICAL, {}, "block no_go_envelope category=physical domain=general reversibility=reversible", id="physical"),
        pytest.param([heard(0.0)], IRREVERSIBLE, {}, "block no_go_envelope category=data domain=general reversibility=irreversible", id="irreversible"),
        pytest.param([heard(0.0)], dataclasses.replace(IRREVERSIBLE, no_go_rule=False), {}, "allow within_limits risk=0.0000 threshold=0.3000", id="irreversible, with the rule switched off"),
        pytest.param([heard(verifier="org/model:v1#" + "x" * 90, score=0, verdict="uncertain")], GENERAL, {}, f"warn uncertain_verdict verifier=org_model_v1_{'x' * 51} score=0.0000", id="a long name with signs"),
    ],
)  # fmt: skip
def test_the_rules(
    signals: list[VerifierSignal], envelope: RiskEnvelope, settings: dict[str, Any], expected: str
) -> None:
    decision = CrossVerifierConsensus(**settings).decide(signals, envelope, policy_id="policy.1")

    assert f"{decision.decision} {decision.reason}" == expected
    event = decision.to_safety_event(hook_id="guard.consensus", hook_scope="agent")
    assert validate_safety_event(event.to_dict()) == event
    assert event.tenant_safe_explanation != explain(decision.decision, ""), "every rule has an explanation of its own"
    assert redecide(decision) == decision


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"mode": "lenient"}, UnknownOption, "known: conservative, weighted"),
        ({"mode": None}, UnknownOption, "known: conservative, weighted"),
        ({"mode": SECRET}, UnknownOption, "known: conservative, weighted"),
        ({"weights": [1]}, ConfigError, "weights must map verifiers to numbers above 0, got a list"),
        ({"weights": {"nli": 0}}, ConfigError, "a weight must be above 0"),
        ({"weights": {"nli": -1}}, ConfigError, "a weight must be a finite number"),
        ({"weights": {"nli": math.nan}}, ConfigError, "a weight must be a finite number"),
        ({"weights": {"nli": math.inf}}, ConfigError, "a weight must be a finite number"),
        ({"weights": {"nli": True}}, ConfigError, "a weight must be a finite number of at least 0, got a bool"),
        ({"weights": {"nli": "1"}}, ConfigError, "a weight must be a finite number of at least 0, got a str"),
        ({"weights": {SECRET: 1}}, ConfigError, r"weights\[0\] must be an identifier"),
        ({"weights": {3: 1}}, ConfigError, r"weights\[0\] must be an identifier"),
        ({"warn_threshold": math.nan}, ConfigError, "warn_threshold must be a number from 0 to 1"),
        ({"warn_threshold": "0.2"}, ConfigError, "warn_threshold must be a number from 0 to 1"),
        ({"warn_threshold": True}, ConfigError, "warn_threshold must be a number from 0 to 1"),
        ({"max_interval_width": 1.1}, ConfigError, "max_interval_width must be a number from 0 to 1"),
        ({"max_interval_width": False}, ConfigError, "max_interval_width must be a number from 0 to 1"),
        ({"required": "nli"}, ConfigError, "required must be a list or tuple of identifiers, got a str"),
        ({"required": [SECRET]}, ConfigError, r"required\[0\] must be an identifier"),
        ({"required": None}, ConfigError, "required must be a list or tuple of identifiers, got a NoneType"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_right_are_refused(settings: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        CrossVerifierConsensus(**settings)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("signals", "envelope", "message"),
    [
        ([heard(), SECRET], GENERAL, r"signals\[1\] must be a VerifierSignal, got a str"),
        ([heard().to_dict()], GENERAL, r"signals\[0\] must be a VerifierSignal, got a dict"),
        ([None], GENERAL, r"signals\[0\] must be a VerifierSignal, got a NoneType"),
        (heard(), GENERAL, "list or tuple of VerifierSignal, got a VerifierSignal"),
        (None, GENERAL, "list or tuple of VerifierSignal, got a NoneType"),
        ([heard()] * (MOST_SIGNALS + 1), GENERAL, "signals must be at most 1000"),
        ([heard()], None, "envelope must be a RiskEnvelope, got a NoneType"),
        ([heard()], GENERAL.to_dict(), "envelope must be a RiskEnvelope, got a dict"),
    ],
    ids=[
        "text",
        "a record",
        "None",
        "a lone signal",
        "no list",
        "too many",
        "no envelope",
        "the record of an envelope",
    ],
)
def test_what_is_no_signal_and_no_envelope_is_refused(signals: Any, envelope: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        CrossVerifierConsensus().decide(signals, envelope)
    assert SECRET not in str(caught.value)


def test_a_warn_threshold_above_the_calibrated_one_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"at most the envelope's calibrated_threshold, got 0\.7 and 0\.6"):
        CrossVerifierConsensus(warn_threshold=0.7).decide([], GENERAL)


def test_settings_make_the_same_consensus_again_and_cannot_be_changed_from_outside() -> None:
    weights, required = {"nli": 2, "a": 1}, ["nli", "a", "nli"]
    consensus = CrossVerifierConsensus("weighted", weights, 0.1, required, 0.5)
    weights["nli"] = 9
    required.append("b")
    consensus.settings()["required"].append("c")
    assert consensus.settings() == {
        "mode": "weighted",
        "weights": {"a": 1.0, "nli": 2.0},
        "warn_threshold": 0.1,
        "required": ["a", "nli"],
        "max_interval_width": 0.5,
    }
    assert CrossVerifierConsensus(**consensus.settings()).settings() == consensus.settings()
    assert "mode='weighted'" in repr(consensus)


names = st.sampled_from(["a", "b", "c", "d"])
shares = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9, 1.0]) | st.floats(0, 1)
verdicts = st.sampled_from(get_args(Verdict))


@st.composite
def some_signals(draw: st.DrawFn) -> VerifierSignal:
    low, high = sorted((draw(shares), draw(shares))) if draw(st.booleans()) else (None, None)
    failure = draw(st.sampled_from(["", "", "", "timeout"]))
    return VerifierSignal(draw(names), "text", draw(shares), draw(verdicts), low, high, failure_mode=failure)


@st.composite
def envelopes(draw: st.DrawFn) -> RiskEnvelope:
    low, high = sorted((draw(st.floats(0.01, 1)), draw(shares.filter(lambda share: share > 0))))
    domain = draw(st.sampled_from(["general", "finance"]))
    irreversible = draw(st.booleans()) and draw(st.booleans())
    return RiskEnvelope(
        "text", "irreversible" if irreversible else "reversible", domain, low, high, draw(st.booleans())
    )  # type: ignore[arg-type]


@st.composite
def some_settings(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "mode": draw(st.sampled_from(["conservative", "weighted"])),
        "weights": draw(st.dictionaries(names, st.sampled_from([0.1, 1, 3]) | st.floats(5e-324, 1e308), max_size=4)),
        "required": draw(st.lists(names, max_size=2)),
        "max_interval_width": draw(st.none() | shares),
    }


def severity(decision: GuardDecision) -> int:
    return POLICY_DECISIONS.index(decision.decision)


def is_worse(added: VerifierSignal, present: list[VerifierSignal]) -> bool:
    """At least as risky as the worst that works, or a bad verdict, or a failure."""
    scores = [signal.score for signal in present if not signal.failure_mode]
    bad = added.verdict in ("contradiction", "unsafe", "blocked")
    return bad or bool(added.failure_mode) or added.score >= max(scores, default=0.0)


@given(st.lists(some_signals(), min_size=1, max_size=5), some_signals(), envelopes(), some_settings())
@example(
    [heard(0.1, verifier="a")] * 3,
    heard(0.1, verifier="a"),
    RiskEnvelope("text", "reversible", "general", 0.1, 0.10000000000000002),
    {"mode": "weighted"},
)
def test_a_worse_signal_never_makes_the_decision_milder(
    present: list[VerifierSignal], added: VerifierSignal, envelope: RiskEnvelope, settings: dict[str, Any]
) -> None:
    """Unless it is the first word of a required verifier that was missing; the next test shows that case."""
    if not is_worse(added, present):
        worst = max((signal.score for signal in present if not signal.failure_mode), default=0.0)
        added = VerifierSignal(added.verifier, "text", worst, added.verdict)
    heard_of = {signal.verifier for signal in present}
    assume(added.verifier in heard_of or added.verifier not in settings.get("required", ()))
    consensus = CrossVerifierConsensus(**settings)

    before, after = consensus.decide(present, envelope), consensus.decide([*present, added], envelope)

    assert severity(after) >= severity(before), (before.reason, after.reason)
    if before.risk is not None:
        assert after.risk is not None
        assert after.risk >= before.risk


def test_hearing_a_missing_required_verifier_at_last_may_make_it_milder() -> None:
    consensus = CrossVerifierConsensus(required=["judge"])
    assert consensus.decide([heard(0.1)], CRITICAL).decision == "halt"
    assert consensus.decide([heard(0.1), heard(0.2, verifier="judge")], CRITICAL).decision == "allow"


@given(st.lists(some_signals(), max_size=5), envelopes(), some_settings(), st.randoms())
def test_the_order_of_signals_is_no_matter(
    signals: list[VerifierSignal], envelope: RiskEnvelope, settings: dict[str, Any], random: Any
) -> None:
    consensus = CrossVerifierConsensus(**settings)
    mixed = signals.copy()
    random.shuffle(mixed)
    assert consensus.decide(mixed, envelope) == consensus.decide(signals, envelope)


@given(st.lists(some_signals(), max_size=5), envelopes(), some_settings())
def test_risk_is_a_share_or_nothing_and_a_no_go_is_blocked(
    signals: list[VerifierSignal], envelope: RiskEnvelope, settings: dict[str, Any]
) -> None:
    decision = CrossVerifierConsensus(**settings).decide(signals, envelope)
    working = [signal.score for signal in signals if not signal.failure_mode]
    if working:
        assert decision.risk is not None
        assert min(working) <= decision.risk <= max(working)
    else:
        assert decision.risk is None
    if envelope.is_no_go and envelope.no_go_rule:
        assert decision.decision == "block"
    if decision.allowed:
        assert working
        assert all(signal.verdict == "supported" and not signal.failure_mode for signal in signals)
        assert decision.risk < envelope.calibrated_threshold  # type: ignore[operator]
        assert set(settings["required"]) <= {signal.verifier for signal in signals}


@given(st.lists(some_signals(), max_size=4), envelopes(), some_settings())
def test_a_decision_is_decided_alike_from_its_record(
    signals: list[VerifierSignal], envelope: RiskEnvelope, settings: dict[str, Any]
) -> None:
    decision = CrossVerifierConsensus(**settings).decide(signals, envelope, policy_id="policy.1")
    assert redecide(GuardDecision.from_dict(json.loads(json.dumps(decision.to_dict())))) == decision


@pytest.mark.parametrize(
    "change",
    [
        {"decision": "allow", "reason": "within_limits risk=0.1000 threshold=0.3000"},
        {"decision": "allow"},
        {"reason": "risk_limit risk=0.6000 threshold=0.6000"},
        {"risk": 0.1},
        {"risk": None},
        {"signals": (heard(0.1),)},
        {"signals": ()},
        {"envelope": RiskEnvelope("text", "reversible", "general", 0.95, 1.0)},
        {"settings": CrossVerifierConsensus("weighted").settings()},
    ],
    ids=["milder in full", "milder", "another reason", "less risk", "no risk", "other signals", "no signals", "a laxer envelope", "laxer settings"],
)  # fmt: skip
def test_a_forged_decision_is_not_what_comes_of_deciding_again(change: dict[str, Any]) -> None:
    signals = [heard(0.7), heard(0.1, verifier="b")]
    honest = CrossVerifierConsensus().decide(signals, GENERAL)
    forged = dataclasses.replace(honest, **change)
    assert redecide(honest) == honest
    assert redecide(forged) != forged


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "missing: max_interval_width, mode, required, warn_threshold, weights"),
        (CrossVerifierConsensus().settings() | {"more": 1}, "missing: none"),
        (CrossVerifierConsensus().settings() | {"mode": "lenient"}, "unknown consensus mode"),
        (CrossVerifierConsensus().settings() | {"warn_threshold": 0.8}, "warn_threshold must be at most"),
        (CrossVerifierConsensus().settings() | {"weights": None, "required": {}}, "required must be a list"),
    ],
    ids=["none", "unknown ones", "an unknown mode", "a threshold too high", "of other types"],
)
def test_settings_of_no_consensus_cannot_be_decided_again(settings: dict[str, Any], message: str) -> None:
    forged = GuardDecision("allow", "within_limits", 0.1, GENERAL, (heard(),), "", settings)
    with pytest.raises(PayloadError, match=message):
        redecide(forged)


def test_only_decisions_can_be_decided_again() -> None:
    with pytest.raises(ConfigError, match="got a dict"):
        redecide({})  # type: ignore[arg-type]


def test_a_thousand_signals_in_every_mode() -> None:
    many = [
        heard(i / 2000, verifier=f"v{i}", evidence_refs=tuple(f"kb://{i}-{j}" for j in range(20)))
        for i in range(MOST_SIGNALS)
    ]
    weights = {f"v{i}": 10.0 ** (i % 600 - 300) for i in range(MOST_SIGNALS)}
    for mode, given_weights in itertools.product(("conservative", "weighted"), (None, weights)):
        decision = CrossVerifierConsensus(mode, given_weights).decide(many, GENERAL)  # type: ignore[arg-type]
        assert decision.risk is not None
        assert len(decision.evidence_refs) == 20 * MOST_SIGNALS
