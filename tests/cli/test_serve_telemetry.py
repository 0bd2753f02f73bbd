"""`director-ai serve` with OpenTelemetry: set up by the environment alone, to a collector on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from collecting import attributes_of, collecting

COMMAND = str(Path(sys.executable).parent / "director-ai")
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def start(started: list[subprocess.Popen[str]], folder: Path, **variables: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [COMMAND, "serve", "--demo", "--port", "0", "--no-model"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1", **variables},
    )  # fmt: skip
    started.append(process)
    return process, re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())[0]


def ask(url: str, *, stream: bool) -> str:
    body = {"model": "demo", "stream": stream, "messages": [{"role": "user", "content": "What of my account?"}]}
    headers = {
        "authorization": "Bearer demo",
        "traceparent": f"00-{TRACE}-{PARENT}-01",
        "x-request-id": f"asked-{stream}",
    }
    with httpx2.Client(base_url=url, trust_env=False, timeout=20, headers=headers) as client:
        return client.post("/v1/chat/completions", json=body).text


def test_every_answer_is_a_span_under_the_trace_of_its_request(
    started: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    with collecting() as collected:
        process, url = start(started, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collected.url, OTEL_SERVICE_NAME="bank")
        shown = [ask(url, stream=stream) for stream in (True, False)]
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert all("2.1" in text for text in shown)
    assert {(span.name, span.trace_id.hex(), span.parent_span_id.hex()) for span in collected.spans} == {
        ("guard demo", TRACE, PARENT)
    }
    known = [attributes_of(span) for span in collected.spans]
    assert {each["director_ai.request_id"] for each in known} == {"asked-True", "asked-False"}
    assert {each["director_ai.tenant_id"] for each in known} == {"demo"}
    assert len(collected.events) == len(collected.spans) == 2
    assert collected.services == {"bank"}
    sent = b"".join(body for _, _, body in collected.told).lower()
    assert b"asked-true" in sent  # protobuf holds strings as they are
    assert b"account" not in sent


@pytest.mark.parametrize(
    "options", [("--demo", "--no-model"), ("--config", "server.toml")], ids=["one process", "two workers"]
)
def test_settings_that_cannot_be_meant_are_one_sentence(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text('[server]\nworkers = 2\n[guard]\nstore = "facts.db"\n')
    ended = subprocess.run(
        [COMMAND, "serve", "--port", "0", *options],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
        env={**os.environ, "OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_HEADERS": "hunter2"},
    )  # fmt: skip
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert said.startswith("director-ai: OTEL_EXPORTER_OTLP_HEADERS must be")
    assert "hunter2" not in said
