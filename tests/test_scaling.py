"""Promise 13: work stays proportional. Counted, not timed: the benchmarks print the times."""

from __future__ import annotations

from typing import Any

import pytest

from counting import count_calls
from director_ai import StreamingKernel
from director_ai.testing import ScriptedReviewer

SETTINGS: dict[str, dict[str, Any]] = {
    "every token": {},
    "every fourth": {"score_every_n": 4},
    "adaptive": {"adaptive": True},
    "soft halt": {"halt_mode": "soft"},
    "debug": {"streaming_debug": True},
    "a wide window": {"window_size": 500, "trend_window": 500},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_twice_the_tokens_cost_at_most_2_2_times_the_calls(settings: dict[str, Any]) -> None:
    kernel = StreamingKernel(**settings)

    def run(count: int) -> int:
        tokens = ["It is ", "so. "] * (count // 2)
        return count_calls(lambda: kernel.stream_tokens(tokens, lambda _: 0.9))

    few, many = run(2_000), run(4_000)
    assert many / few <= 2.2


def test_the_callback_is_given_each_character_once() -> None:
    given = []
    tokens = ["word "] * 5_000
    StreamingKernel(adaptive=True).stream_tokens(tokens, lambda text: given.append(len(text)) or 0.9)
    assert sum(given) == len("".join(tokens))


def test_the_scorer_is_asked_once_per_halt() -> None:
    reviewer = ScriptedReviewer({"kb": ("x", 0.9)})
    StreamingKernel(halt_mode="soft").stream_tokens(["a "] * 500, lambda _: 0.1, scorer=reviewer)
    assert len(reviewer.calls) == 1


def test_recovery_of_a_long_json_stream_is_linear() -> None:
    kernel = StreamingKernel()

    def run(count: int) -> int:
        tokens = ["[", *['{"a": "b', 'c"}, '] * count]
        return count_calls(lambda: kernel.stream_tokens(tokens, lambda _: 0.9, structured_recovery="json"))

    few, many = run(1_000), run(2_000)
    assert many / few <= 2.2


def test_a_million_tokens_pass() -> None:
    session = StreamingKernel().stream_tokens(("x" for _ in range(1_000_000)), lambda _: 0.9)
    assert len(session.tokens) == 1_000_000


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_a_token_of_10_mb_passes(mode: str) -> None:
    session = StreamingKernel(halt_mode=mode).stream_tokens(["x" * 10_000_000], lambda _: 0.9)
    assert len(session.output) == 10_000_000
