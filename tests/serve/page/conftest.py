"""One server with its page for all tests of a module, and people with keys who look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from page_server import PageServer
from person import Person


@pytest.fixture(scope="module")
def page() -> Iterator[PageServer]:
    with PageServer() as running:
        yield running


@pytest.fixture
def person(page: PageServer) -> Iterator[Callable[[str], Person]]:
    """Return a function from a key to somebody who is signed in with it; without a key, who is not."""
    made: list[Person] = []

    def make(key: str = "") -> Person:
        made.append(Person(page))
        return made[-1].sign_in(key) if key else made[-1]

    yield make
    for each in made:
        each.client.close()
