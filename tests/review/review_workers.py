"""Processes that use one queue at the same time, and may be killed in the middle of it.

`python review_workers.py FOLDER` starts processes by order of its input, a JSON list of a name, a job and its options
per line, and answers with their ids; at the end of its input it waits for them. Each writes down what it is about to
do, and what came of it, in FOLDER/NAME.log: what stands there is what a client could have known when it was killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from director_ai.errors import Refused
from director_ai.review.queue import HumanReviewQueue

Log = Callable[..., None]
GO = "go"
"""Who races waits for a file of this name, so that all begin together."""


def main(folder: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    started = {}
    for line in sys.stdin:
        name, job, options = json.loads(line)
        if (process := os.fork()) == 0:
            run(Path(folder), name, job, options)
        started[process] = name
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()
    for process in started:
        os.waitpid(process, 0)


def run(folder: Path, name: str, job: str, options: dict[str, Any]) -> None:
    handle = os.open(folder / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def log(*words: object) -> None:
        os.write(handle, (json.dumps(words) + "\n").encode())  # with the kernel when this returns: a kill loses nothing

    status = 1
    try:
        skew = options.pop("skew", 0)
        with HumanReviewQueue(options.pop("place"), clock=lambda: time.time() + skew) as queue:
            log("ready")
            while not (folder / GO).exists():
                time.sleep(0.002)
            JOBS[job](queue, name, log, **options)
        status = 0
    except BaseException as error:
        log("failed", type(error).__name__, str(error))
    finally:
        os._exit(status)


def attempt(log: Log, ask: Callable[[], Any], *what: object) -> None:
    """Do one thing; what is asked for is written down before, what came of it behind."""
    log("asks", *what)
    try:
        answer = ask()
    except Refused as refused:
        log("refused", *what, type(refused).__name__)
        return
    log("done", *what, answer if isinstance(answer, str) else "")


def asked(queue: HumanReviewQueue, name: str, what: Any, case: str) -> Callable[[], Any]:
    if what == "release":
        return lambda: queue.release(case, reviewer_id=name, release_id=f"{name}.{case}")
    return lambda: queue.decide(case, reviewer_id=name, action=what).decision_id


def race(queue: HumanReviewQueue, name: str, log: Log, *, cases: dict[str, list[str]]) -> None:
    """Try everything that is to happen once, in an order of one's own."""
    order = random.Random(name)
    steps = [(what, case) for what, made in cases.items() for case in made]
    order.shuffle(steps)
    for kind, case in steps:
        what = kind if kind != "either" else "reject" if name < "w4" else "release"
        attempt(log, asked(queue, name, what, case), what, case)
    lease = 100_000  # seconds: longer than the clocks of the processes are apart
    while (held := queue.claim_next(reviewer_id=name, tenant_id="claims", lease=lease)) is not None:
        log("done", "claim", held.case_id)


def work(queue: HumanReviewQueue, name: str, log: Log, *, first: int, count: int) -> None:
    """Put the same requests in as the others, approve them, and try to be the one that releases them."""
    for number in range(first, first + count):
        request = f"r{number}"
        log("asks", "enqueue", request)
        case = queue.enqueue_case(
            candidate_text=text_of(request), tenant_id=f"t{number % 3}", request_id=request
        ).case_id
        log("done", "enqueue", request, case)
        for what in ("approve", "release"):
            attempt(log, asked(queue, name, what, case), what, case)


def text_of(request: str) -> str:
    return f"The text of {request}."


JOBS: dict[str, Callable[..., None]] = {"race": race, "work": work}


class Workers:
    """The process above, from the outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._starter = subprocess.Popen(
            [sys.executable, __file__, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, name: str, job: str, **options: Any) -> int:
        assert self._starter.stdin is not None
        assert self._starter.stdout is not None
        self._starter.stdin.write(json.dumps([name, job, options]) + "\n")
        self._starter.stdin.flush()
        return int(self._starter.stdout.readline())

    def go(self) -> None:
        (self.folder / GO).touch()

    def said(self, name: str) -> list[list[Any]]:
        path = self.folder / f"{name}.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def all_said(self) -> Iterator[tuple[str, list[Any]]]:
        for path in sorted(self.folder.glob("*.log")):
            yield from ((path.stem, words) for words in self.said(path.stem))

    def wait(self) -> None:
        """Until all are done; who failed says so in its log."""
        self._starter.communicate(timeout=1_000)
        assert [words for _, words in self.all_said() if words[0] == "failed"] == []


if __name__ == "__main__":
    main(sys.argv[1])
