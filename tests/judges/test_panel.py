"""The budget, the cache and the figures of a judge."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from director_ai.core.scoring.escalation import JudgeVerdict
from director_ai.core.types import EvidenceChunk
from director_ai.errors import ConfigError
from director_ai.judges import JudgeBudget, Judgements, JudgePanel

YES = JudgeVerdict(supported=0.98, contradicted=0.01, neutral=0.01)


def questions(count: int) -> list[tuple[str, tuple[EvidenceChunk, ...]]]:
    return [(f"claim {number}", (EvidenceChunk(f"fact {number}", 0.0, "f"),)) for number in range(count)]


def panel_of(judge: Any, **budget: Any) -> JudgePanel:
    return JudgePanel(judge, band=(0.0, 1.0), budget=JudgeBudget(**budget))


def agrees(items: Sequence[Any]) -> Judgements:
    return Judgements([YES] * len(items), input_tokens=100, output_tokens=10)


def test_a_claim_with_the_same_evidence_is_asked_about_once() -> None:
    panel = panel_of(agrees)
    assert panel.session()(questions(2)) == [YES, YES]
    assert panel.session()(questions(3)) == [YES, YES, YES]
    assert (panel.usage.calls, panel.usage.clauses, panel.usage.cached) == (2, 5, 2)


def test_other_evidence_or_another_question_is_asked_about_again() -> None:
    panel = panel_of(agrees)
    (claim, _) = questions(1)[0]
    panel.session("What?")([(claim, (EvidenceChunk("fact 0", 0.0, "f"),))])
    panel.session("What?")([(claim, (EvidenceChunk("fact 1", 0.0, "f"),))])
    panel.session("Why?")([(claim, (EvidenceChunk("fact 1", 0.0, "f"),))])
    assert (panel.usage.calls, panel.usage.cached) == (3, 0)


def test_an_answer_has_so_many_calls_and_the_next_answer_has_as_many() -> None:
    panel = panel_of(agrees, calls=2, clauses_per_call=1)
    assert panel.session()(questions(4)) == [YES, YES, None, None]
    assert panel.session()(questions(4)) == [YES, YES, YES, YES]
    assert panel.usage.missed == 2


def test_the_call_that_exceeds_the_tokens_is_the_last_one() -> None:
    panel = panel_of(agrees, tokens=150, clauses_per_call=1)
    assert panel.session()(questions(3)) == [YES, YES, None]
    assert (panel.usage.input_tokens, panel.usage.output_tokens) == (200, 20)


def test_a_judge_that_takes_too_long_is_abandoned() -> None:
    leave = threading.Event()

    def hangs(items: Sequence[Any]) -> Any:
        leave.wait(20)
        return agrees(items)

    panel = panel_of(hangs, seconds=0.05, clauses_per_call=1)
    began = time.monotonic()
    assert panel.session()(questions(3)) == [None, None, None]
    assert time.monotonic() - began < 10  # it does not hang; how fast it is, no test says
    assert (panel.usage.calls, panel.usage.missed) == (1, 3)
    leave.set()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_late_asynchronous_judge_is_cancelled(backend: str) -> None:
    cancelled: list[bool] = []

    class Slow:
        def judge(self, items: Sequence[Any]) -> Any:
            raise AssertionError("the asynchronous form is there")

        async def ajudge(self, items: Sequence[Any]) -> Any:
            try:
                await anyio.sleep(60)
            except BaseException:
                cancelled.append(True)
                raise

    panel = panel_of(Slow(), seconds=0.05)
    assert anyio.run(panel.session().acall, questions(1), backend=backend) == [None]
    assert cancelled == [True]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_judge_of_the_outer_task_that_is_cancelled_passes_the_cancellation_on(backend: str) -> None:
    class Slow:
        def judge(self, items: Sequence[Any]) -> Any:
            raise AssertionError

        async def ajudge(self, items: Sequence[Any]) -> Any:
            await anyio.sleep(60)

    async def run() -> bool:
        with anyio.move_on_after(0.05) as scope:
            await panel_of(Slow()).session().acall(questions(1))
        return scope.cancelled_caught

    assert anyio.run(run, backend=backend)


def test_the_question_of_the_user_is_handed_to_a_judge_that_wants_it() -> None:
    told: list[str] = []

    def judge(items: Sequence[Any], *, question: str) -> Any:
        told.append(question)
        return agrees(items)

    panel_of(judge).session("How long?")(questions(1))
    assert told == ["How long?"]


def test_a_judge_that_leaves_one_claim_out_has_answered_the_others() -> None:
    panel = panel_of(lambda items: [YES, None])
    assert panel.session()(questions(2)) == [YES, None]
    assert panel.usage.missed == 1


@pytest.mark.parametrize(
    "wrong",
    [{"calls": -1}, {"seconds": 0}, {"seconds": float("nan")}, {"tokens": 1.5}, {"clauses_per_call": 0}],
    ids=repr,
)
def test_a_budget_that_cannot_be_right_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"judge_budget.{next(iter(wrong))}"):
        JudgeBudget(**wrong)


@pytest.mark.parametrize("band", [(0.9, 0.1), (0.1,), 0.5, ("a", "b"), (0.0, 2.0)], ids=repr)
def test_a_band_that_cannot_be_right_is_refused(band: Any) -> None:
    with pytest.raises(ConfigError, match="judge_band"):
        JudgePanel(agrees, band=band)


def test_threads_share_a_panel() -> None:
    panel = panel_of(agrees, calls=100)
    threads = [threading.Thread(target=lambda: panel.session()(questions(20))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    usage = panel.usage
    assert (usage.clauses, usage.missed) == (160, 0)
    assert usage.input_tokens == 100 * usage.calls
