"""Optimistic mode of a running server: who may ask for it, what is recorded and counted of it, and the example client."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from replays import Replay, replayed
from servers import (
    CHAT,
    GREETING,
    UNJUDGED,
    OpenChat,
    SayingUpstream,
    Served,
    StallingUpstream,
    served,
    server_of,
    settings_of,
    wait_until,
)
from taps import Tap

from director_ai.errors import ConfigError
from director_ai.serve import server as server_module
from director_ai.serve.demo import demo_server
from director_ai.serve.settings import ServerSettings

WRONG = "Hello! Refunds are available within 90 days. Goodbye!"
RIGHT = WRONG.replace("90", "30")
OPTIMISTIC = {"x-director-mode": "optimistic"}
EXAMPLE = Path(__file__).parents[2] / "examples" / "optimistic_client.py"
PATHS = ["/v1/chat/completions", "/v1/responses", "/v1/messages"]


def settings_with(**acme: Any) -> ServerSettings:
    return settings_of({"tenants": {"acme": {"optimistic": True, **acme}}})


def ask(running: Served, tenant: str = "acme", **headers: str) -> tuple[Any, Replay]:
    """Return an answer, and what a client holds after all of it."""
    client = running.client(running.key(tenant=tenant))
    answer = client.post("/v1/chat/completions", json=CHAT, headers=headers)
    return answer, replayed(Tap(sent=answer.content).events) if answer.status_code == 200 else Replay()


def events_of(running: Served, tenant: str = "acme") -> list[dict[str, Any]]:
    """Return what the trail holds of text that was shown before it was judged."""
    rows = [row for row in running.server.queue.trail.rows(tenant) if row.kind == "safety_event"]
    bodies = [json.loads(row.body) for row in rows]
    return [body for body in bodies if body["hook_id"] == "serve.optimism"]


# --- who may ask for it -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_a_tenant_without_the_setting_is_refused_and_told_why(path: str) -> None:
    upstream = SayingUpstream(WRONG)
    with served(server_of(upstream)) as running:
        answer = running.client(running.key()).post(path, json=CHAT, headers=OPTIMISTIC)
    assert answer.status_code == 403
    assert answer.json()["error"]["type"] == "permission_error"
    assert "`optimistic = true`" in answer.json()["error"]["message"]
    assert not upstream.asked


def test_the_setting_of_one_tenant_is_not_that_of_another() -> None:
    with served(server_of(SayingUpstream(WRONG), settings_with())) as running:
        assert ask(running, "acme", **OPTIMISTIC)[0].status_code == 200
        assert ask(running, "globex", **OPTIMISTIC)[0].status_code == 403


@pytest.mark.parametrize("headers", [{}, {"x-director-mode": "strict"}], ids=["no_header", "strict"])
def test_a_client_that_does_not_ask_for_it_gets_judged_text_alone(headers: dict[str, str]) -> None:
    with served(server_of(SayingUpstream(WRONG), settings_with())) as running:
        answer, client = ask(running, **headers)
        assert not events_of(running)
    assert "x-director-mode" not in answer.headers
    assert not client.corrections
    assert b"90" not in answer.content
    assert b"shown_before_judged" not in answer.content


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with served(server_of(SayingUpstream(WRONG), settings_with())) as running:
        answer, _ = ask(running, **{"x-director-mode": "fast"})
    assert answer.status_code == 400
    assert "'strict' or 'optimistic'" in answer.json()["error"]["message"]


def test_an_answer_that_comes_whole_is_judged_first() -> None:
    with served(server_of(SayingUpstream(WRONG), settings_with())) as running:
        client = running.client(running.key())
        answer = client.post("/v1/chat/completions", json=CHAT | {"stream": False}, headers=OPTIMISTIC)
        assert not events_of(running)
    assert answer.json()["choices"][0]["message"]["content"] == RIGHT
    assert "x-director-mode" not in answer.headers


def test_the_setting_is_off_unless_it_is_set_and_true_or_false() -> None:
    assert not settings_of().usual.optimistic
    everybody = settings_of({"server": {"optimistic": True}, "tenants": {"acme": {"optimistic": False}}})
    assert (everybody.tenant("acme").optimistic, everybody.tenant("globex").optimistic) == (False, True)
    assert everybody.show()["server"]["optimistic"] is True
    with pytest.raises(ConfigError, match=r"optimistic of tenants\.acme must be true or false"):
        settings_with(optimistic="yes")


# --- what is kept of it -------------------------------------------------------------------------------------------


def figures(running: Served) -> dict[str, float]:
    text = running.client(running.key("admin", tenant="")).get("/metrics").text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        sample.name + sample.labels.get("event", ""): sample.value
        for sample in samples
        if sample.name.startswith("optimistic_") and sample.name.endswith("_total")
    }


def test_the_trail_and_the_figures_say_what_was_shown_before_it_was_judged() -> None:
    with served(server_of(SayingUpstream(WRONG), settings_with())) as running:
        before = figures(running)
        answer, client = ask(running, **OPTIMISTIC, **{"x-request-id": "r-17"})
        after = figures(running)
        begun, ended = events_of(running)
    assert answer.headers["x-director-mode"] == "optimistic"
    assert list(client.texts.values()) == [RIGHT]
    assert client.is_final
    assert (begun["halt_reason"], begun["request_id"]) == ("shown_before_judged", "r-17")
    assert (ended["halt_reason"], ended["policy_decision"]) == ("shown_before_judged_ended", "warn")
    confirmed = sum(each["event"] == "confirm" for each in client.corrections)
    assert ended["attributes"] == {"confirm": str(confirmed), "replace": "1", "retract": "0", "characters": "2"}
    grown = {name: value - before.get(name, 0.0) for name, value in after.items()}
    assert grown == {
        "optimistic_streams_total": 1.0,
        "optimistic_corrections_totalconfirm": float(confirmed),
        "optimistic_corrections_totalreplace": 1.0,
        "optimistic_corrections_totalretract": 0.0,
        "optimistic_taken_back_characters_total": 2.0,
    }


# --- ends from outside --------------------------------------------------------------------------------------------


@pytest.fixture
def stalled() -> Iterator[Served]:
    with served(server_of(StallingUpstream(), settings_with())) as running:
        yield running


def end_of(running: Served, end: Any) -> tuple[Replay, OpenChat]:
    """Open a stream, wait until half a clause is shown, end it, and return what is held then."""
    key = running.key()
    with running.client(key).stream("POST", "/v1/chat/completions", json=CHAT, headers=OPTIMISTIC) as answer:
        chat = OpenChat(answer)
        while not (chat.text.endswith(UNJUDGED) and chat.guard.get("event") == "confirm"):
            chat._take(next(chat._lines))
        end(key)
        chat.read_to_end()
    return replayed(chat.seen), chat


def test_the_kill_switch_takes_back_what_was_not_judged(stalled: Served) -> None:
    admin = stalled.client(stalled.key("admin"))
    client, chat = end_of(stalled, lambda _: admin.post("/admin/kill", json={"tenant_id": "acme"}))
    assert list(client.texts.values()) == [GREETING]
    assert client.is_final
    assert chat.finish == ["content_filter"]
    assert (chat.guard["reason"], chat.guard["shown_before_judged"]) == ("kill_switch", True)
    wait_until(lambda: len(events_of(stalled)) == 2)
    assert events_of(stalled)[1]["attributes"]["characters"] == str(len(UNJUDGED))


def test_a_revoked_key_takes_back_what_was_not_judged(stalled: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "POLLS_PER_KEY_CHECK", 1)
    client, chat = end_of(stalled, lambda key: stalled.server.keys.revoke(key[:12]))
    assert list(client.texts.values()) == [GREETING]
    assert chat.guard["reason"] == "key_revoked"


def test_a_server_that_ends_takes_back_what_was_not_judged(stalled: Served) -> None:
    client, chat = end_of(stalled, lambda _: setattr(stalled.running, "should_exit", True))
    assert list(client.texts.values()) == [GREETING]
    assert chat.guard["reason"] == "shutdown"


def test_a_client_that_leaves_is_kept_in_the_trail(stalled: Served) -> None:
    with stalled.client(stalled.key()).stream("POST", "/v1/chat/completions", json=CHAT, headers=OPTIMISTIC) as answer:
        OpenChat(answer).read_until_text()
    wait_until(lambda: len(events_of(stalled)) == 2)
    assert events_of(stalled)[1]["halt_reason"] == "shown_before_judged_ended"


# --- the example ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo() -> Iterator[Served]:
    with served(demo_server(model=False)) as running:
        yield running


QUESTIONS = ["What do I get with the Standard Account?", "Who founded the bank?", "How long does a transfer take?"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_example_ends_with_the_text_of_a_strict_client(demo: Served, question: str) -> None:
    body = CHAT | {"messages": [{"role": "user", "content": question}]}
    strict = replayed(Tap(sent=demo.client("demo").post("/v1/chat/completions", json=body).content).events)
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), question, "--url", demo.url],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [done.stdout.removesuffix("\n")] == list(strict.texts.values())


def test_the_example_paints_what_is_open_and_what_was_taken_back(demo: Served) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, str(EXAMPLE), "Who founded the bank?", "--url", demo.url]
    with subprocess.Popen(command, stdout=theirs, stdin=theirs) as running:
        os.close(theirs)
        painted = b""
        try:
            while data := os.read(ours, 65_536):
                painted += data
        except OSError:  # the other end of a terminal was closed
            pass
        assert running.wait(30) == 0
    os.close(ours)
    assert b"\x1b[2mHarbour" in painted
    assert b"\x1b[9;31mMartin Keller\x1b[0m\x1b[32mClara Voss\x1b[0m" in painted


def test_the_example_says_why_it_got_nothing() -> None:
    with served(server_of()) as running:
        command = [sys.executable, str(EXAMPLE), "--url", running.url, "--key", running.key()]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "optimistic mode is off" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_example_is_short() -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) < 100
