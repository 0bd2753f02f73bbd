"""Holding a case for a while, and letting it go again."""

from __future__ import annotations

from typing import Annotated

import typer

from director_ai.cli.facts_show import say, write_json
from director_ai.cli.facts_store import login_name
from director_ai.cli.review_options import (
    DEFAULT_DB,
    AsJson,
    Case,
    Checkpoints,
    Db,
    Key,
    Reviewer,
    Tenant,
    opened_case,
)
from director_ai.cli.review_show import until
from director_ai.errors import CaseClaimed

__all__ = ["claim", "unclaim"]


def claim(
    case: Case,
    lease: Annotated[float | None, typer.Option("--lease", help="For so many seconds.", show_default="900")] = None,
    reviewer: Reviewer = "",
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    checkpoints: Checkpoints = "",
    key: Key = "",
    as_json: AsJson = False,
) -> None:
    """Hold a case for a while, so that nobody else decides it meanwhile."""
    with opened_case(case, tenant, db, checkpoints, key) as (queue, case_id):
        held = queue.claim(case_id, reviewer_id=reviewer or login_name(), lease=lease)
    if as_json:
        write_json([held.to_dict()])
    else:
        say(f"held by {held.claimed_by} until {until(held.claimed_until)}")


def unclaim(
    case: Case,
    reviewer: Reviewer = "",
    db: Db = DEFAULT_DB,
    tenant: Tenant = None,
    checkpoints: Checkpoints = "",
    key: Key = "",
    as_json: AsJson = False,
) -> None:
    """Let go of a case that you hold, so that anybody may decide it."""
    with opened_case(case, tenant, db, checkpoints, key) as (queue, case_id):
        queue.unclaim(case_id, reviewer_id=reviewer or login_name())
        left = queue.get_case(case_id)
        if left.claimed_by:
            raise CaseClaimed("another reviewer holds the case; it is free when they let go or their time is over")
    if as_json:
        write_json([left.to_dict()])
    else:
        say("held by nobody")
