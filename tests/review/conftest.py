"""The places that a queue can be in, and a queue in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from review_cases import Clock, place_of

from director_ai import HumanReviewQueue


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Checkpoints and the key of a PostgreSQL trail are beside the test's files, not in the user's home."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("DIRECTOR_AI_SIGNING_KEY", raising=False)
    return tmp_path


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return place_of(request, tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def shared_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place that several processes, or several queues, can share."""
    return place_of(request, tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(place: str, clock: Clock) -> Iterator[HumanReviewQueue]:
    with HumanReviewQueue(place, clock=clock) as made:
        yield made


@pytest.fixture
def memory_queue(clock: Clock) -> Iterator[HumanReviewQueue]:
    """For rules that no database has a part in."""
    with HumanReviewQueue(clock=clock) as made:
        yield made
