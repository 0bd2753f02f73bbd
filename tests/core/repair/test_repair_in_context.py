"""A clause is judged beside what is shown before it, however many are judged at once, and few of them twice."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.clause_source import PlacedClause
from director_ai.core.repair.plan import Fate, Judge, Tools, repair_clauses
from director_ai.core.repair.setting import unsure_of
from director_ai.core.runtime.carrying import carry_out
from director_ai.core.scoring.coherence import ClauseVerdict, Verdict
from director_ai.core.scoring.judging import REMEMBERED, remember
from director_ai.core.segment import Clause
from director_ai.core.types import EvidenceChunk

FACT = (EvidenceChunk("The pool opens at nine.", 0.1, "pool"),)


class ContextJudge:
    """Gives verdicts that depend on the clause and on all that it was told was said before, and counts them."""

    def __init__(self) -> None:
        self.judged = 0

    def __call__(self, clauses: Sequence[Clause], said: list[str]) -> Any:
        yield from ()
        verdicts = []
        for clause in clauses:
            self.judged += 1
            verdict = _verdict(clause, tuple(said[-REMEMBERED:]))
            verdicts.append(verdict)
            remember(said, verdict.claim)
        return verdicts


def _verdict(clause: Clause, said: tuple[str, ...]) -> ClauseVerdict:
    kind, _, word = clause.text.rstrip(".").partition(" ")
    chance = zlib.crc32(repr((clause.text, said)).encode())
    words: dict[str, Verdict] = {"kept": "supported", "wrong": "unsupported", "blank": "not_a_claim"}
    verdict = words.get(kind) or ("supported", "unsupported")[chance % 2]  # type: ignore[index]
    return ClauseVerdict(
        clause=clause.text,
        start=clause.start,
        role="claim",
        verdict=verdict,
        reason="entailed",
        coherence=1.0 if verdict == "supported" else 0.0,
        claim="" if kind == "blank" else f"{word} after {chance}",
        chunks=FACT,
    )


def clauses_of(kinds: Sequence[str]) -> list[PlacedClause]:
    texts = [f"{kind} no. {place}." for place, kind in enumerate(kinds)]
    starts = [sum(map(len, texts[:place])) for place in range(len(texts))]
    return [
        PlacedClause(text=text, start=start, end=start + len(text)) for text, start in zip(texts, starts, strict=True)
    ]


def repaired(
    clauses: Sequence[PlacedClause], judge: Judge, said: list[str], *, rewrites: bool, unsure: Sequence[str] = ()
) -> list[Fate]:
    def act(kind: str, parts: tuple[Any, ...]) -> Any:
        assert kind == "rewrite"
        return [(True, [text.replace("wrong", "kept"), text.replace("either", "kept")]) for text, _ in parts[0]]

    return carry_out(repair_clauses(clauses, said, Tools(judge=judge, rewrites=rewrites), unsure=unsure), act)


KINDS = st.lists(st.sampled_from(["kept", "wrong", "blank", "either"]), max_size=24)


@given(kinds=KINDS, rewrites=st.booleans())
def test_many_clauses_fare_as_they_would_one_after_the_other(kinds: list[str], rewrites: bool) -> None:
    clauses, said = clauses_of(kinds), ["the pool"]
    one_by_one: list[Fate] = []
    for clause in clauses:
        unsure = [unsure_of(fate.action, fate.verdict.verdict, fate.clause.text) for fate in one_by_one[-REMEMBERED:]]
        one_by_one += repaired([clause], ContextJudge(), said, rewrites=rewrites, unsure=unsure)
    at_once = ["the pool"]
    assert repaired(clauses, ContextJudge(), at_once, rewrites=rewrites) == one_by_one
    assert at_once == said


@given(kinds=KINDS)
def test_a_clause_prepared_early_changes_nothing(kinds: list[str]) -> None:
    clauses = clauses_of([*kinds, "either"])
    expected = repaired(clauses, ContextJudge(), [], rewrites=True)
    (prepared,) = repaired(clauses[:1], ContextJudge(), [], rewrites=True)
    plan = repair_clauses(clauses, [], Tools(judge=ContextJudge(), rewrites=True), prepared)

    def act(_kind: str, parts: tuple[Any, ...]) -> Any:
        return [(True, [text.replace("wrong", "kept"), text.replace("either", "kept")]) for text, _ in parts[0]]

    assert carry_out(plan, act) == expected


@pytest.mark.parametrize("rewrites", [False, True], ids=["redacted", "rewritten"])
@pytest.mark.parametrize(
    "kinds",
    [["wrong"], ["wrong", "kept"], ["wrong", "kept", "kept", "kept"], ["either"], ["wrong", "blank", "blank"]],
    ids=["all", "every second", "every fourth", "depends on context", "beside blanks"],
)
def test_twice_the_clauses_cost_at_most_2_2_times_the_verdicts(kinds: list[str], rewrites: bool) -> None:
    def work(count: int) -> int:
        judge = ContextJudge()
        repaired(clauses_of(kinds * (count // len(kinds))), judge, [], rewrites=rewrites)
        return judge.judged

    few, many = work(240), work(480)
    assert many <= 2.2 * few
    assert few <= 6 * 240  # once with all the others, at most four times behind a change, once as a rewrite


def test_where_all_is_redacted_each_clause_is_judged_twice() -> None:
    judge = ContextJudge()
    repaired(clauses_of(["wrong"] * 100), judge, ["the pool"], rewrites=False)
    assert judge.judged <= 2 * 100


def test_where_nothing_is_changed_each_clause_is_judged_once() -> None:
    judge = ContextJudge()
    repaired(clauses_of(["kept", "blank"] * 50), judge, [], rewrites=True)
    assert judge.judged == 100
