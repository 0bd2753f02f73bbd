"""What all tests share: how Hypothesis searches, the drivers of a stream, a PostgreSQL server."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from drivers import Driver
from postgres import empty_reviews, fresh_database, fresh_reviews, postgres_server, postgres_url

__all__ = ["driver", "empty_reviews", "fresh_database", "fresh_reviews", "postgres_server", "postgres_url"]

settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


@pytest.fixture(params=["sync", "asyncio", "trio"])
def driver(request: pytest.FixtureRequest) -> Driver:
    return Driver(request.param)
