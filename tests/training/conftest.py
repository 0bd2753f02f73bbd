"""The steps of `training/` are run from the repository, not from the installed package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

MOST_MADE = 40
"""Rows that a test lets each rule of `training.pairs` make."""

MOST_WRITTEN = 60
"""Items of our own writing that a test uses."""

Step = Callable[..., str]


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Step:
    """Run a step by its command line, in this process, on little data; return what it printed."""
    import importlib

    from training import pairs

    for name, value in pairs.SETTINGS["data"].items():
        if isinstance(value, int) and value > 5000:
            monkeypatch.setitem(pairs.SETTINGS["data"], name, MOST_MADE)
    monkeypatch.setitem(pairs.SETTINGS["data"], "written", 1)
    items = pairs.written_items()
    monkeypatch.setattr(pairs, "written_items", lambda: items[:: len(items) // MOST_WRITTEN])

    def run(name: str, *arguments: object) -> str:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        importlib.import_module(f"training.{name}").main()
        return capsys.readouterr().out

    return run
