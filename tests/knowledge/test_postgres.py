"""What is special to PostgreSQL: who sees which row, lost connections, processes side by side, the vector graph."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from director_ai.errors import ConfigError, MissingExtra
from director_ai.knowledge import GroundTruthStore, postgres
from director_ai.knowledge.postgres import PostgresTables
from director_ai.knowledge.postgres_schema import LOCK, ROLE
from director_ai.knowledge.sqlite import SqliteTables
from director_ai.knowledge.tables import LINGER_SECONDS, Change, DuplicateFact, KnowledgeError
from director_ai.knowledge.terms import terms_of

NOW = "2026-03-01T12:00:00.000000Z"
LATER = "2026-03-01T13:00:00.000000Z"
TABLES = ["fact", "posting", "vector", "tenant"]


def put(key: str, text: str | None, tenant_id: str = "", *, vectors: Any = None, source: str = "") -> Change:
    terms = tuple(terms_of(text)) if text else ()
    return Change(tenant_id=tenant_id, key=key, text=text, source=source, terms=terms, vectors=vectors)


def unit_vectors(count: int, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).normal(size=(count, 384)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def apply(tables: Any, *changes: Change, replace: bool = True, now: str = NOW) -> Any:
    return tables.apply(iter([changes]), now=now, replace=replace, dry_run=False)


@pytest.fixture
def tables(fresh_database: str) -> Iterator[PostgresTables]:
    tables = PostgresTables(fresh_database, "encoder")
    yield tables
    tables.close()


@pytest.fixture
def filled(tables: PostgresTables) -> PostgresTables:
    apply(tables, *(put("k", "A fact.", name, vectors=unit_vectors(1)) for name in ("", "acme", "globex")))
    return tables


@pytest.fixture(scope="module")
def filled_url(postgres_server: Any) -> str:
    """A database with one fact of each of three scopes, which no test changes."""
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE filled")
    tables = PostgresTables(postgres_server.database("filled"), "encoder")
    apply(tables, *(put("k", "A fact.", name, vectors=unit_vectors(1)) for name in ("", "acme", "globex")))
    tables.close()
    return postgres_server.database("filled")


@contextlib.contextmanager
def raw(url: str, tenant: str | None, role: str | None = ROLE) -> Iterator[psycopg.Connection[Any]]:
    """A transaction of somebody who speaks SQL, undone in the end."""
    with contextlib.closing(psycopg.connect(url)) as connection:
        if tenant is not None:
            connection.execute("SELECT set_config('director_ai.tenant', %s, true)", [tenant])
        if role:
            connection.execute(f"SET LOCAL ROLE {role}")
        yield connection


def count(connection: psycopg.Connection[Any], table: str) -> int:
    found = connection.execute(f"SELECT count(*) FROM director_ai.{table}").fetchone()
    assert found is not None
    return int(found[0])


class TestRowLevelSecurity:
    @pytest.mark.parametrize("table", TABLES)
    def test_a_raw_connection_sees_the_rows_of_the_tenant_it_names(self, filled_url: str, table: str) -> None:
        with raw(filled_url, "acme") as connection:
            assert count(connection, table) == 1

    @pytest.mark.parametrize("table", TABLES)
    @pytest.mark.parametrize(
        "tenant", [None, "", "nobody", "ACME", "acme ", "%"],
        ids=["none", "the empty name", "an unknown one", "another spelling", "with a space", "a pattern"],
    )  # fmt: skip
    def test_a_raw_connection_that_names_no_tenant_or_another_sees_no_row(
        self, filled_url: str, table: str, tenant: str | None
    ) -> None:
        with raw(filled_url, tenant) as connection:
            assert count(connection, table) == (1 if (table, tenant) == ("tenant", "ACME") else 0)

    def test_a_tenant_whose_transaction_ended_is_seen_no_more(self, filled_url: str) -> None:
        with raw(filled_url, "acme") as connection:
            connection.rollback()
            connection.execute(f"SET ROLE {ROLE}")
            assert [count(connection, table) for table in TABLES] == [0, 0, 0, 0]

    @pytest.mark.parametrize("table", TABLES[:3])
    @pytest.mark.parametrize("statement", ["UPDATE director_ai.{} SET fact = fact", "DELETE FROM director_ai.{}"])
    def test_a_change_across_tenants_touches_no_row(self, filled_url: str, table: str, statement: str) -> None:
        text = statement.format(table).replace("fact = fact", "key = key" if table == "fact" else "fact = fact")
        with raw(filled_url, "acme") as connection:
            assert connection.execute(text).rowcount == 1
            assert connection.execute(f"{text} WHERE tenant <> 2").rowcount == 0
        with raw(filled_url, "nobody") as connection:
            assert connection.execute(text).rowcount == 0

    @pytest.mark.parametrize(
        "statement",
        [
            "INSERT INTO director_ai.posting VALUES (%s, 'word', 1)",
            "INSERT INTO director_ai.vector SELECT %s, 1, 'e', 1, 2, array_fill(1, ARRAY[384])::halfvec",
            "INSERT INTO director_ai.fact SELECT 99, %s, 'x', 1, 'y', '', 0, 0, '', '', 1, 2, '', 1, '{}'",
            "UPDATE director_ai.fact SET tenant = %s",
            "INSERT INTO director_ai.tenant (name, folded, changed) VALUES ('other' || %s, 'other', 0)",
        ],
        ids=["posting", "vector", "fact", "a move", "tenant"],
    )
    def test_a_row_of_another_tenant_cannot_be_made(self, filled_url: str, statement: str) -> None:
        with raw(filled_url, "acme") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement, [3])

    def test_the_policies_hold_for_the_owner_where_roles_cannot_be_made(
        self, fresh_database: str, plain_user: str
    ) -> None:
        url = fresh_database.replace("//postgres:", f"//{plain_user}:")
        tables = PostgresTables(url, "encoder")
        apply(tables, put("k", "A fact of acme.", "acme"))
        assert [stored.fact.key for stored in tables.history("acme", "k")] == ["k"]
        assert tables.history("globex", "k") == []
        tables.close()
        with raw(url, None, role=None) as connection:
            assert count(connection, "fact") == 0

    def test_a_user_above_the_policies_is_refused_without_the_role(
        self, fresh_database: str, plain_user: str, postgres_url: str
    ) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"ALTER ROLE {plain_user} BYPASSRLS")
        with pytest.raises(ConfigError, match="row-level security"):
            PostgresTables(fresh_database.replace("//postgres:", f"//{plain_user}:"), "encoder")

    def test_a_plain_user_with_the_role_reads_and_writes(self, tables: PostgresTables, fresh_database: str) -> None:
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            connection.execute(f"DROP ROLE IF EXISTS member; CREATE ROLE member LOGIN IN ROLE {ROLE}")
        member = PostgresTables(fresh_database.replace("//postgres:", "//member:"), "encoder")
        apply(member, put("k", "A fact.", "acme", vectors=unit_vectors(1)))
        member.close()
        assert [stored.fact.text for stored in tables.history("acme", "k")] == ["A fact."]


@pytest.fixture
def plain_user(fresh_database: str) -> Iterator[str]:
    """A user who may make a schema in the database, but no roles."""
    with psycopg.connect(fresh_database, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector; CREATE ROLE plain LOGIN")
        connection.execute(
            "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO plain', current_database()); END $$"
        )
        yield "plain"
        connection.execute("DROP OWNED BY plain CASCADE; DROP ROLE plain")


class TestLostConnections:
    def test_the_call_says_so_and_the_next_one_connects_again(
        self, filled: PostgresTables, fresh_database: str
    ) -> None:
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with pytest.raises(KnowledgeError, match="the connection to the knowledge base was lost") as caught:
            filled.history("acme", "k")
        assert "acme" not in str(caught.value)
        assert len(filled.history("acme", "k")) == 1

    def test_a_restarted_server_is_found_again(self, filled: PostgresTables, postgres_server: Any) -> None:
        postgres_server.restart()
        with pytest.raises(KnowledgeError, match="lost"):
            filled.revision()
        assert len(filled.history("acme", "k")) == 1

    def test_all_idle_connections_are_given_up_at_once(self, filled: PostgresTables, fresh_database: str) -> None:
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(filled._lent())
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with pytest.raises(KnowledgeError):
            filled.revision()
        assert filled.revision() == 1

    @pytest.mark.parametrize(
        "url", ["postgresql://u:secret@127.0.0.1:9/x", "postgresql://u:secret@/x?host=/nowhere"], ids=["port", "socket"]
    )
    def test_a_server_that_is_not_there_is_named_without_its_url(self, url: str) -> None:
        with pytest.raises(KnowledgeError, match="cannot be reached") as caught:
            PostgresTables(url, "encoder")
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__

    def test_a_url_that_cannot_be_read_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="cannot be read") as caught:
            PostgresTables("postgresql://u:secret@h/x?nonsense=1", "encoder")
        assert "secret" not in str(caught.value)

    def test_what_the_server_says_of_a_row_is_not_repeated(self, tables: PostgresTables) -> None:
        broken = np.full((1, 384), np.nan, np.float32)
        with pytest.raises(KnowledgeError, match="failed") as caught:
            apply(tables, put("k", "A secret fact.", vectors=broken))
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__
        assert tables.page("", after=0, most=10, at=None) == []

    def test_closed_tables_answer_no_more(self, filled: PostgresTables) -> None:
        filled.close()
        with pytest.raises(KnowledgeError, match="closed"):
            filled.revision()


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    head = """
        import os, sys, time
        from director_ai.knowledge import GroundTruthStore
        url = sys.argv[1]
        def say(word): print(word, flush=True)
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(script), *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 0
    return said


def awaited(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline().strip() == word


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=60)


class TestProcesses:
    def test_a_new_database_may_be_opened_by_several_at_once(self, fresh_database: str) -> None:
        script = "with GroundTruthStore(url) as store: store.add(sys.argv[2], 'A fact.')"
        for process in [start(script, fresh_database, f"k{number}") for number in range(4)]:
            ended(process)
        with GroundTruthStore(fresh_database) as store:
            assert sorted(fact.key for fact in store.facts()) == ["k0", "k1", "k2", "k3"]
            assert store.revision == 4

    def test_two_that_load_at_once_lose_nothing_and_share_no_revision(self, fresh_database: str) -> None:
        script = """
            with GroundTruthStore(url) as store:
                for load in range(10):
                    name = f"{sys.argv[2]}{load}"
                    facts = {f"{name}.{n}": f"Fact {n} of {name}." for n in range(20)}
                    say(store.add_many(facts, "acme").revision)
                    assert sum(1 for _ in store.facts("acme")) % 20 == 0
        """
        said = [ended(process) for process in [start(script, fresh_database, name) for name in "ab"]]
        assert sorted(int(line) for text in said for line in text.split()) == list(range(1, 21))
        with GroundTruthStore(fresh_database) as store:
            assert sum(1 for _ in store.facts("acme")) == 400

    def test_one_killed_while_it_prepares_a_load_leaves_nothing(self, fresh_database: str) -> None:
        script = """
            def facts():
                for number in range(10_000):
                    if number == 5_000:
                        say("half")
                        time.sleep(600)
                    yield f"k{number}", f"Fact {number}."
            store = GroundTruthStore(url)
            store.add("kept", "What was acknowledged.")
            store.add_many(facts())
        """
        process = start(script, fresh_database)
        awaited(process, "half")
        killed(process)
        with GroundTruthStore(fresh_database) as store:
            assert [fact.key for fact in store.facts()] == ["kept"]
            assert store.add("next", "Another fact.").revision == 2

    def test_one_killed_inside_its_transaction_leaves_nothing(self, fresh_database: str) -> None:
        script = """
            store = GroundTruthStore(url)
            say("ready")
            store.add_many({f"k{n}": f"Fact {n}." for n in range(500)}, "acme")
        """
        with GroundTruthStore(fresh_database) as store, psycopg.connect(fresh_database) as holder:
            store.add("kept", "What was acknowledged.", "acme")
            holder.execute("LOCK TABLE director_ai.posting IN SHARE MODE")  # stops the load in its middle
            process = start(script, fresh_database)
            awaited(process, "ready")
            waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'director_ai.posting'::regclass AND NOT granted"
            while holder.execute(waiting).fetchone() == (0,):
                assert process.poll() is None
            assert [fact.key for fact in store.facts("acme")] == ["kept"]
            killed(process)
            holder.rollback()
            assert store.add("next", "Another fact.", "acme").revision == 2
            assert [fact.key for fact in store.facts("acme")] == ["kept", "next"]
            assert store.retrieve_context("Fact 7", tenant_id="acme") != "Fact 7."

    def test_a_reader_waits_for_no_load(self, filled: PostgresTables, fresh_database: str) -> None:
        with psycopg.connect(fresh_database) as holder:
            holder.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            other = PostgresTables(fresh_database, "encoder")
            assert len(other.history("acme", "k")) == 1
            other.close()

    def test_a_forked_process_uses_connections_of_its_own(self, fresh_database: str) -> None:
        script = """
            store = GroundTruthStore(url)
            store.add("before", "A fact.")
            child = os.fork()
            if not child:
                store.add("child", "Another fact.")
                os._exit(0 if store.revision >= 2 else 1)
            store.add("parent", "A third fact.")
            assert os.waitpid(child, 0)[1] == 0
            say(sorted(fact.key for fact in store.facts()))
        """
        assert ended(start(script, fresh_database)).strip() == "['before', 'child', 'parent']"

    def test_more_threads_than_connections_all_get_their_answer(self, filled: PostgresTables) -> None:
        with ThreadPoolExecutor(40) as threads:
            found = list(threads.map(lambda _: len(filled.history("acme", "k")), range(200)))
        assert found == [1] * 200

    def test_without_the_driver_the_extra_is_named(self) -> None:
        script = """
            from director_ai.errors import MissingExtra
            sys.modules["psycopg"] = None
            try: GroundTruthStore(url)
            except MissingExtra as error: say(error)
        """
        said = ended(start(script, "postgresql://h/x"))
        assert "pip install '.[postgres]'" in said
        assert issubclass(MissingExtra, ImportError)


class TestSchema:
    def test_a_user_who_may_not_add_pgvector_is_told_who_can(self, fresh_database: str, plain_user: str) -> None:
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            connection.execute("DROP EXTENSION vector")
        with pytest.raises(ConfigError, match="CREATE EXTENSION vector"):
            PostgresTables(fresh_database.replace("//postgres:", f"//{plain_user}:"), "encoder")

    def test_a_database_that_gives_nothing_away_by_default_will_do(self, fresh_database: str) -> None:
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            connection.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        with contextlib.closing(PostgresTables(fresh_database, "encoder")) as tables:
            apply(tables, put("k", "A fact.", vectors=unit_vectors(1)))
            assert tables.nearest("", unit_vectors(1)[0], 1, 1) != []

    def test_a_schema_of_something_else_is_left_alone(self, fresh_database: str) -> None:
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA director_ai; CREATE TABLE director_ai.theirs (x int)")
        with pytest.raises(ConfigError, match="something else"):
            PostgresTables(fresh_database, "encoder")

    def test_tables_of_a_later_version_are_refused(self, tables: PostgresTables, fresh_database: str) -> None:
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            connection.execute("UPDATE director_ai.about SET value = 99 WHERE name = 'schema'")
        with pytest.raises(KnowledgeError, match="later version"):
            PostgresTables(fresh_database, "encoder")

    def test_rights_that_a_restored_copy_lacks_are_given_again(
        self, filled: PostgresTables, fresh_database: str
    ) -> None:
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {ROLE}")
        with contextlib.closing(PostgresTables(fresh_database, "encoder")) as again:
            assert len(again.history("acme", "k")) == 1

    def test_versions_ended_long_ago_leave_the_search_and_stay_as_history(self, tables: PostgresTables) -> None:
        assert LINGER_SECONDS < 3_600
        apply(tables, put("k", "The first word.", "acme", vectors=unit_vectors(2)))
        apply(tables, put("k", "Another word.", "acme", vectors=unit_vectors(1)))
        assert len(tables.rows("acme").ids) == len(tables.postings("acme", ["word"], 9)["word"]) == 2
        apply(tables, put("other", "Something.", "acme"), now=LATER)
        alive = tables.history("acme", "k")[1].id
        assert tables.postings("acme", ["word"], 9)["word"].tolist() == [alive]
        assert alive in tables.rows("acme").ids
        assert [stored.fact.text for stored in tables.history("acme", "k")] == ["The first word.", "Another word."]
        assert list(tables.similarity("acme", [1, alive], unit_vectors(1)[0])) == [alive]


@pytest.fixture
def memory() -> Iterator[SqliteTables]:
    tables = SqliteTables(":memory:", "encoder")
    yield tables
    tables.close()


class TestVectors:
    @pytest.mark.parametrize("graph_from", [10_000, 100], ids=["all compared", "by the graph"])
    def test_the_nearest_and_their_cosines_are_those_of_sqlite(
        self, tables: PostgresTables, memory: SqliteTables, monkeypatch: pytest.MonkeyPatch, graph_from: int
    ) -> None:
        monkeypatch.setattr(postgres, "GRAPH_FROM", graph_from)
        values, question = unit_vectors(400), unit_vectors(1, seed=9)[0]
        for each in (tables, memory):
            apply(each, *(put(f"k{n}", f"Fact {n}.", "acme", vectors=values[n : n + 1]) for n in range(200)))
            apply(each, *(put(f"k{n}", f"Fact {n}.", "acme", vectors=values[n : n + 2]) for n in range(200, 300)))
            apply(each, *(put(f"k{n}", None, "acme") for n in range(50)))
        found, expected = (each.nearest("acme", question, 20, 3) for each in (tables, memory))
        assert [row for row, _ in found] == [row for row, _ in expected]
        assert np.allclose([near for _, near in found], [near for _, near in expected], rtol=0, atol=1e-6)
        ids = [row for row, _ in found]
        measured, wanted = (each.similarity("acme", ids, question) for each in (tables, memory))
        assert measured == pytest.approx(wanted, abs=1e-6)
        assert tables.nearest("acme", question, 200, 2) != found
        assert tables.nearest("globex", question, 20, 3) == []

    def test_a_large_tenant_gets_a_graph_of_its_own_and_of_its_encoder(
        self, tables: PostgresTables, fresh_database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "GRAPH_FROM", 100)
        names = "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'vector_graph%%'"
        values = unit_vectors(100)
        apply(tables, *(put(f"k{n}", f"Fact {n}.", "acme", vectors=values[n : n + 1]) for n in range(100)))
        apply(tables, put("k", "A fact.", "globex", vectors=values[:1]))
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            ((made,),) = connection.execute(names).fetchall()
            assert "hnsw" in made
            assert "'encoder'" in made
            with contextlib.closing(PostgresTables(fresh_database, "newer")) as newer:
                missing = newer.without_vectors("acme", 1_000)
                newer.put_vectors("acme", {stored.id: values[:1] for stored in missing})
                assert newer.without_vectors("acme", 1_000) == []
            ((made,),) = connection.execute(names).fetchall()
            assert "'newer'" in made
        assert tables.nearest("acme", values[0], 5, tables.revision()) == []

    def test_vectors_of_another_tenants_facts_cannot_be_put(self, filled: PostgresTables) -> None:
        (stored,) = filled.history("globex", "k")
        filled.put_vectors("acme", {stored.id: unit_vectors(1, seed=5)})
        cosine = filled.similarity("globex", [stored.id], unit_vectors(1)[0])[stored.id]
        assert cosine == pytest.approx(1, abs=1e-3)


@pytest.fixture(scope="module")
def both(postgres_server: Any) -> Iterator[tuple[SqliteTables, PostgresTables]]:
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE both_kinds")
    memory, tables = SqliteTables(":memory:", "encoder"), PostgresTables(postgres_server.database("both_kinds"), "e")
    yield memory, tables
    memory.close()
    tables.close()
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE both_kinds WITH (FORCE)")


changes = st.builds(
    put, st.sampled_from("ab"), st.sampled_from([None, "One.", "Two words."]), st.sampled_from(["", "t"]),
    source=st.sampled_from(["", "s"]),
)  # fmt: skip
scopes = (f"x{number}" for number in range(1_000_000))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.lists(changes, max_size=6), st.booleans(), st.booleans()), max_size=4))
def test_a_load_does_what_it_does_in_sqlite(both: tuple[SqliteTables, PostgresTables], loads: Any) -> None:
    scope = next(scopes)  # tenants of this example alone
    for load, replace, dry_run in loads:
        batch = [put(each.key, each.text, scope + each.tenant_id, source=each.source) for each in load]
        results: list[Any] = []
        for tables in both:
            try:
                results.append(tables.apply(iter([batch[:2], batch[2:]]), now=NOW, replace=replace, dry_run=dry_run))
            except DuplicateFact as error:
                results.append(str(error))
        assert results[0] == results[1]
    for tenant in (scope, f"{scope}t"):
        seen = [[stored[1:] for key in "ab" for stored in tables.history(tenant, key)] for tables in both]
        assert seen[0] == seen[1]
        assert (both[0].changed(tenant) == 0) == (both[1].changed(tenant) == 0)
        order = [[(row.fact.key, row.fact.version) for row in t.page(tenant, after=0, most=99, at=None)] for t in both]
        assert order[0] == order[1]
