"""A guard that knows two facts, and a model's server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from asking import Endpoint
from model_server import ModelServer, model_server

from director_ai import ProductionGuard

FACTS = {"refund": "Refunds are available within 30 days.", "ceo": "The CEO is Jane Doe."}


@pytest.fixture(scope="session")
def guard() -> Iterator[ProductionGuard]:
    with ProductionGuard.from_profile("finance", use_nli=False, search="words") as made:
        made.load_facts(FACTS)
        yield made


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def wrapped(guard: ProductionGuard, model: ModelServer) -> Iterator[Callable[..., Any]]:
    """Makes guarded synchronous clients of the model's server, and closes them."""
    with ExitStack() as stack:

        def make(endpoint: Endpoint, **options: Any) -> Any:
            return stack.enter_context(guard.wrap(endpoint.client(model), **options))

        yield make
