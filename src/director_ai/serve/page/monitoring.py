"""The monitoring tab: how the guard does, and how long cases wait."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any, Final

from director_ai.serve.page.counting import AGES, count_states, failing_facts, waiting_cases
from director_ai.serve.page.plots import draw_bars, draw_lines, milliseconds
from director_ai.serve.page.reach import own_tenant
from director_ai.serve.page.samples import ACTIONS, quantile, since

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.responses import Response

    from director_ai.serve.page.desk import Visit
    from director_ai.serve.page.plots import Plot
    from director_ai.serve.page.samples import Buckets, Sample, Samples

__all__ = ["show_monitoring"]

MOST_STEPS: Final = 60
SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def show_monitoring(samples: Samples) -> Callable[[Visit], Any]:
    """Return the view of the figures that are kept in some samples."""

    async def monitoring(visit: Visit) -> Response:
        samples.keep_fresh()
        caller, queue, now = visit.who, visit.desk.server.queue, time.time()
        tenant = own_tenant(caller)
        counts, waiting, facts = await asyncio.gather(
            asyncio.to_thread(count_states, queue, tenant, now),
            asyncio.to_thread(waiting_cases, queue, tenant, now),
            asyncio.to_thread(failing_facts, queue, caller.tenant_id),
        )
        sees_process = "admin" in caller.scopes
        return visit.render(
            "_figures.html" if visit.is_partial else "monitoring.html",
            counts=counts,
            waiting=waiting,
            ages=[(name, count) for (_, name), count in zip(AGES, waiting.by_age, strict=True)],
            facts=facts,
            process=_process(samples.latest()) if sees_process else None,
            is_joint=visit.desk.server.figures.is_joint,
        )

    return monitoring


def _process(kept: Sequence[Sample]) -> dict[str, Any]:
    """Return the plots and figures of the whole process."""
    steps = _thinned(kept)
    times = [later.at for _, later in steps]
    borders = [steps[0][0].at, *times] if steps else []
    first, last = kept[0], kept[-1]
    clauses = {name: int(last.actions[name]) for name in ACTIONS}
    held = {name: quantile(last.held, share) for name, share in SHARES.items()}
    scored = {name: quantile(last.scored, share) for name, share in SHARES.items()}
    return {
        "minutes": max(0.0, last.at - first.at) / 60,
        "clauses": clauses,
        "total": sum(clauses.values()),
        "streams": last.streams,
        "held": {name: milliseconds(value) for name, value in held.items()},
        "scored": {name: milliseconds(value) for name, value in scored.items()},
        "actions_plot": _actions(steps, borders),
        "held_plot": _times(steps, times, "held back", lambda sample: sample.held),
        "scored_plot": _times(steps, times, "scoring", lambda sample: sample.scored),
        "streams_plot": draw_lines(
            times,
            {"streams": [float(later.streams) for _, later in steps]},
            f"{last.streams} streams are open now.",
        ),
    }


def _thinned(kept: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Return pairs of neighbors, of which at most so many are drawn."""
    every = max(1, -(-(len(kept) - 1) // MOST_STEPS))
    chosen = list(kept[::-every][::-1])
    return list(itertools.pairwise(chosen))


def _actions(steps: Sequence[tuple[Sample, Sample]], borders: list[float]) -> Plot:
    series = {
        name: [max(0.0, later.actions[name] - earlier.actions[name]) for earlier, later in steps] for name in ACTIONS
    }
    told = ", ".join(f"{sum(values):.0f} {name}" for name, values in series.items())
    return draw_bars(borders, series, f"Clauses in the time shown: {told}.")


def _times(
    steps: Sequence[tuple[Sample, Sample]], times: list[float], what: str, of: Callable[[Sample], Buckets]
) -> Plot:
    between = [since(of(earlier), of(later)) for earlier, later in steps]
    series = {name: [quantile(buckets, share) for buckets in between] for name, share in SHARES.items()}
    worst = max((value for value in series["p99"] if value is not None), default=None)
    return draw_lines(times, series, f"Time {what}: the highest p99 shown is {milliseconds(worst)}.", is_time=True)
