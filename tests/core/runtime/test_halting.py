"""The halt monitor on its own: exact sums, exact borders, and agreement with the plain definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.runtime.halting import Cadence, Halt, HaltMonitor, HaltRules

scores = st.integers(0, 1000).map(lambda n: n / 1000)


def by_definition(rules: HaltRules, seen: list[float]) -> str | None:
    """The three mechanisms as the documents say them, in exact decimal arithmetic."""
    exact = [Fraction(str(score)) for score in seen]
    limit, floor, fall = (Fraction(str(v)) for v in (rules.hard_limit, rules.window_threshold, rules.trend_threshold))
    if exact[-1] < limit:
        return "hard_limit"
    window = exact[-rules.window_size :]
    if len(window) == rules.window_size and sum(window) / len(window) < floor:
        return "window_avg"
    trend = exact[-rules.trend_window :]
    if len(trend) == rules.trend_window and trend[0] - trend[-1] > fall:
        return "downward_trend"
    return None


@given(st.lists(scores, max_size=60), scores, st.integers(1, 6), scores, st.integers(2, 6), scores)
def test_the_monitor_agrees_with_the_definition(
    stream: list[float], hard: float, size: int, floor: float, trend_size: int, fall: float
) -> None:
    rules = HaltRules(
        hard_limit=hard, window_size=size, window_threshold=floor, trend_window=trend_size, trend_threshold=fall, soft_limit=None
    )  # fmt: skip
    monitor = HaltMonitor(rules)
    for position, score in enumerate(stream):
        halt = monitor.observe(score)
        assert (halt.mechanism if halt else None) == by_definition(rules, stream[: position + 1])
        if halt is not None:
            break


@given(st.lists(scores, min_size=1, max_size=50), st.integers(1, 6))
def test_a_score_of_what_was_needed_would_not_have_halted(stream: list[float], size: int) -> None:
    rules = HaltRules(window_size=size)
    monitor = HaltMonitor(rules)
    for position, score in enumerate(stream):
        halt = monitor.observe(score)
        if halt is None:
            continue
        assert halt.needed_score > score
        if halt.needed_score <= 1.0:
            again = HaltMonitor(rules)
            assert all(again.observe(earlier) is None for earlier in stream[:position])
            second = again.observe(halt.needed_score)
            assert second is None or second.mechanism != halt.mechanism
        return


def test_a_million_scores_on_the_threshold_never_drift_below_it() -> None:
    monitor = HaltMonitor(HaltRules(hard_limit=0.1, window_threshold=0.3, window_size=7, soft_limit=None))
    assert all(monitor.observe(0.1 + 0.2) is None for _ in range(1_000_000))


def test_a_reason_is_a_word_and_figures() -> None:
    assert HaltMonitor(HaltRules()).observe(0.31).reason == "hard_limit score=0.3100 limit=0.5000"
    assert Halt(mechanism="timeout", detail="").reason == "timeout"


def test_figures_before_the_first_score_are_zero() -> None:
    monitor = HaltMonitor(HaltRules())
    assert (monitor.window_avg, monitor.trend_drop, monitor.warning) == (0.0, 0.0, False)


@pytest.mark.parametrize(
    ("every", "most", "strides"), [(1, 8, [1, 2, 4, 8, 8]), (1, 1, [1] * 5), (3, 2, [1, 2, 3, 3, 3])]
)
def test_an_adaptive_cadence_doubles_up_to_its_most(every: int, most: int, strides: list[int]) -> None:
    cadence = Cadence(HaltRules(), every=every, adaptive=True, most=most)
    seen = []
    for _ in range(5):
        seen.append(cadence.stride)
        cadence.observe(0.95)
    assert seen == strides
