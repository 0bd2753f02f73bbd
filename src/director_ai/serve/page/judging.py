"""What the guard of a tenant makes of a text, clause by clause; nothing of it is recorded."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.identifiers import is_ref, ref_of
from director_ai.core.showing.stretches import Stretch, compare_texts, mark_values, told
from director_ai.core.showing.words import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from director_ai.core.scoring.coherence import ClauseVerdict
    from director_ai.guard import ProductionGuard
    from director_ai.review.cases import ReviewCase
    from director_ai.serve.callers import Caller
    from director_ai.serve.page.serving import Serving

__all__ = ["Judged", "JudgedClause", "guard_of", "judge_text", "recorded_clauses"]

MOST_CHARACTERS: Final = 20_000
LONGEST_SECONDS: Final = 15.0
MOST_CLAUSES: Final = 500
_KINDS: Final = {
    "supported": "keep",
    "not_a_claim": "nothing",
    "unverified": "open",
    "unsupported": "redact",
    "not_evaluated": "redact",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedClause:
    """One clause on the timeline."""

    stretches: tuple[Stretch, ...]
    kind: str
    """keep, rewrite, redact, open, nothing, or unknown."""
    outcome: str
    reason: str = ""
    support: float | None = None
    evidence_ids: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(stretch.text for stretch in self.stretches)

    @property
    def shown(self) -> tuple[Stretch, ...]:
        """Its stretches without the empty lines behind them."""
        *others, last = self.stretches or (Stretch("same", ""),)
        return told([*others, last._replace(text=last.text.rstrip())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A text, judged."""

    clauses: tuple[JudgedClause, ...] = ()
    threshold: float = 0.5
    recorded: bool = False
    """Whether this is what was found on the stream; otherwise it was judged just now."""
    trouble: str = ""
    """Why there are no verdicts."""

    @property
    def bad(self) -> int:
        """How many clauses the guard would not show."""
        return sum(clause.kind in {"redact", "rewrite"} for clause in self.clauses)

    @property
    def is_sound(self) -> bool:
        """Whether the guard would show all of it as it is."""
        return bool(self.clauses) and not self.trouble and not self.bad

    def count(self, kind: str) -> int:
        """Return how many clauses are of a kind."""
        return sum(clause.kind == kind for clause in self.clauses)


def guard_of(server: Serving, caller: Caller, tenant_id: str) -> ProductionGuard:
    """Return the guard of a tenant."""
    return server.guarding(dataclasses.replace(caller, tenant_id=tenant_id), "", "").guard


async def judge_text(guard: ProductionGuard, prompt: str, text: str, tenant_id: str) -> Judged:
    """Judge a text by a guard; where that takes too long or fails, the reason stands in the place of verdicts."""
    threshold = guard.settings.repair_threshold
    limit = guard.profile.repair.threshold if threshold is None else threshold
    if len(text) > MOST_CHARACTERS:
        return Judged(threshold=limit, trouble=f"the text has more than {MOST_CHARACTERS} characters")
    judging = asyncio.to_thread(guard.scorer.judge, prompt, text, tenant_id)
    try:
        verdicts = await asyncio.wait_for(judging, LONGEST_SECONDS)
    except TimeoutError:
        return Judged(threshold=limit, trouble=f"it took more than {LONGEST_SECONDS:.0f} seconds")
    except Exception as error:  # noqa: BLE001 - a page that shows no verdicts says so
        return Judged(threshold=limit, trouble=f"the guard failed ({type(error).__name__})")
    return Judged(clauses=tuple(_clauses(verdicts, limit)), threshold=limit)


def _clauses(verdicts: Sequence[ClauseVerdict], limit: float) -> Iterable[JudgedClause]:
    for verdict in verdicts[:MOST_CLAUSES]:
        kind = _KINDS[verdict.verdict]
        if kind == "keep" and verdict.support is not None and verdict.support < limit:
            kind = "redact"
        slots = [] if kind in {"keep", "nothing"} else [difference.claim for difference in verdict.differences]
        yield JudgedClause(
            stretches=mark_values(verdict.clause, slots),
            kind=kind,
            outcome=verdict.verdict.replace("_", " "),
            reason=verdict.reason if verdict.is_claim else "not_a_claim",
            support=verdict.support,
            evidence_ids=tuple(dict.fromkeys(ref_of(chunk.source, chunk.text) for chunk in verdict.chunks))[:3],
        )


def recorded_clauses(case: ReviewCase, threshold: float) -> Judged | None:
    """Return what was recorded of the clauses when the case came in; None where nothing was, or it does not fit."""
    text, given = case.original_text or case.candidate_text or "", case.metadata.get("actions")
    if not isinstance(given, list) or not 0 < len(given) <= MOST_CLAUSES:
        return None
    spans = [_span(action, len(text)) for action in given]
    if any(span is None for span in spans):
        return None
    clauses: list[JudgedClause] = []
    last = 0
    for (start, end), action in sorted(zip(filter(None, spans), given, strict=True), key=lambda pair: pair[0]):
        if start < last:
            return None
        clauses += [*_unknown(text[last:start]), _recorded(text[start:end], action)]
        last = end
    rest = _unknown(text[last:], held_back=case.metadata.get("halted") is True)
    return Judged(clauses=(*clauses, *rest), threshold=threshold, recorded=True)


def _unknown(text: str, *, held_back: bool = False) -> list[JudgedClause]:
    """Return a stretch without a verdict; behind a halt it was held back."""
    if not any(map(str.isalnum, text)):  # blanks, and the marks of lists
        return []
    stretches = (Stretch("same", text),)
    if held_back:
        return [JudgedClause(stretches=stretches, kind="redact", outcome="held back", reason="the answer was halted")]
    return [JudgedClause(stretches=stretches, kind="unknown", outcome="no verdict recorded")]


def _span(action: object, length: int) -> tuple[int, int] | None:
    span = action.get("span") if isinstance(action, Mapping) else None
    if not isinstance(span, list) or len(span) != 2 or not all(type(place) is int for place in span):
        return None
    return (span[0], span[1]) if 0 <= span[0] < span[1] <= length else None


def _recorded(text: str, action: Mapping[str, Any]) -> JudgedClause:
    did, support = str(action.get("action", "")), action.get("support")
    names = OUTCOMES | {"halt": "halted"}
    kind = {"halt": "redact"}.get(did, did if did in names else "unknown")
    refs = action.get("evidence_ids")
    said, shown = action.get("clause"), action.get("text")
    whole = isinstance(said, str) and isinstance(shown, str) and text.strip() in said
    if action.get("verdict") == "not_a_claim" and did == "keep":
        kind, names = "nothing", names | {"keep": "no claim"}
    return JudgedClause(
        stretches=compare_texts(str(said), str(shown)) if whole else (Stretch("same", text),),
        kind=kind,
        outcome=names.get(did, "no verdict recorded"),
        reason=str(action.get("reason", ""))[:80],
        support=float(support) if isinstance(support, int | float) and 0 <= support <= 1 else None,
        evidence_ids=tuple(ref for ref in refs if is_ref(ref))[:3] if isinstance(refs, list) else (),
    )
