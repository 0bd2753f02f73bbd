"""The control plane keeps to its own description, whatever comes: no crash, no answer that it does not describe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from described import SCHEMA, ask_as_described
from hypothesis import HealthCheck, Phase, seed, settings
from servers import Served, served, server_of


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served(server_of()) as told:
        told.server.queue.enqueue_case(candidate_text="A text.", tenant_id="acme", request_id="r1")
        yield told


@pytest.fixture(scope="module")
def secret(running: Served) -> str:
    return running.key("proxy", "reviewer", "admin")


@SCHEMA.parametrize()
@seed(0)  # the same requests on every machine: schemathesis does not see the derandomize of the profile
@settings(max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_every_answer_is_one_that_was_described(case: schemathesis.Case, running: Served, secret: str) -> None:
    status = ask_as_described(case, running, {"Authorization": f"Bearer {secret}"})
    assert status < 500
