"""Answers that are ended from outside before anything of them was shown, and what is counted of open streams."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from servers import (
    CHAT,
    HoldingUpstream,
    SayingUpstream,
    Served,
    StallingUpstream,
    chunk,
    open_chat,
    served,
    server_of,
    settings_of,
    wait_until,
)

from director_ai.serve import server as server_module
from director_ai.serve.upstream import Answer, UpstreamUnreachable

WHOLE = {**CHAT, "stream": False}


class HalfUpstream:
    """Begins an object, and goes no further until it is closed."""

    def __init__(self) -> None:
        self.asked = 0
        self.closed = threading.Event()

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        return Answer(status=200, headers={"content-type": "application/json"}, chunks=self._chunks())

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            yield b'{"choices": ['
            self.asked += 1
            await asyncio.Event().wait()
        finally:
            self.closed.set()

    async def aclose(self) -> None:
        pass


def asking(
    pool: ThreadPoolExecutor, running: Served, upstream: HoldingUpstream | HalfUpstream, key: str, body: object
) -> Future[httpx2.Response]:
    """Ask in a thread, and return once the upstream has the question."""
    before = upstream.asked
    asked = pool.submit(running.client(key).post, "/v1/chat/completions", json=body)
    wait_until(lambda: upstream.asked > before)
    return asked


@pytest.mark.parametrize("upstream", [HoldingUpstream, HalfUpstream], ids=["not begun", "half there"])
def test_the_kill_switch_ends_an_answer_that_is_not_streamed(upstream: type[HoldingUpstream | HalfUpstream]) -> None:
    silent = upstream()
    with ThreadPoolExecutor() as pool, served(server_of(silent)) as running:
        admin = running.client(running.key("admin", tenant="acme"))
        asked = asking(pool, running, silent, running.key(), WHOLE)
        assert admin.post("/admin/kill", json={"tenant_id": "acme"}).json() == {"killed": ["acme"], "ended": 1}
        answer = asked.result(20)
    assert answer.status_code == 503
    assert answer.json()["error"]["type"] == "overloaded_error"
    assert "switched off by the operator" in answer.json()["error"]["message"]
    assert int(answer.headers["retry-after"]) > 0
    assert not isinstance(silent, HalfUpstream) or silent.closed.is_set()


def test_a_stream_that_has_not_begun_ends_like_an_answer_that_is_not_streamed() -> None:
    upstream = HoldingUpstream()
    with ThreadPoolExecutor() as pool, served(server_of(upstream)) as running:
        asked = asking(pool, running, upstream, running.key(), CHAT)
        running.client(running.key("admin", tenant="")).post("/admin/kill", json={"tenant_id": "*"})
        assert asked.result(20).status_code == 503


def test_the_answers_of_other_tenants_go_on() -> None:
    upstream = HoldingUpstream()
    with ThreadPoolExecutor() as pool, served(server_of(upstream)) as running:
        theirs = asking(pool, running, upstream, running.key(tenant="globex"), WHOLE)
        admin = running.client(running.key("admin", tenant="acme"))
        assert admin.post("/admin/kill", json={"tenant_id": "acme"}).json()["ended"] == 0
        upstream.go.set()
        assert theirs.result(20).json()["choices"][0]["message"]["content"] == "Hello!"


def test_a_switch_turned_in_another_process_ends_it_at_the_next_look(tmp_path: Path) -> None:
    settings = settings_of({"server": {"database": str(tmp_path / "director.db")}})
    upstream = HoldingUpstream()
    with (
        ThreadPoolExecutor() as pool,
        served(server_of(upstream, settings)) as one,
        served(server_of(settings=settings)) as two,
    ):
        asked = asking(pool, one, upstream, one.key(), WHOLE)
        polls = one.server.polls
        two.client(two.key("admin", tenant="acme")).post("/admin/kill", json={"tenant_id": "acme"})
        assert asked.result(20).status_code == 503
        assert one.server.polls - polls <= 3
    assert server_module.POLL_SECONDS <= 0.5


def test_a_revoked_key_ends_its_answer_that_is_not_streamed_and_no_other() -> None:
    upstream = HoldingUpstream()
    with ThreadPoolExecutor() as pool, served(server_of(upstream)) as running:
        revoked, kept = running.key(), running.key()
        ended = asking(pool, running, upstream, revoked, WHOLE)
        other = asking(pool, running, upstream, kept, WHOLE)
        running.server.keys.revoke(revoked[:12])
        answer = ended.result(20)
        assert not other.done()
        upstream.go.set()
        assert other.result(20).status_code == 200
    assert answer.status_code == 403
    assert answer.json()["error"]["type"] == "permission_error"
    assert "revoked" in answer.json()["error"]["message"]


def test_a_server_that_ends_says_so_to_who_still_waits() -> None:
    upstream = HoldingUpstream()
    with ThreadPoolExecutor() as pool, served(server_of(upstream)) as running:
        asked = asking(pool, running, upstream, running.key(), WHOLE)
        running.running.should_exit = True
        answer = asked.result(20)
    assert answer.status_code == 503
    assert "about to end" in answer.json()["error"]["message"]


# --- figures ----------------------------------------------------------------------------------------------------------


def gauge(running: Served) -> float:
    figures = running.client(running.key("admin", tenant="")).get("/metrics").text
    return float(re.search(r"^director_open_streams (\S+)$", figures, re.MULTILINE)[1])


def test_open_streams_are_a_figure_for_prometheus() -> None:
    with served(server_of(StallingUpstream())) as running:
        assert gauge(running) == 0
        client = running.client(running.key())
        with open_chat(client), open_chat(running.client(running.key(tenant="globex"))):
            assert gauge(running) == 2
        wait_until(lambda: gauge(running) == 0)


class BreakingUpstream:
    """Says a word and breaks off."""

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        return Answer(status=200, headers={"content-type": "text/event-stream"}, chunks=self._chunks())

    async def _chunks(self) -> AsyncIterator[bytes]:
        yield chunk("Hello! ")
        raise UpstreamUnreachable("the upstream broke off")

    async def aclose(self) -> None:
        pass


ENDS = {"a good end": SayingUpstream("Hello!"), "an upstream that breaks off": BreakingUpstream()}


@pytest.mark.parametrize("upstream", ENDS.values(), ids=ENDS.keys())
def test_a_stream_that_ended_is_not_counted(upstream: object) -> None:
    with served(server_of(upstream)) as running:
        assert running.client(running.key()).post("/v1/chat/completions", json=CHAT).status_code == 200
        wait_until(lambda: gauge(running) == 0)


def test_a_stream_that_was_killed_is_not_counted() -> None:
    with served(server_of(StallingUpstream())) as running, open_chat(running.client(running.key())) as chat:
        assert gauge(running) == 1
        running.client(running.key("admin", tenant="")).post("/admin/kill", json={"tenant_id": "*"})
        chat.read_to_end()
        wait_until(lambda: gauge(running) == 0)
        assert gauge(running) == 0
