"""Several workers behind one port: to clients, operators and reviewers they are one server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from fleets import Fleet, children_of, environment_of, fleet, is_alive, kill_hard, prepared, started
from servers import CHAT, GREETING, UNJUDGED, open_chat, wait_until
from upstreams import Case, FakeUpstream, running

CHAT_PATH = "/v1/chat/completions"
WHOLE = {**CHAT, "model": "wrong", "stream": False}
CASES = {
    "m": Case(texts=(GREETING + UNJUDGED,), size=50, fails="stall", after=2),
    "wrong": Case(texts=("Refunds are available within 90 days.",)),
    "museum": Case(texts=("The museum sells purple umbrellas.",)),
}
_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]{64})"')


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with running(FakeUpstream(cases=dict(CASES)).app()) as url:
        yield url


@pytest.fixture(scope="module")
def served(upstream: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet"), upstream) as made:
        yield made


def assert_ended(chat: object, reason: str) -> None:
    """What was judged was shown, nothing else was, and the end is no `stop`."""
    chat.read_to_end()
    assert chat.text == GREETING
    assert UNJUDGED not in str(chat.seen)
    assert (chat.finish, chat.guard["reason"]) == (["content_filter"], reason)


def test_both_answer_and_neither_has_more_to_do_than_the_other(served: Fleet) -> None:
    key = served.key()
    clients = [served.client(key) for _ in range(20)]
    taken = [served.whose(client) for client in clients]
    assert set(taken) == served.processes()
    assert 5 <= taken.count(taken[0]) <= 15
    said = {client.post(CHAT_PATH, json=WHOLE).json()["choices"][0]["message"]["content"] for client in clients}
    assert said == {"Refunds are available within 30 days."}


def test_client_libraries_meet_one_server(served: Fleet) -> None:
    openai = pytest.importorskip("openai")
    for _ in range(4):
        http = openai.DefaultHttpxClient(verify=False)
        with openai.OpenAI(
            base_url=f"{served.url}/v1", api_key=served.key(), max_retries=0, http_client=http
        ) as client:
            events = list(client.chat.completions.create(**{**CHAT, "model": "wrong"}))
        text = "".join(choice.delta.content or "" for event in events for choice in event.choices)
        assert text == "Refunds are available within 30 days."


def test_a_fact_that_one_learns_is_known_to_the_other(served: Fleet) -> None:
    one, two = sorted(served.processes())
    key, body = served.key(), {**WHOLE, "model": "museum"}
    assert "umbrellas" not in served.client_at(two, key).post(CHAT_PATH, json=body).text
    new = {"key": "museum", "text": "The museum sells purple umbrellas."}
    admin = served.client_at(one, served.key("admin"))
    assert admin.post("/admin/facts", json=new).status_code < 300
    assert "umbrellas" in served.client_at(two, key).post(CHAT_PATH, json=body).text


# --- figures ------------------------------------------------------------------------------------------------------


def test_figures_are_sums_whichever_is_asked(served: Fleet) -> None:
    one, two = (served.client_at(process, served.key()) for process in sorted(served.processes()))
    name = 'streaming_repair_actions_total{action="rewrite"}'
    before = served.figure(name)
    for client, times in ((one, 3), (two, 4)):
        for _ in range(times):
            client.post(CHAT_PATH, json=WHOLE)
    assert [served.figure(name, client) - before for client in (one, two)] == [7, 7]


def test_open_streams_are_counted_in_both(served: Fleet) -> None:
    processes = sorted(served.processes())
    one, two = (served.client_at(process, served.key()) for process in processes)
    with open_chat(one), open_chat(two):
        for process in processes:
            watching = served.client_at(process, served.admin)
            assert served.figure("director_open_streams", watching) == 2
            assert watching.get("/admin/streams").json()["open"] == 1
    wait_until(lambda: served.figure("director_open_streams") == 0)


# --- ending streams -----------------------------------------------------------------------------------------------


def test_a_switch_turned_in_one_ends_the_streams_of_both(served: Fleet) -> None:
    one, two = sorted(served.processes())
    key, admin = served.key(), served.client_at(one, served.key("admin"))
    with open_chat(served.client_at(one, key)) as here, open_chat(served.client_at(two, key)) as there:
        assert admin.post("/admin/kill", json={"tenant_id": "acme"}).json()["ended"] == 1
        assert_ended(here, "kill_switch")
        assert_ended(there, "kill_switch")
    assert served.client_at(two, key).post(CHAT_PATH, json=WHOLE).status_code == 503
    admin.request("DELETE", "/admin/kill")
    wait_until(lambda: served.client_at(two, key).post(CHAT_PATH, json=WHOLE).status_code == 200)


def test_a_key_revoked_in_one_ends_its_streams_in_both_and_no_others(served: Fleet) -> None:
    one, two = sorted(served.processes())
    key, kept = served.key(), served.key()
    with (
        open_chat(served.client_at(one, key)) as here,
        open_chat(served.client_at(two, key)) as there,
        open_chat(served.client_at(two, kept)) as other,
    ):
        assert served.client_at(one, served.admin).delete(f"/admin/keys/{key[:12]}").status_code == 200
        assert_ended(here, "key_revoked")
        assert_ended(there, "key_revoked")
        assert other.finish == []


# --- reviewers ----------------------------------------------------------------------------------------------------


class Reviewer:
    """Somebody whose every request is a connection of its own, so that any worker may get it."""

    def __init__(self, served: Fleet) -> None:
        self._served, self._cookies, self.token = served, httpx2.Cookies(), ""

    def ask(self, method: str, path: str, process: int = 0, **fields: str) -> httpx2.Response:
        client = self._served.client_at(process) if process else self._served.client()
        client.cookies.update(self._cookies)
        data = {"form_token": self.token, **fields} if method == "POST" else None
        answer = client.request(method, f"/review{path}", data=data)
        self._cookies.update(client.cookies)
        found = _TOKEN.search(answer.text)
        self.token = found[1] if found else self.token
        return answer


def test_who_signed_in_at_one_is_signed_in_at_both_until_signing_out(served: Fleet) -> None:
    one, two = sorted(served.processes())
    rosa = Reviewer(served)
    rosa.ask("GET", "/login", one)
    assert rosa.ask("POST", "/login", two, key=served.key("reviewer", "admin")).status_code == 303
    assert {rosa.ask("GET", "/").status_code for _ in range(20)} == {200}
    assert "all worker processes" in rosa.ask("GET", "/monitoring", two).text
    case = served.queue.enqueue_case(candidate_text="A text.", tenant_id="acme")
    rosa.ask("GET", f"/cases/{case.case_id}", one)
    assert rosa.ask("POST", f"/cases/{case.case_id}/do/claim", two).status_code == 303
    held = Reviewer(served)
    held._cookies.update(rosa._cookies)
    assert rosa.ask("POST", "/logout", one).status_code == 303
    assert [held.ask("GET", "/", process).status_code for process in (one, two)] == [303, 303]


def test_a_revoked_key_ends_the_session_everywhere(served: Fleet) -> None:
    one, two = sorted(served.processes())
    key, rosa = served.key("reviewer"), Reviewer(served)
    rosa.ask("GET", "/login", one)
    rosa.ask("POST", "/login", one, key=key)
    assert rosa.ask("GET", "/", two).status_code == 200
    served.keys.revoke(key[:12])
    assert [rosa.ask("GET", "/", process).status_code for process in (one, two)] == [303, 303]


def test_of_two_who_decide_at_once_in_two_processes_one_wins(served: Fleet) -> None:
    reviewers = [served.client_at(process, served.key("reviewer")) for process in sorted(served.processes())]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            case = served.queue.enqueue_case(candidate_text="A text.", tenant_id="acme")
            path = f"/api/reviews/{case.case_id}/decision"
            asked = [
                pool.submit(client.post, path, json={"action": action})
                for client, action in zip(reviewers, ("reject", "request_retry"), strict=True)
            ]
            assert sorted(each.result().status_code for each in asked) == [200, 409]
            assert len(served.queue.decisions(case.case_id, tenant_id="acme")) == 1
    assert served.queue.trail.verify().ok


# --- their life ---------------------------------------------------------------------------------------------------


def test_one_that_is_killed_is_replaced_while_the_other_goes_on(served: Fleet) -> None:
    one, two = sorted(served.processes())
    key, name = served.key(), 'streaming_repair_actions_total{action="rewrite"}'
    served.client_at(one, key).post(CHAT_PATH, json=WHOLE)
    before = served.figure(name)
    with open_chat(served.client_at(one, key)) as lost, open_chat(served.client_at(two, key)) as kept:
        kill_hard(one)
        with pytest.raises(httpx2.HTTPError):
            lost.read_to_end()
        assert lost.text == GREETING
        wait_until(lambda: served.processes() - {one, two}, 60)
        served.client_at(two)
        assert not is_alive(one)
        assert kept.finish == []
        assert served.figure("director_open_streams") == 1
        assert served.figure(name) == before
    assert '"message": "worker ' in (served.folder / "err").read_text()


def test_told_to_end_all_end_with_their_streams_halted(upstream: str, tmp_path: Path) -> None:
    with fleet(tmp_path, upstream) as made:
        family, key = children_of(made.process.pid), made.key()
        one, two = (made.client_at(process, key) for process in sorted(made.processes()))
        with open_chat(one) as here, open_chat(two) as there:
            made.process.terminate()
            assert_ended(here, "shutdown")
            assert_ended(there, "shutdown")
        with pytest.raises(httpx2.ConnectError):
            made.client().get("/healthz")
        assert made.process.wait(30) == 0
        wait_until(lambda: not any(map(is_alive, family)))
    assert "Traceback" not in (tmp_path / "err").read_text()


def test_workers_do_not_outlive_who_started_them(upstream: str, tmp_path: Path) -> None:
    with fleet(tmp_path, upstream) as made:
        family = children_of(made.process.pid)
        folder = environment_of(family[-1])["PROMETHEUS_MULTIPROC_DIR"]
        assert list(Path(folder).iterdir())
        kill_hard(made.process.pid)
        made.process.wait(30)
        wait_until(lambda: not any(map(is_alive, family)), 30)
        assert not Path(folder).exists()


def test_what_keeps_a_worker_from_starting_ends_the_command_with_the_sentence(tmp_path: Path) -> None:
    prepared(tmp_path, "http://127.0.0.1:9", host="0.0.0.0")
    process = started(tmp_path, "--workers", "2")
    assert process.wait(60) == 2
    told = (tmp_path / "err").read_text()
    assert "director-ai: the server would be open to others, and there is no key yet" in told
    assert "Listening" not in told
    assert "Traceback" not in told
