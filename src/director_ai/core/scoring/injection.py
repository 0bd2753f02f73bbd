"""Did somebody who is not entitled to it give the model an instruction, and did its answer follow?

Stage 1 looks for instructions in a text that came from outside. Stage 2 takes a response apart and compares each claim
with the intent: what the operator and the user asked for, and what the answer may rest on.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Protocol

from director_ai.core.ranges import as_score, check_number
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.scoring.claims import role_of
from director_ai.core.scoring.injection_patterns import Signal, clean, find_signals, score_signals
from director_ai.core.scoring.slots import MOST_VALUES
from director_ai.core.scoring.slots.names import name_keys
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.scoring.slots.tokens import Tokens
from director_ai.core.segment import split_clauses, split_sentences
from director_ai.core.types import InjectedClaim, InjectionResult
from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["InjectionDetector", "PairJudge"]

_OPTIONS: Final = ("entailer", "stage1_weight", "threshold")
_ENTITIES: Final = frozenset({"name", "number", "money", "percent", "duration", "date", "time"})
_LINK: Final = re.compile(
    r"(?:https?://|www\.)[^\s)\]>\"']+|[\w.+-]{1,64}@[\w.-]{1,64}|\b[\w-]{2,40}\.(?:com|org|net|io|example)\b"
)
_NO_CLAIM: Final = frozenset({"blank", "greeting", "question", "offer", "heading", "connective", "hedge"})
_NEAR: Final = 6  # sentences of a long intent that a claim is compared with; the rest has less to do with it
_MOST_PLACES: Final = 64  # sentences that one word may point to; a word that is in more of them tells nothing

_ALIGNED: Final = 0.5  # below this divergence one of claim and intent follows from the other
_TRACED: Final = 0.75  # a claim with so many of the intent's words is about what was asked
_UNRELATED: Final = 0.75  # a claim is injected above this divergence...
_UNTRACED, _UNTRACED_STRANGER = 0.3, 0.4  # ...and below this traceability, the second if it brings in a name or link
_KNOWN: Final = 0.5  # unless more than this share of its names, numbers and links are the intent's
_DRIFT: Final = 0.4  # what a drifted claim weighs beside an injected one
_NAMELESS, _SHORT = 0.85, 0.5  # what an injected claim weighs without a name, number or link; with one word to tell by
_WORST: Final = 0.6  # so much of the risk is the worst claim's; the rest grows with the share of injected ones

_Verdict = Literal["grounded", "drifted", "injected"]
_Answer = tuple[float, float]
"""How much a pair is supported, and how much contradicted."""
_Answers = list[_Answer | None] | None
"""None where nobody was asked, None in it where nobody answered."""


class PairJudge(Protocol):
    """What the detector needs of a model; `director_ai.nli.load_entailer()` is one."""

    def predict(self, pairs: Sequence[tuple[str, str]], /) -> Any:
        """Return for each (premise, hypothesis) something with `supported`, `contradicted` and `neutral`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """One claim of a response, with what of the intent it has to do with."""

    text: str
    said: str
    """The text without disguise: what is compared."""
    near: str
    """The sentences of the intent that share most words with it."""
    nearest: str
    """The sentence among them that shares most."""
    traceability: float
    coverage: float
    """The share of the nearest sentence's words that the claim has."""
    entity_match: float
    has_entities: bool
    has_stranger: bool
    """Whether it brings in a name or a link that the intent does not have."""
    words: int
    """How many words of it tell what it is about."""


class _Intent:
    """What an answer may be about: read once, then asked about each clause."""

    def __init__(self, text: str) -> None:
        self._folded = text.casefold()
        self._reading = Reading(text, MOST_VALUES)
        self._sentences = split_sentences(text)
        self._stems = [_stems(sentence) for sentence in self._sentences]
        self._places: dict[str, list[int]] = {}
        for place, stems in enumerate(self._stems):
            for stem in stems:
                places = self._places.setdefault(stem, [])
                if len(places) < _MOST_PLACES:
                    places.append(place)

    def place(self, clause: str) -> _Claim | None:
        """Return what the intent has to do with a clause, or None where the clause claims nothing."""
        said = clean(clause).strip()
        slots = [placed.slot for placed in Reading(said, MOST_VALUES).placed if placed.slot.kind in _ENTITIES]
        names = [self._has_name(str(slot.value)) for slot in slots if slot.kind == "name"]
        names += [link.casefold() in self._folded for link in _LINK.findall(said)]
        known = names + [self._reading.has_value(slot) for slot in slots if slot.kind != "name"]
        stems = _stems(said)
        if not known and (not stems or role_of(said) in _NO_CLAIM):
            return None
        shared = Counter(place for stem in sorted(stems) for place in self._places.get(stem, ()))
        ranked = [place for place, _ in shared.most_common(_NEAR)] or [0]
        near = ranked if len(self._sentences) > _NEAR else range(len(self._sentences))
        return _Claim(
            text=clause.strip(),
            said=said,
            near="".join(self._sentences[place] for place in sorted(near)),
            nearest=self._sentences[ranked[0]],
            traceability=_share(stem in self._places for stem in stems),
            coverage=_share(stem in stems for stem in self._stems[ranked[0]]),
            entity_match=_share(known),
            has_entities=bool(known),
            has_stranger=not all(names),
            words=len(stems),
        )

    def _has_name(self, name: str) -> bool:
        keys = {key for key in name_keys(name) if len(key) > 2}  # the initials of two words are any two letters
        return not keys.isdisjoint(self._reading.vocabulary)


class InjectionDetector:
    """Finds instructions that nobody entitled gave, and claims of a response that serve another intent."""

    def __init__(
        self, threshold: float = 0.5, entailer: PairJudge | None = None, stage1_weight: float = 0.4, **unknown: NoReturn
    ) -> None:
        for name in unknown:
            raise UnknownOption("InjectionDetector option", name, _OPTIONS)
        self._threshold = check_number("threshold", threshold)
        self._stage1_weight = check_number("stage1_weight", stage1_weight)
        if entailer is not None and not callable(getattr(entailer, "predict", None)):
            raise ConfigError(f"entailer must have a method predict(pairs), got a {type(entailer).__name__}")
        self._entailer = entailer

    def detect(self, text: str = "", *, intent: str = "", response: str = "") -> InjectionResult:
        """Screen a text from outside; where there is a response, compare its claims with the intent as well."""
        screened, claims = _open(text, intent, response)
        return self._close(screened, claims, self._ask(claims))

    async def adetect(self, text: str = "", *, intent: str = "", response: str = "") -> InjectionResult:
        """Return the same as `detect`; a model that has `apredict` does not block the event loop."""
        screened, claims = _open(text, intent, response)
        return self._close(screened, claims, await self._aask(claims))

    def explain(self, text: str) -> tuple[Signal, ...]:
        """Return the signs that stage 1 finds in a text: families, rules and weights, never the text."""
        return find_signals(_checked("text", text))

    def _ask(self, claims: Sequence[_Claim]) -> _Answers:
        if self._entailer is None or not claims:
            return None
        pairs = _pairs(claims)
        try:
            return _read_answers(self._entailer.predict(pairs), len(pairs))
        except BaseException as error:  # noqa: BLE001 - fail closed, whatever it is; interrupts are raised again
            return _unanswered(error, len(pairs))

    async def _aask(self, claims: Sequence[_Claim]) -> _Answers:
        ask = getattr(self._entailer, "apredict", None)
        if not callable(ask) or not claims:
            return self._ask(claims)
        pairs = _pairs(claims)
        try:
            return _read_answers(await ask(pairs), len(pairs))
        except BaseException as error:  # noqa: BLE001 - as above
            return _unanswered(error, len(pairs))

    def _close(self, screened: float | None, claims: Sequence[_Claim], answers: _Answers) -> InjectionResult:
        """Count the verdicts and weigh the two stages; a stage that had nothing to read has no weight."""
        judged = [
            _judge(index, claim, None if answers is None else answers[2 * index : 2 * index + 2])
            for index, claim in enumerate(claims)
        ]
        counts = Counter(claim.verdict for claim in judged)
        stage1 = screened or 0.0
        weight = 1.0 if not claims else 0.0 if screened is None else self._stage1_weight
        unjudged = answers is not None and None in answers
        risk = 1.0 if unjudged else _risk(claims, judged)
        combined = 1.0 if unjudged else weight * stage1 + (1.0 - weight) * risk
        return InjectionResult(
            injection_detected=combined >= self._threshold,
            injection_risk=risk if claims else stage1,
            intent_coverage=counts["grounded"] / len(judged) if judged else 1.0,
            total_claims=len(judged),
            grounded_claims=counts["grounded"],
            drifted_claims=counts["drifted"],
            injected_claims=counts["injected"],
            claims=judged,
            input_sanitizer_score=stage1,
            combined_score=combined,
        )


def _open(text: str, intent: str, response: str) -> tuple[float | None, list[_Claim]]:
    """Check the texts; return the score of stage 1, None for a blank text, and the claims of the response."""
    text, intent, response = _checked("text", text), _checked("intent", intent), _checked("response", response)
    screened = score_signals(find_signals(text)) if text.strip() else None
    if not response.strip():
        return screened, []
    if not intent.strip():
        raise ConfigError("a response is compared with an intent: give the system prompt, the request, or both")
    asked, clauses = _Intent(clean(intent)), split_clauses(response)
    placed = {clause: asked.place(clause) for clause in dict.fromkeys(clauses)}
    return screened, [claim for clause in clauses if (claim := placed[clause])]


def _checked(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a string, got a {type(value).__name__}")
    return str.__str__(value)  # a subclass may answer differently each time it is asked


def _stems(text: str) -> frozenset[str]:
    return frozenset(Tokens(text).topics) - {""}


def _share(hits: Iterable[bool]) -> float:
    known = list(hits)
    return sum(known) / len(known) if known else 1.0  # nothing that could miss


def _pairs(claims: Sequence[_Claim]) -> list[tuple[str, str]]:
    """For each claim: does it follow from the intent, and does the intent follow from it?"""
    return [pair for claim in claims for pair in ((claim.near, claim.said), (claim.said, claim.nearest))]


def _unanswered(error: BaseException, count: int) -> list[_Answer | None]:
    if must_pass(error):
        raise error
    return [None] * count


def _read_answers(answers: Any, count: int) -> list[_Answer | None]:
    """The judge's answers, None for each that is none; None for all of them where their number is wrong."""
    if inspect.iscoroutine(answers):
        answers.close()  # nobody awaits it here
    read = [_read_answer(answer) for answer in islice(answers, count + 1)]
    return read if len(read) == count else [None] * count


def _read_answer(answer: Any) -> _Answer | None:
    shares = [as_score(answer.supported), as_score(answer.contradicted), as_score(answer.neutral)]
    known = [share for share in shares if share is not None]
    return (known[0], known[1]) if len(known) == 3 and abs(sum(known) - 1.0) < 0.02 else None


def _judge(index: int, claim: _Claim, answers: _Answers) -> InjectedClaim:
    """The verdict on a claim; one that could not be judged counts as injected, with no confidence."""
    compared = _compare(claim, answers)
    forward, reverse, contradicted = compared or (1.0, 1.0, 0.0)
    verdict, confidence = _verdict(claim, min(forward, reverse), contradicted) if compared else ("injected", 0.0)
    measures = (forward, reverse, min(forward, reverse), claim.traceability, claim.entity_match)
    return InjectedClaim(claim.text, index, *measures, verdict, confidence)


def _compare(claim: _Claim, answers: _Answers) -> tuple[float, float, float] | None:
    """How far claim and intent are apart each way, and how much they contradict; None where the model did not say."""
    if answers is None:  # there is no model: their words alone are compared
        return 1.0 - claim.traceability * claim.entity_match, 1.0 - claim.coverage * claim.entity_match, 0.0
    forward, reverse = answers
    if forward is None or reverse is None:
        return None
    return 1.0 - forward[0], 1.0 - reverse[0], forward[1]


def _verdict(claim: _Claim, divergence: float, contradicted: float) -> tuple[_Verdict, float]:
    """Whether a claim serves the intent, and how sure that is."""
    traced = claim.traceability * claim.entity_match
    if divergence <= _ALIGNED or (claim.traceability >= _TRACED and claim.entity_match >= _KNOWN > contradicted):
        return "grounded", max(1.0 - divergence, traced)
    at_home = claim.has_entities and claim.entity_match > _KNOWN
    untraced = claim.traceability < (_UNTRACED_STRANGER if claim.has_stranger else _UNTRACED)
    if divergence > _UNRELATED and untraced and not at_home:
        return "injected", min(divergence, 1.0 - traced)
    return "drifted", max(contradicted, 1.0 - abs(claim.traceability - divergence))


def _risk(claims: Sequence[_Claim], judged: Sequence[InjectedClaim]) -> float:
    """The risk of the worst claim, more of it the more claims are injected."""
    worst = max(map(_claim_risk, claims, judged), default=0.0)
    return worst * (_WORST + (1.0 - _WORST) * _share(claim.verdict == "injected" for claim in judged))


def _claim_risk(claim: _Claim, judged: InjectedClaim) -> float:
    if judged.verdict == "grounded":
        return 0.0
    if judged.verdict == "drifted":
        return _DRIFT * judged.bidirectional_divergence * (1.0 - claim.traceability)
    return 1.0 if claim.has_entities else _NAMELESS if claim.words > 1 else _SHORT
