"""What several workers need of the settings, and where they count rates."""

from __future__ import annotations

from typing import ClassVar

import pytest
from limits.errors import ConfigurationError
from limits.storage import MemoryStorage
from servers import settings_of

from director_ai.cli.serve import serve
from director_ai.errors import ConfigError
from director_ai.serve import limiting
from director_ai.serve.limiting import TenantRates
from director_ai.serve.proxy import Overloaded
from director_ai.serve.settings import ServerSettings
from director_ai.serve.turns import NOBODY, Turns

FILES = {"server": {"database": "director.db", "workers": 3, "most_streams": 100}, "guard": {"store": "facts.db"}}


def test_each_worker_has_its_share_of_the_streams() -> None:
    assert settings_of(FILES).share().most_streams == 34
    assert settings_of().share().most_streams == settings_of().most_streams


def test_the_environment_and_the_command_say_how_many() -> None:
    tables = {"server": {"database": "x.db", "workers": 2}, "guard": {"store": "y.db"}}
    env = {"DIRECTOR_AI_SERVER_WORKERS": "3"}
    assert ServerSettings.load(tables, env={}).workers == 2
    assert ServerSettings.load(tables, env=env).workers == 3
    assert ServerSettings.load(tables, env=env, workers=4).workers == 4


@pytest.mark.parametrize("count", [0, 65, -1, 1.5, "two"])
def test_there_is_at_least_one_and_not_too_many(count: object) -> None:
    with pytest.raises(ConfigError, match="workers of the server"):
        settings_of({"server": {"workers": count}})


@pytest.mark.parametrize(
    ("database", "store", "named"), [(":memory:", "facts.db", "database"), ("director.db", ":memory:", "store")]
)
def test_what_is_in_memory_cannot_be_shared(database: str, store: str, named: str) -> None:
    with pytest.raises(ConfigError, match=f"workers cannot share a {named} in memory"):
        settings_of({"server": {"database": database, "workers": 2}, "guard": {"store": store}})


def test_the_address_of_the_store_of_rates_is_not_shown() -> None:
    shown = settings_of({"server": {"rate_store": "redis://:hunter2@cache:6379/0"}}).show()
    assert shown["server"]["rate_store"] == "redis://***"
    assert settings_of().show()["server"]["rate_store"] == "memory://"
    assert "hunter2" not in repr(settings_of({"server": {"rate_store": "redis://:hunter2@cache:6379/0"}}))


def test_the_demo_is_one_process() -> None:
    with pytest.raises(ConfigError, match="leave --workers away"):
        serve(demo=True, workers=2)


# --- turns --------------------------------------------------------------------------------------------------------


def test_it_is_the_turn_of_who_has_fewest_among_those_who_are_there() -> None:
    counts = [3, NOBODY, 2]
    assert [Turns(counts, place).is_anothers for place in (0, 2)] == [True, False]
    Turns(counts, 1).note(0)
    assert [Turns(counts, place).is_anothers for place in (0, 1, 2)] == [True, False, True]
    Turns(counts, 1).leave()
    Turns(counts, 0).note(2)
    assert [Turns(counts, place).is_anothers for place in (0, 2)] == [False, False]


# --- rates --------------------------------------------------------------------------------------------------------


class SharedStorage(MemoryStorage):
    """A store that several share, as one over a network is, which a test can break."""

    STORAGE_SCHEME: ClassVar = ["shared"]
    one: MemoryStorage | None = None
    is_broken = False

    def __new__(cls, *_: object, **__: object) -> SharedStorage:
        cls.one = cls.one or super().__new__(cls)
        return cls.one

    def __init__(self, *_: object, **__: object) -> None:
        if not hasattr(self, "storage"):
            super().__init__()

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        if self.is_broken:
            raise ConnectionError("hunter2")
        return super().acquire_entry(key, limit, expiry, amount)


def test_who_shares_a_store_counts_together() -> None:
    SharedStorage.one = None
    one, two = TenantRates("shared://"), TenantRates("shared://")
    one.take("acme", "2/hour")
    two.take("acme", "2/hour")
    for rates in (one, two):
        with pytest.raises(Overloaded):
            rates.take("acme", "2/hour")
    two.take("globex", "2/hour")


def test_while_the_store_does_not_answer_each_counts_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    SharedStorage.one = None
    now = 1_000.0
    rates = TenantRates("shared://", clock=lambda: now)
    monkeypatch.setattr(SharedStorage, "is_broken", True)
    rates.take("acme", "2/hour")
    rates.take("acme", "2/hour")
    with pytest.raises(Overloaded):
        rates.take("acme", "2/hour")
    assert [record.message for record in caplog.records] == [
        "the store of rates does not answer (ConnectionError); this process counts alone"
    ]
    monkeypatch.setattr(SharedStorage, "is_broken", False)
    now += limiting.RETRY_SECONDS
    rates.take("acme", "2/hour")


@pytest.mark.parametrize(
    "store", ["nowhere://hunter2", "async+memory://", "memcached://hunter2:1"], ids=["unknown", "async", "no window"]
)
def test_a_store_that_cannot_be_used_is_refused_without_its_address(store: str) -> None:
    with pytest.raises(ConfigError, match="rate_store of the server") as refused:
        TenantRates(store)
    assert "hunter2" not in str(refused.value)
    assert not isinstance(refused.value.__cause__, ConfigurationError)
