"""A place for a trail: a file, a PostgreSQL server; and a clock that a test turns by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from forgery import Forger

from director_ai.record import AuditTrail


@pytest.fixture(autouse=True)
def no_key_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DIRECTOR_AI_SIGNING_KEY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(params=["file", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("fresh_database"))
    return str(tmp_path / "reviews.db")


@pytest.fixture
def trail(place: str) -> Iterator[AuditTrail]:
    with AuditTrail(place) as made:
        yield made


@pytest.fixture
def forger(trail: AuditTrail) -> Iterator[Forger]:
    made = Forger(trail.database.place)
    yield made
    made.close()
