"""The playground: facts and an answer of one's own, judged at once or as a stream; nothing of it is kept."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import StreamingResponse

from director_ai.core.identifiers import is_ref
from director_ai.core.showing.stretches import compare_texts
from director_ai.core.showing.words import figure, outcome_of, why
from director_ai.demo_bank import ANSWER, FACTS, PROFILE, QUESTION
from director_ai.errors import DirectorError, PayloadError
from director_ai.guard import ProductionGuard
from director_ai.profiles import PROFILES
from director_ai.serve.page.judging import Judged, JudgedClause
from director_ai.serve.sse import write_event

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from starlette.responses import Response

    from director_ai.core.repair.record import ClauseAction, RepairResult
    from director_ai.serve.page.desk import Visit

__all__ = ["check_answer", "parse_facts", "show_playground", "stream_answer"]

MOST_FACTS: Final = 200
MOST_CHARACTERS: Final = 20_000
SLOWEST: Final = 0.04
LONGEST: Final = 15.0
"""Seconds between two tokens at most, and for all of them."""
_PIECE: Final = re.compile(r"\s*\w{1,6}|\s*[^\w\s]|\s+")
EXAMPLE: Final = {
    "profile": PROFILE,
    "judge": "model",
    "prompt": QUESTION,
    "facts": "\n".join(f"{key}: {fact}" for key, fact in FACTS.items()),
    "answer": ANSWER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What somebody wants to see judged."""

    profile: str
    judge: str
    """"model" or "heuristic"."""
    prompt: str
    facts: dict[str, str]
    answer: str

    @classmethod
    def of(cls, form: dict[str, str]) -> Trial:
        """Return the trial of a form, or refuse it."""
        profile, judge, answer = form.get("profile", ""), form.get("judge", ""), form.get("answer", "")
        if profile not in PROFILES or judge not in {"model", "heuristic"}:
            raise PayloadError("choose one of the profiles, and the model or the heuristic")
        if not answer.strip():
            raise PayloadError("there is no answer to judge")
        for name in ("answer", "facts", "prompt"):
            if len(form.get(name, "")) > MOST_CHARACTERS or "\0" in form.get(name, ""):
                raise PayloadError(f"the {name} must be at most {MOST_CHARACTERS} characters without NUL")
        facts = parse_facts(form.get("facts", ""))
        return cls(profile=profile, judge=judge, prompt=form.get("prompt", ""), facts=facts, answer=answer)

    def guard(self) -> ProductionGuard:
        """Return a guard that knows these facts and forgets them with this trial."""
        uses_model = self.judge == "model"
        guard = ProductionGuard.from_profile(
            self.profile, use_nli=uses_model, search="meaning" if uses_model else "words", metrics=False
        )
        if self.facts:
            guard.load_facts(self.facts)
        return guard


def parse_facts(text: str) -> dict[str, str]:
    """Return the facts of a text, one on each line; an id may stand before it, as in `id: fact`."""
    facts: dict[str, str] = {}
    for number, line in enumerate(filter(None, map(str.strip, text.splitlines())), 1):
        key, separator, fact = line.partition(": ")
        if not separator or not is_ref(key) or not fact.strip():
            key, fact = f"fact-{number}", line
        if key in facts:
            raise PayloadError(f"two facts have the same id, on line {number}")
        facts[key] = fact.strip()
    if len(facts) > MOST_FACTS:
        raise PayloadError(f"at most {MOST_FACTS} facts can be tried")
    return facts


async def show_playground(visit: Visit) -> Response:
    """Show the form with an example in it."""
    return _page(visit, EXAMPLE)


def _page(visit: Visit, form: dict[str, str], status: int = 200, **values: Any) -> Response:
    shown = {name: form.get(name, "") for name in EXAMPLE}
    told = {"judged": None, "halt": "", "released": "", "trouble": ""} | values
    return visit.render("playground.html", status, trial=shown, profiles=sorted(PROFILES), **told)


async def check_answer(visit: Visit) -> Response:
    """Judge an answer at once and show what the guard makes of it."""
    try:
        trial = Trial.of(visit.form)
        async with visit.desk.trials:
            result, threshold = await asyncio.to_thread(_repaired, trial)
    except DirectorError as error:
        return _page(visit, visit.form, 400, trouble=f"{str(error)[:1].upper()}{str(error)[1:]}.")
    judged = Judged(clauses=tuple(map(clause_of, result.actions)), threshold=threshold)
    return _page(visit, visit.form, judged=judged, halt=result.halt_reason, released=result.repaired_text)


def _repaired(trial: Trial) -> tuple[RepairResult, float]:
    with trial.guard() as guard:
        return guard.repair_stream(trial.prompt, trial.answer), guard.profile.repair.threshold


def clause_of(action: ClauseAction) -> JudgedClause:
    """Return what became of a clause as the timeline shows it."""
    says_nothing = action.verdict == "not_a_claim" and not action.changed
    return JudgedClause(
        stretches=compare_texts(action.clause, action.text),
        kind="nothing" if says_nothing else action.action,
        outcome=outcome_of(action),
        reason=action.reason,
        support=action.support,
        evidence_ids=action.evidence_ids[:3],
    )


async def stream_answer(visit: Visit) -> Response:
    """Feed an answer to the guard token by token, and send what comes out as it may be shown."""
    trial = Trial.of(visit.form)
    events = _events(trial, visit.desk.trials)
    headers = {"content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no"}
    return StreamingResponse(events, headers=headers)


async def _events(trial: Trial, turns: asyncio.Semaphore) -> AsyncIterator[bytes]:
    try:
        async with turns:
            guard = await asyncio.to_thread(trial.guard)
            with guard:
                async with aclosing(_watched(guard, trial)) as events:
                    async for event in events:
                        yield event
    except DirectorError as error:
        yield _event("failed", {"sentence": str(error)})


async def _watched(guard: ProductionGuard, trial: Trial) -> AsyncGenerator[bytes]:
    """Yield what the model says and what the guard lets out, in the order in which it happens."""
    waiting: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def tokens() -> AsyncIterator[str]:
        pieces = _PIECE.findall(trial.answer)
        pause = min(SLOWEST, LONGEST / max(1, len(pieces)))
        for piece in pieces:
            waiting.put_nowait(_event("token", {"text": piece}))
            await asyncio.sleep(pause)
            yield piece

    async def judge() -> None:
        try:
            async with guard.astream(trial.prompt, tokens()) as stream:
                async for piece in stream:
                    shown = [told_clause(clause_of(action)) for action in piece.actions]
                    waiting.put_nowait(_event("piece", {"text": piece.text, "clauses": shown}))
            result = stream.result
            waiting.put_nowait(_event("end", {"halted": result.halted, "reason": result.halt_reason}))
        finally:
            waiting.put_nowait(None)

    judging = asyncio.create_task(judge())
    try:
        while (event := await waiting.get()) is not None:
            yield event
        await judging
    finally:
        judging.cancel()
        await asyncio.gather(judging, return_exceptions=True)


def told_clause(clause: JudgedClause) -> dict[str, Any]:
    """Return a clause as the script of the page draws it."""
    return {
        "kind": clause.kind,
        "outcome": clause.outcome,
        "why": why(clause.reason),
        "support": figure(clause.support),
        "share": clause.support,
        "evidence": list(clause.evidence_ids[:1]),
        "stretches": [list(stretch) for stretch in clause.stretches],
    }


def _event(name: str, data: Any) -> bytes:
    return write_event(json.dumps(data), name)
