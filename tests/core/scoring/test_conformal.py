"""Thresholds and their bounds: against exact sums, known values, every order of a set, and simulated files."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.scoring.conformal import fit_threshold, halts_at, rate_bound, tail
from director_ai.errors import ConfigError

REPEATS = 2_000


def exact_tail(most: int, count: int, rate: Fraction) -> Fraction:
    terms = (math.comb(count, at) * rate**at * (1 - rate) ** (count - at) for at in range(most + 1))
    return sum(terms, Fraction(0))


def most_likely_seen(rate: float) -> int:
    """How often an event of this rate is seen in all repeats, but for one case in a million."""
    return next(seen for seen in range(REPEATS) if tail(seen, REPEATS, rate) > 1 - 1e-6)


def spread(count: int) -> list[float]:
    return [(at + 1) / (count + 1) for at in range(count)]


@pytest.mark.parametrize(
    ("count", "allowed", "rank"),
    [
        (18, 0.05, 0),
        (19, 0.05, 1),
        (38, 0.05, 1),
        (39, 0.05, 2),
        (99, 0.29, 29),
        (99, 0.07, 7),
        (9, 0.1, 1),
        (1, 0.5, 1),
    ],
)
def test_the_threshold_is_the_kth_lowest_score_of_right_answers(count: int, allowed: float, rank: int) -> None:
    scores = spread(count)
    fitted = fit_threshold(scores[::-1], false_halts=allowed)
    assert (fitted.rank, fitted.right) == (rank, count)
    assert fitted.threshold == (scores[rank - 1] if rank else None)
    assert fitted.marginal_bound == (rank / (count + 1) if rank else None)
    assert (fitted.false_halt_bound is None) == (rank == 0)


@pytest.mark.parametrize("strict", [False, True], ids=["on average", "strict"])
@pytest.mark.parametrize("allowed", [0.01, 0.05, 0.07, 0.1, 0.29, 0.5, 0.9])
@pytest.mark.parametrize("confidence", [0.05, 0.5, 0.9, 0.95, 0.99])
def test_what_is_needed_is_the_least_that_gives_a_threshold(allowed: float, confidence: float, strict: bool) -> None:
    def fit(count: int) -> float | None:
        return fit_threshold([0.5] * count, false_halts=allowed, confidence=confidence, strict=strict).threshold

    needed = fit_threshold([0.5], false_halts=allowed, confidence=confidence, strict=strict).needed
    assert fit(needed) == 0.5
    assert needed == 1 or fit(needed - 1) is None
    if not strict:
        assert needed == max(1, math.ceil(1 / Fraction(str(allowed))) - 1)


def test_strict_needs_59_right_answers_for_5_percent_at_95_percent() -> None:
    assert fit_threshold([0.5], strict=True).needed == 59


@pytest.mark.parametrize("count", [1, 2, 7, 60, 100])
@pytest.mark.parametrize("rate", ["0.001", "0.05", "0.3", "0.5", "0.77", "0.999"])
def test_a_tail_is_the_exact_sum(count: int, rate: str) -> None:
    for most in range(count + 1):
        exact = float(exact_tail(most, count, Fraction(rate)))
        assert tail(most, count, float(rate)) == pytest.approx(exact, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize(
    ("failures", "count", "confidence", "bound"),
    [
        (0, 10, 0.95, 0.258866), (1, 10, 0.95, 0.394163), (5, 100, 0.975, 0.112835), (0, 59, 0.95, 0.049508),
        (3, 3, 0.95, 1.0), (0, 1, 0.95, 0.95),
    ],
)  # fmt: skip
def test_bounds_are_those_of_the_tables(failures: int, count: int, confidence: float, bound: float) -> None:
    assert rate_bound(failures, count, confidence) == pytest.approx(bound, abs=1e-6)


@given(st.integers(1, 5_000), st.floats(0.01, 0.999), st.data())
def test_a_bound_leaves_the_chance_that_was_asked_for(count: int, confidence: float, data: st.DataObject) -> None:
    failures = data.draw(st.integers(0, count - 1))
    bound = rate_bound(failures, count, confidence)
    assert 0 < bound < 1
    assert tail(failures, count, bound) == pytest.approx(1 - confidence, rel=1e-6)


def test_a_million_answers_are_no_trouble() -> None:
    bound = rate_bound(50_000, 1_000_000, 0.95)
    normal = 0.05 + 1.644854 * math.sqrt(0.05 * 0.95 / 1e6)
    assert bound == pytest.approx(normal, abs=2e-6)


@pytest.mark.parametrize("count", [59, 60, 100, 311])
@pytest.mark.parametrize(("allowed", "confidence"), [("0.05", "0.95"), ("0.1", "0.99"), ("0.2", "0.6"), ("0.3", "0.1")])
def test_strict_takes_the_highest_rank_whose_bound_holds(count: int, allowed: str, confidence: str) -> None:
    missed = 1 - Fraction(confidence)
    marginal = math.floor(Fraction(allowed) * (count + 1))
    ranks = [k for k in range(1, marginal + 1) if exact_tail(k - 1, count, Fraction(allowed)) <= missed]
    fitted = fit_threshold(
        spread(count), false_halts=float(allowed), confidence=float(confidence), strict=True
    )  # fmt: skip
    assert fitted.rank == max(ranks, default=0)
    assert fitted.false_halt_bound is None or fitted.false_halt_bound <= float(allowed) + 1e-12


@given(
    st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]) | st.floats(0, 1), min_size=2, max_size=40), st.integers(1, 60)
)
def test_whichever_answer_is_the_new_one_few_enough_fall_below(scores: list[float], percent: int) -> None:
    """Exchangeable: each of n + 1 is equally likely to be the new one, so counting over all of them is the rate."""
    below = 0
    for new in range(len(scores)):
        threshold = fit_threshold(scores[:new] + scores[new + 1 :], false_halts=percent / 100).threshold
        below += threshold is not None and scores[new] < threshold
    assert below * 100 <= percent * len(scores)


@given(st.lists(st.integers(0, 1_000), min_size=19, max_size=60, unique=True))
def test_no_larger_threshold_would_do(places: list[int]) -> None:
    """At the next higher score one more of n + 1 would fall below, which is more than was allowed."""
    rank = fit_threshold([place / 1_000 for place in places]).rank
    assert rank <= 0.05 * (len(places) + 1) < rank + 1


def uniform(draw: random.Random) -> float:
    return draw.random()


def tenths(draw: random.Random) -> float:
    return int(draw.random() * 10) / 10


@pytest.mark.parametrize("kind", [uniform, tenths], ids=["uniform", "with ties"])
@pytest.mark.parametrize(
    ("count", "allowed", "strict"), [(19, 0.05, False), (100, 0.1, False), (150, 0.05, True)], ids=str
)
def test_simulated_files_keep_the_promises(
    kind: Callable[[random.Random], float], count: int, allowed: float, strict: bool
) -> None:
    draw = random.Random(20)
    halted = exceeded = over_allowed = 0
    for _ in range(REPEATS):
        fitted = fit_threshold([kind(draw) for _ in range(count)], false_halts=allowed, confidence=0.9, strict=strict)
        assert fitted.threshold is not None
        assert fitted.false_halt_bound is not None
        share = fitted.threshold  # of both kinds, as many as that are below it
        halted += kind(draw) < fitted.threshold
        exceeded += share > fitted.false_halt_bound
        over_allowed += share > allowed
    assert halted <= most_likely_seen(allowed)
    assert exceeded <= most_likely_seen(0.1)
    if strict:
        assert over_allowed <= most_likely_seen(0.1)
    if kind is uniform:  # where there are no ties, nothing is given away either
        assert exceeded >= REPEATS - most_likely_seen(0.9)


def test_a_limit_is_told_by_what_it_halts() -> None:
    outcome = halts_at(0.5, [0.4, 0.5, 0.9, 0.95], [0.1, 0.49, 0.5], confidence=0.95)
    assert (outcome.limit, outcome.false_halts, outcome.caught) == (0.5, 1, 2)
    assert outcome.false_halt_bound == rate_bound(1, 4, 0.95)


@pytest.mark.parametrize(
    ("scores", "options", "says"),
    [
        ([], {}, "there are none"),
        ([0.5, math.nan], {}, "from 0 to 1"),
        ([0.5, 1.01], {}, "from 0 to 1"),
        ([True], {}, "from 0 to 1"),
        ([0.5], {"false_halts": 0}, "false_halts"),
        ([0.5], {"false_halts": 1}, "false_halts"),
        ([0.5], {"false_halts": math.nan}, "false_halts"),
        ([0.5], {"confidence": 1.0}, "confidence"),
        ([0.5], {"confidence": -0.1}, "confidence"),
        ([0.5], {"confidence": "0.9"}, "confidence"),
    ],
    ids=str,
)
def test_what_cannot_be_right_is_refused(scores: list[float], options: dict[str, float], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        fit_threshold(scores, **options)
