"""Follows one stream clause by clause: what waits to be judged, what was decided, and what is to be changed."""

from __future__ import annotations

import dataclasses
from collections import deque
from math import inf
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.borders import abbreviation
from director_ai.core.checks.following import Fix
from director_ai.core.checks.rules import Failure, Stop
from director_ai.core.clause_source import PlacedClause
from director_ai.core.merge import Edit, edits_between, moved
from director_ai.core.repair.plan import repair_clauses
from director_ai.core.repair.record import NAME, ClauseAction
from director_ai.core.repair.setting import Setting
from director_ai.core.scoring.claims import body_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from director_ai.core.checks.answers import Outcome
    from director_ai.core.clause_source import ClauseSource
    from director_ai.core.repair.plan import Fate, Plan, Tools
    from director_ai.core.repair.record import RepairRecord

__all__ = ["RepairFollower"]

_AT_ONCE: Final = 32
_MOST_AT_ONCE: Final = 4_000
"""Characters of clauses judged at once: long ones gain nothing by company, and behind a halt all of it was in vain."""
_TRIES: Final = 2
"""How often an open clause is judged early: what only looks complete must not be paid for many times."""
_MOSTLY: Final = 0.7
_TERMINATORS: Final = frozenset(".!?")


class RepairFollower:
    """One stream, from the place where it begins or was resumed."""

    name = NAME

    def __init__(self, source: ClauseSource, tools: Tools, record: RepairRecord, context: str, shown: int) -> None:
        self._source, self._tools, self._record = source, tools, record
        self._base = len(context)
        self._offset = shown - len(context)  # of the gate's places in all that was shown
        self._ready: deque[tuple[PlacedClause, float]] = deque()
        self._batch: list[tuple[PlacedClause, float]] = []
        self._plan: Plan[Any] | None = None
        self._asked: Any = None
        self._since = 0.0
        self._is_early = False
        self._prepared: tuple[str, Fate, float] | None = None
        self._fixes: list[Fix] = []
        self._tried: list[str] = []  # open texts that were judged early
        self._setting = Setting()
        self.stop: Stop | None = None
        self._take(source.feed(context) if context else [])

    # --- what the gate puts in --------------------------------------------------------------------------------

    def feed(self, text: str) -> None:
        """Take the next piece of the stream."""
        self._take(self._source.feed(text))

    def finish(self) -> None:
        """The stream is at its end."""
        self._take(self._source.finish())

    def _take(self, clauses: Sequence[PlacedClause]) -> None:
        if clauses:
            now = self._record.clock()
            words_end = [clause.place(len(clause.text.rstrip())) for clause in clauses]
            placed = [self._setting.place(clause) for clause in clauses]
            fresh = [clause for clause, end in zip(placed, words_end, strict=True) if end > self._base]
            self._ready.extend((clause, now) for clause in fresh)

    # --- what the gate reads ----------------------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether there is something to ask about."""
        return self.stop is None and bool(self._ready or self._batch)

    @property
    def decided(self) -> float:
        """All before this place was judged; behind a stop there is nothing left to say."""
        if self.stop is not None:
            return inf
        waiting = self._batch or self._ready
        return min(waiting[0][0].start if waiting else inf, self._source.settled)

    # --- asking -----------------------------------------------------------------------------------------------

    def ask(self) -> Any:
        """Return what it wants to know about the clauses that are complete."""
        while self._plan is None and self.pending:
            self._begin()
        return self._asked

    def ask_early(self) -> Any:
        """Return what it wants to know about an open clause that seems to be complete."""
        if self._plan is None:
            held = self._source.held.strip()
            if (
                not self._record.early
                or self.pending
                or self.stop
                or len(self._tried) >= _TRIES
                or held in self._tried
                or not _is_over(held)
            ):
                return None
            self._tried.append(held)
            self._is_early = True
            start = self._source.settled
            clause = self._setting.see(PlacedClause(text=held, start=start, end=start + len(held)))
            self._start(repair_clauses([clause], list(self._record.said), self._tools, unsure=self._record.unsure))
        return self._asked

    def _begin(self) -> None:
        size = 0
        while self._ready and len(self._batch) < _AT_ONCE and size < _MOST_AT_ONCE:
            self._batch.append(self._ready.popleft())
            size += len(self._batch[-1][0].text)
        self._is_early = False
        clauses = [clause for clause, _ in self._batch]
        prepared, spent = self._prepared_for(clauses[0])
        self._tried = []
        self._start(repair_clauses(clauses, list(self._record.said), self._tools, prepared, self._record.unsure), spent)

    def _prepared_for(self, clause: PlacedClause) -> tuple[Fate | None, float]:
        """Return what was prepared for a clause, if it is the one that was expected, and the time that it took."""
        prepared, self._prepared = self._prepared, None
        is_usual = clause.kind in {"prose", "item", "row"} and not clause.label
        if prepared is None or not is_usual or clause.text.strip() != prepared[0]:
            return None, 0.0
        _, fate, spent = prepared
        if (fate.clause.headings, fate.clause.preceding) != (clause.headings, clause.preceding):
            return None, 0.0
        verdict = dataclasses.replace(fate.verdict, clause=clause.text, start=clause.start)
        return fate._replace(clause=clause, verdict=verdict, body=body_of(clause.text)), spent

    def _start(self, plan: Plan[Any], spent: float = 0.0) -> None:
        self._plan, self._since = plan, self._record.clock() - spent
        self._advance(lambda: next(plan))

    def answer(self, outcome: Outcome) -> None:
        """Take the answer to what was asked last."""
        plan = self._plan
        assert plan is not None  # noqa: S101 - it asked
        answered, value = outcome
        if isinstance(value, GeneratorExit):
            value = RuntimeError("GeneratorExit")  # a function's own is a failure; thrown as it is, it closes the plan
        self._advance(lambda: plan.send(value) if answered else plan.throw(value))

    def take_fixes(self) -> list[Fix]:
        """Return what is to be changed, once."""
        fixes, self._fixes = self._fixes, []
        return fixes

    def overrule(self, removal: Edit) -> None:
        """A rewrite could not come about beside what other checks removed, or was not safe itself."""
        self._record.overrule(moved(removal, self._offset))

    def leave(self, released: int) -> None:
        """The stream is resumed behind what was released: clauses that were not will be judged again."""
        self._record.resume(released + self._offset)

    def _advance(self, step: Callable[[], Any]) -> None:
        """Go on with the plan to its next question, or decide by what it came to."""
        try:
            self._asked = step()
        except StopIteration as end:
            self._plan, self._asked = None, None
            if self._is_early:
                self._prepared = self._tried[-1], end.value[0], self._record.clock() - self._since
            else:
                self._decide(end.value)

    # --- deciding ---------------------------------------------------------------------------------------------

    def _decide(self, fates: Sequence[Fate]) -> None:
        batch, self._batch = self._batch, []
        spent = (self._record.clock() - self._since) / len(fates)
        for fate, (clause, arrived) in zip(fates, batch, strict=True):
            action = self._action(fate, spent)
            self._record.judged += 1
            if action.action == "redact" and self._is_ruin(action, clause):
                return
            if action.changed:
                removal = _removal(fate, self._record.placeholder)
                edits = (removal,) if action.action == "redact" else _edits(fate)
                self._fixes.append(Fix(edits, removal, clause.written(fate.text) if fate.text else ""))
                action = dataclasses.replace(action, edits=tuple(moved(edit, self._offset) for edit in edits))
            self._record.add(action, arrived, fate.said)
            if action.action == "rewrite" and self._record.continuations > 0:
                self._record.continuations -= 1
                end = clause.place(fate.body[1])
                failure = Failure(check=NAME, action="reask", reason=action.reason, start=clause.start, end=end)
                self.stop = Stop(end, "reask", failure)
                return

    def _action(self, fate: Fate, spent: float) -> ClauseAction:
        text, (start, end) = fate.clause.text, fate.body
        placeholder = "null" if fate.clause.is_scalar else self._record.placeholder
        put = {"keep": text[start:end], "rewrite": fate.text, "redact": placeholder}[fate.action]
        return ClauseAction(
            action=fate.action,
            clause=text,
            text=text[:start] + put + text[end:],
            start=fate.clause.place(start) + self._offset,
            end=fate.clause.place(end) + self._offset,
            verdict=fate.verdict.verdict,
            reason=fate.verdict.reason,
            detail=fate.detail,
            mode=fate.verdict.mode,
            support=fate.verdict.support,
            rewritten_support=fate.rewritten.support if fate.rewritten else None,
            evidence=fate.evidence,
            differences=fate.verdict.differences,
            escalated=fate.verdict.escalated,
            scoring_seconds=spent,
        )

    def _is_ruin(self, action: ClauseAction, clause: PlacedClause) -> bool:
        """Count a redaction; halt where it would be one too many."""
        record = self._record
        record.redacted += 1
        if not record.cap.is_exceeded(record.redacted, record.judged):
            return False
        reason = f"too_many_redactions count={record.redacted} judged={record.judged}"
        if record.cap.count == 0:
            reason = f"unsupported_clause why={action.reason}"
        failure = Failure(check=NAME, action="halt", reason=reason, start=clause.start, end=clause.end)
        self.stop = Stop(clause.start, "halt", failure)
        record.halt(reason, action)
        return True


def _is_over(held: str) -> bool:
    """Whether an open clause seems to be at its end."""
    if held[-1:] not in _TERMINATORS or " " not in held:
        return False
    return held[-1] != "." or not abbreviation(held.rsplit(maxsplit=1)[-1][:-1])


def _removal(fate: Fate, placeholder: str) -> Edit:
    clause, (start, end) = fate.clause, fate.body
    return Edit(
        clause.place(start), clause.place(end), clause.written(placeholder), "remove", NAME, fate.verdict.reason
    )


def _edits(fate: Fate) -> tuple[Edit, ...]:
    """Return a rewrite as edits of the words that differ, or of the whole clause where most of them do."""
    clause, (start, end) = fate.clause, fate.body
    said, reason = clause.text[start:end], fate.verdict.reason
    edits = edits_between(said, fate.text, check=NAME, reason=reason)
    if edits and edits[-1].start == len(said):  # what is added at the end must not be left out where a release ends
        edits = (*edits[:-1], Edit(len(said) - 1, len(said), said[-1] + edits[-1].replacement, "rewrite", NAME, reason))
    if sum(edit.end - edit.start for edit in edits) > _MOSTLY * len(said):
        edits = (Edit(0, len(said), fate.text, "rewrite", NAME, reason),)
    return tuple(
        Edit(
            clause.place(start + edit.start),
            clause.place(start + edit.end),
            clause.written(edit.replacement),
            "rewrite",
            NAME,
            reason,
        )
        for edit in edits
    )
