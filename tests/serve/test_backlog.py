"""Who comes while the guards are behind is told to come again; who waits a little is let in."""

from __future__ import annotations

import asyncio
import threading

import httpx2
import pytest
from servers import CHAT, StallingUpstream, served, server_of

from director_ai.guard import ProductionGuard
from director_ai.serve.backlog import LEAST, WINDOW_SECONDS, Backlog
from director_ai.serve.buffers import AT_ONCE, MANY, Feed
from director_ai.serve.guarding import Guarding
from director_ai.serve.wire.items import Say


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_backlog_is_long_while_text_usually_waits_too_long() -> None:
    clock = Clock()
    backlog = Backlog(2.0, clock=clock)
    for _ in range(LEAST - 1):
        backlog.take(9.0)
    assert not backlog.is_long, "a few slow clauses are no crowd"
    backlog.take(9.0)
    assert backlog.is_long
    clock.now += WINDOW_SECONDS + 0.1
    assert not backlog.is_long, "it is over when nothing waits any more"


@pytest.mark.parametrize(("slow", "is_long"), [(3, False), (7, True)])
def test_the_usual_wait_counts_not_the_longest(slow: int, is_long: bool) -> None:
    backlog = Backlog(2.0, clock=Clock())
    for number in range(10):
        backlog.take(60.0 if number < slow else 0.0)
    assert backlog.is_long == is_long


def test_without_a_limit_nobody_is_refused() -> None:
    backlog = Backlog(None)
    for _ in range(100):
        backlog.take(1e9)
    assert not backlog.is_long


@pytest.mark.parametrize(("tokens", "taken"), [(3, 3), (MANY + 1, MANY + 1), (MANY + 2, 1), (5 * MANY, 1)])
def test_much_text_that_waited_is_taken_at_once_and_all_tells_how_long_it_waited(tokens: int, taken: int) -> None:
    waits: list[float] = []

    async def run() -> list[str]:
        feed = Feed(waits.append)
        for number in range(tokens):
            await feed.put(f"{number} ")
        feed.end()
        return [each async for each in feed]

    came = asyncio.run(run())
    assert "".join(came) == "".join(f"{number} " for number in range(tokens))
    assert len(came) == len(waits) == taken
    assert all(wait >= 0.0 for wait in waits)


def test_a_long_text_is_taken_in_pieces_and_others_get_a_turn_between_them() -> None:
    text = "".join(f"{number}, " for number in range(2_000))
    waits: list[float] = []
    turns: list[int] = []

    async def run() -> list[str]:
        feed = Feed(waits.append)
        putting = asyncio.ensure_future(feed.put(text))
        pieces: list[str] = []

        async def other() -> None:
            while not feed_ended:
                turns.append(len(pieces))
                await asyncio.sleep(0)

        feed_ended: list[bool] = []
        watching = asyncio.ensure_future(other())
        await asyncio.sleep(0)
        async for piece in feed:
            pieces.append(piece)
            if sum(map(len, pieces)) == len(text):
                feed.end()
        feed_ended.append(True)
        await asyncio.gather(putting, watching)
        return pieces

    pieces = asyncio.run(run())

    assert "".join(pieces) == text
    assert {len(piece) for piece in pieces[:-1]} == {AT_ONCE}
    assert set(turns) >= set(range(1, len(pieces)))
    assert len(waits) == 1


@pytest.mark.parametrize("mode", ["repair", "halt"])
def test_a_long_answer_is_judged_off_the_event_loop_with_the_same_result(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()
    guard = ProductionGuard.from_profile(
        "finance", use_nli=False, search="words", metrics=False, on_action=lambda _: threads.add(threading.get_ident())
    )
    guard.load_facts({"locker": "A locker costs 3 EUR per day."})
    guarding = Guarding(guard=guard, prompt="", tenant_id="", request_id="r", mode=mode)
    text = "A locker costs 3 EUR per day. " * 100 + "A locker costs 8 EUR per day. It opens at nine."
    say = Say(channel=(0, "text"), text=text)  # type: ignore[arg-type]  # any channel will do

    judged = asyncio.run(guarding.whole(say))
    away, here = set(threads), threading.get_ident()
    threads.clear()
    monkeypatch.setattr("director_ai.serve.guarding.LONG", 10 * len(text))
    in_place = asyncio.run(guarding.whole(say))

    assert here not in away
    assert threads == {here}
    assert judged.text == in_place.text != text
    assert judged.result.actions == in_place.result.actions


def test_a_server_whose_guards_are_behind_refuses_whoever_comes() -> None:
    with served(server_of(StallingUpstream())) as told:
        client = told.client(told.key())
        with client.stream("POST", "/v1/chat/completions", json=CHAT) as answer:
            assert "Hello" in next(part for part in answer.iter_text() if "Hello" in part)
            behind = Backlog(1.0, clock=lambda: 0.0)  # no wait grows old, however slow the machine is
            told.server.tenants._backlog = behind
            for _ in range(LEAST * 10):
                behind.take(60.0)
            refused = client.post("/v1/chat/completions", json=CHAT)
        assert refused.status_code == 503
        assert refused.headers["retry-after"].isdigit()
        assert "behind" in refused.text
        with httpx2.Client(trust_env=False) as other:
            assert other.get(f"{told.url}/healthz").status_code == 200
