"""Whatever goes wrong, no key, prompt, answer or fact stands in a log, a figure, a record or another's error."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import httpx2
import pytest
from servers import CHAT, Served, chunk, served, server_of, settings_of, wait_until

from director_ai.serve.sse import write_event
from director_ai.serve.upstream import Answer, UpstreamUnreachable

CANARIES = 1_000
CANARY = re.compile(r"cnry[0-9a-f]{16}")
CONTENT = re.compile(r'"content":"[^"]*"')


def canary() -> str:
    """A secret that is in no other place."""
    return f"cnry{os.urandom(8).hex()}"


class FaultyUpstream:
    """Fails as the model's name says, and repeats what it was asked wherever it can."""

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        asked = json.loads(body)
        kind, secret = asked["model"].split("|")
        if kind == "raises":
            raise RuntimeError(secret)
        if kind == "unreachable":
            raise UpstreamUnreachable("the upstream cannot be reached (ConnectError)")
        if kind.isdigit():
            error = {"type": secret + " x", "message": "no", "code": secret + " x", "param": secret + " x"}
            return self._answer({"error": error, "text": secret}, int(kind))
        if kind == "json":
            return self._answer({"choices": [{"message": {"content": f"Refunds take 90 days {secret}."}}]}, 200)
        if kind == "nojson":
            return Answer(status=200, headers={"content-type": "application/json"}, chunks=_once(secret.encode()))
        return Answer(status=200, headers={"content-type": "text/event-stream"}, chunks=self._stream(kind, secret))

    def _answer(self, body: dict[str, Any], status: int) -> Answer:
        kept = {"content-type": "application/json"}
        return Answer(status=status, headers=kept, chunks=_once(json.dumps(body).encode()))

    async def _stream(self, kind: str, secret: str) -> AsyncIterator[bytes]:
        yield chunk(role="assistant")
        yield chunk("Hello! ")
        yield chunk(f"Refunds are available within 90 days, says {secret}. ")
        match kind:
            case "said":
                yield write_event(json.dumps({"error": {"type": secret + " x", "message": secret}}))
            case "garbage":
                yield write_event(secret)
            case "broke":
                raise RuntimeError(secret)
            case "silent":
                raise UpstreamUnreachable("the upstream fell silent", timed_out=True)
            case "types":
                yield write_event(
                    json.dumps({"choices": [{"index": secret, "delta": secret}, secret], "usage": secret})
                )
                yield chunk(finish=secret + " x")
            case _:
                yield chunk(finish="stop")
                yield write_event("[DONE]")

    async def aclose(self) -> None:
        pass


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


STREAMS = (
    "said",
    "garbage",
    "broke",
    "silent",
    "types",
    "fine",
    "raises",
    "unreachable",
    "429",
    "401",
    "500",
    "302",
    "json",
    "nojson",
)
WHOLES = ("raises", "unreachable", "429", "401", "500", "302", "json", "nojson", "fine")
Ask = Callable[[httpx2.Client, str], httpx2.Response]


def _chat(kind: str, *, stream: bool) -> Ask:
    def ask(client: httpx2.Client, secret: str) -> httpx2.Response:
        messages = [{"role": "user", "content": f"What of {secret}?"}]
        body = {"model": f"{kind}|{secret}", "stream": stream, "messages": messages, "user": secret}
        return client.post("/v1/chat/completions", json=body)

    return ask


def _post(path: str, made: Callable[[str], Any], **headers: str) -> Ask:
    def ask(client: httpx2.Client, secret: str) -> httpx2.Response:
        body = made(secret)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {name.replace("_", "-"): value.replace("SECRET", secret) for name, value in headers.items()}
        return client.post(path.replace("SECRET", secret), content=data, headers=given)

    return ask


MISTAKES: dict[str, Ask] = {
    "no JSON": _post("/v1/chat/completions", lambda secret: secret.encode()),
    "half JSON": _post("/v1/chat/completions", lambda secret: f'{{"model": "{secret}'.encode()),
    "a name twice": _post("/v1/messages", lambda secret: f'{{"{secret}": 1, "{secret}": 2}}'.encode()),
    "a wrong figure": _post("/v1/responses", lambda secret: {**CHAT, "n": secret}),
    "no UTF-8": _post("/v1/responses", lambda secret: secret.encode() + b"\xff"),
    "an unknown key": _post("/v1/chat/completions", lambda _: CHAT, authorization="Bearer dai_SECRET"),
    "an unknown token": _post("/v1/chat/completions", lambda _: CHAT, authorization="Bearer a.SECRET.c"),
    "two keys": _post("/v1/chat/completions", lambda _: CHAT, x_api_key="SECRET"),
    "another scheme": _post("/v1/chat/completions", lambda _: CHAT, authorization="Basic SECRET"),
    "an encoding": _post("/v1/chat/completions", lambda _: CHAT, content_encoding="SECRET"),
    "an unknown path": _post("/v1/SECRET", lambda _: CHAT),
    "a query": _post("/admin/kill?tenant_id=SECRET", lambda secret: {"tenant_id": secret + " x"}),
    "an unknown field": _post("/admin/keys", lambda secret: {"scopes": ["proxy"], secret: secret}),
    "a wrong scope": _post("/admin/keys", lambda secret: {"scopes": [secret]}),
    "another's tenant": _post("/admin/kill", lambda secret: {"tenant_id": secret}),
    "an unknown case": _post("/api/reviews/SECRET/claim", lambda secret: {"reviewer_id": secret}),
    "a wrong decision": _post("/api/reviews/r1/decide", lambda secret: {"decision": secret, "reason": secret}),
    "a blank fact": _post("/admin/facts", lambda secret: {"key": secret + "\0", "text": ""}),
    "facts of a wrong type": _post("/admin/facts", lambda secret: {"key": [secret], "text": {secret: secret}}),
}
PATHS: dict[str, Ask] = {
    **{f"stream, {kind}": _chat(kind, stream=True) for kind in STREAMS},
    **{f"whole, {kind}": _chat(kind, stream=False) for kind in WHOLES},
    **MISTAKES,
}


@contextlib.contextmanager
def faulty_server() -> Iterator[Served]:
    """A server; it starts inside of a test, because pytest listens to loggers that were cut off before."""
    settings = settings_of({"server": {"rate": "off"}, "tenants": {"halting": {"mode": "halt"}}})
    with served(server_of(FaultyUpstream(), settings)) as told:
        yield told


def kept_by(running: Served, tenants: tuple[str, ...]) -> dict[str, str]:
    trail = running.server.queue.trail
    figures = running.client(running.key("admin", tenant="")).get("/metrics").text
    return {"figures": figures, "trail": "".join(str(row) for tenant in (*tenants, "") for row in trail.rows(tenant))}


def test_a_thousand_secrets_through_every_error_leave_no_trace(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("httpx2", "httpcore2"):
        caplog.set_level(logging.WARNING, name)
    caplog.set_level(logging.DEBUG)
    tenants = ("acme", "halting")
    with faulty_server() as running:
        sent, told, statuses = send_canaries(running, tenants)
        wait_until(lambda: not running.server.work._tasks)
        kept = kept_by(running, tenants)
    streams = capfd.readouterr()
    logs = {"logs": caplog.text, "output": streams.out + streams.err}
    assert len(sent) == CANARIES
    assert told == {}
    assert {place for place, text in {**kept, **logs}.items() if CANARY.search(text)} == set()
    assert kept["trail"].count("safety_event") > 10, "fixes and halts are recorded"
    assert "Traceback" not in caplog.text
    refused = {name: each for name, each in statuses.items() if name in MISTAKES}
    assert all(status in range(400, 500) for each in refused.values() for status in each), refused


def send_canaries(running: Served, tenants: tuple[str, ...]) -> tuple[set[str], dict[str, str], dict[str, set[int]]]:
    """Return the secrets, the answers that told one, and the statuses of answers, by the way that was taken."""
    clients = [running.client(running.key("proxy", "reviewer", "admin", tenant=tenant)) for tenant in tenants]
    sent: set[str] = set()
    told: dict[str, str] = {}
    statuses: dict[str, set[int]] = {}
    for number in range(CANARIES):
        name = list(PATHS)[number % len(PATHS)]
        secret = canary()
        sent.add(secret)
        answer = PATHS[name](clients[number // len(PATHS) % 2], secret)
        statuses.setdefault(name, set()).add(answer.status_code)
        # The text of an answer is what was asked for, and the name of the model is the client's own.
        shown = CONTENT.sub("", answer.text.replace(f"|{secret}", ""))
        if CANARY.search(shown):
            told[name] = shown[:500]
    return sent, told, statuses


def test_the_upstreams_key_is_not_shown_by_an_upstream_that_repeats_it(caplog: pytest.LogCaptureFixture) -> None:
    secret = canary()

    class Repeats(FaultyUpstream):
        async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
            error = {
                "type": "invalid_request_error",
                "code": "invalid_api_key",
                "message": f"Incorrect API key: {secret}",
            }
            return self._answer({"error": error}, int(json.loads(body)["model"]))

    with served(server_of(Repeats())) as running:
        client = running.client(running.key())
        for status in (401, 403, 407):
            for path in ("/v1/chat/completions", "/v1/messages"):
                answer = client.post(path, json={**CHAT, "model": str(status)})
                assert answer.status_code == 502
                assert f"({status})" in answer.json()["error"]["message"]
                assert secret not in answer.text
    assert secret not in caplog.text


def test_facts_and_keys_do_not_stand_in_logs_figures_or_records(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "director_ai")
    fact, label = canary(), canary()
    with faulty_server() as running:
        admin = running.client(running.key("admin", "proxy", tenant="acme"))
        assert admin.post("/admin/facts", json={"key": "secret", "text": f"The word is {fact}."}).status_code < 300
        made = admin.post("/admin/keys", json={"scopes": ["proxy"], "label": label}).json()
        answer = admin.post("/v1/chat/completions", json={**CHAT, "model": f"fine|{fact}"})
        assert answer.status_code == 200
        kept = kept_by(running, ("acme",))
    for text in (*kept.values(), caplog.text):
        assert fact not in text
        assert made["secret"] not in text
