"""The control plane by its own description: requests that it allows and does not allow, and how answers must be."""

from __future__ import annotations

from collections.abc import Mapping

import schemathesis
from schemathesis import checks
from servers import Served, server_of

from director_ai.serve.app import create_app

with server_of() as _described:
    SCHEMA = schemathesis.openapi.from_dict(create_app(_described).openapi())

MEANT = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
"""Those of the answer alone: the test gives a key to requests that were made to have none, so they are not refused."""


def ask_as_described(case: schemathesis.Case, running: Served, headers: Mapping[str, str]) -> int:
    """Send a request, and return the status of its answer, which is one that the description holds."""
    if case.method == "DELETE" and case.path.startswith("/admin/keys"):
        case.path_parameters = {"prefix": "dai_aaaaaaaa"}  # or it would revoke its own key
    return case.call_and_validate(base_url=running.url, headers=dict(headers), checks=MEANT).status_code
