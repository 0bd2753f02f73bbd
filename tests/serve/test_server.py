"""A server as its clients and operators meet it: streams, switches, keys that end, an orderly end of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from servers import (
    CHAT,
    GREETING,
    UNJUDGED,
    HoldingUpstream,
    SayingUpstream,
    StallingUpstream,
    open_chat,
    served,
    server_of,
    settings_of,
    wait_until,
)

from director_ai.core.streaming_repair import REDACTED_CLAUSE
from director_ai.record import database
from director_ai.serve import bodies
from director_ai.serve import running as running_module
from director_ai.serve import server as server_module
from director_ai.serve.settings import ServerSettings

COMMAND = str(Path(sys.executable).parent / "director-ai")


def assert_ended(chat: object, reason: str) -> None:
    """What was judged was shown, nothing else was, and the end is no `stop`."""
    chat.read_to_end()
    assert chat.text == GREETING
    assert UNJUDGED not in str(chat.seen)
    assert chat.finish == ["content_filter"]
    assert chat.guard["halted"] is True
    assert chat.guard["reason"] == reason


def test_an_answer_is_guarded_on_its_way() -> None:
    with served(server_of(SayingUpstream("Refunds are available within 90 days."))) as running:
        with open_chat(running.client(running.key())) as chat:
            chat.read_to_end()
        assert chat.text == "Refunds are available within 30 days."
        assert chat.finish == ["stop"]
        rows = running.server.queue.trail.rows("acme")
        assert [row.kind for row in rows] == ["key.created", "safety_event"]


def test_what_is_set_for_a_tenant_is_what_it_gets() -> None:
    settings = settings_of({"tenants": {"strict": {"mode": "halt"}}})
    with served(server_of(SayingUpstream("Refunds are available within 90 days. Bye."), settings)) as running:
        body = {**CHAT, "stream": False}
        strict = running.client(running.key(tenant="strict")).post("/v1/chat/completions", json=body).json()
        other = running.client(running.key(tenant="other")).post("/v1/chat/completions", json=body).json()
    assert strict["choices"][0]["finish_reason"] == "content_filter"
    assert "90" not in str(strict["choices"])
    assert other["choices"][0]["message"]["content"].startswith("Refunds are available within 30 days.")


def test_facts_of_a_tenant_are_its_own() -> None:
    with served(server_of(SayingUpstream("The museum sells purple umbrellas."))) as running:
        running.server.store.add("museum", "The museum sells purple umbrellas.", "acme")
        body = {**CHAT, "stream": False}
        said = {
            tenant: running.client(running.key(tenant=tenant)).post("/v1/chat/completions", json=body).json()
            for tenant in ("acme", "globex")
        }
    assert said["acme"]["choices"][0]["message"]["content"] == "The museum sells purple umbrellas."
    assert "umbrellas" not in str(said["globex"])


# --- switches -----------------------------------------------------------------------------------------------------


def test_the_kill_switch_of_a_tenant_ends_its_open_streams_and_no_others() -> None:
    with served(server_of(StallingUpstream())) as running:
        ours, theirs = running.key(tenant="acme"), running.key(tenant="globex")
        admin = running.client(running.key("admin", tenant="acme"))
        with open_chat(running.client(ours)) as chat, open_chat(running.client(theirs)) as other:
            answer = admin.post("/admin/kill", json={"tenant_id": "acme"})
            assert answer.json() == {"killed": ["acme"], "ended": 1}
            assert_ended(chat, "kill_switch")
            refused = running.client(ours).post("/v1/chat/completions", json=CHAT)
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) > 0
            assert other.finish == []
            assert len(running.server.streams) == 1
            assert admin.request("DELETE", "/admin/kill").json() == {"killed": [], "ended": 0}
            with open_chat(running.client(ours)):
                pass
        kinds = [row.kind for row in running.server.queue.trail.rows("acme")]
        assert kinds[-2:] == ["switch.off", "switch.on"]


def test_the_switch_of_everybody_is_the_operators() -> None:
    with served(server_of(StallingUpstream())) as running:
        tenant = running.client(running.key("admin", tenant="acme"))
        assert tenant.post("/admin/kill", json={"tenant_id": "*"}).status_code == 403
        assert tenant.post("/admin/kill", json={"tenant_id": "globex"}).status_code == 403
        operator = running.client(running.key("admin", tenant=""))
        with open_chat(running.client(running.key())) as chat:
            assert operator.post("/admin/kill", json={"tenant_id": "*"}).json()["ended"] == 1
            assert_ended(chat, "kill_switch")


def test_a_switch_turned_in_one_process_acts_in_the_other_at_its_next_look(tmp_path: Path) -> None:
    settings = settings_of({"server": {"database": str(tmp_path / "director.db")}})
    upstream = StallingUpstream()
    with served(server_of(upstream, settings)) as one, served(server_of(StallingUpstream(), settings)) as two:
        key = one.key(tenant="acme")
        with open_chat(one.client(key)) as chat:
            polls = one.server.polls
            two.client(two.key("admin", tenant="acme")).post("/admin/kill", json={"tenant_id": "acme"})
            assert_ended(chat, "kill_switch")
            assert one.server.polls - polls <= 3
        assert upstream.closed.wait(10)
        two.client(two.key("admin", tenant="acme")).request("DELETE", "/admin/kill")
        wait_until(lambda: not one.server.streams.killed())
    assert server_module.POLL_SECONDS <= 0.5


def test_a_server_that_starts_finds_the_switches_as_they_stand(tmp_path: Path) -> None:
    settings = settings_of({"server": {"database": str(tmp_path / "director.db")}})
    with served(server_of(settings=settings)) as one:
        one.client(one.key("admin", tenant="acme")).post("/admin/kill", json={"tenant_id": "acme"})
    with served(server_of(settings=settings)) as again:
        assert again.client(again.key()).post("/v1/chat/completions", json=CHAT).status_code == 503


def test_a_switch_acts_also_where_the_database_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT_SECONDS", 1)
    place = tmp_path / "director.db"
    with served(server_of(StallingUpstream(), settings_of({"server": {"database": str(place)}}))) as running:
        admin, key = running.client(running.key("admin", tenant="acme")), running.key()
        wait_until(lambda: admin.get("/readyz").status_code == 200)
        with open_chat(running.client(key)) as chat:
            lock = sqlite3.connect(place, isolation_level=None)
            lock.execute("BEGIN IMMEDIATE")
            answer = admin.post("/admin/kill", json={"tenant_id": "acme"})
            assert answer.status_code == 503
            assert "locked" in answer.json()["error"]["message"]
            assert_ended(chat, "kill_switch")
            assert admin.get("/readyz").json()["database"] is False
            assert running.client(key).post("/v1/chat/completions", json=CHAT).status_code == 503
            lock.execute("ROLLBACK")
            lock.close()
        wait_until(lambda: running.server.switches.turned_off() == {"acme"})
        assert admin.get("/healthz").status_code == 200


# --- keys that end ------------------------------------------------------------------------------------------------


def test_a_revoked_key_ends_its_open_streams_in_every_process(tmp_path: Path) -> None:
    settings = settings_of({"server": {"database": str(tmp_path / "director.db")}})
    with served(server_of(StallingUpstream(), settings)) as one, served(server_of(settings=settings)) as two:
        key, kept = one.key(), one.key()
        with open_chat(one.client(key)) as chat, open_chat(one.client(kept)) as other:
            polls = one.server.polls
            admin = two.client(two.key("admin", tenant="acme"))
            assert admin.delete(f"/admin/keys/{key[:12]}").json()["revoked_at"]
            assert_ended(chat, "key_revoked")
            assert one.server.polls - polls <= server_module.POLLS_PER_KEY_CHECK + 2
            assert other.finish == []
        wait_until(lambda: one.client(key).get("/v1/models").status_code == 401)


# --- limits of the whole ------------------------------------------------------------------------------------------


def test_a_full_server_says_when_to_come_again() -> None:
    settings = settings_of({"server": {"most_streams": 1}})
    with served(server_of(StallingUpstream(), settings)) as running:
        client = running.client(running.key())
        with open_chat(client):
            refused = client.post("/v1/chat/completions", json=CHAT)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")


def test_requests_whose_answer_has_not_begun_count_too() -> None:
    upstream, settings = HoldingUpstream(), settings_of({"server": {"most_streams": 2}})
    with served(server_of(upstream, settings)) as running, ThreadPoolExecutor(2) as asking:
        client = running.client(running.key())
        begun = [asking.submit(client.post, "/v1/chat/completions", json=CHAT) for _ in range(2)]
        wait_until(lambda: upstream.asked == 2)
        assert client.post("/v1/chat/completions", json=CHAT).status_code == 503
        upstream.go.set()
        assert [each.result().status_code for each in begun] == [200, 200]
        assert client.post("/v1/chat/completions", json=CHAT).status_code == 200
    assert upstream.asked == 3


def test_a_connection_that_only_trickles_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_module, "HEAD_SECONDS", 0.3)
    with served(server_of()) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=15) as trickling:
            trickling.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nx-api-")
            assert trickling.recv(1) == b""
        with socket.create_connection((host, int(port)), timeout=15) as second:
            second.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b'{"status":"ok"}'):  # head and body may come apart
                answer += second.recv(4_096) or pytest.fail("closed too early")
            second.sendall(b"GET /healthz HTTP/1.1\r\nx-")
            assert second.recv(1) == b""


def test_a_body_that_only_trickles_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_SECONDS", 0.3)
    with served(server_of()) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=15) as trickling:
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: {running.key()}\r\n"
            trickling.sendall(f"{head}content-length: 100\r\n\r\n{{".encode())
            assert b" 408 " in trickling.recv(4_096)


# --- cases --------------------------------------------------------------------------------------------------------


def test_a_halted_answer_becomes_a_case_with_the_guards_correction() -> None:
    settings = settings_of({"server": {"mode": "halt"}})
    with served(server_of(SayingUpstream("Hello! Refunds are available within 90 days."), settings)) as running:
        with open_chat(running.client(running.key())) as chat:
            chat.read_to_end()
        assert chat.finish == ["content_filter"]
        wait_until(running.server.queue.list_cases)
        (case,) = running.server.queue.list_cases(tenant_id="acme")
    assert case.kind == "correction"
    assert case.original_text == "Hello! Refunds are available within 90 days."
    assert case.candidate_text == "Hello! Refunds are available within 30 days."
    assert case.metadata["prompt"] == "What is the refund window?"


@pytest.mark.parametrize(("wanted", "cases"), [(True, 1), (False, 0)], ids=["wanted", "not wanted"])
def test_a_redacted_answer_becomes_a_case_where_the_tenant_wants_that(wanted: bool, cases: int) -> None:
    settings = settings_of({"tenants": {"acme": {"review_redactions": wanted}}})
    server = server_of(SayingUpstream("Golden unicorns deliver chocolate pizza."), settings)
    with served(server) as running:
        answer = running.client(running.key()).post("/v1/chat/completions", json={**CHAT, "stream": False})
        assert "pizza" not in str(answer.json()["choices"])
        wait_until(lambda: len(server.queue.list_cases()) >= cases)
        found = server.queue.list_cases()
    assert len(found) == cases
    if found:
        assert found[0].candidate_text == REDACTED_CLAUSE, "whoever approves it approves what was shown"
        assert found[0].original_text == "Golden unicorns deliver chocolate pizza."
        assert [action["action"] for action in found[0].metadata["actions"]] == ["redact"]


# --- its end ------------------------------------------------------------------------------------------------------


def test_a_stop_ends_open_streams_after_their_grace_without_showing_what_was_not_judged() -> None:
    upstream = StallingUpstream()
    server = server_of(upstream)
    with served(server) as running, open_chat(running.client(running.key())) as chat:
        running.running.should_exit = True
        assert_ended(chat, "shutdown")
    assert upstream.closed.wait(10)
    assert server.queue.trail.database.closed


def test_sigterm_ends_the_command_in_order_with_an_open_stream() -> None:
    process = subprocess.Popen(
        [COMMAND, "serve", "--demo", "--port", "0", "--no-model"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        url = re.search(r"http://127\.0\.0\.1:\d+", lines[0])[0]
        given = {"base_url": url, "headers": {"x-api-key": "demo"}, "timeout": 20, "trust_env": False}
        with httpx2.Client(**given) as client, open_chat(client) as chat:
            process.send_signal(signal.SIGTERM)
            chat.read_to_end()
        assert chat.text.startswith("Thanks for asking! ")
        assert chat.finish == ["content_filter"]
        assert chat.guard["reason"] == "shutdown"
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.communicate()


# --- what is refused at the start ---------------------------------------------------------------------------------


def test_a_server_for_others_needs_a_key_first(tmp_path: Path) -> None:
    settings = settings_of({"server": {"database": str(tmp_path / "director.db")}}, host="0.0.0.0")
    with pytest.raises(ValueError, match="there is no key yet"):
        server_of(settings=settings)
    with server_of(settings=settings_of({"server": {"database": str(tmp_path / "director.db")}})) as local:
        local.keys.create("acme", ["proxy"])
    server_of(settings=settings).close()


def test_a_demo_is_for_this_machine_alone() -> None:
    with pytest.raises(ValueError, match="for this machine alone"):
        server_of(settings=settings_of(host="0.0.0.0"), is_demo=True)


def test_a_database_that_cannot_be_opened_is_a_sentence() -> None:
    with pytest.raises(Exception, match=r"cannot be opened|does not exist") as told:
        server_of(settings=ServerSettings(database="/proc/self/director.db"))
    assert "Traceback" not in str(told.value)
