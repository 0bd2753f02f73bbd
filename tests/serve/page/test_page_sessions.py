"""Who is signed in on the page: in every process that shares the database, for as long as it should be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from director_ai.record.database import Database
from director_ai.serve.callers import Caller
from director_ai.serve.page import sessions as sessions_module
from director_ai.serve.page.sessions import IDLE, LONGEST, Sessions, form_token, is_form_token

ROSA = Caller(caller_id="rosa", tenant_id="acme", scopes=frozenset({"reviewer", "admin"}), shows_evidence=True)
NOBODY = Caller(caller_id="x", tenant_id="", scopes=frozenset({"reviewer"}), shows_reasoning=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    is_file = request.param == "sqlite"
    return str(tmp_path / "director.db") if is_file else request.getfixturevalue("fresh_database")


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    made = Database(place)
    yield made
    made.close()


def test_a_session_of_one_process_is_known_in_the_other_and_ends_in_both(place: str, database: Database) -> None:
    other = Database(place)
    here, there = Sessions(database), Sessions(other)
    cookies = [here.open(caller) for caller in (ROSA, NOBODY)]
    assert [there.find(cookie).caller for cookie in cookies] == [ROSA, NOBODY]
    there.close(cookies[0])
    assert here.find(cookies[0]) is None
    assert here.find(cookies[1]) is not None
    other.close()


def test_a_session_ends_when_idle_and_in_any_case_after_its_time(database: Database) -> None:
    now = 1_000_000.0
    began = now
    sessions = Sessions(database, clock=lambda: now)
    idle, busy = sessions.open(ROSA), sessions.open(ROSA)
    while now < began + LONGEST:
        assert sessions.find(busy).caller == ROSA
        now += IDLE * 0.9
    assert sessions.find(idle) is None
    assert sessions.find(busy) is None


def test_a_session_that_began_with_a_token_ends_with_it(database: Database) -> None:
    now = 1_000_000.0
    sessions = Sessions(database, clock=lambda: now)
    cookie = sessions.open(ROSA, ends_at=now + 60)
    assert sessions.find(cookie).ends_at == now + 60
    now += 60
    assert sessions.find(cookie) is None


def test_looking_at_a_page_seldom_writes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    now, writes = 1_000_000.0, []
    sessions = Sessions(database, clock=lambda: now)
    cookie = sessions.open(ROSA)
    write = database.write
    monkeypatch.setattr(database, "write", lambda *given: writes.append(now) or write(*given))
    for _ in range(10):
        now += 13.0
        sessions.find(cookie)
    assert len(writes) == 2


def test_there_is_an_end_to_how_many_there_are(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "MOST", 3)
    now = 1_000_000.0
    sessions = Sessions(database, clock=lambda: now)
    cookies = []
    for _ in range(5):
        cookies.append(sessions.open(ROSA))
        now += 1
    assert [sessions.find(cookie) is not None for cookie in cookies] == [False, False, True, True, True]


@pytest.mark.parametrize("cookie", ["", ".", "x", "x.y", "ünicode.ß", "\ud800"])
def test_a_cookie_of_others_stands_for_nobody(cookie: str) -> None:
    database = Database(":memory:")
    sessions = Sessions(database)
    sessions.open(ROSA)
    assert sessions.find(cookie) is None
    sessions.close(cookie)
    database.close()


def test_the_database_holds_no_cookie(tmp_path: Path) -> None:
    database = Database(tmp_path / "director.db")
    cookie = Sessions(database).open(ROSA)
    database.close()
    assert all(cookie.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_token_belongs_to_one_browser_and_one_session() -> None:
    token = form_token("nonce", "cookie")
    assert is_form_token(token, "nonce", "cookie")
    for wrong in (
        (token, "other", "cookie"),
        (token, "nonce", "other"),
        (token, "", "cookie"),
        ("", "nonce", "cookie"),
        ("\ud800", "nonce", "cookie"),
    ):
        assert not is_form_token(*wrong)
