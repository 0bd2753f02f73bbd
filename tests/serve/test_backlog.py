"""Who comes while the guards are behind is told to come again; who waits a little is let in."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from servers import CHAT, StallingUpstream, served, server_of

from director_ai.serve.backlog import LEAST, WINDOW_SECONDS, Backlog
from director_ai.serve.buffers import MANY, Feed


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


def test_a_server_whose_guards_are_behind_refuses_whoever_comes() -> None:
    with served(server_of(StallingUpstream())) as told:
        client = told.client(told.key())
        with client.stream("POST", "/v1/chat/completions", json=CHAT) as answer:
            assert "Hello" in next(part for part in answer.iter_text() if "Hello" in part)
            for _ in range(LEAST * 10):
                told.server.tenants._backlog.take(60.0)
            refused = client.post("/v1/chat/completions", json=CHAT)
        assert refused.status_code == 503
        assert refused.headers["retry-after"].isdigit()
        assert "behind" in refused.text
        with httpx2.Client(trust_env=False) as other:
            assert other.get(f"{told.url}/healthz").status_code == 200
