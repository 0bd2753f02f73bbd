"""Intervals of shares and means agree with known values, and never improve where a value gets worse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.hooks.trajectory.estimates import Bootstrap, deviation_of, wilson_interval


@pytest.mark.parametrize(
    ("count", "of", "expected"),
    [
        (0, 0, (0.0, 1.0)),
        (0, 20, (0.0, 0.1611)),
        (20, 20, (0.8389, 1.0)),
        (5, 10, (0.2366, 0.7634)),
        (1, 10, (0.0179, 0.4042)),
        (15, 148, (0.0624, 0.1605)),  # Newcombe 1998, table I
        (81, 263, (0.2553, 0.3662)),
    ],
)
def test_shares_have_the_interval_of_the_tables(count: int, of: int, expected: tuple[float, float]) -> None:
    assert wilson_interval(count, of, 0.95) == pytest.approx(expected, abs=1e-4)


@settings(max_examples=100, derandomize=True)
@given(st.integers(1, 200), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_one_more_halt_never_lowers_the_interval(of: int, data: st.DataObject, confidence: float) -> None:
    count = data.draw(st.integers(0, of - 1))
    fewer, more = wilson_interval(count, of, confidence), wilson_interval(count + 1, of, confidence)
    assert fewer[0] <= count / of <= fewer[1]
    assert fewer[0] <= more[0]
    assert fewer[1] <= more[1]


def test_the_deviation_is_that_of_a_sample() -> None:
    assert deviation_of([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) == pytest.approx(2.13809, abs=1e-5)
    assert deviation_of([0.3]) == deviation_of([]) == 0.0


def test_the_mean_lies_in_its_interval_and_the_seed_decides_the_draws() -> None:
    values = [i / 40 for i in range(40)]
    found = Bootstrap(3, 40, 0.95).interval(values)
    assert found == Bootstrap(3, 40, 0.95).interval(values)
    assert found != Bootstrap(4, 40, 0.95).interval(values)
    # The normal interval of this sample is 0.4875 ± 0.0906.
    assert found == pytest.approx((0.397, 0.578), abs=0.02)
    assert Bootstrap(3, 40, 0.95).interval([0.7]) == (0.0, 1.0)
    assert Bootstrap(3, 1, 0.95).interval([]) == (0.0, 1.0)


@settings(max_examples=60, derandomize=True)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.data())
def test_a_worse_value_never_raises_the_bounds(values: list[float], data: st.DataObject) -> None:
    where = data.draw(st.integers(0, len(values) - 1))
    worse = [*values]
    worse[where] = data.draw(st.floats(0, values[where]))
    bootstrap = Bootstrap(0, len(values), 0.95)
    before, after = bootstrap.interval(values), bootstrap.interval(worse)
    assert after[0] <= before[0] + 1e-12
    assert after[1] <= before[1] + 1e-12
