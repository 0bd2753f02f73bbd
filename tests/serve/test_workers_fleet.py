"""Servers that share a PostgreSQL database and nothing else: what is done at one holds at the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest
from servers import GREETING, Served, StallingUpstream, open_chat, served, server_of, settings_of, wait_until

_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]{64})"')


@pytest.fixture
def two(fresh_database: str) -> Iterator[tuple[Served, Served]]:
    settings = settings_of({"server": {"database": fresh_database}, "guard": {"store": fresh_database}})
    with (
        served(server_of(StallingUpstream(), settings)) as here,
        served(server_of(StallingUpstream(), settings)) as there,
    ):
        yield here, there


def test_streams_end_at_both_when_a_switch_is_turned_or_a_key_revoked_at_one(two: tuple[Served, Served]) -> None:
    key = two[0].key()
    admin = two[0].client(two[0].key("admin"))
    for reason in ("kill_switch", "key_revoked"):
        with open_chat(two[0].client(key)) as near, open_chat(two[1].client(key)) as far:
            if reason == "kill_switch":
                admin.post("/admin/kill", json={"tenant_id": "acme"})
            else:
                admin.delete(f"/admin/keys/{key[:12]}")
            for chat in (near, far):
                chat.read_to_end()
                assert (chat.text, chat.guard["reason"]) == (GREETING, reason)
        admin.request("DELETE", "/admin/kill")
        wait_until(lambda: not any(each.server.streams.killed() for each in two))


def test_who_signs_in_at_one_is_known_at_the_other(two: tuple[Served, Served]) -> None:
    cookies = httpx2.Cookies()
    token = ""

    def ask(at: Served, method: str, path: str, **fields: str) -> httpx2.Response:
        nonlocal token
        client = at.client()
        client.cookies.update(cookies)
        data = {"form_token": token, **fields} if method == "POST" else None
        answer = client.request(method, f"/review{path}", data=data)
        cookies.update(client.cookies)
        found = _TOKEN.search(answer.text)
        token = found[1] if found else token
        return answer

    ask(two[0], "GET", "/login")
    assert ask(two[1], "POST", "/login", key=two[0].key("reviewer")).status_code == 303
    assert [ask(each, "GET", "/").status_code for each in two] == [200, 200]
    ask(two[0], "POST", "/logout")
    assert [ask(each, "GET", "/").status_code for each in two] == [303, 303]
