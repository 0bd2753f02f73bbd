"""From retrieved facts to one figure of support and one of contradiction for a claim.

Three signals: what the entailment model makes of the facts, which typed values differ, and how many of a claim's words
the facts have. They are weighed by two logistic functions whose weights were fitted on pairs we wrote ourselves
(`training/support.py`), one set with the model and one without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from director_ai.core.ranges import as_score
from director_ai.core.scoring.lexical import compare_words
from director_ai.core.scoring.slots.comparison import compare_readings
from director_ai.core.scoring.weights import HEURISTIC, MODEL, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.scoring.slots import SlotDifference
    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.types import EvidenceChunk

__all__ = [
    "DOUBTED",
    "ENTAILED",
    "LEAST_OPINION",
    "Entailer",
    "Features",
    "Opinion",
    "Weighed",
    "is_doubted",
    "overrule",
    "premises_of",
    "read_opinions",
    "weigh",
]

MOST_PREMISE: Final = 6_000
"""Characters of evidence that are read as one premise; what comes after is less relevant than all of it."""
SINGLES: Final = 2
"""Facts that are also read alone: among others, a short one may be overlooked."""
LEAST_OPINION: Final = 0.1
"""Probability that the model must give to "the facts together support it".

Few errors of the dev answers are inventions, so the fitted weights hardly mind if the facts are silent. A guard that
shows only what is supported must. Below this figure are 7 % of the right claims and 18 % of what the facts are silent
about; at 0.15 it would be 15 and 43 %."""
ENTAILED: Final = 0.5
"""Probability from which the model itself says so. A claim that shares no word with the facts needs as much."""
DOUBTED: Final = 0.45
"""Support of a claim below it, at most: less than any limit asks for."""
_CERTAIN: Final = 1e-4
_CONTRADICTED: Final = 0.01
"""Support of a claim that a value contradicts, at most."""
_HOPELESS: Final = -3.0
"""Log-odds below which support falls as fast as the model says that the facts contradict the claim, and no faster."""
_SLOWEST: Final = 0.02
_SLOPE: Final = 0.33
_GRAVE: Final = frozenset({"number", "money", "percent", "duration", "date", "time"})


class Entailer(Protocol):
    """Whatever tells entailed from contradicted: the bundled model, or a caller's own."""

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Any]:
        """Return for each (premise, hypothesis) something with `supported`, `contradicted` and `neutral`."""
        ...


class Opinion(NamedTuple):
    """What a model makes of one pair."""

    supported: float
    contradicted: float
    neutral: float


class Features(NamedTuple):
    """What is known of a claim beside its evidence, as numbers that can be weighed."""

    joined: float = 0.0
    """Log-odds that the facts together support it; 0 without a model."""
    single: float = 0.0
    """The same of the best fact alone."""
    against: float = 0.0
    """Log-odds that the facts together contradict it."""
    values: float = 0.0
    """1 where a number, date or amount differs."""
    names: float = 0.0
    """1 where a name differs."""
    senses: float = 0.0
    """1 where a negation, an opposite, a quantity word or a comparison differs."""
    close: float = 0.0
    """How much of a claim that differs the evidence has otherwise: near 1, it is the same sentence but for that."""
    missing_values: float = 0.0
    missing_names: float = 0.0
    foreign: float = 0.0
    """1 where the evidence has none of the claim's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What the evidence makes of a claim."""

    support: float
    """Calibrated probability that the evidence entails it."""
    contradiction: float
    """Calibrated probability that the evidence contradicts it; with `support` at most 1."""
    differences: tuple[SlotDifference, ...]
    opinion: Opinion | None
    """Of the model on the facts together; None in heuristic mode."""
    singles: tuple[Opinion, ...] = ()
    """Of the model on the first facts alone."""


def premises_of(chunks: Sequence[EvidenceChunk], *, alone: bool = False) -> list[str]:
    """Return what a claim is compared with: the facts together, the most relevant first, then the first ones alone.

    With `alone`, each fact is one premise and nothing is joined.
    """
    texts = [chunk.text.strip() for chunk in chunks if chunk.text.strip()]
    if not texts or alone:
        return [text[:MOST_PREMISE] for text in texts]
    joined = " ".join(texts)
    while len(joined) > MOST_PREMISE and len(texts) > 1:
        texts = texts[:-1]
        joined = " ".join(texts)
    return [joined] if len(texts) == 1 else [joined, *texts[:SINGLES]]


def read_opinions(answer: object, count: int) -> list[Opinion] | None:
    """Return a model's answer as opinions, or None where it is not one for each pair: fail closed, guess nothing."""
    try:
        items = list(answer)  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001 - a foreign model may answer with anything
        return None
    if len(items) != count:
        return None
    found = []
    for item in items:
        parts = [as_score(getattr(item, name, None)) for name in Opinion._fields]
        if any(part is None for part in parts) or not 0.98 <= math.fsum(p for p in parts if p is not None) <= 1.02:
            return None
        found.append(Opinion(*(part for part in parts if part is not None)))
    return found


def weigh(claim: Reading, evidence: Reading, opinions: Sequence[Opinion] | None) -> Weighed:
    """Return how far the evidence supports and contradicts a claim; `opinions` are the model's on `premises_of`."""
    differences = tuple(compare_readings(claim, evidence))
    features = features_of(claim, evidence, differences, opinions)
    weights = HEURISTIC if opinions is None else MODEL
    support = probability(weights.support, features, slope=_slope(opinions))
    if opinions and is_doubted(features, opinions[0].supported):
        support = min(support, DOUBTED)
    contradiction = min(probability(weights.contradiction, features), 1.0 - support)
    return Weighed(
        support=support,
        contradiction=contradiction,
        differences=differences,
        opinion=opinions[0] if opinions else None,
        singles=tuple(opinions[1:]) if opinions else (),
    )


def is_doubted(features: Features, supported: float) -> bool:
    """Whether a claim counts as unsupported whatever the weights say.

    The model finds no support in the facts together, or a value or name differs from theirs or is none of theirs.
    """
    differs = features.values or features.names or features.missing_values
    return bool(differs) or supported < (ENTAILED if features.foreign else LEAST_OPINION)


def overrule(weighed: Weighed) -> Weighed:
    """Return the same with a contradiction that nothing outvotes."""
    return replace(weighed, support=min(weighed.support, _CONTRADICTED), contradiction=1.0)


def features_of(
    claim: Reading, evidence: Reading, differences: Sequence[SlotDifference], opinions: Sequence[Opinion] | None
) -> Features:
    """Return a claim and its evidence as numbers."""
    overlap = compare_words(claim, evidence)
    kinds = {difference.kind for difference in differences}
    model = {}
    if opinions:
        model = {
            "joined": _log_odds(opinions[0].supported),
            "single": _log_odds(max(opinion.supported for opinion in opinions)),
            "against": _log_odds(opinions[0].contradicted),
        }
    return Features(
        **model,
        close=overlap.coverage**3 if kinds else 0.0,
        values=float(not kinds.isdisjoint(_GRAVE)),
        names=float("name" in kinds),
        senses=float(bool(kinds - _GRAVE - {"name"})),
        missing_values=float(min(overlap.missing_values, 2)),
        missing_names=float(min(overlap.missing_names, 2)),
        foreign=float(overlap.foreign),
    )


def _slope(opinions: Sequence[Opinion] | None) -> float:
    """Return how fast support falls below all hope: in hard texts facts are silent about much that is right."""
    return _SLOWEST + (_SLOPE - _SLOWEST) * opinions[0].contradicted if opinions else 1.0


def probability(weights: Weights, features: Features, *, slope: float = 1.0) -> float:
    """Return the logistic of the weighed features, rounded so that every platform agrees."""
    total = math.fsum([weight * value for weight, value in zip(weights, (1.0, *features), strict=True)])
    if total < _HOPELESS:
        total = _HOPELESS + slope * (total - _HOPELESS)
    return round(1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total)))), 6)


def _log_odds(probability_: float) -> float:
    sure = min(1.0 - _CERTAIN, max(_CERTAIN, probability_))
    return math.log(sure / (1.0 - sure))
