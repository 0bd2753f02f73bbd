"""SafetyEvent: the one record of a decision that every runtime hook emits, safe to show across tenants."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from director_ai.core.identifiers import (
    REF_PATTERN,
    UTC_PATTERN,
    is_ref,
    is_utc_timestamp,
    new_event_id,
    ref_of,
    utc_now,
)
from director_ai.core.ranges import as_score, check_number
from director_ai.core.tenant_safety import (
    EXPLANATION_LIMIT,
    REASON_PATTERN,
    explain,
    is_machine_reason,
    is_operator_text,
)
from director_ai.core.types import HaltTraceAttribution
from director_ai.errors import PayloadError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.core.types import HaltEvidence

__all__ = [
    "HOOK_SCOPES",
    "POLICY_DECISIONS",
    "SCHEMA_VERSION",
    "HookScope",
    "PolicyDecision",
    "SafetyEvent",
    "safety_event_schema",
    "validate_safety_event",
]

SCHEMA_VERSION: Final = "director.safety_event.v1"

HookScope = Literal[
    "streaming", "containment", "attestation", "ontology", "trajectory", "cyber_physical", "swarm", "agent"
]
PolicyDecision = Literal["allow", "warn", "halt", "block"]

HOOK_SCOPES: Final[tuple[str, ...]] = get_args(HookScope)
POLICY_DECISIONS: Final[tuple[str, ...]] = get_args(PolicyDecision)


@dataclass(frozen=True, slots=True)
class SafetyEvent:
    """A halt or policy decision: identifiers, hashes and figures; never fact text, prompts or generated text."""

    schema_version: str = SCHEMA_VERSION
    event_id: str = field(default_factory=new_event_id)
    timestamp: str = field(default_factory=utc_now)
    """RFC 3339, in UTC."""
    request_id: str = ""
    tenant_id: str = ""
    hook_id: str = ""
    """Stable, for example `streaming.kernel`; required."""
    hook_scope: str = ""
    """One of HOOK_SCOPES; required."""
    policy_decision: str = ""
    """One of POLICY_DECISIONS; required."""
    halt_reason: str = ""
    """A machine-readable word, with figures as `name=value` behind it."""
    threshold: float | None = None
    observed_score: float | None = None
    latency_ms: float | None = None
    evidence_refs: tuple[str, ...] = ()
    tenant_safe_explanation: str = ""
    trace_attribution: HaltTraceAttribution | None = None
    attributes: dict[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.schema_version != SCHEMA_VERSION:
            raise PayloadError(f"schema_version must be {SCHEMA_VERSION!r}; this release reads no other")
        texts = _texts_of(self)
        if set(map(type, texts)) != {str} or not "".join(texts).isascii():
            for name, value in zip(_TEXT_FIELDS, texts, strict=True):
                _check_text(name, value)
        for name in ("event_id", "hook_id"):
            if not getattr(self, name).strip():
                raise PayloadError(f"{name} must not be blank")
        if not is_utc_timestamp(self.timestamp):
            raise PayloadError("timestamp must be RFC 3339 in UTC, such as 2026-01-31T09:30:00Z")
        if self.hook_scope not in HOOK_SCOPES:
            raise UnknownOption("hook_scope", self.hook_scope, HOOK_SCOPES)
        if self.policy_decision not in POLICY_DECISIONS:
            raise UnknownOption("policy_decision", self.policy_decision, POLICY_DECISIONS)
        for name, high in (("threshold", 1.0), ("observed_score", 1.0), ("latency_ms", math.inf)):
            if (figure := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_number(name, figure, 0.0, high, PayloadError))
        if self.trace_attribution is not None:
            object.__setattr__(self, "trace_attribution", _checked_trace(self.trace_attribution))
        # The containers are copied, so that nobody who holds the originals can change a recorded event.
        object.__setattr__(self, "evidence_refs", _strings("evidence_refs", self.evidence_refs))
        object.__setattr__(self, "attributes", _string_map(self.attributes))

    @classmethod
    def from_halt_evidence(
        cls,
        evidence: HaltEvidence,
        *,
        hook_id: str,
        hook_scope: str = "streaming",
        policy_decision: str = "halt",
        request_id: str = "",
        tenant_id: str = "",
        **more: Any,
    ) -> SafetyEvent:
        """Record a halt; fact sources become identifiers, fact text stays behind.

        `more` sets further fields, for example `latency_ms`, or `event_id` and `timestamp` where they must be
        reproducible.
        """
        trace = evidence.trace_attribution
        if trace is not None:
            trace = replace(trace, fact_source=ref_of(trace.fact_source) if trace.fact_source else "")
        made: dict[str, Any] = {
            "threshold": trace.threshold if trace is not None else None,
            "observed_score": as_score(evidence.last_score),
            "evidence_refs": tuple(dict.fromkeys(ref_of(c.source, c.text) for c in evidence.evidence_chunks)),
            "trace_attribution": trace,
        }
        return cls.from_policy_decision(
            policy_decision,
            hook_id=hook_id,
            hook_scope=hook_scope,
            request_id=request_id,
            tenant_id=tenant_id,
            halt_reason=evidence.reason if is_machine_reason(evidence.reason) else "other",
            **made | more,
        )

    @classmethod
    def from_policy_decision(
        cls, policy_decision: str, *, hook_id: str, hook_scope: str, halt_reason: str = "", **more: Any
    ) -> SafetyEvent:
        """Record a decision, with an explanation made of words that carry no tenant's data unless one is given."""
        if unknown := more.keys() - _FIELD_SET:
            raise UnknownOption("SafetyEvent field", min(unknown), _FIELD_NAMES)
        for name, value in (("policy_decision", policy_decision), ("halt_reason", halt_reason)):
            _check_text(name, value)
        more.setdefault("tenant_safe_explanation", explain(policy_decision, halt_reason))
        return cls(
            hook_id=hook_id, hook_scope=hook_scope, policy_decision=policy_decision, halt_reason=halt_reason, **more
        )

    @classmethod
    def from_allowed(cls, **values: Any) -> SafetyEvent:
        """Record that nothing was found, in a third of the time: nothing is checked.

        For code that makes very many of them out of values of its own, and that tests hold to the validator.
        """
        made, put = object.__new__(cls), object.__setattr__
        values.setdefault("attributes", {})
        values.setdefault("tenant_safe_explanation", explain("allow", values.get("halt_reason", "")))
        for name, value in (_ALLOWED | values).items():
            put(made, name, value)
        put(made, "event_id", new_event_id())
        put(made, "timestamp", utc_now())
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the payload as plain JSON values, in the order of the schema."""
        payload = {f.name: getattr(self, f.name) for f in fields(self)}
        payload["evidence_refs"] = list(self.evidence_refs)
        payload["attributes"] = dict(self.attributes)
        payload["trace_attribution"] = asdict(self.trace_attribution) if self.trace_attribution else None
        return payload

    def to_json(self) -> str:
        """Return the payload as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> SafetyEvent:
        """Rebuild an event from `to_dict`; unknown or missing keys and wrong types are refused."""
        if not isinstance(payload, Mapping):
            raise PayloadError(f"a safety event is a JSON object, got {type(payload).__name__}")
        if set(payload) != set(_FIELD_NAMES):
            missing = sorted(set(_FIELD_NAMES) - set(payload))
            raise PayloadError(
                f"a safety event has exactly {len(_FIELD_NAMES)} keys; "
                f"{len(set(payload) - set(_FIELD_NAMES))} unknown, missing: {', '.join(missing) or 'none'}"
            )
        values = dict(payload)
        trace = values["trace_attribution"]
        if trace is not None:
            values["trace_attribution"] = _trace(trace)
        return cls(**values)

    @classmethod
    def from_json(cls, text: str) -> SafetyEvent:
        """Rebuild an event from `to_json`."""
        try:
            payload = json.loads(text, object_pairs_hook=_unique_keys)
        except PayloadError:
            raise
        except (ValueError, TypeError, RecursionError) as error:
            raise PayloadError(f"not a JSON safety event ({type(error).__name__})") from None
        return cls.from_dict(payload)


_FIELD_NAMES: Final = tuple(f.name for f in fields(SafetyEvent))
_ALLOWED: Final = {f.name: f.default for f in fields(SafetyEvent) if f.default is not MISSING} | {
    "policy_decision": "allow"
}
_FIELD_SET: Final = frozenset(_FIELD_NAMES)
_TEXT_FIELDS: Final = tuple(f.name for f in fields(SafetyEvent) if f.type == "str")
_texts_of: Final = operator.attrgetter(*_TEXT_FIELDS)
_TRACE_NAMES: Final = tuple(f.name for f in fields(HaltTraceAttribution))


def _strings(name: str, values: Iterable[object]) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, tuple | list):
        raise PayloadError(f"{name} must be a list of strings, got {type(values).__name__}")
    if values and not all(isinstance(value, str) for value in values):
        raise PayloadError(f"{name} must hold strings only")
    return tuple(values)


def _string_map(values: object) -> dict[str, str]:
    if not isinstance(values, Mapping):
        raise PayloadError(f"attributes must map strings to strings, got {type(values).__name__}")
    if values and not all(isinstance(key, str) and isinstance(value, str) for key, value in values.items()):
        raise PayloadError("attributes must map strings to strings")
    return dict(values)


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise PayloadError(f"{name} must be a string, got {type(value).__name__}")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise PayloadError(f"{name} must be text that can be written as UTF-8")


def _trace(values: object) -> HaltTraceAttribution:
    if not isinstance(values, Mapping) or set(values) != set(_TRACE_NAMES):
        raise PayloadError(f"trace_attribution must be an object with exactly: {', '.join(_TRACE_NAMES)}")
    return HaltTraceAttribution(**values)


def _checked_trace(trace: object) -> HaltTraceAttribution:
    if not isinstance(trace, HaltTraceAttribution):
        raise PayloadError(f"trace_attribution must be a HaltTraceAttribution or None, got {type(trace).__name__}")
    for name in ("fact_source", "retrieval_path", "scorer_path"):
        _check_text(f"trace_attribution.{name}", getattr(trace, name))
    if type(trace.token_offset) is not int:
        raise PayloadError("trace_attribution.token_offset must be an integer")
    threshold = trace.threshold
    if threshold is not None:
        threshold = check_number("trace_attribution.threshold", threshold, error=PayloadError)
    margin = check_number("trace_attribution.causal_contribution", trace.causal_contribution, error=PayloadError)
    return replace(trace, threshold=threshold, causal_contribution=margin)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse duplicate keys: two readers of one record must not see two different events."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise PayloadError("a key stands twice in the JSON object")
    return made


def validate_safety_event(payload: object, *, extra_words: frozenset[str] = frozenset()) -> SafetyEvent:
    """Return the event that a payload holds, or refuse it: malformed, or carrying raw text.

    The error names the key, never its content. `extra_words` widens the vocabulary of explanations for hooks of
    your own.
    """
    event = SafetyEvent.from_dict(payload)  # type: ignore[arg-type]  # from_dict refuses what is no mapping
    trace = event.trace_attribution or HaltTraceAttribution()
    refs = {
        "event_id": event.event_id,
        "request_id": event.request_id,
        "tenant_id": event.tenant_id,
        "hook_id": event.hook_id,
        "trace_attribution.fact_source": trace.fact_source,
        "trace_attribution.retrieval_path": trace.retrieval_path,
        "trace_attribution.scorer_path": trace.scorer_path,
    }
    refs |= {f"evidence_refs[{i}]": ref or " " for i, ref in enumerate(event.evidence_refs)}
    for position, (key, value) in enumerate(event.attributes.items()):
        refs |= {f"the name of attribute {position}": key or " ", f"the value of attribute {position}": value}
    for name, value in refs.items():
        if value and not is_ref(value):
            raise PayloadError(f"{name} must be an identifier of at most 200 ASCII characters without spaces")
    if event.halt_reason and not is_machine_reason(event.halt_reason):
        raise PayloadError("halt_reason must be a machine-readable word with name=value figures")
    if not is_operator_text(event.tenant_safe_explanation, extra_words):
        raise PayloadError(
            f"tenant_safe_explanation must be at most {EXPLANATION_LIMIT} characters of operator vocabulary; "
            "a word outside it is taken for raw text (extra_words admits words of your own)"
        )
    return event


def safety_event_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a payload; the vocabulary of explanations is checked by the validator."""
    ref = {"type": "string", "pattern": f"^{REF_PATTERN}$"}
    ref_or_empty = {"type": "string", "pattern": f"^(?:{REF_PATTERN})?$"}
    share = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    trace = {
        "fact_source": ref_or_empty,
        "retrieval_path": ref_or_empty,
        "scorer_path": ref_or_empty,
        "token_offset": {"type": "integer"},
        "threshold": share,
        "causal_contribution": {"type": "number", "minimum": 0, "maximum": 1},
    }
    properties: dict[str, Any] = {
        "schema_version": {"const": SCHEMA_VERSION},
        "event_id": ref,
        "timestamp": {"type": "string", "pattern": f"^{UTC_PATTERN}$"},
        "request_id": ref_or_empty,
        "tenant_id": ref_or_empty,
        "hook_id": ref,
        "hook_scope": {"enum": list(HOOK_SCOPES)},
        "policy_decision": {"enum": list(POLICY_DECISIONS)},
        "halt_reason": {"type": "string", "pattern": f"^(?:{REASON_PATTERN})?$"},
        "threshold": share,
        "observed_score": share,
        "latency_ms": {"type": ["number", "null"], "minimum": 0},
        "evidence_refs": {"type": "array", "items": ref},
        "tenant_safe_explanation": {"type": "string", "maxLength": EXPLANATION_LIMIT},
        "trace_attribution": {"oneOf": [{"type": "null"}, _closed_object(trace)]},
        "attributes": {"type": "object", "propertyNames": ref, "additionalProperties": ref_or_empty},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA_VERSION}",
        "title": "SafetyEvent",
        **_closed_object(properties),
    }


def _closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
