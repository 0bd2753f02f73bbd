"""The control plane keeps to its own description, whatever comes: no crash, no answer that it does not describe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from servers import Served, served, server_of

from director_ai.serve.app import create_app

with server_of() as _described:
    SCHEMA = schemathesis.openapi.from_dict(create_app(_described).openapi())


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served(server_of()) as told:
        told.server.queue.enqueue_case(candidate_text="A text.", tenant_id="acme", request_id="r1")
        yield told


@pytest.fixture(scope="module")
def secret(running: Served) -> str:
    return running.key("proxy", "reviewer", "admin")


@SCHEMA.parametrize()
@settings(max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_every_answer_is_one_that_was_described(case: schemathesis.Case, running: Served, secret: str) -> None:
    if case.method == "DELETE" and case.path.startswith("/admin/keys"):
        case.path_parameters = {"prefix": "dai_aaaaaaaa"}  # or it would revoke its own key
    case.call_and_validate(base_url=running.url, headers={"Authorization": f"Bearer {secret}"})
