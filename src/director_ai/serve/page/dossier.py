"""All that a reviewer needs to decide a case: verdicts, differences, evidence, what was not checked, proof."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.scoring.slots import compare_slots
from director_ai.core.showing.stretches import Stretch, compare_texts, mark_values
from director_ai.errors import DirectorError
from director_ai.serve.page.judging import guard_of, judge_text, recorded_clauses
from director_ai.serve.page.proof import prove
from director_ai.serve.page.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.core.scoring.slots import SlotDifference
    from director_ai.guard import ProductionGuard
    from director_ai.review.cases import ReviewCase
    from director_ai.serve.callers import Caller
    from director_ai.serve.page.judging import Judged
    from director_ai.serve.page.proof import Proof
    from director_ai.serve.page.serving import Serving

__all__ = ["Dossier", "Evidence", "differing_values", "gather"]

MOST_EVIDENCE: Final = 12
MOST_COMPARED: Final = 20_000
"""Characters of a text whose values are compared; what is longer is a document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One piece of evidence, and where an answer differs from it."""

    ref: str
    stretches: tuple[Stretch, ...] = ()
    """Its text, with the values marked that the answer has otherwise; empty where it is not shown."""
    missing: str = ""
    """Why it is not shown."""
    source: str = ""
    differences: tuple[tuple[str, str, str], ...] = ()
    """(kind, what the answer says, what the evidence says)."""
    settled: bool = False
    """Whether the proposed text no longer differs where the original one did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """A case with all that is known of it."""

    case: ReviewCase
    answer: Judged
    """Of what the model said, as recorded; or of the proposed text, judged now."""
    proposed: Judged
    changes: tuple[Stretch, ...]
    """From the original to the proposed text; empty where there is no original."""
    evidence: tuple[Evidence, ...]
    proof: Proof
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]


async def gather(server: Serving, caller: Caller, case: ReviewCase) -> Dossier:
    """Return the dossier of a case."""
    proof = asyncio.create_task(asyncio.to_thread(prove, server.queue, case))
    guard = guard_of(server, caller, case.tenant_id)
    prompt = case.metadata.get("prompt")
    proposed = await judge_text(
        guard, prompt if isinstance(prompt, str) else "", case.candidate_text or "", case.tenant_id
    )
    answer = recorded_clauses(case, proposed.threshold) or proposed
    refs = tuple(dict.fromkeys([*_cited(answer), *case.evidence_refs, *_cited(proposed)]))[:MOST_EVIDENCE]
    evidence = await asyncio.to_thread(_evidence, guard, caller, case, refs)
    proven = await proof
    checked, unchecked = _checks(case, answer, proposed, evidence, proven)
    return Dossier(
        case=case,
        answer=answer,
        proposed=proposed,
        changes=compare_texts(case.original_text, case.candidate_text or "") if case.original_text else (),
        evidence=evidence,
        proof=proven,
        checked=checked,
        unchecked=unchecked,
    )


def _cited(judged: Judged) -> Iterable[str]:
    """Yield the evidence of clauses that are not good, the nearest first."""
    return (ref for clause in judged.clauses if clause.kind in {"redact", "rewrite"} for ref in clause.evidence_ids[:1])


def _evidence(guard: ProductionGuard, caller: Caller, case: ReviewCase, refs: tuple[str, ...]) -> tuple[Evidence, ...]:
    if not caller.shows_evidence:
        return tuple(Evidence(ref=ref, missing="your key does not show the text of evidence") for ref in refs)
    found = [_one(guard, case, ref) for ref in refs]
    return tuple(sorted(found, key=lambda each: not each.differences))


def _one(guard: ProductionGuard, case: ReviewCase, ref: str) -> Evidence:
    try:
        find = guard.store.get
        fact = find(ref, case.tenant_id) or find(ref, "")
    except (AttributeError, DirectorError):
        return Evidence(ref=ref, missing="the knowledge base cannot be asked for it")
    known = fact.text if fact is not None else _kept_with(case).get(ref, "")
    if not known:
        return Evidence(ref=ref, missing="it is no longer in the knowledge base under this id")
    wrong = case.original_text or case.candidate_text or ""
    found = differing_values(wrong, known)
    still = differing_values(case.candidate_text or "", known)
    told = tuple((each.kind, each.claim.text, each.evidence.text if each.evidence else "") for each in found)
    marked = mark_values(known, [each.evidence for each in found if each.evidence is not None])
    return Evidence(
        ref=ref,
        stretches=marked,
        source=fact.source if fact is not None else "as it was when the case came in",
        differences=told,
        settled=bool(found) and not still,
    )


def differing_values(text: str, evidence: str) -> tuple[SlotDifference, ...]:
    """Return the values of a text that evidence contradicts; none where either is too long to be read here."""
    if len(text) > MOST_COMPARED or len(evidence) > MOST_COMPARED:
        return ()
    return compare_slots(text, evidence)


def _kept_with(case: ReviewCase) -> dict[str, str]:
    """Return the texts of evidence that came in with a case."""
    given = case.metadata.get("evidence")
    chunks = [each for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []
    return {str(each["id"]): str(each["text"]) for each in chunks if each.get("id") and each.get("text")}


def _checks(
    case: ReviewCase, answer: Judged, proposed: Judged, evidence: tuple[Evidence, ...], proof: Proof
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return in sentences what was checked, and what was not."""
    checked, unchecked = [], []
    if proposed.trouble:
        unchecked.append(f"The proposed text was not judged now: {proposed.trouble}.")
    elif proposed.clauses:
        good, bad = proposed.count("keep"), proposed.bad
        checked.append(f"The proposed text, against today's facts: {counted(good, 'clause')} supported, {bad} not.")
        states_nothing = proposed.count("nothing")
        if states_nothing:
            unchecked.append(f"{counted(states_nothing, 'clause')} without a claim: nothing in them can be looked up.")
        if proposed.count("open"):
            unchecked.append(f"{counted(proposed.count('open'), 'claim')} about which the knowledge base is silent.")
    if answer.count("unknown"):
        unchecked.append("Parts of the answer for which no verdict was recorded.")
    _consensus(case.guard_decision, checked, unchecked)
    hidden = sum(bool(each.missing) for each in evidence)
    if hidden:
        unchecked.append(f"{hidden} of {len(evidence)} pieces of evidence cannot be compared here.")
    if not evidence:
        unchecked.append("No evidence is named.")
    unchecked.append("Whether something is missing from the text: only what it says was looked at.")
    if proof.replay.identical:
        checked.append(
            f"The case, decided again from {counted(len(proof.rows), 'row')} of the trail: the same came out."
        )
    else:
        unchecked.append("The trail does not bear this case out; nothing of it can be released.")
    return tuple(checked), tuple(unchecked)


def _consensus(decision: dict[str, Any] | None, checked: list[str], unchecked: list[str]) -> None:
    if decision is None:
        unchecked.append("No consensus of verifiers: people alone decide about this text.")
        return
    risk = decision.get("risk")
    told = "no usable risk" if risk is None else f"risk {risk:.2f}"
    checked.append(f"Consensus of {counted(len(decision['signals']), 'verifier')}: {decision['decision']}, {told}.")
    unchecked += [
        f"Verifier {signal['verifier']} failed ({signal['failure_mode']}): its score supports nothing."
        for signal in decision["signals"]
        if signal["failure_mode"]
    ]
