"""Envelopes, signals and decisions: closed words, figures in range, and nothing that could be text."""

from __future__ import annotations

import copy
import json
import math
import pickle
from decimal import Decimal
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core import guard_control
from director_ai.core.guard_control import MOST_REFS, MOST_SIGNALS, GuardDecision, RiskEnvelope, VerifierSignal
from director_ai.core.safety_event import HOOK_SCOPES, validate_safety_event
from director_ai.errors import ConfigError, DirectorError, PayloadError, UnknownOption

SECRET = "Jane Doe owes 40 000 francs"
ENVELOPE = RiskEnvelope("text", "reversible", "regulated", 0.65, 0.9)
PHYSICAL = RiskEnvelope("physical", "reversible", "general", 0.65, 0.9)
SIGNAL = VerifierSignal("nli", "text", 0.08, "supported", 0.03, 0.14, ("kb://fact-1",))


class Changeling(str):
    """A string that shows another face to whoever formats, compares or iterates over it."""

    def __str__(self) -> str:
        return SECRET

    def __repr__(self) -> str:
        return SECRET

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("text")


class Liar:
    """An object that claims to be a string."""

    @property
    def __class__(self) -> type:
        return str


def envelope(**changes: Any) -> RiskEnvelope:
    given = {
        "action_category": "text",
        "reversibility": "reversible",
        "domain": "general",
        "calibrated_threshold": 0.65,
        "no_go_threshold": 0.9,
    }
    return RiskEnvelope(**given | changes)


def signal(**changes: Any) -> VerifierSignal:
    return VerifierSignal(**{"verifier": "nli", "modality": "text", "score": 0.1, "verdict": "supported"} | changes)


def decision(**changes: Any) -> GuardDecision:
    given = {
        "decision": "allow",
        "reason": "within_limits risk=0.08",
        "risk": 0.08,
        "envelope": ENVELOPE,
        "signals": (SIGNAL,),
    }
    return GuardDecision(**given | changes)


NOT_SHARES = {
    "NaN": math.nan,
    "infinity": math.inf,
    "below 0": -0.1,
    "above 1": 1.1,
    "a bool": True,
    "a string": "0.5",
    "complex": 1j,
    "an array": np.array([0.5]),
    "bytes": b"0.5",
    "a claim to be a string": Liar(),
}
NOT_WORDS = {
    "text": SECRET,
    "blank": " ",
    "a number": 3,
    "a line break": "a\nb",
    "too long": "a" * 201,
    "a lie": Liar(),
}


@pytest.mark.parametrize("value", NOT_SHARES.values(), ids=NOT_SHARES)
@pytest.mark.parametrize("name", ["calibrated_threshold", "no_go_threshold"])
def test_a_threshold_that_is_no_share_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{name} must be a number from 0 to 1, got "):
        envelope(**{name: value})


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.5), (0.6, 0.5), (0.0, 0.0)])
def test_thresholds_in_the_wrong_order_are_refused(low: float, high: float) -> None:
    with pytest.raises(ConfigError, match="above 0 and at most no_go_threshold"):
        envelope(calibrated_threshold=low, no_go_threshold=high)


@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_the_no_go_rule_is_switched_by_a_bool_alone(value: object) -> None:
    with pytest.raises(ConfigError, match="no_go_rule must be True or False"):
        envelope(no_go_rule=value)


@pytest.mark.parametrize("value", ["", "Text", " text", SECRET, Changeling(SECRET), None, 3, ["text"], Liar()], ids=lambda value: type(value).__name__)  # fmt: skip
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (envelope, "action_category"),
        (envelope, "reversibility"),
        (envelope, "domain"),
        (signal, "modality"),
        (signal, "verdict"),
        (decision, "decision"),
    ],
)
def test_a_word_outside_its_closed_list_is_refused_with_the_list(make: Any, name: str, value: object) -> None:
    with pytest.raises(UnknownOption, match="known: ") as caught:
        make(**{name: value})
    assert SECRET not in str(caught.value)


def test_a_misspelt_word_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(UnknownOption, match="did you mean 'irreversible'"):
        envelope(reversibility="irreversable")


@pytest.mark.parametrize(
    ("changes", "no_go", "critical"),
    [
        ({}, False, False),
        ({"domain": "creative"}, False, False),
        ({"reversibility": "recoverable"}, False, False),
        ({"domain": "regulated"}, False, True),
        ({"domain": "medical"}, False, True),
        ({"domain": "finance"}, False, True),
        ({"domain": "legal"}, False, True),
        ({"domain": "security"}, False, True),
        ({"domain": "physical"}, True, True),
        ({"action_category": "physical"}, True, True),
        ({"reversibility": "irreversible"}, True, True),
        ({"reversibility": "irreversible", "no_go_rule": False}, True, True),
    ],
    ids=str,
)
def test_which_envelopes_are_no_go_and_which_critical(changes: dict[str, Any], no_go: bool, critical: bool) -> None:
    made = envelope(**changes)
    assert (made.is_no_go, made.is_critical) == (no_go, critical)


@pytest.mark.parametrize("value", NOT_SHARES.values(), ids=NOT_SHARES)
def test_a_score_that_is_no_share_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r"^score must be a number from 0 to 1, got "):
        signal(score=value)
    with pytest.raises(ConfigError, match=r"^confidence_high must be"):
        signal(confidence_low=0.1, confidence_high=value)


@pytest.mark.parametrize("value", [0, 1, np.float32(0.5), np.int64(1)], ids=lambda value: type(value).__name__)
def test_figures_of_other_number_types_become_floats(value: object) -> None:
    made = signal(score=value)
    assert (type(made.score), made.score) == (float, float(value))  # type: ignore[arg-type]


def test_a_decimal_is_no_real_number() -> None:
    with pytest.raises(ConfigError, match="got a Decimal"):
        signal(score=Decimal("0.5"))


def test_minus_zero_is_zero_in_a_record() -> None:
    assert math.copysign(1, signal(score=-0.0).score) == 1


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (0.1, None, "both or not at all"),
        (None, 0.1, "both or not at all"),
        (0.3, 0.2, "confidence_low must be at most confidence_high, got 0.3 and 0.2"),
    ],
)
def test_an_interval_has_two_ends_in_order(low: float | None, high: float | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        signal(confidence_low=low, confidence_high=high)


@pytest.mark.parametrize("value", NOT_WORDS.values(), ids=NOT_WORDS)
@pytest.mark.parametrize("name", ["verifier", "failure_mode"])
def test_names_that_could_be_text_are_refused_unrepeated(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{name} must be one word") as caught:
        signal(**{name: value})
    assert SECRET not in str(caught.value)


def test_a_verifier_has_a_name() -> None:
    with pytest.raises(ConfigError, match="verifier must be one word"):
        signal(verifier="")


@pytest.mark.parametrize(
    "refs",
    [
        "kb://1",
        b"kb",
        None,
        {"kb://1"},
        {"kb://1": 1},
        (SECRET,),
        ["kb://1", SECRET],
        ("",),
        (None,),
        (Liar(),),
        ("a",) * (MOST_REFS + 1),
    ],
    ids=["a string", "bytes", "None", "a set", "a mapping", "text", "text behind a ref", "empty", "None within", "a lie", "too many"],
)  # fmt: skip
def test_evidence_is_cited_by_identifiers_alone(refs: Any) -> None:
    with pytest.raises(ConfigError, match=r"^evidence_refs.* must ") as caught:
        signal(evidence_refs=refs)
    assert SECRET not in str(caught.value)


def test_containers_and_strings_are_copied_to_plain_ones() -> None:
    refs = [Changeling("kb://1")]
    made = signal(verifier=Changeling("nli"), modality=Changeling("text"), evidence_refs=refs)
    refs.append(Changeling("kb://2"))
    assert made.to_dict()["evidence_refs"] == ["kb://1"]
    for value in (made.verifier, made.modality, *made.evidence_refs):
        assert type(value) is str
    assert SECRET not in repr(made)


def test_a_list_that_iterates_over_something_else_is_read_as_what_it_holds() -> None:
    class Endless(list[str]):
        def __iter__(self) -> Any:
            while True:
                yield SECRET

    assert signal(evidence_refs=Endless(["kb://1"])).evidence_refs == ("kb://1",)


def test_values_are_frozen_and_travel() -> None:
    for value, name in ((ENVELOPE, "domain"), (SIGNAL, "score"), (decision(), "decision")):
        with pytest.raises(AttributeError, match="cannot assign"):
            setattr(value, name, getattr(value, name))
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
        assert hash(value) == hash(copy.deepcopy(value))


words = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._:/-]{0,20}", fullmatch=True)
shares = st.floats(0, 1)


@st.composite
def signals(draw: st.DrawFn) -> VerifierSignal:
    low, high = sorted((draw(shares), draw(shares))) if draw(st.booleans()) else (None, None)
    return VerifierSignal(
        draw(words),
        draw(st.sampled_from(get_args(guard_control.Modality))),
        draw(shares),
        draw(st.sampled_from(get_args(guard_control.Verdict))),
        low,
        high,
        draw(st.lists(words, max_size=3)),  # type: ignore[arg-type]  # copied to a tuple
        draw(st.just("") | words),
    )


@st.composite
def envelopes(draw: st.DrawFn) -> RiskEnvelope:
    low, high = sorted((draw(st.floats(0.01, 1)), draw(st.floats(0.01, 1))))
    kinds = (guard_control.ActionCategory, guard_control.Reversibility, guard_control.Domain)
    return RiskEnvelope(*(draw(st.sampled_from(get_args(kind))) for kind in kinds), low, high, draw(st.booleans()))


@given(envelopes(), st.lists(signals(), max_size=4), st.none() | shares)
def test_what_was_written_as_json_is_read_as_the_same(
    at_risk: RiskEnvelope, heard: list[VerifierSignal], risk: float | None
) -> None:
    settings = {"mode": "weighted", "weights": {"nli": 2.0}, "warn_threshold": None, "required": ["nli"], "x": True}
    made = GuardDecision("block", "some_rule n=1", risk, at_risk, tuple(heard), "policy.1", settings)
    assert GuardDecision.from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False))) == made
    assert set(made.evidence_refs) == {ref for one in heard for ref in one.evidence_refs}
    assert len(set(made.evidence_refs)) == len(made.evidence_refs)


@pytest.mark.parametrize("value", [ENVELOPE, SIGNAL, decision()], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda payload: payload | {SECRET: 1}, "1 unknown, missing: none"),
        (lambda payload: dict(list(payload.items())[1:]), "0 unknown, missing: "),
        (lambda payload: dict.fromkeys(payload, SECRET), "."),
        (dict.fromkeys, "."),
        (list, "is a JSON object, got a list"),
        (lambda payload: None, "is a JSON object, got a NoneType"),
    ],
    ids=["an unknown key", "a missing key", "text everywhere", "null everywhere", "a list", "null"],
)
def test_a_record_that_is_not_one_is_refused_unrepeated(value: Any, change: Any, message: str) -> None:
    with pytest.raises(PayloadError, match=message) as caught:
        type(value).from_dict(change(value.to_dict()))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("signals", [None, "x", {}, [SIGNAL.to_dict()] * (MOST_SIGNALS + 1), [None], [SECRET]], ids=["none", "a string", "a mapping", "too many", "null within", "text within"])  # fmt: skip
def test_a_record_of_a_decision_holds_a_list_of_signals(signals: Any) -> None:
    with pytest.raises(PayloadError, match="signal"):
        GuardDecision.from_dict(decision().to_dict() | {"signals": signals})


class Milder(VerifierSignal):
    """A subclass, which could answer differently each time."""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reason": SECRET}, "machine-readable word"),
        ({"reason": ""}, "machine-readable word"),
        ({"reason": None}, "machine-readable word"),
        ({"risk": math.nan}, "risk must be a number from 0 to 1"),
        ({"risk": True}, "risk must be a number from 0 to 1"),
        ({"envelope": None}, "envelope must be a RiskEnvelope, got a NoneType"),
        ({"signals": [3]}, r"signals\[0\] must be a VerifierSignal, got a int"),
        ({"signals": [Milder("nli", "text", 0.1, "supported")]}, "got a Milder"),
        ({"signals": "nli"}, "list or tuple of VerifierSignal, got a str"),
        ({"signals": [SIGNAL] * (MOST_SIGNALS + 1)}, "at most 1000"),
        ({"policy_id": SECRET}, "policy_id must be empty or"),
        ({"settings": [1]}, "settings must be a mapping, got a list"),
        ({"settings": {SECRET: 1}}, "a name in settings must be one word"),
        ({"settings": {"mode": SECRET}}, "a setting must be one word"),
        ({"settings": {"weights": {SECRET: 1}}}, "a name in settings must be one word"),
        ({"settings": {"weights": {"nli": math.nan}}}, "a figure in settings"),
        ({"settings": {"required": [SECRET]}}, "a list in settings"),
        ({"settings": {"x": object()}}, "a figure in settings"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_decision_that_cannot_be_recorded_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        decision(**changes)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("word", ["allow", "warn", "halt"])
def test_what_is_no_go_is_decided_block_unless_the_rule_was_switched_off(word: str) -> None:
    with pytest.raises(ConfigError, match="decided 'block', unless no_go_rule=False"):
        decision(decision=word, envelope=PHYSICAL)
    free = envelope(action_category="physical", no_go_rule=False)
    assert decision(decision=word, envelope=free).decision == word
    assert decision(decision="block", envelope=PHYSICAL).decision == "block"


def test_only_allow_is_allowed() -> None:
    assert [decision(decision=word).allowed for word in ("allow", "warn", "halt", "block")] == [
        True,
        False,
        False,
        False,
    ]


def test_changing_what_a_decision_was_made_from_does_not_change_it() -> None:
    settings = {"weights": {"nli": 2.0}, "required": ["nli"]}
    made = decision(settings=settings)
    settings["weights"]["nli"] = 9.0  # type: ignore[call-overload,index]
    settings["required"].append("x")  # type: ignore[union-attr,attr-defined]
    made.to_dict()["settings"]["required"].append("y")
    assert made.settings == {"weights": {"nli": 2.0}, "required": ["nli"]}


@pytest.mark.parametrize("scope", HOOK_SCOPES)
@pytest.mark.parametrize("word", ["allow", "warn", "halt", "block"])
def test_a_decision_becomes_an_event_that_validates(word: str, scope: str) -> None:
    made = decision(decision=word, policy_id="policy.1", settings={"mode": "weighted"})
    event = made.to_safety_event(
        hook_id="guard.consensus", hook_scope=scope, request_id="r-1", tenant_id="acme", latency_ms=2
    )
    assert validate_safety_event(event.to_dict()) == event
    assert (event.policy_decision, event.halt_reason, event.observed_score) == (word, made.reason, 0.08)
    assert event.threshold == (0.9 if word == "block" else 0.65)
    assert (event.request_id, event.tenant_id, event.latency_ms) == ("r-1", "acme", 2.0)
    assert event.evidence_refs == ("kb://fact-1",)
    assert event.attributes["policy"] == "policy.1"
    assert event.attributes["mode"] == "weighted"
    assert event.tenant_safe_explanation


@pytest.mark.parametrize(
    "given",
    [{"hook_id": SECRET}, {"hook_id": ""}, {"hook_scope": "elsewhere"}, {"request_id": SECRET}, {"tenant_id": SECRET}, {"latency_ms": -1}],
    ids=["text as hook", "no hook", "an unknown scope", "text as request", "text as tenant", "a negative time"],
)  # fmt: skip
def test_an_event_takes_no_text_from_its_caller(given: dict[str, Any]) -> None:
    with pytest.raises(DirectorError) as caught:
        decision().to_safety_event(**{"hook_id": "guard", "hook_scope": "agent"} | given)
    assert SECRET not in str(caught.value)
