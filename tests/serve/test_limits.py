"""Limits: rates of tenants, and requests that ask for too much or are none."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from servers import CHAT, SayingUpstream, Served, served, server_of, settings_of

from director_ai.serve.bodies import MOST_BYTES, parse_object
from director_ai.serve.limiting import TenantRates
from director_ai.serve.proxy import Overloaded

CHAT_PATH = "/v1/chat/completions"
UPSTREAM = SayingUpstream("Refunds are available within 30 days.")


def test_a_rate_is_of_one_tenant_and_says_when_to_come_again() -> None:
    rates = TenantRates()
    for _ in range(3):
        rates.take("acme", "3/hour")
    with pytest.raises(Overloaded) as refused:
        rates.take("acme", "3/hour")
    assert refused.value.status == 429
    assert 0 < refused.value.retry_after <= 3_600
    rates.take("globex", "3/hour")
    for _ in range(1_000):
        rates.take("free", "off")


def test_a_tenant_over_its_rate_is_told_by_the_proxy() -> None:
    settings = settings_of({"server": {"rate": "2/hour"}, "tenants": {"big": {"rate": "off"}}})
    with served(server_of(SayingUpstream("Hello!"), settings)) as running:
        client = running.client(running.key())
        answers = [client.post(CHAT_PATH, json={**CHAT, "stream": False}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert int(answers[2].headers["retry-after"]) > 0
        assert answers[2].json()["error"]["type"] == "rate_limit_error"
        big = running.client(running.key(tenant="big"))
        assert {big.post(CHAT_PATH, json={**CHAT, "stream": False}).status_code for _ in range(5)} == {200}


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served(server_of(UPSTREAM, settings_of({"server": {"rate": "off"}}))) as told:
        yield told


def _with(**changes: Any) -> bytes:
    return json.dumps({**CHAT, "stream": False, **changes}).encode()


BAD = {
    "nothing": (b"", {}, 400),
    "no JSON": (b"hello", {}, 400),
    "half of it": (b'{"model": ', {}, 400),
    "a list": (b"[1]", {}, 400),
    "a text": (b'"x"', {}, 400),
    "nested 100,000 deep": (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", {}, 400),
    "nested 101 deep in objects": (b'{"a":' * 101 + b"1" + b"}" * 101, {}, 400),
    "a name twice": (b'{"model":"a","model":"b","messages":[]}', {}, 400),
    "a name twice inside": (b'{"messages":[{"role":"user","role":"system","content":"x"}]}', {}, 400),
    "NaN": (b'{"temperature": NaN, "messages": []}', {}, 400),
    "Infinity": (b'{"temperature": -Infinity, "messages": []}', {}, 400),
    "another charset": ('{"model":"é"}'.encode("utf-16"), {}, 400),
    "broken UTF-8": (b'{"model":"\xc3\x28"}', {}, 400),
    "compressed": (b"\x1f\x8b\x08\x00", {"content-encoding": "gzip"}, 400),
    "n of a billion": (_with(n=10**9), {}, 400),
    "n of zero": (_with(n=0), {}, 400),
    "n as a text": (_with(n="2"), {}, 400),
    "n as a truth": (_with(n=True), {}, 400),
    "max_tokens of -1": (_with(max_tokens=-1), {}, 400),
    "max_tokens of 10^30": (_with(max_tokens=10**30), {}, 400),
    "a number of 5,000 digits": (b'{"seed": ' + b"9" * 5_000 + b"}", {}, 400),
    "stream as a text": (_with(stream="yes"), {}, 400),
    "20,000 messages": (_with(messages=[{"role": "user", "content": "x"}] * 20_000), {}, 400),
    "9 MB": (_with(user="x" * 9_000_000), {}, 413),
}


@pytest.mark.parametrize(("body", "headers", "status"), BAD.values(), ids=BAD)
def test_what_is_no_request_is_refused_with_a_sentence_and_never_sent_on(
    running: Served, body: bytes, headers: dict[str, str], status: int
) -> None:
    UPSTREAM.asked.clear()
    client = running.client(running.key(), **{"content-type": "application/json", **headers})
    answer = client.post(CHAT_PATH, content=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]
    assert UPSTREAM.asked == []


def test_a_body_without_an_end_is_cut_where_it_is_too_long(running: Served) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(2 * MOST_BYTES // 65_536):
            yield b" " * 65_536

    answer = running.client(running.key()).post(CHAT_PATH, content=endless())
    assert answer.status_code == 413


def test_a_declared_length_of_100_mb_is_refused_before_it_is_sent(running: Served) -> None:
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(
            f"POST {CHAT_PATH} HTTP/1.1\r\nhost: {host}\r\nx-api-key: {running.key()}\r\n"
            "content-length: 104857600\r\n\r\n".encode()
        )
        assert b" 413 " in connection.recv(4_096)


def test_where_answers_come_from_is_not_the_clients_to_say(running: Served) -> None:
    UPSTREAM.asked.clear()
    client = running.client(running.key(), **{"x-forwarded-host": "evil.example", "x-upstream": "http://evil.example"})
    answer = client.post(CHAT_PATH, content=_with(base_url="http://evil.example", api_base="http://evil.example"))
    assert answer.status_code == 200
    assert len(UPSTREAM.asked) == 1


def test_wrong_types_in_a_request_do_not_break_the_server(running: Served) -> None:
    client = running.client(running.key())
    for messages in (None, "x", 7, {}, [None], ["x"], [{"role": 7}], [{"role": "user", "content": {"a": 1}}], [[[]]]):
        assert client.post(CHAT_PATH, content=_with(messages=messages)).status_code < 500


def test_deep_brackets_inside_of_texts_are_text() -> None:
    text = "[" * 500 + '"' + "{" * 500
    assert parse_object(json.dumps({"a": text}).encode())["a"] == text
