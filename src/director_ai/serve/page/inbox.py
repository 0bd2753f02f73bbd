"""The inbox: what waits, filtered, fifty at a time, kept up to date while it is open."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from director_ai.errors import PayloadError
from director_ai.review.cases import STATES
from director_ai.serve.page.counting import count_states
from director_ai.serve.page.reach import chosen_tenant, is_operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.responses import Response

    from director_ai.review.cases import ReviewCase, State
    from director_ai.review.queue import HumanReviewQueue
    from director_ai.serve.page.desk import Visit

__all__ = ["Listing", "list_inbox", "show_inbox"]

PAGE: Final = 50
MOST_SEARCHED: Final = 2_000
LONGEST_SEARCH: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One page of the inbox."""

    cases: tuple[ReviewCase, ...]
    after: str
    """The id behind which the next page begins; empty where there is none."""
    cut: bool = False
    """Whether the search ended before the last case."""


async def show_inbox(visit: Visit) -> Response:
    """Show the cases that are asked for; alone, where a page that is open asks for news."""
    asked = visit.request.query_params
    state, search = asked.get("state", "open"), asked.get("q", "").strip()[:LONGEST_SEARCH]
    if state not in {*STATES, "all"}:
        raise PayloadError("there is no such state")
    tenant = chosen_tenant(visit.who, asked.get("tenant", ""))
    queue = visit.desk.server.queue
    listing, counts = await asyncio.gather(
        asyncio.to_thread(list_inbox, queue, tenant, state, search, asked.get("after", "")),
        asyncio.to_thread(count_states, queue, tenant, time.time()),
    )
    return visit.render(
        "_rows.html" if visit.is_partial else "inbox.html",
        listing=listing,
        counts=counts,
        states=STATES,
        state=state,
        search=search,
        tenant=tenant,
        chooses_tenant=is_operator(visit.who),
        after=asked.get("after", ""),
    )


def list_inbox(queue: HumanReviewQueue, tenant_id: str | None, state: str, search: str, after: str) -> Listing:
    """Return a page of cases, the oldest first; a search looks at ids and reasons."""
    wanted: State | None = None if state == "all" else state  # type: ignore[assignment]  # one of STATES
    if not search:
        found = queue.list_cases(tenant_id=tenant_id, state=wanted, after=after, limit=PAGE + 1)
        return Listing(cases=tuple(found[:PAGE]), after=found[PAGE - 1].case_id if len(found) > PAGE else "")
    matching: list[ReviewCase] = []
    for looked, case in enumerate(_all(queue, tenant_id, wanted, after), 1):
        if _is_found(case, search.casefold()):
            matching.append(case)
        if len(matching) == PAGE or looked == MOST_SEARCHED:
            return Listing(cases=tuple(matching), after=case.case_id, cut=looked == MOST_SEARCHED)
    return Listing(cases=tuple(matching), after="")


def _all(queue: HumanReviewQueue, tenant_id: str | None, state: State | None, after: str) -> Iterator[ReviewCase]:
    while page := queue.list_cases(tenant_id=tenant_id, state=state, after=after, limit=500):
        yield from page
        after = page[-1].case_id


def _is_found(case: ReviewCase, search: str) -> bool:
    words = (case.case_id, case.request_id, case.reason, case.tenant_id, case.policy_id, case.claimed_by)
    return any(search in word.casefold() for word in words)
