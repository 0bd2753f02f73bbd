"""The processes of `serve.py`: an upstream, a proxy in front of it, clients; and what the proxy takes meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repair_delay import WARM_UP, tokens_of
from serve_upstream import PACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")
WARM_UP_STREAMS = 8
Row = dict[str, Any]


@contextlib.contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A part of the benchmark that runs beside, and the line that it prints when it is ready."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            yield running, running.stdout.readline().strip()
        finally:
            running.terminate()


@dataclass(slots=True)
class Watch:
    """Looks at what a process and those that it started take, again and again."""

    pid: int
    samples: list[tuple[float, float, float]] = field(default_factory=list)
    """When, processor seconds so far, MiB."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def look(self) -> None:
        ticks, pages = 0, 0
        for pid in (self.pid, *Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()):
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(stat[11]) + int(stat[12])
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        self.samples.append((time.monotonic(), ticks / TICKS, pages * os.sysconf("SC_PAGE_SIZE") / 2**20))

    def __enter__(self) -> Watch:
        self.look()
        self._thread = threading.Thread(target=self._go_on)
        self._thread.start()
        return self

    def _go_on(self) -> None:
        while not self._ended.wait(0.25):
            self.look()

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def between(self, start: float, end: float) -> tuple[float, float]:
        """Cores in use, and MiB more than at the beginning."""
        inside = [each for each in self.samples if start <= each[0] <= end]
        if len(inside) < 2:
            return 0.0, 0.0
        (first, before, _), (last, behind, _) = inside[0], inside[-1]
        return (behind - before) / (last - first), max(each[2] for each in inside) - self.samples[0][2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An upstream and a proxy that run."""

    upstream: int
    port: int
    key: str
    pid: int
    answers: int
    """How many there are, before a short one to warm up with."""

    def load(self, streams: int, ramp: float) -> tuple[Row, Row, Watch]:
        """What clients heard, what the upstream said, and what the proxy took; some streams before warm it up."""
        self._read(WARM_UP_STREAMS, 0.2, range(self.answers, self.answers + 1))
        self._told()
        with Watch(self.pid) as watch:
            came = self._read(streams, ramp, range(self.answers))
        return came, self._told(), watch

    def _read(self, streams: int, ramp: float, answers: range) -> Row:
        given = (self.port, self.key, streams, ramp, answers.start, answers.stop)
        command = [sys.executable, "serve_load.py", *map(str, given)]
        came: Row = json.loads(subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, check=True).stdout)
        return came

    def _told(self) -> Row:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.upstream}/times") as answer:
            told: Row = json.loads(answer.read())
        return told


@contextlib.contextmanager
def site(way: str, answers: Sequence[list[str]], folder: Path, **options: Any) -> Iterator[Site]:
    """An upstream and a proxy in front of it; the database of the proxy is a file."""
    said = folder / "answers.json"
    said.write_text(json.dumps([*answers, tokens_of(WARM_UP)]), "utf-8")
    with contextlib.ExitStack() as stack:
        own = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        _, upstream = stack.enter_context(process("serve_upstream.py", str(said), str(PACE)))
        given = json.dumps({"database": str(own / "director.db"), "grace": 0.0, **options})
        proxy, line = stack.enter_context(process("serve_proxies.py", way, upstream, given))
        port, key = line.split()
        yield Site(upstream=int(upstream), port=int(port), key=key, pid=proxy.pid, answers=len(answers))
