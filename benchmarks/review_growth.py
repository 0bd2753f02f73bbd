"""What operations of the review queue cost by what is in its database already, and how fast a trail is verified.

Every size has a database of its own, filled with cases through the code that enqueues them, one commit for every
checkpoint: as many cases wait in the inbox as there are rows in the trail, all of one tenant. What is decided and
released is then drawn from all over them. PostgreSQL gets the same rows by COPY, and is told to count them, as a server
that has run for a while has done by itself. The sizes take turns in every round, and the median of the rounds counts.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import sqlite3
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

from review_speed import OPERATIONS, REFS, TENANT, TEXT, Cost, Row, Site, Work, fresh_site, median_of, timed
from rich.progress import track

from director_ai.record.checkpoints import EVERY_ROWS
from director_ai.record.keys import read_key
from director_ai.review.opening import new_case, open_case

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from director_ai.record.chain import Writer
    from director_ai.review import HumanReviewQueue

TABLES = ("director_audit", "director_review_case")
LOOKS = ("claim next", "list open", "list behind", "list all")
FEW = 5
"""How often what only looks is done in a round."""
LARGE = 500_000
VERIFIED = 3
"""How often a trail is verified, the median of which counts; one of a million rows once."""


# Filling.


def fill(site: Site, rows: int, title: str) -> None:
    """Put as many cases into an inbox, each with its row of the trail."""
    with site.opened() as queue:
        for first in track(range(0, rows, EVERY_ROWS), description=title, transient=True):
            numbers = range(first, min(first + EVERY_ROWS, rows))
            queue.trail.write(functools.partial(_open_all, numbers=numbers, digest=queue.trail.key.digest), TENANT)


def _open_all(writer: Writer, numbers: range, digest: Callable[[str], str]) -> None:
    for number in numbers:
        given = {
            "candidate_text": TEXT.format(number),
            "evidence_refs": REFS,
            "tenant_id": TENANT,
            "request_id": f"request-{number}",
            "reason": "hard_limit",
        }
        open_case(writer, new_case("text", given, {}, required=1, lasts=7 * 86_400.0, digest=digest))


def copy_rows(source: Site, target: Site) -> None:
    """Put the rows of a file into PostgreSQL; they are sealed with the same key, and so are its."""
    import psycopg  # noqa: PLC0415 - an optional part
    from psycopg import sql  # noqa: PLC0415

    shutil.copy(source.key, target.key)
    shutil.copy(source.checkpoints, target.checkpoints)
    target.opened().close()
    with contextlib.closing(sqlite3.connect(source.place)) as file, psycopg.connect(target.place) as server:
        for table in TABLES:
            found = file.execute(f"SELECT * FROM {table}")
            names = sql.SQL(",").join(sql.Identifier(column[0]) for column in found.description)
            into = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
            with server.cursor() as cursor, cursor.copy(into) as copy:
                for row in found:
                    copy.write_row(row)
        server.commit()
        server.execute("ANALYZE")


# Operations.


class Grown(Work):
    """A round among cases that are there already: old ones are decided and released, new ones come in."""

    def __init__(self, queue: HumanReviewQueue, mark: str, cases: Sequence[str]) -> None:
        super().__init__(queue, mark, len(cases))
        self._cases = cases

    def enqueue(self, at: int) -> None:
        super().enqueue(at)
        self._ids[at] = self._cases[at]

    def looking(self, name: str, middle: str) -> Callable[[int], object]:
        """Return what looks at many cases to find some."""
        queue = self._queue

        def claim_next(_at: int) -> None:
            case = queue.claim_next(reviewer_id="reviewer-b", tenant_id=TENANT)
            if case is None:
                raise RuntimeError("there is nothing to claim")
            queue.unclaim(case.case_id, reviewer_id="reviewer-b")

        found: dict[str, Callable[[int], object]] = {
            "claim next": claim_next,
            "list open": lambda _at: queue.list_cases(tenant_id=TENANT, state="open"),
            "list behind": lambda _at: queue.list_cases(tenant_id=TENANT, state="open", after=middle),
            "list all": lambda _at: queue.list_cases(tenant_id=TENANT),
        }
        return found[name]


def drawn_cases(queue: HumanReviewQueue, rows: int, count: int) -> list[str]:
    """The ids of some cases from all over the trail, evenly."""
    return [queue.trail.rows(TENANT, after=at * rows // count, limit=1)[0].subject for at in range(count)]


def one_round(queue: HumanReviewQueue, mark: str, cases: Sequence[str]) -> dict[str, Cost]:
    """The cost of each operation, done once for each of some open cases."""
    work = Grown(queue, mark, cases)
    found = {name: timed(work.looking(name, cases[len(cases) // 2]), FEW) for name in LOOKS}
    return found | {name: timed(work.operation(name), len(cases)) for name in OPERATIONS}


def measure_operations(sites: dict[int, Site], count: int, rounds: int) -> list[Row]:
    """What each operation costs by the number of rows; the first round does not count."""
    costs: dict[tuple[str, int], list[Cost]] = {}
    with contextlib.ExitStack() as stack:
        queues = {rows: stack.enter_context(site.opened()) for rows, site in sites.items()}
        drawn = {rows: drawn_cases(queue, rows, count * (rounds + 1)) for rows, queue in queues.items()}
        for step in track(range(rounds + 1), description="growth", transient=True):
            for rows, queue in queues.items():
                for name, cost in one_round(queue, f"grown-{step}", drawn[rows][step :: rounds + 1]).items():
                    costs.setdefault((name, rows), []).extend([cost] if step else [])
    kind, least = next(iter(sites.values())).kind, min(sites)
    made = []
    for (name, rows), many in costs.items():
        cost, first = median_of(many), median_of(costs[name, least])
        made.append(
            {"database": kind, "operation": name, "rows": rows, "ms": cost.wall * 1e3, "CPU ms": cost.cpu * 1e3}
        )
        made[-1] |= {"times": cost.wall / first.wall, "CPU times": cost.cpu / first.cpu}
    return made


# Verification.


def measure_verification(site: Site, rows: int) -> list[Row]:
    """Rows per second, with the whole key and with its public half; a trail that is not good is an error."""
    made = []
    with site.opened() as queue:
        public = Path(f"{site.key}.public")
        public.write_text(queue.trail.key.pem(), "utf-8")
        for name, key in (("private", queue.trail.key), ("public", read_key(public))):
            walls, cpus = [], []
            for _ in range(1 if rows >= LARGE else VERIFIED):
                wall, cpu = time.perf_counter(), time.process_time()
                told = queue.trail.verify(key=key)
                walls.append(time.perf_counter() - wall)
                cpus.append(time.process_time() - cpu)
                if not told.ok or told.rows < rows:
                    raise RuntimeError(f"the filled trail does not verify: {told}")
            made.append(_verified(site, name, told.rows, statistics.median(walls), statistics.median(cpus)))
    return made


def _verified(site: Site, key: str, rows: int, wall: float, cpu: float) -> Row:
    return {
        "database": site.kind,
        "key": key,
        "rows": rows,
        "rows per second": rows / wall,
        "rows per CPU second": rows / cpu,
        "seconds": wall,
    }


# The part.


def measure_growth(
    folder: Path, servers: Sequence[str], sizes: Sequence[int], count: int, rounds: int
) -> dict[str, list[Row]]:
    """Growth and verification on each database; a server of "" is SQLite."""
    grown: list[Row] = []
    verified: list[Row] = []
    with contextlib.ExitStack() as stack:
        files = {rows: stack.enter_context(fresh_site(folder)) for rows in sizes}
        for rows, site in files.items():
            fill(site, rows, f"filling {rows:,} rows")
        copies: list[dict[int, Site]] = []
        for server in filter(None, servers):  # before the files grow by what is measured
            copies.append({rows: stack.enter_context(fresh_site(folder, server)) for rows in sizes})
            for rows, site in copies[-1].items():
                copy_rows(files[rows], site)
        for sites in ([files] if "" in servers else []) + copies:
            for rows, site in sites.items():
                verified += measure_verification(site, rows)
            grown += measure_operations(sites, count, rounds)
    return {"operations": grown, "verification": verified}


def beside(rows: Sequence[Row], kind: str) -> list[Row]:
    """The growth on one database, an operation per line, a size per column."""
    found: dict[str, Row] = {}
    for row in rows:
        if row["database"] == kind:
            line = found.setdefault(row["operation"], {"operation": row["operation"]})
            line[f"ms at {row['rows']:,}"] = row["ms"]
    for row in rows:
        if row["database"] == kind and row["rows"] != rows[0]["rows"]:
            found[row["operation"]][f"times at {row['rows']:,}"] = row["times"]
            found[row["operation"]][f"CPU times at {row['rows']:,}"] = row["CPU times"]
    return list(found.values())


def worst_growth(rows: Sequence[Row], *, looks: bool) -> float:
    """The largest ratio of time per operation at the most rows to that at the fewest, of what looks or what writes.

    CPU time for SQLite, all of whose work is done here; wall time for PostgreSQL, whose server does most of it.
    """
    most = max(row["rows"] for row in rows)
    chosen = [row for row in rows if row["rows"] == most and (row["operation"] in LOOKS) is looks]
    return max(float(row["CPU times" if row["database"] == "SQLite" else "times"]) for row in chosen)
