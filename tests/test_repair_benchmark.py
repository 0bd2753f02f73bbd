"""The benchmark of repairs: what it counts as wrong, removed, kept and late."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import repair
import repair_delay
import repair_quality
from repair_delay import ClauseDelay, PacedTokens, TimedModel
from repair_quality import ClauseScore, Curve, Sample

from director_ai import GroundTruthStore
from director_ai.testing import ManualClock

FACTS = {"refund": "Refunds are available within 30 days.", "shipping": "Shipping costs 5 EUR."}


def sample(text: str, wrong: str = "", **more: Any) -> Sample:
    spans = ((text.index(wrong), text.index(wrong) + len(wrong)),) if wrong else ()
    return Sample(name="one", kind="number", prompt="", text=text, spans=spans, facts=FACTS, **more)


# --- what is wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "wrong"),
    [(0, 10, True), (12, 14, True), (0, 9, False), (15, 20, False)],
    ids=["its end reaches in", "within it", "touches its start", "touches its end"],
)
def test_a_clause_is_wrong_where_it_shares_a_character_with_a_span(start: int, end: int, wrong: bool) -> None:
    assert repair_quality.overlaps(start, end, [(9, 15)]) is wrong


@pytest.mark.parametrize(("place", "wrong"), [(5, True), (0, False), (10, False)])
def test_words_that_are_missing_make_a_clause_wrong_only_within_it(place: int, wrong: bool) -> None:
    assert repair_quality.overlaps(0, 10, [(place, place)]) is wrong


def test_without_marked_spans_the_words_that_differ_from_the_reference_are_wrong() -> None:
    row = {"response": "It costs 7 EUR. It is red.", "reference_repair": "It costs 5 EUR. It is red."}

    ((start, end),) = repair_quality.marked_spans(row)

    assert row["response"][start:end] == "7"
    assert repair_quality.marked_spans(row | {"spans": [{"start": 1, "end": 2}]}) == ((1, 2),)


def test_the_reference_has_its_own_words_in_place_of_a_clause() -> None:
    response, reference = "Good day. It costs 7 EUR. Bye.", "Good day. It costs 5 EUR. Bye."

    assert repair_quality.reference_part(response, reference, 10, 25) == "It costs 5 EUR."
    assert repair_quality.reference_part(response, "Good day.", 10, 20) is None


def test_every_passage_is_there_right_and_with_its_error() -> None:
    samples = repair_quality.passage_samples()

    assert len(samples) == 288
    assert sum(each.kind == "right" for each in samples) == 144
    assert all(bool(each.spans) is (each.kind != "right") for each in samples)


# --- the curve --------------------------------------------------------------------------------------------------


def test_a_curve_tells_what_each_threshold_removes_and_keeps() -> None:
    curve = Curve.of([0.1, 0.2, 0.9], [0.3, 0.95, 1.0, math.inf])

    assert curve.at(0.5) == (pytest.approx(2 / 3), 0.75)
    assert curve.threshold_at(1.0) == 0.3
    assert curve.removed_at(1.0) == pytest.approx(2 / 3)
    assert curve.removed_at(0.75) == 1.0
    assert curve.auc == pytest.approx(11 / 12)


def test_ties_count_half_and_a_threshold_is_never_above_one() -> None:
    curve = Curve.of([1.0], [1.0, math.inf])

    assert curve.auc == 0.75
    assert curve.threshold_at(0.0) == 1.0
    assert Curve.of([0.5], [math.inf]).threshold_at(0.95) == 1.0


def test_the_points_of_a_curve_are_finite_and_few() -> None:
    points = Curve.of([at / 1000 for at in range(1000)], [0.5, math.inf]).points(most=50)

    assert len(points) <= 50
    assert all(math.isfinite(figure) for point in points for figure in point)


def test_an_error_is_gone_where_any_of_its_clauses_is() -> None:
    texts = [[ClauseScore(0.9, True), ClauseScore(0.1, True), ClauseScore(1.0, False)]]

    assert list(repair_quality.curve_of_errors(texts).wrong) == [0.1]
    assert list(repair_quality.curve_of_clauses(texts).wrong) == [0.1, 0.9]


# --- repairs ----------------------------------------------------------------------------------------------------


def test_a_real_repair_is_told_by_what_became_of_wrong_and_right_clauses() -> None:
    text, right = "Shipping costs 7 EUR. Hello!", "Shipping costs 5 EUR. Hello!"
    with GroundTruthStore(facts=FACTS) as store:
        guard = repair_quality.opened_guard(store, use_nli=False)
        found = repair_quality.repaired(guard, sample(text, "Shipping costs 7 EUR.", reference=right))
        scores = repair_quality.judged(guard, sample(text, "7"))

    assert (found.fate, found.equals_reference, found.would_halt) == ("patched", True, False)
    assert repair_quality.kept_share([found]) == 1.0
    assert [(each.wrong, each.score < 0.95) for each in scores] == [(True, True), (False, False)]
    assert repair_quality.fates_by_kind([found]) == {"number": {"planted": 1, "removed": 1.0, "patched": 1.0}}


def test_a_document_is_made_known_as_a_text_file_is() -> None:
    with GroundTruthStore() as store:
        guard = repair_quality.opened_guard(store, use_nli=False)
        repair_quality.load_context(guard, "\n\n".join(FACTS.values()))

        assert guard.repair_stream("", "Shipping costs 7 EUR.").repaired_text == "Shipping costs 5 EUR."


def test_many_redactions_would_halt_only_once_eight_clauses_were_judged() -> None:
    assert not repair_quality.would_halt(["redact"] * 7)
    assert repair_quality.would_halt(["redact"] * 8)
    assert not repair_quality.would_halt(["keep"] * 8 + ["redact"] * 2)


def test_rows_of_files_are_told_one_by_one_and_together() -> None:
    rows = repair_quality.repair_rows("model", 0.5, [])

    assert [row["file"] for row in rows] == [*repair_quality.FILES, "all"]


# --- delay ------------------------------------------------------------------------------------------------------


def test_tokens_come_when_they_are_due_however_late_the_reader_is() -> None:
    clock = ManualClock()
    source = PacedTokens(["one ", "two ", "three"], 10, clock=clock, sleep=clock.advance)
    came = []

    for token in source:
        came.append((token, round(clock() - source.started, 6)))
        clock.advance(0.15 if token == "one " else 0.0)

    assert came == [("one ", 0.1), ("two ", 0.25), ("three", 0.3)]
    assert [round(source.due(place) - source.started, 6) for place in (0, 3, 4, 12)] == [0.1, 0.1, 0.2, 0.3]


def test_a_model_notes_when_it_was_at_work() -> None:
    class Echo:
        digest = "abc"

        def predict(self, pairs: Any) -> Any:
            return pairs

        encode = predict

    calls: list[tuple[float, float]] = []
    model = TimedModel(Echo(), calls)

    assert (model.predict([1]), model.encode([2]), model.digest) == ([1], [2], "abc")
    assert len(calls) == 2
    assert all(start <= end for start, end in calls)


def test_only_what_lies_within_the_hold_back_is_the_models_time() -> None:
    assert repair_delay.shared_seconds(1.0, 2.0, [(0.0, 1.25), (1.5, 1.75), (3.0, 4.0)]) == pytest.approx(0.5)


def delay(**figures: float) -> ClauseDelay:
    usual = {"held": 0.1, "since_end": 0.2, "scoring": 0.0, "model": 0.0, "released": 1.0, "ended": 0.8}
    return ClauseDelay(**usual | figures)


def test_what_was_done_early_adds_nothing_and_never_less() -> None:
    assert delay(held=0.1, scoring=0.3).added == 0.0
    assert delay(held=0.1, scoring=0.04, model=0.03).added == pytest.approx(0.06)
    assert delay(held=0.1, model=0.03).beyond_model == pytest.approx(0.07)


def test_figures_of_delay_are_in_milliseconds() -> None:
    figures = repair_delay.delay_figures([delay(held=0.1), delay(held=0.3)], [0.001])
    first = repair_delay.first_figures([delay(released=1.0), delay(ended=1.5), delay(released=3.0, ended=0.9)])

    assert figures["hold-back p50"] == pytest.approx(200.0)
    assert figures["hold-back max"] == pytest.approx(300.0)
    assert first["first out before second ends"] is True
    assert first["of all"] == 0.5


def test_the_clauses_of_a_paced_stream_are_all_told_of() -> None:
    with GroundTruthStore(facts=FACTS) as store:
        guard = repair_quality.opened_guard(store, use_nli=False)
        source = PacedTokens(repair_delay.tokens_of("Shipping costs 7 EUR. Hello there!"), 1_000)
        delays = repair_delay.streamed(guard, source, [])

    assert len(delays) == 2
    assert all(each.held >= 0 and each.released >= each.ended for each in delays)


def test_a_long_answer_has_the_length_that_was_asked_for() -> None:
    assert len(repair_delay.long_answer(5_000)) == 5_000


# --- cost and tables --------------------------------------------------------------------------------------------


def test_tokens_of_facts_are_as_many_as_wanted_and_the_same_for_a_seed() -> None:
    tokens = repair.some_tokens(500, 0.1, seed=3)

    assert len(tokens) == 500
    assert tokens == repair.some_tokens(500, 0.1, seed=3)
    assert tokens != repair.some_tokens(500, 0.1, seed=4)


def test_the_peer_is_held_to_the_same_places() -> None:
    samples = [sample("Shipping costs 7 EUR. Refunds are available.", "Shipping costs 7 EUR.")]
    found = {"clauses": [[[0.1, False], [0.4, True]]], "seconds": 0.002, "repairs": "no"}

    row = repair._finished_by_peer(samples, found)

    assert (row["errors removed"], row["right kept"], row["AUC"]) == (1.0, 1.0, 1.0)
    assert row["ms per clause"] == pytest.approx(1.0)


def test_goals_stand_beside_what_was_found() -> None:
    saved = {"passages": {"summary": [{"mode": "model", "removed": 0.95, "kept": 0.9}]}}

    assert [row["reached"] for row in repair.goals(saved)] == ["yes", "NO"]
    assert repair.goals({}) == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("kept", 0.985, "98.5%"),
        ("threshold", 0.95, "0.950"),
        ("tokens", 64_000, "64,000"),
        ("first out", False, "NO"),
        ("CPU s", 1.234, "1.23"),
        ("mode", "model", "model"),
    ],
)
def test_a_figure_is_shown_as_its_column_asks(name: str, value: object, expected: str) -> None:
    assert repair.shown(name, value) == expected
