"""`director-ai serve` with several workers, started as people start it, and clients of one worker or any."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
from servers import FACTS, wait_until

from director_ai.knowledge.store import GroundTruthStore
from director_ai.review.queue import HumanReviewQueue
from director_ai.serve.keys import KeyStore

COMMAND = str(Path(sys.executable).parent / "director-ai")
SETTINGS = """
profile = "finance"
use_nli = false
search = "words"
store = "facts.db"
[server]
host = "{host}"
port = 0
grace = 0.2
rate = "off"
[upstreams.main]
base_url = "{upstream}/v1"
"""


class Fleet:
    """A server of several processes that runs."""

    def __init__(self, folder: Path, process: subprocess.Popen[str], url: str, queue: HumanReviewQueue) -> None:
        self.folder, self.process, self.url, self.queue = folder, process, url, queue
        self.keys = KeyStore(queue.trail)
        self.admin = self.key("admin", tenant="")
        self.clients = contextlib.ExitStack()

    def key(self, *scopes: str, tenant: str = "acme") -> str:
        return self.keys.create(tenant, scopes or ("proxy",)).secret

    def client(self, key: str = "", **options: Any) -> httpx2.Client:
        """Return somebody with one connection, which some worker takes."""
        headers = {"authorization": f"Bearer {key}"} if key else {}
        made = httpx2.Client(base_url=self.url, headers=headers, timeout=20.0, trust_env=False, **options)
        return self.clients.enter_context(made)

    def whose(self, client: httpx2.Client) -> int:
        """Return the process that has the connection of a client."""
        answer = client.get("/admin/streams", headers={"authorization": f"Bearer {self.admin}"})
        return int(answer.json()["process"])

    def client_at(self, process: int, key: str = "") -> httpx2.Client:
        """Return somebody whose connection a certain worker has."""
        for _ in range(100):
            made = self.client(key)
            if self.whose(made) == process:
                return made
        raise AssertionError("the process takes no connection")

    def processes(self) -> set[int]:
        """Return the workers that answer; on a busy machine one may take many connections in a row."""
        found = {self.whose(self.client()) for _ in range(8)}
        for _ in range(100):
            if len(found) > 1:
                break
            found.add(self.whose(self.client()))
        return found

    def figure(self, name: str, client: httpx2.Client | None = None) -> float:
        """Return a figure of a scrape."""
        text = (client or self.client()).get("/metrics", headers={"authorization": f"Bearer {self.admin}"}).text
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])


def prepared(folder: Path, upstream: str, host: str = "127.0.0.1") -> None:
    """Make the settings and the knowledge base of a server."""
    (folder / "server.toml").write_text(SETTINGS.format(upstream=upstream, host=host), "utf-8")
    with GroundTruthStore(folder / "facts.db") as store:
        store.add_many(FACTS)


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the command in a folder; its errors go to a file there."""
    with (folder / "err").open("w") as err:
        return subprocess.Popen(
            [COMMAND, "serve", "--config", "server.toml", *arguments], cwd=folder, stderr=err, text=True
        )


@contextlib.contextmanager
def fleet(folder: Path, upstream: str, *arguments: str) -> Iterator[Fleet]:
    """Run a server of two workers until the block ends."""
    prepared(folder, upstream)
    process = started(folder, *(arguments or ("--workers", "2")))
    told = folder / "err"
    try:
        wait_until(lambda: "Listening" in told.read_text() or process.poll() is not None, 60)
        assert process.poll() is None, told.read_text()
        url = re.search(r"http://127\.0\.0\.1:\d+", told.read_text())[0]
        with HumanReviewQueue(folder / "director.db") as queue:
            made = Fleet(folder, process, url, queue)
            with made.clients:
                wait_until(lambda: len(made.processes()) == 2, 60)
                yield made
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def is_alive(process: int) -> bool:
    """Whether a process runs; one that nobody waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(process: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def environment_of(process: int) -> dict[str, str]:
    """Return the variables with which a process was started."""
    pairs = Path(f"/proc/{process}/environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


def kill_hard(process: int) -> None:
    """Kill one of ours as the system does it when memory is short."""
    os.kill(process, signal.SIGKILL)
