"""`director-ai serve`, as a person starts and ends it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from commands import COMMAND, HEEDING_INTERRUPTS, run_command


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def start(started: list[subprocess.Popen[str]], folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*HEEDING_INTERRUPTS, COMMAND, "serve", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        env=environment,
    )  # fmt: skip
    started.append(process)
    return process


def test_the_demo_says_what_to_try_and_ctrl_c_ends_it_quietly(
    started: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start(started, tmp_path, "--demo", "--port", "0", "--no-model")
    lines = [process.stdout.readline() for _ in range(3)]
    url = re.search(r"http://127\.0\.0\.1:\d+", lines[0])[0]
    assert f"curl -N {url}/v1/chat/completions" in lines[1]
    assert f"{url}/review" in lines[2]
    body = json.loads(re.search(r"-d '(.*)'", lines[1])[1])
    with httpx2.Client(base_url=url, trust_env=False, timeout=20) as client:
        shown = client.post("/v1/chat/completions", json=body, headers={"Authorization": "Bearer demo"}).text
        assert client.get("/healthz").status_code == 200
    assert "2.1 %" in shown
    assert "3.1 %" not in shown
    assert '"action":"rewrite"' in shown.replace('": "', '":"')
    assert shown.rstrip().endswith("data: [DONE]")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_server_by_its_settings_keeps_its_database_and_ends_in_order(
    started: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "server.toml").write_text(
        'profile = "finance"\nuse_nli = false\nsearch = "words"\n[server]\nport = 0\ngrace = 0.1\n'
        '[upstreams.main]\nbase_url = "http://127.0.0.1:9/v1"\n', "utf-8",
    )  # fmt: skip
    key = subprocess.run(
        [COMMAND, "keys", "create", "--scope", "proxy", "--tenant", "acme"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    ).stdout.strip()  # fmt: skip
    process = start(started, tmp_path, "--config", "server.toml")
    url = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())[0]
    with httpx2.Client(base_url=url, trust_env=False, timeout=20, headers={"x-api-key": key}) as client:
        chat = {"model": "m", "messages": [{"role": "user", "content": "a canary in a coal mine"}]}
        answer = client.post("/v1/chat/completions", json=chat)
        assert (answer.status_code, answer.json()["error"]["type"]) == (502, "upstream_error")
        assert client.get("/healthz").status_code == 200
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in err
    assert "canary" not in out + err
    assert key not in out + err
    assert all(json.loads(line) for line in err.splitlines() if line.startswith("{"))


def test_a_port_in_use_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = run_command(monkeypatch, ["serve", "--demo", "--port", str(port), "--no-model"])
    assert (code, out) == (2, "")
    assert err == f"director-ai: port {port} of 127.0.0.1 cannot be used (Address already in use); choose another\n"


def test_settings_are_shown_without_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "server.toml"
    place.write_text('[server]\ndatabase = "postgresql://rosa:hunter2@db/x"\n', "utf-8")
    code, out, _ = run_command(monkeypatch, ["serve", "--config", str(place), "--port", "99", "--show"])
    assert code == 0
    assert json.loads(out)["server"]["port"] == 99
    assert "hunter2" not in out


BAD = {
    "a demo for others": (["--demo", "--host", "0.0.0.0", "--port", "0", "--no-model"], "for this machine alone"),
    "others without a key": (["--host", "0.0.0.0", "--port", "0", "--database", ":memory:"], "there is no key yet"),
    "a demo with settings": (["--demo", "--config", "x.toml"], "reads no settings"),
    "a demo that keeps something": (["--demo", "--database", "x.db"], "keeps nothing"),
    "no settings": (["--config", "none.toml"], "there is no file"),
    "a port that is none": (["--port", "70000"], "65535"),
    "a host that is none": (["--demo", "--host", "nowhere.invalid"], "director-ai:"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_served_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run_command(monkeypatch, ["serve", *arguments])
    assert code == 2
    assert message in " ".join(err.split())


def test_a_missing_extra_says_how_to_install_it(tmp_path: Path) -> None:
    for module in ("fastapi", "uvicorn", "limits", "httpx2"):
        (tmp_path / f"{module}.py").write_text("raise ImportError('not here')\n", "utf-8")
    told = subprocess.run(
        [COMMAND, "serve", "--demo", "--port", "0"], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert told.returncode == 2
    assert "pip install '.[server]'" in told.stderr
    assert "Traceback" not in told.stderr


def test_help_loads_nothing_of_the_server() -> None:
    code = (
        "import sys; sys.argv = ['director-ai', 'serve', '--help']\n"
        "from director_ai.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--demo" in told.stdout
    heavy = {"fastapi", "uvicorn", "starlette", "sqlalchemy", "numpy", "httpx2", "limits", "director_ai.serve.server"}
    assert not heavy & set(told.stderr.split())
