"""What is special to a file: other processes, crashes, damage, and an index that stays in step with its facts."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from director_ai import GroundTruthStore, VectorGroundTruthStore
from director_ai.errors import ConfigError
from director_ai.knowledge import KnowledgeError, sqlite

LOADER = textwrap.dedent(
    """
    import sys
    from director_ai import GroundTruthStore
    store, name = GroundTruthStore(sys.argv[1]), sys.argv[2]
    for load in range(1000):
        store.add_many({f"{name}-{load}-{n}": f"Load {load} of {name} has the fact number {n}." for n in range(300)})
        print(load, flush=True)
    """
)


def loader(path: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", LOADER, str(path), name], stdout=subprocess.PIPE, text=True)


def loads_in(store: GroundTruthStore) -> dict[str, int]:
    """How many facts of each load there are."""
    counts: dict[str, int] = {}
    for fact in store.facts():
        load = fact.key.rsplit("-", 1)[0]
        counts[load] = counts.get(load, 0) + 1
    return counts


@pytest.mark.parametrize("acknowledged", range(4))
def test_a_load_that_is_killed_leaves_nothing_and_loses_nothing(tmp_path: Path, acknowledged: int) -> None:
    path = tmp_path / "facts.db"
    writer, other = loader(path, "killed"), loader(path, "other")
    assert writer.stdout is not None
    assert other.stdout is not None
    heard = [writer.stdout.readline() for _ in range(acknowledged + 1)]
    writer.send_signal(signal.SIGKILL)
    heard += writer.stdout.readlines()
    writer.wait()
    others = [other.stdout.readline() for _ in range(2)]  # it goes on undisturbed
    other.send_signal(signal.SIGKILL)
    others += other.stdout.readlines()
    other.wait()
    with GroundTruthStore(str(path)) as store:
        counts = loads_in(store)
        assert set(counts.values()) == {300}, "no load is half there"
        assert {f"killed-{line.strip()}" for line in heard if line} <= set(counts)
        assert {f"other-{line.strip()}" for line in others if line} <= set(counts)
        assert store.retrieve_context(f"Load {acknowledged} of killed has the fact number 7.", 1)
        store.add("after", "The store is written again.")
    for stream in (writer.stdout, other.stdout):
        stream.close()


def test_readers_of_another_process_see_a_load_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with GroundTruthStore(str(path)) as store:
        writer = loader(path, "writer")
        assert writer.stdout is not None
        for _ in range(5):
            writer.stdout.readline()
            assert set(loads_in(store).values()) == {300}
        writer.kill()
        writer.wait()
        writer.stdout.close()


def test_two_stores_on_one_file_see_each_others_changes(tmp_path: Path) -> None:
    path = str(tmp_path / "facts.db")
    with VectorGroundTruthStore(path) as one, VectorGroundTruthStore(path) as two:
        one.add("refund", "Refunds are available within 30 days.")
        assert two.retrieve_context("Are refunds available?") == "Refunds are available within 30 days."
        two.update("refund", "Refunds are available within 60 days.")
        assert one.retrieve_context("Are refunds available?") == "Refunds are available within 60 days."
        one.remove("refund")
        assert two.retrieve_context("Are refunds available?") == ""


def test_a_process_that_was_forked_opens_the_file_anew(tmp_path: Path) -> None:
    with GroundTruthStore(str(tmp_path / "facts.db"), facts={"a": "The shop opens at nine."}) as store:
        child = os.fork()
        if child == 0:
            os._exit(0 if store.retrieve_context("When does the shop open?") else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert store.retrieve_context("When does the shop open?")


def test_a_store_in_memory_refuses_a_forked_process() -> None:
    store = GroundTruthStore(facts={"a": "The shop opens at nine."})
    child = os.fork()
    if child == 0:
        try:
            store.retrieve_context("shop")
        except KnowledgeError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


DAMAGED = {
    "text": b"These are my facts. " * 400,
    "an empty SQLite header": b"SQLite format 3\0" + b"\0" * 4000,
    "random bytes": bytes(range(256)) * 40,
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_is_no_knowledge_base_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "facts.db"
    path.write_bytes(content)
    with pytest.raises(KnowledgeError, match=r"no knowledge base|cannot be"):
        GroundTruthStore(str(path))
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recipes.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipe (name)")
    connection.close()
    with pytest.raises(ConfigError, match="something else"):
        GroundTruthStore(str(path))


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    GroundTruthStore(str(path)).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE about SET value = 99 WHERE name = 'schema'")
    connection.commit()
    connection.close()
    with pytest.raises(KnowledgeError, match="later version"):
        GroundTruthStore(str(path))


def test_a_folder_that_does_not_exist_is_named_as_the_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="folder of the knowledge base does not exist"):
        GroundTruthStore(str(tmp_path / "nowhere" / "facts.db"))
    with pytest.raises(KnowledgeError, match="cannot be"):
        GroundTruthStore(str(tmp_path))


def test_a_file_that_another_process_holds_is_reported_as_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "facts.db"
    monkeypatch.setattr(sqlite, "WAIT_SECONDS", 0.2)
    with GroundTruthStore(str(path), facts={"a": "The shop opens at nine."}) as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with GroundTruthStore(str(path)) as second:
            with pytest.raises(KnowledgeError, match="locked"):
                second.add("b", "The shop closes at five.")
            assert second.retrieve_context("When does the shop open?"), "reading goes on"
        holder.execute("ROLLBACK")
        holder.close()
        store.add("b", "The shop closes at five.")


def test_versions_leave_the_index_once_no_stream_can_ask_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "facts.db")
    with VectorGroundTruthStore(path, facts={"a": "The shop opens at nine."}) as store:
        store.update("a", "The shop opens at ten.")
        monkeypatch.setattr(sqlite, "LINGER_SECONDS", -1)
        store.add("b", "The museum is closed.")
        connection = sqlite3.connect(path)
        assert connection.execute("SELECT count(*) FROM posting WHERE posting MATCH '\"1_nine\"'").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM vector").fetchone() == (2,)
        connection.close()
        assert store.retrieve_context("When does the shop open?", 1) == "The shop opens at ten."
        assert [fact.text for fact in store.history("a")] == ["The shop opens at nine.", "The shop opens at ten."]


def test_the_index_is_what_the_facts_say_after_many_changes(tmp_path: Path) -> None:
    with GroundTruthStore(str(tmp_path / "facts.db")) as store:
        for turn in range(6):
            store.add_many(
                {f"k{n}": f"The fact {n} was said in turn {turn}." for n in range(turn, 40, 3)}, replace=True
            )
            for n in range(turn, 40, 7):
                store.remove(f"k{n}")
        connection = sqlite3.connect(tmp_path / "facts.db")
        connection.execute("INSERT INTO posting (posting) VALUES ('integrity-check')")
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
        alive = {fact.key for fact in store.facts()}
        for n in range(40):
            found = {chunk.source for chunk in store.retrieve_context_with_chunks(f"the fact {n} was said", 40)}
            assert found <= alive


def test_a_query_reads_no_more_when_other_tenants_have_more(tmp_path: Path) -> None:
    """Counted in steps of SQLite's own machine."""
    with GroundTruthStore(str(tmp_path / "facts.db")) as store:
        store.add_many({f"k{n}": f"The branch {n} opens at nine." for n in range(50)}, "acme")
        few = 0
        for count in (20, 1_000):
            for tenant in range(10):
                store.add_many({f"k{count}-{n}": f"The branch {n} opens at nine." for n in range(count)}, f"t{tenant}")
            few = few if count > 20 else _steps(store)
        assert _steps(store) <= 2 * few, "50 times as many facts; the index has a few more levels"


def _steps(store: GroundTruthStore) -> int:
    store.retrieve_context("When does branch 7 open?", 3, "acme")
    (connection,) = store.tables._idle  # type: ignore[attr-defined]
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection.set_progress_handler(count, 10)
    store.retrieve_context("When does branch 7 open?", 3, "acme")
    connection.set_progress_handler(None, 10)
    return steps
