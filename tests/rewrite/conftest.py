from __future__ import annotations

from collections.abc import Iterator

import pytest
from upstream_server import Upstream, serve


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve() as server:
        yield server
