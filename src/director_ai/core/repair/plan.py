"""The plan of a repair: what is asked about the clauses of a stream, in order, and what each answer means.

A plan asks and never acts. It yields what it wants to know; whoever drives it sends the answer, or throws what the
attempt raised.

    score    (texts,)                   an `Outcome` for each
    retrieve (texts,)                   an `Outcome` for each
    rewrite  ([(text, evidence), …],)   an `Outcome` for each
    evidence, predict                   what `scoring.judging` asks for
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from director_ai.core.repair.answers import read_candidates, read_evidence, read_score, trouble_of
from director_ai.core.scoring.claims import body_of
from director_ai.core.scoring.coherence import ClauseVerdict
from director_ai.core.scoring.judging import remember
from director_ai.core.segment import Clause, ClauseSegmenter

if TYPE_CHECKING:
    from director_ai.core.checks.answers import Outcome
    from director_ai.core.clause_source import PlacedClause
    from director_ai.core.repair.record import Action
    from director_ai.core.types import EvidenceChunk

__all__ = ["Fate", "Judge", "Tools", "clause_to_judge", "repair_clauses", "score_judge"]

Result = TypeVar("Result")
Plan = Generator[tuple[str, tuple[Any, ...]], Any, Result]
Judge = Callable[[Sequence[Clause], list[str]], Plan[list[ClauseVerdict]]]
"""From clauses and what was said before them to the plan of their verdicts."""

_RELEASED: Final = frozenset({"supported", "not_a_claim", "unverified"})
_SHORTEST_CAP: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What there is to repair with."""

    judge: Judge
    retrieves: bool = False
    """Evidence is asked for; otherwise it comes with the verdict."""
    rewrites: bool = False
    longest: float = 4.0
    """How many times as long as the clause a rewrite may be."""


class Fate(NamedTuple):
    """What is to become of a clause."""

    clause: PlacedClause
    verdict: ClauseVerdict
    action: Action
    body: tuple[int, int]
    """Where in the clause its words stand, list marks and white space left out."""
    text: str = ""
    """What to put there."""
    detail: str = ""
    evidence: tuple[EvidenceChunk, ...] = ()
    rewritten: ClauseVerdict | None = None

    @property
    def said(self) -> str:
        """What a later clause may refer to."""
        if self.action == "keep":
            return self.verdict.claim
        return self.rewritten.claim if self.rewritten else ""


def clause_to_judge(clause: PlacedClause) -> Clause:
    """Return a clause as it is judged: a value that is no sentence with what it stands for."""
    text = f"{clause.label}: {clause.text}" if clause.label else clause.text
    return Clause(text=text, start=clause.start, kind=clause.kind, ends_sentence=True)


def score_judge(threshold: float) -> Judge:
    """Return a judge that asks for one figure for each clause."""

    def judge(clauses: Sequence[Clause], _said: list[str]) -> Plan[list[ClauseVerdict]]:
        texts = [clause.text[slice(*body_of(clause.text))] for clause in clauses]
        asked = [text for text in texts if text.strip()]
        outcomes = iter((yield from _asked("score", "scorer", asked, (asked,))) if asked else ())
        return [
            _scored(clause, read_score(next(outcomes)), threshold) if text.strip() else _blank(clause)
            for clause, text in zip(clauses, texts, strict=True)
        ]

    return judge


def _asked(kind: str, part: str, items: Sequence[object], what: tuple[Any, ...]) -> Plan[list[Outcome]]:
    """Ask about several things at once; where that fails as a whole, it failed for each of them."""
    try:
        outcomes = yield kind, what
    except BaseException as error:  # noqa: BLE001 - fail closed; interrupts are raised again
        trouble_of(part, error)
        return [(False, error)] * len(items)
    return list(outcomes)


def _scored(clause: Clause, score: float | str, threshold: float) -> ClauseVerdict:
    if isinstance(score, str):
        verdict, reason, support = "not_evaluated", score, None
    elif score >= threshold:
        verdict, reason, support = "supported", "supported", score
    else:
        verdict, reason, support = "unsupported", "below_threshold", score
    return ClauseVerdict(
        clause=clause.text,
        start=clause.start,
        role="claim",
        verdict=verdict,  # type: ignore[arg-type]  # one of the three words above
        reason=reason,
        coherence=support or 0.0,
        support=support,
    )


def _blank(clause: Clause) -> ClauseVerdict:
    return ClauseVerdict(
        clause=clause.text,
        start=clause.start,
        role="blank",
        verdict="not_a_claim",
        reason="not_a_claim",
        coherence=1.0,
    )


def repair_clauses(
    clauses: Sequence[PlacedClause], said: list[str], tools: Tools, prepared: Fate | None = None
) -> Plan[list[Fate]]:
    """Return what becomes of each clause; `said` gets what they say. `prepared` is what becomes of the first of them.

    All clauses are judged at once, as if none were changed. Where one is, those that were judged in its company are
    judged again beside what stands in its place.
    """
    fates: list[Fate] = []
    while len(fates) < len(clauses):
        rest = clauses[len(fates) :]
        ready = {0: prepared} if prepared is not None else {}
        verdicts = yield from _verdicts(rest, list(said), tools, prepared)
        prepared, assumed = None, list(said)
        broken = [
            place
            for place, pair in enumerate(zip(rest, verdicts, strict=True))
            if place not in ready and not _may_leave(*pair)
        ]
        # Where a verdict depends on nothing that was said before, all that is wrong can be mended at once.
        together = [] if any(verdict.claim for verdict in verdicts) else broken
        mended = yield from _mended([(rest[place], verdicts[place]) for place in together], [], tools)
        ready |= zip(together, mended, strict=True)
        for place, (clause, verdict) in enumerate(zip(rest, verdicts, strict=True)):
            if assumed != said:
                break
            if place in broken and place not in ready:
                ready[place] = (yield from _mended([(clause, verdict)], list(said), tools))[0]
            fate = ready.get(place) or Fate(clause, verdict, "keep", body_of(clause.text), evidence=verdict.chunks)
            fates.append(fate)
            remember(assumed, verdict.claim)
            remember(said, fate.said)
    return fates


def _verdicts(
    clauses: Sequence[PlacedClause], said: list[str], tools: Tools, prepared: Fate | None
) -> Plan[list[ClauseVerdict]]:
    known = [prepared.verdict] if prepared is not None else []
    for verdict in known:
        remember(said, verdict.claim)
    wanted = [clause_to_judge(clause) for clause in clauses[len(known) :]]
    return [*known, *((yield from tools.judge(wanted, said)) if wanted else ())]


def _may_leave(clause: PlacedClause, verdict: ClauseVerdict) -> bool:
    """Whether a clause is shown as it is; of a value that is no sentence, nothing is expected but no contradiction."""
    if verdict.verdict in _RELEASED:
        return True
    return bool(clause.label) and verdict.reason in {"no_evidence", "not_entailed"}


def _mended(pairs: Sequence[tuple[PlacedClause, ClauseVerdict]], said: list[str], tools: Tools) -> Plan[list[Fate]]:
    """Return what is to stand in place of clauses that may not leave: a rewrite that is supported, or nothing."""
    if not pairs:
        return []
    evidence = yield from _evidence(pairs, tools)
    offers = yield from _offers(pairs, evidence, tools)
    chosen = yield from _supported(pairs, offers, said, tools)
    fates = []
    for (clause, verdict), found, offer, choice in zip(pairs, evidence, offers, chosen, strict=True):
        chunks = () if isinstance(found, str) else found
        body = body_of(clause.text)
        if choice is None:
            detail = offer if isinstance(offer, str) else "rewrite_unsupported"
            fates.append(Fate(clause, verdict, "redact", body, detail=detail, evidence=chunks))
        else:
            text, rewritten = choice
            fates.append(Fate(clause, verdict, "rewrite", body, text, evidence=chunks, rewritten=rewritten))
    return fates


def _evidence(
    pairs: Sequence[tuple[PlacedClause, ClauseVerdict]], tools: Tools
) -> Plan[list[tuple[EvidenceChunk, ...] | str]]:
    """Return the evidence of each clause, or what went wrong on the way to it."""
    if not tools.retrieves:
        return [verdict.chunks for _, verdict in pairs]
    texts = [_body(clause) for clause, _ in pairs]
    outcomes = yield from _asked("retrieve", "retriever", texts, (texts,))
    return [read_evidence(outcome) for outcome in outcomes]


def _offers(
    pairs: Sequence[tuple[PlacedClause, ClauseVerdict]],
    evidence: Sequence[tuple[EvidenceChunk, ...] | str],
    tools: Tools,
) -> Plan[list[tuple[str, ...] | str]]:
    """Return what a rewriter offers for each clause, or why there is nothing."""
    offers: list[tuple[str, ...] | str] = []
    for (_, verdict), found in zip(pairs, evidence, strict=True):
        if not tools.rewrites:
            offers.append("no_rewriter")
        elif verdict.verdict == "not_evaluated":
            offers.append("not_judged")  # and neither could the rewrite be
        elif isinstance(found, str):
            offers.append(found)
        else:
            offers.append(() if found else "no_evidence")
    places = [place for place, offer in enumerate(offers) if offer == ()]
    texts = [_labelled(pairs[place][0], _body(pairs[place][0])) for place in places]
    items = [(text, [chunk.text for chunk in evidence[place]]) for place, text in zip(places, texts, strict=True)]  # type: ignore[union-attr]  # no trouble there, by the loop above
    outcomes = (yield from _asked("rewrite", "rewriter", items, (items,))) if items else []
    for place, text, outcome in zip(places, texts, outcomes, strict=True):
        longest = max(_SHORTEST_CAP, int(tools.longest * len(text)))
        offers[place] = _without_label(pairs[place][0], read_candidates(outcome, text, longest))
    return offers


def _supported(
    pairs: Sequence[tuple[PlacedClause, ClauseVerdict]],
    offers: Sequence[tuple[str, ...] | str],
    said: list[str],
    tools: Tools,
) -> Plan[list[tuple[str, ClauseVerdict] | None]]:
    """Return for each clause the first offer whose every clause is supported."""
    chosen: list[tuple[str, ClauseVerdict] | None] = [None] * len(pairs)
    candidates = [
        (place, text, _clauses_of(pairs[place][0], text))
        for place, offer in enumerate(offers)
        if not isinstance(offer, str)
        for text in offer
    ]
    at_once = [candidates] if not any(verdict.claim for _, verdict in pairs) else [[each] for each in candidates]
    for group in at_once:
        group = [each for each in group if chosen[each[0]] is None]  # noqa: PLW2901 - what is still wanted of it
        verdicts = iter(
            (yield from tools.judge([one for each in group for one in each[2]], list(said))) if group else ()
        )
        for place, text, clauses in group:
            judged = [next(verdicts) for _ in clauses]
            worst = min(judged, key=lambda each: each.coherence)
            if chosen[place] is None and all(each.verdict in {"supported", "not_a_claim"} for each in judged):
                chosen[place] = text, worst
    return chosen


def _clauses_of(clause: PlacedClause, text: str) -> list[Clause]:
    segmenter = ClauseSegmenter()
    written = _labelled(clause, text)
    return [*segmenter.feed(written), *segmenter.finish()]


def _body(clause: PlacedClause) -> str:
    return clause.text[slice(*body_of(clause.text))]


def _labelled(clause: PlacedClause, text: str) -> str:
    return f"{clause.label}: {text}" if clause.label else text


def _without_label(clause: PlacedClause, offer: tuple[str, ...] | str) -> tuple[str, ...] | str:
    """Return offers as they can stand in the clause's place."""
    if isinstance(offer, str) or not clause.label:
        return offer
    label = f"{clause.label}: "
    return tuple(text.removeprefix(label) for text in offer if text.startswith(label)) or "rewrite_blank"
