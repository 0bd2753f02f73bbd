"""The plan of a judgement: what is asked about the clauses of a text, in order, and what each failure means.

A plan asks and never acts: it yields `("evidence", …)` or `("predict", …)`; a driver answers, or throws what an attempt
raised. A clause that could not be judged is `not_evaluated`, and no text with such a clause is approved.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from director_ai.core.clause_source import ValueClause
from director_ai.core.ranges import as_score
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.scoring.claims import Claim, body_of, read_claim, visible
from director_ai.core.scoring.coherence import ClauseVerdict, verdict_of
from director_ai.core.scoring.entailment import Opinion, Weighed, overrule, premises_of, read_opinions, weigh
from director_ai.core.scoring.escalation import judged_by, needs_judge, read_judge_verdicts
from director_ai.core.scoring.questions import OFFER, REFERRAL
from director_ai.core.scoring.records import compare_record
from director_ai.core.scoring.same_subject import content_words, contradicts, covers, exchanges, knows_subject
from director_ai.core.scoring.slots.agreement import MEASURES
from director_ai.core.scoring.slots.comparison import VALUE_KINDS, compare_readings
from director_ai.core.scoring.slots.reading import Reading, read_once
from director_ai.core.scoring.slots.values import Interval
from director_ai.core.scoring.step_order import is_out_of_order
from director_ai.core.types import EvidenceChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from director_ai.core.scoring.claims import ClauseRole
    from director_ai.core.scoring.escalation import Band, Doubt
    from director_ai.core.scoring.slots import Slot
    from director_ai.core.segment import Clause

__all__ = [
    "CONTEXT_END",
    "Ask",
    "Circumstances",
    "Judgement",
    "judge_clauses",
    "more_supportive",
    "read_chunks",
    "remember",
    "with_context",
    "without_model",
]

Ask = tuple[Literal["evidence", "predict", "judge"], tuple[Any, ...]]
"""What is wanted, and what it takes.

    evidence (find, claim, prompt, preceding)   the facts that bear on a claim, the most relevant first
    predict  (pairs,)                           a prediction for each (premise, hypothesis)
    judge    (questions,)                       a judge's verdict for each (claim, evidence)
"""
Judgement = Generator[Ask, Any, list[ClauseVerdict]]

CLAIM_QUESTION = "Does this state something?"
"""The premise with which the bundled model tells a claim from small talk: "supported" means that it is a claim."""
CONTEXT_END = " \u21d2 "
"""Separates the context in a hypothesis (what was asked and said before) from the claim to be judged."""
_MOST_CONTEXT = 400
"""Characters of a question that the model reads before a claim; of a longer question, its end."""
_SENTENCES_OF_CONTEXT = 2
"""As many as in the training data (`training.grounded`)."""
_NO_ARROWS = {0x21D2: "=>", 0x21CF: "=/>"}
"""Arrows in a text are spelled out, because the tokenizer reads both as the end of the context."""
MARGIN = 0.8
"""Probability with which one fact must entail a rewrite: more than what keeps a clause that the model wrote itself."""
_DOUBTFUL = 0.3
_LIKELY = 0.5
_UNSURE = 0.45
"""Contradiction of what is not clear, without the model: below every open profile's limit."""
_NEAREST = 5
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
    knows_claims: bool = False
    """The model answers `CLAIM_QUESTION`; otherwise word lists tell what is no claim."""
    knows_context: bool = False
    """The model reads a claim behind what was asked and said before it."""
    is_english: Callable[[str, Sequence[str]], bool] = lambda _text, _preceding: True
    """Whether rules and model speak the language of a text."""
    one_fact: bool = False
    """A claim must be entailed by one fact alone, with a margin: what is asked of a rewrite."""
    band: Band | None = None
    """Support for which a judge is asked; None if there is no judge."""
    doubt: Doubt = "reject"
    """What a clause is whose judge does not answer."""


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
    preceding: tuple[str, ...] = ()

    def is_contradicted_value(self, question: str) -> bool:
        """Whether it is a value of a JSON object that the facts give to something else."""
        clause = self.clause
        if not isinstance(clause, ValueClause):
            return False
        facts = [chunk.text for chunk in self.chunks]
        return compare_record(clause.label, clause.value, clause.siblings, question, facts) == "contradicted"


def judge_clauses(clauses: Sequence[Clause], said: list[str], circumstances: Circumstances) -> Judgement:
    """Return a verdict for each clause; `said` is what was said before them, and gets what these clauses say."""
    verdicts: list[ClauseVerdict | _Open] = []
    for clause in clauses:
        before = tuple(said[-REMEMBERED:])
        if isinstance(clause, ValueClause):
            before = tuple(f"{key}: {value}" for key, value in clause.siblings[-REMEMBERED:])
        if isinstance(clause, ValueClause) and clause.is_scalar:  # nothing that a later clause refers to
            verdicts.append((yield from _look_up(clause, _value(clause), before, circumstances)))
            continue
        claim = read_claim(clause.text, kind=clause.kind, preceding=before, question=circumstances.prompt)
        if claim.role == "claim":
            verdicts.append((yield from _look_up(clause, claim, before, circumstances)))
        else:
            verdicts.append(_kept(clause, claim.role, claim.text))
        if claim.role in {"claim", "question"}:  # "Shall we? That costs 15 EUR." is about what was asked
            remember(said, _remembered(clause, claim))
    waiting = [each for each in verdicts if isinstance(each, _Open)]
    weighed = yield from _judged(waiting, circumstances)
    told = yield from _without_asides(waiting, weighed, circumstances)
    ready = iter((yield from _escalated(waiting, told, circumstances)))
    return [next(ready) if isinstance(each, _Open) else each for each in verdicts]


def _is_scalar(clause: Clause) -> bool:
    return isinstance(clause, ValueClause) and clause.is_scalar


def _value(clause: ValueClause) -> Claim:
    """Return a number of a JSON object as what is looked up."""
    return Claim("claim", clause.text, read_once(clause.text), likely="claim")


def _remembered(clause: Clause, claim: Claim) -> str:
    """Return what a later clause may refer to: a question as it was asked, since a "Yes." may answer it."""
    return clause.text.strip() if claim.likely == "question" else claim.text


def _judged(waiting: Sequence[_Open], circumstances: Circumstances) -> Generator[Ask, Any, list[ClauseVerdict]]:
    """Return the verdicts on claims whose evidence is known."""
    asked = [bool(each.premises) and not _is_scalar(each.clause) for each in waiting]
    opinions: list[list[Opinion]] | None = None
    if circumstances.use_model and any(asked):
        opinions = yield from _opinions(list(itertools.compress(waiting, asked)))
        if opinions is None:
            return [_failed(each, "model_error") for each in waiting]
    rest = iter(opinions or ())
    said = [next(rest, None) if is_asked else None for is_asked in asked]
    found = [
        _compared(each, circumstances)
        if _is_scalar(each.clause)
        else _weighed(each, alone, circumstances)
        if each.premises
        else _without_evidence(each, circumstances)
        for each, alone in zip(waiting, said, strict=True)
    ]
    if circumstances.knows_context and not circumstances.one_fact:
        again = {
            place: (each, alone, text)
            for place, (each, alone, verdict) in enumerate(zip(waiting, said, found, strict=True))
            if alone
            and verdict.verdict == "unsupported"
            and verdict.contradiction != 1.0
            and (text := with_context(each.claim.text, circumstances.prompt, each.preceding))
        }
        for place, verdict in (yield from _judged_in_context(again, circumstances)):
            found[place] = verdict
    return found


def _judged_in_context(
    again: Mapping[int, tuple[_Open, list[Opinion], str]], circumstances: Circumstances
) -> Generator[Ask, Any, list[tuple[int, ClauseVerdict]]]:
    """Judge claims again that had no support by themselves: "Yes, he may." means something only as an answer."""
    pairs = [(premise, text) for each, _, text in again.values() for premise in each.premises]
    answer = (yield from _predicted(pairs)) if pairs else []
    if answer is None:
        return [(place, _failed(each, "model_error")) for place, (each, _, _) in again.items()]
    rest, found = iter(answer), []
    for place, (each, alone, _) in again.items():
        opinions = more_supportive(alone, itertools.islice(rest, len(each.premises)))
        found.append((place, _weighed(each, opinions, circumstances)))
    return found


def more_supportive(alone: Iterable[Opinion], in_context: Iterable[Opinion]) -> list[Opinion]:
    """Return for each premise the opinion that supports a claim more: on the claim alone, or in its context."""
    pairs = zip(alone, in_context, strict=True)
    return [first if first.supported >= second.supported else second for first, second in pairs]


def with_context(claim: str, question: str, preceding: Sequence[str]) -> str:
    """Return a claim with what was asked and said before it, as the model reads both; "" if there is no context."""
    asked = " ".join(question[-_MOST_CONTEXT:].split())
    context = " ".join(text for text in (asked, *(each.strip() for each in preceding[-_SENTENCES_OF_CONTEXT:])) if text)
    return f"{_without_arrows(context)}{CONTEXT_END}{_without_arrows(claim)}" if context else ""


def _without_arrows(text: str) -> str:
    return text.translate(_NO_ARROWS)


def _compared(each: _Open, circumstances: Circumstances) -> ClauseVerdict:
    """Return the verdict on a number of a JSON object: what no fact contradicts is a parameter, and stays."""
    kept = _kept(each.clause, "parameter", "")
    if not each.is_contradicted_value(circumstances.prompt):
        return kept
    return dataclasses.replace(
        kept,
        role="claim",
        verdict="unsupported",
        reason="contradicted",
        coherence=0.0,
        support=0.0,
        contradiction=1.0,
        chunks=each.chunks,
    )


_ASIDES: Final = frozenset({"greeting", "question", "offer", "heading", "connective", "hedge"})
"""What word lists take for no claim. An instruction is none of them: "Take two tablets." advises."""
_SURELY_NONE: Final = 0.2
"""Probability of "no claim" from which on a clause is exempt.

Chosen on the held-out twelfth of training/claims: 96 % of what states nothing is exempt, and 9 % of what states
something, most of it opinions and promises without a value."""
_LIKELY_NONE: Final = 0.1
"""The same for clauses whose shape says as much: questions about what the user wants, and whom to ask.

Of 39 referrals in training/claims that also state something, none gets as much."""
_DENIES: Final = re.compile(r"\b(?:know|aware|heard?|think|see) of (?:any|no)\b", re.IGNORECASE)
"""Denies that there is such a thing, in the words of somebody who does not know: "I'm not aware of any risk."."""
_SMALL: Final = 12
"""Counts up to here may belong to a phrase: "Two things:"."""


def _without_asides(
    waiting: Sequence[_Open], verdicts: Sequence[ClauseVerdict], circumstances: Circumstances
) -> Generator[Ask, Any, list[ClauseVerdict]]:
    """Exempt unsupported clauses that state nothing: sympathy, limits of the speaker, questions, offers of help.

    Only what would not be released is asked about, so supported clauses cost nothing more.
    """
    found = list(verdicts)
    places = [
        place
        for place, (each, verdict) in enumerate(zip(waiting, verdicts, strict=True))
        if verdict.verdict == "unsupported"
        and not circumstances.one_fact
        and _may_state_nothing(each, verdict, circumstances)
    ]
    if not circumstances.knows_claims:
        exempt = [place for place in places if waiting[place].claim.likely in _ASIDES]
    else:
        pairs = [(CLAIM_QUESTION, waiting[place].clause.text.strip()) for place in places]
        opinions = (yield from _predicted(pairs)) if pairs else []
        if opinions is None:
            return [_failed(each, "model_error") if at in places else found[at] for at, each in enumerate(waiting)]
        exempt = [
            place
            for place, opinion in zip(places, opinions, strict=True)
            if 1.0 - opinion.supported >= _least_none(waiting[place])
        ]
    for place in exempt:
        likely = waiting[place].claim.likely
        role = likely if likely in _ASIDES else "aside"
        found[place] = _kept(waiting[place].clause, role, found[place].claim if role == "question" else "")
    return found


def _escalated(
    waiting: Sequence[_Open], verdicts: Sequence[ClauseVerdict], circumstances: Circumstances
) -> Generator[Ask, Any, list[ClauseVerdict]]:
    """Ask the judge about the clauses that the bundled model is not sure of, all of them in one question."""
    band, found = circumstances.band, list(verdicts)
    if band is None:
        return found
    places = [
        place
        for place, verdict in enumerate(verdicts)
        if needs_judge(verdict, band)
        # A rewrite that the bundled model accepts needs no judge, and none can make a differing value right.
        and not (circumstances.one_fact and (verdict.differences or verdict.verdict == "supported"))
    ]
    if not places:
        return found
    questions = [
        (waiting[place].claim.text, _grounds(waiting[place], verdicts[place], circumstances)) for place in places
    ]
    try:
        answers = read_judge_verdicts((yield "judge", (questions,)), len(places))
    except BaseException as error:
        if must_pass(error):
            raise
        answers = [None] * len(places)
    # A rewrite that no judge confirms is what the bundled model makes of it: rejecting it would be no safer.
    doubt = "model" if circumstances.one_fact else circumstances.doubt
    for place, answer in zip(places, answers, strict=True):
        found[place] = judged_by(found[place], answer, policy=circumstances.policy, doubt=doubt)
    return found


def _grounds(each: _Open, verdict: ClauseVerdict, circumstances: Circumstances) -> tuple[EvidenceChunk, ...]:
    """Return what the judge is shown: all that was found, or for a rewrite the one fact that must entail it."""
    return each.chunks[verdict.source : verdict.source + 1] if circumstances.one_fact else each.chunks


def _least_none(each: _Open) -> float:
    """Return the probability of "no claim" that a clause needs to be exempt."""
    text = each.clause.text.strip()
    is_offer = each.claim.likely == "question" and OFFER.match(text)
    return _LIKELY_NONE if is_offer or REFERRAL.match(text) else _SURELY_NONE


def _may_state_nothing(each: _Open, verdict: ClauseVerdict, circumstances: Circumstances) -> bool:
    """Whether no value and no name speaks against it: those are always judged, whatever stands around them."""
    reading = each.claim.reading
    if reading is None or verdict.contradiction == 1.0 or _DENIES.search(each.claim.text):
        return False
    known = [_read(premise) for premise in (*each.premises[:1], circumstances.prompt) if premise]
    is_question = each.claim.likely == "question"
    for placed in reading.placed:
        slot = placed.slot
        if slot.kind not in VALUE_KINDS or (slot.kind == "number" and _is_small(slot)):
            continue
        if not is_question or not any(text.has_value(slot) for text in known):
            return False
    if each.claim.likely == "greeting":
        return each.claim.text == visible(each.clause.text[slice(*body_of(each.clause.text))])  # not a "Yes."
    vocabulary = set().union(*(text.vocabulary for text in known))
    return all(set(str(name.slot.value).lower().split()) & vocabulary for name in reading.names)


def _is_small(slot: Slot) -> bool:
    return isinstance(slot.value, Interval) and slot.value.high <= _SMALL and slot.unit not in MEASURES


def without_model(clauses: Sequence[Clause]) -> Judgement:
    """Return verdicts where the model is required and cannot be used: whatever states something was not judged."""
    verdicts = []
    for clause in clauses:
        claim = read_claim(clause.text, kind=clause.kind)
        is_claim = claim.role == "claim"
        verdicts.append(
            _failed(_Open(clause, claim, (), []), "model_unavailable")
            if is_claim
            else _kept(clause, claim.role, claim.text)
        )
    yield from ()  # a plan without questions
    return verdicts


def remember(said: list[str], claim: str) -> None:
    """Add to what was said what may say what the next clause is about."""
    if claim:
        said.append(claim)
        del said[:-REMEMBERED]


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
    opened = _Open(clause, claim, chunks, premises_of(chunks, alone=circumstances.one_fact), preceding)
    if _is_scalar(clause) or circumstances.is_english(claim.text, preceding):
        return opened
    return _not_english(opened, circumstances)


def _not_english(each: _Open, circumstances: Circumstances) -> ClauseVerdict:
    """Return the verdict on a clause in a language that neither rules nor model speak: only a fact's own words pass."""
    said = " ".join(each.claim.text.casefold().split()).strip(" .!?")
    if said and any(said in " ".join(chunk.text.casefold().split()) for chunk in each.chunks):
        return dataclasses.replace(
            _failed(each, "entailed"), verdict="supported", coherence=1.0, support=1.0, chunks=each.chunks
        )
    is_open = circumstances.policy == "open"
    return dataclasses.replace(_failed(each, "language_not_supported"), coherence=1.0 if is_open else 0.0)


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
    opinions = yield from _predicted(
        [(premise, _without_arrows(each.claim.text)) for each in waiting for premise in each.premises]
    )
    if opinions is None:
        return None
    rest = iter(opinions)
    return [list(itertools.islice(rest, len(each.premises))) for each in waiting]


def _predicted(pairs: list[tuple[str, str]]) -> Generator[Ask, Any, list[Opinion] | None]:
    try:
        answer = yield "predict", (pairs,)
    except BaseException as error:
        if must_pass(error):
            raise
        return None
    return read_opinions(answer, len(pairs))


def _weighed(each: _Open, opinions: list[Opinion] | None, circumstances: Circumstances) -> ClauseVerdict:
    assert each.claim.reading is not None  # noqa: S101 - a claim was read
    if circumstances.one_fact:
        weighed, best = _weigh_alone(each, opinions)
    else:
        weighed = weigh(each.claim.reading, _read(each.premises[0]), opinions)
        best = max(range(len(weighed.singles)), key=lambda at: weighed.singles[at].supported, default=0)
        weighed = _settle(each, weighed, circumstances)
    verdict, reason, coherence = verdict_of(weighed, policy=circumstances.policy, threshold=circumstances.threshold)
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


def _weigh_alone(each: _Open, opinions: list[Opinion] | None) -> tuple[Weighed, int]:
    """Return what the one fact says that supports a claim best, and which it is."""
    assert each.claim.reading is not None  # noqa: S101 - a claim was read
    found = []
    for place, premise in enumerate(each.premises):
        opinion = [opinions[place]] if opinions else None
        weighed = weigh(each.claim.reading, _read(premise), opinion)
        is_sure = not weighed.differences and (opinion is None or opinion[0].supported >= MARGIN)
        found.append(weighed if is_sure else dataclasses.replace(weighed, support=min(weighed.support, _DOUBTFUL)))
    best = max(range(len(found)), key=lambda at: found[at].support)
    return found[best], best


def _settle(each: _Open, weighed: Weighed, circumstances: Circumstances) -> Weighed:
    """Return what was weighed with what no model can outvote: another value of just what the claim speaks of.

    Without the model, that is also all that counts as a contradiction under the open policy.
    """
    claim = each.claim.reading
    assert claim is not None  # noqa: S101 - a claim was read
    facts = [_read(chunk.text) for chunk in each.chunks[:_NEAREST]]
    if any(exchanges(claim, fact) for fact in facts):
        return overrule(weighed)
    if each.is_contradicted_value(circumstances.prompt):
        return overrule(weighed)
    if is_out_of_order(each.clause.text, each.preceding, [fact.t.text for fact in facts], circumstances.prompt):
        return overrule(weighed)
    if weighed.differences:
        context = _topic_of(circumstances.prompt)
        strictly = circumstances.policy == "open" and _said_to_contradict(weighed) < _LIKELY
        if any(_is_contradicted(claim, fact, context, strictly=strictly) for fact in facts):
            return overrule(weighed)
    if circumstances.policy == "closed":
        return weighed
    if weighed.opinion is None or not any(knows_subject(claim, fact) for fact in facts):
        return dataclasses.replace(weighed, contradiction=min(weighed.contradiction, _UNSURE))
    return weighed


def _said_to_contradict(weighed: Weighed) -> float:
    """Return the highest probability that the model gives to a contradiction."""
    return max((opinion.contradicted for opinion in (weighed.opinion, *weighed.singles) if opinion), default=0.0)


def _is_contradicted(claim: Reading, fact: Reading, context: frozenset[str], *, strictly: bool) -> bool:
    """Whether a fact gives another value of what the claim speaks of.

    `strictly`: the claim or the question must also name all that the fact's value is a value of. "The fee is 5 EUR" may
    be about another fee than "the monthly fee of the Basic account".
    """
    differences = compare_readings(claim, fact)
    return any(
        contradicts(claim, each, fact, others=[other for other in differences if other is not each], context=context)
        and (not strictly or covers(claim, each, fact, context))
        for each in differences
    )


@functools.lru_cache(maxsize=64)
def _topic_of(prompt: str) -> frozenset[str]:
    asked = Reading(prompt[:2_000])
    return frozenset(word for sentence in range(len(asked.topics)) for word in content_words(asked, sentence))


def _kept(clause: Clause, role: ClauseRole, claim: str) -> ClauseVerdict:
    return ClauseVerdict(
        clause=clause.text,
        start=clause.start,
        role=role,
        verdict="not_a_claim",
        reason="not_a_claim",
        coherence=1.0,
        claim=claim if role == "question" else "",
    )


def _without_evidence(each: _Open, circumstances: Circumstances) -> ClauseVerdict:
    """The knowledge base is silent: that is no support, and under the open policy no objection either."""
    is_open = circumstances.policy == "open"
    return ClauseVerdict(
        clause=each.clause.text,
        start=each.clause.start,
        role="claim",
        verdict="unverified" if is_open else "unsupported",
        reason="no_evidence",
        coherence=1.0 if is_open else 0.0,
        claim=each.claim.text,
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
