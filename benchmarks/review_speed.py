"""Operations of the review queue per second: by one thread, by threads that share commits, by several processes.

A round does each operation many times, each on a case of its own; the median of several rounds counts. CPU time is that
of the processes that ask, of all their threads; of PostgreSQL's server it is not.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sqlite3
import statistics
import threading
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from director_ai.review import HumanReviewQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier
    from pathlib import Path

OPERATIONS = ("enqueue", "decide", "release", "append")
BARE = "(a bare INSERT)"
THREADS = 8
PROCESSES = 4
TENANT = "bench"
TEXT = (
    "The refund of order {} is paid within 30 days of its return, to the account that it was paid from. Shipping costs "
    "5 euros and is paid back too where the goods were faulty."
)
REFS = ("kb://refunds-7", "kb://shipping-2")
WAIT_SECONDS = 300
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A database that any process can open a queue on."""

    kind: str
    place: str
    checkpoints: Path
    key: Path

    def opened(self) -> HumanReviewQueue:
        return HumanReviewQueue(self.place, checkpoints=self.checkpoints, signing_key=self.key)


@contextlib.contextmanager
def fresh_site(folder: Path, server: str = "") -> Iterator[Site]:
    """A database that nothing is in yet: a file in the folder, or one on a PostgreSQL server, dropped afterwards."""
    name = f"bench_{uuid.uuid4().hex[:12]}"
    beside: dict[str, Any] = {"checkpoints": folder / f"{name}.checkpoints", "key": folder / f"{name}.key"}
    if not server:
        yield Site(kind="SQLite", place=str(folder / f"{name}.db"), **beside)
        return
    run_on(server, f"CREATE DATABASE {name}")
    try:
        place = sa.make_url(server).set(database=name).render_as_string(hide_password=False)
        yield Site(kind="PostgreSQL", place=place, **beside)
    finally:
        run_on(server, f"DROP DATABASE {name} WITH (FORCE)")


def run_on(server: str, statement: str) -> Any:
    """Return the first value that a statement on a PostgreSQL server answers, if it does."""
    import psycopg  # noqa: PLC0415 - an optional part

    with psycopg.connect(server, autocommit=True) as connection:
        cursor = connection.execute(statement)
        first = cursor.fetchone() if cursor.description else None
    return first[0] if first else None


class Cost(NamedTuple):
    """Seconds of one operation."""

    wall: float
    cpu: float


class Work:
    """The operations of one round, each numbered one on a case of its own."""

    def __init__(self, queue: HumanReviewQueue, mark: str, count: int) -> None:
        self._queue = queue
        self._mark = mark
        self._ids = [""] * count

    def operation(self, name: str) -> Callable[[int], object]:
        made: Callable[[int], object] = getattr(self, name)
        return made

    def enqueue(self, at: int) -> None:
        case = self._queue.enqueue_case(
            candidate_text=TEXT.format(f"{self._mark}-{at}"),
            evidence_refs=REFS,
            tenant_id=TENANT,
            request_id=f"{self._mark}-{at}",
            reason="hard_limit",
        )
        self._ids[at] = case.case_id

    def decide(self, at: int) -> None:
        self._queue.decide(self._ids[at], reviewer_id="reviewer-a", action="approve", reason="as the policy says")

    def release(self, at: int) -> None:
        self._queue.release(self._ids[at], reviewer_id="reviewer-a", release_id=f"release-{self._mark}-{at}")

    def append(self, at: int) -> None:
        body = {"decision": "warn", "score": 0.41, "threshold": 0.5, "evidence": list(REFS), "request": self._mark}
        self._queue.trail.append("bench.event", f"{self._mark}-{at}", body, tenant_id=TENANT)


def timed(operation: Callable[[int], object], count: int, threads: int = 1) -> Cost:
    """What an operation costs on average, done as often by as many threads together."""
    failed: list[BaseException] = []
    ready = threading.Barrier(threads + 1)

    def run(first: int) -> None:
        try:
            ready.wait(WAIT_SECONDS)
            for at in range(first, count, threads):
                operation(at)
        except BaseException as error:  # noqa: BLE001 - raised again by whoever started the thread
            failed.append(error)

    if threads == 1:
        wall, cpu = time.perf_counter(), time.process_time()
        for at in range(count):
            operation(at)
    else:
        workers = [threading.Thread(target=run, args=(first,)) for first in range(threads)]
        for worker in workers:
            worker.start()
        ready.wait(WAIT_SECONDS)
        wall, cpu = time.perf_counter(), time.process_time()
        for worker in workers:
            worker.join()
    cost = Cost((time.perf_counter() - wall) / count, (time.process_time() - cpu) / count)
    if failed:
        raise failed[0]
    return cost


def median_of(costs: Sequence[Cost]) -> Cost:
    return Cost(statistics.median(each.wall for each in costs), statistics.median(each.cpu for each in costs))


# One thread and eight.


def by_threads(site: Site, count: int, rounds: int) -> dict[tuple[str, int], Cost]:
    """What each operation costs by its name and the number of threads; the first round does not count."""
    found: dict[tuple[str, int], list[Cost]] = {}
    with site.opened() as queue, bare_insert(site) as insert:
        for step in range(rounds + 1):
            for threads in (1, THREADS):
                work = Work(queue, f"round-{step}-{threads}", count)
                for name in OPERATIONS:
                    cost = timed(work.operation(name), count, threads)
                    found.setdefault((name, threads), []).extend([cost] if step else [])
            found.setdefault((BARE, 1), []).extend([timed(insert, count)] if step else [])
    return {key: median_of(costs) for key, costs in found.items()}


@contextlib.contextmanager
def bare_insert(site: Site) -> Iterator[Callable[[int], object]]:
    """The least that a durable operation can be: one row of the same size in one commit, by the driver alone."""
    body = TEXT * 5
    if site.kind == "SQLite":
        with contextlib.closing(sqlite3.connect(f"{site.place}.bare", isolation_level=None)) as connection:
            for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE bare (body TEXT)"):
                connection.execute(statement)
            yield lambda _at: connection.execute("INSERT INTO bare VALUES (?)", (body,))
        return
    import psycopg  # noqa: PLC0415 - an optional part

    with psycopg.connect(site.place, autocommit=True) as server:
        server.execute("CREATE TABLE bare (body TEXT)")
        yield lambda _at: server.execute("INSERT INTO bare VALUES (%s)", (body,))


# Processes on one database.


def by_processes(site: Site, count: int, rounds: int) -> dict[str, Cost]:
    """What each operation costs when processes share one database, each doing its part of them."""
    context = multiprocessing.get_context("spawn")
    site.opened().close()
    barrier, answers = context.Barrier(PROCESSES), context.Queue()
    each = count // PROCESSES
    workers = [
        context.Process(target=_take_part, args=(site, number, each, rounds, barrier, answers))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    told = [answers.get(timeout=WAIT_SECONDS) for _ in workers]
    for worker in workers:
        worker.join()
    if failed := [answer for answer in told if isinstance(answer, str)]:
        raise RuntimeError(f"a process failed: {failed[0]}")
    costs: dict[str, Cost] = {}
    for name in OPERATIONS:
        together = [[answer[name][step] for answer in told] for step in range(rounds)]
        costs[name] = median_of([_shared(spans, each * PROCESSES) for spans in together])
    return costs


def _shared(spans: Sequence[tuple[float, float, float]], count: int) -> Cost:
    """The cost of an operation from each process's start, end and CPU seconds."""
    starts, ends, cpu = zip(*spans, strict=True)
    return Cost((max(ends) - min(starts)) / count, sum(cpu) / count)


def _take_part(site: Site, number: int, count: int, rounds: int, barrier: Barrier, answers: Queue[Any]) -> None:
    """One of the processes; the first round does not count."""
    spans: dict[str, list[tuple[float, float, float]]] = {name: [] for name in OPERATIONS}
    try:
        with site.opened() as queue:
            for step in range(rounds + 1):
                work = Work(queue, f"process-{number}-{step}", count)
                for name in OPERATIONS:
                    operation = work.operation(name)
                    barrier.wait(WAIT_SECONDS)
                    start, cpu = time.monotonic(), time.process_time()
                    for at in range(count):
                        operation(at)
                    spans[name] += [(start, time.monotonic(), time.process_time() - cpu)] if step else []
        answers.put(spans)
    except BaseException as error:
        barrier.abort()
        answers.put(f"{type(error).__name__}: {error}")
        raise


# The part.


def measure_speed(folder: Path, servers: Sequence[str], count: int, rounds: int) -> dict[str, list[Row]]:
    """Operations per second on each database; a server of "" is SQLite."""
    rows = []
    for server in servers:
        with fresh_site(folder, server) as site:
            costs = by_threads(site, count, rounds)
            shared = by_processes(site, count, rounds)
        bare = costs[BARE, 1]
        rows.append(_row(site, BARE, "1 thread", bare, bare, bare))
        for name in OPERATIONS:
            alone = costs[name, 1]
            rows.append(_row(site, name, "1 thread", alone, alone, bare))
            rows.append(_row(site, name, f"{THREADS} threads", costs[name, THREADS], alone, bare))
            rows.append(_row(site, name, f"{PROCESSES} processes", shared[name], alone, bare))
    return {"rates": rows}


def _row(site: Site, name: str, how: str, cost: Cost, alone: Cost, bare: Cost) -> Row:
    return {
        "database": site.kind,
        "operation": name,
        "by": how,
        "per second": 1 / cost.wall,
        "ms": cost.wall * 1e3,
        "CPU ms": cost.cpu * 1e3,
        "rate / 1 thread": alone.wall / cost.wall,
        "ms / bare": cost.wall / bare.wall,
    }


def sync_milliseconds(folder: Path, count: int = 100) -> float:
    """How long the disk takes to keep a page, the median; near nothing where the folder is in memory."""
    taken = []
    path = folder / "sync"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        for _ in range(count):
            os.write(handle, bytes(4096))
            started = time.perf_counter()
            os.fsync(handle)
            taken.append(time.perf_counter() - started)
    finally:
        os.close(handle)
        path.unlink()
    return statistics.median(taken) * 1e3
