"""The plan of a repair: what is asked about the clauses of a stream, in order, and what each answer means.

A plan asks and never acts. It yields what it wants to know; whoever drives it sends the answer, or throws what the
attempt raised.

    score    (texts,)                   an `Outcome` for each
    retrieve (texts,)                   an `Outcome` for each
    rewrite  ([(text, evidence), …],)   an `Outcome` for each
    evidence, predict                   what `scoring.judging` asks for
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from director_ai.core.clause_source import ValueClause
from director_ai.core.repair.answers import read_candidates, read_evidence, read_score, trouble_of
from director_ai.core.repair.setting import facts_in_setting, unsure_of
from director_ai.core.scoring.claims import body_of
from director_ai.core.scoring.coherence import ClauseVerdict
from director_ai.core.scoring.escalation import correction_in
from director_ai.core.scoring.judging import REMEMBERED, remember
from director_ai.core.segment import Clause, ClauseSegmenter

if TYPE_CHECKING:
    from director_ai.core.checks.answers import Outcome
    from director_ai.core.clause_source import PlacedClause
    from director_ai.core.repair.record import Action
    from director_ai.core.types import EvidenceChunk

__all__ = ["Fate", "Judge", "Tools", "repair_clauses", "score_judge"]

Result = TypeVar("Result")
Plan = Generator[tuple[str, tuple[Any, ...]], Any, Result]
Judge = Callable[[Sequence[Clause], list[str]], Plan[list[ClauseVerdict]]]
"""From clauses and what was said before them to the plan of their verdicts."""

_SHORTEST_CAP: Final = 240
_BEFORE: Final = re.compile(r"\s*(?:(?:[-*•]|\d{1,3}[.)])\s+)?[*_]{0,3}")
_BEHIND: Final = re.compile(r"[*_]{0,3}\s*")
"""What may stand around the words of a clause that is rewritten."""
_MOST_AGAIN: Final = 4
"""Clauses judged again in one call: a change reaches the next REMEMBERED (3) clauses, and one may state nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What there is to repair with."""

    judge: Judge
    judge_rewrite: Judge | None = None
    """Judges what a rewriter offers, more strictly; without it the judge of clauses does."""
    retrieves: bool = False
    """Evidence is asked for; otherwise it comes with the verdict."""
    rewrites: bool = False
    question: str = ""
    """What the user asked."""
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


def score_judge(threshold: float) -> Judge:
    """Return a judge that asks for one figure for each clause."""

    def judge(clauses: Sequence[Clause], _said: list[str]) -> Plan[list[ClauseVerdict]]:
        texts = ["" if _is_scalar(clause) else clause.text[slice(*body_of(clause.text))] for clause in clauses]
        asked = [text for text in texts if text.strip()]
        outcomes = iter((yield from _asked("score", "scorer", asked, (asked,))) if asked else ())
        return [
            _scored(clause, read_score(next(outcomes)), threshold) if text.strip() else _blank(clause)
            for clause, text in zip(clauses, texts, strict=True)
        ]

    return judge


def _is_scalar(clause: Clause) -> bool:
    """A number of a JSON object is compared with facts, and nothing that a score can be given to."""
    return isinstance(clause, ValueClause) and clause.is_scalar


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
        mode="model",  # the caller's own scorer: nothing was used in its place
    )


def _blank(clause: Clause) -> ClauseVerdict:
    return ClauseVerdict(
        clause=clause.text,
        start=clause.start,
        role="blank",
        verdict="not_a_claim",
        reason="not_a_claim",
        coherence=1.0,
        mode="model",
    )


def repair_clauses(
    clauses: Sequence[PlacedClause],
    said: list[str],
    tools: Tools,
    prepared: Fate | None = None,
    unsure: Sequence[str] = (),
) -> Plan[list[Fate]]:
    """Return what becomes of each clause; `said` gets what they say. `prepared` is what becomes of the first of them.

    `unsure` are the last clauses before them that are shown although no fact supports them.

    The result is that of judging one clause after the other, each beside what is shown before it. All clauses are
    judged at once, as if none were changed; a verdict holds if what is shown before its clause is what it was given
    under. Otherwise a few clauses are judged again, so the work grows with the number of clauses even if all of them
    are redacted.
    """
    verdicts = yield from _verdicts(clauses, list(said), tools, prepared)
    contexts = _contexts(verdicts, said)
    broken = [not _may_leave(*pair) for pair in zip(clauses, verdicts, strict=True)]
    ready = {0: prepared} if prepared is not None else {}
    if not any(verdict.claim for verdict in verdicts):
        # No verdict depends on what was said before, and whatever is shown was supported: all is repaired at once.
        places = [place for place, is_broken in enumerate(broken) if is_broken and place not in ready]
        repaired = yield from _mended([(clauses[place], verdicts[place]) for place in places], [], tools, ())
        ready |= zip(places, repaired, strict=True)
    fates: list[Fate] = []
    doubtful = list(unsure)
    for place, clause in enumerate(clauses):
        if contexts[place] != said:
            block = _stale_block(place, said, verdicts, contexts, broken)
            fresh = yield from tools.judge([each.judged() for each in clauses[block]], list(said))
            verdicts[block], contexts[block] = fresh, _contexts(fresh, said)
            broken[block] = [not _may_leave(*pair) for pair in zip(clauses[block], fresh, strict=True)]
            for outdated in range(place, block.stop):
                ready.pop(outdated, None)
        verdict = verdicts[place]
        if place in ready:
            fate = ready[place]
        elif broken[place]:
            (fate,) = yield from _mended([(clause, verdict)], list(said), tools, tuple(doubtful))
        else:
            fate = Fate(clause, verdict, "keep", body_of(clause.text), evidence=verdict.chunks)
        fates.append(fate)
        remember(said, fate.said)
        doubtful = [*doubtful, unsure_of(fate.action, verdict.verdict, clause.text)][-REMEMBERED:]
    return fates


def _verdicts(
    clauses: Sequence[PlacedClause], said: list[str], tools: Tools, prepared: Fate | None
) -> Plan[list[ClauseVerdict]]:
    known = [prepared.verdict] if prepared is not None else []
    for verdict in known:
        remember(said, verdict.claim)
    wanted = [clause.judged() for clause in clauses[len(known) :]]
    return [*known, *((yield from tools.judge(wanted, said)) if wanted else ())]


def _contexts(verdicts: Sequence[ClauseVerdict], said: Sequence[str]) -> list[list[str]]:
    """Return what was said before each clause, if all of them are kept."""
    contexts, context = [], list(said)
    for verdict in verdicts:
        contexts.append(list(context))
        remember(context, verdict.claim)
    return contexts


def _stale_block(
    place: int,
    said: Sequence[str],
    verdicts: Sequence[ClauseVerdict],
    contexts: Sequence[list[str]],
    broken: Sequence[bool],
) -> slice:
    """Return the clauses from a place on that are worth judging again in one call.

    The block ends where the verdicts hold again, and behind a clause that will probably be changed, because what comes
    after it would have to be judged once more. The verdicts at hand tell which those are, though they are stale; the
    limit keeps the work linear if they are wrong every time.
    """
    context, end = list(said), place
    while end < min(len(verdicts), place + _MOST_AGAIN) and contexts[end] != context:
        remember(context, verdicts[end].claim)
        end += 1
        if broken[end - 1]:
            break
    return slice(place, end)


def _may_leave(clause: PlacedClause, verdict: ClauseVerdict) -> bool:
    """Whether a clause is shown as it is; of a value that is no sentence, nothing is expected but no contradiction."""
    if verdict.may_be_shown:
        return True
    return bool(clause.label) and verdict.reason in {"no_evidence", "not_entailed"}


def _mended(
    pairs: Sequence[tuple[PlacedClause, ClauseVerdict]], said: list[str], tools: Tools, unsure: Sequence[str]
) -> Plan[list[Fate]]:
    """Return what is to stand in place of clauses that may not leave: a rewrite that is supported, or nothing."""
    if not pairs:
        return []
    evidence = yield from _evidence(pairs, tools)
    offers = yield from _offers(pairs, evidence, tools, unsure)
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
    unsure: Sequence[str],
) -> Plan[list[tuple[str, ...] | str]]:
    """Return what a rewriter offers for each clause, or why there is nothing."""
    offers: list[tuple[str, ...] | str] = []
    fitting: dict[int, list[str]] = {}
    """By the place of a clause, the facts that may correct it."""
    for place, ((clause, verdict), found) in enumerate(zip(pairs, evidence, strict=True)):
        if not tools.rewrites:
            offers.append("no_rewriter")
        elif verdict.verdict == "not_evaluated":
            offers.append("not_judged")  # and neither could the rewrite be
        elif isinstance(found, str):
            offers.append(found)
        elif not found:
            offers.append("no_evidence")
        elif clause.label or clause.kind in {"row", "code"}:
            offers.append("value_alone")  # what else its object, its table or its fence says of it is not read
        elif _may_go_on(clause):
            offers.append("may_go_on")
        elif not _is_plain(clause):
            offers.append("marked")  # struck out or quoted: what replaced it would be, too
        else:
            chunks = facts_in_setting(clause, tools.question, found, unsure)
            fitting[place] = [chunk.text for chunk in chunks]
            offers.append(() if chunks else "other_subject")
    places = [place for place, offer in enumerate(offers) if offer == ()]
    texts = [_body(pairs[place][0]) for place in places]
    items = [(text, fitting[place]) for place, text in zip(places, texts, strict=True)]
    outcomes = (yield from _asked("rewrite", "rewriter", items, (items,))) if items else []
    for place, text, outcome in zip(places, texts, outcomes, strict=True):
        longest = max(_SHORTEST_CAP, int(tools.longest * len(text)))
        offer = read_candidates(outcome, text, longest)
        offers[place] = _with_correction(offer, pairs[place][1], text, longest)
    return offers


def _with_correction(
    offer: tuple[str, ...] | str, verdict: ClauseVerdict, said: str, longest: int
) -> tuple[str, ...] | str:
    """Put a judge's correction before what the rewriter offers; it is checked in the same way."""
    corrected = correction_in(said, verdict.claim, verdict.correction)
    if not corrected:
        return offer
    candidates = read_candidates((True, corrected), said, longest)
    if isinstance(candidates, str):
        return offer
    return candidates if isinstance(offer, str) else tuple(dict.fromkeys((*candidates, *offer)))


def _is_plain(clause: PlacedClause) -> bool:
    """Whether nothing but a list marker, emphasis and a full stop stands around what a clause says."""
    begin, end = body_of(clause.text)
    return _BEFORE.fullmatch(clause.text[:begin]) is not None and _BEHIND.fullmatch(clause.text[end:]) is not None


def _may_go_on(clause: PlacedClause) -> bool:
    """Whether the sentence of a clause may go on in the next line: a name or a figure may be cut in two there."""
    text = clause.text
    body, space = text.rstrip(), text[len(text.rstrip()) :]
    wrapped = space == "\n" if clause.kind == "prose" else "\n" in space and space[-1] in " \t"
    return wrapped and clause.kind in {"prose", "item"} and body[-1:].isalnum()


def _supported(
    pairs: Sequence[tuple[PlacedClause, ClauseVerdict]],
    offers: Sequence[tuple[str, ...] | str],
    said: list[str],
    tools: Tools,
) -> Plan[list[tuple[str, ClauseVerdict] | None]]:
    """Return for each clause the first offer whose every clause is supported."""
    judge = tools.judge_rewrite or tools.judge
    chosen: list[tuple[str, ClauseVerdict] | None] = [None] * len(pairs)
    candidates = [
        (place, text, _clauses_of(text))
        for place, offer in enumerate(offers)
        if not isinstance(offer, str)
        for text in offer
    ]
    at_once = [candidates] if not any(verdict.claim for _, verdict in pairs) else [[each] for each in candidates]
    for group in at_once:
        group = [each for each in group if chosen[each[0]] is None]  # noqa: PLW2901 - what is still wanted of it
        verdicts = iter((yield from judge([one for each in group for one in each[2]], list(said))) if group else ())
        for place, text, clauses in group:
            judged = [next(verdicts) for _ in clauses]
            worst = min(judged, key=lambda each: each.coherence)
            if chosen[place] is None and all(each.verdict in {"supported", "not_a_claim"} for each in judged):
                chosen[place] = text, worst
    return chosen


def _clauses_of(text: str) -> list[Clause]:
    segmenter = ClauseSegmenter()
    return [*segmenter.feed(text), *segmenter.finish()]


def _body(clause: PlacedClause) -> str:
    return clause.text[slice(*body_of(clause.text))]
