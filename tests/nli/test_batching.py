"""The worker: what it runs together, in which order callers are served, and that nothing keeps them waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.nli import ModelError
from director_ai.nli.batching import Batcher, Job, Piece, choose


def piece(length: int, tag: Any = None) -> Piece:
    return Piece(np.zeros(length - 2, np.int32), None, tag)


class Caller:
    """A job, and the wait for its end."""

    def __init__(self, pieces: Any, combine: Callable[[Any], Any] = lambda rows: [row for _, row in rows]) -> None:
        self._over = threading.Event()
        self.job = Job(pieces, combine, self._over.set)

    def answer(self) -> Any:
        assert self._over.wait(20), "nobody answered"
        return self.job.answer()


class Model:
    """Answers each piece with its length; the first batch waits until the test opens the gate."""

    def __init__(self, *, shut: bool = False) -> None:
        self.batches: list[list[Any]] = []
        self.started = threading.Event()
        self.gate = threading.Event()
        if not shut:
            self.gate.set()

    def __call__(self, batch: Sequence[Piece]) -> list[int]:
        self.started.set()
        assert self.gate.wait(20)
        self.batches.append([each.tag for each in batch])
        if any(each.tag == "fault" for each in batch):
            raise OSError("secret")
        return [each.length for each in batch]


def gated(**settings: Any) -> tuple[Model, Batcher, Caller]:
    """A worker that is busy with a first piece until the gate opens."""
    model = Model(shut=True)
    batcher = Batcher(model, name="the model", **settings)
    first = Caller([piece(500, "first")])
    batcher.submit(first.job)
    assert model.started.wait(20)
    return model, batcher, first


lengths = st.lists(st.integers(3, 320), min_size=1, max_size=60).map(sorted)


@given(lengths, st.data(), st.integers(1, 4096))
def test_a_batch_holds_the_oldest_keeps_its_budget_and_pads_little(sizes: list[int], data: Any, budget: int) -> None:
    oldest = data.draw(st.integers(0, len(sizes) - 1))
    low, high = choose(sizes, oldest, budget)
    batch = sizes[low:high]
    assert low <= oldest < high
    assert len(batch) == 1 or len(batch) * batch[-1] <= budget
    assert batch[-1] - batch[0] <= max(8, batch[-1] // 8)


def test_equal_lengths_fill_the_budget() -> None:
    assert choose([64] * 100, 50, 2048) == (19, 51)


def test_callers_that_wait_at_the_same_time_share_a_batch() -> None:
    model, batcher, _ = gated()
    callers = [Caller([piece(20, number)]) for number in range(30)]
    for caller in callers:
        batcher.submit(caller.job)
    model.gate.set()
    assert [caller.answer() for caller in callers] == [[20]] * 30
    assert [len(batch) for batch in model.batches] == [1, 30]
    assert (batcher.batches, batcher.pieces, batcher.tokens, batcher.padding) == (2, 31, 500 + 600, 0)


def test_a_small_call_does_not_wait_for_a_big_one_that_came_first() -> None:
    model, batcher, _ = gated(batch_tokens=100)
    big = Caller(piece(50, "big") for _ in range(1000))
    batcher.submit(big.job)
    small = Caller([piece(50, "small")])
    batcher.submit(small.job)
    model.gate.set()
    small.answer()
    assert len(big.answer()) == 1000
    assert next(number for number, batch in enumerate(model.batches) if "small" in batch) <= 2


def test_pieces_of_a_big_call_are_made_only_as_they_are_needed() -> None:
    made = []

    def pieces() -> Iterator[Piece]:
        for number in range(1000):
            made.append(number)
            yield piece(50, number)

    model = Model(shut=True)
    batcher = Batcher(model, name="the model", batch_tokens=100)
    caller = Caller(pieces())
    batcher.submit(caller.job)
    assert model.started.wait(20)
    assert len(made) == 8 * 2 + 1
    model.gate.set()
    assert len(caller.answer()) == 1000


def test_a_failing_run_reaches_every_caller_of_its_batch_and_nobody_else() -> None:
    model, batcher, first = gated()
    together = [Caller([piece(20, tag)]) for tag in ("a", "fault", "b")]
    apart = Caller([piece(200, "c")])
    for caller in (*together, apart):
        batcher.submit(caller.job)
    model.gate.set()
    errors = []
    for caller in together:
        with pytest.raises(ModelError, match=r"^the model could not be run: OSError$") as caught:
            caller.answer()
        assert isinstance(caught.value.__cause__, OSError)
        errors.append(caught.value)
    assert len({id(error) for error in errors}) == 3, "each caller raises an error of its own"
    assert (first.answer(), apart.answer()) == ([500], [200])


def test_a_call_whose_pieces_cannot_be_made_fails_alone() -> None:
    def pieces() -> Iterator[Piece]:
        yield piece(20, "x")
        raise ArithmeticError("no more")

    batcher = Batcher(Model(), name="the model")
    broken, whole = Caller(pieces()), Caller([piece(20)])
    batcher.submit(broken.job)
    batcher.submit(whole.job)
    with pytest.raises(ArithmeticError):
        broken.answer()
    assert whole.answer() == [20]


def test_a_call_whose_answer_cannot_be_made_fails_alone() -> None:
    batcher = Batcher(Model(), name="the model")
    broken, whole = Caller([piece(20)], combine=lambda rows: rows[7]), Caller([piece(20)])
    batcher.submit(broken.job)
    batcher.submit(whole.job)
    with pytest.raises(IndexError):
        broken.answer()
    assert whole.answer() == [20]


def test_a_call_without_pieces_is_answered() -> None:
    batcher = Batcher(Model(), name="the model")
    caller = Caller([])
    batcher.submit(caller.job)
    assert caller.answer() == []


def test_a_call_that_was_given_up_is_not_run() -> None:
    model, batcher, _ = gated()
    given_up, kept = Caller([piece(20, "given up")]), Caller([piece(20, "kept")])
    batcher.submit(given_up.job)
    batcher.submit(kept.job)
    given_up.job.give_up()
    model.gate.set()
    kept.answer()
    assert model.batches == [["first"], ["kept"]]


def test_a_worker_that_ended_for_want_of_work_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("director_ai.nli.batching.IDLE", 0.001)
    batcher = Batcher(Model(), name="the model")
    for _ in range(20):
        caller = Caller([piece(20)])
        batcher.submit(caller.job)
        assert caller.answer() == [20]
        time.sleep(0.002)


def test_a_system_that_gives_no_thread_is_an_error_and_the_next_call_works(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    batcher = Batcher(Model(), name="the model")
    with monkeypatch.context() as without_threads:
        without_threads.setattr(threading.Thread, "start", refuse)
        with pytest.raises(ModelError, match=r"cannot be run: can.t start new thread"):
            batcher.submit(Caller([piece(20)]).job)
    caller = Caller([piece(20)])
    batcher.submit(caller.job)
    assert caller.answer() == [20]


def test_a_closed_worker_ends_after_its_batch_and_takes_nothing_more() -> None:
    model, batcher, first = gated()
    waiting = Caller([piece(20)])
    batcher.submit(waiting.job)
    closing = threading.Thread(target=batcher.close)
    closing.start()
    while not batcher._closed:
        time.sleep(0.001)
    model.gate.set()
    closing.join()
    assert first.answer() == [500]
    assert not waiting.job.over
    with pytest.raises(ModelError, match="the interpreter is ending"):
        batcher.submit(Caller([]).job)
