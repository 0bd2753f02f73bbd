"""Whoever drops a guard, a store, a queue or a trail without closing it leaves no connection open."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from director_ai import GroundTruthStore, HumanReviewQueue, ProductionGuard, VectorGroundTruthStore
from director_ai.record import AuditTrail
from director_ai.record.database import Database
from director_ai.settings import GuardSettings


@pytest.fixture(autouse=True)
def keys_of_this_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def guarded(path: Path) -> object:
    guard = ProductionGuard(GuardSettings(store=str(path)))
    guard.store.add("fee", "The fee is 10 euros.")
    return guard


def stored(path: Path) -> object:
    store = GroundTruthStore(str(path))
    store.add("fee", "The fee is 10 euros.")
    store.get("fee")
    return store


MAKERS: dict[str, Callable[[Path], object]] = {
    "a store": stored,
    "a store of vectors": lambda path: VectorGroundTruthStore(str(path)),
    "a guard": guarded,
    "a database": Database,
    "a trail": AuditTrail,
    "a queue": HumanReviewQueue,
}


def open_below(folder: Path) -> list[str]:
    """Return the files of a folder that this process has open."""
    files = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            files.append(str(descriptor.readlink()))
        except OSError:  # the one by which the folder was listed
            continue
    return [file for file in files if file.startswith(str(folder))]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux lists the open files of a process")
@pytest.mark.parametrize("in_thread", [False, True], ids=["here", "made in a thread that is gone"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_dropped_leaves_nothing_open(make: Callable[[Path], object], in_thread: bool, tmp_path: Path) -> None:
    made: list[object] = []
    gc.freeze()  # only what this test makes is looked for
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        if in_thread:
            thread = threading.Thread(target=lambda: made.append(make(tmp_path / "kept.db")))
            thread.start()
            thread.join()
        else:
            made.append(make(tmp_path / "kept.db"))
        assert open_below(tmp_path), "it keeps connections for the next use; without them this test shows nothing"
        made.clear()
        gc.collect()
        gc.unfreeze()
        assert open_below(tmp_path) == []
    assert [str(each.message) for each in warned if each.category is ResourceWarning] == []


@pytest.mark.parametrize("make", [GroundTruthStore, HumanReviewQueue], ids=["a store", "a queue"])
def test_what_is_in_memory_is_dropped_without_a_warning(make: Callable[[], object]) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        make()
        gc.collect()
    assert [str(each.message) for each in warned if each.category is ResourceWarning] == []
