"""Tenants share a server and see nothing of each other: not in answers, facts, cases, records, logs or figures."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
from servers import Served, chunk, served, server_of, settings_of, wait_until

from director_ai.serve.sse import write_event
from director_ai.serve.upstream import Answer

TENANTS = 200
AT_ONCE = 24
FIRST_CODE = 97_000_000
_CODE = re.compile(r"(?<!\w)97\d{6}(?!\w)")
"""A canary: each tenant has a code of its own in its facts."""
PATHS = ("/admin/facts", "/api/reviews", "/admin/keys", "/admin/streams")
_ASKED = re.compile(r"ask-\d+-\d+")
"""A canary of a request: it stands in the prompt, and nowhere else."""


def code_of(tenant: int) -> str:
    return str(FIRST_CODE + 37 * tenant)


class CodeUpstream:
    """Says the code that a request names by its model, and keeps who was cut off."""

    def __init__(self) -> None:
        self.cut_off = 0

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        asked = json.loads(body)
        said = ["Thank you. ", "The access ", f"code is {code_of(int(asked['model'][5:]))}."]
        if asked["stream"]:
            kept = {"content-type": "text/event-stream"}
            return Answer(status=200, headers=kept, chunks=self._chunks(said, stalls="leaves" in asked.get("user", "")))
        message = {"role": "assistant", "content": "".join(said)}
        whole = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
        whole |= {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        return Answer(status=200, headers={"content-type": "application/json"}, chunks=self._whole(whole))

    async def _chunks(self, said: list[str], *, stalls: bool) -> AsyncIterator[bytes]:
        try:
            yield chunk(role="assistant")
            for token in said[:2] if stalls else said:
                yield chunk(token)
            if stalls:
                await asyncio.sleep(60)
        except (GeneratorExit, asyncio.CancelledError):
            self.cut_off += 1
            raise
        yield chunk(finish="stop")
        yield write_event("[DONE]")

    async def _whole(self, whole: dict[str, Any]) -> AsyncIterator[bytes]:
        yield json.dumps(whole).encode()

    async def aclose(self) -> None:
        pass


class Crowd:
    """The keys of all tenants on one server, and requests by all of them at once."""

    def __init__(self, running: Served, seed: int) -> None:
        self._running, self._rng = running, random.Random(seed)
        self.keys = {}
        for tenant in range(TENANTS):
            name = f"tenant-{tenant}"
            running.server.store.add("code", f"The access code is {code_of(tenant)}.", name)
            self.keys[tenant] = running.key("proxy", "reviewer", "admin", tenant=name)
        self.wrong: list[str] = []
        """What should not have been: who saw what."""
        self.seen: dict[str, int] = {"own": 0, "left": 0, "halted": 0, "corrected": 0}

    async def ask(self, count: int) -> None:
        """Send so many requests, some of which their clients leave."""
        numbers = iter(range(count))
        await asyncio.gather(*(self._work(numbers) for _ in range(AT_ONCE)))

    async def _work(self, numbers: Iterator[int]) -> None:
        for number in numbers:
            await self._one(number)

    async def _one(self, number: int) -> None:
        tenant = self._rng.randrange(TENANTS)
        # Half of the time the model says what is another tenant's: that must be judged by the tenant's own facts.
        said = tenant if self._rng.random() < 0.5 else self._rng.randrange(TENANTS)
        kind = self._rng.choices(["stream", "whole", "leaves"], [5, 3, 2])[0]
        body = {
            "model": f"says-{said}", "stream": kind != "whole", "user": kind,
            "messages": [{"role": "user", "content": f"What is the access code? ask-{tenant}-{number}"}],
        }  # fmt: skip
        text = await self._post(self.keys[tenant], body, until="Thank you" if kind == "leaves" else None)
        status, _, text = text.partition("\r\n\r\n")
        self._check(tenant, said, status.split(" ")[1], text)
        self.seen["left"] += kind == "leaves"

    async def _post(self, key: str, body: dict[str, Any], until: str | None) -> str:
        """Send a request by hand, which takes a tenth of a client's time, and leave where some words have come."""
        data = json.dumps(body)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\nconnection: close\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", int(self._running.url.rpartition(":")[2]))
        writer.write(f"{head}content-length: {len(data)}\r\n\r\n{data}".encode())
        got = ""
        while (until is None or until not in got) and (piece := await reader.read(65_536)):
            got += piece.decode()
        writer.close()
        return got

    def _check(self, tenant: int, said: int, status: str, text: str) -> None:
        codes = set(_CODE.findall(text))
        if status != "200" or codes - {code_of(tenant)} or "key_revoked" in text:
            self.wrong.append(f"tenant {tenant} got {status} with {len(codes)} codes")
        self.seen["own"] += said == tenant and code_of(tenant) in codes
        self.seen["corrected"] += said != tenant and code_of(tenant) in codes
        self.seen["halted"] += "content_filter" in text

    def look_around(self, tenants: Iterator[int] | range) -> None:
        """Read all that a tenant can read, and all that is kept of it."""
        server, client = self._running.server, self._running.client()
        for tenant in tenants:
            name, headers = f"tenant-{tenant}", {"x-api-key": self.keys[tenant]}
            reached = {path: client.get(path, headers=headers) for path in PATHS}
            kept = {
                "cases": "".join(map(str, server.queue.list_cases(tenant_id=name))),
                "trail": "".join(map(str, server.queue.trail.rows(name))),
            }
            for place, text in {**{path: each.text for path, each in reached.items()}, **kept}.items():
                if set(_CODE.findall(text)) - {code_of(tenant)} or _strangers(tenant, text):
                    self.wrong.append(f"{place} of tenant {tenant}")
            self.wrong += [f"{path}: {each.status_code}" for path, each in reached.items() if each.status_code != 200]
            if _CODE.search(kept["trail"]) or _ASKED.search(kept["trail"]):
                self.wrong.append(f"the trail of tenant {tenant} holds text")


def _strangers(tenant: int, text: str) -> bool:
    asked = {found.split("-")[1] for found in _ASKED.findall(text)}
    named = set(re.findall(r"tenant-(\d+)", text))
    return bool((asked | named) - {str(tenant)})


def live_together(count: int, caplog: pytest.LogCaptureFixture, every: int = 1) -> Crowd:
    settings = settings_of(
        {
            "server": {"rate": "off"},
            "tenants": {f"tenant-{tenant}": {"mode": "halt"} for tenant in range(0, TENANTS, 4)},
        }
    )
    upstream = CodeUpstream()
    for client in ("httpx2", "httpcore2"):
        caplog.set_level(logging.WARNING, client)
    caplog.set_level(logging.DEBUG)
    with served(server_of(upstream, settings)) as running:
        crowd = Crowd(running, seed=9)
        asyncio.run(crowd.ask(count))
        wait_until(lambda: len(running.server.streams) == 0)
        wait_until(lambda: not running.server.work._tasks, 60)
        crowd.look_around(range(0, TENANTS, every))
        figures = running.client(crowd.keys[0]).get("/metrics").text
        assert "streaming_repair" in figures
        for place, text in (("figures", figures), ("logs", caplog.text)):
            if _CODE.search(text) or _ASKED.search(text) or "tenant-" in text:
                crowd.wrong.append(place)
    assert upstream.cut_off >= crowd.seen["left"] * 0.9, "clients that left were not noticed"
    return crowd


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("requests", "every"), [(800, 3), pytest.param(5_000, 1, marks=pytest.mark.soak)])
def test_no_tenant_sees_anything_of_another(caplog: pytest.LogCaptureFixture, requests: int, every: int) -> None:
    crowd = live_together(requests, caplog, every)
    assert crowd.wrong == []
    assert min(crowd.seen.values()) > requests / 20, crowd.seen


@pytest.mark.soak
def test_no_tenant_sees_anything_of_another_in_a_long_run(caplog: pytest.LogCaptureFixture) -> None:
    assert live_together(100_000, caplog).wrong == []
