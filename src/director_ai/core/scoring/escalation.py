"""Escalation: which clauses a judge is asked about, and what its answer, or the lack of one, means.

The bundled model settles what it is sure of. Clauses inside an uncertainty band of its support go to a judge, a larger
model with more to say. A contradiction found by comparing values is not escalated: no judge can outvote it.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from director_ai.core.identifiers import ref_of
from director_ai.core.ranges import as_score, check_number
from director_ai.core.scoring.coherence import ClauseVerdict, verdict_of
from director_ai.core.scoring.entailment import Weighed
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.types import EvidenceChunk

__all__ = [
    "Band",
    "Doubt",
    "JudgeQuestion",
    "JudgeVerdict",
    "correction_in",
    "judged_by",
    "needs_judge",
    "read_judge_verdicts",
]

JudgeQuestion = tuple[str, tuple["EvidenceChunk", ...]]
"""A claim, its subject named, and the evidence to judge it by."""
Doubt = Literal["reject", "model"]
"""What a clause is whose judge did not answer: not evaluated, or what the bundled model alone makes of it."""
LEAST_SUPPORT: Final = 0.5
"""Probability from which a judge's answer counts. The profile's threshold belongs to the bundled model's support."""
LONGEST_CORRECTION: Final = 2_000
_EXCLUDED: Final = 0.01
"""Support of a claim that compared values contradict, at most."""
_WEIGHED: Final = frozenset({"entailed", "contradicted", "not_entailed", "not_contradicted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVerdict:
    """What a judge says of one claim: three probabilities that sum to 1, and on what grounds."""

    supported: float
    contradicted: float
    neutral: float
    evidence_ids: tuple[str, ...] = ()
    """Identifiers of the evidence that decides."""
    correction: str = ""
    """The claim as the evidence has it, where the judge offers one. It is checked like any rewrite."""
    is_claim: bool = True
    """False for small talk, offers, and statements about the speaker's own limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The supports between which a clause is escalated, both included."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        low, high = check_number("judge_band[0]", self.low), check_number("judge_band[1]", self.high)
        if low > high:
            raise ConfigError(f"judge_band must be (low, high) with low at most high, got ({low:g}, {high:g})")


def needs_judge(verdict: ClauseVerdict, band: Band) -> bool:
    """Return whether the bundled model's verdict on a clause is uncertain, and not settled by a compared value."""
    if verdict.support is None or verdict.reason not in _WEIGHED or not verdict.chunks:
        return False
    is_excluded = verdict.contradiction == 1.0 and verdict.support <= _EXCLUDED
    return not is_excluded and band.low <= verdict.support <= band.high


def read_judge_verdicts(answer: object, count: int) -> list[JudgeVerdict | None]:
    """Return a judge's answer as one verdict for each claim; None where it gave none, or none that can be right."""
    try:
        items = list(answer)  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001 - a foreign judge may answer with anything
        return [None] * count
    return [_read(item) for item in items] if len(items) == count else [None] * count


def _read(item: Any) -> JudgeVerdict | None:
    parts = [as_score(getattr(item, name, None)) for name in ("supported", "contradicted", "neutral")]
    scores = [part for part in parts if part is not None]
    if len(scores) < len(parts) or not 0.98 <= math.fsum(scores) <= 1.02:
        return None
    ids, correction = getattr(item, "evidence_ids", ()), getattr(item, "correction", "") or ""
    if not isinstance(ids, list | tuple) or not all(type(each) is str for each in ids):
        ids = ()
    if type(correction) is not str or len(correction) > LONGEST_CORRECTION:
        correction = ""
    return JudgeVerdict(
        supported=scores[0],
        contradicted=scores[1],
        neutral=scores[2],
        evidence_ids=tuple(ids),
        correction=correction.strip(),
        is_claim=getattr(item, "is_claim", True) is not False,
    )


def judged_by(verdict: ClauseVerdict, answer: JudgeVerdict | None, *, policy: str, doubt: Doubt) -> ClauseVerdict:
    """Return the verdict on an escalated clause."""
    if answer is None:
        return _without_answer(verdict, doubt)
    if not answer.is_claim:
        return dataclasses.replace(
            verdict, role="aside", verdict="not_a_claim", reason="not_a_claim", coherence=1.0, escalated=True
        )
    weighed = Weighed(
        support=answer.supported,
        contradiction=min(answer.contradicted, 1.0 - answer.supported),
        differences=verdict.differences,
        opinion=None,  # the bundled model's own no longer counts
    )
    word, reason, coherence = verdict_of(weighed, policy=policy, threshold=LEAST_SUPPORT)
    return dataclasses.replace(
        verdict,
        verdict=word,
        reason=reason,
        coherence=coherence,
        support=answer.supported,
        contradiction=weighed.contradiction,
        source=_cited(verdict.chunks, answer.evidence_ids, verdict.source),
        correction=answer.correction,
        escalated=True,
    )


def _without_answer(verdict: ClauseVerdict, doubt: Doubt) -> ClauseVerdict:
    """A judge that is late, failed or used up its budget: fail closed, unless the bundled model may decide alone."""
    if doubt == "model":
        return dataclasses.replace(verdict, escalated=False)
    return dataclasses.replace(
        verdict, verdict="not_evaluated", reason="judge_unavailable", coherence=0.0, escalated=False
    )


def correction_in(clause: str, claim: str, correction: str) -> str:
    """Return a clause with what a judge corrected in the claim that stands for it; "" if its place is not certain.

    The claim names its subject ("Shipping costs 5 euros") where the clause may not ("It costs 5 euros").
    """
    if not correction or correction == claim:
        return ""
    if clause.strip() == claim.strip():
        return correction
    old, new = claim.split(" "), correction.split(" ")
    shortest = min(len(old), len(new))
    first = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    last = next((at for at in range(shortest - first) if old[-1 - at] != new[-1 - at]), shortest - first)
    wrong = " ".join(old[first : len(old) - last])
    right = " ".join(new[first : len(new) - last])
    if not wrong or not right or clause.count(wrong) != 1:
        return ""
    return clause.replace(wrong, right)


def _cited(chunks: Sequence[EvidenceChunk], ids: Sequence[str], spare: int) -> int:
    """Return the place of the first piece of evidence that the judge cites."""
    places = {ref_of(chunk.source, chunk.text): place for place, chunk in reversed(list(enumerate(chunks)))}
    return next((places[each] for each in ids if each in places), spare)
