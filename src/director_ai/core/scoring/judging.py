"""The plan of a judgement: what is asked about the clauses of a text, in order, and what each failure means.

A plan asks and never acts: it yields `("evidence", …)` or `("predict", …)`; a driver answers, or throws what an attempt
raised. A clause that could not be judged is `not_evaluated`, and no text with such a clause is approved.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from director_ai.core.ranges import as_score
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.scoring.claims import Claim, read_claim, statements_of
from director_ai.core.scoring.coherence import ClauseVerdict, verdict_of
from director_ai.core.scoring.entailment import Opinion, premises_of, read_opinions, weigh
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.types import EvidenceChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from director_ai.core.segment import Clause

__all__ = ["Ask", "Circumstances", "Judgement", "judge_clauses", "read_chunks", "remember", "without_model"]

Ask = tuple[Literal["evidence", "predict"], tuple[Any, ...]]
"""What is wanted, and what it takes.

    evidence (find, claim, prompt, preceding)   the facts that bear on a claim, the most relevant first
    predict  (pairs,)                           a prediction for each (premise, hypothesis)
"""
Judgement = Generator[Ask, Any, list[ClauseVerdict]]

MOST_CHUNKS = 20
REMEMBERED = 3
"""Clauses before one that may say what it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What holds for every clause of a text."""

    find: Callable[[str, str, Sequence[str]], Any]
    """Who is asked for evidence; handed on, never called here."""
    prompt: str = ""
    policy: Literal["open", "closed"] = "closed"
    threshold: float = 0.5
    use_model: bool = True


@functools.lru_cache(maxsize=256)
def _read(premise: str) -> Reading:
    """What the clauses of a text are compared with is often the same."""
    return Reading(premise)


class _Open(NamedTuple):
    """A claim that waits for the model's opinion."""

    clause: Clause
    claim: Claim
    chunks: tuple[EvidenceChunk, ...]
    premises: list[str]


def judge_clauses(clauses: Sequence[Clause], said: list[str], circumstances: Circumstances) -> Judgement:
    """Return a verdict for each clause; `said` is what was said before them, and gets what these clauses say."""
    verdicts: list[ClauseVerdict | _Open] = []
    for clause in clauses:
        claim = read_claim(clause.text, kind=clause.kind, preceding=said[-REMEMBERED:])
        if claim.role == "claim":
            verdicts.append((yield from _look_up(clause, claim, tuple(said[-REMEMBERED:]), circumstances)))
        else:
            verdicts.append(_kept(clause, claim))
        if claim.role in {"claim", "question"}:  # "Shall we? That costs 15 EUR." is about what was asked
            remember(said, claim.text)
    waiting = [each for each in verdicts if isinstance(each, _Open)]
    opinions: list[list[Opinion]] | None = None
    if circumstances.use_model and waiting:
        opinions = yield from _opinions(waiting)
        if opinions is None:
            return [_failed(each, "model_error") if isinstance(each, _Open) else each for each in verdicts]
    said_of = iter(opinions or ())
    weighed = [_weighed(each, next(said_of, None), circumstances) for each in waiting]
    if circumstances.use_model:
        weighed = yield from _in_parts(waiting, weighed, circumstances)
    ready = iter(weighed)
    return [next(ready) if isinstance(each, _Open) else each for each in verdicts]


def without_model(clauses: Sequence[Clause]) -> Judgement:
    """Return verdicts where the model is required and cannot be used: whatever states something was not judged."""
    verdicts = []
    for clause in clauses:
        claim = read_claim(clause.text, kind=clause.kind)
        is_claim = claim.role == "claim"
        verdicts.append(
            _failed(_Open(clause, claim, (), []), "model_unavailable") if is_claim else _kept(clause, claim)
        )
    yield from ()  # a plan without questions
    return verdicts


def remember(said: list[str], claim: str) -> None:
    """Add to what was said what may say what the next clause is about."""
    if claim:
        said.append(claim)
        del said[:-REMEMBERED]


def _in_parts(
    waiting: Sequence[_Open], weighed: Sequence[ClauseVerdict], circumstances: Circumstances
) -> Generator[Ask, Any, list[ClauseVerdict]]:
    """Ask again, part by part, where no value differs and yet the whole is not supported.

    Of two facts in one breath a model easily overlooks one; the worst part decides.
    """
    asked: dict[int, list[_Open]] = {}
    for place, (each, verdict) in enumerate(zip(waiting, weighed, strict=True)):
        is_doubtful = verdict.verdict != "supported" and not verdict.differences
        said = statements_of(each.claim.text) if is_doubtful else ()
        if len(said) > 1:
            asked[place] = [each._replace(claim=Claim("claim", part.text, Reading(part.text))) for part in said]
    found = list(weighed)
    opinions = (yield from _opinions([part for parts in asked.values() for part in parts])) if asked else None
    if opinions is None:
        return found  # what was doubtful stays so
    said_of = iter(opinions)
    for place, parts in asked.items():
        worst = min((_weighed(part, next(said_of), circumstances) for part in parts), key=lambda each: each.coherence)
        whole = found[place]
        if worst.coherence > whole.coherence:
            found[place] = dataclasses.replace(worst, clause=whole.clause, start=whole.start, claim=whole.claim)
    return found


def _look_up(
    clause: Clause, claim: Claim, preceding: tuple[str, ...], circumstances: Circumstances
) -> Generator[Ask, Any, ClauseVerdict | _Open]:
    """Ask for the evidence of a claim; without any, the policy decides at once."""
    try:
        answer = yield "evidence", (circumstances.find, claim.text, circumstances.prompt, preceding)
    except BaseException as error:
        if must_pass(error):
            raise
        return _failed(_Open(clause, claim, (), []), "retriever_error")
    chunks = read_chunks(answer)
    if chunks is None:
        return _failed(_Open(clause, claim, (), []), "retriever_invalid")
    premises = premises_of(chunks)
    return _Open(clause, claim, chunks, premises) if premises else _without_evidence(clause, claim, circumstances)


def read_chunks(answer: object) -> tuple[EvidenceChunk, ...] | None:
    """Return a retriever's answer as evidence, or None where it is none; what is too much is left off."""
    if isinstance(answer, str | bytes | dict) or answer is None:
        return None
    try:
        found = [_plain(chunk) for chunk in itertools.islice(iter(answer), MOST_CHUNKS)]  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001 - a foreign retriever may answer with anything
        return None
    return None if any(as_score(chunk.distance) is None for chunk in found) else tuple(found)


def _plain(chunk: Any) -> EvidenceChunk:
    """The chunk itself where it and its fields are of the plain types, otherwise one made of what it holds."""
    text, distance, source = chunk.text, chunk.distance, chunk.source
    if type(chunk) is EvidenceChunk and type(text) is str and type(distance) is float and type(source) is str:
        return chunk
    return EvidenceChunk(str.__str__(text), float(distance), str.__str__(source))


def _opinions(waiting: Sequence[_Open]) -> Generator[Ask, Any, list[list[Opinion]] | None]:
    """Ask the model about all claims at once; None where it failed or answered with something else."""
    pairs = [(premise, each.claim.text) for each in waiting for premise in each.premises]
    try:
        answer = yield "predict", (pairs,)
    except BaseException as error:
        if must_pass(error):
            raise
        return None
    opinions = read_opinions(answer, len(pairs))
    if opinions is None:
        return None
    rest = iter(opinions)
    return [list(itertools.islice(rest, len(each.premises))) for each in waiting]


def _weighed(each: _Open, opinions: list[Opinion] | None, circumstances: Circumstances) -> ClauseVerdict:
    assert each.claim.reading is not None  # noqa: S101 - a claim was read
    weighed = weigh(each.claim.reading, _read(each.premises[0]), opinions)
    verdict, reason, coherence = verdict_of(weighed, policy=circumstances.policy, threshold=circumstances.threshold)
    best = max(range(len(weighed.singles)), key=lambda at: weighed.singles[at].supported, default=0)
    return ClauseVerdict(
        clause=each.clause.text,
        start=each.clause.start,
        role="claim",
        verdict=verdict,
        reason=reason,
        coherence=coherence,
        claim=each.claim.text,
        support=weighed.support,
        contradiction=weighed.contradiction,
        chunks=each.chunks,
        differences=weighed.differences,
        opinion=weighed.opinion,
        source=best,
    )


def _kept(clause: Clause, claim: Claim) -> ClauseVerdict:
    return ClauseVerdict(
        clause=clause.text,
        start=clause.start,
        role=claim.role,
        verdict="not_a_claim",
        reason="not_a_claim",
        coherence=1.0,
        claim=claim.text if claim.role == "question" else "",
    )


def _without_evidence(clause: Clause, claim: Claim, circumstances: Circumstances) -> ClauseVerdict:
    """The knowledge base is silent: that is no support, and under the open policy no objection either."""
    is_open = circumstances.policy == "open"
    return ClauseVerdict(
        clause=clause.text,
        start=clause.start,
        role="claim",
        verdict="unverified" if is_open else "unsupported",
        reason="no_evidence",
        coherence=1.0 if is_open else 0.0,
        claim=claim.text,
        support=0.0,
    )


def _failed(each: _Open, reason: str) -> ClauseVerdict:
    return ClauseVerdict(
        clause=each.clause.text,
        start=each.clause.start,
        role="claim",
        verdict="not_evaluated",
        reason=reason,
        coherence=0.0,
        claim=each.claim.text,
        chunks=each.chunks,
    )
