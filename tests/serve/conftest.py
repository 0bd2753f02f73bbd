"""What the tests of the server share: a fake upstream, and our proxy in front of it, both over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from upstreams import FakeUpstream, Proxied, StubTenants, new_guard, proxy_app, running

from director_ai import ProductionGuard
from director_ai.serve.open_streams import OpenStreams


@pytest.fixture(scope="session")
def proxied() -> Iterator[Proxied]:
    upstream, streams = FakeUpstream(), OpenStreams()
    with running(upstream.app()) as upstream_url:
        tenants = StubTenants(upstream_url)
        with running(proxy_app(tenants, streams)) as url:
            yield Proxied(url, upstream, tenants, streams)


@pytest.fixture(scope="session")
def heuristic_guard() -> ProductionGuard:
    return new_guard()
