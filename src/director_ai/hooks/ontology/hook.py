"""Checks what is asserted against an OWL or RDFS ontology: classes, relations, their ends, their number, their cycles.

hook = OntologyHook(load_ontology("drugs.ttl"))
verdict = hook.check([("aspirin", "is_a", "Drug"), ("aspirin", "treats", "headache")])
verdict.allowed, verdict.broken, verdict.safety_event
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, get_args

from director_ai.core.checks.rules import Frontier, check_frontier
from director_ai.core.identifiers import ref_of
from director_ai.core.ranges import check_count
from director_ai.core.safety_event import POLICY_DECISIONS, PolicyDecision, SafetyEvent
from director_ai.errors import ConfigError, UnknownOption
from director_ai.hooks.ontology.checking import Assertion, AxiomKind, BrokenAxiom, check_assertions
from director_ai.hooks.ontology.reading import ClauseReader
from director_ai.hooks.ontology.terms import Ontology
from director_ai.hooks.protocol import Moment, Occasion, event_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AssertionReader", "OntologyHook", "OntologyViolation"]

_log: Final = logging.getLogger(__name__)

AssertionReader = Callable[[str], Iterable[tuple[str, str, str]]]
"""Takes assertions from a text in place of the hook's own patterns."""

_KINDS: Final[tuple[AxiomKind, ...]] = get_args(AxiomKind)
_MOST_REFS: Final = 16
_EXPLANATIONS: Final = {
    "within_ontology": "Every assertion that was checked is within the ontology.",
    "nothing_checked": "No assertion was found in the text, so none was checked.",
    "malformed_assertion": "An assertion is invalid, so it was not checked.",
    "unknown_class": "An assertion named a class that is unknown to the ontology.",
    "unknown_relation": "An assertion named a relation that is unknown to the ontology.",
    "ambiguous_name": "An assertion named more than one class or relation of the ontology.",
    "too_many_classes": "Assertions named more classes than the limit allows.",
    "disjoint": "An assertion has two classes that the ontology does not allow at one time.",
    "domain": "An assertion is outside the domain of its relation.",
    "range": "An assertion is outside the range of its relation.",
    "max_cardinality": "Assertions exceed the maximum number that the ontology allows.",
    "min_cardinality": "Assertions are below the minimum number that the ontology has.",
    "irreflexive": "An assertion has one name for two, and the ontology does not allow that.",
    "asymmetric": "Two assertions contradict: the ontology does not allow the relation in both.",
    "cycle": "Assertions contradict the ontology: a relation reached its source again.",
    "excluded_relation": "An assertion has one relation more than the ontology does allow between its two classes.",
    "text_too_long": "The text exceeds the limit, so it was not checked.",
    "too_many_assertions": "The number of assertions exceeds the limit, so none was checked.",
    "reader_error": "The source of the assertions failed, so none was checked.",
    "reader_invalid": "The source of the assertions is invalid, so none was checked.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OntologyViolation:
    """What an ontology makes of an answer: the axioms that it breaks; none where it is allowed."""

    decision: PolicyDecision
    reasons: tuple[str, ...]
    """Machine-readable, one for each broken axiom, or why nothing could be checked."""
    broken: tuple[BrokenAxiom, ...]
    assertions: tuple[Assertion, ...]
    """What was checked; it may repeat the text, so it is not in the event."""
    not_checked: int
    """Sentences of which nothing was understood, and so nothing was checked."""
    safety_event: SafetyEvent

    @property
    def allowed(self) -> bool:
        """Whether nothing halts or blocks."""
        return self.decision in {"allow", "warn"}


class OntologyHook:
    """Checks assertions, given or read from text, against an ontology; one object serves any number of threads."""

    hook_id: Final = "ontology.assertions"
    hook_scope: Final = "ontology"
    moments: Final[tuple[Moment, ...]] = ("text",)

    def __init__(
        self,
        ontology: Ontology,
        *,
        decisions: Mapping[str, PolicyDecision] | None = None,
        open_world: bool = False,
        reader: AssertionReader | None = None,
        max_characters: int = 200_000,
        max_assertions: int = 5_000,
        frontier: Frontier = "sentence",
    ) -> None:
        """`decisions` says what a kind of broken axiom leads to (`warn`, `halt` or `block`; otherwise `halt`).

        `open_world`: what the ontology does not say may be so, and only what contradicts it is broken. `frontier`: how
        much of a stream is read at once; "text" also finds sentences that contradict each other, and waits for the end.
        """
        if not isinstance(ontology, Ontology):
            raise ConfigError(f"ontology must come from load_ontology, got a {type(ontology).__name__}")
        if reader is not None and not callable(reader):
            raise ConfigError(f"reader must be a function, got a {type(reader).__name__}")
        self._ontology = ontology
        self._decisions = _decisions(decisions or {})
        self._open_world = bool(open_world)
        self._reader = reader
        self._patterns = ClauseReader(ontology)
        self.frontier = check_frontier(frontier)
        self.is_quick = reader is None
        self._max_characters = check_count("max_characters", max_characters, 1, 10_000_000)
        self._max_assertions = check_count("max_assertions", max_assertions, 1, 100_000)

    def check(
        self,
        assertions: Iterable[tuple[str, str, str]],
        *,
        complete: bool = False,
        tenant_id: str = "",
        request_id: str = "",
    ) -> OntologyViolation:
        """Check assertions together; `complete` says that they leave nothing out, so that minima count."""
        occasion = Occasion(tenant_id=tenant_id, request_id=request_id)
        return self._judge(occasion, time.perf_counter(), lambda: (assertions, 0), complete=complete)

    def check_text(self, text: str, *, tenant_id: str = "", request_id: str = "") -> OntologyViolation:
        """Check what can be read from a text."""
        return self._check_text(Occasion(text=text, tenant_id=tenant_id, request_id=request_id))

    def examine(self, occasion: Occasion) -> OntologyViolation | None:
        """Check the text of an occasion; None where it has none."""
        return self._check_text(occasion) if occasion.text.strip() else None

    def _check_text(self, occasion: Occasion) -> OntologyViolation:
        started = time.perf_counter()
        if len(occasion.text) > self._max_characters:
            return self._refuse(occasion, started, "text_too_long")
        return self._judge(occasion, started, lambda: self._read(occasion.text))

    def _read(self, text: str) -> tuple[object, int]:
        if self._reader is not None:
            return self._reader(text), 0
        return self._patterns.read(text)

    def _judge(
        self,
        occasion: Occasion,
        started: float,
        source: Callable[[], tuple[object, int]],
        *,
        complete: bool = False,
    ) -> OntologyViolation:
        try:
            given, unread = source()
            taken = _taken(given, self._max_assertions)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a failure, whatever it is: an exit must not end the process
            # The type alone: a message may repeat what was read.
            _log.error("reading assertions failed with %s", type(error).__name__)
            return self._refuse(occasion, started, "reader_error")
        if taken is None:
            return self._refuse(occasion, started, "reader_invalid")
        if len(taken) > self._max_assertions:
            return self._refuse(occasion, started, "too_many_assertions")
        broken = check_assertions(self._ontology, taken, open_world=self._open_world, complete=complete)
        return self._verdict(occasion, started, taken, broken, unread)

    def _verdict(
        self,
        occasion: Occasion,
        started: float,
        taken: Sequence[object],
        broken: tuple[BrokenAxiom, ...],
        unread: int,
    ) -> OntologyViolation:
        decision: PolicyDecision = "allow"
        reason = "within_ontology" if taken else "nothing_checked"
        for each in broken:
            if POLICY_DECISIONS.index(self._decisions[each.kind]) > POLICY_DECISIONS.index(decision):
                decision, reason = self._decisions[each.kind], each.reason
        refs = dict.fromkeys(ref_of(ref) for each in broken[:_MOST_REFS] for ref in each.refs)
        return OntologyViolation(
            decision=decision,
            reasons=tuple(each.reason for each in broken) or (reason,),
            broken=broken,
            assertions=tuple(Assertion(*each) for each in taken if isinstance(each, tuple) and len(each) == 3),
            not_checked=unread,
            safety_event=self._event(
                occasion, decision, reason, started, checked=len(taken), unread=unread, broken=len(broken), refs=refs
            ),
        )

    def _refuse(self, occasion: Occasion, started: float, reason: str) -> OntologyViolation:
        return OntologyViolation(
            decision="block",
            reasons=(reason,),
            broken=(),
            assertions=(),
            not_checked=1,
            safety_event=self._event(occasion, "block", reason, started, checked=0, unread=1, broken=0),
        )

    def _event(
        self,
        occasion: Occasion,
        decision: str,
        reason: str,
        started: float,
        *,
        refs: Iterable[str] = (),
        **figures: int,
    ) -> SafetyEvent:
        names = {"unread": "not_checked"}
        return event_of(
            self,
            occasion,
            decision,
            reason,
            started=started,
            tenant_safe_explanation=_EXPLANATIONS[reason.split(" ", 1)[0]],
            evidence_refs=tuple(islice(refs, _MOST_REFS)),
            attributes={"ontology": self._ontology.digest, **{names.get(n, n): str(v) for n, v in figures.items()}},
        )


def _decisions(given: Mapping[str, PolicyDecision]) -> dict[AxiomKind, PolicyDecision]:
    made: dict[AxiomKind, PolicyDecision] = dict.fromkeys(_KINDS, "halt")
    made["malformed_assertion"] = made["too_many_classes"] = "block"
    for kind, decision in given.items():
        if kind not in _KINDS:
            raise UnknownOption("kind of axiom", kind, _KINDS)
        if decision not in ("warn", "halt", "block"):
            raise UnknownOption(f"decision for {kind}", decision, ("warn", "halt", "block"))
        made[kind] = decision
    return made


def _taken(given: object, most: int) -> tuple[object, ...] | None:
    """Return assertions as a tuple, of one more than the limit at most; None where they are no list of any kind."""
    if inspect.iscoroutine(given):
        given.close()
    if isinstance(given, str | bytes | Mapping | set | frozenset) or not isinstance(given, Iterable):
        return None
    return tuple(islice(given, most + 1))
