"""Many callers at once get what one caller gets, share their batches, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from director_ai.nli import Entailer, ModelError, load_encoder, load_entailer
from tiny_models import some_pairs, values, write_encoder, write_model

BACKENDS = ["asyncio", "trio"]


@pytest.fixture
def entailer(tmp_path: Path) -> Entailer:
    return load_entailer(write_model(tmp_path), cache_size=0)


def test_sixty_four_threads_get_what_one_caller_gets(entailer: Entailer) -> None:
    calls = [some_pairs(size % 5, seed=size) for size in range(256)]
    alone = [entailer.predict(pairs) for pairs in calls]
    before = entailer.counts.batches
    ready = threading.Barrier(64)

    def ask(start: int) -> list[Any]:
        ready.wait()
        return [entailer.predict(pairs) for pairs in calls[start::64]]

    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(ask, range(64)))
    for start in range(64):
        for expected, got in zip(alone[start::64], found[start], strict=True):
            assert np.abs(values(expected) - values(got)).max(initial=0) <= 1e-6
    assert entailer.counts.batches - before < 205, "fewer runs than calls that had anything to run"


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_hundred_tasks_get_what_one_caller_gets(entailer: Entailer, backend: str) -> None:
    calls = [some_pairs(1 + size % 3, seed=size) for size in range(200)]
    alone = [entailer.predict(pairs) for pairs in calls]
    before = entailer.counts.batches
    found: dict[int, Any] = {}

    async def ask(index: int) -> None:
        found[index] = await entailer.apredict(calls[index])

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for index in range(200):
                group.start_soon(ask, index)

    anyio.run(main, backend=backend)
    for index, expected in enumerate(alone):
        assert np.abs(values(expected) - values(found[index])).max() <= 1e-6
    assert entailer.counts.batches - before < 100


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_event_loop_runs_on_while_a_long_call_is_worked_off(entailer: Entailer, backend: str) -> None:
    ticks = []

    async def tick() -> None:
        while True:
            ticks.append(1)
            await anyio.sleep(0.001)

    async def main() -> Any:
        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            found = await entailer.apredict([("the cat " * 60_000, "sat"), *some_pairs(3000, seed=3)])
            group.cancel_scope.cancel()
        return found

    assert len(anyio.run(main, backend=backend)) == 3001
    assert len(ticks) > 10


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cancelled_call_is_given_up_and_the_others_go_on(entailer: Entailer, backend: str) -> None:
    async def main() -> Any:
        with anyio.move_on_after(0.01) as scope:
            await entailer.apredict([("the cat " * 100_000, "sat")])
        assert scope.cancelled_caught
        return await entailer.apredict([("the cat", "sat")])

    assert anyio.run(main, backend=backend) == entailer.predict([("the cat", "sat")])
    assert entailer.counts.windows < 1000, "what nobody waits for is not computed"


@pytest.mark.parametrize("backend", BACKENDS)
def test_errors_reach_the_task_that_asked(entailer: Entailer, backend: str) -> None:
    async def main() -> Any:
        with pytest.raises(ModelError, match="could not be run"):
            await entailer.apredict([("boom", "")])
        with pytest.raises(ModelError, match="no number"):
            await entailer.apredict([("nan", "")])
        return await entailer.apredict([("the", "cat")])

    assert len(anyio.run(main, backend=backend)) == 1


def test_a_caller_with_bad_scores_does_not_spoil_those_in_its_batch(entailer: Entailer) -> None:
    ready = threading.Barrier(16)

    def ask(index: int) -> Any:
        ready.wait()
        try:
            return entailer.predict([("the nan" if index % 4 == 0 else "the cat", "sat")])
        except ModelError as error:
            return error

    for _ in range(5):
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(ask, range(16)))
        assert [isinstance(each, ModelError) for each in found] == [index % 4 == 0 for index in range(16)]


def test_a_loop_that_ended_before_its_answer_came_does_no_harm(entailer: Entailer) -> None:
    async def main() -> None:
        with anyio.move_on_after(0):
            await entailer.apredict(some_pairs(500))

    for backend in BACKENDS * 5:
        anyio.run(main, backend=backend)
    assert len(entailer.predict([("the", "cat")])) == 1


def run_script(code: str, folder: Path) -> str:
    """Run code in a process of its own, where `folder` holds a model."""
    script = f"import os, sys, threading\nfrom director_ai.nli import load_entailer, load_encoder\nfolder = sys.argv[1]\n{code}"
    command = [sys.executable, "-W", "error", "-c", script, str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


FORK = """
import signal
entailer = load_entailer(folder, threads=2)
expected = entailer.predict([("the cat", "sat")])
busy = threading.Thread(target=lambda: [entailer.predict([("the cat " * 2000, str(n))]) for n in range(20)])
busy.start()
for ending in (os._exit, sys.exit):
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # ends a child that hangs
        right = entailer.predict([("the cat", "sat")]) == expected  # from the cache
        right = right and len(entailer.predict([("the cat", str(n)) for n in range(50)])) == 50
        ending(0 if right else 7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # or the next child prints it again
busy.join()
print(entailer.predict([("the cat", "sat")]) == expected)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_child_has_a_worker_of_its_own(tmp_path: Path) -> None:
    assert run_script(FORK, write_model(tmp_path)).split() == ["0", "0", "True"]


ENDINGS = {
    "idle": "load_entailer(folder).predict([('a', 'b')])",
    "in the middle of a batch": """
threading.Thread(target=load_entailer(folder).predict, args=([("the cat " * 50_000, "b")],), daemon=True).start()
import time; time.sleep(0.1)""",
    "while a thread still asks": """
threading.Thread(target=load_entailer(folder).predict, args=([("the cat " * 5_000, "b")],)).start()
import time
while not any(thread.name == "director-ai-nli" for thread in threading.enumerate()):
    time.sleep(0.01)  # from Python 3.12 on, none can be started once the main thread is over""",
}


@pytest.mark.parametrize("code", ENDINGS.values(), ids=ENDINGS)
def test_the_interpreter_ends_quietly(code: str, tmp_path: Path) -> None:
    assert run_script(code + "\nprint('end')", write_model(tmp_path)) == "end\n"


def test_threads_that_encode_get_what_one_caller_gets(tmp_path: Path) -> None:
    encoder = load_encoder(write_encoder(tmp_path), cache_size=0)
    texts = [" ".join(pair) for pair in some_pairs(64)]
    alone = encoder.encode(texts)
    with ThreadPoolExecutor(16) as pool:
        found = np.concatenate(list(pool.map(lambda text: encoder.encode([text]), texts)))
    assert np.abs(alone - found).max() <= 1e-6
