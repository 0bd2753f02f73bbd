"""Promise 2: any failure halts, with a typed reason and nothing unsafe shown. Parts × faults × drivers."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
import trio

from director_ai import AsyncStreamingKernel, StreamingKernel, StreamSession
from director_ai.core.safety_event import validate_safety_event
from director_ai.core.types import CoherenceScore, EvidenceChunk, ScoringEvidence
from director_ai.testing import FAULTS, ScriptedScorer, ScriptedTokens, make_fault
from drivers import Driver

LIMIT = 0.25
SAFE = ["safe ", "text "]
UNSAFE = "UNSAFE"
CALM: dict[str, Any] = {"window_threshold": 0.0, "trend_threshold": 1.0}
KERNEL: dict[str, Any] = {**CALM, "token_timeout": LIMIT}

RAISING = ("raises", "panics", "cancelled")
SLOW = ("hangs", "slow")


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets go of whatever hangs once a test is over."""
    event = threading.Event()
    yield event
    event.set()


def expected_reason(part: str, fault: str) -> str:
    if fault in SLOW:
        return "timeout"
    if part == "source":
        return "source_error"
    return "callback_error" if fault in RAISING else "invalid_score"


def run_with_fault(driver: Driver, part: str, fault: str, release: threading.Event) -> StreamSession:
    fail = make_fault(fault, release=release)
    # A limit that a busy machine could miss by itself is set only where something is meant to miss it.
    kernel = KERNEL if fault in SLOW else {**CALM, "token_timeout": 30.0}
    if part == "callback":
        return driver.run(ScriptedTokens([*SAFE, UNSAFE]), Synchronous(ScriptedScorer([0.9, 0.9, fail])), kernel=kernel)
    if part == "source":
        return driver.run(source_with(fail), ScriptedScorer([0.9]), kernel=kernel)
    scorer = ScriptedScorer([0.9, 0.9, 0.1])
    if part == "review":
        return driver.run(ScriptedTokens([*SAFE, UNSAFE]), scorer, kernel=kernel, scorer=Reviewer(fail))
    return driver.run(ScriptedTokens([*SAFE, UNSAFE]), scorer, kernel={**kernel, "on_halt": fail})


class Synchronous:
    """A callback that the test harness leaves synchronous."""

    stays_synchronous = True

    def __init__(self, scorer: ScriptedScorer) -> None:
        self.scorer = scorer

    def __call__(self, text: str) -> Any:
        return self.scorer(text)


class Reviewer:
    def __init__(self, fail: Callable[..., Any]) -> None:
        self.fail = fail

    def review(self, prompt: str, text: str) -> Any:
        return self.fail()


def source_with(fail: Callable[..., Any]) -> Iterator[Any]:
    """A source that gives two safe tokens and then the fault: a token that is none, an error, or nothing at all."""

    def generate() -> Iterator[Any]:
        yield from SAFE
        yield fail()
        yield UNSAFE

    return generate()


# Left out: a source's "0.9" is an ordinary token, and a listener that is called after the end can hold up its caller only.
CELLS = [
    (part, fault)
    for part in ("callback", "source", "review", "on_halt")
    for fault in FAULTS
    if (part, fault) not in {("source", "str"), ("on_halt", "hangs")}
]


@pytest.mark.timeout(50)  # what hangs lets go after a minute
@pytest.mark.parametrize(("part", "fault"), CELLS, ids=[f"{part}-{fault}" for part, fault in CELLS])
def test_every_fault_halts_with_a_typed_reason(driver: Driver, part: str, fault: str, release: threading.Event) -> None:
    session = run_with_fault(driver, part, fault, release)
    assert session.halted
    assert session.output == "".join(SAFE)
    assert UNSAFE not in session.output
    word = expected_reason(part, fault) if part in ("callback", "source") else "hard_limit"
    assert session.halt_reason.split()[0] == word
    (event,) = session.safety_events
    assert event.halt_reason == session.halt_reason
    assert validate_safety_event(event.to_dict()) == event
    if part == "review":
        assert event.attributes == {"evidence": "failed"}
        assert session.halt_evidence_structured.evidence_chunks == []


def test_the_grid_has_a_cell_for_each_of_the_fourteen_faults() -> None:
    assert len(FAULTS) == 14
    assert {fault for part, fault in CELLS if part == "callback"} == set(FAULTS)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_asynchronous_callback_that_hangs_is_given_up(backend: str) -> None:
    cancelled = []

    async def hang(text: str) -> float:
        if text == UNSAFE:
            try:
                await anyio.sleep(60)
            except BaseException:
                cancelled.append(text)
                raise
        return 0.9

    async def main() -> StreamSession:
        return await AsyncStreamingKernel(**KERNEL).stream_to_session(ScriptedTokens([*SAFE, UNSAFE]), hang)

    session = anyio.run(main, backend=backend)
    assert session.halt_reason == "timeout waited_for=score limit_s=0.25"
    assert session.output == "".join(SAFE)
    assert cancelled == [UNSAFE]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_asynchronous_source_that_never_yields_is_given_up_though_no_token_arrives(backend: str) -> None:
    closed = []

    async def source() -> Any:
        try:
            yield "safe "
            await anyio.sleep(60)
        finally:
            closed.append(True)

    async def main() -> StreamSession:
        return await AsyncStreamingKernel(total_timeout=LIMIT).stream_to_session(source(), lambda _: 0.9)

    session = anyio.run(main, backend=backend)
    assert session.halt_reason == "timeout waited_for=stream limit_s=0.25"
    assert session.output == "safe "
    assert closed


def test_the_total_timeout_ends_a_stream_that_never_ends(driver: Driver) -> None:
    def endless() -> Iterator[str]:
        while True:
            time.sleep(0.001)
            yield "x"

    session = driver.run(endless(), ScriptedScorer([0.9]), kernel={"total_timeout": LIMIT})
    assert session.halt_reason == "timeout waited_for=stream limit_s=0.25"
    assert session.output == "x" * len(session.tokens)
    assert session.tokens


def test_time_spent_is_counted_over_the_whole_stream(driver: Driver) -> None:
    """Each answer is in time, all of them together are not."""
    session = driver.run(
        ScriptedTokens(["x"] * 50), lambda _: time.sleep(0.02) or 0.9, kernel={"token_timeout": 30.0, "total_timeout": 0.5}
    )  # fmt: skip
    assert session.halt_reason.startswith("timeout waited_for=stream")
    assert 0 < len(session.tokens) < 50


def test_held_tokens_are_not_released_by_a_failing_source(driver: Driver) -> None:
    tokens = ScriptedTokens(["a", "b", UNSAFE], error=ConnectionError("secret"))
    session = driver.run(tokens, ScriptedScorer([0.9]), kernel={"score_every_n": 2})
    assert session.output == "ab"
    assert session.halt_reason == "source_error type=ConnectionError"
    assert [event.released for event in session.events] == [True, True, False]
    assert "secret" not in session.safety_events[0].to_json()


def test_a_source_that_fails_before_its_first_token(driver: Driver) -> None:
    session = driver.run(ScriptedTokens([], error=OSError()), ScriptedScorer([0.9]), kernel={})
    assert (session.halted, session.output, session.halt_index, session.events) == (True, "", 0, [])
    assert session.halt_reason == "source_error type=OSError"


class Unopenable:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def __iter__(self) -> Any:
        if self.error is not None:
            raise self.error
        return 5


@pytest.mark.parametrize("error", [ConnectionError("refused"), None], ids=["raises", "returns no iterator"])
def test_a_source_that_cannot_be_opened(driver: Driver, error: BaseException | None) -> None:
    session = driver.run(Unopenable(error), ScriptedScorer([0.9]), kernel={})
    assert (session.halted, session.output) == (True, "")
    assert session.halt_reason.startswith("source_error type=")
    assert len(session.safety_events) == 1


def test_a_source_that_hangs_on_opening_is_given_up(driver: Driver, release: threading.Event) -> None:
    class Hanging:
        def __iter__(self) -> Any:
            release.wait(60)
            return iter(["x"])

    session = driver.run(Hanging(), ScriptedScorer([0.9]), kernel=KERNEL)
    assert session.halt_reason == "timeout waited_for=token limit_s=0.25"


class SlowToClose:
    def __init__(self, close: Callable[[], Any]) -> None:
        self.close = close

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> str:
        return "x"


@pytest.mark.timeout(50)  # what hangs lets go after a minute
@pytest.mark.parametrize("fault", ["hangs", "panics", "raises"])
def test_a_source_that_cannot_be_closed_loses_nothing(driver: Driver, fault: str, release: threading.Event) -> None:
    source = SlowToClose(make_fault(fault, release=release))
    session = driver.run(source, Synchronous(ScriptedScorer([0.9, 0.1])), kernel=KERNEL)
    assert session.output == "x"


def test_a_hung_generator_is_closed_once_it_comes_back(release: threading.Event) -> None:
    closed = threading.Event()

    def source() -> Iterator[str]:
        try:
            release.wait(60)
            yield "x"
        finally:
            closed.set()

    tokens = source()
    assert StreamingKernel(**KERNEL).stream_tokens(tokens, lambda _: 0.9).halted
    assert not closed.is_set()
    release.set()
    assert closed.wait(10)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_answer_that_comes_too_late_is_no_answer(backend: str) -> None:
    async def stubborn(_: str) -> float:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(3 * LIMIT)
        return 0.9

    async def main() -> StreamSession:
        return await AsyncStreamingKernel(**KERNEL).stream_to_session(ScriptedTokens(["x"]), stubborn)

    assert anyio.run(main, backend=backend).halt_reason.startswith("timeout")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_answer_that_blocked_the_loop_is_too_late_as_well(backend: str) -> None:
    async def blocking(_: str) -> float:
        time.sleep(3 * LIMIT)
        return 0.9

    async def main() -> StreamSession:
        return await AsyncStreamingKernel(**KERNEL).stream_to_session(ScriptedTokens(["x"]), blocking)

    assert anyio.run(main, backend=backend).halt_reason.startswith("timeout")


def test_reading_a_review_falls_under_its_time_limit(driver: Driver, release: threading.Event) -> None:
    def slowly() -> Iterator[Any]:
        release.wait(60)
        yield EvidenceChunk("x", 0.1)

    score = CoherenceScore(0.1, False, 0.9, 0.9, ScoringEvidence(slowly(), "", "", 0.9))
    session = driver.run(
        ScriptedTokens(["a"]),
        Synchronous(ScriptedScorer([0.1])),
        kernel=KERNEL,
        scorer=Reviewer(lambda: (False, score)),
    )
    assert session.safety_events[0].attributes == {"evidence": "failed"}


def test_cancellation_in_a_group_passes_through() -> None:
    async def nursing(_: str) -> float:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 30)
            await trio.sleep(30)
        return 0.9

    async def main() -> None:
        with trio.move_on_after(0.05) as scope:
            await AsyncStreamingKernel().stream_to_session(["x"], nursing)
        assert scope.cancelled_caught

    trio.run(main)
    with pytest.raises(BaseExceptionGroup):
        StreamingKernel().stream_tokens(["x"], ScriptedScorer([BaseExceptionGroup("g", [KeyboardInterrupt()])]))


def test_a_source_that_is_opened_too_late_is_closed_all_the_same(driver: Driver, release: threading.Event) -> None:
    closed = threading.Event()

    class Late:
        def __iter__(self) -> Any:
            release.wait(60)
            return SlowToClose(closed.set)

    assert driver.run(Late(), ScriptedScorer([0.9]), kernel=KERNEL).halted
    release.set()
    assert closed.wait(10)


class BadToClose:
    def __iter__(self) -> Any:
        return self

    def __next__(self) -> str:
        return "x"

    @property
    def close(self) -> Any:
        raise RuntimeError


def test_a_source_whose_close_cannot_even_be_looked_up(driver: Driver) -> None:
    session = driver.run(BadToClose(), ScriptedScorer([0.9, 0.1]), kernel={})
    assert (session.output, len(session.safety_events)) == ("x", 1)


class OnlyNext:
    """All that `async for` asks of an iterator."""

    def __init__(self) -> None:
        self.left = 2

    async def __anext__(self) -> str:
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        return "x"


class NeedsItsLoop:
    def __aiter__(self) -> Any:
        asyncio.get_running_loop()
        return OnlyNext()


@pytest.mark.parametrize("limits", [{}, {"token_timeout": 5.0}], ids=["no limit", "with a limit"])
def test_an_asynchronous_source_is_opened_on_its_loop(limits: dict[str, Any]) -> None:
    session = anyio.run(AsyncStreamingKernel(**limits).stream_to_session, NeedsItsLoop(), lambda _: 0.9)
    assert (session.output, session.halted) == ("xx", False)


async def _nothing() -> str:
    return "never awaited"


@pytest.mark.parametrize("limits", [{}, {"token_timeout": 5.0}], ids=["no limit", "with a limit"])
def test_a_token_that_could_be_awaited_is_no_token(driver: Driver, limits: dict[str, Any]) -> None:
    token = _nothing()
    session = driver.run(["a", token], ScriptedScorer([0.9]), kernel=limits)
    token.close()
    assert (session.output, session.halt_reason) == ("a", "source_error expected=str got=coroutine")


@pytest.mark.parametrize("where", ["drain", "review"])
def test_an_interrupted_stream_leaves_a_session_in_order(where: str) -> None:
    reviewer = Reviewer(make_interrupt) if where == "review" else None
    scorer = ScriptedScorer([0.9, 0.2, 0.9, KeyboardInterrupt()])
    live = StreamingKernel(**KERNEL | {"halt_mode": "soft"}).stream(
        ["One two. ", "bad ", "still ", "on "], scorer, scorer=reviewer
    )
    with pytest.raises(KeyboardInterrupt):
        list(live)
    session = live.session
    assert session.output == "One two. "
    assert len(session.events) == len(session.scores) == len(session.warned)
    assert (session.halted, len(session.safety_events)) == (True, 1)


def make_interrupt() -> Any:
    raise KeyboardInterrupt


def test_a_window_just_below_its_threshold_halts_and_no_more(driver: Driver) -> None:
    scores = [0.666666666667] * 9 + [0.666666666666]
    session = driver.run(
        ["a"] * 10, ScriptedScorer(scores), kernel={"hard_limit": 0.1, "window_threshold": 2 / 3, "soft_limit": None}
    )
    assert session.halt_reason.startswith("window_avg")


class Nameless(type):
    @property
    def __name__(cls) -> str:
        raise RuntimeError


def test_a_type_that_does_not_say_its_name_halts(driver: Driver) -> None:
    session = driver.run(["a", Nameless("X", (), {})()], ScriptedScorer([0.9]), kernel={})
    assert (session.output, session.halt_reason) == ("a", "source_error expected=str got=X")


def test_a_clock_that_runs_away_does_not_break_the_record(driver: Driver) -> None:
    times = iter([0.0])
    session = driver.run(["a"], ScriptedScorer([0.1]), kernel={"clock": lambda: next(times, math.inf)})
    assert (session.halted, session.duration_ms, session.safety_events[0].latency_ms) == (True, 0.0, 0.0)


@pytest.mark.timeout(50)  # what hangs lets go after a minute
def test_a_stream_that_was_never_begun_is_closed_within_its_limit(release: threading.Event) -> None:
    closed: list[str] = []
    hang = make_fault("hangs", release=release)
    source = SlowToClose(lambda: closed.append("begun") or hang() or closed.append("ended"))
    StreamingKernel(**KERNEL).stream(source, lambda _: 0.9).close()
    assert closed == ["begun"]


def test_a_token_that_was_cut_warns_once() -> None:
    session = StreamingKernel(**CALM, halt_mode="soft").stream_tokens(
        ["One. ", "bad ", "it is. So it", " x"], ScriptedScorer([0.9, 0.3, 0.55])
    )
    assert session.withheld == ["So it"]
    assert session.warning_count == 1


def test_a_callback_that_raises_generator_exit_halts(driver: Driver) -> None:
    session = driver.run(["a", "b"], ScriptedScorer([0.9, GeneratorExit()]), kernel={})
    assert (session.output, session.halted) == ("a", True)


def test_a_fault_has_no_observed_score(driver: Driver) -> None:
    session = driver.run(["a", "b"], ScriptedScorer([0.9, "x"]), kernel={})
    assert session.safety_events[0].observed_score is None


def test_a_generator_that_re_enters_itself() -> None:
    def source() -> Iterator[str]:
        yield "a"
        yield next(itself)

    itself = source()
    session = StreamingKernel().stream_tokens(itself, lambda _: 0.9)
    assert (session.output, session.halt_reason) == ("a", "source_error type=ValueError")


def test_a_callback_that_raises_stop_iteration_does_not_end_the_stream_quietly(driver: Driver) -> None:
    session = driver.run(["a", "b"], ScriptedScorer([0.9, StopIteration()]), kernel={})
    assert session.halted
    assert session.halt_reason.startswith("callback_error")


def test_a_coroutine_from_a_synchronous_callback_halts_without_a_warning() -> None:
    async def score(_: str) -> float:
        return 0.9

    session = StreamingKernel().stream_tokens(["a"], score)
    assert (session.output, session.halt_reason) == ("", "invalid_score got=coroutine")
    assert inspect.iscoroutinefunction(score)


def test_the_helper_thread_sees_the_context_of_the_caller_and_ends_with_the_stream() -> None:
    before = threading.active_count()
    StreamingKernel(token_timeout=5.0).stream_tokens(["a"] * 5, lambda _: 0.9)
    for _ in range(200):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before
