"""The parts of the page: evidence, recorded verdicts, figures, plots."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from director_ai.core.repair.record import ClauseAction
from director_ai.core.showing.stretches import compare_texts
from director_ai.errors import PayloadError
from director_ai.record.metrics import RepairMetrics
from director_ai.review.queue import HumanReviewQueue
from director_ai.serve.callers import Caller
from director_ai.serve.open_streams import OpenStreams
from director_ai.serve.page.counting import count_states, failing_facts, waiting_cases
from director_ai.serve.page.dossier import differing_values
from director_ai.serve.page.judging import JudgedClause, recorded_clauses
from director_ai.serve.page.playground import parse_facts
from director_ai.serve.page.plots import draw_bars, draw_lines, milliseconds
from director_ai.serve.page.reach import chosen_tenant, own_tenant
from director_ai.serve.page.samples import Samples, quantile
from director_ai.serve.page.wording import age_of, counted, seconds, title_of

# --- evidence -------------------------------------------------------------------------------------------------


def test_values_of_a_document_are_not_compared() -> None:
    assert len(differing_values("Refunds are available within 90 days.", "Refunds are available within 30 days.")) == 1
    assert differing_values("x" * 30_000, "Refunds are available within 30 days.") == ()


def test_empty_lines_behind_a_clause_are_not_drawn() -> None:
    clause = JudgedClause(stretches=compare_texts("It is 3.\n\n", "It is 2.\n\n"), kind="rewrite", outcome="rewritten")
    assert [text for _, text in clause.shown] == ["It is ", "3", "2", "."]
    assert clause.text == "It is 32.\n\n"
    assert JudgedClause(stretches=(), kind="keep", outcome="kept").shown == ()


# --- recorded verdicts ----------------------------------------------------------------------------------------


def case_with(actions: object, text: str = "One. Two."):
    with HumanReviewQueue() as queue:
        return queue.enqueue_case(candidate_text=text, metadata={"actions": actions})


@pytest.mark.parametrize(
    "actions",
    [
        None,
        [],
        "x",
        [None],
        [{"span": [0, 99]}],
        [{"span": [3, 1]}],
        [{"span": ["0", 4]}],
        [{"span": [0, 4]}, {"span": [2, 6]}],
        [{"span": [0, 4]}, {}],
    ],
)
def test_verdicts_that_do_not_fit_the_text_are_not_shown(actions: object) -> None:
    assert recorded_clauses(case_with(actions), 0.5) is None


def test_recorded_verdicts_cover_the_text() -> None:
    actions = [{"span": [0, 4], "action": "keep", "support": 0.9, "evidence_ids": ["kb:1", "not a ref"]}]
    judged = recorded_clauses(case_with(actions), 0.5)
    assert judged is not None
    assert [(clause.text, clause.kind) for clause in judged.clauses] == [("One.", "keep"), (" Two.", "unknown")]
    assert judged.clauses[0].evidence_ids == ("kb:1",)
    assert not judged.bad


# --- whose ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tenant", "scopes", "sees"),
    [("acme", {"reviewer"}, "acme"), ("acme", {"admin"}, "acme"), ("", {"reviewer"}, ""), ("", {"admin"}, None)],
)
def test_only_an_operator_sees_more_than_one_tenant(tenant: str, scopes: set[str], sees: str | None) -> None:
    caller = Caller(caller_id="x", tenant_id=tenant, scopes=frozenset(scopes))
    assert own_tenant(caller) == sees
    assert chosen_tenant(caller, "globex") == ("globex" if sees is None else sees)


# --- figures --------------------------------------------------------------------------------------------------


def test_figures_are_read_from_the_registry() -> None:
    registry = CollectorRegistry()
    metrics, samples = RepairMetrics(registry), Samples(OpenStreams(), registry, clock=lambda: 1.0)
    samples.take()
    clause = {"clause": "x", "text": "x", "start": 0, "end": 1, "verdict": "supported", "reason": "entailed"}
    for held in (0.001, 0.002, 0.4):
        metrics.count(ClauseAction(action="keep", scoring_seconds=0.002, held_seconds=held, **clause))
    last = samples.take()
    assert last.actions == {"keep": 3.0, "rewrite": 0.0, "redact": 0.0}
    assert 0.001 <= (quantile(last.held, 0.5) or 0) <= 0.0025
    assert 0.25 <= (quantile(last.held, 0.99) or 0) <= 0.5
    assert quantile(samples.latest()[0].held, 0.5) is None
    assert quantile((), 0.5) is None


def test_the_ring_forgets_what_is_old_and_ends_when_told() -> None:
    samples = Samples(OpenStreams(), CollectorRegistry())
    for _ in range(500):
        samples.take()
    assert len(samples) == 361
    newest = samples.latest()[-1]
    samples.keep_fresh()
    assert samples.latest()[-1] is newest

    async def follow() -> int:
        samples.begin()
        samples.begin()
        await asyncio.sleep(0)
        running = len(asyncio.all_tasks())
        samples.end()
        return running

    assert asyncio.run(follow()) == 2


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=80))
def test_plots_stay_inside_their_frame(values: list[tuple[float, float]]) -> None:
    times = [float(n) for n in range(len(values))]
    bars = draw_bars([-1.0, *times], {"keep": [a for a, _ in values], "redact": [b for _, b in values]}, "")
    lines = draw_lines(times, {"p50": [a for a, _ in values]}, "")
    for bar in bars.bars:
        assert bars.left - 1 <= bar.x <= bars.right
        assert 0 <= bar.y <= bars.floor + 0.1
    for line in lines.lines:
        for x, y in line.dots:
            assert lines.left <= x <= lines.right
            assert 0 <= y <= lines.floor + 0.1


def test_a_line_has_a_gap_where_nothing_was_measured() -> None:
    plot = draw_lines([0, 1, 2, 3, 4], {"p50": [1, 1, None, 1, None]}, "")
    (line,) = plot.lines
    assert len(line.parts) == 1
    assert len(line.dots) == 1


def test_clauses_and_streams_are_counted_in_whole_numbers() -> None:
    assert [tick.label for tick in draw_lines([0, 1], {"streams": [0, 1]}, "").rows] == ["0", "1"]
    assert [tick.label for tick in draw_lines([0, 1], {"streams": [0, 4]}, "").rows] == ["0", "5"]
    assert [tick.label for tick in draw_lines([0, 1], {"p50": [0, 1]}, "", is_time=True).rows] == [
        "0 ms",
        "500 ms",
        "1 s",
    ]


def test_an_inbox_is_counted_by_state_age_and_fact() -> None:
    now = 1_000_000.0
    with HumanReviewQueue(clock=lambda: now) as queue:
        queue.enqueue_case(candidate_text="a", tenant_id="acme", evidence_refs=["kb:1", "kb:2"])
        now += 4_000
        case = queue.enqueue_case(candidate_text="b", tenant_id="acme", evidence_refs=["kb:1"])
        queue.enqueue_case(candidate_text="c", tenant_id="globex", evidence_refs=["kb:9"])
        queue.decide(case.case_id, reviewer_id="rosa", action="reject")
        queue.enqueue_case(candidate_text="d", tenant_id="acme", expires_after=1.0)
        now += 10
        counts = count_states(queue, "acme", now)
        assert (counts["open"], counts["rejected"], counts["expired"]) == (1, 1, 1)
        assert count_states(queue, None, now)["open"] == 2
        waiting = waiting_cases(queue, "acme", now)
        assert (waiting.count, waiting.by_age, round(waiting.oldest)) == (1, (0, 0, 1, 0, 0), 4_010)
        assert failing_facts(queue, "acme") == [("kb:1", 2)]


# --- words ----------------------------------------------------------------------------------------------------


def test_facts_are_read_line_by_line() -> None:
    assert parse_facts("kb:1: One: two.\n\n  Three. \nnot an id: four") == {
        "kb:1": "One: two.",
        "fact-2": "Three.",
        "fact-3": "not an id: four",
    }
    with pytest.raises(PayloadError, match="same id"):
        parse_facts("a: 1\na: 2")


@pytest.mark.parametrize(
    ("reason", "title"),
    [
        ("", "No reason given"),
        ("clause_redacted", "A clause was redacted"),
        ("some_new_word", "Some new word"),
        ("risk_limit risk=0.8000 threshold=0.6500", "A correction beyond the limit of risk · risk 0.80 threshold 0.65"),
        ("Please look at this, <b>!", "Please look at this, <b>!"),
    ],
)
def test_a_machines_reason_is_told_in_words(reason: str, title: str) -> None:
    assert title_of(reason) == title


def test_times_are_told_in_one_unit() -> None:
    assert [seconds(span) for span in (5, 90, 7_200, 200_000)] == ["5 s", "2 min", "2 h", "2 d"]
    assert age_of(None) == ""
    assert [counted(n, "row") for n in (0, 1, 2_000)] == ["0 rows", "1 row", "2,000 rows"]
    assert [milliseconds(span) for span in (None, 0.0012, 2)] == ["–", "1.2 ms", "2 s"]
